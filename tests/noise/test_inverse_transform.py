"""A tabulated law is exact at its ties and beyond its end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise.entropy import fresh_words
from discreet.noise.inverse_transform import Inversion
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import chi_square_p

FALSE_ALARM = 1e-9
HALF = 2**63


def split(word: int) -> tuple[int, int]:
    """The words in which a table reads a first word of 64 bits: 16, and 48 later."""
    return word >> 48, (word << 16) & (2**64 - 1)


def halving(j: int) -> arb:
    return arb(2) ** -j


def thirds(j: int) -> arb:
    return arb(3) ** -j


def test_law() -> None:
    """A sample agrees with its own law, and not with one a little off."""
    drawn = Inversion.tabulate(thirds).sample(200_000, splitmix(1))
    assert chi_square_p(drawn, lambda k: 3.0 ** -np.maximum(k, 0)) > FALSE_ALARM
    assert chi_square_p(drawn, lambda k: 2.9 ** -np.maximum(k, 0)) < FALSE_ALARM


@pytest.mark.parametrize("j", [1, 2, 5, 40])
def test_ties_are_refined_both_ways(j: int) -> None:
    """A real with the first 64 bits of 3**-j is settled by the bits that follow."""
    table, bits = Inversion.tabulate(thirds), 2**128 // 3**j
    first, following = bits >> 64, bits & (2**64 - 1)
    assert table.sample(1, scripted(*split(first), following - 1)).tolist() == [j]
    assert table.sample(1, scripted(*split(first), following + 1)).tolist() == [j - 1]
    assert table.sample(1, scripted(*split(first), following, 0)).tolist() == [j]


def test_draws_beyond_the_table() -> None:
    """Thresholds below 2**-64 are no table's; the word 0 goes on among them."""
    table = Inversion.tabulate(halving)
    assert table.high.size <= 65
    assert table.sample(1, scripted(0, 0, 2**63 + 1)).tolist() == [64]
    assert table.sample(1, scripted(0, 0, 3)).tolist() == [126]
    assert table.sample(1, scripted(0, 0, 0, 3)).tolist() == [190]


def test_a_law_that_ends_never_passes_its_end() -> None:
    table = Inversion.tabulate(lambda j: halving(j) if j < 3 else arb(0), size=3)
    assert table.sample(1, scripted(0, 0, 0, 0)).tolist() == [2]
    assert table.sample(50_000, splitmix(2)).max() == 2


def test_certain_steps() -> None:
    """P(D >= 1) = 1 and P(D >= 2) = 1/2: even the largest word is at least 1."""
    table = Inversion.tabulate(lambda j: arb(1) if j == 1 else arb(1) / 2, size=3)
    top = 2**64 - 1
    assert table.sample(1, scripted(*split(top), top)).tolist() == [1]
    assert table.sample(1, scripted(*split(HALF - 1))).tolist() == [2]


def test_every_guide_entry_leads_to_the_right_answer() -> None:
    table, first = Inversion.tabulate(thirds), np.arange(1 << 16, dtype=np.uint16)
    for rest in (12345, 2**47):
        calls = iter([first.view(np.uint64)])

        def source(n: int, calls: Iterator[NDArray[np.uint64]] = calls, rest: int = rest) -> NDArray[np.uint64]:
            return next(calls, np.full(n, rest << 16, dtype=np.uint64))

        drawn = table.sample(first.size, source)
        words = first.astype(np.uint64) * np.uint64(2**48) + np.uint64(rest)
        wanted = sum((words < np.uint64(2**64 // 3**j)).astype(int) for j in range(1, 41))
        np.testing.assert_array_equal(drawn, wanted)


def test_bounds_that_cross_are_put_in_order() -> None:
    """Wide balls: thresholds still fall, and words inside of them read on."""
    wobble = iter([0.30, 0.31, 0.10])
    table = Inversion.tabulate(lambda _: arb(next(wobble, 0.05), 0.02), size=4)
    assert (np.diff(table.low.astype(float)) >= 0).all()
    assert (np.diff(table.high.astype(float)) >= 0).all()


def test_tables_cannot_be_changed() -> None:
    table = Inversion.tabulate(halving)
    for array in (table.low, table.high, table.guide):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_laws_that_are_too_wide_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 65534 values"):
        Inversion.tabulate(lambda j: 1 / arb(j + 1))


@pytest.mark.parametrize("n", [-1, 1.0, True], ids=repr)
def test_sizes_that_are_no_counts_are_refused(n: int) -> None:
    with pytest.raises(InvalidParameter, match="n="):
        Inversion.tabulate(halving).sample(n, fresh_words())

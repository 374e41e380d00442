"""The mistakes that are made most often, each found; sound claims, none broken."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter, InvalidQuery
from discreet.sensitivity.counterexamples import check_sensitivity

COLORS = ["blue", "green", "red"]


def histogram(rows: list[Any]) -> list[int]:
    return [Counter(rows)[color] for color in COLORS]


def clipped_sum(rows: list[Any]) -> float:
    return math.fsum(min(max(row, 0), 50) for row in rows)


def clipped_mean(rows: list[Any]) -> float:
    return clipped_sum(rows) / len(rows)


def test_a_histogram_under_replace_one() -> None:
    assert not check_sensitivity(histogram, 1, domain=COLORS).broken
    found = check_sensitivity(histogram, 1, domain=COLORS, neighbors="replace-one")
    assert found.witness is not None
    assert found.largest == found.witness.distance == 2
    assert len(found.witness.first) == len(found.witness.second)
    assert not check_sensitivity(histogram, 2, domain=COLORS, neighbors="replace-one").broken
    assert not check_sensitivity(histogram, 1, domain=COLORS, neighbors="replace-one", norm="inf").broken
    assert check_sensitivity(histogram, 1.414, domain=COLORS, neighbors="replace-one", norm=2).broken
    assert not check_sensitivity(histogram, 1.4143, domain=COLORS, neighbors="replace-one", norm=2).broken


@pytest.mark.long
def test_a_mean_whose_count_is_private() -> None:
    """A hundred rows were assumed; a table of two moves a hundred times as far."""
    sizes = (2, 3, 100)
    found = check_sensitivity(clipped_mean, Fraction(50, 100), sizes=sizes)
    assert found.largest == 25
    assert found.broken
    assert not check_sensitivity(clipped_mean, Fraction(50, 100), neighbors="replace-one", sizes=(100,)).broken
    assert check_sensitivity(clipped_mean, Fraction(49, 100), neighbors="replace-one", sizes=(100,)).broken


def test_a_mean_of_nobody() -> None:
    """A function that fails on a neighbor tells the two tables apart without any number."""
    found = check_sensitivity(clipped_mean, 50, sizes=(1,))
    assert found.witness is not None
    assert found.witness.distance is None
    assert isinstance(found.witness.values[1], ZeroDivisionError)
    assert "no distance at all" in str(found)
    assert check_sensitivity(lambda rows: np.float64(0) / len(rows), 0, sizes=(1,)).broken  # NaN
    assert check_sensitivity(lambda rows: rows, 1, domain=[0], sizes=(2,)).broken  # its length gives it away


def test_a_forgotten_clip() -> None:
    assert not check_sensitivity(clipped_sum, 50).broken
    found = check_sensitivity(sum, 50)
    assert found.witness is not None
    assert found.largest == pytest.approx(10**6)  # in floats, as the function adds them


def test_a_clip_on_one_side_only() -> None:
    assert check_sensitivity(lambda rows: sum(min(row, 50) for row in rows), 50).broken


def test_a_range_is_not_a_largest_size() -> None:
    """Numbers in [20, 110]: 90 holds under replace-one and not under add-remove."""
    held = [20, 50.5, 110]
    assert not check_sensitivity(sum, 90, domain=held, neighbors="replace-one").broken
    assert check_sensitivity(sum, 90, domain=held).largest == 110


def test_distinct_values_and_medians() -> None:
    assert not check_sensitivity(lambda rows: len(set(rows)), 1).broken
    median = check_sensitivity(lambda rows: float(np.median(rows)) if rows else 0.0, 1, domain=[0, 1, 99, 100])
    assert median.largest == 100


def test_small_differences_need_the_climb() -> None:
    """One product of all rows: only a table of largest rows moves by the most."""
    found = check_sensitivity(lambda rows: int(np.prod([int(r) for r in rows])), 999, domain=range(11), sizes=(3,))
    assert found.largest == 10**3 - 10**2
    assert not found.broken
    mixed = check_sensitivity(lambda rows: len({row for row in rows if row > 90}), 0.5, domain=range(100), sizes=(1, 4))
    assert mixed.broken


def test_floats_of_a_sum_are_not_called_broken() -> None:
    """0.1 added ten times is not 1: that is left to floating point, and the claim stands."""
    assert not check_sensitivity(sum, 0.1, domain=[0.1], sizes=(1, 2, 3, 10, 30)).broken


def test_it_never_says_correct() -> None:
    said = str(check_sensitivity(clipped_sum, 50))
    assert "no proof" in said
    assert not {"correct", "sound", "valid", "holds"} & set(said.lower().replace(".", " ").split())
    with pytest.raises(InvalidQuery, match="broken"):
        bool(check_sensitivity(clipped_sum, 50))


def test_long_tables_are_shown_short() -> None:
    said = str(check_sensitivity(lambda rows: 2 * len(rows), 1, domain=[7], sizes=(100,)))
    assert "f([7, 7, 7, ..., 7] (100 rows)) = 200" in said


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_sensitivity(sum, -1), "0 or more"),
        (lambda: check_sensitivity(sum, float("nan")), "a finite number"),
        (lambda: check_sensitivity(sum, 1, domain=[]), "rows to try"),
        (lambda: check_sensitivity(sum, 1, norm=7), "a norm"),
        (lambda: check_sensitivity(sum, 1, neighbors="x"), "a relation between tables"),
        (lambda: check_sensitivity(sum, 1, sizes=(-1,)), "numbers of rows"),
        (lambda: check_sensitivity(lambda rows: "text", 1), "a number"),  # noqa: ARG005 - it ignores its rows
    ],
)
def test_refusals_name_the_cure(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message) as refusal:
        call()
    assert "Hint: " in str(refusal.value)

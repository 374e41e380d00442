"""The optimal chances against the two inequalities, against reference values, and against what is drawn.

Samples have 200,000 draws; a test here fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from discreet.errors import InvalidParameter
from discreet.noise.certified_comparison import real
from discreet.selection.optimal_partition_selection import BITS, ONE, OptimalKeys
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import binomial_p

CASES = [("0.1", "1e-3"), ("0.5", "1e-8"), ("1", "1e-5"), ("2", "1e-10"), ("4", "1e-3"), ("12", "0.4")]

# epsilon, delta: chances by the number of people, and from how many on the chance is at least a half; independent code.
CHANCES = {
    ("1", "1e-5"): ({1: 1e-5, 2: 3.718281828459045e-5, 5: 0.000857910248837216, 20: 0.9999254111119027}, 12, 23),
    ("0.1", "1e-10"): ({3: 3.326573676235817e-10, 200: 0.4613111716499606}, 201, 402),
    ("4", "1e-8"): ({5: 0.09051901868063951, 10: 0.9999999983119936}, 6, 11),
}


def law(epsilon: str, delta: str, groups: int = 1) -> OptimalKeys:
    return OptimalKeys.of(Fraction(epsilon), Fraction(delta), groups)


@pytest.mark.parametrize("case", CHANCES)
def test_chances_are_the_reference(case: tuple[str, str]) -> None:
    chances, half, certain = CHANCES[case]
    table = law(*case)
    assert all(table.probability(n) == pytest.approx(chance, rel=1e-14) for n, chance in chances.items())
    assert table.users(0.5) == half
    assert table.certain == certain
    assert table.probability(0) == 0.0
    assert table.probability(10**9) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_both_conditions_hold_everywhere(epsilon: str, delta: str) -> None:
    """Certainly, for every two neighboring counts; and with nothing to spare: any larger chance would break one."""
    chances, part = law(epsilon, delta).chances, Fraction(delta)
    with ctx.workprec(1000):
        growth, one = real(Fraction(epsilon)).exp(), arb(ONE)
        for before, after in itertools.pairwise(chances):
            shown, hidden = after - growth * before, (one - before) - growth * (one - after)
            allowed = real(part) * arb(ONE)
            assert before < after
            assert bool(shown <= allowed)
            assert bool(hidden <= allowed)
            spare = arb(2) ** (BITS - 200)
            assert after == ONE or bool(allowed - shown < spare) or bool(allowed - hidden < spare * growth)


def test_a_truncated_geometric_law_is_the_same() -> None:
    """Noise proportional to e**-|z| on -5..5 and "above 5", where that delta makes the two laws agree."""
    weights = {z: math.exp(-abs(z)) for z in range(-5, 6)}
    total = sum(weights.values())
    table = OptimalKeys.of(Fraction(1), Fraction(weights[5] / total), 1)
    for n in range(11):
        kept = sum(w for z, w in weights.items() if n + z > 5) / total
        assert table.probability(n) == pytest.approx(kept, abs=1e-12)


def delta_of(before: list[float], after: list[float], epsilon: float) -> float:
    """The delta between two sets of independent coins, summed over all outcomes, in the worse direction."""
    found = []
    for p, q in ((before, after), (after, before)):
        excess = 0.0
        for outcome in itertools.product((False, True), repeat=len(p)):
            first, second = (
                math.prod(c if shown else 1 - c for c, shown in zip(coins, outcome, strict=True)) for coins in (p, q)
            )
            excess += max(0.0, first - math.exp(epsilon) * second)
        found.append(excess)
    return max(found)


@pytest.mark.parametrize("groups", [2, 3])
def test_several_keys_of_one_unit_together(groups: int) -> None:
    """Every outcome over a unit's keys is enumerated, for every combination of other people's counts."""
    table = law("0.7", "0.01", groups)
    worst = 0.0
    for counts in itertools.combinations_with_replacement(range(0, table.certain + 1, 1 if groups < 3 else 3), groups):
        before, after = ([table.probability(n + more) for n in counts] for more in (0, 1))
        worst = max(worst, delta_of(before, after, 0.7))
    assert 0.0099999 < worst <= 0.01 * (1 + 1e-12)


def test_ties_are_read_on() -> None:
    table = law("1", "1e-5")
    chance = table.chances[3]
    words = [chance >> (64 * i) & (2**64 - 1) for i in range(BITS // 64)][::-1]
    assert not table.release(np.array([3]), scripted(*words))[0]
    assert table.release(np.array([3]), scripted(*words[:-1], words[-1] - 1))[0]
    assert not table.release(np.array([3]), scripted(words[0] + 1))[0]
    assert table.release(np.array([3]), scripted(words[0] - 1))[0]


def test_certain_and_absent_keys_do_not_depend_on_chance() -> None:
    table = law("1", "1e-5")
    assert table.release(np.array([0, 23, 10**12]), scripted(0, 2**64 - 1, 2**64 - 1)).tolist() == [False, True, True]


@pytest.mark.parametrize("units", [5, 11, 12])
def test_keys_are_shown_as_often_as_stated(units: int) -> None:
    table, size = law("1", "1e-3"), 200_000
    shown = int(table.release(np.full(size, units), splitmix(units)).sum())
    assert binomial_p(shown, size, table.probability(units)) > 1e-6
    assert units == 12 or binomial_p(shown, size, table.probability(units + 1)) < 1e-9


def test_what_no_table_can_hold_is_refused() -> None:
    with pytest.raises(InvalidParameter, match='method="weighted"'):
        law("1e-6", "1e-9")
    with pytest.raises(InvalidParameter, match="delta of at least"):
        OptimalKeys.of(Fraction(1), Fraction(1, 2**130), 1)

"""Threshold and noise against the delta that they promise, for every number of keys a unit may have."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import log_ndtr

from discreet.noise.certified_comparison import real
from discreet.selection.gaussian_partition_selection import CUTS, STEPS, GaussianKeys
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

CASES = [
    (epsilon, delta, groups, weighted)
    for epsilon, delta in (("1", "1e-5"), ("0.1", "1e-8"), ("3", "0.01"), ("8", "0.3"), ("0.01", "0.2"))
    for groups in (1, 2, 7, 40)
    for weighted in (False, True)
]


def law(epsilon: str, delta: str, groups: int, weighted: bool) -> GaussianKeys:  # noqa: FBT001 - a case of a table
    return GaussianKeys.of(Fraction(epsilon), Fraction(delta), groups, weighted=weighted)


def profile(epsilon: float, mu: float) -> float:
    """delta(epsilon) of normal laws mu apart, in floats."""
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    return float(np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def tail(found: GaussianKeys, weight: int) -> float:
    """How likely a key is shown that has this weight alone."""
    with ctx.workprec(200):
        reach = real(Fraction(2 * (found.threshold - weight) - 1, 2)) / (real(found.variance) * 2).sqrt()
        return float(reach.erfc() / 2)


@pytest.mark.parametrize("case", CASES)
def test_delta_is_kept_for_every_number_of_keys(case: tuple[str, str, int, bool]) -> None:
    """Both directions, for every number of keys and of keys of one's own: nowhere above delta, somewhere close to it.

    The keys of one's own are independent coins and the others a normal law, so the sums over outcomes are closed.
    """
    found, epsilon, delta = law(*case), float(case[0]), float(case[1])
    sd, worst = math.sqrt(float(found.variance)), 0.0
    for keys in range(1, case[2] + 1):
        weight, alone = found.weight(keys), tail(found, found.weight(keys))
        for own in range(keys + 1):
            shown = -math.expm1(own * math.log1p(-alone))
            mu = math.sqrt(keys - own) * weight / sd
            there = shown + (1 - shown) * profile(epsilon - math.log1p(-shown), mu)
            back = profile(epsilon + math.log1p(-shown), mu)
            worst = max(worst, there, back)
    assert worst <= delta * (1 + 1e-9)
    assert worst >= (0.99 if delta < 0.1 else 0.8) * delta


@pytest.mark.parametrize("groups", [1, 3])
def test_outcomes_enumerated(groups: int) -> None:
    """All sets of shown keys, for every combination of what other people add: never above delta."""
    found, delta = law("1", "0.01", groups, weighted=True), 0.0
    weight = found.weight(groups)
    for others in itertools.combinations_with_replacement(range(20), groups):
        pairs = [[found.probability(n + more, groups) for n in others] for more in (0, 1)]
        for p, q in (pairs, pairs[::-1]):
            excess = 0.0
            for outcome in itertools.product((False, True), repeat=groups):
                chance, other = (
                    math.prod(c if shown else 1 - c for c, shown in zip(coins, outcome, strict=True))
                    for coins in (p, q)
                )
                excess += max(0.0, chance - math.e * other)
            delta = max(delta, excess)
    assert weight**2 * groups <= STEPS**2
    assert 0.001 < delta <= 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_the_threshold_is_tight(weighted: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Two steps lower, and one's own keys would be shown more often than the proof allows, for some number of keys."""
    for groups in range(1, 30):
        found = law("1", "1e-5", groups, weighted)
        allowed = own_chance_of(found, groups)
        ranges = range(1, groups + 1) if weighted else [groups]
        with ctx.workprec(300):
            for lowered, holds in ((0, True), (2, False)):
                sums = [keys * arb_tail(found, found.threshold - lowered, found.weight(keys)) for keys in ranges]
                assert all(bool(total <= allowed) for total in sums) is holds


def own_chance_of(found: GaussianKeys, groups: int) -> arb:
    """What is left of delta = 1e-5 for a unit's own keys at this noise: the least of (delta - G(u)) / v, recomputed."""
    sd = math.sqrt(float(found.variance)) / STEPS / (1 if found.weighted else math.sqrt(groups))
    pieces = itertools.pairwise(CUTS)
    return arb(min((1e-5 - profile(1.0, math.sqrt(1 - low) / sd)) / high for low, high in pieces) * (1 + 1e-9))


def arb_tail(found: GaussianKeys, threshold: int, weight: int) -> arb:
    """P(noise >= threshold - weight), noise being rounded to whole steps."""
    return (real(Fraction(2 * (threshold - weight) - 1, 2)) / (real(found.variance) * 2).sqrt()).erfc() / 2


def test_fewer_people_are_needed_than_with_half_of_delta_for_each() -> None:
    """Noise at half of delta and a threshold at the other half need 18.2, 32.3, 61, 110 and 208."""
    users = [law("1", "1e-5", groups, weighted=True).users(0.5, groups) for groups in (1, 3, 10, 30, 100)]
    assert users == [17, 31, 58, 103, 196]


def test_people_with_few_keys_count_for_more() -> None:
    found = law("1", "1e-5", 100, weighted=True)
    assert [found.users(0.5, keys) for keys in (1, 4, 25, 100)] == [20, 40, 98, 196]
    assert found.probability(0, 1) == 0.0
    assert found.probability(20, 1) > 0.5 > found.probability(19, 1)


def test_keys_are_shown_as_often_as_stated() -> None:
    """100,000 draws; it fails by chance once in 10**6 times. A threshold one person lower would be seen."""
    found, size = law("1", "1e-3", 5, weighted=True), 100_000
    for keys, users in ((1, 12), (5, 27)):
        shown = int(found.release(np.full(size, users * found.weight(keys)), splitmix(users)).sum())
        assert binomial_p(shown, size, found.probability(users, keys)) > 1e-6
        assert binomial_p(shown, size, found.probability(users + 1, keys)) < 1e-9


def test_keys_that_nobody_has_are_never_shown() -> None:
    found = law("8", "0.3", 1, weighted=True)
    assert found.probability(1, 1) > 0.1
    assert not found.release(np.zeros(1000, dtype=np.int64), splitmix(1)).any()

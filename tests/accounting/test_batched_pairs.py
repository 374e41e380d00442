"""A stack is the sum of its pairs, whichever way it is kept."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import event_losses as losses
from discreet.accounting import tabulated_pairs
from discreet.accounting.batched_pairs import Stack
from discreet.accounting.dominating_pairs import Atoms, DominatingPair, LaplacePair

PLACES = np.array([0.3, 0.3 + 2.0j, 4.0])
ALIKE: list[tuple[DominatingPair, int]] = [(tabulated_pairs.response(0.1 * n, 2), n) for n in range(1, 300)]
UNLIKE: list[tuple[DominatingPair, int]] = [
    (tabulated_pairs.response(0.5, 2), 3),
    (tabulated_pairs.response(1.0, 4), 2),
    (tabulated_pairs.discrete_laplace(20, Fraction(5)), 4),
]
CONTINUOUS: list[tuple[DominatingPair, int]] = [(LaplacePair(0.01 * n), n) for n in range(1, 50)]


@pytest.mark.parametrize("parts", [ALIKE, UNLIKE, CONTINUOUS])
def test_stacks_are_their_pairs(parts: list[tuple[DominatingPair, int]]) -> None:
    kind = type(parts[0][0])
    whole = Stack.of(kind, parts)
    for stack in (whole, whole.thinned(7)):
        single = zip(stack.pairs, stack.counts, strict=True)
        exact = sum((kind.log_moments([pair], np.array([count]), PLACES) for pair, count in single), np.zeros(3))
        assert np.exp(stack.log_moments(PLACES) - exact) == pytest.approx(np.ones(3), rel=1e-8)


def test_short_tables_of_one_size_are_stacked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of the many places at which a saddle is sought."""
    stack = Stack.of(Atoms, ALIKE)

    def again(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(np, "stack", again)
    stack.log_moments(PLACES)
    stack.thinned(5).log_moments(PLACES)
    assert Stack.of(Atoms, []).columns is None


def test_thousands_of_unrelated_scales_are_added_in_short_fractions() -> None:
    """Not one by one, which has a fraction of a million digits: what is kept has a thousand, on either side."""
    scales = [Fraction(10**9 + number * number, 10**7) for number in range(1000)]
    noise = losses.composed([losses.gaussian_loss(1 / scale) for scale in scales])
    (whole,) = noise._directions
    assert whole.gaussian is not None
    assert whole.gaussian.mu2.denominator <= 10**1000
    exact = sum(1 / scale**2 for scale in scales[:40])
    few = losses.composed([losses.gaussian_loss(1 / scale) for scale in scales[:40]])
    assert 0 <= few.mu - math.sqrt(exact) <= 1e-15
    assert Fraction(few.rho) >= Fraction(exact) / 2
    pure = losses.composed([losses.pure_loss(1 / scale) for scale in scales])
    exact = sum(1 / scale for scale in scales)
    lower, upper = pure.epsilon_bounds(0)
    assert Fraction(lower) <= exact <= Fraction(upper) <= exact * (1 + Fraction(1, 2**52))
    assert pure.delta(Fraction(upper)) == 0.0 < pure.delta(lower * (1 - 2**-30))

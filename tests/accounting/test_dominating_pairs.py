from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy.integrate import quad

from discreet.accounting.dominating_pairs import Atoms, BoundedRange, DominatingPair, GaussianPair, LaplacePair
from discreet.accounting.pairwise_summation import UNIT

STEPS = np.log(np.array([0.2 / 0.6, 0.7 / 0.4]))
COIN = Atoms(losses=STEPS, first=np.array([0.2, 0.7]), second=np.array([0.6, 0.4]), infinite=Fraction(1, 10))
PAIRS: list[DominatingPair] = [
    LaplacePair(0.7),
    LaplacePair(3.0),
    BoundedRange(1.3),
    GaussianPair(Fraction(9, 4)),
    COIN,
]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_delta_follows_from_the_tails(pair: DominatingPair) -> None:
    for epsilon in (-5.0, -0.9, 0.0, 0.2, 0.6, 1.2, 4.0):
        first, second = pair.tails(epsilon)
        lower, upper = pair.delta_bounds(epsilon)
        assert lower <= upper
        assert math.isclose(upper, first - math.exp(epsilon) * second, rel_tol=1e-11, abs_tol=1e-13)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_moments_are_those_of_the_law(pair: DominatingPair) -> None:
    """E e^(zL) = integral of z e^(zt) P(L > t), with the part below the range added."""
    low, high = (-40.0, 60.0) if isinstance(pair, GaussianPair) else (-pair.reach, pair.reach)
    for theta in (0.5, 2.0):
        value = quad(
            lambda t, theta=theta: theta * math.exp(theta * t) * pair.tails(t)[0],
            low,
            high,
            limit=400,
            points=[-1.0, 0.0, 0.5],
        )[0]
        start = math.exp(theta * low) * float(1 - pair.infinite)
        z = np.array([complex(theta)])
        assert math.isclose(
            math.exp(type(pair).log_moments([pair], np.ones(1), z)[0].real), value + start, rel_tol=1e-7
        )


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_quantiles_invert_the_law(pair: DominatingPair) -> None:
    for u in (0.01, 0.2, 0.45, 0.7, 0.89):
        loss = float(pair.quantile(np.array([u]))[0])
        step = 1e-9 * max(abs(loss), 1.0)
        assert pair.tails(loss + step)[0] + pair.infinite <= 1.0 - u + 1e-6
        assert pair.tails(loss - step)[0] + pair.infinite >= 1.0 - u - 1e-6


def test_bounded_range_dominates_two_point_pairs() -> None:
    reach = 1.7
    pair = BoundedRange(reach)
    for t in np.linspace(0.0, reach, 50):
        first = (math.exp(reach) - math.exp(t)) / math.expm1(reach)
        for epsilon in np.linspace(-reach, reach, 50):
            delta = first * max(1.0 - math.exp(epsilon - t), 0.0)
            delta += (1.0 - first) * max(1.0 - math.exp(epsilon - t + reach), 0.0)
            assert delta <= pair.delta_bounds(float(epsilon))[1] + 1e-15
    assert math.isclose(pair.delta_bounds(0.0)[1], math.tanh(reach / 4.0), rel_tol=1e-12)


def test_infinite_losses_have_no_mean() -> None:
    assert COIN.mean == math.inf
    assert math.isclose(LaplacePair(1.0).mean, math.exp(-1.0), rel_tol=1e-12)
    assert COIN.reversed().reversed().tails(0.1) == COIN.tails(0.1)


LONG = 30_001
"""Outputs of a table of which one holds nearly all mass, and the others are each lost beside it."""


def long_table(heavy: int = 0) -> Atoms:
    masses = np.full(LONG, 2.0**-54.2)
    masses[heavy] = 1.0 - (LONG - 1) * 2.0**-54.2
    return Atoms(losses=np.linspace(-1e-3, 1e-3, LONG), first=masses, second=masses)


def parts(table: Atoms) -> tuple[list[float], list[float]]:
    return table.losses.tolist(), table.first.tolist()


def test_delta_of_long_tables_is_enclosed() -> None:
    table = long_table(LONG // 2 + 1)
    with ctx.workprec(200):
        terms = [(1 - (-arb(loss)).exp()) * arb(mass) for loss, mass in zip(*parts(table), strict=True) if loss > 0]
        exact = sum(terms, arb(0))
    lower, upper = table.delta_bounds(0.0)
    assert bool(arb(lower) <= exact)
    assert bool(exact <= arb(upper))
    assert upper - lower <= 2.0**-46


@pytest.mark.parametrize("kind", [LaplacePair, BoundedRange])
def test_logarithms_of_many_pairs_are_added_exactly(kind: type[LaplacePair | BoundedRange]) -> None:
    """Ten thousand in three blocks; all alike but one, so that rounding errors of sums in a row would add up."""
    pairs = [kind(1.0), *[kind(2.0**-30)] * 10_000]
    z = np.array([3.0 + 0.1j])
    found = kind.log_moments(pairs, np.ones(len(pairs)), z)[0]
    single = [complex(kind.log_moments([pair], np.ones(1), z)[0]) for pair in pairs[:2]]
    exact = complex(
        *(
            float(Fraction(getattr(single[0], part)) + 10_000 * Fraction(getattr(single[1], part)))
            for part in ("real", "imag")
        )
    )
    assert abs(found - exact) <= 16.0 * UNIT * abs(exact)

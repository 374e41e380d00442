from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import tabulated_pairs
from discreet.accounting.dominating_pairs import BoundedRange, DominatingPair, GaussianPair, LaplacePair, Reals
from discreet.accounting.pair_zcdp import TIGHT, largest, rho_of
from discreet.accounting.pairwise_summation import UNIT

PURE_RHO = [
    ("0.1", "0.004995837495787997"),
    ("0.5", "0.1224593312018546"),
    ("1", "0.4621171572600098"),
    ("2", "1.52318831191153"),
    ("4", "3.856110320303268"),
]


def cumulants(pair: DominatingPair, theta: Reals) -> Reals:
    found: Reals = type(pair).log_moments([pair], np.ones(1), theta.astype(np.complex128)).real
    return found


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 1e-3, 0.02, 0.05, 0.3, 3.0, 30.0])
def test_rho_of_responses_is_the_closed_form(epsilon: float) -> None:
    found, exact = rho_of(tabulated_pairs.two_point(epsilon)), epsilon * math.tanh(epsilon / 2)
    assert exact * (1 - 1e-14) <= found <= exact * (1 + 2 * TIGHT)


@pytest.mark.parametrize(("epsilon", "rho"), PURE_RHO)
def test_rho_of_responses_is_the_reference(epsilon: str, rho: str) -> None:
    found = rho_of(tabulated_pairs.two_point(float(epsilon)))
    assert float(rho) * (1 - 1e-9) <= found <= float(rho) * (1 + 2 * TIGHT)


@pytest.mark.parametrize(
    "pair", [LaplacePair(2.0), BoundedRange(3.0), tabulated_pairs.response(4.0, 9), tabulated_pairs.staircase(3.0, 0.2)]
)
def test_rho_is_above_every_order(pair: DominatingPair) -> None:
    rho = rho_of(pair)
    best = 0.0
    for order in 1.0 + np.geomspace(1e-6, 1e3, 300):
        z = np.array([complex(order - 1.0)])
        best = max(best, type(pair).log_moments([pair], np.ones(1), z)[0].real / (order - 1.0) / order)
    assert best <= rho <= best * (1 + 2 * TIGHT)


RARE = tabulated_pairs.finite([0.99, 0.01], [0.9999, 0.0001])
"""A loss that is seldom large: the order that matters most is about 3.4."""


@pytest.mark.parametrize("number", [2, 3, 9, 40])
def test_chords_are_above_what_they_span(number: int) -> None:
    places = np.linspace(0.5, 8.0, number)
    bounds = largest(places, cumulants(RARE, places))
    for low, high, bound in zip(places[:-1], places[1:], bounds[1:], strict=True):
        inner = np.linspace(low, high, 100)
        assert np.max(cumulants(RARE, inner) / (inner * (inner + 1.0))) <= bound * (1 + 1e-12)
    inner = np.linspace(0.01, 0.5, 100)
    assert np.max(cumulants(RARE, inner) / (inner * (inner + 1.0))) <= bounds[0]


@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=6), st.floats(-6.0, 0.0), st.integers(0, 10**6))
def test_rho_is_above_every_order_of_near_tables(weights: list[float], scale: float, seed: int) -> None:
    """Losses from 1e-6 to 1, where a moment says less than its rounding."""
    shifts = 10.0**scale * np.random.default_rng(seed).uniform(-0.9, 0.9, len(weights))
    second = [Fraction(weight) for weight in weights]
    first = [weight * (1 + Fraction(shift)) for weight, shift in zip(second, shifts.tolist(), strict=True)]
    # As fractions they add up to 1: floats that do not are no law, and what they add grows with the order.
    pair = tabulated_pairs.finite([x / sum(first) for x in first], [x / sum(second) for x in second])
    orders = np.geomspace(1e-6, 1e6, 400)
    errors = 64.0 * UNIT * (1.0 + orders * pair.reach)
    near = 1.0 + 1e-9 + 1e-15 / max(pair.reach, 1e-12)
    assert np.max((cumulants(pair, orders) - errors) / (orders * (orders + 1.0))) <= rho_of(pair) * near


def test_no_rho_and_closed_rho() -> None:
    assert rho_of(tabulated_pairs.two_point(1.0, 1e-6)) == math.inf
    assert rho_of(GaussianPair(Fraction(3))) == 1.5

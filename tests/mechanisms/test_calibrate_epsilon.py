"""The smallest epsilon for a wanted error, and none smaller."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse

WIDE = {"least": Fraction(1, 2**20), "largest": Fraction(2**20)}


@pytest.mark.parametrize("edge", [Fraction(1, 10**8), Fraction(1234, 10**5), Fraction(1), Fraction(3, 7), Fraction(99)])
def test_the_smallest_and_no_smaller(edge: Fraction) -> None:
    found = smallest_epsilon(lambda epsilon: epsilon >= edge, 1)
    assert edge <= found <= edge * Fraction(1001, 1000)


@given(st.fractions(Fraction(1, 10**6), 10**6))
def test_the_edge_of_a_wider_range_is_found(edge: Fraction) -> None:
    found = smallest_epsilon(lambda epsilon: epsilon >= edge, 1, **WIDE)
    assert edge <= found <= edge * (1 + Fraction(1, 999))


def test_the_ends_of_the_range() -> None:
    assert smallest_epsilon(lambda epsilon: epsilon >= 1, 1, **WIDE) == 1
    assert smallest_epsilon(lambda epsilon: epsilon >= Fraction(1, 10), 1, **WIDE) == Fraction(1, 10)
    assert smallest_epsilon(lambda epsilon: epsilon == WIDE["largest"], 1, **WIDE) == WIDE["largest"]
    assert 0 < smallest_epsilon(lambda _: True, 1) < Fraction(1, 10**9)
    with pytest.raises(InvalidParameter, match="some epsilon reaches"):
        smallest_epsilon(lambda _: False, 1, **WIDE)


def test_each_mechanism_keeps_its_error() -> None:
    found = Laplace.epsilon_for(within=25, dimension=10, sensitivity=2)
    for epsilon, kept in ((found, True), (found * Fraction(998, 1000), False)):
        assert (Laplace(sensitivity=2, epsilon=epsilon).error(dimension=10) <= 25) == kept
    found = Gaussian.epsilon_for(within=25, delta=1e-6, dimension=10)
    for epsilon, kept in ((found, True), (found * Fraction(998, 1000), False)):
        assert (Gaussian(sensitivity=1, epsilon=epsilon, delta=1e-6).error(dimension=10) <= 25) == kept
    found = RandomizedResponse.epsilon_for(within=0.02, people=50_000, questions=3)
    for epsilon, kept in ((found, True), (found * Fraction(998, 1000), False)):
        assert (RandomizedResponse(epsilon=epsilon, questions=3).bound(people=50_000) <= 0.02) == kept


@pytest.mark.parametrize(
    "refused",
    [
        lambda: smallest_epsilon(lambda _: False, 0.001),
        lambda: RandomizedResponse.epsilon_for(within=0, people=100),
        lambda: Laplace.epsilon_for(within=0),
        lambda: Laplace.epsilon_for(within=5, confidence=1),
        lambda: Gaussian.epsilon_for(within=5, delta=0),
    ],
)
def test_what_no_epsilon_reaches_is_refused(refused: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        refused()

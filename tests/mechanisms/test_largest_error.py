"""The largest of several errors, against closed forms and against laws that can be summed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms.largest_error import expected_largest, union_largest, union_quantile

HARMONIC = {1: 1.0, 10: 2.928968253968254, 3143: 8.630307776941243}
"""E max of d standard exponentials; the union bound says log d + 1."""


@pytest.mark.parametrize(("dimension", "mean"), HARMONIC.items())
def test_the_largest_of_county_counts(dimension: int, mean: float) -> None:
    """Fine exponentials: the floor of b E loses half a step on average."""
    b = 10_000.0
    reach = b * (math.log(dimension) + 60)
    largest = expected_largest(lambda t: np.exp(-t / b), reach, dimension)
    assert largest == pytest.approx(b * mean - 0.5, rel=1e-4)
    assert largest >= b * mean - 0.5 - 1e-3
    bound = union_largest(lambda t: np.exp(-t / b), reach, dimension)
    assert bound == pytest.approx(b * (math.log(dimension) + 1), rel=2e-4)
    assert bound >= largest


def test_few_terms_are_summed_exactly() -> None:
    """Two coins of heads 1/3: the larger is 1 with probability 5/9."""
    coin = lambda t: np.where(t <= 1, 1 / 3, 0.0)  # noqa: E731 - a law in one line
    assert expected_largest(coin, 10.0, 2) == pytest.approx(5 / 9, rel=1e-8)
    assert union_largest(coin, 10.0, 2) == pytest.approx(2 / 3, rel=1e-8)
    assert union_largest(coin, 10.0, 5) == pytest.approx(1, rel=1e-8)


def test_wide_laws_are_never_below() -> None:
    b = 1e12
    assert 1 <= expected_largest(lambda t: np.exp(-t / b), 60 * b, 1) / (b - 0.5) < 1 + 1e-4


@pytest.mark.parametrize("miss", [0.5, 0.05, 1e-9])
def test_union_quantiles_are_the_smallest(miss: float) -> None:
    tail = lambda t: np.exp(-t / 100)  # noqa: E731 - a law in one line
    t = union_quantile(tail, 10.0, 7, miss)
    assert 7 * math.exp(-(t + 1) / 100) <= miss
    assert 7 * math.exp(-t / 100) > miss

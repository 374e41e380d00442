"""Shares of units, their intervals, and what can be reported of a question."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.mechanisms.laplace import Laplace
from discreet.planning.clipping_reports import bounded_values, reports, shares
from discreet.testing import people, splitmix, visits


@pytest.mark.long
def test_intervals_hold_the_share() -> None:
    """2,000 releases of few units beside much noise: 95 % of the intervals, or more, hold what is true of both shares.

    Binomial: with 95 % exactly, fewer than 94 % would be seen once in 50; the intervals are wider than that.
    """
    exact, noise, words = np.array([30, 60, 5, 5]), Laplace(sensitivity=1, epsilon=0.1), splitmix(4)
    held = [0, 0]
    for _i in range(2000):
        found = shares(noise.add_noise(exact, words), noise.scale, ("first", "second"))
        for place, (name, truth) in enumerate((("first", 0.65), ("second", 0.10))):
            held[place] += found[name]["low"] <= truth <= found[name]["high"]
            assert 0 <= found[name]["low"] <= found[name]["share"] <= found[name]["high"] <= 1
    assert min(held) > 1900


def test_shares_without_noise() -> None:
    found = shares(np.array([9000, 500, 300, 200]), Fraction(1, 1000), ("low", "high"))
    assert found["low"] == {"share": 0.07, "low": pytest.approx(0.0697), "high": pytest.approx(0.0703)}
    assert found["high"]["share"] == 0.05


def test_nobody_at_all_says_nothing() -> None:
    for counts in (np.zeros(4, dtype=int), np.array([-5, -5, -5, -5])):
        found = shares(counts, Fraction(10), ("low", "high"))["low"]
        assert (found["low"], found["high"]) == (0.0, 1.0)


def test_values_are_reported_once() -> None:
    asked = people().agg(a=_.visits.sum(), b=_.visits.mean(), c=_.age.count(), d=_.count(), e=_.age.mean())
    assert [value.text for value in bounded_values(asked._query)] == ["visits", "age"]


def test_refusals() -> None:
    asked, counted = people().agg(a=_.visits.sum()), people().agg(a=_.count())
    assert reports(asked._query, "clipped") == {"clipped"}
    assert reports(asked._query, ()) == frozenset()
    with pytest.raises(InvalidParameter, match='report="clipped"'):
        reports(asked._query, ("clipped", "cut"))
    with pytest.raises(InvalidQuery, match="counts are not clipped"):
        reports(counted._query, "clipped")
    rows: Any = dp.protect(visits(), unit=dp.ROW, budget=dp.Budget(epsilon=1)).count()
    with pytest.raises(InvalidQuery, match="nothing is weighted down"):
        reports(rows._query, "weighted")

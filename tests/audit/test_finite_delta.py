"""Delta by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet.audit import exact


def test_randomized_response_costs_exactly_its_epsilon() -> None:
    p = math.e / (1 + math.e)
    assert exact([p, 1 - p], [1 - p, p], epsilon=1).ok
    assert not exact([p, 1 - p], [1 - p, p], epsilon=0.99).ok


def test_delta_is_the_sum_of_what_exceeds() -> None:
    first, second = {"a": Fraction(1, 2), "b": Fraction(1, 2)}, {"a": Fraction(1, 2), "c": Fraction(1, 2)}
    report = exact(first, second, epsilon=1, delta=0.25)
    assert report.findings[0].size == pytest.approx(0.5)
    assert exact(first, second, epsilon=1, delta=0.5).ok
    assert "'b'" in report.findings[0].message or "'c'" in report.findings[0].message


def test_disjoint_laws_are_the_worst_there_is() -> None:
    report = exact({"a": 1}, {"b": 1}, epsilon=8, delta=0.9)
    assert not report.ok
    assert {row["delta"] for row in report.rows} == {1.0}


def test_both_directions_count() -> None:
    """An output of one side alone is seen whichever side it is."""
    assert not exact([1, 0], [0.5, 0.5], epsilon=3).ok
    assert not exact([0.5, 0.5], [1, 0], epsilon=3).ok


@pytest.mark.parametrize(("first", "second"), [([1], [0.5, 0.5]), ([0.5, 0.4], [0.5, 0.5]), ([-1, 2], [1, 0])])
def test_what_is_no_law_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(dp.InvalidParameter):
        exact(first, second, epsilon=1)

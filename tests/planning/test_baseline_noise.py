"""The noise that a limit of one has, as limits and bounds multiply it: of one total, of several, of each law."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.planning.baseline_noise import baseline_noise
from discreet.planning.planner import price

ROWS = pa.table({"p": [1, 2], "x": [1.0, 2.0], "y": [1.0, 2.0], "g": [0, 1]})


def of(asked: Any, **paid: Any) -> float:
    return baseline_noise(price(asked._query, **paid), Fraction(1, 2))


def table(**stated: Any) -> dp.PrivateTable:
    facts: dict[str, Any] = {"unit": "p", "max_groups": 2, "max_rows": 5, "budget": dp.Budget(epsilon=1)} | stated
    return dp.protect(ROWS, bounds={"x": (0, 9), "y": (0, 3)}, keys={"g": [0, 1, 2]}, name="rows", **facts)


def test_noise_of_one_row_has_no_limits_in_it() -> None:
    for stated in ({}, {"max_rows": 1}, {"max_groups": 1}, {"unit": dp.ROW, "max_groups": None, "max_rows": None}):
        by = table(**stated).group_by("g")
        assert of(by.agg(n=_.count()), epsilon=1) == pytest.approx(2**0.5)
        assert of(by.agg(n=_.count()), rho=0.5) == pytest.approx(1)
    rows = table(unit=dp.ROW, max_groups=None, max_rows=None)
    assert of(rows.union(rows).agg(n=_.count()), epsilon=1) == pytest.approx(2**0.5)


def test_totals_that_share_the_price_have_more_noise_each() -> None:
    """So that limits and bounds are lower; a count beside a sum is in one block with it."""
    assert 1.2 * 2**0.5 < of(table().agg(s=_.x.sum(), t=_.y.sum()), epsilon=1) <= 2 * 2**0.5
    assert of(table().agg(s=_.x.sum(), n=_.count()), epsilon=1) == pytest.approx(2**0.5, rel=0.01)
    assert of(table().agg(m=_.x.median()), epsilon=1) == pytest.approx(2 * 2**0.5)

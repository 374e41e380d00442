"""The ways that were not taken are told with the errors that they would have."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.selection.partition_selection import KeySelection
from discreet.testing import people

DRAWS = 200_000


def table() -> dp.PrivateTable:
    rows = {"who": [1, 2], "x": [0.0, 10.0], "g": ["a", "b"]}
    budget = dp.Budget(epsilon=9, delta=1e-3)
    return dp.protect(pa.table(rows), unit="who", bounds={"x": (0, 10)}, max_rows=1, max_groups=3, budget=budget)


def told(question: Any, **price: Any) -> dict[str, dict[str, str]]:
    found = question.explain(**{"epsilon": 1, **price})
    return {other["mechanism"]: other["plus_minus"] for other in found["also priced"]}


def of_n(text: str) -> float:
    return float(text.removesuffix("/n"))


def drawn(parts: int) -> np.ndarray[Any, Any]:
    """The noise of separate sums of one row a unit, at epsilon = 1 in all, by the textbook."""
    return np.random.default_rng(4).laplace(scale=parts, size=(DRAWS, parts))


def test_sums_apart_have_the_error_that_is_told() -> None:
    """A mean and a variance of 10,000 values at 0 and 1, from noisy sums of centered values."""
    n, u = 10_000, np.repeat([0.0, 1.0], [500, 9500]) - 0.5
    truth = (u.mean(), u.var())
    found = (
        told(table().agg(m=_.x.mean()))["sums and counts apart"]["m"],
        told(table().agg(v=_.x.var()))["sums and counts apart"]["v"],
    )
    noise = drawn(2)
    mean = (u.sum() + noise[:, 0] / 2) / (n + noise[:, 1])
    assert np.quantile(np.abs(mean - truth[0]) * 10 * n, 0.95) == pytest.approx(of_n(found[0]), rel=0.06)
    noise = drawn(3)
    count = n + noise[:, 2]
    variance = ((u**2).sum() + noise[:, 0] / 4) / count - ((u.sum() + noise[:, 1] / 2) / count) ** 2
    off = np.quantile(np.abs(variance - truth[1]) * 100 * n, 0.95)
    assert 0.6 * of_n(found[1]) < off <= 1.02 * of_n(found[1])


@pytest.mark.long
@pytest.mark.parametrize("asked", [_.x.mean(), _.x.var(), _.x.std()])
@pytest.mark.parametrize("price", [{}, {"delta": 1e-6}])
def test_the_forms_that_are_taken_are_better(asked: Any, price: dict[str, Any]) -> None:
    question = table().agg(a=asked)
    own = question.explain(epsilon=1, **price)["columns"][0]["plus_minus"]
    other = told(question, **price)["sums and counts apart"]["a"]
    assert float(own.split("/")[0]) < float(other.split("/")[0])
    with_rows = question.explain(epsilon=1, assume={"rows": 10**6}, **price)
    apart = next(one for one in with_rows["also priced"] if one["mechanism"] == "sums and counts apart")
    assert float(with_rows["columns"][0]["plus_minus"]) < float(apart["plus_minus"]["a"])


def test_what_has_no_other_way_has_no_line() -> None:
    assert told(table().agg(n=_.count(), s=_.x.sum())) == {}
    assert told(table().agg(q=_.x.median())) == {}


def test_each_quantile_alone_is_a_question_of_its_own() -> None:
    several = told(table().agg(q=_.x.quantile([0.1, 0.5, 0.9])))["each quantile alone"]
    one = table().agg(q=_.x.quantile(0.1)).explain(epsilon=Fraction(1, 3))["columns"][0]["plus_minus"]
    assert several["q_0.1"] == one.partition(", at most")[0]


def test_other_selections_are_told_and_none_is_better() -> None:
    question = people().group_by("plan", keys=dp.UNKNOWN, max_groups=10).agg(n=_.count())
    look = question.explain(epsilon=2, delta=1e-5)["first looks"][-1]
    assert look["mechanism"] == "weighted selection"
    users = {one.split(" ")[0]: int(one.split(" ")[2]) for one in look["also priced"]}
    assert set(users) == {"optimal", "gaussian"}
    part = float(look["delta"])
    found = {name: KeySelection(epsilon=1, delta=part, max_groups=10, method=name).users() for name in users}
    assert users == found
    assert min(found.values()) >= KeySelection(epsilon=1, delta=part, max_groups=10).users()
    assert "or  optimal selection" in repr(question.explain(epsilon=2, delta=1e-5))


def replaced(low: int, high: int) -> dp.PrivateTable:
    facts: dict[str, Any] = {"unit": dp.ROW, "neighbors": "replace-one", "rows": 4, "budget": dp.Budget(epsilon=1)}
    return dp.protect(pa.table({"x": [61.0, None, 70.0, 3.0]}), bounds={"x": (low, high)}, **facts)


@pytest.mark.parametrize(("low", "high", "moved"), [(60, 70, 70), (-9, -4, 9), (-3, 5, 8)])
def test_what_filled_nulls_would_save_is_what_they_save(low: int, high: int, moved: int) -> None:
    """Where a row may be NULL, a sum moves from one end to 0, or to the other end across 0."""
    open_sum, whole = (t.agg(s=_.x.sum()) for t in (replaced(low, high), replaced(low, high).fill_null({"x": low})))
    [block], [narrow] = (asked.explain(epsilon=1)["totals"] for asked in (open_sum, whole))
    assert block["sensitivity"] / block["steps"] * max(abs(low), abs(high)) == pytest.approx(moved)
    assert narrow["sensitivity"] == narrow["steps"]  # of the width of the bounds
    words = "sums after .fill_null, of as many values as there are rows"
    foreseen = told(open_sum).get(words, {"s": open_sum.explain(epsilon=1)["columns"][0]["plus_minus"]})
    assert float(foreseen["s"]) == pytest.approx(float(whole.explain(epsilon=1)["columns"][0]["plus_minus"]), rel=1e-3)
    assert (words in told(open_sum)) is (high - low < moved)
    assert words not in told(whole)

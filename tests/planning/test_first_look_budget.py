"""The part of the price that finds limits and bounds: stated, usual, or larger for few units whose number is public."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.planning.first_look_budget import parts

UNITS = 1000
ROWS = pa.table({"p": range(UNITS), "x": [5.0 + i % 3 for i in range(UNITS)], "y": [1.0] * UNITS})


def table(**stated: Any) -> dp.PrivateTable:
    facts: dict[str, Any] = {"unit": "p", "max_rows": 1, "bounds": {"x": "auto", "y": (0, 10**6)}} | stated
    return dp.protect(ROWS, budget=dp.Budget(epsilon=10**4, rho=None), name="rows", **facts)


def looked(asked: Any, **paid: Any) -> list[str]:
    return [look["epsilon"] for look in asked.explain(**paid)["first looks"]]


def test_a_stated_part_is_divided_as_the_usual_one() -> None:
    asked = table(max_rows="auto").agg(x=_.x.sum())
    assert looked(asked, epsilon=1) == ["0.05", "0.1"]
    assert looked(asked, epsilon=1, first_look=0.6) == ["0.2", "0.4"]
    assert looked(asked, epsilon=1, first_look=0.06) == ["0.02", "0.04"]
    plan = asked._priced((1, 0, None, None), None, 0.95, None, ())
    assert plan.event == asked.plan(epsilon=1).event


def test_few_units_whose_number_is_public_have_a_larger_first_look() -> None:
    few = table(neighbors="replace-one", units=UNITS).agg(x=_.x.sum())
    assert [looked(few, epsilon=e) for e in (0.1, 0.5, 1, 4)] == [["0.01"], ["0.1"], ["0.1"], ["0.4"]]
    assert looked(few, epsilon=0.5, first_look=0.1) == ["0.05"]
    for units, each in ((10**6, 20), (500, 10), (200, 4), (50, 20), (None, 20)):
        assert parts(2, 0, None, units, Fraction(1))[0] == Fraction(1, each)


def test_a_larger_first_look_finds_what_a_tenth_does_not() -> None:
    """Thousand units at 0.2: a bin needs 758 of them at a tenth, and 153 at a half."""
    asked = dp.protect(
        ROWS.set_column(1, "x", pa.array([2.0 ** (i % 4) for i in range(UNITS)])),
        unit="p", max_rows=1, bounds={"x": "auto"}, budget=dp.Budget(epsilon=10), name="four bins",
    ).agg(x=_.x.sum())  # fmt: skip
    assert asked.explain(epsilon=0.2)["first looks"][0]["finds"].startswith("where 758 units are in one bin")
    assert asked.explain(epsilon=0.2, first_look=0.5)["first looks"][0]["finds"].startswith("where 153 units")
    answer = asked.release(epsilon=0.2, first_look=0.5)
    assert answer.receipt["found"]["bounds"]["x"] in (["0", "8"], ["0", "16"])
    assert answer.receipt["charge"]["epsilon"] == "0.2"


def test_narrower_bounds_have_their_part() -> None:
    asked = table(bounds={"x": (0, 100), "y": (0, 10**6)}).agg(y=_.y.sum())
    told = asked.explain(epsilon=1, bounds="auto", first_look=0.3)
    assert [look["epsilon"] for look in told["first looks"]] == ["0.3"]
    assert asked.release(epsilon=1, bounds="auto", first_look=0.3).receipt["first looks"][0]["epsilon"] == "0.3"


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "none": (lambda t: t.agg(x=_.x.sum()).explain(epsilon=1, first_look=0), "above 0 and of at most 0.9"),
    "all": (lambda t: t.agg(x=_.x.sum()).release(epsilon=1, first_look=1), "above 0 and of at most 0.9"),
    "a word": (lambda t: t.agg(x=_.x.sum()).release(epsilon=1, first_look="half"), "Expected a number"),
    "nothing open": (lambda t: t.count().release(epsilon=1, first_look=0.5), "a limit or bounds that are to be found"),
    "rounds": (lambda t: t.count().release(within={"count": 9}, up_to=1, first_look=0.5), "first_look beside up_to"),
    "rounds, told": (lambda t: t.count().explain(within={"count": 9}, up_to=1, first_look=0.5), "beside up_to"),
    "reports": (
        lambda t: t.agg(x=_.x.sum()).release(epsilon=1, first_look=0.9, report=("clipped", "weighted")),
        "something left for the answer",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_parts_are_refused(what: str) -> None:
    ask, said = REFUSED[what]
    held = table()
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=said):
        ask(held)
    assert not held.budget.entries()

"""Numbers of values that nobody listed, as columns of an answer: what they cost, hold and refuse."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.inference.estimate import estimates
from discreet.mechanisms.laplace import Laplace
from discreet.planning.unlisted_values import MOST, tried_limits
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix
from neighbor_bench import plan_of

CITIES = 37


def protected(**stated: Any) -> PrivateTable:
    """400 rows of 50 persons in 37 cities; nobody lists the cities."""
    rows = pa.table({
        "person": [i % 50 for i in range(400)], "city": [f"c{i % CITIES}" for i in range(400)],
        "age": [i % 90 for i in range(400)], "real": [i / 8 for i in range(400)], "ward": [i % 3 for i in range(400)],
    })  # fmt: skip
    facts: dict[str, Any] = {
        "unit": "person",
        "bounds": {"age": (0, 90)},
        "max_rows": 8,
        "max_groups": 2,
        "name": "people",
    }
    return dp.protect(rows, budget=dp.Budget(epsilon=10**6, delta=0.1), **{**facts, **stated})


def test_parts_add_up_to_the_price() -> None:
    asked = protected().agg(n=_.count(), c=_.city.nunique(), a=_.age.nunique(), m=_.age.median())
    plan = plan_of(asked, epsilon=1)
    [counting] = [block.noise for block in plan.blocks]
    assert isinstance(counting, Laplace)
    parts = [counting.epsilon, *(one.cuts.epsilon for one in plan.ranks), *(one.noise.epsilon for one in plan.values)]
    assert sum(parts) == 1
    assert [column.values for column in plan.columns] == [None, 0, 1, None]
    shares = [
        *(one.share for one in plan.blocks),
        *(one.share for one in plan.ranks),
        *(one.share for one in plan.values),
    ]
    assert sum(shares) == 1
    in_rho = asked.plan(rho=Fraction(1, 2))
    assert in_rho.event is not None
    assert Fraction(49, 100) < zcdp_of_event(in_rho.event)[0] <= Fraction(1, 2)
    heavier = asked.plan(epsilon=1, weights={"c": 8}).values
    assert heavier[0].noise.epsilon == pytest.approx(2 * heavier[1].noise.epsilon, rel=1e-4)


def test_limits_are_as_public_as_those_of_the_table() -> None:
    assert tried_limits(1) == [1]
    assert tried_limits(None)[-1] == MOST
    [one] = plan_of(protected().agg(c=_.city.nunique()), epsilon=1).values
    assert one.noise.limits == (1, 2, 4, 8)
    [one] = plan_of(protected(max_rows=None).agg(c=_.city.nunique()), epsilon=1).values  # it needs no limit
    assert one.noise.limits == tuple(tried_limits(None))
    [one] = plan_of(protected(unit=dp.ROW, max_rows=None, max_groups=None).agg(c=_.city.nunique()), epsilon=1).values
    assert (one.noise.limits, one.noise.units, one.noise.both_ways) == ((1,), 1, False)
    replaced = {"neighbors": "replace-one", "units": 50}
    assert plan_of(protected(**replaced).agg(c=_.city.nunique()), epsilon=1).values[0].noise.both_ways


def test_conditions_are_on_rows() -> None:
    answer = protected().agg(c=_.city.nunique(), few=_.city.nunique(where=_.age < 5), n=_.count()).release(epsilon=600)
    [row] = answer.to_pyarrow().to_pylist()
    some = {f"c{i % CITIES}" for i in range(400) if i % 90 < 5}
    assert (row["c"], row["few"], row["n"]) == (CITIES, len(some), 400)
    assert (row["c_low"], row["c_high"]) == (CITIES, float("inf"))
    assert (
        dp.sql("SELECT COUNT(DISTINCT city) AS c FROM people", people=protected()).release(epsilon=600)["c"] == CITIES
    )


def test_the_lower_end_holds_as_often_as_it_says() -> None:
    """Of values that one person each has, so that no limit leaves any out; 600 draws, for which it takes no engine."""
    plan = plan_of(protected().agg(c=_.city.nunique()), epsilon=1)
    missed, words = 0, splitmix(5)
    for _i in range(600):
        chosen = plan.values[0].noise.release([CITIES] * 4, words=words)
        ends = estimates(plan, [np.array([[chosen.place, chosen.noisy]], dtype=object)], 0.95)["c"]
        missed += ends.low[0] > CITIES
        assert 0 <= ends.low[0] <= ends.values[0] <= ends.high[0]
    assert 0 < missed <= 57  # at 95 %: above it one time in a million


def test_it_is_explained_before_anything_is_spent() -> None:
    table = protected()
    account = table.agg(c=_.city.nunique()).explain(epsilon=1)
    [column], [total] = account["columns"], account["totals"]
    assert column["plus_minus"] == "5 too large, at most 37"
    assert (total["limits"], total["epsilon"]) == ("1, 2, 4, 8", "1") or total["limits"] == [1, 2, 4, 8]
    assert account["limits"] == "none needed"
    assert "a bound from below" in account["intervals"]
    assert table.budget.spent.epsilon == 0
    first = table.agg(c=_.city.nunique()).release(epsilon=1)
    assert table.agg(c=_.city.nunique()).release(epsilon=1).to_pyarrow().equals(first.to_pyarrow())
    assert table.budget.spent.epsilon == 1


def test_a_document_has_it() -> None:
    table = protected()
    asked = table.agg(c=_.city.nunique(), n=_.count())
    assert dp.question(asked.document(), {"people": table}).document() == asked.document()


REFUSED: dict[str, tuple[Callable[[PrivateTable], Any], str]] = {
    "in groups": (lambda t: t.group_by("ward", keys={"ward": range(3)}).agg(c=_.city.nunique()), "in groups"),
    "of unknown keys": (lambda t: t.group_by("ward", keys=dp.UNKNOWN).agg(c=_.city.nunique()), "in groups"),
    "real numbers": (lambda t: t.agg(c=_.real.nunique()), "with public keys"),
    "an expression": (lambda t: t.agg(c=_.city.upper().nunique()), r"\.mutate"),
    "within": (lambda t: t.agg(c=_.city.nunique()).release(within={"c": 5}), "known beforehand"),
    "rounds": (
        lambda t: t.agg(c=_.city.nunique()).release(within={"c": 5}, up_to=1, relative=True), "a mechanism of its own",
    ),
    "a report": (
        lambda t: t.agg(c=_.city.nunique(), s=_.age.sum()).release(epsilon=1, report="clipped"), "beside report",
    ),
    "bounds to find": (lambda t: t.agg(c=_.city.nunique(), s=_.real.sum()).release(epsilon=1), "bounds"),
    "a batch": (lambda t: dp.batch(a=t.agg(c=_.city.nunique()), b=t.count(), max_rows=1, max_groups=1), "add up"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_costs_nothing(name: str) -> None:
    table, (asked, match) = protected(), REFUSED[name]
    with pytest.raises((InvalidQuery, InvalidParameter), match=match) as refused:
        asked(table)
    assert "Hint: " in str(refused.value)
    assert table.budget.spent.epsilon == 0

"""Features of units: functions of their rows without order, one row each, within what is claimed of them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import UNIT, barrier
from discreet.query.table import PrivateTable

Protect = Callable[..., PrivateTable]

NAN, INF = math.nan, math.inf
ROWS = pa.table(
    {
        "who": pa.array(["a", "a", "a", "a", "b", "b", None, "c"]),
        "v": pa.array([0.1, 0.2, 0.3, None, INF, NAN, 5.0, None], pa.float64()),
        "i": pa.array([3, 1, 2, 1, -(2**63), 2**63 - 1, 5, None], pa.int64()),
        "t": pa.array(["x", "y", "x", None, "z", "", "x", None]),
        "ok": pa.array([True, None, False, True, True, True, True, None]),
        "day": pa.array([datetime.date(2020, 1, d) for d in (3, 1, 2, 4, 5, 6, 7, 8)]),
    }
)


def protected(rows: pa.Table = ROWS, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "bounds": {"v": (0, 1)}, "budget": dp.Budget(epsilon=100)} | stated
    return dp.protect(rows, **facts)


def rows_of(table: PrivateTable) -> list[dict[str, Any]]:
    """The exact rows of a table, as the engine sees them."""
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # the curator's
    declared = table._source.declaration
    seen = barrier(engine._raw, declared.unit, declared.bounds)
    op = table._relation.op()
    found = op.replace(dict.fromkeys(op.find(ops.UnboundTable), seen.op())).to_expr()
    hidden = [name for name in found.columns if name.startswith(UNIT)]
    values: list[dict[str, Any]] = engine._backend.to_pyarrow(found.order_by(hidden)).drop(hidden).to_pylist()
    for row in values:
        for name, value in table._columns.items():
            held = row[name]
            assert held is not None or value.nullable, name
            if held is not None and value.interval is not None:
                assert value.interval.low <= held <= value.interval.high, name
    return values


def test_every_aggregate_of_a_unit() -> None:
    made = protected().per_unit(
        rows=_.count(), values=_.v.count(), total=_.v.sum(), mean=_.v.mean(), least=_.v.min(), most=_.i.max(),
        kinds=_.t.nunique(), word=_.t.max(), any=_.ok.any(), all=_.ok.all(), oks=_.ok.sum(), day=_.day.min(),
        whole=_.i.clip(0, 9).sum(), early=_.count(where=_.day < "2020-01-03"), some=_.v.mean(where=_.ok),
    )  # fmt: skip
    a, b, c = rows_of(made)
    assert a == {
        "who": "a", "rows": 4, "values": 3, "total": pytest.approx(0.6), "mean": pytest.approx(0.2), "least": 0.1,
        "most": 3, "kinds": 2, "word": "y", "any": True, "all": False, "oks": 2, "day": datetime.date(2020, 1, 1),
        "whole": 7, "early": 2, "some": pytest.approx(0.1),
    }  # fmt: skip
    assert (b["total"], b["mean"], b["values"], b["most"], b["word"]) == (1.0, 1.0, 1, 2**63 - 1, "z")
    nothing = {
        "total": 0.0,
        "mean": None,
        "least": None,
        "most": None,
        "kinds": 0,
        "word": None,
        "whole": 0,
        "values": 0,
    }
    assert {name: c[name] for name in nothing} == nothing
    assert (c["any"], c["oks"], c["rows"]) == (None, 0, 1)


def test_the_order_of_rows_does_not_show() -> None:
    """A thousand orders of the same rows, whose sum in doubles depends on the order; and both zeros."""
    values = [0.1 * 2.0 ** (i % 40) for i in range(200)]
    chance = np.random.default_rng(7)
    units = []
    for unit in range(1000):
        order = chance.permutation(200) if unit else np.arange(200)
        units += [(unit, values[i]) for i in order]
    table = pa.table({"who": [u for u, _ in units], "v": [v for _, v in units]})
    found = rows_of(protected(table, bounds={"v": (0, 2.0**40)}).per_unit(s=_.v.sum(), m=_.v.mean()))
    assert len({(row["s"], row["m"]) for row in found}) == 1
    zeros = pa.table({"who": [1, 1, 2, 2], "v": [0.0, -0.0, -0.0, 0.0]})
    found = rows_of(protected(zeros, bounds={"v": (-1, 1)}).per_unit(low=_.v.min(), high=_.v.max()))
    assert {(str(row["low"]), str(row["high"])) for row in found} == {("0.0", "0.0")}


@pytest.mark.parametrize(("high", "off"), [(1, 1e-14), (10**6, 1e-9), (10**12, 2e-4), (2.0**60, 2**9)])
def test_sums_are_near_those_of_doubles_under_generous_bounds(high: float, off: float) -> None:
    """Of 2**40 steps of a range up to 10**12, amounts below 0.9 would be nothing."""
    rows = pa.table({"who": ["a"] * 5000 + ["b"], "v": [min(high, 0.3)] * 5000 + [high]})
    table = protected(rows, bounds={"v": (0, high)}).per_unit(s=_.v.sum(), m=_.v.mean())
    for found, (number, value) in zip(rows_of(table), ((5000, 0.3), (1, float(high))), strict=True):
        assert abs(found["s"] - number * value) <= number * off
        assert abs(found["m"] - value) <= off


def test_a_unit_out_of_sight_is_still_one() -> None:
    made = protected().drop("who").per_unit(n=_.count())
    assert made.columns == ("n",)
    assert [row["n"] for row in rows_of(made)] == [4, 2, 1]


def test_units_of_several_columns() -> None:
    rows = pa.table({"a": [0.0, -0.0, 1.0, NAN], "b": ["x", "x", "y", "x"], "v": [1.0, 1.0, 1.0, 1.0]})
    found = rows_of(protected(rows, unit=["a", "b"]).per_unit(n=_.count()))
    assert [(row["b"], row["n"]) for row in found] == [("x", 2), ("y", 1)]


def test_one_row_a_unit_needs_no_limits(protect_people: Protect, exact: Any) -> None:
    made = protect_people(max_rows=None, max_groups=None).per_unit(years=_.year.nunique(), plan=_.plan.min())
    assert exact(made.agg(n=_.count(), y=_.years.clip(0, 5).sum())) == {"n": [4], "y": [6]}
    grouped = made.group_by("plan", keys={"plan": ["a", "b"]}).agg(n=_.count())
    assert grouped.explain(epsilon=1)["limits"] == {"max_groups": 1, "max_rows": 1}
    assert exact(grouped)["n"] == [2, 1]
    assert exact(made.nunique()) == {"nunique": [4]}
    stated = made.group_by("plan", keys={"plan": ["a", "b"]}, max_rows=7, max_groups=2).agg(n=_.count())
    assert stated.explain(epsilon=1)["limits"] == {"max_groups": 1, "max_rows": 1}


def test_nothing_that_was_known_is_kept(protect_people: Protect, refused: Any) -> None:
    table = protect_people()
    made = table.per_unit(plan=_.plan.min(), age=_.age.max())
    assert "the public keys of 'plan'" in refused(InvalidQuery, made.group_by, "plan")
    assert "was not rewritten" in refused(InvalidQuery, made.filter, table.age > 3)
    assert made._columns["age"].interval == table._columns["age"].interval


def test_sums_and_counts_have_no_bounds(protect_people: Protect, refused: Any) -> None:
    made = protect_people().per_unit(n=_.count(), s=_.age.sum(), k=_.plan.nunique(), m=_.age.mean())
    for name in ("n", "s", "k"):
        assert f"bounds for '{name}'" in refused(InvalidQuery, made.agg, x=made[name].mean())
    assert made.agg(x=_.m.mean(), y=_.s.clip(0, 300).mean()) is not None


REFUSED: dict[str, tuple[Callable[[PrivateTable], Any], str]] = {
    "nothing": (lambda t: t.per_unit(), "Expected features"),
    "a column": (lambda t: t.per_unit(x=_.age), "may not depend on the order"),
    "the first": (lambda t: t.per_unit(x=_.age.first()), "may not depend on the order"),
    "any one": (lambda t: t.per_unit(x=_.age.arbitrary()), "may not depend on the order"),
    "a list": (lambda t: t.per_unit(x=_.age.collect()), "may not depend on the order"),
    "an approximation": (lambda t: t.per_unit(x=_.age.approx_nunique()), "may not depend on the order"),
    "a calculation": (lambda t: t.per_unit(x=_.age.sum() / 2), "calculate with features in .mutate(...)"),
    "rows of another table": (
        lambda t: t.per_unit(x=ibis.table({"a": "int64"}, name="o").count()),
        "this table's rows",
    ),
    "a sum without bounds": (lambda t: t.per_unit(x=_.size.sum()), "Expected bounds for size"),
    "a sum of text": (lambda t: t.per_unit(x=_.plan.length().sum() + 1), "may not depend"),
    "the least truth": (lambda t: t.per_unit(x=_.ok.min()), "use .any() or .all()"),
    "the unit's name": (lambda t: t.per_unit(Person=_.count()), "other than the privacy unit"),
    "where it is no condition": (lambda t: t.per_unit(x=_.count(where=_.age)), "Expected"),
    "names apart by case": (lambda t: t.per_unit(x=_.count(), X=_.count()), "more than case"),
    "windows": (lambda t: t.per_unit(x=(_.age - _.age.mean()).sum()), "Expected operations on one row"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(unreadable: Protect, refused: Callable[..., str], what: str) -> None:
    ask, said = REFUSED[what]
    assert said in refused(InvalidQuery, ask, unreadable())


def test_rows_as_units_have_no_features(by_row: Protect, refused: Callable[..., str]) -> None:
    assert "got dp.ROW" in refused(InvalidQuery, by_row().per_unit, n=_.count())


def test_an_empty_table_has_no_units(exact: Any) -> None:
    made = protected(ROWS.slice(0, 0)).per_unit(s=_.v.sum())
    assert rows_of(made) == []
    assert exact(made.agg(n=_.count())) == {"n": [0]}
    assert made._columns["s"].kind is Kind.REAL

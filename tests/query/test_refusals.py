"""What bad input gets: an error with its cure, before any row is read, and nothing is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp

ROWS = pa.table(
    {
        "person": [1, 1, 2],
        "age": [20, 21, 70],
        "visits": [1.0, 2.0, 3.0],
        "free": [1.0, 2.0, 3.0],
        "plan": ["a", "b", "a"],
    }
)
STATED: dict[str, Any] = {
    "unit": "person",
    "bounds": {"age": (0, 110), "visits": (0, 50)},
    "keys": {"plan": ["a", "b"]},
    "max_groups": 1,
    "max_rows": 2,
}


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> dp.PrivateTable:
    """A table whose engine fails the test if a row is asked for."""

    def look(*_: object) -> None:
        pytest.fail("a row was read")

    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", look)
    return dp.protect(ROWS, **STATED, budget=dp.Budget(epsilon=1))


def refused(people: dp.PrivateTable, ask: Callable[[dp.PrivateTable], Any], message: str) -> None:
    """The refusal has its form, and nothing was spent."""
    with pytest.raises((dp.InvalidQuery, dp.InvalidParameter, dp.BudgetExceeded), match=message) as refusal:
        ask(people)
    assert str(refusal.value).startswith("Expected ")
    assert "\nHint: " in str(refusal.value)
    assert people.budget.spent.epsilon == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.agg(s=_.free.sum()), "bounds for 'free'"),
        (lambda t: t.filter(age=3), r"got age=3\.\nHint: write \.filter\(_\.age == 3\)"),
        (lambda t: t.filter(_.age > 3, plan="a"), r"got plan='a'\.\nHint: write \.filter\(_\.plan == 'a'\)"),
        (lambda t: t.mutate(_.age / 12), "a name for each column"),
        (lambda t: t.per_unit(_.age.max()), "a name for each feature"),
        (lambda t: t.mutate(y=_.free + _.visits).agg(s=_.y.sum()), "bounds for 'y'|overflow"),
        (lambda t: t.filter(_.agee > 3), "did you mean 'age'"),
        (lambda t: t.filter(lambda r: r.agee > 3), "did you mean 'age'"),
        (lambda t: t.agee, "did you mean 'age'"),
        (lambda t: t["agee"], "did you mean 'age'"),
        (lambda t: t.select("agee"), "did you mean 'age'"),
        (lambda t: t.group_by("plann"), "did you mean 'plan'"),
        (lambda t: t.filter(*[True]), "condition"),
        (lambda t: t.filter(), "condition"),
        (lambda t: t.filter(_.age), "condition"),
        (lambda t: t.filter(lambda r: (r.age > 1) and (r.age < 5)), "& and"),
        (lambda t: t.filter(lambda r: 1 < r.age < 5), "& and"),
        (lambda t: t.mutate(r=_.age.rank()), "one row at a time"),
        (lambda t: t.mutate(r=_.age - _.age.mean()), "one row at a time"),
        (lambda t: t.mutate(r=ibis.random()), "one row at a time"),
        (lambda t: t.filter(_.age > ibis.memtable(pa.table({"a": [1]})).a.max()), "one row at a time|another"),
        (lambda t: t.mutate(n=_.plan.cast("int64")), "cast that cannot fail"),
        (lambda t: t.mutate(q=1 / _.age), "divisor"),
        (lambda t: t.mutate(q=_.free * 10), "overflow"),
        (lambda t: t.mutate(q=_.age.log()), "argument"),
        (lambda t: t.mutate(q=(_.age - 5).sqrt()), "argument"),
        (lambda t: t.mutate(person=_.age), "privacy unit"),
        (lambda t: t.agg(m=_.age.mode()), "Expected count"),
        (lambda t: t.agg(m=_.plan.mode()), r'write people.top\("plan", k=1, epsilon=0.5\)'),
        (lambda t: t.group_by("plan").agg(m=_.age.nunique()), "nunique"),
        (lambda t: t.agg(), "an aggregate"),
        (lambda t: t.group_by("plan").agg(plan=_.count()), "name"),
        (lambda t: t.agg(n=_.count(), n_low=_.count()), "name"),
    ],
)
def test_questions_outside_the_language(people: dp.PrivateTable, ask: Any, message: str) -> None:
    refused(people, ask, message)


@pytest.mark.parametrize("epsilon", [None, 0, -0.5, float("nan"), float("inf"), True, "1"], ids=repr)
def test_epsilons_that_mean_nothing(people: dp.PrivateTable, epsilon: Any) -> None:
    refused(people, lambda t: t.count().release(epsilon=epsilon), "epsilon|number")


def test_over_budget(people: dp.PrivateTable) -> None:
    refused(people, lambda t: t.count().release(epsilon=1.01), "1.01")


@pytest.mark.parametrize(
    "name", ["execute", "head", "to_pandas", "to_polars", "to_pyarrow", "to_parquet", "limit", "preview"]
)
def test_rows_are_not_shown(people: dp.PrivateTable, name: str) -> None:
    later = () if name == "limit" else (people.count(),)  # it is handed on to the answer
    for unreleased in (people, people.group_by("plan"), *later):
        shown = getattr(unreleased, name)
        refused(people, lambda _, show=shown: show(), r"end with .release\(epsilon=")  # type: ignore[misc]  # a default
    refused(people, len, r"end with .release\(epsilon=")
    refused(people, list, r"end with .release\(epsilon=")


@pytest.mark.parametrize("missing", ["max_groups", "max_rows"])
def test_a_missing_limit_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", lambda *_: pytest.fail("a row was read"))
    table = dp.protect(ROWS, **{**STATED, missing: None}, budget=dp.Budget(epsilon=1))
    refused(table, lambda t: t.group_by("plan").agg(n=_.count()), f"Expected {missing}, got none")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"unit": None}, "a privacy unit"),
        ({"unit": "persn"}, "did you mean 'person'"),
        ({"unit": []}, "a column"),
        ({"unit": ["person", "person"]}, "a column"),
        ({"budget": None}, "a budget"),
        ({"budget": 1.0}, "a budget"),
        ({"bounds": {"agee": (0, 1)}}, "did you mean 'age'"),
        ({"bounds": {"age": (110, 0)}}, "low < high"),
        ({"bounds": {"age": (5, 5)}}, "low < high"),
        ({"bounds": {"visits": (0, float("inf"))}}, "finite"),
        ({"bounds": {"visits": (float("nan"), 1)}}, "finite"),
        ({"bounds": {"visits": 50}}, "a pair"),
        ({"bounds": {"plan": (0, 1)}}, "numbers and dates"),
        ({"bounds": {"person": (0, 1)}}, "privacy unit"),
        ({"keys": {"plan": ["a", "a"]}}, "each key once"),
        ({"keys": {"visits": [1.0]}}, "compare exactly"),
        ({"max_rows": 0}, "1 or more"),
        ({"max_groups": 1.5}, "1 or more"),
        ({"max_rows": True}, "1 or more"),
        ({"unit": dp.ROW}, "no max_"),
        ({"neighbors": "same"}, "add-remove"),
        ({"neighbors": "replace-one"}, "public number of units"),
        ({"units": 5}, "no public size"),
        ({"schema": {"age": "int9"}}, "known type"),
    ],
    ids=str,
)
def test_declarations_that_cannot_be_used(changed: dict[str, Any], message: str) -> None:
    stated = {**STATED, "budget": dp.Budget(epsilon=1), **changed}
    with pytest.raises(dp.InvalidParameter, match=message) as refusal:
        dp.protect(ROWS, **stated)
    assert str(refusal.value).startswith("Expected ")
    assert "\nHint: " in str(refusal.value)


def test_a_csv_file_needs_a_schema(tmp_path: Any) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("person,visits\n1,2\n")
    with pytest.raises(dp.InvalidParameter, match="a schema for a CSV file"):
        dp.protect(path, unit="person", budget=dp.Budget(epsilon=1))

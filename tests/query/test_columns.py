"""Verbs on columns: what stays known of a column and what does not, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.query.table import PrivateTable

Protect = Callable[..., PrivateTable]


def test_a_renamed_column_keeps_its_bounds_and_keys(protect_people: Protect, exact: Any, refused: Any) -> None:
    table = protect_people()
    renamed = table.rename({"years": "age"}, tier="plan")
    assert renamed.columns == ("person", "tier", "year", "years", "spent", "size", "ok", "day")
    assert renamed._columns["years"].interval == table._columns["age"].interval
    assert (
        exact(renamed.group_by("tier").agg(s=_.years.sum()))["s"]
        == exact(table.group_by("plan").agg(s=_.age.sum()))["s"]
    )
    assert "was not rewritten" in refused(InvalidQuery, renamed.filter, table.age > 3)
    assert "known column" in refused(InvalidQuery, renamed.filter, _.age > 3)


def test_names_can_be_swapped(by_row: Protect, exact: Any) -> None:
    swapped = by_row().rename(size="year", year="size")
    assert exact(swapped.agg(a=_.size.clip(0, 9).sum(), b=_.year.clip(0, 9).sum())) == {"a": [13], "b": [36]}


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ({}, "each column once"),
        ({"a": "nothing"}, "known column"),
        ({"a": "age", "b": "age"}, "each column once"),
        ({"plan": "age"}, "new names"),
        ({"Plan": "age"}, "differs by more than case"),
        ({"": "age"}, "Expected a name"),
        ({"__discreet_x": "age"}, "another name"),
        ({"who": "person"}, "other than the privacy unit"),
        ({"Person": "age"}, "other than the privacy unit"),
        ({1: "age"}, "a dict by column"),
    ],
)
def test_names_that_are_refused(protect_people: Protect, refused: Any, names: Any, what: str) -> None:
    assert what in refused(InvalidQuery, protect_people().rename, names)


def test_drop(protect_people: Protect, exact: Any, refused: Any) -> None:
    table = protect_people().drop("person", "age", _.size)
    assert table.columns == ("plan", "year", "spent", "ok", "day")
    assert exact(table.nunique()) == {"nunique": [4]}
    for wrong, what in (((), "some of the columns"), (("nothing",), "known column"), (table.columns, "at least one")):
        assert what in refused(InvalidQuery, table.drop, *wrong)


def test_casts_that_cannot_fail_and_those_that_can(by_row: Protect, exact: Any, refused: Any) -> None:
    table = by_row()
    assert table.cast({"age": "float64", "ok": "int64"})._columns["age"].kind is Kind.REAL
    assert "a cast that cannot fail" in refused(InvalidQuery, table.cast, {"plan": "int64"})
    assert exact(table.cast({"plan": "int64"}, failed=None).agg(n=_.count(where=_.plan.isnull()))) == {"n": [8]}
    stated = table.cast({"plan": "int64"}, failed=-1)
    assert exact(stated.agg(n=_.count(where=_.plan == -1), m=_.count(where=_.plan.isnull()))) == {"n": [7], "m": [1]}
    for wrong, what in (
        ({}, "columns to cast"),
        ("age", "a dict"),
        ({"no": "int64"}, "known column"),
        ({"age": "x"}, "Ibis"),
    ):
        assert what in refused(InvalidQuery, table.cast, wrong)
    assert "other than the privacy unit" in refused(
        InvalidQuery, by_row(unit="person", max_rows=1).cast, {"person": "float64"}
    )
    assert "Ibis" in refused(InvalidQuery, table.cast, {"plan": "int64"}, failed="text")


def test_a_rewritten_column_loses_its_keys(protect_people: Protect, refused: Any) -> None:
    filled = protect_people().fill_null({"plan": "none"})
    assert "the public keys of 'plan'" in refused(InvalidQuery, filled.group_by, "plan")


def test_fill_null(by_row: Protect, exact: Any, refused: Any) -> None:
    assert exact(by_row().fill_null({"age": 7}).agg(s=_.age.sum(), n=_.age.count())) == {"s": [293], "n": [8]}
    for wrong, what in (({}, "columns to fill"), (0, "a dict"), ({"no": 0}, "known column"), ({"age": "x"}, "Ibis")):
        assert what in refused(InvalidQuery, by_row().fill_null, wrong)


def test_distinct_is_per_unit(protect_people: Protect, by_row: Protect, exact: Any, refused: Any) -> None:
    people = protect_people(max_rows=5)
    assert exact(people.agg(n=_.count())) == {"n": [7]}
    assert exact(people.distinct("plan").agg(n=_.count())) == {"n": [6]}
    assert exact(people.distinct("year").agg(n=_.count())) == {"n": [6]}
    assert exact(people.distinct().agg(n=_.count())) == {"n": [7]}
    rows = by_row().distinct("plan")
    assert rows.agg(n=_.count()).explain(epsilon=1)["totals"][0]["sensitivity"] == 1
    assert "distinct columns" in refused(InvalidQuery, people.distinct, "plan", "plan")


def test_distinct_takes_what_is_equal_for_one_value(exact: Any) -> None:
    rows = pa.table({"person": [1, 1, 1, 1, 2], "v": [0.0, -0.0, float("nan"), None, 0.0]})
    table = dp.protect(rows, unit="person", max_rows=9, budget=dp.Budget(epsilon=1))
    assert exact(table.distinct("v").agg(n=_.count(), m=_.v.count())) == {"n": [3], "m": [2]}
    empty = dp.protect(rows.slice(0, 0), unit="person", max_rows=9, budget=dp.Budget(epsilon=1))
    assert exact(empty.distinct("v").agg(n=_.count())) == {"n": [0]}

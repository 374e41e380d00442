"""Projections and joins are what they say, and of no other table's columns."""

from __future__ import annotations

from typing import Literal

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pytest
from ibis.common.exceptions import IntegrityError

from discreet.engines.relational_operations import column_names, joined, selected, sides

ROWS = ibis.memtable(pa.table({"k": [1, 2, 3], "v": [10, 20, 30]}))
OTHER = ibis.memtable(pa.table({"k": [2, 3], "v": [5, 6]}))


def test_a_projection_has_the_columns_that_are_said() -> None:
    found = selected(ROWS, {"w": ROWS["v"] + 1, "k": ROWS["k"]})
    assert ibis.duckdb.connect().to_pyarrow(found).to_pydict() == {"w": [11, 21, 31], "k": [1, 2, 3]}


@pytest.mark.parametrize(("how", "expected"), [("inner", [25, 36]), ("left", [25, 36, None])])
def test_columns_of_one_name_are_told_apart(how: Literal["inner", "left"], expected: list[int | None]) -> None:
    left, right = sides(ROWS, OTHER)
    found = joined(left, right, [left["k"] == right["k"]], {"sum": left["v"] + right["v"]}, how=how)
    answer = ibis.duckdb.connect().to_pyarrow(found.order_by(found["sum"].isnull(), found["sum"]))
    assert answer["sum"].to_pylist() == expected


def test_a_table_may_be_joined_with_itself() -> None:
    left, right = sides(ROWS, ROWS)
    found = joined(left, right, [left["k"] < right["k"]], {"low": left["v"], "high": right["v"]})
    answer = ibis.duckdb.connect().to_pyarrow(found).to_pylist()
    assert sorted((row["low"], row["high"]) for row in answer) == [(10, 20), (10, 30), (20, 30)]


def test_columns_of_another_table_are_refused() -> None:
    left, right = sides(ROWS, OTHER)
    with pytest.raises(IntegrityError):
        selected(ROWS, {"v": OTHER["v"]})
    with pytest.raises(IntegrityError):
        joined(left, right, [left["k"] == right["k"]], {"v": ROWS["v"]})


TABLE = ibis.table({"k": "int64", "v": "int64", "w": "int64"}, name="t")


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (TABLE.filter(TABLE.k > 0).aggregate(n=TABLE.v.sum()), {"k", "v", "n"}),
        (TABLE.aggregate(n=TABLE.count()), {"n"}),
        (TABLE.filter(TABLE.k > 0), {"k", "v", "w"}),
        (TABLE.distinct().aggregate(n=lambda t: t.k.sum()), None),
        (TABLE.union(TABLE).aggregate(n=lambda t: t.k.sum()), None),
        (ibis.intersect(TABLE, TABLE, distinct=True).aggregate(n=lambda t: t.k.sum()), None),
        (TABLE.difference(TABLE).aggregate(n=lambda t: t.k.sum()), None),
        (TABLE.drop_null().aggregate(n=lambda t: t.k.sum()), None),
    ],
)
def test_columns_that_nothing_names_make_no_difference(made: ir.Table, names: set[str] | None) -> None:
    """A distinct, and whatever else looks at whole rows, makes a difference to them all."""
    assert column_names(made) == names

"""Fences keep PostgreSQL's planner from writing a step out wherever its columns are named.

No server is needed here: sqlglot merges sub-queries as PostgreSQL does, and leaves those with OFFSET alone as it does.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir
import pytest
import sqlglot
from ibis.backends.sql import compilers
from sqlglot.optimizer.merge_subqueries import merge_subqueries
from sqlglot.optimizer.qualify import qualify

from discreet.engines.optimizer_fences import ROWS as FOUND
from discreet.engines.optimizer_fences import fenced, with_rows_first
from discreet.engines.statement_cache import unfused

T = ibis.table({"x": "float64", "y": "int64"}, name="t")
ROWS = "CREATE TABLE t AS SELECT i / 7 AS x, i % 3 AS y FROM range(20) AS r(i)"


def written(table: ir.Table) -> sqlglot.Expression:
    with unfused():
        tree: sqlglot.Expression = compilers.postgres.compiler.to_sqlglot(table)
    return tree.copy()


def planned(statement: sqlglot.Expression) -> float:
    """How much larger a statement is when its steps are written out in each other."""
    merged = merge_subqueries(qualify(statement.copy(), schema={"t": {"x": "DOUBLE", "y": "BIGINT"}}))
    return len(merged.sql("postgres")) / len(statement.sql("postgres"))


def steps(table: ir.Table, count: int) -> ir.Table:
    for _ in range(count):
        table = table.mutate(x=ibis.cases((table.x > 3, table.x / 2), else_=table.x + 1))
    return table


def filtered(table: ir.Table) -> ir.Table:
    for _ in range(4):
        table = steps(table, 1)
        table = table.filter(table.y < 2).select("x", "y")
    return table


CASES = {
    "steps": steps(T, 4),
    "steps with filters, which hand columns on": filtered(T),
    "a total, which names them twice": (s := steps(T, 4)).aggregate(a=s.x.sum(), b=s.x.max()),
    "a join": (s := steps(T, 4)).join(T.group_by("y").agg(z=T.x.sum()), "y").mutate(w=lambda t: t.x * t.x + t.z),
    "a table that is named twice": (s := steps(T, 4)).union(s).aggregate(a=lambda t: t.x.sum()),
}


@pytest.mark.parametrize("case", CASES)
def test_steps_are_planned_once(case: str) -> None:
    plain = written(CASES[case])
    assert planned(fenced(plain.copy())) < 1.5
    assert planned(plain) > (4 if case != "a table that is named twice" else 1)


@pytest.mark.parametrize("case", CASES)
def test_the_rows_are_the_same(case: str) -> None:
    connection = ibis.duckdb.connect()
    connection.con.execute(ROWS)
    plain = written(CASES[case])
    found = [sorted(connection.con.execute(one.sql("duckdb")).fetchall()) for one in (plain, fenced(plain.copy()))]
    assert found[0] == found[1] != []


def test_what_is_named_once_is_left_to_the_planner() -> None:
    step = T.mutate(z=T.x * 2)
    for table in (step.select(w=step.z + 1), T.filter(T.x > 1).select(a=T.x, b=T.x), T.mutate(one=1).mutate(two=2)):
        assert "OFFSET" not in fenced(written(table)).sql("postgres")


def test_conditions_stay_out_of_views() -> None:
    """Tried before those of the view, ours could fail on a row that the view leaves out."""
    view, condition = "SELECT CAST(x AS INT) AS n FROM t WHERE y > 1", "n > 3"
    unfenced = f"WITH found AS ({view}) SELECT n FROM found WHERE {condition}"  # noqa: S608 (our own)
    for statement, together in (
        (with_rows_first(view, f'SELECT n FROM "{FOUND}" WHERE {condition}'), False),  # noqa: S608 (our own)
        (unfenced, True),
    ):
        tree = qualify(sqlglot.parse_one(statement, read="postgres"), schema={"t": {"x": "DOUBLE", "y": "BIGINT"}})
        wheres = [where.sql() for where in merge_subqueries(tree).find_all(sqlglot.exp.Where)]
        assert any("> 1" in where and "> 3" in where for where in wheres) == together

"""Each operation of the language on each engine: the same exact totals as on DuckDB, on rows that tell them apart."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Sequence
from typing import Any

import ibis
import pytest

from conformance_corpus import BOUNDS, KEYS, OPERATIONS, Operation, rows
from discreet.errors import InvalidQuery
from discreet.language.allow_list import RULES
from discreet.language.checked_expressions import Kind
from discreet.planning.plan import Plan
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

Backends = Callable[[str], Any]
MOMENTS = ("0001-01-01", "1970-01-01", "2000-02-29", "2026-01-01")
TEXTS = ("a", "A", "é", "", "b", "%")
_benches: dict[str, tuple[Bench, PrivateTable]] = {}


def bench_of(backend_of: Backends, name: str) -> tuple[Bench, PrivateTable]:
    if name not in _benches:
        bench = Bench(backend_of(name))
        _benches[name] = bench, bench.protect(rows(), unit=ROW, bounds=BOUNDS, keys=KEYS)
    return _benches[name]


def watched(table: PrivateTable, name: str, expr: Any) -> dict[str, Any]:
    """Aggregates by which the values of an expression tell themselves apart."""
    kind = table._check(expr).kind
    found = {f"{name}_null": table.plan.count(where=expr.isnull())}
    if kind.numeric:
        found[f"{name}_sum"] = expr.clip(-(2.0**20), 2.0**20).sum()
        found[f"{name}_above"] = expr.count(where=expr > 0)
    elif kind is Kind.BOOLEAN:
        found[f"{name}_true"] = table.plan.count(where=expr.fill_null(False))  # noqa: FBT003 (as Ibis has it)
    elif kind is Kind.TEXT:
        found[f"{name}_length"] = expr.length().clip(0, 1000).sum()
        found |= {f"{name}_is_{i}": expr.count(where=expr == text) for i, text in enumerate(TEXTS)}
        found[f"{name}_below"] = expr.count(where=expr < "aa")
    else:
        found |= {f"{name}_by_{i}": expr.count(where=expr <= moment) for i, moment in enumerate(MOMENTS)}
        found[f"{name}_days"] = expr.day().sum()
    return found


def asked(table: PrivateTable, aggregates: dict[str, Any]) -> Plan:
    return plan_of(table.group_by("plan").agg(**aggregates), epsilon=1)


def totals(backend_of: Backends, name: str, operations: Sequence[Operation]) -> list[Any]:
    bench, table = bench_of(backend_of, name)
    aggregates: dict[str, Any] = {}
    for i, operation in enumerate(operations):
        aggregates |= watched(table, f"v{i}", operation.expr(table))
    return [block.tolist() for block in bench.totals(asked(table, aggregates))]


ALL = [op for ops in OPERATIONS.values() for op in ops]
GROUPS_AT_ONCE = 12
"""So many operations are computed by one statement, which is cheaper."""


def batches(operations: list[Operation]) -> list[list[Operation]]:
    return [operations[i : i + GROUPS_AT_ONCE] for i in range(0, len(operations), GROUPS_AT_ONCE)]


def test_every_operation_is_tried() -> None:
    assert {kind.__name__ for kind in RULES} == set(OPERATIONS)


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(batches(ALL))))
def test_operations_have_the_values_that_duckdb_gives_them(backend_of: Backends, other: str, place: int) -> None:
    """To the last integer. Those that are not exact across engines are computed as well: nothing raises."""
    taken = [operation for operation in batches(ALL)[place] if other not in operation.refused]
    exact = [operation for operation in taken if operation.exact]
    if len(exact) < len(taken):
        assert totals(backend_of, other, [operation for operation in taken if not operation.exact])
    if not exact or totals(backend_of, other, exact) == totals(backend_of, "duckdb", exact):
        return
    different = [
        operation.write
        for operation in exact
        if totals(backend_of, other, [operation]) != totals(backend_of, "duckdb", [operation])
    ]
    assert not different


@pytest.mark.parametrize("operation", [op for op in ALL if op.refused], ids=lambda op: op.write)
def test_what_an_engine_does_not_have_is_refused(backend_of: Backends, other: str, operation: Operation) -> None:
    if other not in operation.refused:
        assert totals(backend_of, other, [operation])
        return
    with pytest.raises(InvalidQuery, match="Hint: "):
        totals(backend_of, other, [operation])


LIMITS = [(1, 1), (2, 3), (10, 1000)]


def statistics(t: PrivateTable) -> dict[str, Any]:
    column: Any = t.x
    return {
        "rows": t.plan.count(where=column.notnull()),
        "total": t.i.sum(),
        "mean": column.mean(),
        "var": t.f.var(),
        "some": t.d.mean(where=t.b),
        "others": t.n.std(where=t.o),
        "cov": t.x.cov(t.n),
        "plans": t.plan.nunique(where=t.x > 0),
        "corr": t.i.corr(t.f, where=t.b),
    }


def on_both(
    backend_of: Backends, engine: str, limits: tuple[int, int] | None, ask: Callable[[PrivateTable], Any]
) -> list[Any]:
    """The totals of a question on DuckDB and on another engine; without limits, rows are the units."""
    found = []
    for name in dict.fromkeys(("duckdb", engine)):
        bench = Bench(backend_of(name))
        stated = {} if limits is None else {"max_groups": limits[0], "max_rows": limits[1]}
        table = bench.protect(rows(), unit=ROW if limits is None else "person", bounds=BOUNDS, keys=KEYS, **stated)
        found.append([block.tolist() for block in bench.totals(plan_of(ask(table), epsilon=3))])
        _benches.pop(name, None)
    return found


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("limits", [None, *LIMITS])
@pytest.mark.parametrize("groups", ["groups", "all"])
def test_every_form_of_aggregate(
    backend_of: Backends, engine: str, limits: tuple[int, int] | None, groups: str
) -> None:
    """Sums, pairs and triples, with rows or persons as units, weighted down or not: all as DuckDB has them."""

    def ask(table: PrivateTable) -> Any:
        measures = statistics(table) | ({} if limits is None else {"persons": table.person.nunique()})
        return (table.group_by("plan") if groups == "groups" else table).agg(**measures)

    found = on_both(backend_of, engine, limits, ask)
    assert found[0] == found[-1]


@pytest.mark.long
@pytest.mark.parametrize(("limits", "groups"), [(None, "all"), ((2, 3), "groups")])
def test_lines_over_several_predictors(
    backend_of: Backends, engine: str, limits: tuple[int, int] | None, groups: str
) -> None:
    """Signed totals, with NULL in any column and a condition: all as DuckDB has them."""

    def ask(table: PrivateTable) -> Any:
        asked: Any = table.group_by("plan") if groups == "groups" else table
        return asked.regress("x", ["n", "i", "f", "d"], where=table.i > -100)

    found = on_both(backend_of, engine, limits, ask)
    assert found[0] == found[-1]
    assert any(entry for block in found[0] for group in block for entry in group)


GROUPS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "two columns": (lambda t: {"plan": t.plan, "b": t.b}, {"plan": ["a", "A", None], "b": [True, None]}),
    "a day": (lambda t: {"day": t.day}, {"day": ["1970-01-01", "2000-02-29", None]}),
    "a moment": (lambda t: {"at": t.at}, {"at": ["0001-01-01T00:00", "2024-02-29T12:00", None]}),
    "a number": (lambda t: {"w": t.w}, {"w": [2**53 + 1, 2**63 - 1, -(2**63), None, 4]}),
    "an expression": (lambda t: {"k": ibis.ifelse(t.x > 1, t.plan + "!", "rest")}, {"k": ["a!", "A!", "rest", None]}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", GROUPS)
def test_groups_are_told_apart_alike(backend_of: Backends, engine: str, name: str) -> None:
    """Text byte by byte, NULL where it is listed, and every key once, whatever rows there are."""
    make, keys = GROUPS[name]
    if name == "a day":
        keys = {"day": [key and datetime.date.fromisoformat(key) for key in keys["day"]]}
    if name == "a moment":
        keys = {"at": [key and datetime.datetime.fromisoformat(key) for key in keys["at"]]}
    found = []
    for place in dict.fromkeys(("duckdb", engine)):
        bench, table = bench_of(backend_of, place)
        question = table.group_by(**make(table), keys=keys).agg(n=lambda t: t.count(), m=lambda t: t.x.mean())
        found.append([block.tolist() for block in bench.totals(plan_of(question, epsilon=1))])
    assert found[0] == found[-1]
    assert any(sum(row) for row in found[0][0])


def test_all_engines_are_here_where_they_must_be() -> None:
    wanted = [name for name in os.environ.get("ENGINES", "").split(",") if name]
    assert set(wanted) <= {"duckdb", "postgresql", "spark"}

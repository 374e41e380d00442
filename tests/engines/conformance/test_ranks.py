"""Masses of cells on each engine: those that DuckDB finds, to the last integer; and answers that rest on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from conformance_corpus import BOUNDS, KEYS, rows
from depth import examples
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import Rows, mass_distances, neighbors, rows_of
from neighbor_bench import STORES, Bench, plan_of

Backends = Callable[[str], Any]
EXAMPLES = examples(75)
SCHEMA = (("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64()))
_benches: dict[str, Bench] = {}
WHEN = {"day": ("1960-01-01", "2030-01-01"), "at": ("1960-01-01", "2030-01-01"), "zoned": ("1950-01-01", "2030-01-01")}
WIDE = {"w": (-(2**31), 2**31), "u": (0, 1e200)}
COLUMNS = {
    "template": ("x", "f", "i", "n", "c", "w", "u", "day", "at", "zoned"),
    "postgresql": ("x", "f", "i", "n", "c", "w", "u", "day", "at", "zoned"),
    "spark": ("x", "w", "at"),  # which takes seconds for each statement
}


def ranked(t: PrivateTable, columns: tuple[str, ...]) -> dict[str, Any]:
    """Quantiles of columns, a median under a condition, and an end of what is computed."""
    quantiles = {name: t[name].quantile([0.1, 0.5]) for name in columns}
    return quantiles | {"some": t.x.median(where=t.b), "least": (t.i - t.n).min(), "mean": t.x.mean()}


def found(bench: Bench, columns: tuple[str, ...], limits: tuple[int, int] | None, groups: str) -> list[Any]:
    stated = {} if limits is None else {"max_groups": limits[0], "max_rows": limits[1]}
    unit = dp.ROW if limits is None else "person"
    table = bench.protect(rows(), unit=unit, bounds=BOUNDS | WHEN | WIDE, keys=KEYS, **stated)
    plan = plan_of((table.group_by(groups) if groups else table).agg(**ranked(table, columns)), epsilon=3)
    masses = [(one.group.tolist(), one.cell.tolist(), one.mass.tolist()) for one in bench.masses(plan)]
    assert len(masses) == len(columns) + 2
    assert all(mass for _, _, mass in masses)
    return [*masses, *(block.tolist() for block in bench.totals(plan))]


@pytest.mark.long
@pytest.mark.parametrize(("limits", "groups"), [(None, "plan"), ((2, 3), "plan"), ((1, 1), "")])
def test_masses_are_those_that_duckdb_finds(
    backend_of: Backends, other: str, limits: tuple[int, int] | None, groups: str
) -> None:
    columns = COLUMNS[other] if limits is None else ()
    benches = Bench(backend_of("duckdb")), Bench(backend_of(other))
    assert found(benches[0], columns, limits, groups) == found(benches[1], columns, limits, groups)


def test_quantiles_are_released(backend_of: Backends, other: str) -> None:
    """Alone, without any sum beside them, and near the truth where epsilon is large."""
    data = pa.table({"plan": ["a"] * 100 + ["b"] * 50, "x": [*range(100), *range(50)]})
    stored = STORES[backend_of(other).name](backend_of(other), "ranked", data, temporary=False)
    facts: dict[str, Any] = {"bounds": {"x": (0, 127)}, "keys": {"plan": ["b", "a"]}}
    table = dp.protect(stored, unit=dp.ROW, budget=dp.Budget(epsilon=10**6), name="ranked", **facts)
    question = table.group_by("plan").agg(m=table.x.median(), top=table.x.max())
    answer = question.release(epsilon=10**4)
    assert answer["m"].tolist() == pytest.approx([25, 50], abs=2)
    assert answer["top"].tolist() == pytest.approx([49, 99], abs=2)
    assert question.release(epsilon=10**4)["m"].tolist() == answer["m"].tolist()
    assert table.budget.spent.epsilon == 10**4
    assert "__discreet_cell" in str(question.explain(epsilon=1)["sql"])


def test_an_empty_table_has_no_mass(backend_of: Backends, other: str) -> None:
    bench = Bench(backend_of(other))
    table = bench.protect(rows().slice(0, 0), unit="person", max_rows=1, max_groups=1, bounds=BOUNDS, keys=KEYS)
    [masses] = bench.masses(plan_of(table.group_by("plan").agg(m=table.x.median()), epsilon=1))
    assert masses.mass.size == 0


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(first=rows_of(SCHEMA), data=st.data())
def test_one_person_moves_no_more_mass_than_it_may(backend_of: Backends, other: str, first: Rows, data: Any) -> None:
    limits = {"max_groups": data.draw(st.integers(1, 3)), "max_rows": data.draw(st.integers(1, 5))}
    second = data.draw(neighbors(first, ("person",), replaced=False))
    bench = _benches.setdefault(other, Bench(backend_of(other)))
    table = bench.protect(first.to_arrow(), unit="person", bounds={"x": (0, 5)}, **limits)
    asked = table.group_by("plan", keys={"plan": [None, "a", "b", "A"]}).agg(m=table.x.median())
    plan = plan_of(asked, epsilon=1)
    [far] = mass_distances(bench.masses(plan), bench.masses(plan, second.to_arrow()))
    assert far <= plan.ranks[0].cuts.mass

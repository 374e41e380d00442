"""What an engine knows of a file or of a table must decide nothing: NaN is in no statistics. See fuzz/test_pruning."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine_selection import opened
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import STORES, plan_of

NAN, INF = math.nan, math.inf
TABLES: dict[str, tuple[list[float], float]] = {
    "NaN beside small values": ([1.0, 2.0] + [NAN] * 1000, 9.0),
    "NaN beside infinity": ([1.0, -INF] + [NAN] * 1000, INF),
    "NaN alone": ([NAN] * 1000, 9.0),
    "zeros": ([-0.0, 0.0] * 500, NAN),
}


def conditions(t: PrivateTable) -> Question:
    """Comparisons that statistics seem to decide, and those that a constant seems to stand for."""
    asked = {
        "above": t.v > 5, "below": t.v <= 5, "neither": ~(t.v > 5), "same": t.v == t.v,
        "none left": t.v / 2 - t.v / 2 == 0,
        "nothing": t.v * 0 == 0, "listed": t.v.isin([2.0, 9.0]), "between": t.v.between(5, 1e308),
        "missing": t.v.isnull(), "zero": t.v == 0, "negative": t.v < 0,
    }  # fmt: skip
    return t.agg(**{name.replace(" ", "_"): t.v.count(where=where) for name, where in asked.items()})


def stored(backend: Any, other: str, data: pa.Table, folder: Path) -> Any:
    """On Spark a file with statistics; on PostgreSQL a table that the planner has statistics of, and an index on."""
    if other == "spark":
        path = folder / "v.parquet"
        pq.write_table(data, path, row_group_size=50, write_statistics=True)
        return backend.read_parquet(path)
    table = STORES[backend.name](backend, "pruned", data)
    if other == "postgresql":
        with backend.con.cursor() as cursor:
            cursor.execute("CREATE INDEX ON pruned (v)")
            cursor.execute("ANALYZE pruned")
    return table


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_statistics_and_constants_decide_nothing(
    backend_of: Callable[[str], Any], other: str, name: str, tmp_path: Path
) -> None:
    """The totals are those of DuckDB in memory, and one row moves each of them by at most its sensitivity."""
    base, added = TABLES[name]
    totals = []
    for values in (base, [*base, added]):
        data = pa.table({"v": pa.array(values, pa.float64())})
        table = stored(backend_of(other), other, data, tmp_path)
        facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=1), "name": "v"}
        plan = plan_of(conditions(dp.protect(table, **facts)), epsilon=1)
        totals.append(opened(table, None).totals(plan))
        assert l1_distances(totals[-1], DuckDB(data, None).totals(plan)) == [0] * len(plan.blocks)
    for distance, block in zip(l1_distances(*totals), plan.blocks, strict=True):
        assert distance <= block.sensitivity

"""Truncated totals of rows, conditions and amounts are those of DuckDB, whatever the unit is; one unit moves them as
little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

from discreet.ledger.ledger import stated_guarantee
from discreet.query.table import PrivateTable
from discreet.truncation.truncated_total import priced_total
from neighbor_bench import Bench

Backends = Callable[[str], Any]
DATA = pa.table(
    {
        "person": pa.array([*[i * i % 9 for i in range(60)], None], pa.int64()),
        "name": [*[f"n{i % 7}" for i in range(60)], "a"],
        "n": pa.array([*[(i * i) % 40 * 2**55 for i in range(60)], None], pa.int64()),
        "k": pa.array([*[i % 17 for i in range(60)], None], pa.int64()),
        "flag": [None, *[i % 3 == 0 for i in range(60)]],
        "x": pa.array([*[i / 7 for i in range(57)], float("nan"), float("inf"), None, -3.5], pa.float64()),
    }
)
ASKED: dict[str, Any] = {
    "rows": None,
    "a condition": _.flag,
    "whole": _.k * 3 + 1,
    "huge": _.n.clip(0, 2**62),
    "real": _.x.clip(0, 8),
    "tiny": _.x.clip(0, 8) / 10**6,
}


def totals(table: PrivateTable, what: str, **stated: Any) -> list[int]:
    """The exact total under each limit."""
    reading, source = priced_total(table, ASKED[what], price=stated_guarantee(1), **stated)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return reading.steps_of(found)


@pytest.mark.long
@pytest.mark.parametrize("unit", [["person"], ["name", "person"]], ids=str)
def test_totals_are_those_of_duckdb(backend_of: Backends, other: str, unit: Any) -> None:
    found = []
    for name in ("duckdb", other):
        table = Bench(backend_of(name)).protect(DATA, unit=unit, bounds={"k": (0, 16)})
        found.append({what: [totals(table, what), totals(table, what, limit=2**39)] for what in ASKED})
    assert found[0] == found[1]
    assert found[0]["rows"][1] == [60]
    assert found[0]["huge"][0][-1] > 2**20


@pytest.mark.long
def test_one_unit_less(backend_of: Backends, engine: str) -> None:
    """Of every person, on every engine."""
    bench = Bench(backend_of(engine))
    table = bench.protect(DATA, unit="person", bounds={"k": (0, 16)})
    before = {what: totals(table, what, most=64) for what in ASKED}
    priced = {what: priced_total(table, ASKED[what], price=stated_guarantee(1), most=64)[0] for what in ASKED}
    for person in range(9):
        bench.put(DATA.filter([one != person for one in DATA["person"].to_pylist()]))
        for what in ASKED:
            moves = [old - new for old, new in zip(before[what], totals(table, what, most=64), strict=True)]
            limits = priced[what].mechanism.limits
            assert all(0 <= move <= limit for move, limit in zip(moves, limits, strict=True))

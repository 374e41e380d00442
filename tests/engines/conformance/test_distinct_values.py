"""Distinct values of every type are assigned as on DuckDB, whatever the unit is; and one unit moves them as little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.distinct_values.count_distinct import priced_count
from discreet.engines.unit_value_pairs import UNIT, VALUE, pairs_of
from discreet.ledger.ledger import stated_guarantee
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of
from discreet.sensitivity.capped_matching import assigned
from discreet.testing.neighbors import TEXTS
from neighbor_bench import Bench, plan_of

Backends = Callable[[str], Any]
LIMITS = (1, 2, 4, 60)
WORDS = [text for text in TEXTS if "\x00" not in text]  # which PostgreSQL has none of
DATA = pa.table(
    {
        "person": pa.array([*[i % 9 for i in range(60)], None], pa.int64()),
        "name": [*[WORDS[i % 7] for i in range(60)], "a"],
        "word": [*[WORDS[i % len(WORDS)] for i in range(59)], None, "A"],
        "n": pa.array([*[(i * i) % 40 - 2**62 for i in range(60)], None], pa.int64()),
        "flag": [None, *[i % 3 == 0 for i in range(60)]],
        "day": pa.array([*[-719_162 + i % 11 for i in range(60)], None], pa.int32()).cast(pa.date32()),
        "at": pa.array([*[i % 13 for i in range(60)], None], pa.int64()).cast(pa.timestamp("us")),
    }
)


def counts(table: PrivateTable, column: str) -> list[int]:
    """The exact counts under some limits."""
    reading, source = priced_count(table, column, price=stated_guarantee(1))
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return assigned(found[UNIT].to_numpy(), found[VALUE].to_numpy(), LIMITS)


def of_answers(table: PrivateTable, column: str) -> list[int]:
    """The same of a column of an answer, of rows that fulfill a condition."""
    asked = table[column].nunique(where=table["n"] > -(2**62) + 3)
    plan = plan_of(table.agg(found=asked), epsilon=1)
    source: Any = view_of(table).source  # its engine has no public name
    [one] = plan.values
    found = source._engine.run_statement(source.declaration, source._engine.compiled(pairs_of(plan.query, one)))
    return assigned(found[UNIT].to_numpy(), found[VALUE].to_numpy(), LIMITS)


@pytest.mark.long
@pytest.mark.parametrize("unit", [["person"], ["name"], ["name", "person"], ROW], ids=str)
def test_values_are_assigned_as_on_duckdb(backend_of: Backends, other: str, unit: Any) -> None:
    found = []
    for name in ("duckdb", other):
        table = Bench(backend_of(name)).protect(DATA, unit=unit)
        columns = [column for column in ("word", "n", "flag", "day", "at") if unit == ROW or column not in unit]
        found.append({column: counts(table, column) for column in columns})
        found[-1] |= {f"some {one}": of_answers(table, one) for one in columns if one != "flag"}
    assert found[0] == found[1]
    assert found[0]["some day"] != found[0]["n"]
    assert found[0]["flag"][-1] == 2
    assert found[0]["word"][-1] >= len(WORDS)


def test_one_unit_less(backend_of: Backends, engine: str) -> None:
    """Of every person, on every engine."""
    bench = Bench(backend_of(engine))
    table = bench.protect(DATA, unit="person")
    before = counts(table, "word")
    for person in range(9):
        bench.put(DATA.filter([one != person for one in DATA["person"].to_pylist()]))
        moves = [old - new for old, new in zip(before, counts(table, "word"), strict=True)]
        assert all(0 <= move <= limit for move, limit in zip(moves, LIMITS, strict=True))

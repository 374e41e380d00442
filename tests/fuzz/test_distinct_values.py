"""Distinct values under attack: one unit of any type, with any values, moves each count by its limit at most, and all
of them one way where it is added; no row makes the look fail.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import depth
from discreet.distinct_values.count_distinct import UNIT, VALUE, DistinctReading, priced_count
from discreet.distinct_values.value_assignment import assigned
from discreet.language.checked_expressions import Kind
from discreet.ledger.ledger import stated_guarantee
from discreet.privacy.definitions import ROW
from discreet.query.table_view import view_of
from discreet.testing.neighbor_bench import Bench
from discreet.testing.neighbors import Rows, pairs

EXAMPLES = depth.examples()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def counts(bench: Bench, rows: Rows, reading: DistinctReading, source: Any) -> list[int]:
    """The exact count of a table's values under each limit."""
    bench.put(rows.to_arrow())
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return assigned(found[UNIT].to_numpy(), found[VALUE].to_numpy(), reading.mechanism.limits)


@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_each_count_by_its_limit(bench: Bench, pair: Any, data: st.DataObject) -> None:
    facts: dict[str, Any] = {"unit": list(pair.unit) or ROW}
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    table = bench.protect(pair.first.to_arrow(), **facts)
    columns = [name for name, value in view_of(table).columns.items() if value.kind is not Kind.REAL]
    column = data.draw(st.sampled_from(columns), label="column")
    if data.draw(st.booleans(), label="united"):
        table = table.union(table)
    reading, source = priced_count(table, column, price=stated_guarantee(1))
    rule = reading.mechanism
    before, after = (counts(bench, rows, reading, source) for rows in (pair.first, pair.second))
    moves = [new - old for new, old in zip(after, before, strict=True)]
    assert all(abs(move) <= rule.units * limit for move, limit in zip(moves, rule.limits, strict=True))
    assert rule.both_ways or min(moves) >= 0 or max(moves) <= 0

"""Truncated totals under attack: one unit of any type, with any rows, moves each total by its limit at most, and all of
them one way where it is added; no row makes the look fail.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import depth
from discreet.language.checked_expressions import Kind
from discreet.ledger.ledger import stated_guarantee
from discreet.query.table_view import view_of
from discreet.testing.neighbor_bench import Bench
from discreet.testing.neighbors import Rows, pairs
from discreet.truncation.total_reading import TotalReading
from discreet.truncation.truncated_total import priced_total

EXAMPLES = depth.examples()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def totals(bench: Bench, rows: Rows, reading: TotalReading, source: Any) -> list[int]:
    """The exact total under each limit, in the mechanism's parts."""
    bench.put(rows.to_arrow())
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return reading.steps_of(found)


@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs().filter(lambda pair: bool(pair.unit)), data=st.data())
def test_one_unit_moves_each_total_by_its_limit(bench: Bench, pair: Any, data: st.DataObject) -> None:
    facts: dict[str, Any] = {"unit": list(pair.unit)}
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units": 100}
    table = bench.protect(pair.first.to_arrow(), **facts)
    columns = {name: value.kind for name, value in view_of(table).columns.items()}
    amounts = [name for name, kind in columns.items() if kind.numeric or kind is Kind.BOOLEAN]
    column = data.draw(st.sampled_from([None, *amounts]), label="column")
    value = column if column is None or columns[column] is Kind.BOOLEAN else table[column].clip(0, 10**6)
    if data.draw(st.booleans(), label="united"):
        table = table.union(table)
    options: dict[str, Any] = {"limit": data.draw(st.sampled_from(["auto", "race", 3]), label="limit")}
    reading, source = priced_total(table, value, price=stated_guarantee(1), **options)
    rule = reading.mechanism
    before, after = (totals(bench, rows, reading, source) for rows in (pair.first, pair.second))
    moves = [new - old for new, old in zip(after, before, strict=True)]
    assert all(abs(move) <= rule.units * limit for move, limit in zip(moves, rule.limits, strict=True))
    assert pair.replaced or min(moves) >= 0 or max(moves) <= 0
    assert before == sorted(before)

"""Logs under attack: one user of any type, with any items, moves the totals by the pairs that are allowed, and no row
makes the look fail.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import SLOW, examples
from discreet.language.checked_expressions import Kind
from discreet.logs.user_item_pairs import COUNT, EXTRA, FIRST, ITEM, USERS, bounded, pairs, totals
from discreet.query.table_view import view_of
from discreet.testing.neighbors import Rows
from discreet.testing.neighbors import pairs as neighbors
from neighbor_bench import Bench

EXAMPLES = examples()
Totals = dict[Any, tuple[int, int, int]]


def looked(bench: Bench, rows: Rows, source: Any, expression: Any) -> Totals:
    """The totals of each item in a table's rows."""
    bench.put(rows.to_arrow())
    found = source._engine.run_statement(source.declaration, source._engine.compiled(expression))
    return {row[ITEM]: (row[USERS], row[EXTRA], row[FIRST]) for row in found.to_pylist()}


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=neighbors().filter(lambda pair: pair.unit == ("person",)), data=st.data())
def test_one_user_moves_few_items(bench: Bench, pair: Any, data: st.DataObject) -> None:
    parts = view_of(bench.protect(pair.first.to_arrow(), unit="person"))
    items = [name for name, value in parts.columns.items() if value.kind is not Kind.REAL and name != "person"]
    counts = [name for name, value in parts.columns.items() if value.kind.numeric and name != "person"]
    item = data.draw(st.sampled_from(items), label=ITEM)
    count = data.draw(st.sampled_from([None, *(name for name in counts if name != item)]), label=COUNT)
    most, limit = data.draw(st.integers(1, 3), label="max_items"), data.draw(st.integers(1, 4), label="max_count")
    often = None if count is None else parts.columns[count]
    every = pairs(parts.relation, user=parts.units[0], item=parts.columns[item], count=often, max_count=limit)
    expression = totals(bounded(every, most))
    before, after = (looked(bench, rows, parts.source, expression) for rows in (pair.first, pair.second))
    moves = [
        [a - b for a, b in zip(after.get(key, (0, 0, 0)), before.get(key, (0, 0, 0)), strict=True)]
        for key in before.keys() | after.keys()
    ]
    users = 1 + pair.replaced
    assert sum(abs(move[0]) for move in moves) <= users * most
    assert sum(abs(move[1]) for move in moves) <= users * most * (limit - 1)
    assert sum(abs(move[2]) for move in moves) <= users

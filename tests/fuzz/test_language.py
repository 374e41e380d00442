"""The closed language under attack: what it takes never raises, stays in its interval, and sees one row at a time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from depth import examples
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import DTYPES, Value
from discreet.language.input_barrier import barrier
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import Rows, rows_of, schemas
from neighbor_bench import Bench
from random_questions import conditions, numbers

EXAMPLES = examples(4)
AT_ONCE = 8
"""So many expressions are computed by one statement, which is cheaper."""


def accepted(data: st.DataObject, table: PrivateTable) -> list[Value]:
    """Expressions that the language takes, of depth up to four."""
    found = []
    for _ in range(AT_ONCE):
        make = data.draw(st.sampled_from((numbers, conditions)))
        try:
            found.append(table._check(make(cast(st.DrawFn, data.draw), table, data.draw(st.integers(0, 4)))))
        except InvalidQuery:
            continue
    return found


def computed(bench: Bench, table: PrivateTable, values: list[Value], rows: Rows) -> list[list[Any]]:
    """The values of every expression, row by row, computed by the engine behind the barrier."""
    bench.put(numbered(rows))
    source: Any = table._source
    raw = bench._backend.table("on the bench")
    seen = barrier(raw, (), source.declaration.bounds)
    relation = table._relation
    asked = relation.select(place=relation.i_place, **{f"e{i}": value.expr for i, value in enumerate(values)})
    statement = asked.op().replace({relation.op(): seen.op()}).to_expr().order_by("place")
    answer = bench._backend.to_pyarrow(statement)
    return [answer[f"e{i}"].to_pylist() for i in range(len(values))]


def numbered(rows: Rows) -> pa.Table:
    return rows.to_arrow().append_column("i_place", pa.array(range(len(rows.rows)), pa.int64()))


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(rows=schemas().flatmap(lambda columns: rows_of(columns, least=6, most=20)), data=st.data())
def test_expressions_are_total_bounded_and_row_by_row(bench: Bench, rows: Rows, data: st.DataObject) -> None:
    table = bench.protect(numbered(rows), unit=ROW, bounds={"x": (0, 5)})
    values = accepted(data, table)
    assume(values)
    together = computed(bench, table, values, rows)
    for value, column in zip(values, together, strict=True):
        kind = DTYPES[value.kind].to_pyarrow()
        assert pa.array(column, kind).null_count == 0 or value.nullable
        if value.interval is not None:
            assert all(value.interval.low <= Fraction(v) <= value.interval.high for v in column if v is not None)
    place = data.draw(st.integers(0, len(rows.rows) - 1))
    alone = computed(bench, table, values, rows.with_rows([rows.rows[place]]))
    assert [repr(column[0]) for column in alone] == [repr(column[place]) for column in together]

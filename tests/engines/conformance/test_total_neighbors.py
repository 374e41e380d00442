"""Truncated totals and distinct values on each engine: no neighbor moves one by more than its limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from discreet.testing.neighbors import Rows, neighbors, rows_of
from neighbor_bench import Bench
from total_claims import check_distinct, check_total, check_unlisted

EXAMPLES = examples(20)
COLUMNS = (
    *(("person", pa.int64()), ("site", pa.int64()), ("plan", pa.string()), ("v", pa.float64()), ("n", pa.int64())),
    *(("i", pa.int32()), ("b", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us"))),
)

_benches: dict[str, Bench] = {}


@pytest.mark.parametrize("check", [check_total, check_distinct, check_unlisted])
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(table=rows_of(COLUMNS), replaced=st.booleans(), data=st.data())
def test_one_unit_moves_each_total_by_its_limit(
    backend_of: Callable[[str], Any], other: str, check: Any, table: Rows, *, replaced: bool, data: st.DataObject
) -> None:
    """A unit less or more, or one whose rows become those of another."""
    bench = _benches.setdefault(other, Bench(backend_of(other)))
    second = data.draw(neighbors(table, ["person"], replaced=replaced), label="second")
    facts: dict[str, Any] = {"neighbors": "replace-one", "units": 100} if replaced else {}
    held = bench.protect(table.to_arrow(), unit="person", **facts)
    check(held, data, lambda: bench.put(second.to_arrow()))

"""Choices on each engine: the scores of DuckDB, and no two of them further apart between neighbors than claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ibis import _

from choice_claims import PRICE, check_choice, check_top, looked
from depth import examples
from discreet.choices.choose_candidate import priced_choice
from discreet.engines.engine import blocks_of
from discreet.logs.top_keys import chosen
from discreet.privacy.definitions import ROW
from discreet.testing.neighbors import Rows, rows_of
from neighbor_bench import Bench

EXAMPLES = examples(20)
COLUMNS = (
    *(("person", pa.int64()), ("site", pa.int64()), ("plan", pa.string()), ("v", pa.float64()), ("x", pa.float64())),
    *(("i", pa.int32()), ("b", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us"))),
)
DATA = pa.table(
    {
        "person": pa.array([*[i * i % 9 for i in range(60)], None], pa.int64()),
        "plan": [*["aAbé e"[i % 6] for i in range(60)], None],
        "n": pa.array([*[(i * i) % 40 * 2**50 for i in range(60)], None], pa.int64()),
        "x": pa.array([*[i / 7 for i in range(57)], float("nan"), float("inf"), None, -3.5], pa.float64()),
    }
)
SCORES: list[Any] = [_.plan == "a", _.x > 2, _.x.clip(-1, 4), _.n.clip(0, 2**40), _.plan.length() * 3, _.x.isnull()]


@pytest.mark.parametrize("unit", [ROW, ["person"]], ids=str)
def test_scores_are_those_of_duckdb(backend_of: Callable[[str], Any], other: str, unit: Any) -> None:
    found = []
    for name in ("duckdb", other):
        stated = {} if unit is ROW else {"max_rows": 4}
        table = Bench(backend_of(name)).protect(DATA, unit=unit, bounds={"x": (-5, 9)}, **stated)
        choice, source = priced_choice(table, SCORES, lambda score: score, price=PRICE)
        scores = choice.scores.of(blocks_of(choice.scores.plan, looked(choice.expression, source)))
        best, source = chosen(table, "plan", price=PRICE, k=1, keys=["a", "A", "é", " ", "none", None])
        found.append([*scores, *best.scores(looked(best.expression, source))])
    assert found[0] == found[1]
    assert len(set(found[0])) > 5


_benches: dict[str, Bench] = {}


@pytest.mark.parametrize("check", [check_choice, check_top])
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(table=rows_of(COLUMNS), replaced=st.booleans(), data=st.data())
def test_one_unit_moves_what_it_may(
    backend_of: Callable[[str], Any], other: str, check: Any, table: Rows, *, replaced: bool, data: st.DataObject
) -> None:
    """A unit less, or one whose rows become those of another."""
    bench = _benches.setdefault(other, Bench(backend_of(other)))
    units = table.units(["person"])
    gone = data.draw(st.sampled_from(units)) if units else None
    less = table.with_rows(row for row in table.rows if table.unit_of(row, ["person"]) != gone)
    facts: dict[str, Any] = {"neighbors": "replace-one", "units": 100} if replaced else {}
    bounds = {"x": (0, 5), "day": ("1960-01-01", "2030-01-01"), "at": ("1960-01-01", "2030-01-01")}
    held = bench.protect(table.to_arrow(), unit="person", max_rows=2, bounds=bounds, **facts)
    check(held, data, lambda: bench.put(less.to_arrow()))

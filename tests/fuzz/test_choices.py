"""Choices under attack: one unit of any type, with any rows, moves no two scores further apart than claimed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choice_claims import check_choice, check_top
from depth import SLOW, examples
from discreet.privacy.definitions import ROW
from discreet.testing.neighbors import NeighborPair, pairs
from neighbor_bench import Bench

EXAMPLES = examples(2)


def protected(bench: Bench, pair: NeighborPair, data: st.DataObject) -> Any:
    facts: dict[str, Any] = {"unit": list(pair.unit) or ROW}
    facts["bounds"] = {"x": (0, 5), "day": ("1960-01-01", "2030-01-01"), "at": ("1960-01-01", "2030-01-01")}
    if pair.unit:
        facts["max_rows"] = data.draw(st.integers(1, 3), label="max_rows")
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    table = bench.protect(pair.first.to_arrow(), **facts)
    return table.union(table) if data.draw(st.booleans(), label="united") else table


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_no_two_scores_further_apart(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    check_choice(protected(bench, pair, data), data, lambda: bench.put(pair.second.to_arrow()))


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_each_number_of_units_by_one(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    check_top(protected(bench, pair, data), data, lambda: bench.put(pair.second.to_arrow()))

"""The privacy claim on each engine: neighbors are within the sensitivity, and no question fails on any rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from combined_tables import dense, protected
from depth import examples
from discreet.engines import contribution_weights
from discreet.testing.neighbors import NeighborPair, neighbors, rows_of, schemas
from drawn_batches import batches, declared, distances, plan_of
from drawn_hierarchies import PRICES, hierarchies, in_all_places, level_distances, level_plan_of
from neighbor_bench import Bench
from neighbor_claims import check_neighbors

EXAMPLES = examples(10)
MICROSECONDS = pa.timestamp("us")


@st.composite
def fitting(draw: st.DrawFn) -> NeighborPair:
    """Pairs whose units other engines can tell apart: their times have microseconds."""
    columns = draw(schemas())
    kept = [
        (name, MICROSECONDS if name == "person" and pa.types.is_timestamp(kind) else kind) for name, kind in columns
    ]
    table = draw(rows_of(tuple(kept)))
    unit = draw(st.sampled_from(((), ("person",), ("person",), ("person", "site"))))
    replaced = draw(st.booleans())
    return NeighborPair(table, draw(neighbors(table, unit, replaced=replaced)), unit, replaced)


_benches: dict[str, Bench] = {}


@pytest.fixture
def bench(backend_of: Callable[[str], Any], other: str) -> Bench:
    return _benches.setdefault(other, Bench(backend_of(other)))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(pair=fitting(), data=st.data())
def test_neighbors_are_within_the_sensitivity(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 5), label="max_rows")))
    check_neighbors(bench, table, data, lambda plan: bench.totals(plan, pair.second.to_arrow()))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(pair=fitting(), data=st.data())
def test_neighbors_are_within_the_sensitivity_of_batches(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    """Cubes and ranges among them."""
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 4), label="max_rows")))
    plan = plan_of(data, data.draw(batches(table), label="batch"))
    assert all(distance <= claimed for distance, claimed in distances(bench, plan, pair))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(pair=fitting(), data=st.data())
def test_neighbors_are_within_the_sensitivity_of_levels(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    """Of every level of a path."""
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 4), label="max_rows")))
    plan = level_plan_of(data, data.draw(hierarchies(table), label="hierarchy"))
    assert all(distance <= claimed for distance, claimed in level_distances(bench, plan, pair))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(pairs=dense(), data=st.data())
def test_neighbors_in_several_tables_are_within_the_sensitivity(
    bench: Bench, pairs: tuple[NeighborPair, ...], data: st.DataObject
) -> None:
    """Of one table that is joined, united or otherwise made of them, for a person in all of them."""
    plan = plan_of(data, data.draw(batches(protected(data, bench, pairs)), label="batch"))
    assert all(distance <= claimed for distance, claimed in distances(bench, plan, *pairs))


def test_units_that_an_engine_does_not_weigh_are_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a person in four places who may count in two."""
    for price in PRICES:
        assert all(distance <= claimed for distance, claimed in in_all_places(bench, price))
    monkeypatch.setattr(contribution_weights, "weigh", lambda entry, *_limits, **_kind: entry)
    for price in PRICES:
        assert any(distance > claimed for distance, claimed in in_all_places(bench, price))

"""Hierarchies under attack: random paths, keys and neighbors; no level moves further than its noise allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import SLOW, examples
from discreet.engines import contribution_weights
from discreet.testing.neighbors import NeighborPair, pairs
from drawn_batches import declared
from drawn_hierarchies import PRICES, hierarchies, in_all_places, level_distances, level_plan_of
from neighbor_bench import Bench


@pytest.mark.long
@settings(max_examples=examples(), suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_neighbors_are_within_the_sensitivity_of_every_level(
    bench: Bench, pair: NeighborPair, data: st.DataObject
) -> None:
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 4), label="max_rows")))
    plan = level_plan_of(data, data.draw(hierarchies(table), label="hierarchy"))
    assert all(distance <= claimed for distance, claimed in level_distances(bench, plan, pair))


@pytest.mark.parametrize("price", PRICES)
def test_a_unit_in_all_places_uses_its_limits_up(bench: Bench, price: Any) -> None:
    found = in_all_places(bench, price)
    assert all(distance <= claimed for distance, claimed in found)
    assert any(distance > 0.9 * float(claimed) for distance, claimed in found)


@pytest.mark.parametrize("price", PRICES)
def test_units_that_an_engine_does_not_weigh_are_seen(
    bench: Bench, price: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a person in four places who may count in two."""
    monkeypatch.setattr(contribution_weights, "weigh", lambda entry, *_limits, **_kind: entry)
    assert any(distance > claimed for distance, claimed in in_all_places(bench, price))

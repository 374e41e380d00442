"""Batches under attack: random questions together, random neighbors; what is measured moves no further than claimed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.planning.batch_planner as planner
from depth import SLOW, examples
from discreet.sensitivity.strategy_sensitivity import part_sensitivity, squared_part_sensitivity
from discreet.testing.neighbors import NeighborPair, pairs
from drawn_batches import batches, declared, distances, plan_of
from neighbor_bench import Bench


@pytest.mark.long
@settings(max_examples=examples(), suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_neighbors_are_within_the_sensitivity_of_every_part(
    bench: Bench, pair: NeighborPair, data: st.DataObject
) -> None:
    table = bench.protect(pair.first.to_arrow(), **declared(pair, data.draw(st.integers(1, 4), label="max_rows")))
    plan = plan_of(data, data.draw(batches(table), label="batch"))
    assert all(distance <= claimed for distance, claimed in distances(bench, plan, pair))


def edge(bench: Bench, law: str, *, replaced: bool = False) -> list[tuple[int, Any]]:
    """What a person in far more cells than may count moves each part by, and what is claimed."""
    import pyarrow as pa

    from discreet.testing.neighbors import Rows, without

    rows = [(1, plan, float(i % 7)) for plan in "abcdef" for i in range(40)] + [(2, "a", 1.0)]
    table = Rows((("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64())), tuple(rows))
    facts: dict[str, Any] = {"neighbors": "replace-one", "units": 2} if replaced else {}
    protected = bench.protect(
        table.to_arrow(), unit="person", bounds={"x": (0, 5)}, keys={"plan": list("abcdef")}, **facts
    )
    cube = protected.group_by("plan", cube=True, max_groups=6, max_rows=3).agg(n=protected.plan.count())
    plan = cube.plan(**({"epsilon": 1} if law == "laplace" else {"rho": 0.1}))
    other = without(table, ["person"], (1,))
    return distances(bench, plan, NeighborPair(table, other, ("person",), replaced))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_unit_in_all_cells_uses_its_limits_up(bench: Bench, law: str) -> None:
    for distance, claimed in edge(bench, law):
        assert distance <= claimed
    assert any(distance > 0.99 * float(claimed) for distance, claimed in edge(bench, law))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_false_claim_about_parts_is_seen(bench: Bench, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a unit that is taken to count in one cell."""

    def of_one(function: Any) -> Any:
        return lambda one, amount, limits, *rest, **named: function(
            one, amount, type(limits)(max_rows=limits.max_rows), *rest, **named
        )

    monkeypatch.setattr(planner, "part_sensitivity", of_one(part_sensitivity))
    monkeypatch.setattr(planner, "squared_part_sensitivity", of_one(squared_part_sensitivity))
    assert any(distance > claimed for distance, claimed in edge(bench, law))

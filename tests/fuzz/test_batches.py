"""Batches under attack: random questions together, random neighbors; what is measured moves no further than claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import discreet as dp
import discreet.planning.batch_planner as planner
from depth import examples
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.ledger.ledger import charge_of
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.noise_laws import Law
from discreet.privacy.definitions import ROW
from discreet.query.batch_question import BatchQuestion
from discreet.query.mixed_batch_question import MixedBatchQuestion
from discreet.query.table import PrivateTable
from discreet.sensitivity.measured_parts import part_sensitivity, squared_part_sensitivity
from discreet.testing.neighbor_bench import Bench
from discreet.testing.neighbors import NeighborPair, pairs
from discreet.testing.questions import questions

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
PRICES: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"epsilon": 50, "delta": 1e-6}, {"rho": 0.1})


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def declared(pair: NeighborPair, max_rows: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "unit": list(pair.unit) or ROW,
        "bounds": {"x": (0, 5), "day": ("1960-01-01", "2030-01-01")},
    }
    if pair.unit:
        facts["max_rows"] = max_rows
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    return facts


@st.composite
def ranges(draw: st.DrawFn, table: PrivateTable, limits: dict[str, Any]) -> Any:
    """All ranges of a column, or prefixes, of all rows or in groups."""
    edges = draw(st.lists(st.integers(-1, 7), min_size=2, max_size=6, unique=True).map(sorted))
    kinds: Any = draw(st.sampled_from((True, "prefixes")))
    if draw(st.booleans()):
        return table.histogram("x", edges, ranges=kinds, **limits)
    by_plan: Any = table.group_by("plan", keys={"plan": ["a", None]}, **limits)
    return by_plan.histogram("x", edges, ranges=kinds)


@st.composite
def batches(draw: st.DrawFn, table: PrivateTable) -> BatchQuestion:
    """Some questions together, a cube, a rollup or ranges, of groups too; what is refused is drawn again."""
    limits: dict[str, Any] = {}
    if table._source.declaration.unit:
        limits = {name: draw(st.sampled_from((1, 2, 3))) for name in ("max_groups", "max_rows")}
    try:
        kind = draw(st.sampled_from(("questions", "questions", "cube", "ranges")))
        if kind == "questions":
            asked = {f"q{i}": draw(questions(table)) for i in range(draw(st.integers(1, 3)))}
            if draw(st.booleans()):
                asked["along"] = draw(ranges(table, limits))
            if draw(st.booleans()):
                found_keys: Any = table.group_by("plan", keys=dp.UNKNOWN, **limits)
                asked["found"] = found_keys.agg(n_found=table.b.count())
            together: BatchQuestion = dp.batch(asked, **limits)
            return together
        if kind == "ranges":
            bins: BatchQuestion = draw(ranges(table, limits)).batch
            return bins
        keys = {"plan": ["a", "b", None], "b": [True, False]}
        way: dict[str, Any] = draw(st.sampled_from(({"cube": True}, {"rollup": True}, {"sets": [["plan"], ["b"]]})))
        asked_for = {"n": table.plan.count(), "s": table.x.sum(), "m": table.x.mean()}
        chosen = draw(st.lists(st.sampled_from(sorted(asked_for)), min_size=1, unique=True))
        groups: Any = table.group_by("plan", "b", keys=keys, **way, **limits)
        found: BatchQuestion = groups.agg(**{name: asked_for[name] for name in chosen})
    except InvalidQuery:
        return draw(st.nothing())
    else:
        return found


def plan_of(data: st.DataObject, question: BatchQuestion) -> BatchPlan:
    try:
        stated = data.draw(st.sampled_from(PRICES), label="price")
        if isinstance(question, MixedBatchQuestion):
            parts = question.plan(**(stated | ({"delta": 1e-6} if question.mixed.open else {})))
            assert charge_of(parts.charge, parts.event).guarantee.epsilon <= parts.charge.epsilon
            best = data.draw(st.sampled_from(list(parts.planned.values())), label="part")
        else:
            best = question.plan(**stated)
    except InvalidQuery:
        reject()
    except InvalidParameter as refused:  # a small part of a price, under large limits
        if "bits to each row" not in str(refused):
            raise
        reject()
    plan: BatchPlan = data.draw(st.sampled_from((best, *best.runners_up)), label="plan")
    return plan


def distances(bench: Bench, plan: BatchPlan, pair: NeighborPair) -> list[tuple[int, Any]]:
    """How far each measured part of two neighbors is apart, and how far it may be; as squares for Gaussian noise."""
    both = bench.totals(plan.cells), bench.totals(plan.cells, pair.second.to_arrow())
    found = []
    for first, second, own, fine in zip(*both, plan.mechanisms, plan.fine, strict=True):
        parts = [plan.strategy.measure(one.reshape(*plan.query.sizes, one.shape[-1])) for one in (first, second)]
        for x, y, noise in zip(*parts, own, strict=True):
            moved = (x.astype(object) - y.astype(object)) * fine
            if plan.law is Law.GAUSSIAN:
                found.append((int((moved**2).sum()), noise.sensitivity**2))
            else:
                found.append((int(np.abs(moved).sum()), noise.sensitivity))
    return found


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

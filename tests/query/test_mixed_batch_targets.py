"""Wanted errors of tables beside ranges: each part has the price that its own error needs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.batch_targets import batch_targets, cheapest, wanted_ranges, wanted_tables
from discreet.query.mixed_batch_question import MixedBatchQuestion

AGES = [i % 90 for i in range(300)]


def question(**more: Any) -> MixedBatchQuestion:
    table = dp.protect(
        pa.table({"age": AGES, "plan": ["a", "b", "c"] * 100}), unit=dp.ROW, bounds={"age": (0, 90)},
        keys={"plan": ["a", "b"]}, budget=dp.Budget(epsilon=99, delta=1e-3),
    )  # fmt: skip
    mean = {name: table.agg(m=_.age.mean()) for name in more}
    return dp.batch(
        mean,
        by_age=table.histogram("age", list(range(0, 91, 10)), ranges=True),
        by_plan=table.group_by("plan").agg(n=_.count()),
        old=table.filter(_.age >= 45).count(),
    )


WITHIN: dict[str, Any] = {"by_age": 40, "by_plan": 15}


def test_each_part_is_as_good_as_it_is_wanted_and_no_better() -> None:
    asked = question()
    found, price = asked.explain(within=WITHIN), float(asked.plan(within=WITHIN).charge.epsilon)
    assert found.accuracy["by_age: worst range"].amount <= 40
    assert found.accuracy["by_plan: n"].amount <= 15
    parts = {name: float(share) * price * 0.998 for name, share in asked.plan(within=WITHIN).shares.items()}
    alone = dp.batch(by_age=_ranges(asked)).explain(epsilon=parts["by_age"])
    assert alone.accuracy["by_age: worst range"].amount > 40
    answer = asked.release(within=WITHIN)
    assert answer.receipt["charge"] == found["charge"]
    wider = asked.plan(within={**WITHIN, "by_age": 80})
    assert wider.charge.epsilon < asked.plan(within=WITHIN).charge.epsilon


def _ranges(asked: MixedBatchQuestion) -> Any:
    table = dp.protect(pa.table({"age": AGES}), unit=dp.ROW, bounds={"age": (0, 90)}, budget=dp.Budget(epsilon=99))
    return table.histogram("age", asked.mixed.ranges["by_age"].edges, ranges=True)


def test_with_a_delta_parts_share_it() -> None:
    plan = question().plan(within={"by_age": 3, "by_plan": 3}, delta=1e-6)
    assert plan.charge.delta <= 1e-6
    assert sum(plan.shares.values()) == 1


@pytest.mark.long
@pytest.mark.parametrize("target", [50, 300])
def test_gaussian_noise_of_all_parts_has_one_price(target: int) -> None:
    """Which is never more than what parts of epsilon and delta would add up to; and each part is as good as wanted."""
    asked, delta = question(mean=True), Fraction(1, 10**6)
    stated: dict[str, Any] = {"within": {"by_age": target, "mean": 5, "by_plan": target}, "delta": delta}
    plan, found = asked.plan(**stated, assume={"rows": 300}), asked.explain(**stated, assume={"rows": 300})
    assert found.accuracy["by_age: worst range"].amount <= target
    assert found.accuracy["by_plan: n"].amount <= target
    mixed = asked.mixed
    assert mixed.listed is not None
    targets = batch_targets(mixed.listed, {"mean": 5, "by_plan": target}, relative=False, assume={"rows": 300})
    apart = (
        cheapest(wanted_tables(mixed.listed, targets, None, 0.95), delta / 2),
        cheapest(wanted_ranges(mixed.ranges["by_age"], Fraction(target), 0.95), delta / 2),
    )
    assert plan.charge.epsilon < sum(part.charge.epsilon for part in apart)
    assert plan.charge.delta <= delta
    answer = asked.release(**stated, assume={"rows": 300})
    assert answer.receipt["charge"] == found["charge"]
    assert asked.source.budget.spent.epsilon == plan.charge.epsilon


def test_parts_of_so_many_rows_and_means_are_foreseen() -> None:
    asked = question()
    relative = asked.explain(within={"by_age": 0.1, "by_plan": {"n": 0.05}}, relative=True, assume={"rows": 400})
    assert relative["charge"] == asked.explain(within={"by_age": 40, "by_plan": 20})["charge"]
    with_mean = question(mean=True)
    found = with_mean.explain(within={"by_age": 40, "mean": 5}, delta=1e-6, assume={"rows": 300})
    assert found["charge"]["delta"] <= "0.000001"
    with pytest.raises(InvalidQuery, match="a column whose error is known beforehand"):
        with_mean.explain(within={"by_age": 40, "mean": 5}, delta=1e-6)


def test_what_is_no_error_of_a_part_is_refused() -> None:
    asked = question()
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"within": 3}, "a wanted error for each part"), ({"within": {"by_plan": 3}}, r"got within\['by_age"),
        ({"within": {"by_age": 3}}, "for some listed tables"), ({"within": {"by_ages": 3}}, "tables of the batch"),
        ({"within": {**WITHIN, "by_age": 0}}, "above 0"), ({"within": {**WITHIN, "by_age": {"worst": 3}}}, "by_age"),
        ({"within": WITHIN, "epsilon": 1}, "epsilon or within"), ({"within": {**WITHIN, "by_age": 1e-30}}, "reaches"),
        ({"within": WITHIN, "weights": {"by_age": 2}}, "weights of listed tables"),
        ({"relative": True}, "beside relative=True"),
        ({"within": WITHIN, "weights": {"nobody": 2}}, "weights of tables"),
        ({"within": WITHIN, "relative": True}, "assume="), ({"within": WITHIN, "delta": 1.5}, "from 0 to below 1"),
    )  # fmt: skip
    for stated, text in wrong:
        with pytest.raises(InvalidParameter, match=text):
            asked.release(**stated)
    assert asked.plan(within=WITHIN, weights={"by_plan": 2}).charge.epsilon > 0
    assert asked.source.budget.spent.epsilon == 0

"""The price of a batch beside questions in which something is open: parts that add up to it, as weights say."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _
from scipy.stats import norm

import discreet as dp
from depth import examples
from discreet.accounting.event_costs import cost_of
from discreet.accounting.gaussian_profile import mu_below
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.ledger.ledger import charge_of
from discreet.mechanisms.gaussian import Gaussian
from discreet.planning.batch_planner import BatchPlan, price_batch
from discreet.planning.mixed_batch_plan import MixedBatchPlan, joint_price, plan_within, plans_together
from discreet.planning.noise_laws import Law
from discreet.privacy.definitions import Guarantee
from discreet.query.mixed_batch_question import MixedBatchQuestion


def question(unit: str | None = "person") -> MixedBatchQuestion:
    random, n = np.random.default_rng(3), 400
    rows = pa.table({
        "person": random.integers(0, 100, n), "plan": random.choice(["a", "b", "c"], n).tolist(),
        "age": random.integers(0, 90, n),
    })  # fmt: skip
    stated: dict[str, Any] = {"unit": unit, "max_rows": 3} if unit else {"unit": dp.ROW}
    table = dp.protect(rows, bounds={"age": (0, 90)}, budget=dp.Budget(epsilon=2**40, delta=1e-2), **stated)
    limits: dict[str, Any] = {"max_groups": 2} if unit else {}
    found = dp.batch(
        {"by_plan": table.group_by("plan", keys=dp.UNKNOWN, **limits).agg(n=_.count(), s=_.age.sum())},
        old=table.filter(_.age >= 40).agg(n=_.count()), ages=table.agg(n=_.count(), s=_.age.sum()), **limits,
    )  # fmt: skip
    assert isinstance(found, MixedBatchQuestion)
    return found


@pytest.mark.long
@settings(max_examples=examples(), deadline=None)
@given(
    unit=st.sampled_from(["person", None]),
    price=st.sampled_from([{"epsilon": 1}, {"epsilon": Fraction(1, 3)}, {"rho": Fraction(1, 10)}]),
    weight=st.sampled_from([1, 8, Fraction(1, 1000), 10**6]),
)
def test_parts_of_a_mixed_batch_add_up_to_its_price(unit: str | None, price: dict[str, Any], weight: Any) -> None:
    plan = question(unit).plan(**price, delta=1e-6, weights={"by_plan": weight})
    assert sum(plan.shares.values()) == 1
    assert all(share > 0 for share in plan.shares.values())
    [stated] = price.values()
    whole = plan.charge.epsilon if plan.charge.rho is None else plan.charge.rho
    assert whole == stated
    assert plan.charge.delta <= Fraction(1, 10**6)
    assert plan.charge.delta == sum(part.charge.delta for part in plan.parts)
    own = [part.charge.epsilon if plan.charge.rho is None else part.charge.rho for part in plan.parts]
    assert sum(one for one in own if one is not None) == stated
    assert charge_of(plan.charge, plan.event).guarantee.epsilon <= plan.charge.epsilon


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("price", [{"epsilon": 3}, {"rho": Fraction(1, 10)}])
def test_ranges_have_a_part_of_the_price(unit: str | None, price: dict[str, Any]) -> None:
    """What is measured of them costs that part and no more, and charge and event of the batch have it."""
    plan = with_ranges(unit).plan(**price)
    [stated] = price.values()
    assert plan.shares == {None: Fraction(1, 3), "by_age": Fraction(1, 3), "in_plans": Fraction(1, 3)}
    for part in plan.planned.values():
        assert (part.charge.epsilon if plan.charge.rho is None else part.charge.rho) == Fraction(stated) / 3
        for noise in (one for own in part.mechanisms for one in own):
            cost = cost_of(noise.event)
            spent = cost.epsilon if plan.charge.rho is None else cost.rho
            assert spent is not None
            assert float(Fraction(stated) / 3) * 0.999 < float(spent) <= float(Fraction(stated) / 3)
    assert (plan.charge.epsilon if plan.charge.rho is None else plan.charge.rho) == stated
    whole = cost_of(plan.event)
    recorded = whole.epsilon if plan.charge.rho is None else whole.rho
    assert recorded is not None
    assert 0.999 * float(stated) < float(recorded) <= float(stated)
    assert len(plan.tables) == 3


@pytest.mark.parametrize("weights", [None, {"by_age": 4}])
def test_gaussian_noise_of_all_parts_is_priced_together(weights: dict[str, Any] | None) -> None:
    """Its costs in mu**2 add up to what epsilon and delta allow; parts of epsilon and delta would allow less."""
    asked = many_bins()
    plan = asked.plan(epsilon=1, delta=1e-6, weights=weights)
    share = Fraction(1, 2) if weights else Fraction(1, 3)
    assert plan.shares["by_age"] == share
    assert plan.charge == plan.together == Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    noises = [one for part in plan.planned.values() for own in part.mechanisms for one in own]
    assert all(isinstance(one, Gaussian) for one in noises)
    spent, allowed = (
        sum((one.sensitivity / one.scale) ** 2 for one in noises),
        mu_below(Fraction(1), Fraction(1, 10**6)),
    )
    assert 0.999 * allowed**2 < float(spent) <= allowed**2
    assert charge_of(plan.charge, plan.event).guarantee.epsilon <= 1
    if weights is None:
        apart = many_bins(alone=True).plan(epsilon=Fraction(1, 3), delta=1e-6 / 3)
        assert plan.ranges["by_age"].cost < apart.ranges["by_age"].cost


WANTED: dict[str, Any] = {"years": 3, "halves": 200, "by_age": 150}


@pytest.mark.parametrize("delta", [1e-6, 1e-10])
def test_the_joint_price_of_wanted_errors_is_that_of_the_accountant(delta: float) -> None:
    """Its profile is written out here: all noise together meets delta at the stated epsilon, and not a thousandth
    below it.
    """
    plan: MixedBatchPlan = many_bins().plan(within=WANTED, delta=delta, assume={"rows": 300})
    assert plan.charge == plan.together
    noises = [one for part in plan.planned.values() for own in part.mechanisms for one in own]
    assert len(plan.planned) == 3
    mu = float(sum((one.sensitivity / one.scale) ** 2 for one in noises)) ** 0.5

    def profile(epsilon: float) -> float:
        return float(norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))

    epsilon = float(plan.charge.epsilon)
    assert profile(epsilon) <= delta < profile(epsilon * 0.999)
    assert sum(plan.shares.values()) == 1


def test_laplace_noise_beside_gaussian_noise_is_paid_for() -> None:
    """A mean has Gaussian noise; a few bins that are wanted exactly have less noise of Laplace's law."""
    asked = many_bins(few=True)
    plan: MixedBatchPlan = asked.plan(within=WANTED | {"few": 0.9}, delta=1e-12, assume={"rows": 300})
    laws = {name: part.law for name, part in plan.planned.items()}
    assert laws == {None: Law.GAUSSIAN, "few": Law.LAPLACE, "halves": Law.GAUSSIAN, "by_age": Law.GAUSSIAN}
    [few] = (cost_of(noise.event).epsilon for own in plan.ranges["few"].mechanisms for noise in own)
    assert plan.together is not None
    assert plan.charge.epsilon == plan.together.epsilon + plan.ranges["few"].charge.epsilon
    assert few is not None
    assert few <= plan.ranges["few"].charge.epsilon
    assert plan.charge.delta == plan.together.delta
    assert plan.shares["few"] * plan.charge.epsilon == plan.ranges["few"].charge.epsilon
    assert sum(plan.shares.values()) == 1
    others = asked.plan(within=WANTED | {"few": 10**6}, delta=1e-12, assume={"rows": 300})
    assert others.charge.epsilon < plan.together.epsilon * 2


@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_no_mixture_of_laws_is_cheaper(data: st.DataObject) -> None:
    """Of four parts at any prices, of all sets that have Gaussian noise."""
    parts = many_bins(few=True).mixed.planned
    amounts = st.integers(1, 400).map(lambda n: Fraction(n, 100))
    gaussian = {n: price_batch(one, rho=data.draw(amounts) / 10, gaussian=True) for n, one in parts.items()}
    laplace: dict[str | None, BatchPlan] = {
        n: price_batch(one, epsilon=data.draw(amounts)) for n, one in parts.items() if n is not None
    }
    asked, delta = many_bins(few=True).mixed, Fraction(1, 10**6)
    best = min(plan.charge.epsilon for plan in plans_together(asked, gaussian, laplace, delta))
    for chosen in itertools.product((False, True), repeat=len(laplace)):
        own = gaussian | {name: laplace[name] for name, taken in zip(laplace, chosen, strict=True) if taken}
        plan = plan_within(asked, own, joint_price(own.values(), delta))
        assert best <= plan.charge.epsilon * Fraction(1002, 1000)


def test_little_noise_is_laplaces_for_each_part() -> None:
    plan = with_ranges().plan(epsilon=3, delta=1e-9)
    assert plan.together is None
    assert plan.charge == Guarantee(epsilon=Fraction(3))


def test_what_is_found_pays_beside_what_is_priced_together() -> None:
    plan = many_bins(found=True).plan(epsilon=1, delta=1e-6)
    assert plan.together is not None
    assert sum(plan.shares.values()) == 1
    assert plan.together.epsilon == Fraction(3, 4)
    assert plan.charge.epsilon == 1
    assert plan.charge.delta <= Fraction(1, 10**6)
    assert charge_of(plan.charge, plan.event).guarantee.epsilon <= 1


def many_bins(*, alone: bool = False, found: bool = False, few: bool = False) -> MixedBatchQuestion:
    table = dp.protect(
        pa.table({"age": [i % 90 for i in range(300)], "plan": ["a", "b", "c"] * 100}), unit=dp.ROW,
        bounds={"age": (0, 90)}, budget=dp.Budget(epsilon=2, delta=1e-3),
    )  # fmt: skip
    more: dict[str, Any] = {} if alone else {"years": table.agg(m=_.age.mean())}
    if found:
        more["found"] = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    if few:
        more["few"] = table.histogram("age", [0, 45, 90], ranges=True)
    if not alone:
        more["halves"] = table.histogram("age", list(range(0, 91, 2)), ranges="prefixes")
    together: MixedBatchQuestion = dp.batch(more, by_age=table.histogram("age", list(range(91)), ranges=True))
    return together


def with_ranges(unit: str | None = "person") -> MixedBatchQuestion:
    random, n = np.random.default_rng(3), 400
    rows = pa.table({
        "person": random.integers(0, 100, n), "plan": random.choice(["a", "b"], n).tolist(),
        "age": random.integers(0, 90, n),
    })  # fmt: skip
    stated: dict[str, Any] = {"unit": unit, "max_rows": 3} if unit else {"unit": dp.ROW}
    table = dp.protect(
        rows, bounds={"age": (0, 90)}, keys={"plan": ["a", "b"]}, budget=dp.Budget(epsilon=2**40, delta=1e-2), **stated
    )
    limits: dict[str, Any] = {"max_groups": 2} if unit else {}
    return dp.batch(
        by_age=table.histogram("age", [0, 30, 60, 90], ranges=True, **limits),
        old=table.filter(_.age >= 40).agg(n=_.count()),
        in_plans=table.group_by("plan", **limits).histogram("age", [0, 30, 90], ranges="prefixes"),
        **limits,
    )


def test_weights_divide_the_price() -> None:
    asked = question()
    even = asked.plan(epsilon=1, delta=1e-6)
    assert even.shares == {"by_plan": Fraction(1, 3), None: Fraction(2, 3)}
    heavier = asked.plan(epsilon=1, delta=1e-6, weights={"by_plan": 8})
    assert heavier.shares["by_plan"] == Fraction(1, 2)
    in_rho = asked.plan(rho=1, delta=1e-6, weights={"by_plan": 4})
    assert in_rho.shares["by_plan"] == Fraction(1, 2)
    assert in_rho.open["by_plan"].charge.delta == Fraction(1, 10**6)  # the whole of it: nothing else needs one


def test_what_cannot_be_priced_is_refused() -> None:
    asked = question()
    with pytest.raises(InvalidQuery, match="delta above 0 for unknown keys"):
        asked.plan(epsilon=1)
    for weights, text in (
        ({"nobody": 2}, "weights of tables"), ({"old": 0}, "a number above 0"), (3, "a dict of weights"),
        ({"old": 1e-14}, "differ by at most"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=text):
            asked.plan(epsilon=1, delta=1e-6, weights=weights)
    for stated in ({"within": {"old": 5}}, {"relative": True}):
        with pytest.raises(InvalidParameter, match="a price where something is to be found"):
            asked.plan(**stated)
    table = dp.protect(
        pa.table({"x": [1.0, 2.0]}), unit=dp.ROW, bounds={"x": "auto"}, budget=dp.Budget(epsilon=9, delta=1e-3)
    )
    found = dp.batch(s=table.agg(s=_.x.sum()), n=table.count())
    with pytest.raises(InvalidParameter, match="no delta beside rho"):
        found.plan(rho=1, delta=1e-6)
    assert found.plan(rho=1).charge.rho == 1

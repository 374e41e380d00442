"""With a delta the better of two laws is taken; Gaussian shares compose to the price and its noise is calibrated."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.accounting.event_costs import zcdp_of_event
from discreet.accounting.gaussian_profile import delta_above, mu_below
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Plan
from discreet.planning.planner import price
from discreet.privacy.definitions import UNBOUNDED

KEYS = tuple(range(100))


def table(rows: list[tuple[int, int, int | None]] | None = None, **stated: Any) -> dp.PrivateTable:
    """Rows of (who, group, x)."""
    held = rows or []
    schema = pa.schema({"who": pa.int64(), "g": pa.int64(), "x": pa.int64()})
    data = pa.Table.from_pylist([dict(zip(("who", "g", "x"), row, strict=True)) for row in held], schema=schema)
    usual: dict[str, Any] = {"unit": "who", "max_rows": 1, "max_groups": 100, "keys": {"g": KEYS}}
    return dp.protect(data, bounds={"x": (0, 3)}, budget=dp.Budget(epsilon=10, delta=1e-3), **{**usual, **stated})


def plan(question: dp.Question, **stated: Any) -> Plan:
    return price(question._query, **{"epsilon": 1, "delta": 1e-6, **stated})


def gaussian(found: Plan) -> list[dp.Gaussian]:
    """The mechanisms of a plan with Gaussian noise."""
    assert found.law is Law.GAUSSIAN
    return [block.noise for block in found.blocks if isinstance(block.noise, dp.Gaussian)]


def test_a_hundred_overlapping_counts_have_a_noise_of_42() -> None:
    """Exact calibration at (1, 1e-6): 10 times 4.2247; Laplace noise would have 141."""
    found = plan(table().group_by("g").agg(n=_.count()))
    [noise] = gaussian(found)
    assert float(noise.scale) / found.blocks[0].steps == pytest.approx(42.247, abs=1e-3)
    [other] = found.runners_up
    assert other.law is Law.LAPLACE
    assert float(other.blocks[0].scale) * 2**0.5 == pytest.approx(141.4, abs=0.1)
    assert [other.charge.epsilon, other.charge.delta] == [1, 0]
    assert [found.charge.epsilon, found.charge.delta] == [1, Fraction(1, 10**6)]


def test_a_single_count_stays_with_laplace_noise_and_spends_no_delta() -> None:
    found = plan(table().agg(n=_.count()))
    assert found.law is Law.LAPLACE
    assert found.charge.delta == 0
    assert [other.law for other in found.runners_up] == [Law.GAUSSIAN]


def test_gaussian_shares_compose_to_the_price() -> None:
    asked = {"n": _.count(), "s": _.x.sum(), "v": _.x.var(where=_.x < 2), "people": _.who.nunique()}
    for epsilon, delta in ((1, 1e-6), (0.1, 1e-9), (3, Fraction(1, 1000))):
        found = plan(table().group_by("g").agg(**asked), epsilon=epsilon, delta=delta)
        assert len(gaussian(found)) >= 3
        assert sum(block.share for block in found.blocks) == 1
        squares = sum((noise.sensitivity / noise.scale) ** 2 for noise in gaussian(found))
        most = Fraction(mu_below(Fraction(str(epsilon)), Fraction(str(delta))))
        assert squares <= most**2 * (1 + Fraction(1, 2**50))
        assert squares >= most**2 * (1 - Fraction(1, 2**40))


CHOICES = [(0, 0), (0, 3), (1, 1), (1, None), (2, 2)]


@pytest.mark.cases
@pytest.mark.parametrize("limits", [(1, 1), (2, 2)])
def test_no_unit_moves_the_totals_further_in_l2_than_claimed(limits: tuple[int, int]) -> None:
    others: list[tuple[int, int, int | None]] = [(7, 0, 2), (7, 1, 0), (8, 1, None)]
    stated = {"max_groups": limits[0], "max_rows": limits[1], "keys": {"g": [0, 1, 2]}}
    asked = {"n": _.count(), "s": _.x.sum(), "m": _.x.mean(where=_.x > 0), "v": _.x.var(), "p": _.who.nunique()}
    found = plan(table(others, **stated).group_by("g").agg(**asked), delta=0.01)
    found = found if found.law is Law.GAUSSIAN else found.runners_up[0]

    def totals(rows: list[tuple[int, int, int | None]]) -> list[Any]:
        source: Any = table(rows, **stated)._source
        return [total.astype(object) for total in source._engine.totals(found)]

    base, reached = totals(others), [0.0] * len(found.blocks)
    pairs = itertools.combinations_with_replacement(CHOICES, 2)
    for held in [*((choice,) for choice in CHOICES), *pairs, CHOICES[:3], CHOICES[2:], [CHOICES[1]] * 4]:
        new = totals([*others, *((1, *row) for row in held)])
        for i, block in enumerate(found.blocks):
            square = int(((new[i] - base[i]) ** 2).sum())
            assert square <= block.sensitivity**2
            reached[i] = max(reached[i], square / float(block.sensitivity) ** 2)
    assert min(reached) > 0.2


def test_replacement_moves_squares_by_two_contributions() -> None:
    public: dict[str, Any] = {"unit": dp.ROW, "neighbors": "replace-one", "max_rows": None, "max_groups": None}
    data = pa.table({"g": [1, 2], "x": [0, 1]})
    people = dp.protect(data, keys={"g": [1, 2]}, budget=dp.Budget(epsilon=1), rows=2, **public)
    [histogram] = gaussian(plan(people.group_by("g").agg(n=_.count()), delta=0.1, epsilon=0.01))
    assert float(histogram.sensitivity) == pytest.approx(2**0.5, rel=1e-15)


def test_the_charge_is_what_the_noise_costs() -> None:
    """The delta of the composed Gaussians at the stated epsilon is at most the stated one, and hardly less."""
    found = plan(table().group_by("g").agg(n=_.count(), s=_.x.sum()))
    mu2 = sum((noise.mu**2 for noise in gaussian(found)), start=Fraction(0))
    mu = Fraction(float(mu2) ** 0.5 * (1 + 1e-15))
    assert 0.999e-6 < delta_above(mu, Fraction(1)) <= 1e-6 * (1 + 1e-9)


def test_releases_say_what_they_are_and_spend_their_delta() -> None:
    people = table([(i, i % 100, 1) for i in range(300)])
    question = people.group_by("g").agg(n=_.count())
    said = question.explain(epsilon=1, delta=1e-6)
    assert said["totals"][0]["mechanism"] == "rounded Gaussian"
    assert said["totals"][0]["norm"] == "L2"
    assert said["also priced"][0]["mechanism"] == "discrete Laplace"
    assert re.search(r"or  discrete Laplace for epsilon=1, delta=0: n ± (299|300)\b", repr(said))
    answer = question.release(epsilon=1, delta=1e-6)
    assert answer.receipt["guarantee"].startswith("(1, 0.000001)-differential privacy")
    assert people.budget.spent.delta == Fraction(1, 10**6)
    assert np.std(answer["n"]) == pytest.approx(42.2, rel=0.5)
    with pytest.raises(dp.BudgetExceeded):
        people.group_by("g").agg(s=_.x.sum()).release(epsilon=20, delta=0.01)


def test_a_wanted_error_costs_less_with_a_delta() -> None:
    question = table([(1, 1, 1)]).group_by("g").agg(n=_.count())
    answer = question.release(within={"n": 500}, delta=1e-9)
    assert float(answer.receipt["charge"]["epsilon"]) < 0.4 * 100 * 3 / 500
    assert answer.receipt["charge"]["delta"] == "0.000000001"


@pytest.mark.parametrize("delta", [-0.1, 1, float("nan"), "much"])
def test_deltas_outside_their_range_are_refused(delta: Any) -> None:
    with pytest.raises(dp.InvalidParameter, match="delta"):
        plan(table().agg(n=_.count()), delta=delta)


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(1, 50), Fraction("0.3")])
def test_noise_at_a_rho_has_exactly_its_variance(rho: Fraction) -> None:
    """sigma^2 = D^2 / (2 rho), rounded up by less than 2^-58; its own event costs no more than rho, and nearly all."""
    lone = price(table().agg(n=_.count())._query, rho=rho)
    [noise] = gaussian(lone)
    assert noise.scale**2 >= noise.sensitivity**2 / (2 * rho)
    assert noise.scale**2 <= noise.sensitivity**2 / (2 * rho) * (1 + Fraction(1, 2**58))
    asked = {"n": _.count(), "s": _.x.sum(), "v": _.x.var(where=_.x < 2), "people": _.who.nunique()}
    for groups in (1, 2, 100):
        found = price(table(max_groups=groups).group_by("g").agg(**asked)._query, rho=rho)
        assert len(gaussian(found)) >= 3
        assert found.event is not None
        own, slack = zcdp_of_event(found.event)
        assert rho * (1 - Fraction(1, 2**58)) <= own <= rho
        assert slack == 0
        assert found.charge == dp.Guarantee(epsilon=UNBOUNDED, rho=rho)
        [other] = found.runners_up
        assert (other.law, other.charge.rho) == (Law.LAPLACE, rho)
        assert other.event is not None
        assert zcdp_of_event(other.event)[0] <= other.charge.epsilon**2 / 2 <= rho


def test_half_a_rho_is_a_standard_deviation_of_one() -> None:
    [noise] = gaussian(price(table().agg(n=_.who.nunique())._query, rho=0.5))
    assert noise.scale == noise.sensitivity == 1


def test_quantiles_at_a_rho_cost_their_part_of_it() -> None:
    """Losses of a bounded range cost an eighth of epsilon^2, so that there is more of it than for other releases."""
    rho = Fraction(1, 50)
    for asked in ({"m": _.x.median()}, {"m": _.x.max()}, {"m": _.x.quantile(0.9), "l": _.x.min(), "n": _.count()}):
        found = price(table().group_by("g").agg(**asked)._query, rho=rho)
        assert found.event is not None
        own, slack = zcdp_of_event(found.event)
        assert found.charge.rho == rho
        assert slack == 0
        assert rho * (1 - Fraction(1, 2**40)) <= own <= rho
        assert sum(one.share for one in found.ranks) + sum(block.share for block in found.blocks) == 1
        if not found.blocks:
            assert found.charge.epsilon == sum(one.cuts.epsilon for one in found.ranks)
            assert found.charge.epsilon**2 / 2 > rho

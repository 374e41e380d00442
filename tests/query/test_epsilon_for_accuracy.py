"""The cheapest epsilon is enough, and a little less is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ibis import _

from discreet.errors import InvalidParameter, InvalidQuery
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law, Price
from discreet.planning.planner import plan_with, price, stated_weights
from discreet.query.epsilon_for_accuracy import cheapest, cheapest_plan
from discreet.query.question import Question
from discreet.query.table import PrivateTable

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]
LINEAR = {"n": _.count(), "s": _.spent.sum(), "persons": _.person.nunique(), "some": _.count(where=_.ok)}


def widths(question: Question, epsilon: Fraction, confidence: float, weights: Any) -> dict[str, float]:
    plan = price(question._query, epsilon=epsilon, weights=weights)
    return {column.aggregate.name: half_width(plan, column, confidence) for column in plan.columns}


@pytest.mark.long
@pytest.mark.parametrize(
    "within",
    [
        {"n": 25},
        {"n": 1.5},
        {"s": 1000, "persons": 7},
        {"n": 10, "s": 10, "persons": 10, "some": 10},
        {"n": 0.3},
        {"s": 1e-3},
    ],
    ids=str,
)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_it_is_enough_and_less_is_not(protect_people: Protect, within: dict[str, float], confidence: float) -> None:
    question = protect_people().group_by("plan").agg(**LINEAR)
    weights = {"n": 3}
    found = cheapest(question._query, within, confidence=confidence, weights=weights)
    digit = Fraction(10) ** (len(str(int(found * 10**30))) - 34)  # one in the fourth digit
    assert found % digit == 0
    wide = widths(question, found, confidence, weights)
    assert all(wide[name] <= target for name, target in within.items())
    less = widths(question, found - digit, confidence, weights)
    assert any(less[name] > target for name, target in within.items())


SUMS = {"n": _.count(), "s": _.spent.sum(), "a": _.age.sum()}


def test_the_cheapest_of_all_laws_is_taken(protect_people: Protect) -> None:
    """One mechanism for all totals where that is enough at less epsilon; the others stand beside it, at theirs."""
    question, within = protect_people().group_by("plan").agg(**SUMS), {"n": 25, "s": 900}
    plan = cheapest_plan(question._query, within, confidence=0.95, weights=None, delta=Fraction(1, 10**6))
    assert plan.law is Law.JOINT
    assert {one.law for one in plan.runners_up} == {Law.LAPLACE, Law.GAUSSIAN}
    costs = [one.charge.epsilon for one in (plan, *plan.runners_up)]
    assert costs == sorted(costs)
    for one in (plan, *plan.runners_up):
        wide = {column.aggregate.name: half_width(one, column, 0.95) for column in one.columns}
        assert all(wide[name] <= target for name, target in within.items())
    offer, weights = Price(law=plan.law, epsilon=costs[0] * Fraction(999, 1000)), stated_weights(question._query, None)
    less = plan_with(question._query, Law.JOINT, offer, weights)
    assert less is not None
    assert any(half_width(less, column, 0.95) > within.get(column.aggregate.name, 1e9) for column in less.columns)


def test_explain_shows_what_each_law_would_cost(protect_people: Protect) -> None:
    question = protect_people().group_by("plan").agg(**SUMS)
    told = question.explain(within={"n": 25, "s": 900})
    assert {one["mechanism"] for one in told["totals"]} == {"K-norm, all totals together"}
    [other] = told["also priced"]
    assert other["mechanism"] == "discrete Laplace"
    assert float(other["charge"]["epsilon"]) > float(told["charge"]["epsilon"])
    assert question.release(within={"n": 25, "s": 900}).receipt["charge"] == told["charge"]
    alone = protect_people().group_by("plan").agg(n=_.count()).explain(within={"n": 25})
    assert not alone["also priced"]


def test_stairs_are_tried_where_they_are_steps(protect_people: Protect) -> None:
    """At little epsilon they are not looked at; at much of it lone totals have them."""
    question = protect_people().agg(s=_.spent.sum())
    laws = {target: cheapest_plan(question._query, {"s": target}, confidence=0.95, weights=None) for target in (900, 3)}
    assert not laws[900].runners_up
    assert Law.STAIRCASE in {laws[3].law, *(one.law for one in laws[3].runners_up)}


def test_a_mean_has_no_error_beforehand(protect_people: Protect, refused: Refused) -> None:
    table = protect_people()
    for written, name in ((_.age.mean(), "mean"), (_.age.var(), "variance"), (_.age.std(), "std")):
        question = table.agg(n=_.count(), m=written)
        said = refused(InvalidQuery, question.release, within={"m": 1})
        assert f"the error of a {name} depends on the private number of rows" in said
        assert ".explain(epsilon=..., assume={'rows': n})" in said
        assert question.explain(epsilon=1, assume={"rows": 100}) is not None
        assert cheapest(question._query, {"n": 10}, confidence=0.95, weights=None) > 0


def test_a_release_within_an_error_costs_what_it_says(protect_people: Protect) -> None:
    question = protect_people().count()
    answer = question.release(within={"count": 25}, confidence=0.9)
    assert answer.receipt["charge"]["epsilon"] == str(
        float(cheapest(question._query, {"count": 25}, confidence=0.9, weights=None))
    )
    assert answer.to_pyarrow()["count_high"][0].as_py() - answer["count"][0] <= 25


@pytest.mark.long
@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"within": {}}, "a wanted error for some columns"),
        ({"within": 25}, "a wanted error for some columns"),
        ({"within": {"m": 5}}, "columns of the answer"),
        ({"within": {"coun": 5}}, "did you mean 'count'"),
        ({"within": {"count": 0}}, "a number above 0"),
        ({"within": {"count": -1}}, "a number above 0"),
        ({"within": {"count": float("nan")}}, "a finite number"),
        ({"within": {"count": True}}, "a number"),
        ({"within": {"count": "5"}}, "a number"),
        ({"within": {"count": 5}, "epsilon": 1}, "Expected epsilon or within, got both"),
        ({"within": {"count": 5}, "confidence": 1}, "a confidence between 0 and 1"),
        ({"within": {"count": 5}, "confidence": 0}, "a confidence between 0 and 1"),
        ({"within": {"count": 5}, "weights": {"m": 1}}, "weights of columns"),
    ],
    ids=str,
)
def test_refusals(unreadable: Protect, refused: Refused, stated: dict[str, Any], said: str) -> None:
    table = unreadable()
    assert said in refused(InvalidParameter, table.count().release, **stated)
    assert table.budget.spent.epsilon == 0


def test_errors_that_no_epsilon_reaches_are_refused(unreadable: Protect, refused: Refused) -> None:
    table = unreadable()
    said = refused(InvalidParameter, table.agg(s=_.spent.sum(), n=_.count()).release, within={"s": 1e-9})
    assert "an error that some epsilon reaches" in said
    # A count is a whole number, and noise of less than one half is none.
    assert 3 < cheapest(table.count()._query, {"count": 1e-9}, confidence=0.95, weights=None) < 10


def test_errors_so_large_that_hardly_any_epsilon_is_needed(protect_people: Protect) -> None:
    """Too little epsilon is refused when it is asked for; the search stays above it."""
    found = cheapest(protect_people().count()._query, {"count": 10**15}, confidence=0.95, weights=None)
    assert 0 < found < Fraction(1, 10**6)

"""Choices, bounds from below and clusters are explained as they are released, and for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ibis import _

import discreet as dp
from discreet.clustering.explain_clusters import looks
from discreet.errors import InvalidParameter
from discreet.query.explanation import ErrorOf, Explanation, plan_digest
from discreet.query.table import PrivateTable
from discreet.testing import people
from discreet.testing.example_tables import visits

Asked = Callable[[PrivateTable], Any]

QUESTIONS: dict[str, Asked] = {
    "top": lambda t: t.top("plan", k=2),
    "top as a set": lambda t: t.top("plan", k=2, order=False),
    "choose": lambda t: t.choose([10, 40, 70], score=lambda c: (_.age - c).abs() < 15),
    "count_distinct": lambda t: t.count_distinct("plan"),
    "count_distinct under a limit": lambda t: t.count_distinct("plan", max_values=2),
    "truncated_total": lambda t: t.truncated_total("visits"),
    "truncated_total by a race": lambda t: t.truncated_total(limit="race"),
    "truncated_total under a limit": lambda t: t.truncated_total(limit=2),
    "kmeans": lambda t: t.kmeans(["age", "visits"], n_clusters=2),
    "lloyd": lambda t: t.kmeans(["age", "visits"], n_clusters=2, algorithm="lloyd", rounds=2),
}
PRICES: dict[str, dict[str, Any]] = {"epsilon": {"epsilon": 0.5}, "rho": {"rho": 0.25}}


@pytest.mark.long
@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_explained_is_what_is_charged(name: str, price: str) -> None:
    table = people()
    question = QUESTIONS[name](table)
    if price == "rho" and name.startswith(("count", "truncated")):
        with pytest.raises(InvalidParameter, match="Expected an epsilon"):
            question.explain(**PRICES[price])
        with pytest.raises(InvalidParameter, match="Expected an epsilon"):
            question.release(**PRICES[price])
        return
    found = question.explain(**PRICES[price])
    assert table.budget.spent.epsilon == 0
    answer = question.release(**PRICES[price])
    assert found["charge"] == answer.receipt["charge"]
    assert table.budget.spent.epsilon > 0 or table.budget.spent.rho
    for fact in ("mechanism", "sensitivity"):
        if fact in answer.receipt and "kmeans" not in name and name != "lloyd":
            assert found[fact] == answer.receipt[fact]
    assert sum(one["share"] for one in found.facts["totals"]) == 1
    assert json.loads(json.dumps({name: found[name] for name in found}))
    assert isinstance(found, Explanation)
    for said in ("charge", "sensitivity", "plus or minus", "intervals"):
        assert said in repr(found)


def test_the_error_of_a_choice_is_that_of_its_receipt() -> None:
    for name in ("top", "top as a set", "choose"):
        question = QUESTIONS[name](people())
        found, receipt = question.explain(epsilon=0.5), question.release(epsilon=0.5).receipt
        [error] = found.accuracy.values()
        assert (error.amount, error.of) == (receipt["short by at most"], ErrorOf.SHORT)
        [less] = question.explain(epsilon=0.5, confidence=0.5).accuracy.values()
        assert less.amount < error.amount
    with pytest.raises(InvalidParameter, match="a confidence between 0 and 1"):
        question.explain(epsilon=0.5, confidence=1)


def test_a_number_of_values_is_too_large_by_what_its_limit_makes_it() -> None:
    question = QUESTIONS["count_distinct"](people())
    found, receipt = question.explain(epsilon=0.5), question.release(epsilon=0.5).receipt
    error = found.accuracy["plan"]
    margins = list(receipt["too large by at most"].values())
    assert (error.amount, error.at_most, error.of) == (min(margins), max(margins), ErrorOf.TOO_LARGE)
    alone = QUESTIONS["count_distinct under a limit"](people())
    [margin] = alone.release(epsilon=0.5).receipt["too large by at most"].values()
    assert str(alone.explain(epsilon=0.5).accuracy["plan"]) == f"{margin} too large"
    told = {one["mechanism"]: str(one["plus_minus"]["plan"]) for one in found.facts["also priced"]}
    assert told["max_values=2"] == f"{margin} too large"


def test_alternatives_are_what_they_would_be() -> None:
    table = people()
    found = QUESTIONS["top"](table).explain(epsilon=0.5)
    as_set = QUESTIONS["top as a set"](table).explain(epsilon=0.5)
    told = {one["mechanism"]: one["plus_minus"]["plan"] for one in found.facts["also priced"]}
    assert set(told) == {"one-shot choice of 2 of 3", "joint exponential choice of a set of 2 of 3"}
    if as_set["mechanism"].startswith("joint"):
        assert told[as_set["mechanism"]] == as_set.accuracy["plan"]
    [other] = QUESTIONS["choose"](table).explain(epsilon=0.5).facts["also priced"]
    assert other["mechanism"] == "exponential choice of 1 of 3"
    assert (
        other["plus_minus"]["chosen"].amount > QUESTIONS["choose"](table).explain(epsilon=0.5).accuracy["chosen"].amount
    )
    assert not QUESTIONS["choose"](table).explain(rho=0.5).facts["also priced"]
    with pytest.raises(InvalidParameter, match="Expected no delta"):
        QUESTIONS["choose"](table).explain(epsilon=1, delta=1e-6)
    assert QUESTIONS["top"](table).explain(epsilon=1, delta=1e-6)["charge"] == {"epsilon": "1", "delta": "0.000001"}


def test_the_steps_of_lloyd_are_those_of_its_receipt() -> None:
    question = QUESTIONS["lloyd"](people())
    found, receipt = question.explain(epsilon=0.5), question.release(epsilon=0.5).receipt
    steps = receipt["steps"]
    assert len(steps) == looks("lloyd", 2) == 4
    sizes, *sums = found.facts["totals"]
    assert [Fraction(one["epsilon"]) for one in steps] == [Fraction(1, 8)] * 4
    assert sizes["epsilon"] == Fraction(1, 8) == sum(one["epsilon"] for one in sums)
    assert steps[0]["scale"] == pytest.approx(float(sizes["scale"]))
    assert str(found.accuracy["age"]) == "whatever the rows make it"
    assert found.accuracy["cluster_size"].amount > 0


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["best", "lloyd"])
def test_no_clusters_take_more_questions_than_told(algorithm: str) -> None:
    for epsilon in (0.01, 1, 100, 10000):
        bounds = {"age": (0, 110), "visits": (0, 50)}
        budget = dp.Budget(epsilon=100000)
        table = dp.protect(visits(), unit="person", bounds=bounds, max_groups=2, max_rows=5, budget=budget)
        found = table.kmeans(["age", "visits"], n_clusters=2, algorithm=algorithm, epsilon=epsilon)
        assert len(found.receipt["steps"]) <= looks(algorithm, 5)


def test_other_plans_have_other_names() -> None:
    table = people()
    names = [plan_digest(ask(table).explain(epsilon=0.5)) for name, ask in QUESTIONS.items() if name != "top as a set"]
    names += [plan_digest(QUESTIONS["top"](table).explain(epsilon=1))]
    names += [plan_digest(table.top("plan", k=2, keys=["free", "25%", "x"]).explain(epsilon=0.5))]
    names += [plan_digest(table.top("plan", k=2, keys=["25%", "free", "x"]).explain(epsilon=0.5))]
    scores = lambda c: (_.age - c).abs() < 16  # noqa: E731 (as in the other questions)
    names += [plan_digest(table.choose([10, 40, 70], score=scores).explain(epsilon=0.5))]
    names += [plan_digest(table.count_distinct("age").explain(epsilon=0.5))]
    assert len(set(names)) == len(names)


def test_it_is_explained_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    table: Any = people()
    engine = table._source._engine
    for name in ("run_statement", "totals"):
        monkeypatch.setattr(type(engine), name, lambda *_: pytest.fail("it looked"), raising=False)
    for ask in QUESTIONS.values():
        ask(table).explain(epsilon=0.5)
    assert dp.Budget(epsilon=1).spent.epsilon == table.budget.spent.epsilon

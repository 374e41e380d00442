"""The exponential mechanism over a table: candidates of the analyst's own, by a score of the rows."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.audit.finite_delta import exact
from discreet.choices.choose_candidate import CandidateChoice, priced_choice
from discreet.ledger.ledger import stated_guarantee
from discreet.query.table import PrivateTable
from neighbor_bench import Bench

ROWS = {"person": [1, 2, 3, 4, 5, None], "age": [17, 18, 18, 18, 21, 17], "x": [0.5, -1.0, 2.0, 0.0, 1.0, 0.0]}
DATA = pa.table(ROWS)
AGES = [17, 18, 21]


def protected(data: pa.Table = DATA, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "bounds": {"age": (0, 100), "x": (-1, 2)}} | stated
    return dp.protect(data, budget=dp.Budget(epsilon=10**6), name="ages", **facts)


def choice_of(
    table: PrivateTable, score: Any, candidates: list[Any] | None = None, *, epsilon: object = 1, rho: object = None
) -> CandidateChoice:
    listed = AGES if candidates is None else candidates
    return priced_choice(table, listed, score, price=stated_guarantee(epsilon, rho=rho))[0]


def test_the_best_is_chosen_as_it_was_given() -> None:
    labels = [(17, "a"), (18, "b"), (21, "c")]
    found = protected().choose(labels, score=lambda c: _.age == c[0], epsilon=2000)
    assert found.value == (18, "b")
    assert repr(found) == "<chosen: (18, 'b')>"
    sums = {"up": _.x, "down": -_.x, "half": _.x / 2}
    assert protected().choose(list(sums), score=lambda c: sums[c], epsilon=10**5).value == "up"
    ages: Any = np.array(AGES)
    assert protected().choose(ages, score=lambda c: _.age < c, epsilon=2000).value == 21
    assert protected().choose(range(17, 19), score=lambda c: (_.age == c).ifelse(1, 0), epsilon=2000).value == 18


def test_uses_of_the_lecture_notes() -> None:
    """The most common nationality; the best threshold; the best split of two classes."""
    nations = pa.table({"person": list(range(100)), "nation": ["fr"] * 60 + ["de"] * 30 + ["it"] * 10})
    table = protected(nations, bounds={})
    assert table.choose(["de", "fr", "it"], score=lambda c: _.nation == c, epsilon=20).value == "fr"
    people = pa.table({"person": list(range(99)), "v": list(range(99)), "ill": [i >= 66 for i in range(99)]})
    table = protected(people, bounds={"v": (0, 98)})
    assert table.choose([20, 40, 66, 80], score=lambda c: (_.v >= c) == _.ill, epsilon=20).value == 66
    right = table.choose([33, 66], score=lambda c: ((_.v >= c) == _.ill).ifelse(1, -1), epsilon=20)
    assert right.value == 66


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": None, "rho": Fraction(1, 8)}], ids=["epsilon", "rho"])
def test_a_choice_costs_what_it_says_by_enumeration(price: dict[str, Any], *, replaced: bool) -> None:
    """Of all neighbors by one person, the laws of what is chosen; and nearly all of epsilon is used."""
    stated = {"neighbors": "replace-one", "units": 6} if replaced else {}
    bench = Bench()
    table = bench.protect(DATA, unit="person", max_rows=1, bounds={"age": (0, 100)}, **stated)
    choice = choice_of(table, lambda c: _.age == c, **price)
    ages = [17, 18, 21, 40]
    start = [] if not replaced else [17]
    found: list[list[float]] = []
    for own in [start, *([age] for age in ages)]:
        rows = pa.table({"person": [*range(1, 4), *([9] if own else [])], "age": [17, 18, 18, *own]})
        scores = choice.scores.of(bench.totals(choice.scores.plan, rows.append_column("x", [[0.0] * len(rows)])))
        found.append(choice.rule.probabilities(scores).tolist())
    most = max(np.abs(np.log(one) - np.log(found[0])).max() for one in found[1:])
    assert all(exact(one, found[0], epsilon=1).ok and exact(found[0], one, epsilon=1).ok for one in found[1:])
    assert most > 0.4


def test_the_spread_is_what_the_noise_is_for() -> None:
    assert choice_of(protected(), lambda c: _.age == c).rule.scale == 1
    assert choice_of(protected(neighbors="replace-one", units=5), lambda c: _.age == c).rule.scale == 2
    assert choice_of(protected(max_rows=4), lambda c: _.age == c).rule.scale == 4
    assert choice_of(protected(unit=dp.ROW, max_rows=None), lambda c: _.x * c, [1, 2]).rule.scale == 6


def test_a_choice_at_a_rho_is_booked_by_its_law() -> None:
    table = dp.protect(DATA, unit="person", max_rows=1, name="ages", budget=dp.Budget(rho=1))
    answer = table.choose(AGES, score=lambda c: _.age == c, rho=0.5)
    assert answer.receipt["charge"] == {"rho": "0.5"}
    assert answer.receipt["mechanism"] == "exponential choice of 1 of 3"
    assert table.budget.spent.rho == Fraction(1, 2)
    choice = choice_of(table, lambda c: _.age == c, epsilon=None, rho=0.5)
    rule = choice.rule
    assert choice.guarantee.epsilon == rule.epsilon
    assert rule.epsilon**2 / 8 <= Fraction(1, 2)
    assert rule.epsilon**2 / 8 == pytest.approx(Fraction(1, 2))
    assert table.budget.entries()[0].event == rule.event
    assert rule.epsilon <= table.budget.entries()[0].guarantee.epsilon < rule.epsilon * Fraction(101, 100)


def test_a_choice_at_a_rho_is_not_for_less_epsilon_than_it_has() -> None:
    """Half of it is that of noise at this rho; neighbors tell choices apart by more."""
    budget = dp.Budget(epsilon=1)
    table = dp.protect(DATA, unit="person", max_rows=1, name="few ages", budget=budget)
    ages = list(range(40))
    rule = choice_of(table, lambda c: _.age == c, ages, epsilon=None, rho=0.5).rule
    seen, other = (np.log(rule.probabilities([n, *[0] * 39])) for n in (0, 1))
    assert np.abs(seen - other).max() > 1.8
    with pytest.raises(dp.BudgetExceeded):
        table.choose(ages, score=lambda c: _.age == c, rho=0.5)
    assert not budget.entries()


def test_it_is_charged_once_and_remembered() -> None:
    table = protected()
    first = table.choose(AGES, score=lambda c: _.age == c, epsilon=0.25)
    assert table.choose(AGES, score=lambda c: _.age == c, epsilon=0.25).value == first.value
    assert table.budget.spent.epsilon == pytest.approx(0.25)
    facts = json.loads(json.dumps(first.receipt))
    assert facts["question"] == "the best of 3 by age == 17; age == 18; age == 21"
    assert facts["sensitivity"] == "1 between two scores"
    assert facts["scores"] == ["age == 17", "age == 18", "age == 21"]
    table.choose([*AGES, 40], score=lambda c: _.age == c, epsilon=0.25)
    assert table.budget.spent.epsilon == pytest.approx(0.5)


@pytest.mark.long
def test_a_choice_falls_short_by_no_more_than_it_says() -> None:
    """With a miss of 0.05, 400 runs: 45 misses come once in a million times."""
    data = pa.table({"person": list(range(60)), "plan": ["a"] * 30 + ["b"] * 20 + ["c"] * 10})
    table, held = protected(data, bounds={}), {"a": 30, "b": 20, "c": 10}
    answers = [table.choose(list("cba"), score=lambda c: _.plan == c, epsilon=0.3, fresh=True) for _i in range(400)]
    short = answers[0].receipt["short by at most"]
    assert 5 < short < 12
    assert sum(30 - held[answer.value] > short for answer in answers) <= 45


def test_rows_of_a_unit_are_limited_where_it_is_asked() -> None:
    table = protected(max_rows=None)
    assert choice_of(protected(max_rows=3), lambda c: _.age == c).rule.scale == 3
    with pytest.raises(dp.InvalidQuery, match=r"choose\(\.\.\., max_rows=1\)"):
        table.choose(AGES, score=lambda c: _.age == c, epsilon=1)
    found = table.choose(AGES, score=lambda c: _.age == c, epsilon=1, max_rows=2)
    assert found.receipt["sensitivity"] == "2 between two scores"
    assert protected(max_rows="auto").choose(AGES, score=lambda c: _.age == c, epsilon=1, max_rows=1).value in AGES
    own = protected(max_rows=None).per_unit(oldest=lambda t: t.age.max())
    assert choice_of(own, lambda c: _.oldest == c).rule.scale == 1


def test_the_names_of_columns_are_ones_own() -> None:
    """What the scores are called inside is called something else where a column has that name."""
    data = pa.table({"person": [1, 2], "score_0": [1, 1], "Score_1": [0, 0], "score__0": [5, 5]})
    scores = [_.score_0 == 1, _.Score_1 == 1]
    assert protected(data, bounds={}).choose([0, 1], score=lambda c: scores[c], epsilon=2000).value == 0
    unit = pa.table({"score_0": [1, 2], "age": [17, 17]})
    table = dp.protect(unit, unit="score_0", max_rows=1, budget=dp.Budget(epsilon=2000))
    assert table.choose(AGES, score=lambda c: _.age == c, epsilon=2000).value == 17


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one": ({"candidates": [18]}, "2 to 1,000 candidates"),
    "none": ({"candidates": []}, "2 to 1,000 candidates"),
    "too many": ({"candidates": range(1001)}, r"\.top\('column'"),
    "a set": ({"candidates": {1, 2}}, "a list of candidates"),
    "a text": ({"candidates": "ab"}, "a list of candidates"),
    "a table": ({"candidates": pa.table({"c": [1, 2]})}, "a list of candidates"),
    "a matrix": ({"candidates": np.ones((2, 2))}, "a list of candidates"),
    "no function": ({"score": 3}, "lambda c"),
    "an expression": ({"score": _.age == 3}, "lambda c"),
    "an aggregate": ({"score": lambda c: (_.age == c).sum()}, r"write the score of one row"),
    "a count": ({"score": lambda c: _.count(where=_.age == c)}, r"write the score of one row"),
    "a text each": ({"score": lambda c: _.age.cast("string") + str(c)}, "a condition, or a number"),
    "no bounds": ({"score": lambda _c: _.free}, "bounds for"),
    "bounds to find": ({"score": lambda c: _.found * c}, "limits and bounds that are stated"),
    "limits to find": ({"max_rows": "auto"}, "limits and bounds that are stated"),
    "no rows": ({"max_rows": 0}, "a whole number of 1 or more"),
    "no price": ({"epsilon": None, "fresh": True}, "epsilon or rho"),
    "two prices": ({"rho": 1}, "epsilon or rho"),
    "no epsilon": ({"epsilon": 0}, "epsilon"),
    "a word": ({"fresh": "yes"}, "fresh"),
    "NaN": ({"candidates": [float("nan"), 1.0]}, "finite numbers"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_cost_nothing(name: str) -> None:
    stated, match = REFUSED[name]
    data = DATA.append_column("free", DATA["x"]).append_column("found", DATA["x"])
    table = protected(data, bounds={"age": (0, 100), "found": "auto"})
    asked: dict[str, Any] = {"candidates": AGES, "score": lambda c: _.age == c, "epsilon": 1} | stated
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=match) as refused:
        table.choose(**asked)
    assert "Hint: " in str(refused.value)
    assert table.budget.spent.epsilon == 0
    with pytest.raises(dp.InvalidParameter, match="no max_rows"):
        protected(unit=dp.ROW, max_rows=None).choose(AGES, score=lambda c: _.age == c, epsilon=1, max_rows=1)

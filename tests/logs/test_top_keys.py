"""The most common values: scores of persons, each moved by one, and choices that are as good as they say."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.ledger.ledger import stated_guarantee
from discreet.logs.top_keys import chosen
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.privacy.events import BoundedRangeEvent
from discreet.query.table import PrivateTable
from discreet.selection.top_k import TopK

PLANS = ["c", "a", "b", None, "nobody"]
DATA = pa.table(
    {
        "person": [1, 1, 1, 2, 3, 3, None, 4],
        "plan": ["a", "a", "b", "a", "c", "other", "a", None],
        "i": [1, 1, 2, 1, 2, 2, 1, 1],
        "x": [0.5] * 8,
    }
)


def protected(data: pa.Table = DATA, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "keys": {"plan": PLANS}, "name": "plans"} | stated
    return dp.protect(data, budget=dp.Budget(epsilon=10**6, delta=0.1), **facts)


def scores(table: PrivateTable, data: pa.Table | None = None, *, column: str = "plan", keys: Any = None) -> list[int]:
    """The exact scores of the listed values."""
    choice, source = chosen(table, column, price=stated_guarantee(1), k=1, keys=keys)
    if data is not None:
        _, source = chosen(protected(data), column, price=stated_guarantee(1), k=1, keys=keys)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(choice.expression))
    return [int(score) for score in choice.scores(found)]


def test_one_unit_moves_each_score_by_one() -> None:
    """Whatever number of rows and values it has."""
    table = protected()
    before = scores(table)
    assert before == [1, 2, 1, 1, 0]
    many = pa.table({"person": [9] * 40, "plan": ["a", "b", None, "nobody"] * 10, "i": [1] * 40, "x": [0.0] * 40}).cast(
        DATA.schema
    )
    after = scores(table, pa.concat_tables([DATA, many]))
    assert np.subtract(after, before).tolist() == [0, 1, 1, 1, 1]


def test_scores_of_rows_and_of_other_kinds() -> None:
    assert scores(protected(unit=dp.ROW)) == [1, 4, 1, 1, 0]
    assert scores(protected(), column="i", keys=[2, 1, 7]) == [2, 3, 0]
    assert scores(protected().filter(lambda t: t.i == 2)) == [
        1, 0, 1, 0, 0,
    ]  # fmt: skip
    assert scores(protected(DATA.slice(0, 0))) == [0] * 5


def test_replacing_a_unit_moves_scores_both_ways() -> None:
    """And then the choice pays for it: half the epsilon for each step of the noise."""
    scales = {}
    for neighbors in ("add-remove", "replace-one"):
        stated = {} if neighbors == "add-remove" else {"units": 4}
        choice, _ = chosen(protected(neighbors=neighbors, **stated), "plan", price=stated_guarantee(1), k=1, keys=None)
        assert isinstance(choice.rule, TopK)
        many = list(range(20))
        joint, _ = chosen(
            protected(neighbors=neighbors, **stated), "i", price=stated_guarantee(1), k=10, keys=many, order=False
        )
        assert isinstance(joint.rule, JointExponential)
        scales[neighbors] = (choice.rule.choice.scale, joint.rule.scale)
    assert scales["replace-one"] == tuple(2 * scale for scale in scales["add-remove"])


def test_the_best_come_first() -> None:
    table = protected()
    assert table.top("plan", epsilon=2000).values == ("a",)
    three = table.top("plan", k=5, epsilon=10**4)
    assert three.values[0] == "a"
    assert three.values[4] == "nobody"
    assert set(three.values) == set(PLANS)
    assert three.to_pyarrow()["plan"].to_pylist() == list(three.values)
    assert table.top("i", k=2, keys=[2, 1, 7], epsilon=2000, delta=0.01).values == (1, 2)


@pytest.mark.long
def test_a_choice_falls_short_by_no_more_than_it_says() -> None:
    """With a miss of 0.05, 400 runs and the exact law far inside of it."""
    data = pa.table({"person": list(range(60)), "plan": ["a"] * 30 + ["b"] * 20 + ["c"] * 10})
    table = protected(data)
    choice, _ = chosen(table, "plan", price=stated_guarantee(0.5), k=1, keys=None)
    bound, held = choice.facts["short by at most"], {"a": 30, "b": 20, "c": 10}
    answers = [table.top("plan", epsilon=0.5, fresh=True).values[0] for _ in range(400)]
    missed = sum(30 - held.get(str(answer), 0) > bound for answer in answers)
    assert missed <= 45


WAYS: list[tuple[int, int, dict[str, Any], bool]] = [
    (1, 100, {"epsilon": 1}, False),
    (2, 100, {"epsilon": 1}, False),
    (10, 20, {"epsilon": 1}, True),
    (20, 20, {"epsilon": 1}, False),
    (30, 1000, {"epsilon": 1}, True),
    (10, 1000, {"epsilon": 1}, False),
    (2, 1000, {"rho": 0.5}, False),
    (19, 20, {"rho": 0.5}, True),
    (19, 20, {"epsilon": 1, "delta": 1e-6}, True),
]
"""How many, of how many, at which price, and whether one draw of a set has the smaller error."""


@pytest.mark.parametrize(("k", "values", "stated", "is_joint"), WAYS, ids=str)
def test_a_set_is_drawn_where_that_is_better(k: int, values: int, stated: dict[str, Any], *, is_joint: bool) -> None:
    """For any scores, at the same price; the receipt has both errors."""
    price = stated_guarantee(stated.get("epsilon"), stated.get("delta", 0), stated.get("rho"))
    asked: dict[str, Any] = {"price": price, "k": k, "keys": list(range(values))}
    listing, _ = chosen(protected(), "i", **asked)
    choice, _ = chosen(protected(), "i", order=False, **asked)
    assert isinstance(choice.rule, JointExponential) is is_joint
    assert choice.guarantee.amounts == listing.guarantee.amounts
    assert choice.facts["short by at most"] <= listing.facts["short by at most"]
    if isinstance(choice.rule, JointExponential):
        other = choice.facts["instead of"]
        assert other["short for some scores by"] < other["short by at most"] == listing.facts["short by at most"]
        assert choice.rule.error(candidates=values) < other["short for some scores by"]
        assert choice.facts["mechanism"] == f"joint exponential choice of a set of {k} of {values}"
        assert choice.rule.loss.epsilon(delta=0) <= float(choice.guarantee.epsilon) * (1 + 1e-12)
    else:
        assert dict(choice.facts) == dict(listing.facts)


def test_a_set_comes_in_the_order_of_the_list() -> None:
    """Whichever mechanism found it."""
    table, words = protected(), ["nobody", None, "b", "c", "a"]
    assert table.top("plan", k=2, keys=words, epsilon=10**4, order=False, fresh=True).values[-1] == "a"
    assert table.top("plan", k=5, keys=words, epsilon=1, order=False).values == tuple(words)
    many = [7, *range(10, 40), 2, 1]
    found = table.top("i", k=25, keys=many, epsilon=10**4, order=False)
    assert found.receipt["mechanism"].startswith("joint exponential choice")
    assert found.values[-2:] == (2, 1)
    assert [value for value in many if value in found.values] == list(found.values)
    assert len(set(found.values)) == 25


def test_a_set_at_a_rho_is_booked_by_its_own_law() -> None:
    spent = dp.protect(DATA, unit="person", name="plans", budget=dp.Budget(rho=1))
    answer = spent.top("i", k=19, keys=list(range(20)), rho=0.5, order=False)
    assert answer.receipt["charge"] == {"rho": "0.5"}
    assert spent.budget.spent.rho == Fraction(1, 2)
    event = spent.budget.entries()[0].event
    assert isinstance(event, BoundedRangeEvent)
    assert event.epsilon**2 / 8 <= Fraction(1, 2) <= event.epsilon**2 / 8 + Fraction(1, 10**9)


def test_it_is_charged_once_and_remembered() -> None:
    table = protected()
    first = table.top("plan", k=2, epsilon=0.25)
    assert table.top("plan", k=2, epsilon=0.25).values == first.values
    assert table.budget.spent.epsilon == pytest.approx(0.25)
    assert json.loads(json.dumps(first.receipt))["charge"] == {"epsilon": "0.25", "delta": "0"}
    assert first.receipt["question"] == "the 2 most common of plan"
    table.top("plan", k=3, epsilon=0.25)
    assert table.budget.spent.epsilon == pytest.approx(0.5)


def test_refusals_cost_nothing() -> None:
    table = protected()
    wrong: tuple[tuple[type[dp.DiscreetError], dict[str, Any]], ...] = (
        (dp.InvalidQuery, {"column": "i"}),
        (dp.InvalidQuery, {"column": "x", "keys": [1, 2]}),
        (dp.InvalidQuery, {"column": "plan", "keys": dp.UNKNOWN}),
        (dp.InvalidQuery, {"column": "plan", "keys": dp.UNKNOWN_BY_COUNT}),
        (dp.InvalidQuery, {"column": "i", "keys": range(20_000)}),
        (dp.InvalidParameter, {"column": "plan", "k": 6}),
        (dp.InvalidParameter, {"column": "plan", "k": 0}),
        (dp.InvalidParameter, {"column": "plan", "k": True}),
        (dp.InvalidParameter, {"column": "plan", "epsilon": 0}),
        (dp.InvalidParameter, {"column": "plan", "delta": 1}),
        (dp.InvalidParameter, {"column": "plan", "order": 0}),
        (dp.InvalidParameter, {"column": "plan", "order": False, "k": 6}),
    )
    for error, options in wrong:
        with pytest.raises(error, match="Hint: "):
            table.top(**{"epsilon": 1, **options})
    assert table.budget.spent.epsilon == 0
    with pytest.raises(dp.InvalidParameter, match="a protected table"):
        chosen(DATA, "plan", price=stated_guarantee(1), k=1, keys=None)


@pytest.mark.parametrize("k", [1, 3])
def test_a_choice_at_a_rho_is_booked_by_its_own_law(k: int) -> None:
    table = protected()
    spent = dp.protect(DATA, unit="person", keys={"plan": PLANS}, name="plans", budget=dp.Budget(rho=1))
    answer = spent.top("plan", k=k, rho=0.5)
    assert answer.receipt["charge"] == {"rho": "0.5"}
    assert answer.receipt["guarantee"].startswith("0.5-zero-concentrated differential privacy for ")
    assert spent.budget.spent.rho == Fraction(1, 2)
    choice, _ = chosen(table, "plan", price=stated_guarantee(None, rho=0.5), k=k, keys=None)
    assert isinstance(choice.rule, TopK)
    assert choice.rule.each**2 / 8 * k == pytest.approx(Fraction(1, 2))
    assert choice.rule.each**2 / 8 * k <= Fraction(1, 2)
    assert spent.budget.entries()[0].event == choice.rule.event


@pytest.mark.parametrize(
    "stated", [{"delta": 1e-6}, {"fresh": True}, {"rho": 1, "epsilon": 1}, {"rho": 1, "delta": 1e-6}]
)
def test_a_choice_has_one_price(stated: dict[str, Any]) -> None:
    with pytest.raises(dp.InvalidParameter, match="Hint: "):
        protected().top("plan", **stated)


def test_what_the_hint_says_of_values_that_nobody_listed_can_be_asked() -> None:
    rows = pa.table({"person": list(range(300)), "page": ["/a"] * 200 + ["/b"] * 100})
    table = dp.protect(rows, unit="person", budget=dp.Budget(epsilon=9, delta=1e-5), name="pages")
    with pytest.raises(dp.InvalidQuery, match="public values of 'page', got none") as refused:
        table.top("page", k=1, epsilon=1)
    [line] = re.findall(r"write (\.group_by.*\.limit\(3\))", str(refused.value))
    question = eval(f"table{line}", {"table": table, "dp": dp, "_": _})  # noqa: S307 (the line of the hint)
    assert question.release(epsilon=5, delta=1e-6).to_pyarrow()["page"].to_pylist()[0] == "/a"

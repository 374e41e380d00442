"""Rounds: charged one by one, before each is seen, and never less than what is due."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.rounds import ROUNDS, Rounds
from discreet.query.table import PrivateTable

ROWS = pa.table({"person": range(4000), "age": [20 + i % 50 for i in range(4000)]})


def table(**budget: Any) -> PrivateTable:
    return dp.protect(
        ROWS,
        unit="person",
        bounds={"age": (0, 100)},
        max_rows=1,
        budget=dp.Budget(**budget or {"epsilon": 1}),
        name="t",
    )


def test_a_large_count_costs_little_and_the_repeat_nothing() -> None:
    people = table()
    first = people.count().release(within={"count": 0.05}, relative=True, up_to=0.5)
    spent = people.budget.spent.epsilon
    assert 0 < spent < Fraction(1, 4)
    assert first.receipt["rounds"]["ended"] == "the targets are met"
    assert abs(first["count"][0] - 4000) <= 400  # twice the target: off by chance less than once in 10^6
    again = people.count().release(within={"count": 0.05}, relative=True, up_to=0.5)
    assert again.to_pyarrow().equals(first.to_pyarrow())
    assert people.budget.spent.epsilon == spent
    assert len(people.budget.entries()) == first.receipt["rounds"]["number"]


def test_means_have_targets_and_the_cap_is_told() -> None:
    people = table()
    question = people.agg(age=lambda t: t.age.mean())
    assert question.release(within={"age": 2}, up_to=0.5).receipt["rounds"]["ended"] == "the targets are met"
    capped = question.release(within={"age": 0.0001}, up_to=0.25)
    assert "not met" in capped.receipt["rounds"]["ended"]
    assert capped.receipt["charge"]["epsilon"] == "0.25"


def test_each_round_is_charged_before_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    people, seen = table(), list[Fraction]()

    def met(self: Rounds, number: int, totals: object) -> bool:
        del totals
        seen.append(people.budget.spent.epsilon - self.plans[number].charge.epsilon)
        return False

    monkeypatch.setattr(Rounds, "met", met)
    people.count().release(within={"count": 1}, up_to=0.5)
    assert seen == [Fraction(0)] * ROUNDS


def test_a_budget_that_ends_gives_the_round_that_was_paid() -> None:
    people = table(epsilon=0.1)
    answer = people.count().release(within={"count": 0.001}, up_to=0.5)
    assert answer.receipt["rounds"]["ended"] == "the budget is spent before"
    assert people.budget.spent.epsilon <= Fraction(1, 10)


def test_rho_is_that_of_the_cap() -> None:
    people = table(epsilon=1, delta=1e-6)
    people.count().release(within={"count": 1000}, up_to=0.5)
    assert people.budget.entries()[0].rho == Fraction(1, 8)


def test_a_failure_between_rounds_keeps_the_charges(monkeypatch: pytest.MonkeyPatch) -> None:
    people = table()

    def met(self: Rounds, number: int, totals: object) -> bool:
        del self, totals
        return bool(number == 2 and 1 / 0)

    monkeypatch.setattr(Rounds, "met", met)
    with pytest.raises(ZeroDivisionError):
        people.count().release(within={"count": 1}, up_to=0.5)
    spent = people.budget.spent.epsilon
    assert len(people.budget.entries()) == 3
    monkeypatch.undo()
    people.count().release(within={"count": 500}, up_to=0.5)
    assert people.budget.spent.epsilon > spent


@pytest.mark.parametrize(
    "stated",
    [{"up_to": 0.5}, {"within": {"count": 1}, "relative": True}, {"within": {"count": 1}, "up_to": 1, "epsilon": 1}],
)
def test_what_does_not_go_together_is_refused(stated: dict[str, Any]) -> None:
    people = table()
    with pytest.raises(dp.InvalidParameter):
        people.count().release(**stated)
    assert people.budget.spent.epsilon == 0


def test_relative_targets_look_at_the_near_end() -> None:
    rounds = table().count().rounds({"count": 0.5}, relative=True, up_to=0.5)
    low, value, high = (np.array([one]) for one in (6.0, 10.0, 14.0))
    assert not rounds._within(value, low, high, "count")
    assert rounds._within(value, value - 3, value + 3, "count")
    assert not rounds._within(value * 0, value * 0 - 1, value * 0 + 1, "count")

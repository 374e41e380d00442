"""Rounds: charged one by one, before each is seen, and never less than what is due."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.audit import neighbors
from discreet.audit.compare_runs import findings
from discreet.audit.pipelines import Function, Run
from discreet.inference.estimate import estimates
from discreet.mechanisms.noise_reduction import refined
from discreet.planning.noise_laws import width_of
from discreet.query.accuracy_rounds import ROUNDS, Rounds
from discreet.query.table import PrivateTable
from discreet.testing import splitmix

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
    with pytest.raises(dp.EngineError, match="the charge stays spent"):
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


def test_what_depends_on_order_has_no_rounds() -> None:
    people = table()
    with pytest.raises(dp.InvalidQuery, match="'m', which has a mechanism of its own"):
        people.agg(m=lambda t: t.age.median()).release(within={"m": 1}, up_to=0.5)
    assert people.budget.spent.epsilon == 0


def by_band(people: PrivateTable) -> Any:
    return people.group_by(old=people.age >= 40, keys={"old": [False, True]}, max_groups=1).agg(
        n=lambda t: t.count(), total=lambda t: t.age.sum()
    )


def test_sums_and_groups_are_good_enough_in_all_cells() -> None:
    """Wrong once in twenty at most, and by more than twice the target less than once in 10^6."""
    people = table()
    answer = by_band(people).release(within={"n": 0.1, "total": 0.1}, relative=True, up_to=1)
    assert answer.receipt["rounds"]["ended"] == "the targets are met"
    ages = np.array(ROWS["age"].to_pylist())
    for i, chosen in enumerate((ages < 40, ages >= 40)):
        assert abs(answer["n"][i] - chosen.sum()) <= 0.2 * chosen.sum()
        assert abs(answer["total"][i] - ages[chosen].sum()) <= 0.2 * ages[chosen].sum()
    assert people.budget.spent.epsilon < 1


def test_the_planned_rounds_are_shown_and_nothing_is_spent() -> None:
    people = table()
    question = by_band(people)
    stated: dict[str, Any] = {"within": {"n": 0.1}, "relative": True, "up_to": 0.5}
    told = question.explain(**stated)
    rounds = question.rounds(stated["within"], relative=True, up_to=0.5)
    assert told["rounds"] == rounds.explain()
    assert [float(one["epsilon"]) for one in told["rounds"]] == pytest.approx(
        [float(plan.charge.epsilon) for plan in rounds.plans], rel=1e-3
    )
    assert told["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert "epsilon so far" in repr(told)
    assert question.explain(within={"n": 40})["charge"]["epsilon"] != "0"
    assert people.budget.spent.epsilon == 0
    for wrong in ({"epsilon": 1}, {"delta": 1e-6}, {"report": "clipped"}):
        with pytest.raises(dp.InvalidParameter, match="beside up_to"):
            question.explain(**stated, **wrong)


@pytest.mark.parametrize("what", ["unknown keys", "automatic bounds"])
def test_what_is_open_has_no_rounds_in_any_words(what: str) -> None:
    people = dp.protect(
        ROWS, unit="person", bounds={"age": "auto"}, max_rows=1, budget=dp.Budget(epsilon=1, delta=1e-3), name="open"
    )
    grouped = people.group_by("age", keys=dp.UNKNOWN, max_groups=1)
    question = grouped.agg(n=lambda t: t.count()) if what == "unknown keys" else people.agg(n=lambda t: t.age.sum())
    said = set()
    for ask in (question.release, question.explain):
        with pytest.raises(dp.InvalidQuery) as refusal:
            ask(within={"n": 5}, up_to=0.5)
        said.add(str(refusal.value))
    with pytest.raises(dp.InvalidQuery) as refusal:
        question.rounds({"n": 5}, up_to=0.5)
    assert said == {str(refusal.value)}
    assert people.budget.spent.epsilon == 0


def test_rounds_have_laplace_noise_at_any_cap() -> None:
    rounds = table(epsilon=50).agg(s=lambda t: t.age.sum()).rounds({"s": 1}, up_to=20)
    assert [isinstance(plan.blocks[0].noise, dp.Laplace) for plan in rounds.plans] == [True] * ROUNDS


def test_a_crash_between_rounds_shows_no_more_than_was_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a ledger file: the process ends after round 3 was charged; the next one starts anew, and pays anew."""

    def people() -> PrivateTable:
        return table(epsilon=1, ledger=tmp_path / "spent.db")

    def met(self: Rounds, number: int, totals: object) -> bool:
        del self, totals
        if number == 2:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(Rounds, "met", met)
    with pytest.raises(KeyboardInterrupt):
        people().count().release(within={"count": 1}, up_to=0.5)
    monkeypatch.undo()
    after = people()
    plans = after.count().rounds({"count": 1}, up_to=0.5).plans
    lost = plans[2].charge.epsilon
    assert after.budget.spent.epsilon == lost
    assert [entry.answered for entry in after.budget.entries()] == [True, True, False]
    answer = after.count().release(within={"count": 1}, up_to=0.5)
    assert answer.receipt["rounds"]["number"] == ROUNDS
    assert after.budget.spent.epsilon == lost + Fraction(1, 2)
    again = people()
    assert again.count().release(within={"count": 1}, up_to=0.5).to_pyarrow().equals(answer.to_pyarrow())
    assert again.budget.spent.epsilon == lost + Fraction(1, 2)


PEOPLE = pa.table(
    {
        "who": [1, 1, 2, 3, 3, 4, 5],
        "g": ["a", "b", "a", "c", "b", None, "a"],
        "x": [1.0, 5.0, 2.0, 9.0, 90.0, 3.0, -4.0],
    }
)
CHOSEN = ("most rows", "x is NaN", "of 200 rows", "in every g")
WORST = [one for one in neighbors(PEOPLE, ["who"]) if one.words.endswith(CHOSEN)]


@pytest.mark.long
def test_nothing_but_noise_tells_neighbors_apart() -> None:
    """Replayed: the exact totals go to one mechanism, within its sensitivity; all rounds, charges and words agree."""

    def ask(rows: Any) -> Any:
        people = dp.protect(
            rows, unit="who", bounds={"x": (0, 50)}, keys={"g": ["a", "b"]}, max_groups=2, max_rows=2,
            budget=dp.Budget(epsilon=9), name="replayed",
        )  # fmt: skip
        question = people.group_by("g").agg(n=lambda t: t.count(), s=lambda t: (t.x * 2).sum(), m=lambda t: t.x.mean())
        answer = question.release(within={"n": 0.2, "m": 3}, relative=True, up_to=6)
        return answer.to_pyarrow(), answer.receipt["rounds"], people.budget.spent

    made, runs = Function(name="rounds", function=ask, like=PEOPLE), list[Run]()
    for rows in (PEOPLE, *(one.data for one in WORST)):
        runs.append(made.run(rows, runs[0].recorder.calls if runs else None))
    assert {call.name for call in runs[0].recorder.calls} == {"Refinement.add_noise"}
    for one, run in zip(WORST, runs[1:], strict=True):
        assert findings(runs[0], run, ("the warnings",), None, one.words) == []


TRIALS, FALSE_ALARM = 1000, 1e-6


def missed(rounds: Rounds, *, confidence: float) -> int:
    """Of so many releases, each stopped where its own values say so: how often the interval misses 4,000."""
    scales = [width_of(plan.blocks[0].noise) for plan in rounds.plans]
    found = refined(np.full((TRIALS, 1), 4000), scales, splitmix(5))
    misses = 0
    for trial in range(TRIALS):
        number = next(n for n in range(ROUNDS) if n == ROUNDS - 1 or rounds.met(n, [found[n][trial : trial + 1]]))
        plan = replace(rounds.plans[number], rounds=1) if confidence != rounds.confidence else rounds.plans[number]
        one = estimates(plan, [found[number][trial : trial + 1]], confidence)["count"]
        misses += not one.low[0] <= 4000 <= one.high[0]
    return misses


def test_intervals_hold_wherever_a_release_stopped() -> None:
    """1,000 stopped releases, with exact binomial limits; intervals of half the confidence are seen to fail."""
    rounds = table().count().rounds({"count": 0.01}, relative=True, up_to=0.5)
    limit = stats.binom.isf(FALSE_ALARM, TRIALS, 0.05)
    assert missed(rounds, confidence=0.95) <= limit < missed(rounds, confidence=0.5)


def test_relative_targets_look_at_the_near_end() -> None:
    rounds = table().count().rounds({"count": 0.5}, relative=True, up_to=0.5)
    low, value, high = (np.array([one]) for one in (6.0, 10.0, 14.0))
    assert not rounds._within(value, low, high, "count")
    assert rounds._within(value, value - 3, value + 3, "count")
    assert not rounds._within(value * 0, value * 0 - 1, value * 0 + 1, "count")

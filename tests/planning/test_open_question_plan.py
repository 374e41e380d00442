"""The price of a question with something open: parts that add up, and a plan once everything is found."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.mechanisms.laplace import Laplace
from discreet.planning.noise_laws import Law, noise_event
from discreet.planning.open_question_plan import Findings, OpenQuestionPlan, Subject, clipped, plan_open_question
from discreet.planning.unspecified import Unspecified, open_values
from discreet.privacy.events import ApproximateEvent, Composed, composed
from discreet.query.question import Question

ROWS = pa.table({"person": [1, 2], "page": ["a", "b"], "v": [1.5, 2.5], "i": [1, 2]})


def question(**more: Any) -> Question:
    """About everything that can be open."""
    stated: dict[str, Any] = {"unit": "person", "budget": dp.Budget(epsilon=1), "bounds": {"v": "auto", "i": "auto"}}
    table = dp.protect(ROWS, **(stated | {"max_groups": "auto", "max_rows": "auto"} | more))
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(
        n=lambda t: t.count(),
        s=lambda t: t.v.sum(),
        m=lambda t: t.v.mean(where=t.i > 0),
        k=lambda t: t.i.mean(),
    )
    assert asked._is_open
    return asked


def priced(asked: Question, epsilon: object = 1, delta: object = 1e-6, **more: Any) -> OpenQuestionPlan:
    return plan_open_question(asked._query, asked._open, epsilon=epsilon, delta=delta, **more)


FOUND = Findings(
    {"max_groups": 4, "max_rows": 2}, ((Fraction(0), Fraction(8)), (Fraction(-2), Fraction(16))), (("x",), ("y",))
)


def test_parts_add_up_to_the_charge() -> None:
    found = priced(question(max_groups=2, max_rows=2), epsilon=Fraction(7, 10))
    plan = found.completed_plan(Findings({}, FOUND.ends, FOUND.keys))
    histograms = sum((histogram.noise.epsilon for histogram in found.histograms), start=Fraction(0))
    answer = sum((b.noise.epsilon for b in plan.blocks if isinstance(b.noise, Laplace)), start=Fraction(0))
    assert found.answering.epsilon == answer
    assert (
        histograms + found.selecting + answer
        == Fraction(7, 10)
        == plan.charge.epsilon
        == found.placeholder_plan.charge.epsilon
    )
    assert plan.charge.delta == Fraction(1, 10**6)
    everything = [Subject.GROUPS, Subject.ROWS, Subject.SIZE, Subject.SIZE]
    assert [histogram.subject for histogram in priced(question()).histograms] == everything


OPEN: dict[str, dict[str, Any]] = {
    "everything": {},
    "keys": {"max_groups": 2, "max_rows": 2, "bounds": {"v": (0, 9), "i": (0, 9)}},
    "keys and limits": {"bounds": {"v": (0, 9), "i": (0, 9)}},
    "keys and bounds": {"max_groups": 100, "max_rows": 1},
}


@pytest.mark.long
@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("report", [(), ("clipped",), ("clipped", "weighted")])
def test_parts_of_rho_add_up_to_it(name: str, report: tuple[str, ...]) -> None:
    """The plan and its looks cost rho together, whatever is found, and no more than a little less than it."""
    asked, rho = question(**OPEN[name]), Fraction(1, 3)
    left = replace(asked._open, report=frozenset(report))
    found = plan_open_question(asked._query, left, rho=rho, delta=Fraction(1, 10**6))
    plan = found.completed_plan(
        Findings(dict.fromkeys(left.limits, 4), FOUND.ends[: len(open_values(asked._query))], FOUND.keys)
    )
    assert plan.charge.rho == found.charge.rho == rho
    own, delta = zcdp_of_event(found.event)
    assert (1 - Fraction(1, 10**6)) * rho < own <= rho
    assert delta == found.charge.delta == found.selecting_delta == Fraction(1, 10**6)
    looks = [histogram.noise.event for histogram in (*found.histograms, *found.reports)]
    keys = ApproximateEvent(epsilon=found.selecting, delta=delta)
    drawn_now = composed(*looks, keys, *(noise_event(block.noise) for block in plan.blocks))
    assert (1 - Fraction(1, 100)) * rho < zcdp_of_event(drawn_now)[0] <= rho


def test_one_look_at_a_rho_is_that_at_its_epsilon() -> None:
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(rho=9, delta=1e-3), name="rows")
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(n=lambda t: t.count())
    found = plan_open_question(asked._query, asked._open, rho=2, delta=1e-6)
    same = plan_open_question(asked._query, asked._open, epsilon=2, delta=1e-6)
    assert found.placeholder_plan.shown == same.placeholder_plan.shown
    assert zcdp_of_event(found.event) == (Fraction(2), Fraction(1, 10**6))
    assert found.charge.rho == 2
    assert found.placeholder_plan.charge == found.charge


def test_a_delta_without_unknown_keys_is_refused_beside_rho() -> None:
    table = dp.protect(ROWS, unit="person", budget=dp.Budget(rho=1), max_rows="auto", name="rows")
    asked = table.agg(n=lambda t: t.count())
    with pytest.raises(InvalidParameter, match="no delta beside rho"):
        asked.release(rho=1, delta=1e-6)
    with pytest.raises(InvalidParameter, match="epsilon or rho, got both"):
        asked.release(rho=1, epsilon=1)
    assert table.budget.spent.rho == 0


def test_gaussian_noise_takes_half_of_delta_where_it_is_better() -> None:
    few, many = (priced(question(max_groups=groups, max_rows=1)) for groups in (1, 100))
    assert few.placeholder_plan.law is Law.LAPLACE
    assert not few.answering.delta
    assert few.selecting_delta == Fraction(1, 10**6)
    assert many.placeholder_plan.law is Law.GAUSSIAN
    assert many.answering.delta == many.selecting_delta == many.charge.delta / 2
    assert isinstance(many.event, Composed)
    assert many.event.events[-1] == ApproximateEvent(epsilon=many.answering.epsilon, delta=many.answering.delta)
    assert many.completed_plan(Findings({}, FOUND.ends, (("x",),) * 50)).law is Law.GAUSSIAN


def test_only_what_is_open_is_paid_for() -> None:
    asked = question(max_groups=2, max_rows=3, bounds={"v": (0, 1), "i": (0, 1)})
    found = priced(asked)
    assert found.histograms == ()
    assert found.selecting == found.answering.epsilon == Fraction(1, 2)
    assert found.groups() == 2


def test_replacing_a_unit_costs_twice() -> None:
    asked = question(neighbors="replace-one", units=100)
    found = priced(asked)
    assert all(histogram.noise.sensitivity == 2 for histogram in found.histograms)
    rule, added = found.selection(3), priced(question()).selection(3)
    assert rule.epsilon == added.epsilon / 2
    assert float(rule.delta) * (1 + math.exp(float(rule.epsilon))) == pytest.approx(5e-7)
    assert rule.delta * (1 + Fraction(math.exp(float(rule.epsilon)))) <= found.selecting_delta == added.delta


def test_what_was_found_takes_the_place_of_stand_ins() -> None:
    plan = priced(question()).completed_plan(FOUND)
    assert plan.query.keys is not None
    assert plan.query.keys.rows == (("x",), ("y",))
    assert (plan.limits.max_groups, plan.limits.max_rows) == (2, 2)  # of the two groups that there are
    intervals = {a.name: a.value.interval for a in plan.query.aggregates if a.value is not None and a.value.interval}
    assert {name: [float(i.low), float(i.high)] for name, i in intervals.items()} == {
        "s": [0, 8],
        "m": [0, 8],
        "k": [-2, 16],
    }
    assert not open_values(plan.query)


def test_no_keys_at_all_are_an_answer_too() -> None:
    plan = priced(question()).completed_plan(Findings(FOUND.limits, FOUND.ends, ()))
    assert plan.query.cells == 0
    assert len(plan.columns) == 4


def test_limits_too_large_for_any_lattice_are_halved() -> None:
    found = priced(question(), epsilon=0.001)
    plan = found.completed_plan(Findings({"max_groups": 2**30, "max_rows": 2**30}, FOUND.ends, (("x",), ("y",))))
    assert 1 < plan.limits.max_rows < 2**30


def test_whole_numbers_keep_whole_bounds_within_their_own() -> None:
    asked = question()
    value = next(v for v in open_values(asked._query) if v.interval is not None and v.interval.integer)
    for low, high, wanted in ((0, 0.125, [0, 1]), (-(2**70), 2**70, [-(2**53), 2**53]), (0, 0, [0, 1])):
        interval = clipped(value, Fraction(low), Fraction(high)).interval
        assert interval is not None
        assert [float(interval.low), float(interval.high)] == wanted


def test_one_value_under_two_conditions_is_looked_at_once() -> None:
    found = priced(question())
    sizes = [histogram for histogram in found.histograms if histogram.subject is Subject.SIZE]
    assert [histogram.where for histogram in sizes] == [None, None]


def test_refusals() -> None:
    asked = question()
    with pytest.raises(InvalidQuery, match=r"delta above 0 for unknown keys(.|\n)*list the keys"):
        priced(asked, delta=0)
    with pytest.raises(InvalidParameter, match="delta from 0 to below 1"):
        priced(asked, delta=1)
    with pytest.raises(InvalidParameter, match="an epsilon"):
        priced(asked, epsilon=None)
    with pytest.raises(InvalidParameter, match="at most"):
        priced(asked, epsilon=2**30)
    with pytest.raises(InvalidParameter, match="delta of at least"):
        priced(asked, delta=Fraction(1, 2**200))
    known = plan_open_question(asked._query, Unspecified(None, frozenset({"max_rows"})), epsilon=1, delta=0.5)
    assert known.charge.delta == known.answering.delta == 0.5
    with pytest.raises(InvalidParameter, match="delta from 0"):
        plan_open_question(asked._query, Unspecified(), epsilon=1, delta=2)

"""What is said of a question with something open, before it is released, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.privacy.events import Composed
from discreet.query.open_question import OpenQuestion
from discreet.testing import people, visits


def table(**more: Any) -> Any:
    stated: dict[str, Any] = {"unit": "person", "budget": dp.Budget(epsilon=10, delta=1e-3), "name": "people"}
    return dp.protect(visits(), **(stated | {"bounds": {"visits": "auto"}, "max_rows": "auto"} | more))


def test_first_looks_are_told_before_anything_is_spent() -> None:
    asked = table().group_by("plan", keys=dp.UNKNOWN, max_groups=3).agg(s=_.visits.sum())
    assert repr(asked) == "<question about 'people': s by plan, of unknown keys>"
    facts = asked.explain(epsilon=1, delta=1e-6)
    assert [look["what"] for look in facts["first looks"]] == ["max_rows", "bounds of visits", "keys of plan"]
    assert [look["epsilon"] for look in facts["first looks"]] == ["0.05", "0.1", "0.425"]
    assert [look["delta"] for look in facts["first looks"]] == ["0", "0", "0.0000005"]
    assert facts["first looks"][2]["even chance"] == "51 units with one key each, 87 with 3"
    assert facts["groups"] == "those that are found, by plan"
    assert facts["limits"] == {"max_groups": 3, "max_rows": "auto"}
    assert facts["charge"] == {"epsilon": "1", "delta": "0.000001"}
    shown = repr(facts)
    assert "keys of plan" in shown
    assert "visits within auto" in shown
    assert "weighted selection" in facts._repr_html_()


def test_groups_say_that_their_keys_are_unknown() -> None:
    assert repr(table().group_by("plan", keys=dp.UNKNOWN, max_groups=3)).endswith("by plan: unknown keys>")
    assert repr(dp.UNKNOWN) == "dp.UNKNOWN"


def test_what_is_not_open_stays_an_ordinary_question() -> None:
    plain = people().group_by("plan").agg(n=_.count())
    assert not isinstance(plain, OpenQuestion)
    clipped = table(max_rows=2).agg(s=_.visits.clip(0, 20).sum())
    assert not isinstance(clipped, OpenQuestion)
    assert not isinstance(table(max_rows=2).agg(n=_.visits.count()), OpenQuestion)


def test_limits_that_are_found_say_so() -> None:
    asked = table(max_groups="auto").group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    look = asked.explain(epsilon=1, delta=1e-6)["first looks"][-1]
    assert (look["mechanism"], look["max_groups"]) == ("the better selection", "auto")
    assert look["even chance"].endswith("more with more keys")


def test_a_wanted_error_finds_the_epsilon_where_keys_alone_are_open() -> None:
    asked = table(max_rows=1).group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count())
    answer = asked.release(within={"n": 10}, delta=1e-6)
    assert 9.9 < float(answer.receipt["columns"][0]["plus_minus"]) <= 10
    with pytest.raises(InvalidQuery, match="are to be found"):
        table().agg(n=_.count()).release(within={"n": 10})
    with pytest.raises(InvalidParameter, match="got both"):
        asked.release(within={"n": 10}, epsilon=1, delta=1e-6)


def test_a_budget_counts_them() -> None:
    asked = table().group_by("plan", keys=dp.UNKNOWN, max_groups=3).agg(n=_.count())
    plan = asked.plan(epsilon=1, delta=1e-6)
    assert (plan.charge.epsilon, plan.charge.delta) == (1, Fraction(1, 10**6))
    assert isinstance(plan.event, Composed)
    assert len(plan.event.events) == 3
    assert dp.Budget(epsilon=3, delta=0.1).remaining_queries(asked, epsilon=1, delta=1e-6) == 3


REFUSED: list[tuple[Any, str]] = [
    (lambda t: t.group_by("plan", keys=dp.UNKNOWN), "max_groups=3"),
    (lambda t: t.group_by("visits", keys=dp.UNKNOWN, max_groups=1), "compare exactly"),
    (lambda t: t.group_by("plan", keys={"plan": dp.UNKNOWN}, max_groups=1), "keys=dp.UNKNOWN for all"),
    (lambda t: t.group_by("plan", keys="unknown", max_groups=1), "keys=dp.UNKNOWN"),
    (lambda t: t.group_by("plan", max_groups=1), "keys=dp.UNKNOWN"),
    (lambda t: t.group_by("plan", keys=dp.UNKNOWN, max_groups="some"), "write max_groups=5"),
    (lambda t: t.group_by("plan", keys=dp.UNKNOWN, max_groups=20_000), "at most 10,000"),
    (lambda t: t.agg(s=_.age.sum()), "'auto'"),
]


@pytest.mark.parametrize(("call", "cure"), REFUSED)
def test_refusals_name_a_cure(call: Any, cure: str) -> None:
    with pytest.raises(dp.DiscreetError) as caught:
        call(table()).agg(n=_.count())
    assert "Hint:" in str(caught.value)
    assert cure in str(caught.value)


def test_bounds_that_cannot_be_found() -> None:
    with pytest.raises(InvalidParameter, match=r"pair \(low, high\)"):
        table(bounds={"visits": "automatic"})
    with pytest.raises(InvalidParameter, match="numbers and dates"):
        table(bounds={"plan": "auto"})
    with pytest.raises(InvalidParameter, match="unit needs no bounds"):
        table(bounds={"person": "auto"})
    with pytest.raises(InvalidParameter, match="no max_rows"):
        table(unit=dp.ROW)

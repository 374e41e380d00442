"""A question: checked when it is made, priced when it is explained or released, charged before a row is read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ibis import _

import discreet as dp
from discreet.errors import BudgetExceeded, InvalidParameter, InvalidQuery
from discreet.ledger.budget import Budget
from discreet.privacy.events import Composed
from discreet.query.table import PrivateTable
from discreet.testing import people, visits

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]


def test_it_tells_what_it_asks(protect_people: Protect) -> None:
    table = protect_people()
    assert repr(table.group_by("plan").agg(n=_.count(), m=_.age.mean())) == "<question about 'people': n, m by plan>"
    assert repr(table.count()) == "<question about 'people': count>"


def test_the_epsilon_of_a_call_is_its_total(protect_people: Protect) -> None:
    table = protect_people()
    answer = table.group_by("plan").agg(n=_.count(), m=_.age.mean(), p=_.person.nunique()).release(epsilon=0.3)
    assert table.budget.spent.epsilon == Fraction(3, 10)
    assert answer.receipt["charge"] == {"epsilon": "0.3", "delta": "0"}
    assert sum(Fraction(block["epsilon"]) for block in answer.receipt["totals"]) == pytest.approx(0.3, abs=1e-5)
    assert answer.to_pyarrow().column_names == [
        "plan",
        "n",
        "n_low",
        "n_high",
        "m",
        "m_low",
        "m_high",
        "p",
        "p_low",
        "p_high",
    ]


def test_the_same_release_again_is_free(protect_people: Protect) -> None:
    table = protect_people()
    once = table.count().release(epsilon=0.5)
    again = table.count().release(epsilon=0.5)
    assert once["count"] == again["count"]
    assert table.budget.spent.epsilon == Fraction(1, 2)
    table.count().release(epsilon=0.5, fresh=True)
    assert table.budget.spent.epsilon == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "stated",
    [
        {"epsilon": 1, "confidence": 2},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "weights": {"other": 1}},
        {"epsilon": 1, "weights": {"count": float("inf")}},
        {"epsilon": 1, "weights": {"count": "1"}},
        {"epsilon": 1, "within": {"count": 3}},
        {"rho": 0.1, "within": {"count": 3}},
        {"rho": 0.1, "within": {"count": 3}, "up_to": 1},
        {"rho": 0.1, "epsilon": 1},
        {"rho": 0.1, "delta": 1e-6},
        {"rho": 0},
        {"rho": -1},
        {"rho": "0.1"},
        {"rho": float("nan")},
        {"rho": 2**40},
        {},
    ],
    ids=str,
)
def test_what_is_refused_is_not_charged(unreadable: Protect, refused: Refused, stated: dict[str, Any]) -> None:
    table = unreadable()
    refused(InvalidParameter, table.count().release, **stated)
    assert table.budget.spent.epsilon == 0


def test_what_does_not_fit_is_not_read(unreadable: Protect, refused: Refused) -> None:
    table = unreadable(budget=Budget(epsilon=1))
    refused(BudgetExceeded, table.count().release, epsilon=1.5)
    assert table.budget.spent.epsilon == 0


def test_the_engine_that_must_not_be_reached_would_be_noticed(unreadable: Protect) -> None:
    with pytest.raises(pytest.fail.Exception, match="rows were read"):
        unreadable().count().release(epsilon=1)


def test_huge_and_tiny_weights_leave_every_column_some_epsilon(protect_people: Protect) -> None:
    question = protect_people().agg(n=_.count(), s=_.spent.sum())
    for weights in ({"n": 10**400}, {"n": Fraction(1, 10**400)}, {"n": 1e308, "s": 5e-324}):
        shares = [block["share"] for block in question.explain(epsilon=1, weights=weights)["totals"]]
        assert all(Fraction(share) > 0 for share in shares)


def test_a_budget_in_rho_is_spent_to_its_end(protect_people: Protect, refused: Refused) -> None:
    """Whatever the roots in the noise are rounded to: what was stated is what is booked."""
    table = protect_people(budget=Budget(rho=0.3))
    asked = table.group_by("plan").agg(n=_.count(), m=_.age.mean(), p=_.person.nunique())
    assert table.budget.remaining_queries(asked, rho=0.1) == 3
    for _again in range(3):
        answer = asked.release(rho=0.1, fresh=True)
    assert answer.receipt["charge"] == {"rho": "0.1"}
    assert answer.receipt["concentrated"] == {"rho": "0.1", "delta": "0"}
    assert answer.receipt["guarantee"] == "0.1-zero-concentrated differential privacy for add-remove neighbors"
    assert all("epsilon" not in block for block in answer.receipt["totals"])
    assert (table.budget.spent.rho, table.budget.remaining.rho) == (Fraction(3, 10), Fraction(0))
    assert str(table.budget.spent) == "rho=0.3"
    refused(BudgetExceeded, asked.release, rho=0.0001)
    assert asked.release(rho=0.1)["n"].tolist() == answer["n"].tolist()  # the stored answer is free


def test_an_account_in_rho_shows_both_laws(protect_people: Protect) -> None:
    facts = protect_people().count().explain(rho=0.02)
    assert facts["charge"] == {"rho": "0.02"}
    assert facts["totals"][0]["mechanism"] == "rounded Gaussian"
    assert facts["totals"][0]["scale"] == "10"  # 2 rows over the root of 0.04
    [other] = facts["also priced"]
    assert (other["mechanism"], other["charge"]) == ("discrete Laplace", {"rho": "0.02"})
    assert "rho=0.02" in repr(facts)


def test_rho_counts_under_the_sum_of_rho_alone(protect_people: Protect, refused: Refused) -> None:
    table = protect_people(budget=Budget(epsilon=1, delta=1e-6))
    table.count().release(rho=0.001)
    assert "spent: epsilon=inf, delta=0, rho=0.001;" in repr(table.budget)
    assert table.budget.remaining.epsilon == 0
    table.count().release(epsilon=0.01)
    alone = protect_people(budget=Budget(epsilon=1))
    assert "sum of rho" in refused(BudgetExceeded, alone.count().release, rho=0.001)
    assert alone.budget.spent.epsilon == 0
    median = alone.agg(m=_.age.median()).release(rho=0.001)  # no Gaussian noise: epsilon describes it as well
    assert median.receipt["charge"] == {"rho": "0.001"}
    assert 0 < alone.budget.spent.epsilon < Fraction(1, 8)


def test_a_price_in_rho_is_another_question(protect_people: Protect) -> None:
    table = protect_people(budget=Budget(rho=10))
    keys = [table.agg(m=_.age.median()).release(rho=rho).receipt["release"] for rho in (0.1, 0.2, 0.1)]
    assert keys[0] == keys[2] != keys[1]


def test_what_is_found_or_reported_has_a_price_in_rho(unreadable: Protect) -> None:
    table = unreadable()
    assert table.agg(s=_.spent.sum()).explain(rho=0.1, report="clipped")["charge"] == {"rho": "0.1"}
    open_one = table.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count())
    assert open_one.explain(rho=0.1, delta=1e-6)["charge"] == {"rho": "0.1", "delta": "0.000001"}
    assert open_one.plan(rho=0.1, delta=1e-6).charge.rho == Fraction(1, 10)


def open_table(**more: Any) -> Any:
    stated: dict[str, Any] = {"unit": "person", "budget": dp.Budget(epsilon=10, delta=1e-3), "name": "people"}
    return dp.protect(visits(), **(stated | {"bounds": {"visits": "auto"}, "max_rows": "auto"} | more))


def test_first_looks_are_told_before_anything_is_spent() -> None:
    asked = open_table().group_by("plan", keys=dp.UNKNOWN, max_groups=3).agg(s=_.visits.sum())
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
    assert repr(open_table().group_by("plan", keys=dp.UNKNOWN, max_groups=3)).endswith("by plan: unknown keys>")
    assert repr(dp.UNKNOWN) == "dp.UNKNOWN"


def test_what_is_not_open_stays_an_ordinary_question() -> None:
    plain = people().group_by("plan").agg(n=_.count())
    assert not plain._is_open
    clipped = open_table(max_rows=2).agg(s=_.visits.clip(0, 20).sum())
    assert not clipped._is_open
    assert not open_table(max_rows=2).agg(n=_.visits.count())._is_open


def test_limits_that_are_found_say_so() -> None:
    asked = open_table(max_groups="auto").group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    look = asked.explain(epsilon=1, delta=1e-6)["first looks"][-1]
    assert (look["mechanism"], look["max_groups"]) == ("the better selection", "auto")
    assert look["even chance"].endswith("more with more keys")


def test_a_wanted_error_finds_the_epsilon_where_keys_alone_are_open() -> None:
    asked = open_table(max_rows=1).group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count())
    answer = asked.release(within={"n": 10}, delta=1e-6)
    assert 9.9 < float(answer.receipt["columns"][0]["plus_minus"]) <= 10
    with pytest.raises(InvalidQuery, match="are to be found"):
        open_table().agg(n=_.count()).release(within={"n": 10})
    with pytest.raises(InvalidParameter, match="got both"):
        asked.release(within={"n": 10}, epsilon=1, delta=1e-6)


def test_a_budget_counts_them() -> None:
    asked = open_table().group_by("plan", keys=dp.UNKNOWN, max_groups=3).agg(n=_.count())
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
        call(open_table()).agg(n=_.count())
    assert "Hint:" in str(caught.value)
    assert cure in str(caught.value)


def test_bounds_that_cannot_be_found() -> None:
    with pytest.raises(InvalidParameter, match=r"pair \(low, high\)"):
        open_table(bounds={"visits": "automatic"})
    with pytest.raises(InvalidParameter, match="numbers and dates"):
        open_table(bounds={"plan": "auto"})
    with pytest.raises(InvalidParameter, match="unit needs no bounds"):
        open_table(bounds={"person": "auto"})
    with pytest.raises(InvalidParameter, match="no max_rows"):
        open_table(unit=dp.ROW)

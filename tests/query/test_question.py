"""A question: checked when it is made, priced when it is explained or released, charged before a row is read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from ibis import _

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.ledger.budget import Budget
from discreet.query.table import PrivateTable

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


@pytest.mark.parametrize(
    "stated",
    [
        {"epsilon": 1, "confidence": 2},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "weights": {"other": 1}},
        {"epsilon": 1, "weights": {"count": float("inf")}},
        {"epsilon": 1, "weights": {"count": "1"}},
        {"epsilon": 1, "within": {"count": 3}},
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

"""Several questions are one charge: taken first, never exceeded, answered once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet.curator.composite_release import Work, together
from discreet.errors import EngineError
from discreet.ledger.ledger import stated_guarantee
from discreet.noise.entropy import RandomWords
from discreet.planning.planner import price
from discreet.query.table import PrivateTable
from discreet.testing import people
from nested_calls import nested_calls_left


def work(table: PrivateTable, **parameters: Any) -> Work:
    return Work(what="two counts", parameters=parameters, example=price(table.count()._query, epsilon=1))


def two_counts(table: PrivateTable, words: RandomWords) -> Mapping[str, Any]:
    del words
    found = [table.count().release(epsilon=part, fresh=True)["count"] for part in (1, 2)]
    return {"counts": [int(count[0]) for count in found]}


def test_the_parts_are_paid_by_the_whole() -> None:
    table = people()
    found = together(table, work(table), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False)
    assert len(found["answer"]["counts"]) == 2
    assert found["receipt"]["charge"] == {"epsilon": "3", "delta": "0"}
    assert found["receipt"]["private"] is False
    [entry] = table.budget.entries()
    assert (entry.what, entry.guarantee.epsilon) == ("two counts", Fraction(3))


def test_a_repeat_is_free_and_other_work_is_not() -> None:
    table = people()
    first = together(table, work(table), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False)
    assert together(table, work(table), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False) == first
    assert table.budget.spent.epsilon == 3
    together(table, work(table, other=1), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False)
    together(table, work(table), price=stated_guarantee(Fraction(4)), run=two_counts, fresh=False)
    assert table.budget.spent.epsilon == 10


def test_more_than_the_whole_is_never_spent() -> None:
    """Not as BudgetExceeded, which says that nothing was spent: the whole was, and has no answer."""
    table = people()
    with pytest.raises(EngineError, match="the charge stays spent"):
        together(table, work(table), price=stated_guarantee(Fraction(2)), run=two_counts, fresh=False)
    assert table.budget.spent.epsilon == 2


def test_what_does_not_fit_is_not_begun() -> None:
    def never(table: PrivateTable, words: RandomWords) -> Mapping[str, Any]:
        raise AssertionError(table, words)

    table = people()
    with pytest.raises(dp.BudgetExceeded):
        together(table, work(table), price=stated_guarantee(Fraction(11)), run=never, fresh=False)
    assert table.budget.spent.epsilon == 0


def test_a_failure_stays_paid() -> None:
    def failing(table: PrivateTable, words: RandomWords) -> Mapping[str, Any]:
        raise EngineError(str((table, words)))

    table = people()
    with pytest.raises(EngineError):
        together(table, work(table), price=stated_guarantee(Fraction(1)), run=failing, fresh=False)
    [entry] = table.budget.entries()
    assert not entry.answered


@pytest.mark.long
def test_a_whole_without_room_for_the_calls_of_its_parts_costs_nothing() -> None:
    """Its parts are releases as well, and were refused once it was charged."""
    answered = 0
    for room in range(200, 700, 12):
        table = people()
        try:
            with nested_calls_left(room):
                together(table, work(table), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False)
        except Exception:  # noqa: BLE001 (before the charge, Ibis may fail in any way)
            assert not table.budget.spent.epsilon, room
        else:
            answered += 1
    assert answered


def test_other_tables_are_refused() -> None:
    table = people()
    with pytest.raises(dp.InvalidParameter, match="a protected table"):
        together("people", work(table), price=stated_guarantee(Fraction(1)), run=two_counts, fresh=False)  # type: ignore[arg-type]  # the refusal is the test


def test_a_whole_at_a_rho_has_the_epsilon_that_it_pays_for() -> None:
    table = people()
    stated = stated_guarantee(None, rho=Fraction(9, 2))
    found = together(table, work(table), price=stated, run=two_counts, fresh=False)
    assert found["receipt"]["charge"] == {"rho": "4.5"}
    assert found["receipt"]["guarantee"].startswith("4.5-zero-concentrated differential privacy for ")
    [entry] = table.budget.entries()
    assert (entry.guarantee.epsilon, entry.rho) == (Fraction(3), Fraction(9, 2))
    other = together(table, work(table), price=stated_guarantee(Fraction(3)), run=two_counts, fresh=False)
    assert other["receipt"]["release"] != found["receipt"]["release"]

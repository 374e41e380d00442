from __future__ import annotations

import threading
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.service.job_budgets import Paying, PricedCharge, Pricing, Repeating, acting_as, asked_in_jobs
from discreet.testing.example_tables import people


def priced(question: Any, stored: Any = lambda _: None) -> Any:
    with pytest.raises(PricedCharge) as found, acting_as(Pricing(stored)):
        question.release(epsilon=1)
    return found.value.charge


def test_pricing_finds_the_charge_and_makes_none() -> None:
    table = people()
    charge = priced(asked_in_jobs(table).count())
    assert (charge.what, str(charge.guarantee)) == ("count (count)", "epsilon=1")
    assert table.budget.spent.epsilon == 0


def test_pricing_does_not_wait_for_who_asks_the_same() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    looking, priced_meanwhile = threading.Event(), threading.Event()
    paying = Paying(table.budget, table.budget.stored, who="ada", own=False)
    reserve = paying.reserve

    def slow(charge: Any) -> Any:
        looking.set()
        assert priced_meanwhile.wait(30)
        return reserve(charge)

    paying.reserve = slow  # type: ignore[method-assign]  # a look that takes long

    def pay() -> None:
        with acting_as(paying):
            question.release(epsilon=1)

    other = threading.Thread(target=pay)
    other.start()
    assert looking.wait(30)

    def price() -> None:
        priced(question, table.budget.stored)
        priced_meanwhile.set()

    waiting = threading.Thread(target=price)
    waiting.start()
    waiting.join(20)
    ended = priced_meanwhile.is_set()
    priced_meanwhile.set()
    other.join(30)
    assert ended


def test_a_job_is_charged_once() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    paying = Paying(table.budget, lambda _: None, who="ada", own=False)
    with acting_as(paying):
        question.release(epsilon=1)
        with pytest.raises(LedgerError, match="one charge for a job"):
            question.release(epsilon=2)
    assert table.budget.spent.epsilon == 1


def test_an_answer_is_shown_again_without_a_charge() -> None:
    table = people()
    question = asked_in_jobs(table).group_by("plan").agg(n=lambda t: t.count())
    paying = Paying(table.budget, table.budget.stored, who="ada", own=False)
    with acting_as(paying):
        first = question.release(epsilon=1)
    assert paying.answer is not None
    with acting_as(Repeating(paying.answer[1])):
        assert question.release(epsilon=1).to_pyarrow().equals(first.to_pyarrow())
    with pytest.raises(LedgerError, match="an answer on record"), acting_as(Repeating(None)):
        question.release(epsilon=1)
    assert table.budget.spent.epsilon == 1


def test_a_table_of_jobs_answers_in_jobs_alone() -> None:
    with pytest.raises(LedgerError, match="a job"):
        asked_in_jobs(people()).count().release(epsilon=1)

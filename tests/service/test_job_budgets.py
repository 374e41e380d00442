from __future__ import annotations

import threading
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

import discreet as dp
from discreet.errors import LedgerError
from discreet.service.job_budgets import Prepaid, PricedCharge, Pricing, Repeating, acting_as, asked_in_jobs, paid_for
from discreet.service.service_errors import Conflict
from discreet.testing.example_tables import people, visits


def priced(question: Any) -> Any:
    with pytest.raises(PricedCharge) as found, acting_as(Pricing()):
        question.release(epsilon=1)
    return found.value.charge


def prepaid(table: Any, question: Any) -> Prepaid:
    charge = priced(question)
    entry = paid_for(table.budget, charge, "ada")
    job = SimpleNamespace(release=charge.key, entry=entry, accepted=0.0)
    return Prepaid(table.budget, job=job)


def test_a_charge_pays_for_no_other_release() -> None:
    """Not for one of another price, question or version."""
    table = people()
    asked = asked_in_jobs(table)
    older = asked.filter(asked.age > 30)
    for other, epsilon in ((asked.count(), 2), (older.count(), 1)):
        acting = prepaid(table, asked.count())
        with pytest.raises(LedgerError, match="the release that was accepted"), acting_as(acting):
            other.release(epsilon=epsilon)
        assert (acting.paid, acting.answer) == (False, None)


def test_pricing_finds_the_charge_and_makes_none() -> None:
    table = people()
    charge = priced(asked_in_jobs(table).count())
    assert (charge.what, str(charge.guarantee)) == ("count (count)", "epsilon=1")
    assert table.budget.spent.epsilon == 0


def test_pricing_does_not_wait_for_who_asks_the_same() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    looking, priced_meanwhile = threading.Event(), threading.Event()
    acting = prepaid(table, question)
    reserve = acting.reserve

    def slow(charge: Any) -> Any:
        looking.set()
        assert priced_meanwhile.wait(30)
        return reserve(charge)

    acting.reserve = slow  # type: ignore[method-assign]  # a look that takes long

    def pay() -> None:
        with acting_as(acting):
            question.release(epsilon=1)

    def price() -> None:
        priced(question)
        priced_meanwhile.set()

    other = threading.Thread(target=pay)
    other.start()
    assert looking.wait(30)
    waiting = threading.Thread(target=price)
    waiting.start()
    waiting.join(20)
    ended = priced_meanwhile.is_set()
    priced_meanwhile.set()
    other.join(30)
    assert ended


def test_pricing_does_not_wait_for_the_connection() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # what a look holds meanwhile
    ended = threading.Event()

    def price() -> None:
        priced(question)
        ended.set()

    with engine._lock.held():
        waiting = threading.Thread(target=price)
        waiting.start()
        in_time = ended.wait(30)
    waiting.join(30)
    assert in_time


def test_a_job_has_one_charge() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    acting = prepaid(table, question)
    assert table.budget.spent.epsilon == 1
    with acting_as(acting):
        question.release(epsilon=1)
        with pytest.raises(LedgerError, match="one charge for a job"):
            question.release(epsilon=1, fresh=True)
        with pytest.raises(LedgerError, match="the release that was accepted"):
            question.release(epsilon=2)
    assert table.budget.spent.epsilon == 1
    (entry,) = table.budget.entries()
    assert (entry.answered, entry.asked_by) == (True, "ada")


def test_a_charge_is_for_the_ledger_that_has_it() -> None:
    table, other = people(), people()
    question = asked_in_jobs(table).count()
    job = prepaid(table, question)._job
    with (
        pytest.raises(LedgerError, match="the ledger of the charge"),
        acting_as(Prepaid(other.budget, job=job)),
    ):
        question.release(epsilon=1)
    assert not table.budget.entries()[0].answered


def test_a_receipt_is_dated_by_its_acceptance() -> None:
    table = people()
    question = asked_in_jobs(table).count()
    acting = prepaid(table, question)
    with acting_as(acting):
        question.release(epsilon=1)
    assert acting.answer is not None
    assert table.budget.stored(acting.answer[0]) == acting.answer[1]
    with acting_as(Repeating(acting.answer[1], acting.answer[0])):
        assert question.release(epsilon=1).receipt["time"] == "1970-01-01T00:00:00+00:00"


def test_receipts_of_parts_are_dated_by_its_acceptance() -> None:
    table = dp.protect(
        visits(), unit="person", bounds={"age": "auto"}, max_groups=1, max_rows=5, budget=dp.Budget(epsilon=1)
    )
    asked = asked_in_jobs(table)
    question = dp.batch(whole=asked.count(), years=asked.agg(s=lambda t: t.age.sum()))
    acting = prepaid(table, question)
    with acting_as(acting):
        question.release(epsilon=1)
    assert acting.answer is not None
    assert f"{datetime.now(UTC).year}-" not in acting.answer[1].decode()
    with acting_as(Repeating(acting.answer[1], acting.answer[0])):
        answer = question.release(epsilon=1)
    dates = {answer.receipt["time"], *(one.receipt["time"] for one in answer.values())}
    assert dates == {"1970-01-01T00:00:00+00:00"}


def test_an_answer_is_shown_again_without_a_charge() -> None:
    table = people()
    question = asked_in_jobs(table).group_by("plan").agg(n=lambda t: t.count())
    acting = prepaid(table, question)
    with acting_as(acting):
        first = question.release(epsilon=1)
    assert acting.answer is not None
    with acting_as(Repeating(acting.answer[1], acting.answer[0])):
        assert question.release(epsilon=1).to_pyarrow().equals(first.to_pyarrow())
    with pytest.raises(LedgerError, match="an answer on record"), acting_as(Repeating(None, acting.answer[0])):
        question.release(epsilon=1)
    with pytest.raises(Conflict), acting_as(Repeating(acting.answer[1], acting.answer[0])):
        question.release(epsilon=2)
    assert table.budget.spent.epsilon == 1


def test_a_table_of_jobs_answers_in_jobs_alone() -> None:
    with pytest.raises(LedgerError, match="a job"):
        asked_in_jobs(people()).count().release(epsilon=1)

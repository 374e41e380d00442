"""One question that is asked several times at once: one charge, and one answer for all who may share it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, LedgerError
from discreet.service.data_sets import DataSet, Policy, Seen
from discreet.service.job_records import FREE, Job
from discreet.service.service import Service, Settings
from discreet.service.state_store import StateStore
from service_fixtures import MEMBERS, Clock, ask, data_set, finished, service_in, together, wait_until_ended

TRIES = 8


def on_one_state(opened: Callable[[], StateStore], clock: Clock, people: DataSet) -> list[Service]:
    """The services of two processes."""
    services = [Service(opened(), [people], Settings(clock=clock, jobs_at_once=TRIES)) for _ in range(2)]
    for name, role in MEMBERS.items():
        services[0].members.give(name, "people", role)
    return services


def before(service: Service, monkeypatch: pytest.MonkeyPatch, step: str, work: Callable[[str], object]) -> None:
    """Has something done before a step of the service's desk, each time, with who asks."""
    own = getattr(service._desk, step)

    def stepped(asking: Any, *given: Any) -> Any:
        work(asking.who)
        return own(asking, *given)

    monkeypatch.setattr(service._desk, step, stepped)


@pytest.mark.parametrize("seen", Seen)
@pytest.mark.parametrize("epsilon", [9, 0.2])
def test_one_question_that_is_sent_at_once_is_charged_once(
    opened: Callable[[], StateStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: Seen, epsilon: float
) -> None:
    """To each of two analysts, or to one for both; without a key, to two processes, and where no more would fit."""
    clock = Clock()
    people = data_set("people", tmp_path, epsilon=epsilon, policy=Policy(cache=seen))
    services = on_one_state(opened, clock, people)
    gun, jobs = threading.Barrier(TRIES), dict[str, list[Job]](ada=[], bob=[])
    for service in services:
        before(service, monkeypatch, "check", lambda _: gun.wait(30))  # nobody is accepted before all have looked
        before(service, monkeypatch, "charge", lambda _: time.sleep(0.3))

    def submit(number: int) -> None:
        who = ("ada", "bob")[number // 2 % 2]
        service = services[number % 2]
        jobs[who].append(service.submit(service.members.principal(who), ask()))

    assert together(TRIES, submit) == {"accepted": TRIES}
    answers = []
    for who, own in jobs.items():
        for job in own:
            assert finished(services[0], services[0].members.principal(who), job.id, clock) == "ready"
            answers.append(services[1]._book.answer(job.id))
    charges = 1 if seen is Seen.ALL else 2
    assert len(people.budget.entries()) == len(set(answers)) == charges
    assert [job.cost != FREE for own in jobs.values() for job in own].count(True) == charges
    for service in services:
        service.close()


def test_a_fresh_answer_is_charged_though_others_are_being_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, people = Clock(), data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    before(service, monkeypatch, "charge", lambda _: time.sleep(0.2))
    ada = service.members.principal("ada")
    assert together(3, lambda _: service.submit(ada, ask(fresh=True))) == {"accepted": 3}
    assert len(people.budget.entries()) == 3
    service.close()


def test_who_repeats_a_job_whose_charge_is_refused_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither waits for ever, and both may ask again."""
    clock, people = Clock(), data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    repeats = list[Job]()

    def refuse(_: str) -> None:
        if not repeats:
            repeats.append(service.submit(bob, ask(), "key"))
            raise BudgetExceeded("as if another charge had come first")

    before(service, monkeypatch, "charge", refuse)
    with pytest.raises(BudgetExceeded):
        service.submit(ada, ask(), "key")
    assert (repeats[0].cost, repeats[0].state) == (FREE, "accepted")
    assert finished(service, bob, repeats[0].id, clock) == "failed"
    assert clock.now == repeats[0].ready_at
    assert service.job(bob, repeats[0].id).failure == "budget_exceeded"
    assert not people.budget.entries()
    again = service.submit(ada, ask(), "key")
    assert finished(service, ada, again.id, clock) == "ready"
    assert service.submit(bob, ask()).cost == FREE
    assert len(people.budget.entries()) == 1
    service.close()


@pytest.mark.parametrize("end", ["open", "ready", "failed"])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_what_is_charged_while_another_is_checked_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, epsilon: str
) -> None:
    """Also where it is shown by then, unless as failed, and where it took all that was left."""
    clock, people = Clock(), data_set("people", tmp_path, epsilon=2)
    service = service_in(tmp_path, clock, people)
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    asked = ask(epsilon="2" if epsilon == "1" else epsilon)
    if end == "failed":
        monkeypatch.setattr("discreet.service.question_desk.Prepaid", None)

    def first(who: str) -> None:
        if who == "bob":
            job = service.submit(ada, asked).id
            if end != "open":
                assert finished(service, ada, job, clock) == end
            monkeypatch.undo()

    before(service, monkeypatch, "check", first)
    if end == "failed" and epsilon == "1":
        with pytest.raises(BudgetExceeded):
            service.submit(bob, asked)
    else:
        job = service.submit(bob, asked)
        assert (job.cost == FREE) == (end != "failed")
        assert finished(service, bob, job.id, clock) == "ready"
    assert len(people.budget.entries()) == 1 + (end == "failed" and epsilon != "1")
    service.close()


@pytest.mark.parametrize("step", ["_book.accept", "_desk.charge", "_book.charged"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_whatever_fails_amid_a_charge_ends_the_job_and_who_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    """Such as files that can be opened no more: nobody waits for the next start of the service."""
    clock, people = Clock(), data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    place, name = step.split(".")
    own = getattr(getattr(service, place), name)

    def fails(*given: Any, **more: Any) -> Any:
        monkeypatch.undo()
        if when == "after":
            own(*given, **more)
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(getattr(service, place), name, fails)
    with suppress(OSError, LedgerError):
        service.submit(ada, ask(), "key")
    for who in (ada, bob):
        job = service.submit(who, ask(), "key")
        assert finished(service, who, job.id, clock) in {"ready", "failed"}
    assert len(people.budget.entries()) == 1 + (step == "_desk.charge" and when == "after")
    service.close()


def test_a_kill_amid_a_charge_ends_the_job_and_who_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    service._runner.stop()
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))

    def killed(_: str) -> None:
        raise KeyboardInterrupt

    before(service, monkeypatch, "charge", killed)
    with pytest.raises(KeyboardInterrupt):
        service.submit(ada, ask())
    repeat = service.submit(bob, ask())
    assert repeat.cost == FREE
    service._store.close()
    service = service_in(tmp_path, clock)
    wait_until_ended(service, repeat.id)
    assert finished(service, bob, repeat.id, clock) == "failed"
    again = service.submit(bob, ask())
    assert finished(service, bob, again.id, clock) == "ready"
    service.close()

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded
from discreet.service.answer_timing import State
from discreet.service.service import Service
from discreet.service.service_errors import Conflict, Forbidden, Late, OverLimit
from service_fixtures import COUNT, Clock, ask, data_set, finished, service_in, wait_until_ended


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock)
    yield made
    made.close()


def test_an_answer_leaves_at_its_moment_and_is_a_release(service: Service, clock: Clock) -> None:
    ada = service.members.principal("ada")
    job = service.submit(ada, ask())
    assert (job.state, job.cost, job.ready_at) == (State.ACCEPTED, {"epsilon": "0.1", "delta": "0"}, clock.now + 1)
    wait_until_ended(service, job.id)
    assert service.job(ada, job.id) == job
    with pytest.raises(Late):
        service.answer(ada, job.id)
    assert finished(service, ada, job.id, clock) is State.READY
    answer = service.answer(ada, job.id)
    assert answer.to_pyarrow().column_names == ["n", "n_low", "n_high"]
    assert answer.receipt["charge"] == {"epsilon": "0.1", "delta": "0"}
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"


def test_explaining_costs_nothing(service: Service) -> None:
    ada = service.members.principal("ada")
    found = service.explain(ada, ask())
    assert (found["dataset"], found["charge"]["epsilon"], found["columns"][0]["name"]) == ("people", "0.1", "n")
    assert "sql" not in found
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0"


def test_the_same_ask_is_answered_from_the_record_at_the_same_moments(service: Service, clock: Clock) -> None:
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    first = service.submit(ada, ask())
    finished(service, ada, first.id, clock)
    second = service.submit(bob, ask())
    assert (second.cost["epsilon"], second.state, second.ready_at - second.accepted_at) == ("0", State.ACCEPTED, 1)
    finished(service, bob, second.id, clock)
    assert service.answer(bob, second.id)["n"] == service.answer(ada, first.id)["n"]
    assert service.job(bob, second.id).paid is False
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"


def test_fresh_answers_are_drawn_and_paid_anew_and_each_job_keeps_its_own(service: Service, clock: Clock) -> None:
    ada = service.members.principal("ada")
    jobs = [service.submit(ada, ask(fresh=True)).id for _ in range(3)]
    for job in jobs:
        finished(service, ada, job, clock)
    answers = [service.answer(ada, job) for job in jobs]
    assert len({answer.receipt["time"] + str(answer["n"]) for answer in answers}) > 1
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.3"
    service._desk._answers._held.clear()
    assert [service.answer(ada, job)["n"] for job in jobs] == [answer["n"] for answer in answers]


def test_a_key_stands_for_one_ask(service: Service, clock: Clock) -> None:
    ada = service.members.principal("ada")
    first = service.submit(ada, ask(fresh=True), "key")
    finished(service, ada, first.id, clock)
    again = service.submit(ada, ask(fresh=True), "key")
    assert (again.id, again.state) == (first.id, State.READY)
    with pytest.raises(Conflict):
        service.submit(ada, ask(epsilon="0.2"), "key")
    other = service.submit(service.members.principal("bob"), ask(epsilon="0.2"), "key")
    assert other.id != first.id


def test_an_exhausted_budget_is_refused_before_anything_is_accepted(service: Service) -> None:
    ada = service.members.principal("ada")
    with pytest.raises(BudgetExceeded, match="what remains of data set 'people'"):
        service.submit(ada, ask(epsilon="1.1"))
    assert service.questions(ada, "people") == []


def test_too_many_at_once_are_refused(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_in(tmp_path, clock)
    ada = service.members.principal("ada")
    monkeypatch.setattr(service._book, "busy", lambda _: 8)
    with pytest.raises(OverLimit):
        service.submit(ada, ask())
    service.close()


def held_back(service: Service, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Looks that end when the event is set."""
    going, run = threading.Event(), service._desk.run

    def slow(asking: Any, job: Any) -> Any:
        assert going.wait(60)
        return run(asking, job)

    monkeypatch.setattr(service._desk, "run", slow)
    return going


def seen_by(service: Service, name: str, jobs: list[str]) -> Any:
    """All that a principal is shown at one moment."""
    principal = service.members.principal(name)
    shown = [service.job(principal, job) for job in jobs] if name == "ada" else []
    log = service.entries(principal, "people") if name == "dora" else []
    rest = (service.budget(principal, "people"), service.questions(principal, "people"), service.counts())
    return shown, log, rest, service._book.busy("ada")


def test_nothing_that_is_shown_tells_when_looks_end(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    going = held_back(service, monkeypatch)
    asks = [ask(epsilon=f"0.{number}") for number in (1, 2, 3)]
    jobs = [service.submit(ada, one).id for one in asks]
    jobs.append(service.submit(ada, ask(fresh=True)).id)
    before = [seen_by(service, name, jobs) for name in ("ada", "bob", "cleo", "dora")]
    repeated = service.submit(bob, asks[0])
    going.set()
    for job in (*jobs, repeated.id):
        wait_until_ended(service, job)
    again = service.submit(bob, asks[0])
    assert (repeated.cost, repeated.state, repeated.ready_at) == (again.cost, again.state, again.ready_at)
    service._store.write(lambda execute: execute("DELETE FROM job WHERE id IN (?, ?)", repeated.id, again.id))
    after = [seen_by(service, name, jobs) for name in ("ada", "bob", "cleo", "dora")]
    assert [one[:2] for one in before] == [one[:2] for one in after]
    assert [one[2][:2] for one in before] == [one[2][:2] for one in after]
    assert before[0][3] == after[0][3] == len(jobs)
    clock.now += len(jobs)  # one after the other, as far as anybody is told
    assert service._book.busy("ada") == 0


def test_who_asks_what_is_being_answered_pays_nothing_and_has_that_answer(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    going = held_back(service, monkeypatch)
    first = service.submit(ada, ask())
    second = service.submit(bob, ask())
    assert (first.cost["epsilon"], second.cost["epsilon"]) == ("0.1", "0")
    going.set()
    finished(service, ada, first.id, clock)
    finished(service, bob, second.id, clock)
    assert service.answer(ada, first.id)["n"] == service.answer(bob, second.id)["n"]
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"


def test_a_name_of_another_data_set_is_no_name(tmp_path: Path, clock: Clock) -> None:
    service = service_in(tmp_path, clock, data_set("people", tmp_path), data_set("secret", tmp_path))
    ada = service.members.principal("ada")
    texts = []
    for name in ("secret", "absent"):
        with pytest.raises(Exception, match="Expected a known table") as refusal:
            service.explain(ada, ask(COUNT.replace("people", name)))
        texts.append(str(refusal.value).replace(name, "x"))
        with pytest.raises(Forbidden):
            service.dataset(ada, name)
    assert texts[0] == texts[1]
    service.close()


def test_questions_are_the_own_ones_or_all_by_role(service: Service) -> None:
    ada, bob, cleo = (service.members.principal(name) for name in ("ada", "bob", "cleo"))
    service.submit(ada, ask())
    assert [one["who"] for one in service.questions(cleo, "people")] == ["ada"]
    assert service.questions(bob, "people") == []

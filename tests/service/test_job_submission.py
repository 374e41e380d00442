"""What is accepted when, and whose answer it is given: nothing of it tells when a look ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.ledger.budget import Budget
from discreet.ledger.database_ledger import DatabaseLedger
from discreet.service.answer_timing import Pace
from discreet.service.data_sets import DataSet, Policy, Seen
from discreet.service.jobs import JobBook
from discreet.service.roles import Role
from discreet.service.service import Service, Settings
from discreet.service.service_errors import Conflict, OverLimit
from discreet.service.state_store import StateStore, sqlite_file
from service_fixtures import COUNT, Clock, ask, data_set, finished, service_in, together, wait_until_ended

OLD = "SELECT COUNT(*) AS n FROM people WHERE age > 30"
LONG = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"
PACE = Pace(least=1, per_thousand_cells=1000)
"""A first step of 2 s for a count, and of 4 s for one by plan."""


class Looks:
    """The looks of a service, each of which ends when it is let go."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        self._service = service
        self._going: dict[str, threading.Event] = {}
        run = service._desk.run

        def held(asking: Any, job: Any) -> Any:
            assert self._of(job.id).wait(60)
            return run(asking, job)

        monkeypatch.setattr(service._desk, "run", held)

    def _of(self, job: str) -> threading.Event:
        return self._going.setdefault(job, threading.Event())

    def end(self, *jobs: str) -> None:
        for job in jobs:
            self._of(job).set()
            wait_until_ended(self._service, job)


def submitted(service: Service, who: str, **asked: Any) -> str:
    return service.submit(service.members.principal(who), ask(**asked)).id


def paced(folder: Path, **more: Any) -> DataSet:
    return replace(data_set("people", folder, **more), pace=PACE)


Told = list[tuple[float, list[Any]]]


def told(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    asks: Mapping[float, tuple[str, dict[str, Any]]],
    ends: list[float],
) -> Told:
    """What is shown of jobs at all moments, those that are asked at some and whose looks end at others, in turn."""
    folder.mkdir()
    clock = Clock(0.0)
    service = service_in(folder, clock, paced(folder))
    looks, jobs, shown = Looks(service, monkeypatch), list[tuple[str, str]](), Told()
    for moment in sorted({*asks, *ends, *(half / 2 for half in range(80))}):
        clock.now = moment
        if moment in asks:
            who, asked = asks[moment]
            jobs.append((who, submitted(service, who, **asked)))
        for number, end in enumerate(ends):
            if end == moment:
                looks.end(jobs[number][1])
        views = [service.job(service.members.principal(who), job) for who, job in jobs]
        if moment * 2 == int(moment * 2):
            shown.append((moment, [(one.state, one.ready_at, one.cost, one.paid, one.failure) for one in views]))
    service.close()
    return shown


def test_a_job_behind_a_long_one_does_not_tell_when_that_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = {0.0: ("ada", {"sql": LONG}), 2.5: ("ada", {})}
    early = told(tmp_path / "a", monkeypatch, asks, [2.6, 2.7])
    late = told(tmp_path / "b", monkeypatch, asks, [3.9, 5.8])
    assert early == late
    assert [(str(state), moment) for state, moment, *_ in early[-1][1]] == [("ready", 4.0), ("ready", 6.0)]


def test_a_job_behind_a_late_one_does_not_tell_when_that_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = {0.0: ("ada", {"sql": LONG}), 2.5: ("ada", {})}
    early = told(tmp_path / "a", monkeypatch, asks, [4.3, 4.4])
    late = told(tmp_path / "b", monkeypatch, asks, [7.8, 7.9])
    assert early == late
    assert [moment for _, moment, *_ in early[-1][1]] == [8.0, 10.0]


def test_a_job_behind_one_that_was_shown_long_ago_does_not_tell_when_that_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are late; the second one's look takes 8.25 seconds."""
    asks = {0.0: ("ada", {}), 0.5: ("ada", {"sql": OLD})}
    early = told(tmp_path / "a", monkeypatch, asks, [2.25, 10.5])
    late = told(tmp_path / "b", monkeypatch, asks, [3.75, 12.0])
    assert early == late
    assert early[-1][1][0][1] == 4.0


def test_how_long_a_repeat_takes_to_be_accepted_does_not_depend_on_an_answer_that_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing reads it, however large it is."""
    clock = Clock()
    service = service_in(tmp_path, clock)
    job = submitted(service, "ada")
    wait_until_ended(service, job)
    size = len(service._book.answer(job) or b"")
    read: list[int] = []
    for kind, name in ((DatabaseLedger, "answer_to"), (DatabaseLedger, "latest"), (JobBook, "answer")):
        monkeypatch.setattr(kind, name, lambda *_: read.append(size))
    repeat = submitted(service, "bob")
    assert service.job(service.members.principal("bob"), repeat).cost["epsilon"] == "0"
    assert read == []
    service.close()


def test_a_repeat_of_what_is_shown_is_not_kept_waiting_by_who_asks_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    finished(service, ada, submitted(service, "ada"), clock)
    looks = Looks(service, monkeypatch)
    anew = [submitted(service, "ada", fresh=True) for _ in range(4)]
    repeat = service.submit(bob, ask())
    assert repeat.ready_at == clock.now + 1
    clock.now += 1
    assert service.job(bob, repeat.id).state == "ready"
    assert service._store.read("SELECT answer FROM job WHERE id = ?", repeat.id) == [(None,)]  # it is on record once
    looks.end(*anew)
    service.close()


def test_open_jobs_of_a_ledger_that_was_moved_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    looks = Looks(service, monkeypatch)
    looks.end(submitted(service, "ada"))
    service.close()
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "people.db").rename(moved / "people.db")
    (tmp_path / "state.db").rename(moved / "state.db")
    service = service_in(moved, clock)
    dora = service.members.principal("dora")
    assert [entry["answered"] for entry in service.entries(dora, "people")] == [False]
    assert service.submit(service.members.principal("bob"), ask()).cost["epsilon"] == "0"
    service.close()


def test_what_is_open_is_found_without_a_look_at_what_is_over(tmp_path: Path) -> None:
    """A principal's history is as long as they have been asking; an index has what is not shown as ended."""
    service = service_in(tmp_path, Clock())
    of_principal = service._store.read("EXPLAIN QUERY PLAN SELECT start FROM job WHERE principal = 'a' AND shown > 1.0")
    of_release = service._store.read("EXPLAIN QUERY PLAN SELECT start FROM job WHERE release = 'a' AND shown > 1.0")
    assert ("job_open" in str(of_principal), "job_repeated" in str(of_release)) == (True, True)
    service.close()


def test_a_repeat_is_shown_when_what_it_repeats_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks: dict[float, tuple[str, dict[str, Any]]] = {0.0: ("ada", {}), 1.5: ("bob", {})}
    early = told(tmp_path / "a", monkeypatch, asks, [2.2])
    late = told(tmp_path / "b", monkeypatch, asks, [3.9])
    assert early == late
    assert [(moment, paid) for _, moment, _, paid, _ in early[-1][1]] == [(4.0, True), (5.5, False)]


def test_a_repeat_of_what_is_shown_waits_for_no_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.0)
    service = service_in(tmp_path, clock, paced(tmp_path))
    ada = service.members.principal("ada")
    finished(service, ada, submitted(service, "ada"), clock)
    looks = Looks(service, monkeypatch)
    long = submitted(service, "ada", sql=LONG)
    again = submitted(service, "ada")
    assert service.job(ada, again).ready_at == clock.now + 2
    clock.now += 2
    assert service.job(ada, again).paid is False
    assert service.answer(ada, again)["n"] == service.answer(ada, again)["n"]
    looks.end(long)
    service.close()


@pytest.mark.long
@pytest.mark.parametrize("cache", [Seen.ALL, Seen.OWN])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_which_answer_a_repeat_gives_does_not_tell_which_look_ended_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[int, int], cache: Seen
) -> None:
    """It is that of the newest charge that is shown, whenever each was drawn; nobody waits for those that are not."""
    clock = Clock()
    members = {"ada": Role.ANALYST, "bob": Role.ANALYST}
    service = service_in(
        tmp_path, clock, data_set("people", tmp_path, policy=Policy(cache=cache), epsilon=9), members=members
    )
    whose = ("ada", "bob") if cache is Seen.ALL else ("ada", "ada")
    ada = service.members.principal("ada")
    first = submitted(service, "ada", epsilon="0.5")
    finished(service, ada, first, clock)
    looks = Looks(service, monkeypatch)
    jobs = []
    for who in whose:
        jobs.append(submitted(service, who, epsilon="0.5", fresh=True))
        clock.now += 1  # which tells answers apart that are equal by chance: a receipt has its second
    repeats = [submitted(service, "ada", epsilon="0.5")]
    if cache is Seen.ALL:  # one principal's looks end in the order of their acceptances
        looks.end(*(jobs[number] for number in order))
    else:
        looks.end(*jobs)
    repeats.append(submitted(service, "ada", epsilon="0.5"))
    clock.now += 10
    repeats.append(submitted(service, "ada", epsilon="0.5"))
    clock.now += 10
    answers = [service._book.answer(job) for job in (first, *jobs, *repeats)]
    assert [answers.index(answer) for answer in answers] == [0, 1, 2, 0, 0, 2]
    assert [service.job(ada, job).paid for job in repeats] == [False] * 3
    service.close()


def test_two_data_sets_of_one_ledger_do_not_tell_when_looks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor two levels of one budget: what a repeat costs, and what an auditor sees as answered, is the same before."""
    clock = Clock()
    one = data_set("people", tmp_path)
    other = replace(one, name="others")
    service = service_in(tmp_path, clock, one, other, members={"ada": Role.ANALYST})
    Budget(parent=one.budget, epsilon=0.5, name="ada")
    for name, role in (("bob", Role.ANALYST), ("dora", Role.AUDITOR)):
        service.members.give(name, "others", role)
    looks = Looks(service, monkeypatch)
    bob, dora = (service.members.principal(name) for name in ("bob", "dora"))
    job = submitted(service, "ada")

    def seen() -> Any:
        repeat = service.submit(bob, ask(COUNT.replace("people", "others")))
        return repeat.cost, repeat.ready_at, service.entries(dora, "others"), service.budget(bob, "others")

    before = seen()
    looks.end(job)
    assert seen() == before
    assert before[0]["epsilon"] == "0"
    assert [entry["answered"] for entry in before[2]] == [False]
    clock.now += 1
    assert [entry["answered"] for entry in service.entries(dora, "others")] == [True]
    service.close()


def test_a_repeat_fails_with_what_it_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    bob = service.members.principal("bob")
    looks = Looks(service, monkeypatch)
    monkeypatch.setattr("discreet.service.question_desk.Prepaid", None)
    first, second = submitted(service, "ada"), submitted(service, "bob")
    looks.end(first)
    for job in (second, submitted(service, "bob")):
        finished(service, bob, job, clock)
        assert service.job(bob, job).failure == "engine_error"
        with pytest.raises(DiscreetError):
            service.answer(bob, job)
    service.close()


def test_what_was_begun_is_given_what_its_own_charge_paid_for(tmp_path: Path) -> None:
    """Also where others were answered later, and where it asked for a fresh answer."""
    clock = Clock()
    service = service_in(tmp_path, clock)
    ada = service.members.principal("ada")
    jobs = []
    for _ in range(2):
        jobs.append(submitted(service, "ada", fresh=True))
        finished(service, ada, jobs[-1], clock)
    answers = [service._book.answer(job) for job in jobs]
    service._runner.stop()
    undone = "UPDATE job SET stage = 'running', done = NULL, answer = NULL"
    service._store.write(lambda execute: execute(undone))
    service.close()
    service = service_in(tmp_path, clock)
    for job in jobs:
        finished(service, ada, job, clock)
    assert [service._book.answer(job) for job in jobs] == answers
    assert answers[0] != answers[1]
    service.close()


def test_limits_hold_for_what_is_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of jobs and of requests, over two servers of one state."""
    clock = Clock()
    people = data_set("people", tmp_path, epsilon=9)
    settings = Settings(clock=clock, jobs_at_once=3, requests_open=2)
    services = [Service(StateStore(sqlite_file(tmp_path / "state.db")), [people], settings) for _ in range(2)]
    services[0].members.give("ada", "people", Role.ANALYST)
    ada = services[0].members.principal("ada")
    questions = [ask(f"{COUNT} WHERE age > {number}") for number in range(8)]
    for question in questions:
        services[0].explain(ada, question)

    def busy(_: str) -> int:  # so that all of them get this far before one is accepted
        time.sleep(0.2)
        return 0

    for service in services:
        monkeypatch.setattr(service._book, "busy", busy)
    jobs = together(8, lambda number: services[number % 2].submit(ada, questions[number]))
    assert jobs == {"accepted": 3, OverLimit.__name__: 5}
    assert len(people.budget.entries()) == 3
    amount = {"epsilon": "0.1"}
    requests = together(6, lambda number: services[number % 2].request(ada, "people", amount, f"study {number}"))
    assert requests == {"accepted": 2, OverLimit.__name__: 4}
    for service in services:
        service.close()


def test_of_two_who_admit_somebody_to_groups_at_once_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_in(tmp_path, Clock())
    cleo = service.members.principal("cleo")
    for group in ("staff", "guests"):
        service.open_group(cleo, "people", group, {"epsilon": "0.3"})
    admit, gun = service.members.admit, threading.Barrier(2)

    def late(*given: Any) -> None:  # so that both have found that she is in no group
        gun.wait(30)
        admit(*given)

    monkeypatch.setattr(service.members, "admit", late)
    given = ("staff", "guests")
    told = together(2, lambda number: service.admit(cleo, "people", "gil", group=given[number]))
    assert told == {"accepted": 1, Conflict.__name__: 1}
    assert service.members.principal("gil").groups["people"] in given
    service.close()


def test_who_asks_the_same_again_is_priced_from_memory_and_nobody_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were a price of others found, how long a first ask takes would tell that somebody had asked the same."""
    clock, priced = Clock(), list[str]()
    service = service_in(tmp_path, clock)
    price = service._desk._price

    def counted(asking: Any) -> Any:
        priced.append(asking.who)
        return price(asking)

    monkeypatch.setattr(service._desk, "_price", counted)
    first = submitted(service, "ada")
    finished(service, service.members.principal("ada"), first, clock)
    found = service._desk._book.find(submitted(service, "ada", fresh=True))
    submitted(service, "bob")
    submitted(service, "ada", epsilon="0.2")
    assert priced == ["ada", "bob", "ada"]
    assert found is not None
    assert (found.entry, found.cost) == (2, '{"epsilon": "0.1", "delta": "0"}')
    assert found.release == service._desk._book._one("id = ?", first).release  # type: ignore[union-attr]  # it is there
    service.close()

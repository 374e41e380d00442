from __future__ import annotations

import pkgutil
import threading
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.budget import Budget
from discreet.service.answer_timing import State
from discreet.service.jobs import ALIVE, JobBook
from discreet.service.service_errors import Forbidden
from discreet.service.state_store import StateStore, sqlite_file
from discreet.testing.example_tables import PLANS
from service_fixtures import Clock, ask, data_set, finished, service_in


def killed_at(stage: str, folder: Path, clock: Clock, *, answered: bool) -> tuple[str, str]:
    """A job of an instance that died while it waited or ran; the answer, where it had one, is in the ledger."""
    service = service_in(folder, clock)
    ada = service.members.principal("ada")
    if not answered:
        service._runner.stop()
    job = service.submit(ada, ask(), "key").id
    if answered:
        finished(service, ada, job, clock)
        service._runner.stop()
    service._store.close()
    store = StateStore(sqlite_file(folder / "state.db"))
    charged = "entry = NULL, " if stage == "charging" else ""
    undone = f"{charged}stage = ?, done = NULL, answer = NULL"
    store.write(lambda execute: execute(f"UPDATE job SET {undone} WHERE id = ?", stage, job))  # noqa: S608 (own words)
    store.close()
    return job, "ada"


def test_a_job_that_may_have_been_charged_fails_and_is_not_charged_again(tmp_path: Path) -> None:
    clock = Clock()
    job, name = killed_at("charging", tmp_path, clock, answered=False)
    service = service_in(tmp_path, clock)
    ada = service.members.principal(name)
    assert finished(service, ada, job, clock) is State.FAILED
    assert service.submit(ada, ask(), "key").id == job
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"
    service.close()


def test_what_was_accepted_goes_on_with_the_next_start(tmp_path: Path) -> None:
    clock = Clock()
    job, name = killed_at("queued", tmp_path, clock, answered=False)
    service = service_in(tmp_path, clock)
    ada = service.members.principal(name)
    assert finished(service, ada, job, clock) is State.READY
    assert service.submit(ada, ask(), "key").id == job
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"
    service.close()


def test_a_job_that_was_begun_is_not_drawn_again(tmp_path: Path) -> None:
    clock = Clock()
    job, name = killed_at("running", tmp_path, clock, answered=False)
    service = service_in(tmp_path, clock)
    ada = service.members.principal(name)
    assert finished(service, ada, job, clock) is State.FAILED
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"
    service.close()


def test_a_job_that_was_answered_has_the_answer_of_the_ledger(tmp_path: Path) -> None:
    clock = Clock()
    job, name = killed_at("running", tmp_path, clock, answered=True)
    service = service_in(tmp_path, clock)
    ada = service.members.principal(name)
    assert finished(service, ada, job, clock) is State.READY
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"
    service.close()


@pytest.mark.parametrize("where", ["answers.release.Release.__init__", "ledger.budget.Budget._commit"])
def test_what_is_on_record_is_the_answer_whatever_fails_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    clock, people = Clock(), data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    ada = service.members.principal("ada")
    owner, name = f"discreet.{where}".rsplit(".", 1)
    own = getattr(pkgutil.resolve_name(owner.replace(".Release", ":Release").replace(".Budget", ":Budget")), name)

    def fails(*given: Any, **more: Any) -> Any:
        monkeypatch.undo()
        own(*given, **more)
        raise MemoryError

    monkeypatch.setattr(f"discreet.{where}", fails)
    job = service.submit(ada, ask()).id
    assert finished(service, ada, job, clock) is State.READY
    assert people.budget.entries()[0].answered
    assert service.answer(ada, job).to_pyarrow().num_rows == 1
    service.close()


def test_an_answer_is_given_once_the_ledger_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of PostgreSQL that is started again after it has written the answer does not answer for seconds."""
    monkeypatch.setattr("discreet.service.job_runner.BEAT", 0.01)
    clock, people = Clock(), data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    ada = service.members.principal("ada")
    commit, answer_to, looks = Budget._commit, Budget.answer_to, iter(range(3))

    def commits(*given: Any) -> None:
        commit(*given)
        raise LedgerError("no answer")

    def answers(*given: Any) -> bytes | None:
        if next(looks, None) is not None:
            raise LedgerError("no answer")
        return answer_to(*given)

    monkeypatch.setattr(Budget, "_commit", commits)
    monkeypatch.setattr(Budget, "answer_to", answers)
    job = service.submit(ada, ask()).id
    assert finished(service, ada, job, clock) is State.READY
    assert service.answer(ada, job).to_pyarrow().num_rows == 1
    service.close()


@pytest.mark.parametrize("name", ["begin", "end", "beat"])
def test_whatever_fails_once_ends_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Such as a write to the state for which there was no memory."""
    monkeypatch.setattr("discreet.service.job_runner.BEAT", 0.01)
    clock = Clock()
    service = service_in(tmp_path, clock)
    failed, own = threading.Event(), getattr(service._book, name)

    def fails(*given: Any, **more: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise MemoryError
        return own(*given, **more)

    monkeypatch.setattr(service._book, name, fails)
    ada = service.members.principal("ada")
    job = service.submit(ada, ask()).id
    assert failed.wait(20)
    assert finished(service, ada, job, clock) in {State.READY, State.FAILED}
    assert all(thread.is_alive() for thread in (*service._runner._threads, service._runner._pulse))
    service.close()


def test_jobs_of_an_instance_that_lives_are_left_to_it(tmp_path: Path) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    service._runner.stop()
    living = JobBook(service._store, "living", clock)
    living.beat()
    service._book.instance = "living"
    ada = service.members.principal("ada")
    job = service.submit(ada, ask()).id
    other = JobBook(service._store, "other", clock)
    assert other.orphans() == []
    clock.now += ALIVE + 1
    assert [one.id for one in other.orphans()] == [job]
    assert not living.begin(job)
    assert other.begin(job)
    service._store.close()


WIDER: dict[str, Any] = {"bounds": {"age": (0, 110), "visits": (0, 5000)}, "max_rows": 50}
OTHERWISE: tuple[dict[str, Any], ...] = (
    WIDER,
    {"keys": {"plan": [*reversed(PLANS)]}},
    {"keys": {"plan": [*PLANS][:2]}},
    {"keys": {"plan": [*PLANS, "100%"]}},
    {"max_groups": 1},
    {"bounds": {"age": (0, 110)}},
    {"version": "2"},
)
"""Declarations under which the same words are another release."""
GROUPED = "SELECT plan, SUM(visits) AS v FROM people GROUP BY plan"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")
@pytest.mark.parametrize(
    ("declared", "price"),
    [*((declared, {"epsilon": "0.1"}) for declared in OTHERWISE), (WIDER, {"within": {"v": "2000"}})],
)
def test_a_table_that_is_declared_anew_draws_nothing_for_an_older_charge(
    tmp_path: Path, declared: dict[str, Any], price: dict[str, Any]
) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    service._runner.stop()
    job = service.submit(service.members.principal("ada"), {"question": {"sql": GROUPED}, "price": price}).id
    service._store.close()
    clock.now += 1
    dataset = data_set("people", tmp_path, declared=declared)
    service = service_in(tmp_path, clock, dataset)
    ada = service.members.principal("ada")
    assert finished(service, ada, job, clock) is State.FAILED
    (entry,) = dataset.budget.entries()
    assert not entry.answered
    service.close()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")
def test_an_answer_of_another_declaration_is_not_shown(tmp_path: Path) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    ada = service.members.principal("ada")
    job = service.submit(ada, ask(GROUPED)).id
    finished(service, ada, job, clock)
    first = service.answer(ada, job).to_pyarrow()
    service.close()
    for declared in (*OTHERWISE, {}):
        service = service_in(tmp_path, clock, data_set("people", tmp_path, declared=declared))
        if declared:
            for shown in (service.answer, service.stored_answer):
                with pytest.raises(DiscreetError, match="Expected"):
                    shown(ada, job)
        else:
            assert service.answer(ada, job).to_pyarrow().equals(first)
        service.close()


def test_a_job_of_a_data_set_that_is_gone_does_not_exist(tmp_path: Path) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    ada = service.members.principal("ada")
    job = service.submit(ada, ask(GROUPED)).id
    finished(service, ada, job, clock)
    service.close()
    service = service_in(tmp_path, clock, data_set("others", tmp_path))
    for shown in (service.job, service.answer, service.stored_answer):
        with pytest.raises(Forbidden):
            shown(ada, job)
    service.close()

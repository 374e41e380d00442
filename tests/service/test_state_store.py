"""What holds for a state in a file holds for one on a PostgreSQL server: one suite for both."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.budget import Budget
from discreet.service import state_store
from discreet.service.answer_timing import State
from discreet.service.members import Members
from discreet.service.roles import Role
from discreet.service.service import Service
from discreet.service.service_errors import Conflict
from discreet.service.state_schema import VERSION
from discreet.service.state_store import Execute, Rows, SqliteConnection, StateStore, state_at
from service_fixtures import Clock, ask, data_set, finished, service_on


def add(name: str, then: Exception | None = None) -> Callable[[Execute], None]:
    def work(execute: Execute) -> None:
        execute("INSERT INTO principal VALUES (?, ?)", name, 0)
        if then is not None:
            raise then

    return work


def names(store: StateStore) -> list[str]:
    return [name for (name,) in store.read("SELECT name FROM principal ORDER BY name")]


@pytest.mark.long
def test_what_was_written_is_there_for_all(opened: Callable[[], StateStore]) -> None:
    one, other = opened(), opened()
    one.write(add("ada"))
    assert names(other) == ["ada"]
    one.close()
    assert names(opened()) == ["ada"]
    with pytest.raises(LedgerError):
        one.write(add("bob"))


def test_who_raises_is_undone_alone(opened: Callable[[], StateStore]) -> None:
    store, held, going = opened(), threading.Event(), threading.Event()

    def holding(execute: Execute) -> None:
        held.set()
        assert going.wait(60)

    told: list[object] = []

    def written(work: Callable[[Execute], Any]) -> None:
        try:
            told.append(store.write(work))
        except (DiscreetError, ValueError) as problem:
            told.append(type(problem))

    works = (holding, add("ada"), add("bob", Conflict("theirs")), add("ada"), add("cleo"))
    threads = [threading.Thread(target=written, args=(work,)) for work in works]
    threads[0].start()
    assert held.wait(60)
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        while store._waiting.qsize() < number:
            pass
    going.set()
    for thread in threads:
        thread.join()
    assert names(store) == ["ada", "cleo"]
    assert told.count(None) == 3
    assert {Conflict, LedgerError} <= set(told)


def test_many_threads_of_two_processes_are_all_heard(opened: Callable[[], StateStore]) -> None:
    stores = (opened(), opened())
    threads = [threading.Thread(target=stores[number % 2].write, args=(add(f"p{number:03d}"),)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(stores[0])) == 60


class Losing(SqliteConnection):
    """A connection whose other end may be gone."""

    gone = False

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        if self.gone:
            raise OSError("the other end is gone")
        return super().execute(sql, values)

    @property
    def is_lost(self) -> bool:
        return self.gone


def test_a_connection_that_was_lost_is_replaced_and_one_that_fails_is_not(tmp_path: Path) -> None:
    made: list[Losing] = []

    def connect() -> Losing:
        made.append(Losing(tmp_path / "state.db"))
        return made[-1]

    store = StateStore(connect)
    for work in (lambda: store.read("SELECT 1"), lambda: store.write(add("ada"))):
        made[-1].gone = True
        work()
    assert (names(store), len(made)) == (["ada"], 3)
    with pytest.raises(LedgerError):
        store.read("SELECT nothing FROM nowhere")
    assert len(made) == 3
    store.close()


def test_of_two_that_want_one_key_one_has_it(opened: Callable[[], StateStore]) -> None:
    """In each of two processes, in opposite orders, in one transaction each."""
    stores, gun = (opened(), opened()), threading.Barrier(2)
    made: list[str] = []

    def work(execute: Execute, order: list[str]) -> list[str]:
        sql = "INSERT INTO instance VALUES (?, 0) ON CONFLICT DO NOTHING RETURNING id"
        return [str(name) for one in order for (name,) in execute(sql, one)]

    def ask_for(store: StateStore, order: list[str]) -> None:
        gun.wait()
        made.extend(store.write(lambda execute: work(execute, order)))

    keys = [f"key {number}" for number in range(20)]
    threads = [
        threading.Thread(target=ask_for, args=(store, order))
        for store, order in zip(stores, (keys, keys[::-1]), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted(keys)


def test_a_state_of_another_version_is_refused(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened()
    monkeypatch.setattr(state_store, "VERSION", VERSION + 1)
    with pytest.raises(LedgerError, match=f"a state of version {VERSION + 1}"):
        opened()


def test_what_is_no_state_is_refused_in_words(tmp_path: Path) -> None:
    """As it is: a start that was refused leaves a ledger a ledger."""
    (tmp_path / "garbage").write_bytes(b"x" * 5000)
    Budget(epsilon=1, ledger=tmp_path / "spent.db")
    for name in ("garbage", "spent.db"):
        (tmp_path / name).chmod(0o600)
    for name in ("garbage", "spent.db", "", "a" * 300, "a\0b"):
        with pytest.raises(LedgerError, match="a state that can be made or opened"):
            state_at(str(tmp_path / name))
    assert Budget(epsilon=1, ledger=tmp_path / "spent.db").spent.epsilon == 0


def test_processes_that_start_at_once_make_one_state(place: str, opened: Callable[[], StateStore]) -> None:
    gun, failed = threading.Barrier(4), []

    def start() -> None:
        gun.wait()
        try:
            opened()
        except Exception as problem:  # noqa: BLE001 - none is allowed
            failed.append(problem)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_no_more_connections_are_open_than_are_stated(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    made: list[object] = []
    connect = store._connect

    def another() -> Any:
        made.append(connect())
        return made[-1]

    monkeypatch.setattr(store, "_connect", another)
    threads = [threading.Thread(target=store.read, args=("SELECT COUNT(*) FROM job",)) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) < state_store.MOST_CONNECTIONS


def test_roles_and_tokens(opened: Callable[[], StateStore]) -> None:
    members, other = Members(opened()), Members(opened())
    members.add("root", operator=True)
    members.add("root")
    members.admit("ada", "people", "staff")
    members.give("ada", "people", Role.ANALYST)
    with pytest.raises(Conflict):
        members.admit("ada", "people", "visitors")
    token, record = members.issue("ada")
    found = other.authenticate(token)
    assert (found.name, found.groups, other.principal("root").operator) == ("ada", {"people": "staff"}, True)
    other.revoke(record.id)
    with pytest.raises(DiscreetError):
        members.authenticate(token)


@pytest.fixture
def two(place: str, tmp_path: Path) -> Iterator[tuple[Service, Service, Clock]]:
    """Two processes of one service, as far as one process can tell."""
    clock = Clock()
    one, other = (service_on(state_at(place), clock, data_set("people", tmp_path)) for _ in range(2))
    yield one, other, clock
    one.close()
    other.close()


def test_a_job_of_one_process_is_shown_by_another(two: tuple[Service, Service, Clock]) -> None:
    one, other, clock = two
    ada = one.members.principal("ada")
    job = one.submit(ada, ask(fresh=True), "key")
    assert other.submit(ada, ask(fresh=True), "key").id == job.id
    assert finished(other, ada, job.id, clock) is State.READY
    assert other.stored_answer(ada, job.id) == one.stored_answer(ada, job.id)
    assert one.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"
    with pytest.raises(Conflict):
        other.submit(ada, ask(epsilon="0.2"), "key")
    assert [entry["who"] for entry in other.entries(other.members.principal("dora"), "people")] == ["ada"]
    assert other.requests(ada, "people") == []


def test_requests_are_decided_once(two: tuple[Service, Service, Clock]) -> None:
    one, other, _ = two
    cleo, ada = (one.members.principal(name) for name in ("cleo", "ada"))
    one.admit(cleo, "people", "ada", allowance={"epsilon": "0.2"})
    asked = one.request(ada, "people", {"epsilon": "0.1"}, "more")
    other.decide(cleo, asked.id, approve=True)
    with pytest.raises(Conflict):
        one.decide(cleo, asked.id, approve=True)
    assert one.budget(ada, "people")[-1]["allowance"]["epsilon"] == "0.3"
    assert [change["what"] for change in one.changes(cleo, "people")][:2] == ["request approved", "admitted"]


def test_of_requests_that_are_approved_at_once_none_is_lost(two: tuple[Service, Service, Clock]) -> None:
    one, other, _ = two
    cleo, ada = (one.members.principal(name) for name in ("cleo", "ada"))
    one.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    asked = [one.request(ada, "people", {"epsilon": "0.01"}, f"more {number}").id for number in range(12)]
    gun = threading.Barrier(2)

    def approve(service: Service, mine: list[str]) -> None:
        gun.wait()
        for request in mine:
            service.decide(cleo, request, approve=True)

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(approve, service, asked[turn::2]) for turn, service in enumerate((one, other))]
    for each in done:
        each.result()
    assert one.budget(ada, "people")[-1]["allowance"]["epsilon"] == "0.22"
    assert other.budget(ada, "people")[-1]["allowance"]["epsilon"] == "0.22"


@pytest.mark.long
def test_what_a_dead_process_left_goes_on_elsewhere(two: tuple[Service, Service, Clock]) -> None:
    one, other, clock = two
    ada = one.members.principal("ada")
    one._runner.stop()
    job = one.submit(ada, ask())
    assert finished(other, ada, job.id, clock) is State.READY
    assert other.budget(ada, "people")[0]["spent"]["epsilon"] == "0.1"


def lost_once(store: StateStore, when: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has the first write fail that runs this statement, before or after its commit, as a lost connection would."""
    told: list[str] = []
    write = store.write

    def failing(work: Callable[[Execute], Any]) -> Any:
        seen: list[str] = []

        def noted(execute: Execute) -> Any:
            def run(sql: str, *values: Any) -> Any:
                seen.append(sql)
                return execute(sql, *values)

            return work(run)

        found = write(noted)
        if not told and any(when in sql for sql in seen):
            told.append(when)
            raise LedgerError(state_store.FAILURE)
        return found

    monkeypatch.setattr(store, "write", failing)
    return told


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "state"),
    [("INSERT INTO job", State.FAILED), ("SET stage = 'queued'", State.READY), ("SET stage = 'running'", State.FAILED)],
)
def test_a_job_ends_whatever_commit_is_in_doubt(
    two: tuple[Service, Service, Clock], statement: str, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same request again is the same job, with one charge at most, and it does not hang."""
    one, _, clock = two
    ada = one.members.principal("ada")
    told = lost_once(one._store, statement, monkeypatch)
    try:
        job = one.submit(ada, ask(), "key").id
    except LedgerError:
        job = one.submit(ada, ask(), "key").id
    assert finished(one, ada, job, clock) is state
    assert told == [statement]
    assert one.submit(ada, ask(), "key").id == job
    spent = one.budget(ada, "people")[0]["spent"]["epsilon"]
    assert spent == ("0" if statement == "INSERT INTO job" else "0.1")


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    place = tmp_path / "state.db"
    state_at(str(place)).close()
    assert place.stat().st_mode & 0o077 == 0
    place.chmod(0o644)
    with pytest.raises(LedgerError, match="a file for its owner alone"):
        state_at(str(place))
    with pytest.raises(LedgerError, match="a folder that exists"):
        state_at(str(tmp_path / "none" / "state.db"))


def test_a_file_that_somebody_else_holds_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_store, "PATIENCE", 0.05)
    store = state_at(str(tmp_path / "state.db"))
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="the service's store"):
            store.write(add("ada"))
        assert names(store) == []
        rival.execute("ROLLBACK")
    store.write(add("ada"))
    store.close()


def test_a_file_that_others_open_is_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "state.db"
    with closing(sqlite3.connect(place, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE theirs (number INTEGER)")
        ended = threading.Timer(0.2, other.execute, ("COMMIT",))
        ended.start()
        with closing(SqliteConnection(place)) as mine:
            assert mine.execute("PRAGMA journal_mode") == [("wal",)]
        ended.join()

"""A state that an older version made."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import InvalidQuery, LedgerError
from discreet.service import state_store
from discreet.service.answer_timing import State
from discreet.service.jobs import JobBook
from discreet.service.recorded_refusals import RefusalBook
from discreet.service.roles import Action, Principal, Role
from discreet.service.state_schema import UPGRADES, VERSION
from discreet.service.state_store import Execute, Outdated, StateStore

FIRST_JOBS = """CREATE TABLE job (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, dataset TEXT NOT NULL, idempotency TEXT, digest TEXT NOT NULL,
    ask TEXT NOT NULL, what TEXT NOT NULL, cost TEXT NOT NULL, release TEXT NOT NULL,
    accepted DOUBLE PRECISION NOT NULL, first DOUBLE PRECISION NOT NULL, owner TEXT NOT NULL,
    stage TEXT NOT NULL, done DOUBLE PRECISION, failure TEXT, paid INTEGER, answer {bytes},
    entry BIGINT, twin TEXT, UNIQUE (principal, idempotency))"""
FIRST_JOB = """INSERT INTO job VALUES (
    'one', 'ada', 'people', 'key', 'digest', '{}', 'count', '{}', 'release', 10.0, 2.0, 'gone', 'ended', 11.5, NULL, 1,
    NULL, 7, NULL)"""


def test_a_state_of_the_first_version_is_brought_up_to_this_one(place: str, opened: Callable[[], StateStore]) -> None:
    """Its jobs are shown when they were, and know their ledger once their data set is declared."""
    store = opened()
    of_bytes = "BYTEA" if place.startswith("postgresql") else "BLOB"

    def as_it_was(execute: Execute) -> None:
        execute("DROP TABLE job")
        execute(FIRST_JOBS.format(bytes=of_bytes))
        execute("CREATE INDEX job_entry ON job (dataset, entry)")
        execute(FIRST_JOB)
        execute("UPDATE meta SET value = '1' WHERE name = 'version'")

    store.write(as_it_was)
    for _ in range(2):
        book = JobBook(opened(), "here", lambda: 11.9)
        found = book.find("one")
        assert found is not None
        assert (found.shown(11.9).state, found.shown(11.9).ready_at) == (State.ACCEPTED, 12.0)
        assert found.shown(12.0).state is State.READY
        for ledger in ("a ledger", "the place that it was moved to"):
            book.adopt("people", ledger, "staff")
            assert book.hidden_entries(ledger, [7]) == {7}


def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, stores are opened by the version after this one."""
    after = str(VERSION + 1)
    upgrade = (
        "ALTER TABLE principal ADD COLUMN born TEXT",
        f"UPDATE meta SET value = '{after}' WHERE name = 'version'",  # noqa: S608 (a number of our own)
    )
    monkeypatch.setattr(state_store, "UPGRADES", {**UPGRADES, str(VERSION): upgrade})
    monkeypatch.setattr(state_store, "VERSION", VERSION + 1)


def add(name: str) -> Callable[[Execute], None]:
    return lambda execute: (execute("INSERT INTO principal (name) VALUES (?)", name), None)[1]


def test_a_process_of_an_older_version_writes_and_reads_nothing_more(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the newer one has changed the tables, the older one says one thing, whatever it does."""
    old, beside = opened(), opened()
    old.write(add("ada"))
    newer(monkeypatch)
    new = opened()
    new.write(add("bob"))
    for store in (old, beside):
        for _ in range(2):
            with pytest.raises(Outdated, match="a newer version has changed"):
                store.write(add("cleo"))
            with pytest.raises(Outdated, match="a newer version has changed"):
                store.read("SELECT name FROM principal")
    assert new.read("SELECT name FROM principal ORDER BY name") == [("ada",), ("bob",)]
    monkeypatch.setattr(state_store, "VERSION", VERSION)
    with pytest.raises(LedgerError, match="a state of version"):
        opened()


def test_an_upgrade_waits_for_a_write_that_has_begun(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it could come between the look at the version and what is written after it."""
    old, held, going = opened(), threading.Event(), threading.Event()

    def holding(execute: Execute) -> None:
        held.set()
        assert going.wait(60)
        execute("INSERT INTO principal (name) VALUES ('ada')")

    with ThreadPoolExecutor(2) as threads:
        written = threads.submit(old.write, holding)
        assert held.wait(60)
        newer(monkeypatch)
        upgraded = threads.submit(opened)
        with pytest.raises(TimeoutError):
            upgraded.result(0.2)
        assert old.read("SELECT COUNT(*) FROM principal") == [(0,)]
        going.set()
        written.result(60)
        new = upgraded.result(60)
    assert new.read("SELECT name, born FROM principal") == [("ada", None)]
    with pytest.raises(Outdated):
        old.write(add("bob"))


def test_a_refusal_that_cannot_be_recorded_is_not_told(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another version brings the state up nothing is charged, and the request may be sent again."""
    ada = Principal(name="ada", roles={"people": {Role.ANALYST}})
    old = RefusalBook(opened())
    newer(monkeypatch)
    new = RefusalBook(opened())
    refusal = "Expected a question, got none."
    with pytest.raises(Outdated), old.kept(ada, Action.RELEASE, ["people"], "SELECT"):
        raise InvalidQuery(refusal)
    assert new.of("people", None, 10) == ([], 0)
    with pytest.raises(InvalidQuery), new.kept(ada, Action.RELEASE, ["people"], "SELECT"):
        raise InvalidQuery(refusal)
    assert [one["message"] for one in new.of("people", None, 10)[0]] == [refusal]


def test_a_state_of_the_second_version_keeps_refusals_from_now_on(opened: Callable[[], StateStore]) -> None:
    def as_it_was(execute: Execute) -> None:
        execute("DROP TABLE refusal")
        execute("UPDATE meta SET value = '2' WHERE name = 'version'")

    opened().write(as_it_was)
    for numbers in ([1], [2, 1]):
        book = RefusalBook(opened())
        book.note("ada", ["people"], Action.RELEASE, InvalidQuery("Expected a question, got none."))
        assert [one["number"] for one in book.of("people", None, 10)[0]] == numbers

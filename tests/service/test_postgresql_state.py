"""A state on a PostgreSQL server outlives the server's death, and is refused where it is not what it has to be."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.ledger_kinds import create
from discreet.ledger.privacy_filter import Allowance
from discreet.service import postgresql_state
from discreet.service.members import Members
from discreet.service.service import Service
from discreet.service.state_store import StateStore, state_at
from killable_postgresql import PASSWORD, PRESENT, KillableServer, killable_postgresql
from service_fixtures import Clock, data_set, service_on

NUMBERS = itertools.count(1)


@pytest.fixture(params=["postgresql"] if PRESENT else [])
def place(server: KillableServer) -> str:
    return server.url(f"own_state_{next(NUMBERS)}")


@pytest.fixture(params=["postgresql"] if PRESENT else [])
def mortal() -> Iterator[KillableServer]:
    """A server that a test may kill."""
    with killable_postgresql() as made:
        yield made


def test_a_ledger_has_a_schema_of_its_own(place: str) -> None:
    create(place, Allowance.union(1))
    with pytest.raises(LedgerError, match="a schema for the state alone") as refused:
        state_at(place)
    assert PASSWORD not in str(refused.value)


def test_without_a_name_it_has_a_schema_by_itself(place: str) -> None:
    first = state_at(place.partition("#")[0])
    assert first.read("SELECT current_schema()::text") == [(postgresql_state.SCHEMA,)]
    first.close()


def test_a_server_that_is_not_there_is_told_without_its_password(place: str) -> None:
    with pytest.raises(LedgerError, match="a server that can be reached") as refused:
        state_at(place.replace("host=", "host=/nowhere"))
    assert PASSWORD not in str(refused.value)
    with pytest.raises(InvalidParameter):
        state_at("mysql://db.example.org/state")


def test_a_machine_whose_clock_is_off_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 100)
    with pytest.raises(LedgerError, match="the clock of the server"):
        state_at(place)


def test_the_session_is_set(place: str) -> None:
    """The server of the tests lets commits wait, unless somebody asks otherwise."""
    store = state_at(place)
    for name, value in (("synchronous_commit", "on"), ("client_encoding", "UTF8"), ("lock_timeout", "30s")):
        assert store.read(f"SHOW {name}") == [(value,)]
    store.close()


def killed_and_started(server: KillableServer) -> None:
    server.kill()
    server.start()


@pytest.mark.long
def test_a_server_that_was_killed_has_what_was_written(mortal: KillableServer) -> None:
    store = state_at(mortal.url("state"))
    members = Members(store)
    members.add("ada")
    killed_and_started(mortal)
    assert [one.name for one in members.everybody()] == ["ada"]
    mortal.kill()
    with pytest.raises(LedgerError, match="the service's store"):
        members.add("nobody")
    with pytest.raises(LedgerError, match="the service's store"):
        members.exists("nobody")
    mortal.start()
    assert not members.exists("nobody")
    store.close()


@pytest.mark.long
def test_all_connections_that_were_lost_are_replaced(mortal: KillableServer) -> None:
    store = state_at(mortal.url("state"))
    going = threading.Barrier(6)

    def read() -> None:
        going.wait()
        store.read("SELECT pg_sleep(0.05)")

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    killed_and_started(mortal)
    assert store.read("SELECT 1") == [(1,)]
    Members(store).add("ada")
    store.close()


@pytest.mark.long
def test_the_runner_outlives_the_server(mortal: KillableServer, tmp_path: Path) -> None:
    store: StateStore = state_at(mortal.url("state"))
    service: Service = service_on(store, Clock(), data_set("people", tmp_path))
    mortal.kill()
    with pytest.raises(LedgerError):
        service.health()
    beats = threading.Event()
    service._runner._on_beat = beats.set
    mortal.start()
    assert beats.wait(60)
    assert service.health() == {"status": "ok"}
    service.close()

"""The series of a service: drawn once each step, shown at its moment, whoever fails, restarts or asks meanwhile."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.ledger.budget import Budget
from discreet.service import series_desk
from discreet.service.roles import Role
from discreet.service.series_publisher import SeriesPublisher
from discreet.service.service import Service
from discreet.service.service_errors import LATE_SERIES, Forbidden, Late
from discreet.service.state_store import StateStore, sqlite_file
from served_series import line, numbers, seconds, served, spent, with_series
from service_fixtures import Clock, service_in, service_on, wait_until_ended
from service_fixtures import ask as asked


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread attempts anything: the tests do."""
    monkeypatch.setattr(SeriesPublisher, "start", lambda _: None)


@pytest.fixture
def clock() -> Clock:
    return Clock(seconds(1))


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock, with_series("people", tmp_path))
    yield made
    made.close()


def test_a_step_is_drawn_when_it_is_over_and_shown_at_its_moment(service: Service, clock: Clock) -> None:
    one, ada = served(service), service.members.principal("ada")
    clock.now = seconds(2, 1.99)
    one.attempt()
    before = line(service)
    assert (before["state"], before["published"], before["next"]) == ("open", 0, seconds(2, 5))
    assert before["price"] == {"rho": "1/2"}
    assert before["account"]["columns"][0]["name"] == "n, window 1"
    assert spent(service) == "0"
    clock.now = seconds(2, 2)
    one.attempt()
    assert spent(service) == "0.5"
    for hour in (2, 4.99):
        clock.now = seconds(2, hour)
        assert (line(service)["published"], line(service)["next"]) == (0, seconds(2, 5))
        with pytest.raises(Late):
            service.series_numbers(ada, "people", "daily")
        with pytest.raises(Late):
            service.stored_series(ada, "people", "daily")
    clock.now = seconds(2, 5)
    after = line(service)
    assert (after["state"], after["published"], after["latest"]) == ("open", 1, "2026-01-01")
    assert after["next"] == seconds(3, 5)
    assert {name for name in before if before[name] != after[name]} == {"account", "published", "latest", "next"}
    assert [(row["ward"], row["window"]) for row in numbers(service)] == [
        ("A", "1"),
        ("B", "1"),
        ("A", "all"),
        ("B", "all"),
    ]
    json.dumps(after)


@pytest.mark.long
def test_the_whole_series_is_one_charge_of_its_own_name(service: Service, clock: Clock) -> None:
    shown: list[Any] = []
    for day in range(2, 22):
        clock.now = seconds(day, 2)
        served(service).attempt()
        clock.now = seconds(day, 5)
        rows = numbers(service)
        assert rows[: len(shown)] == shown  # what was published never changes
        shown = rows
    assert (line(service)["state"], line(service)["next"], line(service)["published"]) == ("ended", None, 20)
    dora = service.members.principal("dora")
    [entry] = service.entries(dora, "people")
    assert (entry["rho"], entry["who"], entry["level"]) == ("0.5", "series daily", "")
    service.verify_ledger(dora, "people")
    served(service).attempt()
    assert len(service.entries(dora, "people")) == 1


def test_nothing_that_is_shown_tells_how_long_a_look_took(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for took in (0, 3600, 3 * 3600 - 1):
        (folder := tmp_path / str(took)).mkdir()
        clock.now = seconds(1)
        service = service_in(folder, clock, with_series("people", folder))
        clock.now, look, record = seconds(2, 2), DuckDB.totals, list[Any]()

        def slow(
            *given: Any, look: Any = look, took: float = took, service: Service = service, record: list[Any] = record
        ) -> Any:
            clock.now += took / 2
            record.append(line(service)["published"])  # somebody asks while it is drawn
            clock.now += took - took / 2
            return look(*given)

        with monkeypatch.context() as patch:
            patch.setattr(DuckDB, "totals", slow)
            served(service).attempt()
        for hour in (4.9999, 5, 8, 28.99, 29):
            clock.now = seconds(2, hour)
            told = line(service)
            told["account"] = {**told["account"], "time": None}  # of the opening, by the clock of the machine
            record.append((told, service.budget(service.members.principal("ada"), "people")))
        seen.append(json.dumps(record, default=str))
        service.close()
    assert seen[0] == seen[1] == seen[2]


def test_who_asks_while_it_is_drawn_waits_for_nothing(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, looking, look = threading.Event(), threading.Event(), DuckDB.totals

    def held(*given: Any) -> Any:
        looking.set()
        assert going.wait(60)
        return look(*given)

    clock.now = seconds(2, 2)
    served(service).attempt()
    clock.now = seconds(3, 2)
    monkeypatch.setattr(DuckDB, "totals", held)
    thread = threading.Thread(target=served(service).attempt)
    thread.start()
    assert looking.wait(60)
    assert len(numbers(service)) == 4
    assert line(service)["published"] == 1
    going.set()
    thread.join()


def test_a_failure_shows_one_text_at_the_moment_and_is_tried_again(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, looks = served(service), list[Any]()
    clock.now = seconds(2, 2)

    def totals(*_: Any) -> Any:
        looks.append(clock.now)
        return 1 / 0

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(DuckDB, "totals", totals)
        one.attempt()
        one.attempt()
        clock.now += series_desk.AGAIN
        one.attempt()
    assert looks == [seconds(2, 2), seconds(2, 2) + series_desk.AGAIN]
    assert "was not published" in caplog.text
    assert spent(service) == "0.5"
    clock.now = seconds(2, 4.9)
    assert (line(service)["state"], line(service)["problem"]) == ("open", None)
    clock.now = seconds(2, 5)
    for who in ("ada", "cleo", "dora"):
        assert (line(service, who)["state"], line(service, who)["problem"]) == ("late", LATE_SERIES)
    one.attempt()
    assert line(service)["published"] == 0
    clock.now = seconds(2, 8)
    assert (line(service)["published"], spent(service)) == (1, "0.5")


def test_a_clock_that_is_set_back_stops_nothing(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = served(service)
    clock.now = seconds(9, 2)
    with monkeypatch.context() as patch:
        patch.setattr(DuckDB, "totals", lambda *_: 1 / 0)
        one.attempt()
    clock.now = seconds(4, 2)
    one.attempt()
    assert one.series.on_record() == 3
    clock.now = seconds(1)
    one.attempt()
    assert (line(service)["published"], one.series.on_record()) == (0, 3)


def test_a_restart_goes_on_whatever_was_lost(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends before its draw is on record, and another one right afterwards, before the state is told."""
    first = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now, plain = seconds(2, 2), Budget.published

    def killed(*given: Any) -> bytes:
        raise KeyboardInterrupt

    def killed_after(*given: Any) -> bytes:
        plain(*given)
        raise KeyboardInterrupt

    for way, on_record in ((killed, 0), (killed_after, 1)):
        with monkeypatch.context() as patch:
            patch.setattr(Budget, "published", way)
            with pytest.raises(KeyboardInterrupt):
                served(first).attempt()
        first.close()
        first = service_in(tmp_path, clock, with_series("people", tmp_path))
        assert (served(first).series.on_record(), spent(first)) == (on_record, "0.5")
    stored = first._datasets["people"].budget.points(served(first).series.key)
    clock.now = seconds(3, 1)
    served(first).attempt()
    assert line(first)["published"] == 0
    clock.now = seconds(3, 5)
    assert line(first)["published"] == 1
    assert first._datasets["people"].budget.points(served(first).series.key) == stored
    first.close()


def test_two_services_at_once_draw_each_step_once(tmp_path: Path, clock: Clock) -> None:
    services = [service_in(tmp_path, clock, with_series("people", tmp_path)) for _ in range(2)]
    for day in (2, 3, 6):
        clock.now = seconds(day, 2)
        threads = [threading.Thread(target=served(one).attempt) for one in services]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clock.now = seconds(day, 5)
        left, right = (numbers(one) for one in services)
        assert left == right
        assert {line(one)["published"] for one in services} == {day - 1}
    assert spent(services[0]) == "0.5"
    assert [len(one.entries(one.members.principal("dora"), "people")) for one in services] == [1, 1]
    for one in services:
        one.close()


def test_a_lost_state_shows_late_and_nothing_twice(tmp_path: Path, clock: Clock) -> None:
    first = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now = seconds(3, 2)
    served(first).attempt()
    clock.now = seconds(3, 5)
    before = numbers(first)
    first.close()
    clock.now = seconds(3, 6)
    store = StateStore(sqlite_file(tmp_path / "new.db"))
    second = service_on(store, clock, with_series("people", tmp_path))
    served(second).attempt()
    assert line(second)["published"] == 0
    clock.now = seconds(3, 9)
    assert numbers(second) == before
    second.close()


def test_downtime_is_caught_up_with(service: Service, clock: Clock) -> None:
    clock.now = seconds(2, 2)
    served(service).attempt()
    clock.now = seconds(15, 12)
    served(service).attempt()
    assert served(service).series.on_record() == 14
    clock.now = seconds(16, 2)
    served(service).attempt()
    clock.now = seconds(16, 5)
    assert line(service)["published"] == 15


def test_analysts_of_another_data_set_see_nothing(tmp_path: Path, clock: Clock) -> None:
    service = service_in(tmp_path, clock, with_series("people", tmp_path), with_series("secret", tmp_path))
    service.members.give("eve", "secret", Role.ANALYST)
    ada, eve = (service.members.principal(name) for name in ("ada", "eve"))
    texts = set()
    for who, dataset, series in (
        (ada, "secret", "daily"),
        (eve, "people", "daily"),
        (ada, "people", "x"),
        (ada, "x", "y"),
    ):
        for read in (service.series_numbers, service.stored_series):
            with pytest.raises(Forbidden) as refusal:
                read(who, dataset, series)
            texts.add(str(refusal.value))
    for who, dataset in ((ada, "secret"), (eve, "people"), (ada, "absent")):
        with pytest.raises(Forbidden) as refusal:
            service.series(who, dataset)
        texts.add(str(refusal.value))
    assert len(texts) == 1
    service.close()


def test_numbers_come_in_pages_of_whole_steps(service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock.now = seconds(10, 2)
    served(service).attempt()
    clock.now = seconds(10, 5)
    served(service).attempt()
    clock.now = seconds(11, 5)
    ada = service.members.principal("ada")
    whole = numbers(service)
    for most, rows in ((4096, 100), (4, 100_000), (4096, 1)):
        monkeypatch.setattr(series_desk, "MOST_ROWS", rows)
        found, after = list[Any](), 0
        while True:
            page = service.series_numbers(ada, "people", "daily", after=after, most=most)
            found += page.to_pyarrow().to_pylist()
            assert page.following is None or page.following > after
            if page.following is None:
                break
            after = page.following
        assert found == whole
    assert numbers(service, after=4096) == []


@pytest.mark.long
def test_the_threads_publish_by_themselves(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now = seconds(2, 2)
    for _ in range(600):
        if served(service)._known == 1:  # on record, and the state was told
            break
        threading.Event().wait(0.05)
    clock.now = seconds(2, 5)
    assert line(service)["published"] == 1
    service.close()


def test_questions_are_answered_beside(service: Service, clock: Clock) -> None:
    clock.now = seconds(2, 2)
    served(service).attempt()
    question = {**asked("SELECT COUNT(*) AS n FROM people"), "price": {"rho": "0.1"}}
    job = service.submit(service.members.principal("ada"), question)
    wait_until_ended(service, job.id)
    assert float(spent(service)) == pytest.approx(0.6)

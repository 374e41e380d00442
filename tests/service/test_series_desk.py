"""The series of a service: drawn once each step, shown at its moment, whoever fails, restarts or asks meanwhile."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.ledger.budget import Budget
from discreet.service import series_desk
from discreet.service.published_series import PublishedSeries
from discreet.service.roles import Role
from discreet.service.series_publisher import SeriesPublisher
from discreet.service.service import Service
from discreet.service.service_errors import HELD_SERIES, LATE_SERIES, Conflict, Forbidden, Late
from discreet.service.state_store import StateStore, sqlite_file
from served_series import facts, hospital, seconds, served, with_series
from service_fixtures import Clock, service_in, service_on, wait_until_ended
from service_fixtures import ask as asked


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread attempts anything: the tests do."""
    monkeypatch.setattr(SeriesPublisher, "start", lambda _: None)


@pytest.fixture
def clock() -> Clock:
    made = Clock()
    made.now = seconds(1)
    return made


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock, with_series("people", tmp_path))
    yield made
    made.close()


def line(service: Service, who: str = "ada", dataset: str = "people") -> dict[str, Any]:
    [found] = service.series(service.members.principal(who), dataset)
    return found


def numbers(service: Service, who: str = "ada", dataset: str = "people", **page: int) -> list[Any]:
    found = service.series_numbers(service.members.principal(who), dataset, "daily", **page)
    rows: list[Any] = found.to_pyarrow().to_pylist()
    return rows


def spent(service: Service) -> str:
    [level] = service.budget(service.members.principal("cleo"), "people")
    found: str = level["spent"]["rho"]
    return found


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


def test_a_budget_that_is_too_small_holds_the_series_and_nothing_else(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    budget = dp.Budget(rho=0.25, ledger=tmp_path / "small.db")
    service = service_in(tmp_path, clock, with_series("people", tmp_path, budget=budget))
    with caplog.at_level(logging.ERROR):
        for day in (1, 2, 3):
            clock.now = seconds(day, 12)
            served(service).attempt()
    assert caplog.text.count("is held") == 1
    assert "fits into what remains" in caplog.text
    assert (line(service)["state"], line(service)["problem"]) == ("held", HELD_SERIES)
    assert "fits into what remains" in line(service, "cleo")["problem"]
    assert spent(service) == "0"
    assert service.health() == {"status": "ok"}
    budget.raise_to(rho=1, by="cleo", why="the series")
    clock.now += series_desk.AGAIN
    served(service).attempt()
    assert spent(service) == "0.5"
    assert served(service).series.on_record() == 2
    service.close()


def test_a_frozen_budget_holds_the_series_until_it_is_unfrozen(service: Service, clock: Clock) -> None:
    clock.now = seconds(2, 2)
    served(service).attempt()
    budget = service._datasets["people"].budget
    budget.freeze(by="cleo", why="a report")
    clock.now = seconds(3, 12)
    served(service).attempt()
    assert (line(service)["state"], line(service)["published"]) == ("held", 1)
    assert len(numbers(service)) == 4
    assert "a budget that is open" in line(service, "cleo")["problem"]
    budget.unfreeze(by="cleo", why="it was nothing")
    clock.now += series_desk.AGAIN
    served(service).attempt()
    assert served(service).series.on_record() == 2


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"windows": [1]}, "the windows"),
        ({"max_steps": 5}, "the max_steps"),
        ({"rho": "1/3"}, "the price"),
        ({"epsilon": "1/2", "delta": "1e-6"}, "the price"),
        ({"settled": "3 hours"}, "the settled"),
        ({"statement": "SELECT ward, COUNT(*) AS m FROM people GROUP BY ward"}, "the question"),
    ],
)
def test_another_declaration_is_told_to_the_curator_alone(
    tmp_path: Path, clock: Clock, changed: dict[str, Any], told: str
) -> None:
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now = seconds(2, 2)
    served(service).attempt()
    clock.now = seconds(2, 5)
    before = numbers(service)
    service.close()
    service = service_in(tmp_path, clock, with_series("people", tmp_path, facts(**changed)))
    clock.now = seconds(3, 5)
    served(service).attempt()
    assert (line(service)["state"], line(service)["problem"]) == ("held", HELD_SERIES)
    assert told in line(service, "cleo")["problem"]
    ada = service.members.principal("ada")
    for read in (service.series_numbers, service.stored_series):
        with pytest.raises(Conflict):
            read(ada, "people", "daily")
    assert spent(service) == "0.5"
    service.close()
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    served(service).attempt()
    clock.now = seconds(4, 5)
    assert numbers(service)[: len(before)] == before
    service.close()


def test_what_no_series_can_have_holds_it(tmp_path: Path, clock: Clock) -> None:
    median = "SELECT ward, MEDIAN(nights) AS m FROM people GROUP BY ward"
    service = service_in(tmp_path, clock, with_series("people", tmp_path, facts(statement=median)))
    clock.now = seconds(3)
    served(service).attempt()
    assert line(service)["state"] == "held"
    assert line(service, "cleo")["problem"].startswith("Expected")
    assert spent(service) == "0"
    service.close()


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


def test_two_data_sets_with_one_table_and_one_ledger_have_one_series(tmp_path: Path, clock: Clock) -> None:
    budget = dp.Budget(rho=1, ledger=tmp_path / "one.db")
    table = hospital("hospital", tmp_path, budget=budget)
    made = []
    for name, stated in (("people", facts()), ("others", facts("others", publish="9 hours"))):
        series = {"daily": PublishedSeries(table, stated, dataset=name)}
        made.append(replace(with_series(name, tmp_path, budget=budget), table=table, series=series))
    service = service_in(tmp_path, clock, *made)
    service.members.give("ada", "others", Role.ANALYST)
    clock.now = seconds(2, 2)
    for name in ("people", "others"):
        served(service, name).attempt()
    clock.now = seconds(2, 5)
    assert [line(service, dataset=name)["published"] for name in ("people", "others")] == [1, 0]
    clock.now = seconds(2, 11)
    assert numbers(service) == numbers(service, dataset="others")
    assert spent(service) == "0.5"
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


def test_an_excerpt_ends_with_the_steps_that_are_shown(service: Service, clock: Clock) -> None:
    from base64 import b64decode

    from discreet.series.series_record import Point

    clock.now = seconds(2, 2)
    served(service).attempt()
    clock.now = seconds(5, 3)
    served(service).attempt()
    clock.now = seconds(5, 4)
    ada = service.members.principal("ada")
    assert (served(service).series.on_record(), line(service)["published"]) == (4, 1)
    found = service.stored_series(ada, "people", "daily")
    assert Point.of(b64decode(found["point"])).end == found["steps"] == 1
    clock.now = seconds(5, 5)
    served(service).attempt()
    clock.now = seconds(5, 8)
    found = service.stored_series(ada, "people", "daily", after=1)
    point = Point.of(b64decode(found["point"]))
    assert (point.first, point.end, found["opening"]) == (1, 4, None)


def test_an_opening_waits_for_no_look(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for that of another series, nor for that of a question: its charge can be seen."""
    slow, quick = facts(series="slow"), facts(series="quick", rho="1/4")
    service = service_in(tmp_path, clock, with_series("people", tmp_path, slow, quick))
    going, looking, look = threading.Event(), threading.Event(), DuckDB.totals

    def held(*given: Any) -> Any:
        looking.set()
        assert going.wait(20)
        return look(*given)

    monkeypatch.setattr(DuckDB, "totals", held)
    monkeypatch.setattr(DuckDB, "check_alive", lambda _: going.wait(20))
    clock.now = seconds(2, 2)
    threads = [threading.Thread(target=served(service, series=name).attempt) for name in ("slow", "quick")]
    threads[0].start()
    assert looking.wait(60)
    threads[1].start()
    for _ in range(200):
        if spent(service) == "0.75":
            break
        threading.Event().wait(0.05)
    assert spent(service) == "0.75"
    going.set()
    for thread in threads:
        thread.join()
    service.close()


def test_the_threads_publish_by_themselves(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now = seconds(2, 2)
    for _ in range(600):
        if served(service).series.on_record():
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

"""A declared series: what holds it, and is told to its curator alone; what is shown of its record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.service import series_desk
from discreet.service.published_series import PublishedSeries
from discreet.service.roles import Role
from discreet.service.series_publisher import SeriesPublisher
from discreet.service.service import Service
from discreet.service.service_errors import HELD_SERIES, Conflict
from served_series import facts, hospital, line, numbers, seconds, served, spent, with_series
from service_fixtures import Clock, service_in


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


@pytest.mark.long
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
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, changed: dict[str, Any], told: str
) -> None:
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    clock.now = seconds(2, 2)
    served(service).attempt()
    clock.now = seconds(2, 5)
    before = numbers(service)
    service.close()
    service = service_in(tmp_path, clock, with_series("people", tmp_path, facts(**changed)))
    clock.now = seconds(3, 5)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            served(service).attempt()
            clock.now += series_desk.AGAIN
    assert [record.exc_info for record in caplog.records] == [None]  # that it is held, once, and without a traceback
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

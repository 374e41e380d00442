"""What is measured: budgets as they were booked, and jobs that were late, which tell nothing of when a look ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.service.job_records import JobRecord
from discreet.service.jobs import JobBook
from discreet.service.operator_metrics import late_jobs
from discreet.service.series_publisher import SeriesPublisher
from discreet.service.service import Service
from discreet.service.service_errors import Forbidden
from discreet.service.state_store import StateStore, sqlite_file
from served_series import seconds, served, with_series
from service_fixtures import Clock, ask, service_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock)
    made.members.add("olga", operator=True)
    yield made
    made.close()


def measured(service: Service) -> dict[tuple[str, str], float]:
    found = service.metrics(service.members.principal("olga"))
    return {(one.name, one.labels.get("kind", "")): one.value for one in found}


def test_a_charge_is_seen_when_it_is_booked(service: Service) -> None:
    before = measured(service)
    assert before["discreet_budget_spent", "epsilon"] == 0
    assert before["discreet_jobs_accepted", ""] == 0
    service.submit(service.members.principal("ada"), ask())
    after = measured(service)
    assert after["discreet_budget_spent", "epsilon"] == pytest.approx(0.1)
    whole = after["discreet_budget_allowance", "epsilon"]
    assert after["discreet_budget_remaining", "epsilon"] == pytest.approx(whole - 0.1)
    assert after["discreet_jobs_accepted", ""] == 1


def test_measures_are_for_operators(service: Service) -> None:
    for name in ("ada", "cleo", "dora"):
        with pytest.raises(Forbidden):
            service.metrics(service.members.principal(name))


def test_a_job_is_late_from_its_first_moment_on(tmp_path: Path) -> None:
    clock = Clock()
    store = StateStore(sqlite_file(tmp_path / "late.db"))
    book = JobBook(store, "here", clock)
    now = clock.now
    for name, done in (("early", now + 0.5), ("within the grace", now + 0.99), ("late", now + 1.5), ("never", None)):
        stage = "queued" if done is None else "ended"
        facts: dict[str, Any] = {"idempotency": None, "digest": "", "ask": "", "what": "", "cost": "{}", "release": ""}
        moments: dict[str, Any] = {"accepted": now, "first": 1.0, "stage": stage, "done": done}
        job = JobRecord(id=name, principal="ada", dataset="people", **facts, **moments)
        book.accept(job)
    assert late_jobs(store, now + 0.9).value == 0
    assert late_jobs(store, now + 1).value == late_jobs(store, now + 5).value == 3
    store.close()


def test_a_series_is_measured_as_its_readers_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeriesPublisher, "start", lambda _: None)
    clock = Clock(seconds(1))
    service = service_in(tmp_path, clock, with_series("people", tmp_path))
    service.members.add("olga", operator=True)
    seen = []
    for day, hour in ((3, 2), (3, 5), (4, 5)):
        clock.now = seconds(day, hour)
        if hour == 2:
            served(service).attempt()
        found = service.metrics(service.members.principal("olga"))
        [labels, *_] = {str(one.labels) for one in found if one.name.startswith("discreet_series_")}
        assert labels == "{'dataset': 'people', 'series': 'daily'}"
        seen.append([one.value for one in found if one.name.startswith("discreet_series_")])
    assert seen == [[0, 1, 0], [2, 0, 0], [2, 1, 0]]
    service.close()

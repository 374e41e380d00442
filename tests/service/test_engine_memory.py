"""An engine without enough memory: what fails for that fails as all else does, and what is put aside is taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import pytest

from discreet.curator.protect import protect
from discreet.engines.engine import FAILED
from discreet.errors import EngineError
from discreet.ledger.budget import Budget
from discreet.service.answer_timing import Pace, State
from discreet.service.data_sets import DataSet
from discreet.service.service import Service
from service_fixtures import COUNT, Clock, ask, finished, service_in, wait_until_ended

BY_PLAN = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"
VIEW = "CREATE VIEW visits AS SELECT range % {people} AS person, 'A' AS plan FROM range({people})"
"""A view takes no memory; a group for each of its people does."""

Opened = Callable[..., Service]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Opened]:
    """A service whose engine has 20 MB, and a folder for what does not fit, or none; over so many people."""
    made: list[Service] = []

    def service(*, people: int, spill: Path | str) -> Service:
        (folder := tmp_path / f"{people}").mkdir()
        backend = ibis.duckdb.connect(memory_limit="20MB", temp_directory=str(spill), threads=1)
        backend.raw_sql(VIEW.format(people=people))
        budget = Budget(epsilon=1, ledger=folder / "people.db")
        stated: Any = {"unit": "person", "keys": {"plan": ["A", "B"]}, "max_groups": 1, "max_rows": 1}
        table = protect(backend.table("visits"), budget=budget, name="people", **stated)
        pace = Pace(least=1, per_thousand_cells=0)
        made.append(service_in(folder, clock, DataSet(name="people", table=table, budget=budget, pace=pace)))
        return made[-1]

    yield service
    for one in made:
        one.close()


def test_running_out_of_memory_is_told_as_every_failure_and_at_the_same_moment(opened: Opened, clock: Clock) -> None:
    """A table that fits and one that does not are the same until their public moment; neither is charged twice."""
    shown = []
    for people, ends in ((300, State.READY), (300_000, State.FAILED)):
        service, start = opened(people=people, spill=""), clock.now
        ada = service.members.principal("ada")
        job = service.submit(ada, ask(BY_PLAN, "0.5")).id
        wait_until_ended(service, job)
        before = service.job(ada, job)
        shown.append((before.state, before.ready_at - start, service.budget(ada, "people")))
        assert finished(service, ada, job, clock) is ends
        assert clock.now == before.ready_at
        if ends is State.FAILED:
            with pytest.raises(EngineError) as told:
                service.answer(ada, job)
            assert str(told.value) == FAILED
            assert "emory" not in str(service.job(ada, job))
            again = service.submit(ada, ask(COUNT, "0.25")).id
            assert finished(service, ada, again, clock) is State.READY  # the engine goes on
            assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0.75"
    assert shown[0] == shown[1]


def test_what_does_not_fit_is_put_aside_and_taken_away(opened: Opened, clock: Clock, tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    service = opened(people=600_000, spill=spill)
    ada = service.members.principal("ada")
    job = service.submit(ada, ask(BY_PLAN, "0.5")).id
    assert finished(service, ada, job, clock) is State.READY
    [a, b] = service.answer(ada, job).to_pyarrow()["n"].to_pylist()
    assert (abs(a - 600_000) < 300, abs(b) < 300) == (True, True)
    assert spill.exists()  # it was needed
    assert not [one for one in spill.iterdir() if one.stat().st_size]

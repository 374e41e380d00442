"""Jobs and what they are found by: their charges in a ledger that others may replace, under a clock that jumps."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.service.service_errors import Conflict, OverLimit
from service_fixtures import COUNT, Clock, ask, data_set, finished, service_in, wait_until_ended

OLD = "SELECT COUNT(*) AS old FROM people WHERE age > 30"
BY_PLAN = "SELECT plan, COUNT(*) AS by_plan FROM people GROUP BY plan"
COLUMN = {COUNT: "n", OLD: "old", BY_PLAN: "by_plan"}
JUMPS = (0.5, 5, 60, 1e5, 3e7, -1, -60, -1e5, -3e7)


@pytest.mark.parametrize("other", [BY_PLAN, OLD])
def test_a_new_ledger_in_the_place_of_another_gives_no_answer_of_that_one(tmp_path: Path, other: str) -> None:
    """Its charges have the numbers of those of before; a state that went on has these with their answers."""
    clock, lost = Clock(), tmp_path / "lost"
    lost.mkdir()
    service = service_in(lost, clock)
    ada = service.members.principal("ada")
    finished(service, ada, service.submit(ada, ask(other)).id, clock)
    service.close()
    (lost / "state.db").rename(tmp_path / "state.db")
    people = data_set("people", tmp_path)
    service = service_in(tmp_path, clock, people)
    here = people.budget.ledger_identity  # as if the other had been here: this process has it open still
    service._store.write(lambda execute: execute("UPDATE job SET ledger = ?", here))
    found = []
    for who in ("ada", "bob"):
        principal = service.members.principal(who)
        job = service.submit(principal, ask()).id
        assert finished(service, principal, job, clock) == "ready"
        found.append(service.answer(principal, job).to_pyarrow())
    assert found[0] == found[1]
    assert found[1].column_names == ["n", "n_low", "n_high"]
    assert people.budget.spent.epsilon == Fraction(1, 10)
    service.close()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_clock_that_jumps_charges_nothing_twice_and_changes_no_answer(tmp_path: Path, seed: int) -> None:
    """Asks, looks, restarts, and jumps of up to a year either way, in any order."""
    draw, clock = random.Random(seed), Clock()  # noqa: S311 (no secret)
    people = data_set("people", tmp_path, epsilon=10)
    service = service_in(tmp_path, clock, people)
    jobs: dict[str, tuple[str, str]] = {}
    answers: dict[str, Any] = {}
    for _ in range(40):
        who, step = draw.choice(["ada", "bob"]), draw.random()
        if step < 0.4:
            sql, key = draw.choice(list(COLUMN)), draw.choice([None, "one", "two"])
            asked = ask(sql, fresh=draw.random() < 0.2)
            with suppress(Conflict, OverLimit):  # the key is of another ask; too many are not shown any more
                jobs[service.submit(service.members.principal(who), asked, key).id] = who, sql
        elif step < 0.7:
            clock.now += draw.choice(JUMPS)
        elif step < 0.75:
            service.close()
            service = service_in(tmp_path, clock, people)
        elif jobs:
            job, (who, sql) = draw.choice(list(jobs.items()))
            principal = service.members.principal(who)
            if service.job(principal, job).state == "ready":
                found: pa.Table = service.answer(principal, job).to_pyarrow()
                assert COLUMN[sql] in found.column_names
                assert answers.setdefault(job, found) == found
    for job in jobs:
        wait_until_ended(service, job)
    charged = service._store.read("SELECT entry FROM job WHERE twin IS NULL AND entry IS NOT NULL ORDER BY entry")
    assert [entry for (entry,) in charged] == [entry.number for entry in people.budget.entries()]
    assert charged
    service.close()

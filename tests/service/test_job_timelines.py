"""Random timelines of asks, played twice with looks of other lengths that agree in their steps: both show the same."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from depth import examples
from discreet.service.answer_timing import Pace
from discreet.service.data_sets import Policy, Seen
from discreet.service.job_records import JobRecord
from discreet.service.job_runner import JobRunner
from discreet.service.roles import Role
from discreet.service.service import Service
from service_fixtures import COUNT, Clock, ask, data_set, service_in

QUESTIONS = (COUNT, f"{COUNT} WHERE age > 30", "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan")
MEMBERS = {"ada": Role.ANALYST, "bob": Role.ANALYST, "dora": Role.AUDITOR}
LATEST = 40.0
TRIALS = examples(6)
SECONDS = 4.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One ask of a timeline."""

    moment: float
    who: str
    sql: str
    fresh: bool
    step: int
    """At which its own look is over: 0 for the first."""
    fails: bool


class Played:
    """A service whose looks are run here, one principal's after each other, and take as long as they are to."""

    def __init__(self, service: Service, clock: Clock, lengths: list[float]) -> None:
        self._service, self._clock, self._lengths = service, clock, lengths
        self._going: list[tuple[float, int, JobRecord]] = []
        self.jobs: list[tuple[str, str]] = []

    def begin(self) -> None:
        """Begins the looks of all principals of whom none is being run."""
        queue = self._service._runner._waiting
        while any(job.principal not in queue._running for job in queue._waiting):
            job = queue.take()
            assert job is not None
            number = next(place for place, (_, name) in enumerate(self.jobs) if name == job.id)
            self._going.append((self._clock.now + self._lengths[number] * job.first, number, job))

    def until(self, moment: float) -> None:
        """Ends the looks that are over by then."""
        while self._going and min(self._going)[0] <= moment:
            ended = min(self._going)
            self._going.remove(ended)
            self._clock.now, runner = ended[0], self._service._runner
            runner._answer(ended[2])
            runner._waiting.release(ended[2])
            self.begin()
        self._clock.now = moment

    def shown(self) -> list[Any]:
        """All that analysts and an auditor are shown at this moment."""
        service, dora = self._service, self._service.members.principal("dora")
        found: list[Any] = [entry["answered"] for entry in service.entries(dora, "people")]
        for who, job in self.jobs:
            one = service.job(service.members.principal(who), job)
            given = service._book.answer(job) if one.state == "ready" else None
            numbers = (place for place, (_, other) in enumerate(self.jobs) if self._own(other) == given)
            source = None if given is None else next(numbers)
            found.append((str(one.state), one.ready_at, one.cost, one.paid, one.failure, source))
        return [*found, *(service._book.busy(who) for who in MEMBERS)]

    def _own(self, job: str) -> bytes | None:
        found = self._service._book.find(job)
        return None if found is None or found.entry is None else self._service._book.answer(job)


def timeline(chance: random.Random) -> list[Asked]:
    """A few asks of two analysts."""
    return [
        Asked(
            moment=number + chance.choice((0.0, 0.25, 0.5)),
            who=chance.choice(("ada", "bob")),
            sql=chance.choice(QUESTIONS),
            fresh=chance.random() < 0.3,
            step=chance.choice((0, 0, 1, 2)),
            fails=chance.random() < 0.15,
        )
        for number in range(chance.randint(3, 7))
    ]


def lengths(asks: list[Asked], chance: random.Random) -> list[float]:
    """How long each look takes, in first steps: anything that is over at its step."""
    ends = ((0.0, 0.9), (1.05, 1.9), (2.05, 3.9))
    return [chance.uniform(*ends[one.step]) for one in asks]


def played(folder: Path, asks: list[Asked], took: list[float], cache: Seen) -> list[Any]:
    """What is shown at all moments."""
    folder.mkdir()
    clock = Clock(1_900_000_000.0)
    dataset = replace(
        data_set("people", folder, epsilon=100, policy=Policy(cache=cache)), pace=Pace(least=1, per_thousand_cells=500)
    )
    service = service_in(folder, clock, dataset, members=MEMBERS)
    playing, run = Played(service, clock, took), service._runner._run

    def sometimes(job: JobRecord) -> Any:
        number = next(place for place, (_, name) in enumerate(playing.jobs) if name == job.id)
        if asks[number].fails:
            raise RuntimeError("a look failed")
        return run(job)

    service._runner._run = sometimes
    found, began = [], clock.now
    for moment, one in events(asks):
        playing.until(began + moment)
        if one is None:
            found.append((moment, playing.shown()))
            continue
        job = service.submit(service.members.principal(one.who), ask(one.sql, fresh=one.fresh))
        playing.jobs.append((one.who, job.id))
        found.append((moment, [job.cost, job.ready_at, str(job.state)]))
        playing.begin()
    service.close()
    return found


def events(asks: list[Asked]) -> Iterator[tuple[float, Asked | None]]:
    """Asks, and looks at all there is to see in between."""
    looks: list[tuple[float, Asked | None]] = [(number / 2 + 0.125, None) for number in range(int(2 * LATEST))]
    yield from sorted([*looks, *((one.moment, one) for one in asks)], key=lambda event: event[0])


@pytest.mark.long
@pytest.mark.parametrize("cache", [Seen.ALL, Seen.OWN])
def test_what_is_shown_follows_from_the_steps_of_looks(
    tmp_path: Path, cache: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked when, by whom: of looks that agree in their own steps, nothing else is seen."""
    monkeypatch.setattr(JobRunner, "start", lambda self: self._book.beat())
    end = time.monotonic() + SECONDS
    for trial in range(TRIALS):
        seed = random.SystemRandom().getrandbits(32)
        chance = random.Random(seed)  # noqa: S311 - an example, which a failure names
        asks = timeline(chance)
        first, second = (played(tmp_path / f"{trial} {name}", asks, lengths(asks, chance), cache) for name in "ab")
        for one, other in zip(first, second, strict=True):
            assert one == other, (seed, asks)
        if time.monotonic() > end:
            break

"""Jobs: one for each accepted ask, with what is shown of it, and the record that a second start goes on from."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from discreet.service.public_moments import Schedule, State
from discreet.service.service_errors import OTHER_ASK, Conflict
from discreet.service.state_store import Execute, StateStore

FIELDS = (
    "id, principal, dataset, idempotency, digest, ask, what, cost, release, "
    "accepted, first, stage, done, failure, paid, entry, twin"
)
NOT_PUBLIC = "(stage <> 'ended' OR accepted + first + 2 * (done + 1 - accepted) > ?)"
"""Of all jobs that are not shown as ended, and some more: a step is at most twice as long after the acceptance as what
it waits for, or the first."""
ALIVE = 15.0
"""Seconds without a beat after which an instance is taken for dead. Its accepted jobs go on elsewhere; those that it
was answering are not drawn a second time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is shown of a job: nothing that depends on when it was done, but for the step."""

    id: str
    dataset: str
    what: str
    cost: dict[str, str]
    state: State
    accepted_at: float
    ready_at: float
    """When it may be ready, or was; seconds since 1970."""
    failure: str | None = None
    """What failed, of a job that is shown as failed: a kind of error."""
    paid: bool | None = None
    """Of a job that is ready: whether it was charged, or answered from the record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRecord:
    """A job as it is stored."""

    id: str
    principal: str
    dataset: str
    idempotency: str | None
    digest: str
    ask: str
    what: str
    cost: str
    release: str
    accepted: float
    first: float
    stage: str = "queued"
    done: float | None = None
    failure: str | None = None
    paid: int | None = None
    entry: int | None = None
    twin: str | None = None

    def is_public(self, now: float) -> bool:
        """Whether it is shown as ended."""
        return self.shown(now).state in (State.READY, State.FAILED)

    def shown(self, now: float) -> Job:
        """What is shown of it now."""
        schedule = Schedule(accepted=self.accepted, first=self.first)
        state, moment = schedule.view(self.done, now, failed=self.failure is not None)
        return Job(
            id=self.id,
            dataset=self.dataset,
            what=self.what,
            cost=json.loads(self.cost),
            state=state,
            accepted_at=self.accepted,
            ready_at=moment,
            failure=self.failure if state is State.FAILED else None,
            paid=bool(self.paid) if state is State.READY else None,
        )


class JobBook:
    """The jobs of a store, and which instance of the service they belong to."""

    def __init__(self, store: StateStore, instance: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self.instance = instance
        self.clock = clock

    def find(self, job: str) -> JobRecord | None:
        """The job of this name."""
        return self._one("id = ?", job)

    def repeated(self, principal: str, idempotency: str, digest: str) -> JobRecord | None:
        """The job that this key already stands for.

        Raises:
            Conflict: it stands for another ask.
        """
        found = self._one("principal = ? AND idempotency = ?", principal, idempotency)
        if found is not None and found.digest != digest:
            raise Conflict(OTHER_ASK)
        return found

    def accept(self, job: JobRecord) -> tuple[JobRecord, bool]:
        """Records a job; the one that its key stands for already, and false, where there is one."""
        names = FIELDS.split(", ")
        values = [getattr(job, name) for name in names]

        def work(execute: Execute) -> bool:
            marks = ", ".join("?" * (len(names) + 1))
            sql = f"INSERT INTO job ({FIELDS}, owner) VALUES ({marks}) ON CONFLICT DO NOTHING RETURNING id"  # noqa: S608 (own names)
            return bool(execute(sql, *values, self.instance))

        if self._store.write(work):
            return job, True
        found = self.repeated(job.principal, str(job.idempotency), job.digest)
        return (found, False) if found else (job, False)

    def charged(self, job: str, entry: int) -> bool:
        """Puts it on record that a job was charged, and by which entry; false, where it was taken over."""
        sql = (
            "UPDATE job SET stage = 'queued', entry = ? WHERE id = ? AND owner = ? "
            "AND (stage = 'charging' OR (stage = 'queued' AND entry = ?)) RETURNING id"
        )
        return bool(self._store.write(lambda execute: execute(sql, entry, job, self.instance, entry)))

    def forget(self, job: str) -> None:
        """Takes back a job whose charge was refused: its key may be used again."""
        self._store.write(lambda execute: execute("DELETE FROM job WHERE id = ? AND stage = 'charging'", job))

    def doubted(self, job: str) -> bool:
        """Marks a job as begun of which nobody knows whether it was charged."""
        sql = "UPDATE job SET stage = 'running' WHERE id = ? AND stage = 'charging' AND owner = ? RETURNING id"
        return bool(self._store.write(lambda execute: execute(sql, job, self.instance)))

    def twin(self, release: str, dataset: str, principal: str | None) -> str | None:
        """A job for the same release that is not shown as ended, of one principal or of anybody.

        Whether it is done makes no difference: so nobody learns when it was from what a second one costs.
        """
        now = self.clock()
        where = f"release = ? AND dataset = ? AND twin IS NULL AND entry IS NOT NULL AND {NOT_PUBLIC}"
        values: list[Any] = [release, dataset, now]
        if principal is not None:
            where, values = f"{where} AND principal = ?", [*values, principal]
        found = self._many(f"{where} ORDER BY accepted, id", *values)
        return next((one.id for one in found if not one.is_public(now)), None)

    def begin(self, job: str) -> bool:
        """Whether it is this instance's to run, from now on."""
        sql = "UPDATE job SET stage = 'running' WHERE id = ? AND stage = 'queued' AND owner = ? RETURNING id"
        return bool(self._store.write(lambda execute: execute(sql, job, self.instance)))

    def end(self, job: str, *, answer: bytes | None, failure: str | None, paid: bool) -> bool:
        """Records how a job ended, once."""
        sql = (
            "UPDATE job SET stage = 'ended', done = ?, failure = ?, paid = ?, answer = ? "
            "WHERE id = ? AND stage = 'running' AND owner = ? RETURNING id"
        )

        def work(execute: Execute) -> bool:
            return bool(execute(sql, self.clock(), failure, int(paid), answer, job, self.instance))

        return self._store.write(work)

    def answer(self, job: str) -> bytes | None:
        """The stored answer of a job that has one."""
        rows = self._store.read("SELECT answer FROM job WHERE id = ?", job)
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def own_answer(self, principal: str, release: str) -> bytes | None:
        """The latest answer that a principal was given to one question at one price."""
        sql = (
            "SELECT answer FROM job WHERE release = ? AND principal = ? AND answer IS NOT NULL "
            "ORDER BY done DESC LIMIT 1"
        )
        rows = self._store.read(sql, release, principal)
        return bytes(rows[0][0]) if rows else None

    def of(self, dataset: str, principal: str | None, most: int) -> list[JobRecord]:
        """The latest jobs of a data set: everybody's, or one principal's."""
        where, values = "dataset = ?", [dataset]
        if principal is not None:
            where, values = f"{where} AND principal = ?", [dataset, principal]
        return self._many(f"{where} ORDER BY accepted DESC, id LIMIT {int(most)}", *values)

    def busy(self, principal: str) -> int:
        """How many jobs of a principal are not shown as ended; when they were done makes no difference before that."""
        now = self.clock()
        sql = f"SELECT accepted, first, done FROM job WHERE principal = ? AND {NOT_PUBLIC}"  # noqa: S608 (own words)
        rows = self._store.read(sql, principal, now)
        shown = (Schedule(accepted=accepted, first=first).view(done, now)[0] for accepted, first, done in rows)
        return sum(state is not State.READY for state in shown)

    def hidden_entries(self, dataset: str, numbers: Iterable[int]) -> set[int]:
        """Of some charges those whose jobs are not shown as ended."""
        listed = sorted(numbers)
        if not listed:
            return set()
        found = self._many("dataset = ? AND entry BETWEEN ? AND ?", dataset, listed[0], listed[-1])
        now = self.clock()
        return {one.entry for one in found if one.entry is not None and not one.is_public(now)}

    def beat(self) -> None:
        """Says that this instance lives."""
        sql = "INSERT INTO instance VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET beat = excluded.beat"
        self._store.write(lambda execute: execute(sql, self.instance, self.clock()))

    def leave(self) -> None:
        """Says that this instance ends: its jobs are free at once."""
        self._store.write(lambda execute: execute("DELETE FROM instance WHERE id = ?", self.instance))

    def orphans(self) -> list[JobRecord]:
        """Takes over the jobs whose instance is dead; those that it was running are marked as running here."""

        def work(execute: Execute) -> list[str]:
            sql = (
                "UPDATE job SET owner = ? WHERE stage <> 'ended' AND owner <> ? AND NOT EXISTS "
                "(SELECT 1 FROM instance WHERE id = owner AND beat > ?) RETURNING id"
            )
            rows = execute(sql, self.instance, self.instance, self.clock() - ALIVE)
            return [str(name) for (name,) in rows]

        if not self._store.read("SELECT 1 FROM job WHERE stage <> 'ended' AND owner <> ? LIMIT 1", self.instance):
            return []
        return [found for name in self._store.write(work) if (found := self.find(name)) is not None]

    def _one(self, where: str, *values: Any) -> JobRecord | None:
        return next(iter(self._many(where, *values)), None)

    def _many(self, where: str, *values: Any) -> list[JobRecord]:
        rows = self._store.read(f"SELECT {FIELDS} FROM job WHERE {where}", *values)  # noqa: S608 (own words)
        return [JobRecord(**dict(zip(FIELDS.split(", "), row, strict=True))) for row in rows]

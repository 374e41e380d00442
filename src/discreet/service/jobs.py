"""Jobs: one for each accepted ask, with what is shown of it, and the record that a second start goes on from.

Claim
    What a job costs, whose answer it is given, and when its steps are follow from what is public when it is accepted:
    not from what was done by then of any other look.
Requires
    One state store for all services whose data sets share a ledger: a job of another store is not known here.
Relies on
    `question_desk.QuestionDesk.repeated`; `public_moments`; `ledger.Ledger.latest`.
Proof
    A repeat is given the answer of the charge with the highest number, of those that are not of jobs which are open,
    that is, not shown as ended: numbers are given at acceptances, and what is shown as ended is on record. Where there
    is none, it waits for the open one that is soonest shown, done or not, and is shown, or fails, when that one does,
    by `JobBook.end`. Answers are read of jobs that are shown alone: that takes the longer the more they are.
    A charged job begins its steps where the looks before it are shown, by what is public; the rest is
    `public_moments.modelled_end`.
    *What remains.* That of two services on one ledger with two stores; and, of looks that miss their first step, which
    step it is.
Rounding
    None.
Source
    Haeberlen, Pierce and Narayan, "Differential privacy under fire" (2011): answers, budgets and clocks as channels.
Mutant
    repeats-by-level: what is being answered is found only where it was charged to the same level; killed by
    test_two_data_sets_of_one_ledger_do_not_tell_when_looks_end.
    steps-from-the-acceptance: a job behind others has its first step as if it had no one before it; killed by
    test_a_job_behind_a_long_one_does_not_tell_when_that_one_ended.
    ends-as-they-come: a look is shown by when it ended, whatever it had waited for; killed by
    test_a_job_behind_a_late_one_does_not_tell_when_that_one_ended.
    looks-before-forgotten: a look is taken to begin with its steps, whenever the one before it is shown; killed by
    test_a_job_behind_a_late_one_does_not_tell_when_that_one_ended.
    answers-by-number-alone: the answer of a charge is looked for by its number, whatever it is of; killed by
    test_a_new_ledger_in_the_place_of_another_gives_no_answer_of_that_one.
    repeats-are-shown-when-done: who is given another job's answer is shown it when that one is done; killed by
    test_a_repeat_is_shown_when_what_it_repeats_is.
    limits-are-counted-before: jobs that are sent at once are all let in; killed by
    test_limits_hold_for_what_is_sent_at_once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from discreet.ledger.budget import Budget
from discreet.service.public_moments import Schedule, State, modelled_end
from discreet.service.service_errors import OTHER_ASK, TOO_MANY_JOBS, Conflict, OverLimit
from discreet.service.state_store import Execute, StateStore

FIELDS = (
    "id, principal, dataset, idempotency, digest, ask, what, cost, release, "
    "accepted, first, stage, done, failure, paid, entry, twin, ledger, level, start"
)
NEVER = 1e300
"""When what has not ended is shown as ended."""
OF_A_LOOK = "twin IS NULL AND (entry IS NOT NULL OR failure IS NOT NULL OR stage <> 'ended')"
"""Of jobs that the rows are looked at for, and not answered from the record."""
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
    ledger: str | None = None
    level: str | None = None
    start: float = 0.0

    @property
    def schedule(self) -> Schedule:
        """Its public moments."""
        return Schedule(start=self.start, first=self.first)

    def shown(self, now: float) -> Job:
        """What is shown of it now."""
        state, moment = self.schedule.view(self.done, now, failed=self.failure is not None)
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
        self._shown: dict[str, float] = {}
        """By principal: from when the last look of theirs here is shown. Each look here waited for the one before."""

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

    def adopt(self, dataset: str, ledger: str, level: str) -> None:
        """Tells jobs of a data set which ledger they were charged to: those that an older version accepted, and those
        that are not shown as ended while the ledger has moved to another place.
        """
        where = "dataset = ? AND (ledger IS NULL OR (ledger <> ? AND shown > ?))"
        values = (dataset, ledger, self.clock())
        sql = f"UPDATE job SET ledger = ?, level = COALESCE(level, ?) WHERE {where}"  # noqa: S608 (own words)
        if self._store.read(f"SELECT 1 FROM job WHERE {where} LIMIT 1", *values):  # noqa: S608 (own words)
            self._store.write(lambda execute: execute(sql, ledger, level, *values))

    def accept(self, job: JobRecord, *, answer: bytes | None = None, most: int | None = None) -> tuple[JobRecord, bool]:
        """Records a job, with its answer if it has one; or the one that its key stands for already, and false.

        Its steps begin where those of the looks that go first are shown, by what is public now. One whose twin has
        ended meanwhile has ended as that one.

        Raises:
            OverLimit: so many jobs of its principal are not shown as ended, and others may be.
        """

        def work(execute: Execute) -> JobRecord | None:
            known = "SELECT 1 FROM job WHERE id = ? OR (principal = ? AND idempotency = ?)"
            if execute(known, job.id, job.principal, job.idempotency):
                return None
            placed = self._after_twin(execute, self._after_others(execute, job, most))
            names = FIELDS.split(", ")
            marks = ", ".join("?" * (len(names) + 3))
            shown = NEVER if placed.done is None else placed.schedule.moment(placed.done)
            sql = f"INSERT INTO job ({FIELDS}, shown, owner, answer) VALUES ({marks})"  # noqa: S608 (own names)
            execute(sql, *(getattr(placed, name) for name in names), shown, self.instance, answer)
            return placed

        if (placed := self._store.write(work)) is not None:
            return placed, True
        found = self.repeated(job.principal, str(job.idempotency), job.digest)
        return found or job, False

    def _after_others(self, execute: Execute, job: JobRecord, most: int | None) -> JobRecord:
        """A job whose steps begin, if it has a look, once those of its principal's others are shown."""
        now = self.clock()
        sql = f"SELECT start, first, done, {OF_A_LOOK} FROM job WHERE principal = ? AND shown > ?"  # noqa: S608 (own words)
        rows = execute(sql, job.principal, now)
        if most is not None and len(rows) >= most:
            raise OverLimit(TOO_MANY_JOBS)
        if job.stage == "ended" or job.twin is not None:
            return replace(job, start=job.accepted)
        looks = [Schedule(start=start, first=first).view(done, now)[1] for start, first, done, look in rows if look]
        return replace(job, start=max([job.accepted, *looks]))

    def _after_twin(self, execute: Execute, job: JobRecord) -> JobRecord:
        """A job that has ended as its twin, if that has. How long this takes does not depend on the answer."""
        if job.twin is None:
            return job
        ((stage, shown, failure),) = execute("SELECT stage, shown, failure FROM job WHERE id = ?", job.twin)
        return replace(job, stage="ended", done=shown, failure=failure, paid=0) if stage == "ended" else job

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

    def open_looks(self, release: str, budget: Budget, principal: str | None) -> list[JobRecord]:
        """The charged jobs for a release that are not shown as ended, the soonest first: of one principal, or of all
        whose stored answers a budget finds, for whichever data set they were asked.

        Whether they are done makes no difference: so nobody learns when they were from what a repeat costs.
        """
        now = self.clock()
        where = "release = ? AND shown > ? AND ledger = ? AND twin IS NULL AND entry IS NOT NULL"
        values: list[Any] = [release, now, budget.ledger_identity]
        if principal is not None:
            where, values = f"{where} AND principal = ?", [*values, principal]
        found = [one for one in self._many(where, *values) if budget.finds(one.level or "")]
        return sorted(found, key=lambda one: (one.shown(now).ready_at, one.entry or 0))

    def holder(self, ledger: str, entry: int, release: str) -> str | None:
        """The job that has the answer that a charge paid for; in a new ledger, charges have the numbers of old ones."""
        found = self._one("ledger = ? AND entry = ? AND release = ? AND answer IS NOT NULL", ledger, entry, release)
        return None if found is None else found.id

    def begin(self, job: str) -> bool:
        """Whether it is this instance's to run, from now on."""
        sql = "UPDATE job SET stage = 'running' WHERE id = ? AND stage = 'queued' AND owner = ? RETURNING id"
        return bool(self._store.write(lambda execute: execute(sql, job, self.instance)))

    def end(self, job: JobRecord, *, answer: bytes | None, failure: str | None, paid: bool, took: float = 0.0) -> bool:
        """Records how a job ended, once, whose own look and waiting for strangers took so many seconds; and the same of
        those that are given its answer, which show it when it does.
        """
        kept = "UPDATE job SET answer = ? WHERE id = ? AND stage = 'running' AND owner = ?"
        ended = (
            "UPDATE job SET stage = 'ended', failure = ?, paid = ? "
            "WHERE id = ? AND stage = 'running' AND owner = ? RETURNING start"
        )
        repeats = "SELECT id, start, first FROM job WHERE twin = ? AND stage = 'repeating'"
        moments = "UPDATE job SET stage = 'ended', failure = ?, done = ?, shown = ? WHERE id = ?"

        def work(execute: Execute) -> bool:
            for (start,) in execute(ended, failure, int(paid), job.id, self.instance):
                behind = max(start, self._shown.get(job.principal, start))
                done = max(self.clock(), modelled_end(behind, job.first, took))
                shown = Schedule(start=start, first=job.first).moment(done)
                execute(moments, failure, done, shown, job.id)
                for repeat, own_start, first in execute(repeats, job.id):
                    moment = Schedule(start=own_start, first=first).moment(shown)
                    execute(moments, failure, shown, moment, repeat)
                self._shown[job.principal] = shown
                return True
            return False

        if answer is not None:  # by itself: what says when it ended is to last right after it was written
            self._store.write(lambda execute: execute(kept, answer, job.id, self.instance))
        return self._store.write(work)

    def answer(self, job: str) -> bytes | None:
        """The stored answer of a job that has one, or was given that of its twin."""
        sql = (
            "SELECT COALESCE(job.answer, twin.answer) FROM job "
            "LEFT JOIN job AS twin ON twin.id = job.twin WHERE job.id = ?"
        )
        rows = self._store.read(sql, job)
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def own_answer(self, principal: str, release: str) -> str | None:
        """The job with the latest answer that a principal was shown to one question at one price."""
        where = "release = ? AND principal = ? AND answer IS NOT NULL AND shown <= ? ORDER BY accepted DESC, id LIMIT 1"
        found = self._one(where, release, principal, self.clock())
        return None if found is None else found.id

    def of(self, dataset: str, principal: str | None, most: int) -> list[JobRecord]:
        """The latest jobs of a data set: everybody's, or one principal's."""
        where, values = "dataset = ?", [dataset]
        if principal is not None:
            where, values = f"{where} AND principal = ?", [dataset, principal]
        return self._many(f"{where} ORDER BY accepted DESC, id LIMIT {int(most)}", *values)

    def busy(self, principal: str) -> int:
        """How many jobs of a principal are not shown as ended; when they were done makes no difference before that."""
        ((found,),) = self._store.read(
            "SELECT COUNT(*) FROM job WHERE principal = ? AND shown > ?", principal, self.clock()
        )
        return int(found)

    def hidden_entries(self, ledger: str, numbers: Iterable[int]) -> set[int]:
        """Of some charges to a ledger those whose jobs are not shown as ended, for whichever data set."""
        listed = sorted(numbers)
        if not listed:
            return set()
        sql = "SELECT entry FROM job WHERE ledger = ? AND entry BETWEEN ? AND ? AND shown > ?"
        return {int(entry) for (entry,) in self._store.read(sql, ledger, listed[0], listed[-1], self.clock())}

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
                "UPDATE job SET owner = ? WHERE stage NOT IN ('ended', 'repeating') AND owner <> ? AND NOT EXISTS "
                "(SELECT 1 FROM instance WHERE id = owner AND beat > ?) RETURNING id"
            )
            rows = execute(sql, self.instance, self.instance, self.clock() - ALIVE)
            return [str(name) for (name,) in rows]

        left = "SELECT 1 FROM job WHERE stage NOT IN ('ended', 'repeating') AND owner <> ? LIMIT 1"
        if not self._store.read(left, self.instance):
            return []
        return [found for name in self._store.write(work) if (found := self.find(name)) is not None]

    def _one(self, where: str, *values: Any) -> JobRecord | None:
        return next(iter(self._many(where, *values)), None)

    def _many(self, where: str, *values: Any) -> list[JobRecord]:
        rows = self._store.read(f"SELECT {FIELDS} FROM job WHERE {where}", *values)  # noqa: S608 (own words)
        return [JobRecord(**dict(zip(FIELDS.split(", "), row, strict=True))) for row in rows]

"""Jobs: one for each accepted ask, with what is shown of it, and the record that a second start goes on from.

Claim
    (a) What a job costs, whose answer it is given, and when its steps are follow from what is public when it is
    accepted: not from what was done by then of any other look. (b) Of asks for one release, not fresh, whose answers
    may be shared, one is charged until that one fails, however many are sent at once, and to whichever process.
Requires
    One state store for all services whose data sets share a ledger: a job of another store is not known here.
Relies on
    `question_desk.QuestionDesk.repeated`; `answer_timing`; `ledger.Ledger.latest`. `state_store`: its transactions
    that write come one after another.
Proof
    A repeat is given the answer of the charge with the highest number, of those that are not of jobs which are open,
    that is, not shown as ended: numbers are given at acceptances, and what is shown as ended is on record. Where there
    is none, it waits for the open one that is soonest shown, done or not, and is shown, or fails, when that one does,
    by `JobBook.end`. Answers are read of jobs that are shown alone: that takes the longer the more they are.
    The open one is looked for in the transaction that accepts, and transactions that write have the state alone. One
    that was accepted before is found there, though its charge be on its way, or have become public since the record
    was read (`Sharing.since`): so no second one is charged. A charge that is refused takes its job back, and fails
    the repeats of it in the same transaction; one in doubt ends its job, and them with it, by the runner.
    A charged job begins its steps where the looks before it are shown, by what is public; the rest is
    `answer_timing.modelled_end`.
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
    charging-is-no-twin: a job that is being charged is not repeated; killed by
    test_one_question_that_is_sent_at_once_is_charged_once.
    repeats-outlive-refusals: who repeats a job whose charge is refused waits for ever; killed by
    test_who_repeats_a_job_whose_charge_is_refused_is_refused_too.
    shown-meanwhile-is-no-twin: what became public since the record was read is not repeated; killed by
    test_what_is_charged_while_another_is_checked_is_repeated.
    limits-are-counted-before: jobs that are sent at once are all let in; killed by
    test_limits_hold_for_what_is_sent_at_once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from discreet.errors import DiscreetError
from discreet.service.answer_timing import State, modelled_end, schedule
from discreet.service.job_records import FIELDS, FREE, JobRecord, Sharing
from discreet.service.service_errors import OTHER_ASK, TOO_MANY_JOBS, Conflict, OverLimit
from discreet.service.state_store import Execute, StateStore

NEVER = 1e300
"""When what has not ended is shown as ended."""
OF_A_LOOK = "twin IS NULL AND (entry IS NOT NULL OR failure IS NOT NULL OR stage <> 'ended')"
"""Of jobs that the rows are looked at for, and not answered from the record."""
MOMENTS = "UPDATE job SET stage = 'ended', failure = ?, done = ?, shown = ? WHERE id = ?"
ALIVE = 15.0
"""Seconds without a beat after which an instance is taken for dead. Its accepted jobs go on elsewhere; those that it
was answering are not drawn a second time."""


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

    def accept(
        self,
        job: JobRecord,
        *,
        answer: bytes | None = None,
        most: int | None = None,
        sharing: Sharing | None = None,
        refused: DiscreetError | None = None,
    ) -> tuple[JobRecord, bool]:
        """Records a job, with its answer if it has one; or the one that its key stands for already, and false.

        One that is to be charged, and may share answers, repeats an open look at the same release instead. Its steps
        begin where those of the looks that go first are shown, by what is public now.

        Raises:
            OverLimit: so many jobs of its principal are not shown as ended, and others may be.
            BudgetExceeded, InvalidParameter: `refused`, where it would have to be charged.
        """

        def work(execute: Execute) -> JobRecord | None:
            known = "SELECT 1 FROM job WHERE id = ? OR (principal = ? AND idempotency = ?)"
            if execute(known, job.id, job.principal, job.idempotency):
                return None
            found = job if job.twin or sharing is None else self._repeating(execute, job, sharing)
            if refused is not None and found.twin is None:
                raise refused
            placed = self._after_twin(execute, self._after_others(execute, found, most))
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

    def _repeating(self, execute: Execute, job: JobRecord, sharing: Sharing) -> JobRecord:
        """A job that is to be charged as a repeat of the open look that is soonest shown, if there is one.

        What was shown as ended since the record was looked up is such a look, too, unless it failed.
        """
        if job.stage != "charging":
            return job
        now = self.clock()
        looks = (one for one in self.open_looks(job.release, sharing, execute) if one.shown(now).state != State.FAILED)
        twin = next(looks, None)
        return job if twin is None else replace(job, stage="repeating", twin=twin.id, cost=json.dumps(FREE))

    def _after_others(self, execute: Execute, job: JobRecord, most: int | None) -> JobRecord:
        """A job whose steps begin, if it has a look, once those of its principal's others are shown."""
        now = self.clock()
        sql = f"SELECT start, first, start > accepted, {OF_A_LOOK} FROM job WHERE principal = ? AND shown > ?"  # noqa: S608 (own words)
        rows = execute(sql, job.principal, now)
        if most is not None and len(rows) >= most:
            raise OverLimit(TOO_MANY_JOBS)
        if job.stage == "ended" or job.twin is not None:
            return replace(job, start=job.accepted)
        looks = [schedule(start, first, waits=waits).after(now) for start, first, waits, look in rows if look]
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

    def forget(self, job: str, failure: str) -> None:
        """Takes back a job whose charge was refused: its key may be used again. What was to repeat it fails so."""
        sql = "DELETE FROM job WHERE id = ? AND stage = 'charging' RETURNING id"

        def work(execute: Execute) -> None:
            if execute(sql, job):
                _end_repeats(execute, job, self.clock(), failure)

        self._store.write(work)

    def doubted(self, job: str) -> bool:
        """Marks a job as begun of which nobody knows whether it was charged."""
        sql = "UPDATE job SET stage = 'running' WHERE id = ? AND stage = 'charging' AND owner = ? RETURNING id"
        return bool(self._store.write(lambda execute: execute(sql, job, self.instance)))

    def open_looks(self, release: str, sharing: Sharing, read: Execute | None = None) -> list[JobRecord]:
        """The jobs for a release that have a charge or are being charged and were not shown as ended, the soonest
        first, whose answers may be shared, for whichever data set they were asked.

        Whether they are done makes no difference: so nobody learns when they were from what a repeat costs.
        """
        where = (
            "release = ? AND shown > ? AND ledger = ? AND twin IS NULL AND (entry IS NOT NULL OR stage = 'charging')"
        )
        values: list[Any] = [release, sharing.since, sharing.budget.ledger_identity]
        if sharing.principal is not None:
            where, values = f"{where} AND principal = ?", [*values, sharing.principal]
        found = [one for one in self._many(where, *values, read=read) if sharing.budget.finds(one.level or "")]
        now = self.clock()
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

        def work(execute: Execute) -> bool:
            for (start,) in execute(ended, failure, int(paid), job.id, self.instance):
                behind = max(start, self._shown.get(job.principal, start))
                moments = replace(job, start=start).schedule
                done = modelled_end(moments, behind, max(self.clock(), behind + took))
                shown = moments.moment(done)
                execute(MOMENTS, failure, done, shown, job.id)
                _end_repeats(execute, job.id, shown, failure)
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

    def _many(self, where: str, *values: Any, read: Execute | None = None) -> list[JobRecord]:
        rows = (read or self._store.read)(f"SELECT {FIELDS} FROM job WHERE {where}", *values)  # noqa: S608 (own words)
        return [JobRecord(**dict(zip(FIELDS.split(", "), row, strict=True))) for row in rows]


def _end_repeats(execute: Execute, job: str, shown: float, failure: str | None) -> None:
    """Ends those that were to be given the answer of a job, as it ended, from when that is shown."""
    repeats = "SELECT id, start, first FROM job WHERE twin = ? AND stage = 'repeating'"
    for repeat, start, first in execute(repeats, job):
        execute(MOMENTS, failure, shown, schedule(start, first, waits=True).moment(shown), repeat)

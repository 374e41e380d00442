"""Runs jobs: a few threads of each instance, and a beat that tells others that it lives.

Claim
    A job is charged at most once, when it is accepted, whatever instance dies when: what was accepted and not begun is
    begun elsewhere with its charge; what was begun, may have been, or was about to be charged, is never drawn again,
    but given its answer if the ledger has it, and failed if not. What one principal asks does not keep another's jobs
    from being begun, while there are threads.
Requires
    A store whose updates are atomic: `JobBook`.
Relies on
    `job_budgets.Prepaid`: one charge for one run. `ledger.budget`: an answer that was committed is found by its key.
Proof
    `begin` and `end` change a row only from the stage before, and for its owner; of two instances that want to begin,
    one does. Where a commit of `begin` failed, nobody knows whether it was begun: then nothing is drawn, as for one
    that was. A job that is running when its instance dies is taken over as running, and `resume` asks for its stored
    answer and draws nothing.
Rounding
    None.
Source
    Gray and Reuter, "Transaction processing" (1993), 10: leases and testable transactions.
Mutant
    what-was-begun-is-drawn-again: a job that was running is run once more; killed by
    test_a_job_that_was_begun_is_not_drawn_again.
    begun-in-doubt-is-drawn: a job of which nobody knows whether it was begun is run; killed by
    test_a_job_ends_whatever_commit_is_in_doubt.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from discreet.errors import BudgetExceeded, LedgerError
from discreet.service.fair_queue import FairQueue
from discreet.service.job_records import JobRecord
from discreet.service.jobs import JobBook

logger = logging.getLogger("discreet.service")

BEAT = 1.0
PATIENCE = 30.0
WORKERS = 4

BUDGET_FAILED, ENGINE_FAILED = "budget_exceeded", "engine_error"
"""How a job can fail: its charge did not fit after all, which the ledger says; or anything else, which has one text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a run gave."""

    answer: bytes | None
    paid: bool


class Written(NamedTuple):
    """What became of a change of a job's stage."""

    is_done: bool
    """The stage was the one before, and is another now."""
    was_in_doubt: bool
    """An earlier try failed, and may have done it: then the job is ended, and nothing is drawn for it."""


Run = Callable[[JobRecord], Outcome]


class JobRunner:
    """The threads of one instance. `run` answers a job; `resume` finds the answer of one that was begun elsewhere."""

    def __init__(
        self,
        book: JobBook,
        *,
        run: Run,
        resume: Run,
        workers: int = WORKERS,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._book = book
        self._on_beat = beat
        self._run = run
        self._resume = resume
        self._waiting = FairQueue(book.clock)
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"discreet-job-{number}", daemon=True) for number in range(workers)
        ]
        self._pulse = threading.Thread(target=self._beat, name="discreet-beat", daemon=True)

    def start(self) -> None:
        """Begins to work, with what dead instances left."""
        self._book.beat()
        self._adopt()
        self._on_beat()
        for thread in (*self._threads, self._pulse):
            thread.start()

    def add(self, job: JobRecord) -> None:
        """Has a job run that this instance accepted."""
        self._waiting.put(job)

    def stop(self, patience: float = PATIENCE) -> None:
        """Ends after the jobs that are being run, or `patience` seconds; what waits is left to the next instance."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._waiting.close()
        end = time.monotonic() + patience
        for thread in (*self._threads, self._pulse):
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        self._book.leave()

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT):
            try:
                self._book.beat()
                self._adopt()
                self._on_beat()
            except Exception:
                logger.exception("the state store does not answer")

    def _adopt(self) -> None:
        for job in self._book.orphans():
            self._waiting.put(job)

    def _work(self) -> None:
        while (job := self._waiting.take()) is not None:
            try:
                self._answer(job)
            finally:
                self._waiting.release(job)

    def _answer(self, job: JobRecord) -> None:
        work, stage = self._resume, job.stage
        if stage == "charging" and job.entry is not None:
            if not self._lasting(partial(self._book.charged, job.id, job.entry)).is_done:
                return
            stage = "queued"
        if stage in ("charging", "queued"):
            begun = self._lasting(partial(self._book.begin if stage == "queued" else self._book.doubted, job.id))
            if begun.is_done and stage == "queued":
                work = self._run
            elif not begun.is_done and not begun.was_in_doubt:
                return
        failure = None
        outcome = Outcome(answer=None, paid=False)
        try:
            outcome = self._given(work, job)
        except BudgetExceeded:
            failure = BUDGET_FAILED
        except LedgerError:
            failure = ENGINE_FAILED
        except Exception:
            logger.exception("a job failed")
            failure = ENGINE_FAILED
        took = self._book.clock() - self._waiting.began(job)
        end = partial(self._book.end, job, answer=outcome.answer, failure=failure, paid=outcome.paid, took=took)
        self._lasting(end)

    def _given(self, work: Run, job: JobRecord) -> Outcome:
        """What a run gave; where the ledger failed, what it has of it, asked again for a while."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return work(job)
            except BudgetExceeded:
                raise
            except LedgerError:
                logger.exception("the ledger failed")
                if time.monotonic() > end or self._stopped.wait(BEAT):
                    raise
            work = self._resume

    def _lasting(self, write: Callable[[], bool]) -> Written:
        """Writes to the store, again and again where it does not answer; not done where this instance ends before."""
        was_in_doubt = False
        while True:
            try:
                return Written(is_done=write(), was_in_doubt=was_in_doubt)
            except Exception:
                logger.exception("the state store does not answer")
            was_in_doubt = True
            if self._stopped.wait(BEAT):
                return Written(is_done=False, was_in_doubt=False)

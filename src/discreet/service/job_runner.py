"""Runs jobs: a few threads of each instance, and a beat that tells others that it lives.

Claim
    A job is charged at most once, whatever instance dies when: what was accepted and not begun is begun elsewhere; what
    was begun is never drawn again, but given its answer if the ledger has it, and failed if not.
Requires
    A store whose updates are atomic: `JobBook`.
Relies on
    `job_budgets.Paying`: one charge for one run. `ledger.budget`: an answer that was committed is found by its key.
Proof
    `begin` and `end` change a row only from the stage before, and for its owner; of two instances that want to begin,
    one does. A job that is running when its instance dies is taken over as running, and `resumed` asks for its stored
    answer with a budget that refuses every charge.
Rounding
    None.
Source
    Gray and Reuter, "Transaction processing" (1993), 10: leases and testable transactions.
Mutant
    what-was-begun-is-drawn-again: a job that was running is run once more; killed by
    test_a_job_that_was_begun_is_not_drawn_again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from discreet.errors import BudgetExceeded, DiscreetError, LedgerError
from discreet.service.jobs import JobBook, JobRecord

logger = logging.getLogger("discreet.service")

BEAT = 1.0
PATIENCE = 30.0
WORKERS = 2

BUDGET_FAILED, ENGINE_FAILED = "budget_exceeded", "engine_error"
"""How a job can fail: its charge did not fit after all, which the ledger says; or anything else, which has one text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a run gave."""

    answer: bytes | None
    paid: bool


Run = Callable[[JobRecord], Outcome]


class JobRunner:
    """The threads of one instance. `run` answers a job; `resume` finds the answer of one that was begun elsewhere."""

    def __init__(self, book: JobBook, *, run: Run, resume: Run, workers: int = WORKERS) -> None:
        self._book = book
        self._run = run
        self._resume = resume
        self._waiting: queue.SimpleQueue[JobRecord | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"discreet-job-{number}", daemon=True) for number in range(workers)
        ]
        self._pulse = threading.Thread(target=self._beat, name="discreet-beat", daemon=True)

    def start(self) -> None:
        """Begins to work, with what dead instances left."""
        self._book.beat()
        self._adopt()
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
        for _ in self._threads:
            self._waiting.put(None)
        end = time.monotonic() + patience
        for thread in (*self._threads, self._pulse):
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        self._book.leave()

    @property
    def waiting(self) -> int:
        """How many jobs wait here."""
        return self._waiting.qsize()

    def _beat(self) -> None:
        while not self._stopped.wait(BEAT):
            try:
                self._book.beat()
                self._adopt()
            except DiscreetError:
                logger.exception("the state store does not answer")

    def _adopt(self) -> None:
        for job in self._book.orphans():
            self._waiting.put(job)

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            if self._stopped.is_set():
                return
            self._answer(job)

    def _answer(self, job: JobRecord) -> None:
        work = self._resume
        if job.stage == "queued":
            if not self._lasting(partial(self._book.begin, job.id)):
                return
            work = self._run
        failure = None
        outcome = Outcome(answer=None, paid=False)
        try:
            outcome = work(job)
        except BudgetExceeded:
            failure = BUDGET_FAILED
        except LedgerError:
            logger.exception("the ledger refused a charge")
            failure = ENGINE_FAILED
        except Exception:
            logger.exception("a job failed")
            failure = ENGINE_FAILED
        end = partial(self._book.end, job.id, answer=outcome.answer, failure=failure, paid=outcome.paid)
        self._lasting(end)

    def _lasting(self, write: Callable[[], bool]) -> bool:
        """Writes to the store, again and again where it does not answer; false where this instance ends before."""
        while True:
            try:
                return write()
            except LedgerError:
                logger.exception("the state store does not answer")
            if self._stopped.wait(BEAT):
                return False

"""The queue of jobs that wait, fair to each principal: what one asks keeps no other's jobs from being begun."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from discreet.service.job_records import JobRecord


class FairQueue:
    """Jobs that wait: the next is one of a principal of whom none is being run, in the order in which they came.

    So that nobody's jobs wait for the looks of one other principal, as long as there is a thread for each.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._left: dict[str, float] = {}
        """By principal: when the last job of theirs ended."""
        self._waiting: list[JobRecord] = []
        self._running: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, job: JobRecord) -> None:
        """Adds a job."""
        with self._changed:
            self._waiting.append(job)
            self._changed.notify()

    def take(self) -> JobRecord | None:
        """The next job, once there is one, to be released by `release`; None once this is closed."""
        with self._changed:
            while not self._closed:
                for place, job in enumerate(self._waiting):
                    if job.principal not in self._running:
                        self._running.add(job.principal)
                        return self._waiting.pop(place)
                self._changed.wait()
        return None

    def began(self, job: JobRecord) -> float:
        """From when on a job that was taken waited for no other one of its principal."""
        return max(job.accepted, self._left.get(job.principal, 0.0))

    def release(self, job: JobRecord) -> None:
        """Lets the next job of this principal be taken."""
        with self._changed:
            self._left[job.principal] = self._clock()
            self._running.discard(job.principal)
            self._changed.notify_all()

    def close(self) -> None:
        """Ends whoever takes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

"""When an answer may leave: at moments that follow from the price and the stated size alone.

Claim
    What a job shows at time t, its state and the next moment at which it may change, is a function of public facts and
    of the number k of the step at which it is done. Whether it failed, was answered from the record, or looked at a
    million rows makes no other difference.
Requires
    `done` was written before the moment that it is compared with, with `GRACE` to spare.
Relies on
    `state_store`: what was written is seen by every later reader.
Proof
    The steps are at start + first * 2**k. `first` is made by `first_step` from the price and stated facts; `start` is
    the acceptance, or a later moment that was public then: that of a look which goes first. A job that is done at time
    d is shown as such from step k on, the least with d + GRACE <= start + first * 2**k; before, it is shown like one
    that is not done. So for t the view depends on d through k alone.
    A look that waited for others of the same principal began when the last of them ended, which is not public. What is
    written for it is `modelled_end`: the end of a look of the same length, rounded up to a step of its own, that began
    when that one was shown. So k follows from the steps of those before and from its own length.
    *What remains.* k itself: whether an answer was ready by the first step. A first step that is long for the data set
    makes k = 0 for all neighbors; `benchmarks/clock.py` measures it.
Rounding
    None.
Source
    Haeberlen, Pierce and Narayan, "Differential privacy under fire" (2011); Ratliff and Vadhan, "A framework for
    differential privacy against timing attacks" (2024).
Mutant
    answers-leave-when-done: a job that is done is shown at once; killed by
    test_what_is_done_waits_for_the_next_step.
    failures-leave-at-once: a failure does not wait; killed by test_failures_take_the_same_way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

GRACE = 0.02
"""Seconds between the last word of a job and the moment at which it may be shown: its record has to be there."""

MOST_STEPS = 40
"""Beyond, a job would be accepted for longer than anybody lives."""


class State(StrEnum):
    """What is shown of a job."""

    ACCEPTED = "accepted"
    READY = "ready"
    FAILED = "failed"
    LATE = "late"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """The stated facts from which first steps are made, in seconds."""

    least: float = 0.5
    """For any release."""
    per_million_rows: float = 2.0
    """For each noisy total, and each million rows that the curator states."""
    per_thousand_cells: float = 0.05
    rows: int = 0
    """How many rows there are, about, as the curator states in public; never counted."""

    def first_step(self, *, totals: int, cells: int) -> float:
        """Seconds until the first public moment of a release with so many noisy totals of so many cells.

        >>> Pace(rows=1_000_000).first_step(totals=2, cells=10)
        4.6
        """
        rows = max(1, totals) * self.per_million_rows * self.rows / 1e6
        exact = self.least + rows + self.per_thousand_cells * max(1, totals) * cells / 1000
        return math.ceil(exact * 10 - 1e-9) / 10


def step_time(start: float, first: float, step: int) -> float:
    """When a step is."""
    return start + first * 2.0 ** min(step, MOST_STEPS)


def step_of(start: float, first: float, done: float) -> int:
    """The step at which a job is shown that was done at this time."""
    step = 0
    while step < MOST_STEPS and done + GRACE > step_time(start, first, step):
        step += 1
    return step


def modelled_end(start: float, first: float, took: float) -> float:
    """When a look ends that began at `start` and took so long, rounded up to just before the step that shows it.

    >>> modelled_end(100.0, 1.0, 0.3), modelled_end(100.0, 1.0, 1.3)
    (100.96, 101.96)
    """
    return step_time(start, first, step_of(0.0, first, took)) - 2 * GRACE


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The public side of a job: the moment from which its steps are counted, and how long the first one is."""

    start: float
    first: float

    def moment(self, done: float) -> float:
        """When a job is shown as ended that was done at this time."""
        return step_time(self.start, self.first, step_of(self.start, self.first, done))

    def view(self, done: float | None, now: float, *, failed: bool = False) -> tuple[State, float]:
        """What is shown at `now`, and the moment at which that may change; of a job that ended, when it did."""
        if done is not None:
            moment = self.moment(done)
            if now >= moment:
                return (State.FAILED if failed else State.READY), moment
        step = 0
        while step < MOST_STEPS and now >= step_time(self.start, self.first, step):
            step += 1
        return (State.LATE if step else State.ACCEPTED), step_time(self.start, self.first, step)

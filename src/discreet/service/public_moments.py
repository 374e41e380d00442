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
    The steps are at accepted + first * 2**k, and `first` is made by `first_step` from the price and stated facts. A job
    that is done at time d is shown as such from step k on, the least with d + GRACE <= accepted + first * 2**k; before,
    it is shown like one that is not done. So for t the view depends on d through k alone.
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


def step_time(accepted: float, first: float, step: int) -> float:
    """When a step is."""
    return accepted + first * 2.0 ** min(step, MOST_STEPS)


def step_of(accepted: float, first: float, done: float) -> int:
    """The step at which a job is shown that was done at this time."""
    step = 0
    while step < MOST_STEPS and done + GRACE > step_time(accepted, first, step):
        step += 1
    return step


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The public side of a job: when it was accepted, and how long its first step is."""

    accepted: float
    first: float

    def view(self, done: float | None, now: float, *, failed: bool = False) -> tuple[State, float]:
        """What is shown at `now`, and the moment at which that may change; of a job that ended, when it did."""
        if done is not None:
            moment = step_time(self.accepted, self.first, step_of(self.accepted, self.first, done))
            if now >= moment:
                return (State.FAILED if failed else State.READY), moment
        step = 0
        while step < MOST_STEPS and now >= step_time(self.accepted, self.first, step):
            step += 1
        return (State.LATE if step else State.ACCEPTED), step_time(self.accepted, self.first, step)

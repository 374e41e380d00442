"""When an answer may leave: at moments that follow from the price and the stated size alone.

Claim
    (a) What a job shows at time t, its state and the next moment at which it may change, is a function of public facts
    and of the number k of the step at which it is done. Whether it failed, was answered from the record, or looked at a
    million rows makes no other difference. (b) A look behind a late one is late by as much and a part in `PARTS`.
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
    written for it is `modelled_end`: the step k of a look of the same length that began when that one was shown, at the
    first of its moments from then on. So that one follows from k, of its own length, and from what was public before.
    (b) Its moments are as dense as `parts` says: doubles alone would double how late it is with each look in between.
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
    lateness-doubles: a look that waits has no other moments than steps; killed by
    test_a_late_look_does_not_double_what_is_behind_it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

GRACE = 0.02
"""Seconds between the last word of a job and the moment at which it may be shown: its record has to be there."""

PARTS = 32
"""Moments of a look that waits for others between one step and the next, which is twice as late; as far apart as the
first step is long, at least. More of them would have clients ask more often.
"""
NEAR = 1e-5
"""Seconds between two that are the same moment, computed in two ways: much less than `GRACE`."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The public side of a job: the moment from which its steps are counted, and how long the first one is."""

    start: float
    first: float
    parts: int = 1
    """A power of two: so many moments lie between one step and the next, where there is room for them."""

    def moment(self, done: float) -> float:
        """When a job is shown as ended that was done at this time."""
        return self.at_or_after(done + GRACE)

    def at_or_after(self, time: float) -> float:
        """The first of its moments from a time on.

        >>> one = Schedule(start=100.0, first=0.5, parts=2)
        >>> [one.at_or_after(time) for time in (100.2, 100.6, 101.1, 102.6)]
        [100.5, 101.0, 101.5, 103.0]
        """
        return self.start + self.first * self._number((time - NEAR - self.start) / self.first)

    def after(self, time: float) -> float:
        """The first of its moments behind a time."""
        return self.start + self.first * self._number(math.floor((time + NEAR - self.start) / self.first) + 0.5)

    def _number(self, least: float) -> float:
        """The first moment from `least` on, where the first step ends at 1."""
        if least <= 1:
            return 1.0
        apart = max(1.0, 2.0 ** (math.frexp(least)[1] - 1) / self.parts)
        return math.ceil(least / apart) * apart

    def view(self, done: float | None, now: float, *, failed: bool = False) -> tuple[State, float]:
        """What is shown at `now`, and the moment at which that may change; of a job that ended, when it did."""
        if done is not None:
            moment = self.moment(done)
            if now >= moment:
                return (State.FAILED if failed else State.READY), moment
        moment = self.after(now)
        return (State.LATE if moment > self.start + self.first else State.ACCEPTED), moment


def schedule(start: float, first: float, *, waits: bool) -> Schedule:
    """The moments of a job, which may wait for another one."""
    return Schedule(start=start, first=first, parts=PARTS if waits else 1)


def modelled_end(moments: Schedule, behind: float, ended: float) -> float:
    """When a look is taken to have ended that began where those before it are shown, and took until `ended`: right
    before the moment that shows it.

    >>> alone = Schedule(start=100.0, first=1.0)
    >>> modelled_end(alone, 100.0, 100.3), modelled_end(alone, 100.0, 101.3)
    (100.96, 101.96)
    """
    own = Schedule(start=behind, first=moments.first).moment(ended)
    return moments.at_or_after(own) - 2 * GRACE

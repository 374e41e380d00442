"""Noisy whole numbers that go on step by step, from which sums of the last steps are estimated.

Claim
    All that a `NoisyStream` ever publishes is together `rho`-zCDP, for units that add vectors of an L2 norm of at most
    `contribution` to at most `participation.steps` of the steps. What was published never changes; its estimates are
    unbiased, and none that is linear and unbiased is better, then or later.
Requires
    Limits that were enforced on the counts; counts of a step that are the same whenever they are given.
Relies on
    `stream_strategy`: `moved`, and rows that look back only. `mechanisms.gaussian`. `OneRun`: threads draw one after
    another, and neither a fork nor a copy draws.
Proof
    *Privacy.* Over its whole life it publishes A x + noise, with fresh noise for each row, drawn when the row is
    published; row t is a function of the counts up to t. So it is one Gaussian mechanism on A x, whose L2 sensitivity
    is the root of `moved` times `contribution`, published part by part. The counts of later steps may depend on what
    was published: whatever that was, the squares of what one unit moves each row by add up to no more, and then the
    rows together cost what one release costs (Denisov et al. for one step; Feldman and Zrnic's filter for zCDP, Smith
    and Thakurta's for Gaussian differential privacy). Nothing but what was published is kept.
    *Estimates.* A is square with a diagonal above 0, so what is published up to t determines x_1, ..., x_t up to its
    noise, each by the rows up to it: later rows say nothing more of them, and by Gauss and Markov the estimates
    A^-1 y are the best that are linear and unbiased.
Rounding
    The sensitivity up. Estimates by forward substitution whose sums are rounded once (`math.fsum`), so that they are
    the same bits wherever they are computed.
Source
    Dwork, Naor, Pitassi and Rothblum, "Differential privacy under continual observation" (2010); Denisov et al.
    (2022); Feldman and Zrnic (2021); Smith and Thakurta (2022).
Mutant
    noise-drawn-twice: a row that was published is drawn again; killed by test_what_was_published_stays.
    threads-draw-at-once: each thread draws the steps that are new to it; killed by
    test_a_step_is_drawn_once_by_many_threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import confidence_level, positive, root_above
from discreet.exact.given_values import array_of
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.process_identity import OneRun
from discreet.series.series_strategy import Reals, SeriesStrategy
from discreet.series.step_windows import Window
from discreet.workloads.hierarchy_least_squares import reach


@dataclass(eq=False)
class NoisyStream(OneRun):
    """Counts that are published step by step, for one price.

    >>> from discreet.series import StepWindows, StreamStrategy
    >>> stream = NoisyStream(StreamStrategy.best(StepWindows.of(30, (1, 7, "all"))), rho=1)
    >>> stream.publish([5, 0, 3])
    >>> stream.publish([5, 0, 3, 9, 9, 2, 1])
    >>> len(stream.sums("all")), len(stream.sums(7)), len(stream.half_widths(7))
    (7, 1, 1)
    """

    strategy: SeriesStrategy
    rho: object
    contribution: object = 1
    """How far one unit moves the counts of one step, in L2 norm."""
    published: list[list[int]] = field(default_factory=list)
    """For each step what was measured, one whole number for each column of the counts: all that there is to keep."""
    noise: Gaussian = field(init=False)

    def __post_init__(self) -> None:
        super().__init__()
        square = positive("contribution", self.contribution) ** 2 * self.strategy.moved
        self.noise = Gaussian(sensitivity=root_above(Fraction(square)), rho=self.rho)

    def publish(self, counts: ArrayLike, *, words: RandomWords | None = None) -> None:
        """Measures the steps that are new, each once and for good.

        Args:
            counts: whole numbers of all steps so far, one row for each step.
            words: random words for tests; without them, of the operating system's secure source.

        Raises:
            InvalidParameter: fewer steps than were published, or more than there are; or this is a fork.
        """
        with self._alone():
            self._publish(array_of("counts", counts), words or fresh_words())

    def _publish(self, array: NDArray[Any], source: RandomWords) -> None:
        history = array.reshape(len(array), -1) if array.ndim and array.size else np.zeros((0, 1), array.dtype)
        before, most = len(self.published), self.strategy.windows.steps
        if not array.ndim or array.dtype.kind not in "iu" or not before <= len(history) <= most:
            what = f"whole numbers of {before:,} to {most:,} steps"
            cure = "give the counts of all steps so far, those that were published among them."
            raise InvalidParameter(expected(what, "counts", f"{array.dtype} of {len(history):,} steps", cure))
        for row in measured(self.strategy, history, before):
            self.published.append(self.noise.add_noise(row, source).tolist())

    def values(self) -> Reals:
        """The estimate of each step."""
        return estimated(self.strategy, self.published)

    def sums(self, window: Window) -> Reals:
        """The estimates of a window, one row for each step at which it is full."""
        found: Reals = self.strategy.windows.sums(self.values(), self._known(window))
        return found

    def half_widths(self, window: Window, *, confidence: object = 0.95, simultaneous: bool = False) -> Reals:
        """What each of these is off by at most, with this confidence; `simultaneous`, all windows and steps at once,
        those to come among them.
        """
        width = len(self.published[0]) if self.published else 1
        every = self.strategy.windows.number * width if simultaneous else 1
        level = 1 - (1 - confidence_level(confidence)) / every
        full = len(self.strategy.windows.full(self._known(window), len(self.published)))
        sigmas = reach(level, gaussian=True) * float(self.noise.scale)
        found: Reals = sigmas * self.strategy.deviations[window][:full] + self.strategy.roundings[window][:full] / 2
        return found

    def _known(self, window: Window) -> Window:
        if window not in self.strategy.windows.first:
            known = ", ".join(map(repr, self.strategy.windows.first))
            raise InvalidParameter(expected(f"one of the windows {known}", "window", window, "ask for one of them."))
        return window


def measured(strategy: SeriesStrategy, history: NDArray[Any], before: int = 0) -> list[NDArray[Any]]:
    """The exact sums of the steps behind the first `before`, in integers that cannot wrap."""
    held = history.astype(object)
    return [strategy.row(step).astype(object) @ held[: step + 1] for step in range(before, len(held))]


def estimated(strategy: SeriesStrategy, published: Sequence[Sequence[int]]) -> Reals:
    """The estimate of each step, by forward substitution."""
    width = len(published[0]) if published else 1
    found: Reals = np.zeros((len(published), width))
    for step, own in enumerate(published):
        row = strategy.row(step).astype(np.float64)
        before = row[:step, None] * found[:step]
        for column in range(width):
            rest = math.fsum([float(own[column]), *(-before[:, column]).tolist()])
            found[step, column] = rest / row[step]
    return found

"""The sparse vector technique: many answers held against a threshold, and only the few above it are paid for.

Claim
    Let every answer, of any number of adaptively chosen questions, move by at most `sensitivity` between neighbors.
    All that ``SparseVector(sensitivity=D, epsilon=e, threshold=T, count=c)`` ever returns, one boolean for each answer
    until c of them were True, is e-differentially private.
Requires
    ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `OneRun`: one run for one object, no copies, no forks.
    `DiscreteLaplace.sample`, and `Geometric` for what lies beyond its cap: exact laws.
Proof
    *Lattice.* An answer is rounded to a multiple of g, half to even; g is a power of two, and D at most M g, M an even
    number of 2^24 to 2^25. Rounding is monotone and moves with its argument by even multiples of g; so answers that are
    M g apart at most stay so.
    *Run.* rho ~ Lap(M/e1) is drawn once and nu_i ~ Lap(2 c M/e2) for each answer, in units of g, e1 + e2 = e; answer i
    is above if q_i + nu_i >= T + rho. Fix what was returned, and all nu_i of answers below. As rho moves up by M, each
    answer below stays below on the neighbor, since q'_i - q_i <= M; as nu_i of an answer above moves up by 2M, it stays
    above, since q'_i + nu_i + 2M >= q_i + nu_i + M >= T + rho + M. The shifts cost M/(M/e1) + c 2M/(2cM/e2) = e. If all
    answers move the same way, nu_i need move by M only: when they rise, it keeps up with rho; when they fall, rho stays
    and nu_i makes up for the fall. So Lap(c M/e2) is enough.
    The rule when to stop is a function of what was returned. Answers after the last paid one are not looked at.
    *Cap.* A draw at the cap stands for "the cap or more", and by memorylessness its excess is geometric: it is drawn.
Rounding
    None but that to the lattice, which is part of the claim. e1 is a fraction near the share that makes the variance
    of nu - rho smallest.
Source
    Dwork, Naor, Reingold, Rothblum, Vadhan (STOC 2009); Lyu, Su, Li, Understanding the Sparse Vector Technique for
    Differential Privacy (PVLDB 10, 2017), algorithm 7, and which published variants are not private.
Mutant
    noise-without-count: the noise of answers does not grow with `count`; killed by test_the_scales_are_those_proved.
    threshold-without-noise: the threshold is the same in every run; killed by test_outcomes_have_their_chance.
    one-more-positive: a run goes on after the last positive that was paid; killed by test_it_stops_when_paid_out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import BudgetExceeded, InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, decimal_text, fraction, positive
from discreet.exact.given_values import array_of
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.selection_probabilities import exact_scores
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.geometric import Geometric
from discreet.noise.laplace import CAP, DiscreteLaplace
from discreet.noise.process_identity import OneRun
from discreet.privacy.events import Event, PureEvent

STEP_BITS = 24
"""One sensitivity is at least 2 to this power lattice steps long."""

WIDEST = 1 << 56
"""Noise of a scale of more steps than this is refused: its draws would not end."""

SMALL = 1 << 61
"""Steps below this and noise below the cap add up within 64 bits."""

SHARE_PLACES = 1000


class SparseVector(OneRun, HasLoss):
    """Says of each answer whether it is above a threshold, until `count` of them were; all for one epsilon.

    One object is one run. Answers below cost nothing, however many they are. Nothing but booleans is returned: to learn
    a value, ask for it with another mechanism and pay.

    Args:
        sensitivity: the most by which one unit moves any single answer.
        epsilon: the price of the whole run.
        threshold: what the answers are held against; public.
        count: how many answers above the threshold the run may report.
        monotonic: whether a unit moves all answers the same way (counts under add-remove).
        share: the part of epsilon for the noise of the threshold; the best for single answers, if you do not say.

    >>> run = SparseVector(sensitivity=1, epsilon=1, threshold=100, count=2)
    >>> run.release([3, 5, 1000, 4, 2000]).tolist()
    [False, False, True, False, True]
    >>> run.remaining
    0
    """

    __slots__ = (
        "_guard", "_lattice", "_level", "_owner", "count", "epsilon", "monotonic", "remaining", "sensitivity", "share",
        "threshold",
    )  # fmt: skip

    @with_usage_hint("dp.SparseVector(sensitivity=1, epsilon={}, threshold=100, count=3)")
    def __init__(
        self,
        *,
        sensitivity: object,
        epsilon: object,
        threshold: object,
        count: int = 1,
        monotonic: bool = False,
        share: object = None,
    ) -> None:
        self.sensitivity = positive("sensitivity", sensitivity)
        self.epsilon = positive("epsilon", epsilon)
        self.threshold = fraction("threshold", threshold)
        self.count = at_least_one("count", count, "say how many may be reported.")
        if not isinstance(monotonic, bool):
            cure = "say whether answers all move the same way: monotonic=True or monotonic=False."
            raise InvalidParameter(expected("True or False", "monotonic", monotonic, cure))
        self.monotonic = monotonic
        self.share = best_share(self.count * (1 if monotonic else 2)) if share is None else fraction("share", share)
        if not 0 < self.share < 1:
            cure = "leave `share` out, or give a part of one, as share=0.5."
            raise InvalidParameter(expected("a share between 0 and 1", "share", share, cure))
        self.remaining = self.count
        self._lattice = _lattice(self.sensitivity)
        if max(self.scales) > WIDEST * self._lattice[0]:
            cure = "raise epsilon, or ask for fewer answers above the threshold."
            raise InvalidParameter(
                expected("noise below 2**32 sensitivities", "epsilon", decimal_text(self.epsilon), cure)
            )
        self._level: int | None = None  # the noisy threshold, in steps, once the run has begun
        super().__init__()

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The scales of the noise on the threshold and of that on each answer, in the unit of the answers."""
        step, steps = self._lattice
        each = (1 if self.monotonic else 2) * self.count
        return steps * step / (self.epsilon * self.share), each * steps * step / (self.epsilon * (1 - self.share))

    @property
    def event(self) -> Event:
        """What a ledger records of the whole run."""
        return PureEvent(epsilon=self.epsilon)

    @with_usage_hint(".release([120, 80])")
    def release(self, answers: ArrayLike, *, words: RandomWords | None = None) -> Any:
        """Whether each answer is above the threshold, as far as the noise tells.

        Args:
            answers: one exact answer, or several in their order; ints, floats (each its exact value) or Fractions.
            words: where chance comes from; the operating system, if you do not test.

        Returns:
            A bool for one answer. An array of booleans for several: one for each, or up to the one with which the run
            ended, if it did.

        Raises:
            InvalidParameter: an answer is not a finite number, or this is a copy of the run in a forked process.
            BudgetExceeded: the run has ended.
        """
        single = array_of("answers", answers).ndim == 0
        exact = exact_scores([answers] if single else answers)
        with self._alone():
            self._check_remaining()
            source = words or fresh_words()
            on_threshold, on_answers = (scale / self._lattice[0] for scale in self.scales)
            if self._level is None:
                self._level = round(self.threshold / self._lattice[0]) + int(_noise(on_threshold, 1, source)[0])
            above = _sum(_steps(exact, self._lattice[0]), _noise(on_answers, exact.size, source)) >= self._level
            found = np.flatnonzero(above)
            if found.size >= self.remaining:
                above = above[: int(found[self.remaining - 1]) + 1]
            self.remaining -= int(above.sum())
        return bool(above[0]) if single else above.astype(np.bool_)

    def bound(self, *, answers: int, confidence: object = 0.95) -> float:
        """With this confidence, every answer reported is above threshold - bound, every other below threshold + bound.

        >>> round(SparseVector(sensitivity=1, epsilon=1, threshold=0).bound(answers=1000), 1)
        44.1
        """
        level = confidence_level(confidence)
        at_least_one("answers", answers)
        miss, (one, each) = float(1 - level) / 2, map(float, self.scales)
        return one * math.log(1 / miss) + each * math.log(answers / miss) + 2 * float(self._lattice[0])

    def _check_remaining(self) -> None:
        if not self.remaining:
            cure = "begin a new run with a new SparseVector, and pay for it."
            text = expected(f"at most {self.count} answers above the threshold", "remaining", 0, cure)
            raise BudgetExceeded(text)

    def __repr__(self) -> str:
        amounts = (self.sensitivity, self.epsilon, self.threshold)
        sensitivity, epsilon, threshold = (decimal_text(amount) for amount in amounts)
        stated = f"sensitivity={sensitivity}, epsilon={epsilon}, threshold={threshold}, count={self.count}"
        return f"SparseVector({stated}, remaining={self.remaining})"


def best_share(factor: int) -> Fraction:
    """The part of epsilon for the threshold that makes the variance of noise(answer) - noise(threshold) smallest, to
    three places; the noise of an answer having `factor` times the scale of that of the threshold at equal epsilon.

    >>> best_share(2), best_share(200)
    (Fraction(193, 500), Fraction(7, 250))
    """
    return Fraction(max(1, round(SHARE_PLACES / (1 + factor ** (2 / 3)))), SHARE_PLACES)


def _lattice(sensitivity: Fraction) -> tuple[Fraction, int]:
    """A power of two, and an even number of steps of that length that reaches the sensitivity."""
    exponent = sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length()
    if Fraction(2) ** exponent > sensitivity:
        exponent -= 1
    step = Fraction(2) ** (exponent - STEP_BITS)
    return step, 2 * -(-sensitivity // (2 * step))


def _steps(answers: NDArray[Any], step: Fraction) -> NDArray[Any]:
    """The answers in steps (a power of two), rounded half to even: int64 where they are small."""
    if answers.dtype != object:
        largest = float(np.abs(answers.astype(np.float64)).max())
        if largest < float(step * (SMALL // 2)):
            if answers.dtype.kind == "f":
                rounded: NDArray[np.int64] = np.rint(np.ldexp(answers, -_exponent(step))).astype(np.int64)
                return rounded
            if step <= 1:
                return answers.astype(np.int64) << -_exponent(step)
    exact = [round(Fraction(answer) / step) for answer in answers.tolist()]  # Python rounds fractions half to even
    small = all(abs(steps) < SMALL for steps in exact)
    return np.array(exact, dtype=np.int64 if small else object)


def _exponent(power: Fraction) -> int:
    return power.numerator.bit_length() - power.denominator.bit_length()


def _noise(scale: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
    """n draws of discrete Laplace noise, without a cap: int64, or Python integers where one is beyond it."""
    drawn: NDArray[Any] = DiscreteLaplace.of_scale(scale).sample(n, words)
    beyond = np.flatnonzero(np.abs(drawn) >= CAP)
    if beyond.size:
        drawn, geometric = drawn.astype(object), Geometric.of_scale(scale)
        for i in beyond:
            excess = total = CAP
            while excess >= CAP:
                excess = int(geometric.sample(1, words)[0])
                total += min(excess, CAP)
            drawn[i] = total if drawn[i] > 0 else -total
    return drawn


def _sum(steps: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    if object in (steps.dtype, noise.dtype):
        return np.asarray(steps.astype(object) + noise.astype(object))
    return np.asarray(steps + noise)

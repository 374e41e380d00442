"""The joint exponential mechanism: k of many candidates in one draw, in order or as a set.

Claim
    ``JointExponential(k=k, sensitivity=D, epsilon=e).release(scores)`` returns k different indices s with probability
    exactly proportional to exp(-f(s)/scale), where f(s) = max_i (x_(i) - x_(s_i)), x_(i) the i-th largest score; with
    ``order=False`` a set of k, in ascending order, f the largest score outside minus the smallest inside, or 0 if that
    is larger. It is e-differentially private if no unit moves a score by more than D; with ``monotonic=True``, if also
    all scores move the same way. Its privacy losses, for any two neighbors, lie in an interval of length e (bounded
    range): it is e^2/8-zCDP.
Requires
    What is claimed of the scores. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `noise.top_k_outcomes`: exact draws. Arb's enclosures.
Proof
    f stays the same if a constant is added to all scores. Let v be their change between neighbors, and W = max v -
    min v: at most 2D, and at most D if all move the same way. So let 0 <= v <= W. Then x_(i), which rises with every
    score, moves by something in 0..W, as does each score, the largest outside and the smallest inside; their
    differences move by something in -W..W, and so do the largest of differences and the larger of one and 0. By the
    proof of `Exponential`, the losses lie in an interval of length 2W / scale, which is e for scale = 2W/e.
    *k = 1.* Both f are x_(1) - x_s. The change of x_(1) is the same for all s, and that of x_s lies in 0..W: the
    interval has length W / scale, and scale = W/e is enough. This is `Exponential`. For k = 2 it would not be: from
    (2, 1, 0, 0) to (3, 1, 0, 1), f of (1, 2), counted from 0, rises from 1 to 2, and that of (0, 3) falls from 1 to 0.
    *Shortfall.* A set with f <= c holds all before the first place t outside, and the others in it are not below
    x_(t) - c: its j-th best is at least the j-th best of all, minus c. There are N sets (sequences), one of which has f
    = 0; those with f >= c together have probability at most (N - 1) z / (1 + (N - 1) z), z = exp(-c/scale), so c =
    scale log((N - 1) (1 - miss)/miss) is enough, and with k equal scores that are c above all others no less is.
Rounding
    The draw: none. `bound` and `error`: the logarithm of N up.
Source
    Gillenwater, Joseph, Munoz, Ribero, A Joint Exponential Mechanism for Differentially Private Top-k (ICML 2022).
    Shekelyan, Loukides, Differentially Private Top-k Selection via Canonical Lipschitz Mechanism (2022): the loss of a
    set. Cesar, Rogers (ALT 2021), Dong, Durfee, Rogers (ICML 2020): bounded range.
Mutant
    joint-as-monotonic: the losses are taken to move one way, as scores do; killed by
    test_no_neighbor_costs_more_than_epsilon.
    set-in-place-of-sequence: a sequence has the law of a set; killed by test_releases_follow_the_definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, positive
from discreet.mechanisms.selection_probabilities import exact_scores
from discreet.noise.certified_comparison import float_above
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.top_k_outcomes import sequence, subset
from discreet.privacy.events import BoundedRangeEvent, Event

COUNTED = 30
"""Up to this logarithm, outcomes are counted one by one."""
PRECISION = 1024
"""Bits for the logarithms of factorials of numbers up to 10**100, of which few are left after subtraction."""


@dataclass(frozen=True, kw_only=True, init=False)
class JointExponential(HasLoss):
    """The indices of k good candidates, in one draw that pays once for all of them.

    Where the k best stand out, it finds them with far less epsilon than k choices of one at epsilon / k: what it needs
    is a gap behind the k-th of a few scales, whatever k is. Where they do not, it may take more of those who are behind
    together.

    Args:
        k: how many.
        sensitivity: the most by which one unit moves any single score.
        epsilon: the price of all k together.
        monotonic: whether scores all move the same way (counts under add-remove).
        order: whether the first is to be the best, and so on; a set is a smaller question, and has a smaller error.

    >>> best = JointExponential(k=2, sensitivity=1, epsilon=1, monotonic=True)
    >>> best.release([500, 2, 900, 3]).tolist()
    [2, 0]
    >>> JointExponential(k=2, sensitivity=1, epsilon=1, monotonic=True, order=False).release([500, 2, 900, 3]).tolist()
    [0, 2]
    """

    k: int
    sensitivity: Fraction
    epsilon: Fraction
    monotonic: bool
    order: bool

    def __init__(
        self, *, k: int, sensitivity: object, epsilon: object, monotonic: bool = False, order: bool = True
    ) -> None:
        for name, value in (("monotonic", monotonic), ("order", order)):
            if not isinstance(value, bool):
                raise InvalidParameter(expected("True or False", name, value, f"write {name}=True or {name}=False."))
        object.__setattr__(self, "k", at_least_one("k", k))
        object.__setattr__(self, "sensitivity", positive("sensitivity", sensitivity))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "monotonic", monotonic)
        object.__setattr__(self, "order", order)

    @property
    def scale(self) -> Fraction:
        """What a shortfall is divided by: 4 * sensitivity / epsilon; half of it for monotonic scores, half for k=1."""
        spread = (1 if self.monotonic else 2) * self.sensitivity
        return (1 if self.k == 1 else 2) * spread / self.epsilon

    @property
    def event(self) -> Event:
        """What a ledger records of the draw."""
        return BoundedRangeEvent(epsilon=self.epsilon)

    def release(self, scores: ArrayLike, *, words: RandomWords | None = None) -> NDArray[np.int64]:
        """k different indices, shape (k,): best first up to chance, or in ascending order with ``order=False``.

        Args:
            scores: one for each candidate; ints, floats (each its exact value) or Fractions, of any size.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: there are fewer than k scores, or one is not finite.
        """
        values = exact_scores(scores)
        if self.k > values.size:
            raise InvalidParameter(expected(f"{self.k} scores or more", "scores", values.size, "ask for a smaller k."))
        draw = sequence if self.order else subset
        return draw(values, self.k, 1 / self.scale, words or fresh_words())

    def error(self, *, candidates: int, confidence: object = 0.95) -> float:
        """The j-th choice falls short of the j-th best score by at most this, for all j, with this confidence, for any
        scores; of a set, the j-th best in it. For a set it is the exact quantile for the worst scores.
        """
        log_rivals, level = self._log_number(candidates, besides=1), confidence_level(confidence)
        return max(0.0, log_rivals + math.log(level) - math.log(1 - level)) * float(self.scale)

    def bound(self, *, candidates: int, confidence: object = 0.95) -> float:
        """The same by the theorem, scale log(N / (1 - confidence)) with N the number of outcomes; a little larger."""
        level = confidence_level(confidence)
        return (self._log_number(candidates, besides=0) - math.log(1 - level)) * float(self.scale)

    def _log_number(self, candidates: object, *, besides: int) -> float:
        """The logarithm of the number of outcomes, `besides` so many, or a little more."""
        several = at_least_one("candidates", candidates, "count the scores.")
        if several < self.k:
            raise InvalidParameter(expected(f"{self.k} candidates or more", "candidates", candidates, "count them."))
        with ctx.workprec(PRECISION):
            logarithm = arb(several + 1).lgamma() - arb(several - self.k + 1).lgamma()
            if not self.order:
                logarithm -= arb(self.k + 1).lgamma()
            if logarithm > COUNTED:
                return float_above(logarithm)
        number = (math.perm if self.order else math.comb)(several, self.k) - besides
        return math.log(number) if number else -math.inf

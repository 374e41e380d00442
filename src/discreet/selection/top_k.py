"""Top-k selection: the k best of many candidates, by noise added once or by repeated choice.

Claim
    ``TopK(k=k, sensitivity=D, epsilon=e, delta=d).release(scores)`` returns k different indices and is (e, d)-
    differentially private if no unit moves a score by more than D; with ``monotonic=True``, if also all scores move the
    same way. "one-shot" adds Gumbel noise once and takes the k largest; "peeling" (d = 0 only) chooses one by
    `PermuteAndFlip`, leaves it out, and goes on.
Requires
    What is claimed of the scores. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `noisy_argmax.winners`: exact noise, exact order. `accounting.conversions.zcdp_rho`: a rho that suffices for (e, d).
Proof
    *One-shot.* For Gumbel noise the largest sum, its index left out, the next, and so on, have the law of k rounds of
    the exponential mechanism at the same scale without replacement: given that i is the largest, the other sums,
    relative to it, have the law they had. Each round costs at most e0 and rho = e0^2/8 (bounded range), whatever the
    earlier rounds chose; so k rounds cost k e0 and k e0^2/8. e0 is the larger of e/k and sqrt(8 rho/k).
    *Peeling.* k adaptive rounds of a mechanism that costs e/k.
    *Bound.* In each round, the chosen falls short of the best left by more than scale log(m k / miss) with probability
    at most miss/k. The best left in round j is at least as good as the j-th best of all.
    *No smaller bound.* Let k scores be c above the R others, z = exp(-c/scale). While m of the k are left, a round
    takes one of them with probability m/(m + R z) for Gumbel noise. By `PermuteAndFlip` one of the others has the
    largest sum with probability R z times the integral of (1 - t)^m (1 - z t)^(R - 1) over t in (0, 1), and as 1 - z t
    >= (1 - t)^z that is at least R z / (m + 1 + z (R - 1)). All k are found with the product of these over m = 1..k;
    else one choice falls short by c.
Rounding
    e0 down.
Source
    Durfee, Rogers, Practical Differentially Private Top-k Selection with Pay-what-you-get Composition (NeurIPS 2019);
    Cesar, Rogers, Bounding, Concentrating, and Truncating (ALT 2021): e0^2/8. McKenna, Sheldon (NeurIPS 2020).
Mutant
    each-gets-all: every round is given the whole epsilon; killed by test_the_price_is_divided.
    scores-stay: a chosen candidate is not left out; killed by test_k_different_ones_are_chosen.
    one-round-may-fail: the chance of a miss is that of the last round; killed by
    test_some_scores_reach_the_lower_bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.conversions import zcdp_rho
from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, delta_or_zero, positive
from discreet.exact.bisection import least
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import Selector, exact_scores
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.noisy_argmax import ScoreNoise, winners
from discreet.privacy.events import Event, composed

METHODS = ("one-shot", "peeling")
DOWN = 1 - Fraction(1, 2**40)


@dataclass(frozen=True, kw_only=True)
class TopK(HasLoss):
    """The indices of k good candidates, best first as far as the noise tells.

    Args:
        k: how many.
        sensitivity: the most by which one unit moves any single score.
        epsilon: the price of all k together.
        delta: above 0, each choice can be given far more than epsilon / k.
        monotonic: whether all scores move the same way (counts under add-remove).
        method: "one-shot" (fast; the better one with a delta), or "peeling" (the better one without).

    >>> best = TopK(k=2, sensitivity=1, epsilon=1, monotonic=True)
    >>> best.release([500, 2, 900, 3]).tolist()
    [2, 0]
    >>> round(float(TopK(k=10, sensitivity=1, epsilon=1, delta=1e-6).each), 3)
    0.14
    """

    k: int
    epsilon: Fraction
    delta: Fraction
    method: str
    choice: Selector = field(repr=False)

    def __init__(
        self,
        *,
        k: int,
        sensitivity: object,
        epsilon: object,
        delta: object = 0,
        monotonic: bool = False,
        method: str = "one-shot",
    ) -> None:
        total, part, several = positive("epsilon", epsilon), delta_or_zero(delta), at_least_one("k", k)
        if method not in METHODS:
            raise InvalidParameter(expected("a method", "method", method, 'write "one-shot" or "peeling".'))
        if method == "peeling" and part:
            cure = 'use method="one-shot" with a delta: its choices cost less together.'
            raise InvalidParameter(expected("delta=0 for peeling", "delta", delta, cure))
        each = total / several
        if part:
            each = max(each, Fraction(math.sqrt(8 * zcdp_rho(total, part) / several)) * DOWN)
        rule = Exponential if method == "one-shot" else PermuteAndFlip
        object.__setattr__(self, "k", several)
        object.__setattr__(self, "epsilon", total)
        object.__setattr__(self, "delta", part)
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "choice", rule(sensitivity=sensitivity, epsilon=each, monotonic=monotonic))

    @property
    def each(self) -> Fraction:
        """The epsilon of one choice."""
        return self.choice.epsilon

    @property
    def event(self) -> Event:
        """What a ledger records of all k choices."""
        return composed(self.choice.event, times=self.k)

    def release(self, scores: ArrayLike, *, words: RandomWords | None = None) -> NDArray[np.int64]:
        """k different indices, shape (k,).

        Args:
            scores: one for each candidate; ints, floats (each its exact value) or Fractions.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: there are fewer than k scores, or one is not finite.
        """
        values, source, rate = exact_scores(scores), words or fresh_words(), 1 / self.choice.scale
        if self.k > values.size:
            raise InvalidParameter(expected(f"{self.k} scores or more", "scores", values.size, "ask for a smaller k."))
        if self.method == "one-shot":
            return winners(values, rate, source, k=self.k, noise=ScoreNoise.GUMBEL)
        left, chosen = np.arange(values.size), list[int]()
        for _ in range(self.k):
            place = int(winners(values[left], rate, source, noise=ScoreNoise.EXPONENTIAL)[0])
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return np.array(chosen, dtype=np.int64)

    def bound(self, *, candidates: int, confidence: object = 0.95) -> float:
        """The j-th choice falls short of the j-th best score by at most this, for all j, with this confidence."""
        level = confidence_level(confidence)
        return self.choice.bound(candidates=candidates, confidence=1 - (1 - level) / self.k)

    def lower_bound(self, *, candidates: int, confidence: object = 0.95) -> float:
        """No number below this bounds what choices fall short by, for all scores, with this confidence.

        >>> best = TopK(k=10, sensitivity=1, epsilon=1, monotonic=True)
        >>> round(best.lower_bound(candidates=1000), 1), round(best.bound(candidates=1000), 1)
        (109.4, 122.1)
        """
        miss, rivals = float(1 - confidence_level(confidence)), at_least_one("candidates", candidates) - self.k
        if rivals < 1:
            return 0.0
        left, more = np.arange(1.0, self.k + 1), 0 if self.method == "one-shot" else 1

        def missed(behind: float) -> float:
            z = math.exp(-behind)
            others = rivals * z / (left + more + (rivals - more) * z)
            return -math.expm1(float(np.log1p(-others.clip(None, 1.0 - 2.0**-50)).sum()))

        farthest = 2.0 * (math.log(rivals) + math.log(self.k) - math.log(miss)) + 1.0
        return least(lambda scales: missed(scales) <= miss, 0.0, farthest) * float(self.choice.scale)

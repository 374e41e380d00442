"""The probability that each candidate has the largest noisy score: exact tables for few candidates.

Claim
    ``table(scores, rate, noise)`` returns the probability that each candidate has the largest of rate * s_i + N_i, for
    independent N_i of the stated law, each correct to a float. ``exact_scores`` keeps every number as it is.
Requires
    Finite scores, at most `MOST` of them (LAPLACE: `MOST_LAPLACE`).
Relies on
    Arb's enclosures. `noisy_argmax.winners` draws from the same law.
Proof
    Let a_i = rate (s_i - max s) <= 0 and u_i = exp(a_i).
    *GUMBEL.* u_i / sum u.
    *EXPONENTIAL.* The largest total is at or above that of the best candidate, hence above 0; so candidate i wins with
    the integral over x > 0 of exp(a_i - x) times the product of 1 - exp(a_j - x) over j != i. With t = exp(-x) this is
    the integral of u_i prod (1 - u_j t) over t in (0, 1), a polynomial. The product over all j, divided by (1 - u_i t),
    gives each of them; the division is a recursion q_k = c_k + u_i q_(k-1), in which errors do not grow.
    *LAPLACE.* On each stretch between two neighboring a's, with t = exp(-x), each distribution function is 1 - u_j t/2
    (above a_j) or 1/(2 u_j t) (below), and the density of i is u_i t/2 or 1/(2 u_i t), over t; so the integrand is a
    Laurent polynomial in t, with terms t^k, k != -1, and 1/t, which integrates to the length of the stretch.
    Balls are computed at growing precision until each has 60 correct bits.
    *Bound.* Let S be the scale, m the candidates, t = log(m / (1 - confidence)). EXPONENTIAL noise is never negative
    and above S t for one of m candidates with probability at most m exp(-t); when all are below, nobody who is S t or
    more behind wins. LAPLACE noise is above S t in size with probability exp(-t); then two of them may differ by
    2 S t. GUMBEL: all who are S t or more behind together win with probability at most m exp(-t).
    *Error.* The chance that somebody wins who is c or more behind grows when such candidates come up to c, and when
    others of them take the places of better ones; so it is largest for one best and m - 1 candidates at c.
Rounding
    To the nearest float, or the one beside it.
Source
    McSherry, Talwar (FOCS 2007). McKenna, Sheldon, Permute-and-Flip (NeurIPS 2020), lemma 1. Ding, Kifer, Steinke et
    al. (2021). Dwork, Roth, Algorithmic Foundations (2014), 3.3: noisy max with Laplace noise.
Mutant
    density-on-one-side: below its own score a candidate's Laplace density is that above; killed by
    test_laplace_table_is_that_of_quadrature.
    winner-times-itself: a candidate must beat itself too; killed by test_tables_are_those_of_independent_code.
    wins-from-one: the chance to lose is one minus the chance to win; killed by
    test_errors_at_the_ends_of_confidence.
    scores-rounded: floats of more than 64 bits are rounded to them; killed by test_long_floats_are_not_rounded.
    factor-two-forgotten: general scores get the noise of monotonic ones; killed by test_the_price_is_kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, arb_poly
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, fraction, is_whole, positive
from discreet.exact.bisection import float_down, least
from discreet.exact.given_values import array_of
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.noise.certified_comparison import decided, real
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.noisy_argmax import ScoreNoise, winners
from discreet.privacy.events import BoundedRangeEvent, Event, PureEvent

MOST = 500
MOST_LAPLACE = 40
CORRECT_BITS = 60
NODES, PANELS = 400, 8

Reals = NDArray[np.float64]
Balls = list[arb]


def exact_scores(scores: ArrayLike | Iterable[Any]) -> NDArray[Any]:
    """The scores as an array in which every number is what it was: a float its binary value, an integer itself.

    Raises:
        InvalidParameter: there are none, or one is not a finite number. The message does not show it.

    >>> exact_scores([10**30, 0.5])
    array([Fraction(1000000000000000000000000000000, 1), Fraction(1, 2)],
          dtype=object)
    """
    if isinstance(scores, np.ndarray) and scores.dtype != object:
        array = array_of("scores", scores)
        array = array.astype(np.int64) if array.dtype == np.bool_ else array
    else:
        array = _from_list(_listed(scores))
    if array.ndim != 1 or not array.size:
        cure = "pass one score for each candidate, in a list or an array of one axis."
        raise InvalidParameter(expected("scores of one candidate or more", "scores.shape", array.shape, cure))
    if (
        array.dtype.kind not in "iufO"
        or array.dtype.itemsize > 8
        or (array.dtype.kind == "f" and not bool(np.isfinite(array).all()))
    ):
        raise _not_finite()
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def exact_counts(counts: ArrayLike, beyond: int) -> NDArray[np.int64] | None:
    """The counts, if they are whole numbers of 0 or more and below `beyond`. There may be none: that there are is data.

    >>> exact_counts([3, 0], 10), exact_counts([], 10), exact_counts([10], 10)
    (array([3, 0]), array([], dtype=int64), None)
    """
    exact = exact_scores(counts) if array_of("counts", counts).size else np.zeros(0, dtype=np.int64)
    if exact.dtype.kind not in "iu" or (exact.size and not 0 <= int(exact.min()) <= int(exact.max()) < beyond):
        return None
    return exact.astype(np.int64)


def _listed(scores: Any) -> list[Any]:
    try:  # of a dict or a set, neither the order nor what is listed is that of scores
        found = None if isinstance(scores, Mapping | AbstractSet) else list(scores)
    except TypeError:
        found = None
    if found is None:  # here, where no exception is being handled that would be carried along
        cure = "pass the numbers themselves, in a list or an array of one axis; a table is asked by its own verbs."
        raise InvalidParameter(expected("scores of candidates", "scores", f"<{type(scores).__name__}>", cure))
    return found


def _from_list(scores: list[Any]) -> NDArray[Any]:
    if all(isinstance(score, float | np.floating) for score in scores):
        return np.array(scores)  # of the widest type: rounding could put scores further apart than they are
    if all(isinstance(score, int) or is_whole(score) for score in scores):
        whole = [int(score) for score in scores]
        small = all(-(2**63) <= score < 2**63 for score in whole)
        return np.array(whole, dtype=np.int64 if small else object)
    kinds = (int, float, Fraction, Decimal, np.floating)
    if not all(isinstance(score, kinds) or is_whole(score) for score in scores):
        raise _not_finite()
    try:
        mixed = [_exact(score) for score in scores]
    except (InvalidParameter, ValueError, OverflowError):
        raise _not_finite() from None
    array = np.empty(len(mixed), dtype=object)
    array[:] = mixed
    return array


def _exact(score: Any) -> Fraction:
    if isinstance(score, Decimal):  # which may stand for a hundred million digits
        return fraction("scores", score)
    return Fraction(int(score)) if is_whole(score) else Fraction(*score.as_integer_ratio())


def _not_finite() -> InvalidParameter:
    cure = "score every candidate with a finite int, float or Fraction; leave out those who cannot win."
    return InvalidParameter(expected("finite scores, decimals of at most 1000 digits", "scores", "others", cure))


def table(scores: ArrayLike, rate: Fraction, noise: ScoreNoise) -> Reals:
    """The probability that each candidate wins: shape (m,).

    Raises:
        InvalidParameter: there are too many candidates for an exact table.

    >>> table([0, 1], Fraction(1), ScoreNoise.GUMBEL).round(4)
    array([0.2689, 0.7311])
    """
    values = exact_scores(scores)
    most = MOST_LAPLACE if noise is ScoreNoise.LAPLACE else MOST
    if values.size > most:
        cure = "ask for the probabilities of fewer candidates; releases take a million."
        raise InvalidParameter(expected(f"at most {most} candidates", "candidates", values.size, cure))
    exact = [Fraction(value) for value in values.tolist()]
    behind = [(value - max(exact)) * rate for value in exact]
    distinct = sorted(set(behind))
    shares = {ScoreNoise.GUMBEL: _gumbel, ScoreNoise.EXPONENTIAL: _exponential, ScoreNoise.LAPLACE: _laplace}[noise]

    def chances() -> Reals | None:
        balls = shares(behind, distinct)
        if any(ball.rel_accuracy_bits() < CORRECT_BITS for ball in balls):
            return None
        found = dict(zip(distinct, (float(ball.mid()) for ball in balls), strict=True))
        return np.array([found[a] for a in behind])

    return decided(chances, 128 + 2 * values.size)


def _gumbel(behind: list[Fraction], distinct: list[Fraction]) -> Balls:
    total = sum((real(a).exp() for a in behind), arb(0))
    return [real(a).exp() / total for a in distinct]


def _exponential(behind: list[Fraction], distinct: list[Fraction]) -> Balls:
    product = arb_poly([1])
    for a in behind:
        product *= arb_poly([1, -real(a).exp()])
    coefficients, result = product.coeffs(), []
    for a in distinct:
        u, rest, integral = real(a).exp(), arb(0), arb(0)
        for k in range(len(behind)):  # the quotient by (1 - u t), integrated term by term
            rest = coefficients[k] + u * rest
            integral += rest / (k + 1)
        result.append(u * integral)
    return result


def _laplace(behind: list[Fraction], distinct: list[Fraction]) -> Balls:
    return [_laplace_one(behind, distinct, a) for a in distinct]


def _laplace_one(behind: list[Fraction], distinct: list[Fraction], own: Fraction) -> arb:
    rivals, total = sorted(behind), arb(0)
    rivals.remove(own)
    for low, high in pairwise([None, *distinct, None]):  # x from low to high, so t from exp(-high) to exp(-low)
        above = [a for a in rivals if low is not None and a <= low]
        below = [a for a in rivals if low is None or a > low]
        passed = low is not None and own <= low
        polynomial = arb_poly([1])
        for a in above:
            polynomial *= arb_poly([1, -real(a).exp() / 2])
        factor = (-real(sum(below, Fraction(0)))).exp() / arb(2) ** len(below)
        factor *= (real(own) if passed else -real(own)).exp() / 2
        power = (0 if passed else -2) - len(below)  # of t, in the first term; dx = dt / t
        total += factor * sum((c * _stretch(power + k, low, high) for k, c in enumerate(polynomial.coeffs())), arb(0))
    return total


def _stretch(power: int, low: Fraction | None, high: Fraction | None) -> arb:
    """The integral of t^power over t from exp(-high) to exp(-low); None stands for an infinite end."""
    if power == -1:
        return real(high - low) if low is not None and high is not None else arb("nan")
    n = power + 1
    at_low = arb(0) if low is None else (real(-low * n)).exp()
    at_high = arb(0) if high is None else (real(-high * n)).exp()
    return (at_low - at_high) / n


@dataclass(frozen=True, kw_only=True)
class Selector(HasLoss, ABC):
    """What the mechanisms that choose one candidate have in common: scores in, an index out.

    Args:
        sensitivity: the most by which one unit moves any single score; other scores may move as much at the same time.
        epsilon: the price of one choice.
        monotonic: whether a unit, when it is added, never lowers any score: so for counts under add-remove, and never
            under replace-one. Noise of half the scale is then enough.
    """

    sensitivity: Fraction
    epsilon: Fraction
    monotonic: bool = False

    @with_usage_hint("dp.Exponential(sensitivity={}, epsilon={})")
    def __init__(self, *, sensitivity: object, epsilon: object, monotonic: bool = False) -> None:
        object.__setattr__(self, "sensitivity", positive("sensitivity", sensitivity))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        if not isinstance(monotonic, bool):
            cure = "say whether scores all move the same way: monotonic=True or monotonic=False."
            raise InvalidParameter(expected("True or False", "monotonic", monotonic, cure))
        object.__setattr__(self, "monotonic", monotonic)

    @property
    @abstractmethod
    def _law(self) -> ScoreNoise:
        """The noise whose largest sum decides."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each score: 2 * sensitivity / epsilon; half of it where scores are monotonic."""
        return (1 if self.monotonic else 2) * self.sensitivity / self.epsilon

    @with_usage_hint(".release([3, 8, 5])")
    def release(self, scores: ArrayLike, *, words: RandomWords | None = None) -> int:
        """The index of the chosen candidate, and nothing else: neither its score nor how close it was.

        Args:
            scores: one for each candidate; ints, floats (each its exact value) or Fractions, of any size.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: there are no scores, or one is not finite.
        """
        source = words or fresh_words()
        return int(winners(exact_scores(scores), 1 / self.scale, source, noise=self._law)[0])

    def probabilities(self, scores: ArrayLike) -> Reals:
        """The probability of each candidate, correct to a float, for a few hundred candidates at most.

        Not private: it is made from the exact scores, for studying the mechanism.
        """
        return table(scores, 1 / self.scale, self._law)

    def expected_gap(self, scores: ArrayLike) -> float:
        """By how much the chosen candidate's score falls short of the best, on average. Not private."""
        values = [Fraction(value) for value in exact_scores(scores).tolist()]
        gaps = np.array([float(max(values) - value) for value in values])
        return float(self.probabilities(scores) @ gaps)

    @property
    def event(self) -> Event:
        """What a ledger records of one choice."""
        if self._law is ScoreNoise.GUMBEL:
            return BoundedRangeEvent(epsilon=self.epsilon)
        return PureEvent(epsilon=self.epsilon)

    @with_usage_hint(".error(confidence={})")
    def error(self, *, candidates: int, confidence: object = 0.95) -> float:
        """What the choice falls short of the best by, at most, with this confidence: the exact quantile for the worst
        scores, which are all but one equally far behind. `bound` is the theorem's, and a little larger.
        """
        # One minus the confidence may be less than one minus a float.
        rivals, miss = _rivals(candidates), float_down(1 - confidence_level(confidence))
        if not rivals:
            return 0.0
        farthest = 2.0 * (math.log(rivals + 1) - math.log(miss)) + 1.0
        behind = least(lambda scales: best_loses(rivals, scales, self._law) <= miss, 0.0, farthest)
        return behind * float(self.scale)

    def bound(self, *, candidates: int, confidence: object = 0.95) -> float:
        """What the choice falls short of the best by, at most, with at least this confidence, for any scores."""
        rivals, level = _rivals(candidates), confidence_level(confidence)
        two_sided = 2 if self._law is ScoreNoise.LAPLACE else 1
        return two_sided * float(self.scale) * math.log((rivals + 1) / float(1 - level))


def best_loses(rivals: int, behind: float, noise: ScoreNoise) -> float:
    """The probability that the best loses to one of so many rivals, all of them so many noise scales behind, and be
    that below the precision of 1.

    >>> round(best_loses(1, 1.0, ScoreNoise.GUMBEL), 4), round(best_loses(1, 1.0, ScoreNoise.LAPLACE), 4)
    (0.2689, 0.2759)
    """
    p = math.exp(-behind)
    if noise is ScoreNoise.GUMBEL:
        return rivals * p / (1.0 + rivals * p)
    if noise is ScoreNoise.EXPONENTIAL:
        every = (rivals + 1) * p
        if every > 1.0:
            return 1.0 + math.expm1((rivals + 1) * math.log1p(-p)) / every if p < 1.0 else 1.0 - 1.0 / every
        # The same as a series, from which nothing near to it is subtracted: the first term is more than half of it.
        term, total = rivals * p / 2, 0.0
        for k in range(2, 30):
            total += term
            term *= -(rivals + 1 - k) * p / (k + 1)
        return total
    (nodes, weights), reach, total = _gauss_legendre(), 50.0 + math.log(rivals + 1), 0.0
    for low, high in pairwise([-reach - behind, -behind, 0.0, reach]):
        x = (low + high) / 2 + (high - low) / 2 * nodes
        gap, half = x + behind, np.exp(-np.abs(x + behind)) / 2
        below = np.where(gap < 0, np.log(half), np.log1p(-half))
        total += float((high - low) / 2 * (weights @ (np.exp(-np.abs(x)) / 2 * -np.expm1(rivals * below))))
    return total


@cache
def _gauss_legendre() -> tuple[Reals, Reals]:
    """On [-1, 1], in `PANELS` equal parts: all at once, the nodes would take a second to find."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES // PANELS)
    centers = (2.0 * np.arange(PANELS) + 1.0) / PANELS - 1.0
    return np.add.outer(centers, nodes / PANELS).ravel(), np.tile(weights / PANELS, PANELS)


def _rivals(candidates: object) -> int:
    return at_least_one("candidates", candidates, "count the scores.") - 1

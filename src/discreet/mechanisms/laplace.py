"""Laplace noise: discrete on whole numbers, on a fine lattice for reals.

Claim
    For vectors f(D) with L1 distance at most `sensitivity` between neighbors, `Laplace(...).release(f(D))` is
    epsilon-differentially private; for integers and, with noise raised by at most one part in a million, for reals.
Requires
    The true L1 sensitivity of the whole array. For `release` with words of one's own: independent uniform 64-bit words.
Relies on
    The exact law of `noise.laplace.DiscreteLaplace` below its cap, of `noise.geometric.Geometric` for what is beyond
    it, and of `wide_laplace`. `vector_lattice.VectorLattice`: integers at most (sensitivity + d step) / step apart.
Proof
    Each entry gets independent noise with P(Z = z) proportional to exp(-|z|/b), b = sensitivity/epsilon, so for each
    output the ratio of the probabilities under neighbors is at most exp(sum |f_i - f'_i| / b) <= exp(epsilon). A draw
    at the cap stands for "the cap or more": by memorylessness the excess is geometric with the same scale, so it is
    drawn and added in unbounded integers. Reals become integers first; b is then the integers' sensitivity/epsilon.
    *Loss.* An L1 distance of integers is an integer, so the sensitivity is rounded down. A shift of one coordinate by
    all of it dominates any other of that L1 norm: log E_P[e^(zL)] is convex in the shift of a coordinate and zero at no
    shift, hence superadditive, and the profiles are ordered likewise; a test compares all small shifts.
    *Error.* On integers that of the law itself. A real is off by step/2 more.
    *Largest.* P(|Z| >= t) = 2 q^t / (1+q), q = exp(-1/b); see `extremes`.
    *Sample size.* A proportion of a public number n of people is a count over n; replacing one person moves the count
    by 1, and k such counts by at most k together. So it is off by more than `within` only if noise of scale k/epsilon
    exceeds within * n; the smallest n is the noise's quantile over `within`, or its standard deviation over `rms`.
Rounding
    None in the noise: the scale is an exact fraction, the sums are exact. Figures are rounded up.
Source
    Ghosh, Roughgarden and Sundararajan, "Universally utility-maximizing privacy mechanisms" (2009); Dwork et al.
    (2006); Dwork and Roth (2014), theorem 3.8.
Mutant
    one-draw-for-all: the first cell's noise is added to every cell; killed by test_cells_have_noise_of_their_own.
    rounding-not-paid: the scale for reals leaves out the lattice; killed by test_rounding_is_paid_for.
    bound-for-one: the bound on the largest ignores the dimension; killed by test_the_counties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss, discrete_laplace_loss
from discreet.accounting.privacy_loss import Loss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, checked_amount, confidence_level, decimal_text, one_stated, positive
from discreet.exact.given_values import values
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.budget_split import shares
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.mechanisms.largest_error import Reals, expected_largest, union_largest, union_quantile
from discreet.mechanisms.vector_lattice import VectorLattice, lattice_sensitivity, step_for
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.geometric import Geometric
from discreet.noise.laplace import CAP, DiscreteLaplace
from discreet.noise.wide_laplace import wide_laplace
from discreet.privacy.events import DiscreteLaplaceEvent, Event, PureEvent

SMALL = 2**61
"""Totals below this and noise below the cap add up within 64 bits."""

WIDE = 2**56
"""Noise of this scale does not fit 64 bits well enough, and is drawn in Python's integers."""

FORGOTTEN = 60.0
"""Beyond so many scales after the largest, tails are below 1e-26."""


@dataclass(frozen=True, kw_only=True, slots=True, init=False)
class Laplace(HasLoss):
    """Adds Laplace noise of scale sensitivity / epsilon to a number or an array of any shape: discrete Laplace noise
    to integers, which stay integers, and the same on a lattice of a millionth of the sensitivity to floats.

    Args:
        sensitivity: how far one unit moves the whole array, in L1 norm (the sum of the absolute changes).
        epsilon: what a release costs; or instead
        scale: of the noise, sensitivity / epsilon.

    Guarantees epsilon-differential privacy (Dwork, McSherry, Nissim, Smith 2006; on integers Ghosh, Roughgarden,
    Sundararajan 2009): neighbors shift the noise by at most the sensitivity, and exp(-|z|/b) changes by at most
    exp(sensitivity / b) = exp(epsilon).

    Raises:
        InvalidParameter: an amount is not a number above zero, or not exactly one of epsilon and scale is given.

    >>> m = Laplace(sensitivity=1, epsilon=0.1)
    >>> m.scale, m.error(confidence=0.95, dimension=3143)
    (Fraction(10, 1), 110)
    >>> type(m.release(42)), m.release([1.5, 2.5]).dtype
    (<class 'int'>, dtype('float64'))
    """

    sensitivity: Fraction
    epsilon: Fraction

    @with_usage_hint("dp.Laplace(sensitivity={}, epsilon={})")
    def __init__(self, *, sensitivity: object, epsilon: object = None, scale: object = None) -> None:
        exact = positive("sensitivity", sensitivity)
        if (epsilon is None) == (scale is None):
            cure = "say what a release may cost, epsilon=0.1, or how wide the noise is, scale=10."
            raise InvalidParameter(expected("one of epsilon and scale", "epsilon, scale", (epsilon, scale), cure))
        cost = (
            positive("epsilon", epsilon)
            if scale is None
            else checked_amount("epsilon", exact / positive("scale", scale))
        )
        checked_amount("scale", exact / cost)
        object.__setattr__(self, "sensitivity", exact)
        object.__setattr__(self, "epsilon", cost)

    def __repr__(self) -> str:
        return f"Laplace(sensitivity={decimal_text(self.sensitivity)}, epsilon={decimal_text(self.epsilon)})"

    @property
    def scale(self) -> Fraction:
        """b = sensitivity / epsilon, exactly: the scale of the noise on integers. See `real_scale` for floats."""
        return self.sensitivity / self.epsilon

    def real_scale(self, dimension: int = 1) -> Fraction:
        """The scale of the noise on an array of so many floats: rounding to the lattice is paid for by at most one
        part in 2**20.
        """
        step = step_for(self.sensitivity, at_least_one("dimension", dimension))
        return lattice_sensitivity(self.sensitivity, step, dimension, norm=1) * step / self.epsilon

    @property
    def event(self) -> Event:
        """What a release of integers writes into the record."""
        steps = math.floor(self.sensitivity)
        if not steps:
            return PureEvent(epsilon=self.epsilon)
        return DiscreteLaplaceEvent(sensitivity=Fraction(steps), scale=self.scale)

    def real_loss(self, dimension: int = 1) -> Loss:
        """The `loss` of an array of so many floats: in effect that of continuous Laplace noise."""
        step = step_for(self.sensitivity, at_least_one("dimension", dimension))
        steps = math.floor(lattice_sensitivity(self.sensitivity, step, dimension, norm=1))
        return discrete_laplace_loss(steps, self.real_scale(dimension) / step)

    @with_usage_hint(".release(42)")
    def release(self, values: ArrayLike) -> Any:
        """`values` with independent exact noise in each entry: the same shape; ints stay ints, floats stay floats.

        Raises:
            InvalidParameter: a value is missing, infinite or NaN, or no number.

        >>> Laplace(sensitivity=1, epsilon=1).release(np.arange(6).reshape(2, 3)).shape
        (2, 3)
        """
        grid = VectorLattice.of(values, self.sensitivity)
        scale = grid.sensitivity(self.sensitivity, norm=1) / self.epsilon
        return grid.shaped(noisy(grid.integers, scale, fresh_words()))

    def add_noise(self, totals: NDArray[Any], words: RandomWords) -> NDArray[Any]:
        """Integer totals, of any size and shape, with noise made of `words`: what the curator calls."""
        return noisy(totals.reshape(-1), self.scale, words).reshape(totals.shape)

    @property
    def variance(self) -> float:
        """The variance of the noise on an integer, 2q / (1-q)**2 with q = exp(-1/scale), rounded up."""
        return DiscreteLaplace.of_scale(self.scale).variance

    @with_usage_hint(".error(confidence={})")
    def error(self, *, confidence: object = 0.95, dimension: int = 1, reals: bool = False) -> int | float:
        """By how much the worst of `dimension` answers is off at most, with this confidence: the exact quantile.

        Args:
            confidence: strictly between 0 and 1.
            dimension: how many numbers are released.
            reals: whether they are floats, whose lattice adds a little.

        Raises:
            InvalidParameter: the confidence or the dimension is outside its range.
        """
        if not reals:
            return DiscreteLaplace.of_scale(self.scale).quantile(confidence, dimension=dimension)
        step = step_for(self.sensitivity, at_least_one("dimension", dimension))
        law = DiscreteLaplace.of_scale(self.real_scale(dimension) / step)
        return float(law.quantile(confidence, dimension=dimension) * step + step / 2)

    def expected_error(self, dimension: int = 1) -> float:
        """How far off the worst of `dimension` integers is on average, rounded up (by less than 1 in 10^4).

        >>> round(Laplace(sensitivity=1, epsilon=0.1).expected_error(3143), 1)
        86.3
        """
        return expected_largest(self._tail, self._reach(dimension), dimension)

    def bound(self, *, dimension: int = 1, confidence: object = None) -> float:
        """What the union bound says of the worst of `dimension` integers, from the tail of the noise really drawn.

        Without a confidence, of its mean: about b (log dimension + 1). With one, of its quantile: about
        b log(dimension / (1 - confidence)). It holds even for noise that is not independent.

        >>> m = Laplace(sensitivity=1, epsilon=0.1)
        >>> round(m.bound(dimension=3143), 1), m.bound(dimension=3143, confidence=0.95)
        (90.5, 110.0)
        """
        reach = self._reach(dimension)
        if confidence is None:
            return union_largest(self._tail, reach, dimension)
        return float(union_quantile(self._tail, reach, dimension, float(1 - confidence_level(confidence))))

    def _tail(self, t: Reals) -> Reals:
        """P(|Z| >= t) for t >= 1."""
        b = float(self.scale)
        return np.exp(-t / b) * (2 / (1 + math.exp(-1 / b)))

    def _reach(self, dimension: int) -> float:
        return float(self.scale) * (math.log(at_least_one("dimension", dimension)) + FORGOTTEN) + 1

    @classmethod
    def split(
        cls,
        *,
        sensitivities: Sequence[object],
        epsilon: object,
        weights: Sequence[object] = (),
        minimize: str = "variance",
    ) -> tuple[Laplace, ...]:
        """One mechanism for each of several numbers, whose epsilons add up to `epsilon` exactly.

        Args:
            sensitivities: how far one unit moves each number.
            epsilon: what all together may cost.
            weights: how much the error of each number matters; all the same if left out.
            minimize: "variance", the weighted sum of variances; "deviation", that of standard deviations; or "nothing":
                equal parts.

        Where one unit cannot move all numbers by their full sensitivity at once, one mechanism for the whole vector,
        with its joint L1 sensitivity, is better: compare their errors.

        >>> coarse, fine = Laplace.split(sensitivities=[8, 1], epsilon=1)
        >>> coarse.epsilon + fine.epsilon, round(float(coarse.epsilon / fine.epsilon), 4)
        (Fraction(1, 1), 4.0)
        """
        listed = values("sensitivities", sensitivities, "list them, as sensitivities=[8, 1].")
        stated = [positive(f"sensitivities[{i}]", one) for i, one in enumerate(listed)]
        parts = shares(positive("epsilon", epsilon), stated, weights, minimize)
        return tuple(cls(sensitivity=one, epsilon=part) for one, part in zip(stated, parts, strict=True))

    @classmethod
    def sample_size(
        cls,
        *,
        within: object = None,
        rms: object = None,
        epsilon: object,
        queries: int = 1,
        confidence: object = 0.95,
        beta: object = None,
    ) -> int:
        """The smallest number n of people for which the share with some property is off by at most `within`.

        Args:
            within: the largest error allowed, as a fraction of the people.
            rms: in its place, the root-mean-square error allowed for each share, as a fraction of the people.
            epsilon: what all answers together may cost.
            queries: how many such shares are asked, each of the same people; all must be within.
            confidence: with which probability.
            beta: one minus the confidence, if you would rather state that.

        n is public, and one person's data may be replaced. About queries * log(queries / beta) / (epsilon * within).

        >>> Laplace.sample_size(within=0.01, epsilon=0.5)
        600
        >>> Laplace.sample_size(within=0.005, epsilon=0.5), Laplace.sample_size(within=0.01, epsilon=0.25)
        (1200, 1200)
        >>> Laplace.sample_size(rms=0.01, epsilon=0.5)
        280
        """
        kind, allowed = one_stated("write within=0.01.", within=within, rms=rms)
        asked = cls(sensitivity=at_least_one("queries", queries), epsilon=epsilon)
        if kind == "rms":
            error = math.sqrt(asked.variance)
        else:
            level = confidence if beta is None else 1 - positive("beta", beta)
            error = asked.error(confidence=level, dimension=queries)
        return max(1, math.ceil(Fraction(error) / allowed))

    @classmethod
    def epsilon_for(
        cls, *, within: object, sensitivity: object = 1, dimension: int = 1, confidence: object = 0.95
    ) -> Fraction:
        """The smallest epsilon, to four digits, at which all of `dimension` integers are off by at most `within`.

        >>> float(Laplace.epsilon_for(within=10)), float(Laplace.epsilon_for(within=20))
        (0.2844, 0.1461)
        """
        allowed = positive("within", within)

        def meets(epsilon: Fraction) -> bool:
            tried = cls(sensitivity=sensitivity, epsilon=epsilon)
            return tried.error(confidence=confidence, dimension=dimension) <= allowed

        return smallest_epsilon(meets, within)


def noisy(flat: NDArray[Any], scale: Fraction, words: RandomWords) -> NDArray[Any]:
    """Flat integers with noise of their own in each: int64 where that holds them, Python integers otherwise.

    >>> noisy(np.array([5, 6]), Fraction(1, 10**6), fresh_words())
    array([5, 6])
    """
    if scale >= WIDE:
        wide: NDArray[Any] = flat.astype(object) + wide_laplace(scale, flat.size, words)
        return wide
    noise: NDArray[Any] = DiscreteLaplace.of_scale(scale).sample(flat.size, words)
    capped = np.flatnonzero(np.abs(noise) >= CAP)
    small = flat.dtype != object and (flat.size == 0 or (int(flat.min()) > -SMALL and int(flat.max()) < SMALL))
    if capped.size or not small:
        flat, noise = flat.astype(object), noise.astype(object)
    for i in capped:
        noise[i] += (1 if noise[i] > 0 else -1) * _excess(scale, words)
    total: NDArray[Any] = flat + noise
    return total


def _excess(scale: Fraction, words: RandomWords) -> int:
    """What a draw at the cap lies beyond it."""
    geometric, total = Geometric.of_scale(scale), 0
    while (more := int(geometric.sample(1, words)[0])) >= CAP:
        total += CAP
    return total + more

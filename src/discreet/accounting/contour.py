"""The composed privacy profile, by one certified contour integral.

Claim
    For independent pairs (P_i, Q_i) with losses L_i, `Composition.delta(epsilon)` encloses delta(epsilon) of the
    product, `epsilon(delta)` its inverse, `tail(t)` the probability P(L_1 + ... + L_k > t).
Requires
    What `pairs` requires. Counts are whole numbers above zero.
Relies on
    `line` for the integral; `pairs`: log-moments, each of a pair's moments wrong by at most `rounding` units of
    E_P[e^(theta L)] and 12 of the angle `|z| reach`; `sums`; NumPy's complex exp and log to within 8 units.
    Composition of dominating pairs dominates adaptive composition. `nearby`, where there are very many pairs.
Proof
    Infinite losses have no part in M, and add 1 - prod(1 - infinite_i). The integral itself is `line`'s; what is left
    to show is that `Values` is what `line` requires.
    *Cut.* |M(theta + i omega)| <= M(theta), and the Gaussian part decays as e^(-mu^2 omega^2/2): frequencies beyond
    `cut` hold at most M(theta) e^(-theta epsilon) e^(-mu^2 cut^2/2)/(pi cut). A frequency at which the product over
    *some* of the pairs is already below `NOTHING` is left out, and that bound is paid.
Rounding
    With |M_i| <= M_i(theta), errors of factors add up. To those of the moments comes the sum of their logarithms l_i,
    less z times the top. A term is rounded 9 times (logarithm and count) and in d additions, d twice `additions` of
    the number of pairs: over the pairs of a block and over the blocks. The imaginary part of l_i is at most pi; the
    real part is that of theta, at most 2 theta reach - log P(finite), less some s_i > 0 by which |M_i| is smaller: and
    s units of a product that is smaller by e^s are less than half a unit. So (9 + d)(pi + 1/2 + 2 theta reach - log
    P(finite)) at most, 3 + d of |z| reach for the tops, and 8 of it for what is left: the kinds added up, `log_real`
    taken away, the frequencies themselves. All of it is added to the upper end and taken from the lower.
Source
    Zhu, Dong and Wang (2022): characteristic functions; Alghamdi et al., The Saddle-Point Method in Differential
    Privacy (2023): the contour through the saddle point. Bound, mollifier and certificate are our own.
Mutant
    infinity-is-free: the upper end forgets infinite losses; killed by test_certain_losses_and_limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import gaussian
from discreet.accounting.line import Bounds, Line, Values
from discreet.accounting.nearby import Nearby
from discreet.accounting.pairs import Complexes, Gaussian, Pair, Reals
from discreet.accounting.sums import UNIT, additions
from discreet.exact.amounts import root_above
from discreet.exact.search import falling, float_up, least

DECAY = 9.0
"""Standard deviations of the Gaussian part after which frequencies are cut: e^-40."""
PERIOD = 48.0
"""Decay of the first alias, in nats below the estimate of delta."""
NOTHING = 1e-14
SAMPLE = 96
"""How many kinds of pair tell whether a frequency matters."""
MOST_WORK = 6e5
"""Frequencies times kinds of pair."""
FEWEST, MOST = 1 << 11, 1 << 15
"""Frequencies on one contour."""
WIDEST = 0.5
LARGEST_THETA = 1e13
GOOD = 1e-7
"""A contour is used for another epsilon while its ends agree to this."""


@dataclass(frozen=True, slots=True)
class Stack:
    """The pairs of one kind, and how often each is used."""

    kind: type[Pair]
    pairs: tuple[Pair, ...]
    counts: Reals

    def log_moments(self, z: Complexes) -> Complexes:
        """Their part of log M(z)."""
        return self.kind.log_moments(self.pairs, self.counts, z)

    def thinned(self, number: int) -> Stack:
        """So many of them, spread evenly."""
        places = np.unique(np.linspace(0, len(self.pairs) - 1, number).astype(int))
        return Stack(self.kind, tuple(self.pairs[i] for i in places), self.counts[places])


class Composition:
    """Independent pairs together, in one direction."""

    def __init__(self, parts: Sequence[tuple[Pair, int]], *, most_work: float = MOST_WORK) -> None:
        normal = sum((pair.mu2 * count for pair, count in parts if isinstance(pair, Gaussian)), Fraction(0))
        others = [(pair, count) for pair, count in parts if not isinstance(pair, Gaussian)]
        kinds = {type(pair) for pair, _ in others}
        self.gaussian = Gaussian(normal) if normal else None
        self._normal = float(normal)
        self.others = others
        self._stacks = [_stack(kind, others) for kind in sorted(kinds, key=lambda kind: kind.__name__)]
        self._most_work = most_work
        self.reach = sum(pair.reach * count for pair, count in others) if not normal else math.inf
        top = sum(pair.top * count for pair, count in others) if not normal else math.inf
        self.top = top + 2.0**-40 * self.reach if math.isfinite(top) else top
        """No finite loss is above it."""
        log_finite = sum(
            count * math.log1p(-pair.infinite) if pair.infinite < 1 else -math.inf for pair, count in others
        )
        self.infinite = -math.expm1(log_finite)
        self.cut = min(sum(count * pair.cut for pair, count in others), self.infinite)
        self._line: Line | None = None

    def delta(self, epsilon: float) -> Bounds:
        """Both ends of delta at any epsilon, all pairs together."""
        if (alone := self._alone()) is not None:
            return Bounds(*alone.delta_bounds(epsilon))
        if epsilon >= self.top:
            return self._with_infinite(Bounds(0.0, 0.0))
        if self._sides is not None:
            below, above = self._sides
            return Bounds(below.delta(epsilon).lower, above.delta(epsilon).upper)
        return self._with_infinite(self._at(epsilon).delta(epsilon))

    @property
    def pure(self) -> float:
        """The largest finite loss, rounded up."""
        if self.gaussian or any(math.isinf(pair.top) for pair, _ in self.others):
            return self.top
        return float_up(sum((Fraction(pair.top) * count for pair, count in self.others), start=Fraction(0)))

    def tail(self, t: float) -> Bounds:
        """P(L > t)."""
        if (alone := self._alone()) is not None:
            exact = alone.tails(t)[0]
            return Bounds(exact * (1 - 2.0**-44), min(exact * (1 + 2.0**-44), 1.0))
        if t >= self.top:
            return Bounds(0.0, self.infinite)
        if t < -self.reach * (1.0 + 2.0**-40):
            return Bounds(1.0, 1.0)
        return self._with_infinite(self._at(t).tail(t))

    def epsilon(self, delta: float) -> Bounds:
        """The least epsilon >= 0 for `delta`: one that is surely too small, and one that surely suffices."""
        if self.infinite - self.cut > delta:
            return Bounds(math.inf, math.inf)
        if self.gaussian and not self.others:
            exact = Fraction(delta)
            above = gaussian.epsilon_above(self.gaussian.mu, exact) if delta else math.inf
            return Bounds(above * (1.0 - 2.0**-43) if delta else math.inf, above)
        if self.infinite > delta:
            return Bounds(0.0, math.inf)
        if (alone := self._alone()) is not None:
            return self._inverse_alone(alone, delta)
        if self._sides is not None:
            less, more = self._sides
            return Bounds(less.epsilon(delta).lower, more.epsilon(delta).upper)
        return self._inverse(delta)

    @cached_property
    def _sides(self) -> tuple[Composition, Composition] | None:
        """Compositions of fewer pairs, one dominated and one dominating; none where all pairs are looked at."""
        near = Nearby.of(self.others)
        if near is None:
            return None
        normal = [(self.gaussian, 1)] if self.gaussian else []
        below, above = (Composition([*normal, *parts], most_work=self._most_work) for parts in near)
        return below, above

    def _alone(self) -> Pair | None:
        if self.gaussian:
            return None if self.others else self.gaussian
        (pair, count), *more = self.others
        return pair if count == 1 and not more else None

    def _inverse_alone(self, pair: Pair, delta: float) -> Bounds:
        """Both ends of epsilon(delta) of one pair, whose profile is closed."""
        top = max(self.top, 0.0)
        if pair.delta_bounds(top)[1] > delta:
            return Bounds(0.0, math.inf)
        upper = least(lambda epsilon: pair.delta_bounds(epsilon)[1] <= delta, 0.0, top)
        lower = least(lambda epsilon: pair.delta_bounds(epsilon)[0] <= delta, 0.0, upper)
        return Bounds(lower * (1.0 - 2.0**-44), upper)

    def _inverse(self, delta: float) -> Bounds:
        """Both ends of epsilon(delta), found on one line through the saddle."""
        top = max(self.top, 0.0)
        rest = delta - self.infinite
        if rest <= 0.0:
            return Bounds(0.0, top)
        wanted, high = math.log(rest), 1.0
        while (unreached := self._saddle_delta(high) > wanted) and high < LARGEST_THETA:
            high *= 4.0
        if not unreached:
            high = least(lambda theta: self._saddle_delta(theta) <= wanted, 1e-12, high, relative=1e-3)
        start = max(self._place(high), 0.0)
        line = self._contour(high, start)

        def excess(place: float, end: int) -> float:
            value = self._with_infinite(line.delta(place))[end]
            return math.log(value / delta) if value > 0.0 else -math.inf

        upper = falling(lambda place: excess(place, 1), start, slope=-high)
        start = min(upper, top)
        # The other way round: the largest epsilon found at which even the lower end is above delta.
        lower = -falling(lambda place: -excess(-place, 0), -start, slope=-high)
        return Bounds(min(max(lower, 0.0), top), min(max(upper, 0.0), top))

    def _place(self, theta: float) -> float:
        """The epsilon whose contour has its saddle at theta."""
        step = theta * 1e-20
        slope = self._log_moment(np.array([complex(theta, step)]))[0].imag / step
        return float(slope - 1.0 / theta - 1.0 / (1.0 + theta))

    def _saddle_delta(self, theta: float) -> float:
        """About log delta at that epsilon: the integrand at the saddle."""
        real = self._log_moment(np.array([complex(theta)]))[0].real
        return (
            float(real - theta * self._place(theta)) - math.log(theta) - math.log1p(theta) + min(math.log(theta), 0.0)
        )

    def _at(self, epsilon: float) -> Line:
        if self._line is not None:
            ends = self._line.delta(epsilon)
            if ends.upper - ends.lower <= GOOD * ends.upper:
                return self._line
            theta = self._saddle(epsilon)
            if 0.9 < theta / self._line.theta < 1.1:
                return self._line
        else:
            theta = self._saddle(epsilon)
        self._line = self._contour(theta, epsilon)
        return self._line

    def _saddle(self, epsilon: float) -> float:
        """Where the integrand is smallest on the real axis: `_place` grows with theta."""
        low, high = 1e-6, 1.0
        while self._place(low) > epsilon and low > 1e-12:
            low /= 16.0
        while self._place(high) < epsilon and high < LARGEST_THETA:
            high *= 4.0
        return least(lambda theta: self._place(theta) >= epsilon or theta >= high, low, high, relative=1e-3)

    def _contour(self, theta: float, epsilon: float) -> Line:
        """The line through theta, fine enough for `epsilon`."""
        at = np.array([complex(theta), complex(2.0 * theta)])
        log_real, log_alias = (float(value) for value in self._log_moment(at).real)
        log_size = log_real - theta * epsilon
        left = PERIOD - log_size
        right = PERIOD + log_alias - theta * epsilon - log_real
        period = max(left, right, PERIOD) / theta
        kinds = 1 + sum(pair.size for stack in self._stacks for pair in stack.thinned(SAMPLE).pairs)
        most = int(min(max(self._most_work / kinds, FEWEST), MOST))
        needed = DECAY * period / (2.0 * math.pi * math.sqrt(self._normal)) if self._normal else math.inf
        mollifier = 0.0
        if needed > most:
            mollifier = min(math.sqrt(max((DECAY * period / (2.0 * math.pi * most)) ** 2 - self._normal, 0.0)), WIDEST)
        spread = math.sqrt(self._normal + mollifier**2)
        points = min(math.ceil(DECAY * period / (2.0 * math.pi * spread)) + 2, 4 * MOST)
        step = 2.0 * math.pi / period
        z: Complexes = (theta + 1j * step * np.arange(points)).astype(np.complex128)
        weights = np.full(points, step / math.pi)
        weights[0] /= 2.0
        matter, left_out = self._that_matter(z, spread)
        cut = step * (points - 0.5)
        missing = left_out * step / math.pi + math.exp(-((spread * cut) ** 2) / 2.0) / spread * 2.0
        z, weights = z[matter], weights[matter]
        values = Values(z, weights, *self._moments(z, log_real), missing)
        return Line(values, (log_real, log_alias), mollifier=mollifier, period=period)

    def _that_matter(self, z: Complexes, spread: float) -> tuple[NDArray[np.bool_], float]:
        """At which frequencies M(z)/M(theta) may be above `NOTHING`, and the sum of the others."""
        matter: NDArray[np.bool_] = np.ones(z.size, dtype=np.bool_)
        left_out, number = 0.0, SAMPLE
        while True:
            some = np.flatnonzero(matter)
            size = -((spread * z.imag[some]) ** 2) / 2.0
            for stack in (stack.thinned(number) for stack in self._stacks):
                size = size + stack.log_moments(z[some]).real - float(stack.log_moments(z[:1])[0].real)
            gone = size < math.log(NOTHING)
            gone[0] = False
            left_out += float(np.exp(size[gone]).sum()) * (1.0 + 1e-6)
            matter[some[gone]] = False
            number *= 8
            if number >= max((len(stack.pairs) for stack in self._stacks), default=0):
                return matter, left_out

    def _moments(self, z: Complexes, log_real: float) -> tuple[Complexes, Reals]:
        """M(z)/M(theta), and the bounds of its errors."""
        moments: Complexes = np.exp(self._log_moment(z) - log_real)
        passed = 2 * additions(len(self.others))
        uses = sum(count * (pair.rounding + 36.0 + 4.0 * passed) for pair, count in self.others)
        reach = sum(count * pair.reach for pair, count in self.others)
        lost = -math.log1p(-self.infinite) if self.infinite < 1.0 else math.inf
        sizes = np.abs(z) + float(z[0].real)
        turned = (48.0 + 4.0 * passed) * sizes * reach
        errors = UNIT * (uses + turned + (16.0 + passed) * lost + 2.0 * abs(log_real) + 64.0)
        return moments, errors + 8.0 * UNIT * self._normal * (sizes + sizes**2) * np.abs(moments)

    def _log_moment(self, z: Complexes) -> Complexes:
        """log M(z) of the finite losses."""
        total: Complexes = (self._normal / 2.0) * (z * z + z)
        for stack in self._stacks:
            total = total + stack.log_moments(z)
        return total

    def _with_infinite(self, finite: Bounds) -> Bounds:
        """Adds the probability of an infinite loss, of which the lower end trusts only what was not cut off."""
        sure = max(self.infinite - self.cut, 0.0) * (1.0 - 2.0**-50)
        unsure = self.infinite * (1.0 + 2.0**-50)
        return Bounds(min(finite.lower + sure, 1.0), min(finite.upper + unsure, 1.0))


def _stack(kind: type[Pair], parts: Sequence[tuple[Pair, int]]) -> Stack:
    """All of one kind, ordered by how far they reach so that a spread of them is a fair sample."""
    mine = sorted(((pair, count) for pair, count in parts if type(pair) is kind), key=lambda part: part[0].reach)
    return Stack(kind, tuple(pair for pair, _ in mine), np.array([float(count) for _, count in mine]))


def normal_mu(parts: Sequence[tuple[Pair, int]]) -> Fraction | None:
    """mu of all together where all are Gaussian, rounded up."""
    if not all(isinstance(pair, Gaussian) for pair, _ in parts):
        return None
    return root_above(sum((pair.mu2 * count for pair, count in parts if isinstance(pair, Gaussian)), Fraction(0)))

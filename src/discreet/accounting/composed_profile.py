"""The composed privacy profile, by one certified contour integral.

Claim
    For independent pairs (P_i, Q_i) with losses L_i, `Composition.delta(epsilon)` encloses delta(epsilon) of the
    product, `epsilon(delta)` its inverse, `tail(t)` the probability P(L_1 + ... + L_k > t).
Requires
    What `dominating_pairs` requires. Counts are whole numbers above zero.
Relies on
    `contour_integral` for the integral; `infinite_losses` for T; `dominating_pairs`: log-moments, each of a pair's
    moments wrong by at most `rounding` units of E_P[e^(theta L)] and 12 of the angle `|z| reach`; `pairwise_summation`;
    NumPy's complex exp and log to within 8 units. Composition of dominating pairs dominates adaptive composition.
    `pair_grouping`, where there are very many pairs.
Proof
    Infinite losses have no part in M, and add 1 - prod(1 - infinite_i), the fraction T. So delta(epsilon) = T +
    E[(1 - e^(epsilon - L))+; L finite]: below T no epsilon suffices, at T it takes the largest finite loss, above it
    what is left, delta - T, is for finite losses alone. The integral itself is `contour_integral`'s; what is left to
    show is that `Values` is what `contour_integral` requires. *Cut.* |M(theta + i omega)| <= M(theta), and the Gaussian
    part decays as e^(-mu^2 omega^2/2): frequencies beyond `cut` hold at most M(theta) e^(-theta epsilon) e^(-mu^2
    cut^2/2)/(pi cut). A frequency at which the product over *some* of the pairs is already below `NOTHING` is left out,
    and that bound is paid. *Order of calls.* The contours of `delta` and `tail` cross the axis at powers of
    2^(1/`STEPS`), each fine enough for every epsilon whose saddle is nearest to it. Which one is taken, and how fine it
    is, follows from epsilon alone, so that the ends do not depend on what was asked before; those whose epsilon is
    beyond all saddles are made for it.
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
    infinite-as-a-float: delta is compared with T after both were rounded; killed by test_infinite_losses_are_exact.
    infinity-is-free: the upper end forgets infinite losses; killed by test_certain_losses_and_limits.
    fractions-one-by-one: squares of mu are added exactly, however many digits that takes; killed by
        test_thousands_of_unrelated_scales_are_added_in_short_fractions.
    first-contour-serves-all: an epsilon gets the contour of whatever was asked first; killed by
        test_a_far_epsilon_after_a_near_one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import gaussian_profile
from discreet.accounting.batched_pairs import Stack
from discreet.accounting.contour_integral import LEAST, Bounds, ContourIntegral, Values, finite_or_widest
from discreet.accounting.dominating_pairs import Atoms, Complexes, DominatingPair, GaussianPair, Reals
from discreet.accounting.infinite_losses import infinite_loss_probability
from discreet.accounting.pair_grouping import Nearby
from discreet.accounting.pairwise_summation import UNIT, additions
from discreet.exact.amounts import root_above, sums
from discreet.exact.bisection import falling, float_down, float_up, least, least_whole
from discreet.exact.cached_property import cached_property

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
LARGEST_ANGLE = 2.0**36
"""Of theta times reach: beyond it rounding takes what a steeper contour gains."""
NEVER = Atoms(losses=np.zeros(1), first=np.ones(1), second=np.ones(1))
"""The pair of no release at all: equal laws."""
STEPS = 16
"""Contours for each doubling of theta: every epsilon has its own among them, within a 40th of its saddle."""
LOWEST = -40 * STEPS
KEPT = 8
"""Contours that are kept for the next epsilon."""


class Composition:
    """Independent pairs together, in one direction."""

    def __init__(self, parts: Sequence[tuple[DominatingPair, int]], *, most_work: float = MOST_WORK) -> None:
        normal = sums(pair.mu2 * count for pair, count in parts if isinstance(pair, GaussianPair))[1]
        others = [(pair, count) for pair, count in parts if not isinstance(pair, GaussianPair)]
        kinds = {type(pair) for pair, _ in others}
        self.gaussian = GaussianPair(normal) if normal else None
        self._normal = float(normal)
        self.others = others
        self._stacks = [Stack.of(kind, others) for kind in sorted(kinds, key=lambda kind: kind.__name__)]
        self._most_work = most_work
        self._turning = math.fsum(pair.reach * count for pair, count in others)
        self.reach = self._turning if not normal else math.inf
        top = math.fsum(pair.top * count for pair, count in others) if not normal else math.inf
        self.top = top + 2.0**-40 * self.reach if math.isfinite(top) else top
        """No finite loss is above it."""
        far = math.fsum(pair.top * count for pair, count in others if pair.top > 0.0)
        self._far = (far + self._normal / 2.0 + 60.0 * math.sqrt(self._normal)) * (1.0 + 2.0**-30)
        """All others at their top, the Gaussian part 60 deviations above its mean: beyond is less than any float."""
        self.sure, self.infinite = infinite_loss_probability(others)
        fits = self._turning * LARGEST_THETA <= LARGEST_ANGLE
        self._steepest = LARGEST_THETA if fits else LARGEST_ANGLE / self._turning
        self._highest = max(math.ceil(math.log2(self._steepest) * STEPS), STEPS)
        self._borders: dict[int, float] = {}
        self._lines: dict[int, ContourIntegral] = {}

    def delta(self, epsilon: float) -> Bounds:
        """Both ends of delta at any epsilon, all pairs together."""
        if (alone := self._alone()) is not None:
            return self._with_infinite(Bounds(*alone.delta_bounds(epsilon)))
        if epsilon >= self.top:
            return self._with_infinite(Bounds(0.0, 0.0))
        if epsilon >= self._far:
            return self._with_infinite(Bounds(0.0, LEAST))
        if self.infinite == 1:
            return Bounds(float_down(self.sure), 1.0)
        if self._sides is not None:
            below, above = self._sides
            return Bounds(below.delta(epsilon).lower, above.delta(epsilon).upper)
        found = finite_or_widest(lambda: self._at(epsilon).delta(epsilon), Bounds(0.0, 1.0))
        most = -math.expm1(epsilon - self.top) * (1.0 + 2.0**-50)  # (1 - e^(epsilon - L))+ where L is the top
        return self._with_infinite(Bounds(min(found.lower, most), min(found.upper, most)))

    @property
    def pure(self) -> float:
        """The largest finite loss, rounded up."""
        if self.gaussian or any(math.isinf(pair.top) for pair, _ in self.others):
            return self.top
        # Twice, four times, ... a float is exact, and so are the roundings of fsum.
        exact = [math.ldexp(pair.top, place) for pair, count in self.others for place in _ones(count)]
        nearest = math.fsum(exact)
        return nearest if math.fsum([*exact, -nearest]) <= 0.0 else math.nextafter(nearest, math.inf)

    def tail(self, t: float) -> Bounds:
        """P(L > t)."""
        if (alone := self._alone()) is not None:
            exact, lost = alone.tails(t)[0], alone.size * LEAST if t < alone.top else 0.0
            ends = Bounds(max(exact * (1 - 2.0**-44) - lost, 0.0), min(exact * (1 + 2.0**-44) + lost, 1.0))
            return self._with_infinite(ends)
        if t >= self.top:
            return self._with_infinite(Bounds(0.0, 0.0))
        if t < -self.reach * (1.0 + 2.0**-40):
            return Bounds(1.0, 1.0)
        if t >= self._far:
            return self._with_infinite(Bounds(0.0, LEAST))
        if self.infinite == 1:
            return Bounds(float_down(self.sure), 1.0)
        return self._with_infinite(finite_or_widest(lambda: self._at(t).tail(t), Bounds(0.0, 1.0)))

    def epsilon(self, delta: Fraction | float) -> Bounds:
        """The least epsilon >= 0 for `delta`: one that is surely too small, and one that surely suffices."""
        exact, most = Fraction(delta), max(self.pure, 0.0)
        if exact <= self.infinite:
            return self._nothing_left(exact, most)
        if self.gaussian and not self.others:
            above = gaussian_profile.epsilon_above(self.gaussian.mu, exact)
            return Bounds(above * (1.0 - 2.0**-43), above)
        left = Bounds(float_down(exact - self.infinite), float_up(exact - self.sure))
        if not left.lower:
            return Bounds(0.0, most)
        if (alone := self._alone()) is not None:
            return _inverse_alone(alone, left, most)
        if self._sides is not None:
            less, more = self._sides
            return Bounds(less.epsilon(exact).lower, more.epsilon(exact).upper)
        return finite_or_widest(lambda: self._inverse(left, most), Bounds(0.0, most))

    def _nothing_left(self, delta: Fraction, most: float) -> Bounds:
        """Bounds of epsilon where infinite losses may use up all of delta."""
        if delta < self.sure:
            return Bounds(math.inf, math.inf)
        lower = most * (1.0 - 2.0**-48) if delta == self.sure else 0.0
        return Bounds(lower, most if delta == self.infinite else math.inf)

    @cached_property
    def _sides(self) -> tuple[Composition, Composition] | None:
        """Compositions of fewer pairs, one dominated and one dominating; none where all pairs are looked at."""
        near = Nearby.of(self.others)
        if near is None:
            return None
        normal = [(self.gaussian, 1)] if self.gaussian else []
        below, above = (Composition([*normal, *parts], most_work=self._most_work) for parts in near)
        return below, above

    def _alone(self) -> DominatingPair | None:
        if self.gaussian:
            return None if self.others else self.gaussian
        (pair, count), *more = self.others or [(NEVER, 1)]
        return pair if count == 1 and not more else None

    def _inverse(self, left: Bounds, most: float) -> Bounds:
        """Both ends of the least epsilon at which the finite losses' delta is what is `left`, on one line."""
        wanted, high = math.log(left.lower), 1.0
        # By hand, not by `first_power`: an evaluation takes long, and each may be the last.
        while (unreached := self._saddle_delta(high) > wanted) and high < self._steepest:
            high *= 4.0
        if not unreached:
            high = least(lambda theta: self._saddle_delta(theta) <= wanted, 1e-12, high, relative=1e-3)
        start = max(self._place(high), 0.0)
        line = self._contour(high, start, start)

        def excess(value: float, limit: float) -> float:
            return math.log(value / limit) if value > 0.0 else -math.inf

        def above(place: float) -> float:
            return excess(line.delta(place).upper, left.lower) if place < most else -math.inf

        def below(turned: float) -> float:
            return -excess(line.delta(-turned).lower, left.upper) if turned < 0.0 else -math.inf

        if line.delta(start) == (0.0, 1.0):
            return Bounds(0.0, most)
        upper = falling(above, start, slope=-high)
        start = min(upper, most)
        # The other way round: the largest epsilon found at which even the lower end is above what is left.
        lower = -falling(below, -start, slope=-high)
        return Bounds(min(max(lower, 0.0), most), min(max(upper, 0.0), most))

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

    def _at(self, epsilon: float) -> ContourIntegral:
        """The line for `epsilon`: the same one whatever was asked before."""
        highest = self._highest
        step = least_whole(lambda n: n >= highest or self._border(n) >= epsilon, LOWEST - 1, highest)
        if not LOWEST < step < self._highest:
            return self._contour(_theta(step), epsilon, epsilon)
        line = self._lines.get(step)
        if line is None:
            line = self._contour(_theta(step), self._border(step - 1), self._border(step))
            if len(self._lines) >= KEPT:
                self._lines = {}  # another one, not the same emptied: another thread may be reading it
            self._lines[step] = line
        return line

    def _border(self, step: int) -> float:
        """The epsilon whose saddle is half a step beyond."""
        result = self._borders.get(step)
        if result is None:
            result = self._borders[step] = self._place(_theta(step + 0.5))
        return result

    def _contour(self, theta: float, low: float, high: float) -> ContourIntegral:
        """The line through theta, fine enough for every epsilon from `low` to `high`."""
        at = np.array([complex(theta), complex(2.0 * theta)])
        log_real, log_alias = (float(value) for value in self._log_moment(at).real)
        log_alias += 2.0 * float(self._wrong(np.array([4.0 * theta]))[0])
        left = PERIOD + theta * high - log_real
        right = PERIOD + log_alias - theta * low - log_real
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
        return ContourIntegral(values, (log_real, log_alias), mollifier=mollifier, period=period)

    def _that_matter(self, z: Complexes, spread: float) -> tuple[NDArray[np.bool_], float]:
        """The frequencies at which M(z)/M(theta) may be above `NOTHING`, and a bound on the sum over the others."""
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
        sizes = np.abs(z) + float(z[0].real)
        errors = self._wrong(sizes) + 2.0 * UNIT * abs(log_real)
        return moments, errors + 8.0 * UNIT * self._normal * (sizes + sizes**2) * np.abs(moments)

    def _wrong(self, sizes: Reals) -> Reals:
        """How far exp of `_log_moment`, without Gaussian pairs, may be off where |z| + theta is `sizes`."""
        still, turning = self._units
        return UNIT * (still + turning * sizes)

    @cached_property
    def _units(self) -> tuple[float, float]:
        """Rounding units, and units of |z| + theta."""
        passed = 2 * additions(len(self.others))
        uses = math.fsum(count * (pair.rounding + 36.0 + 4.0 * passed) for pair, count in self.others)
        finite = float(1 - self.infinite)
        lost = -math.log(finite) if finite else math.inf
        return uses + (16.0 + passed) * lost + 64.0, (48.0 + 4.0 * passed) * self._turning

    def _log_moment(self, z: Complexes) -> Complexes:
        """log M(z) of the finite losses."""
        total: Complexes = (self._normal / 2.0) * (z * z + z)
        for stack in self._stacks:
            total = total + stack.log_moments(z)
        return total

    def _with_infinite(self, finite: Bounds) -> Bounds:
        """Adds the probability of an infinite loss, of which the lower end trusts only what was not cut off."""
        if not self.infinite:
            return finite
        lower, upper = Fraction(finite.lower) + self.sure, Fraction(finite.upper) + self.infinite
        return Bounds(min(float_down(lower), 1.0), min(float_up(upper), 1.0))


def _ones(count: int) -> list[int]:
    """The positions of the ones in a binary number."""
    return [place for place in range(count.bit_length()) if count >> place & 1]


def _theta(step: float) -> float:
    """Where the contour with this number crosses the real axis."""
    return float(2.0 ** (step / STEPS))


def _inverse_alone(pair: DominatingPair, left: Bounds, most: float) -> Bounds:
    """Both ends of the least epsilon at which one pair, whose profile is closed, has the delta that is `left`."""
    below, above = pair.delta_bounds(0.0)  # a search does not ask at the end from which it comes
    upper = least(lambda place: pair.delta_bounds(place)[1] <= left.lower, 0.0, most) if above > left.lower else 0.0
    lower = least(lambda place: pair.delta_bounds(place)[0] <= left.upper, 0.0, upper) if below > left.upper else 0.0
    return Bounds(lower * (1.0 - 2.0**-44), upper)


def normal_mu(parts: Sequence[tuple[DominatingPair, int]]) -> Fraction | None:
    """mu of all together where all are Gaussian, rounded up."""
    if not all(isinstance(pair, GaussianPair) for pair, _ in parts):
        return None
    return root_above(sums(pair.mu2 * count for pair, count in parts if isinstance(pair, GaussianPair))[1])

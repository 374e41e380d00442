"""The privacy-loss random variable as a value: look at it, add it, convert it.

Claim
    For a `Loss` of a mechanism M, at every epsilon, M is (epsilon, `delta(epsilon)`)- and (`epsilon(delta)`,
    delta)-differentially private; `rho`-zCDP; of Rényi divergence at most `renyi(alpha)`; and no test of level alpha
    errs less than `tradeoff(alpha)`. The loss of mechanisms run on the same data, also adaptively with *fixed*
    parameters, is the sum of their losses.
Requires
    That the pairs dominate the mechanisms; that all parts of a sum mean the same two neighbors.
Relies on
    `composed_profile.Composition` for delta, epsilon and tails; `dominating_pairs` and `tabulated_pairs` for
    domination; `pair_zcdp` for rho.
Proof
    Composition of dominating pairs dominates (Theorem 10 of the source); a product's loss is the sum of the losses.
    Both directions are kept, and the worse one is returned. A declared rho (a theorem about the mechanism rather than
    its pair) is used where it is smaller. Where the pairs only bound, the conversion of rho is another bound on the
    same delta: the smaller is returned.
    *Trade-off*: power <= delta(t) + e^t alpha for each real t, so the best of several t is a bound.
Rounding
    delta, epsilon, rho, renyi and tail up; cdf, trade-off and lower ends down. delta is compared with the probability
    of infinite losses as one exact fraction with another.
Source
    Zhu, Dong and Wang (2022), Theorem 10.
Mutant
    one-direction: only the forward direction is asked; killed by test_the_worse_direction_is_returned.
    nothing-left-is-infinite: a delta that infinite losses use up is compared with 0; killed by
        test_a_guarantee_has_its_own_epsilon_at_its_own_delta.
    lower-end-of-the-float-below: both ends of delta are those of one float; killed by
        test_lower_ends_are_below_the_law.
    pair-alone-bounds: a rho that says more is not asked; killed by test_rho_helps_a_bounded_range.
    rho-added-once: a part used k times pays its rho once; killed by test_rho_adds_up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from discreet.accounting.composed_profile import Composition, normal_mu
from discreet.accounting.contour_integral import Bounds
from discreet.accounting.conversions import FARTHEST, delta_of, epsilon_of
from discreet.accounting.dominating_pairs import DominatingPair, Reals
from discreet.accounting.infinite_losses import infinite_loss_probability
from discreet.accounting.pair_zcdp import renyi_of, rho_of
from discreet.accounting.tradeoff import least_error, least_errors
from discreet.errors import InvalidParameter, NoTruth, expected
from discreet.exact.amounts import at_least_one, checked_amount, count, delta_or_zero, fraction, sums
from discreet.exact.bisection import float_down, float_up
from discreet.exact.cached_property import cached_property
from discreet.noise.entropy import draw, fresh_words
from discreet.plots.loss_panels import LossCurves, loss_figure

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

ALMOST = 1.0 + 2.0**-40
LARGEST_TABLE = 1 << 22
MOST_DRAWS = 1 << 28


class LossPart(NamedTuple):
    """A dominating pair, how often it is used, and what theorems say of it."""

    pair: DominatingPair
    times: int
    rho: Fraction | None
    """Its zCDP; None where that is computed from the pair."""
    pure: Fraction | None = None
    """The largest of its finite losses, in both directions, exactly; None where the pair tells, if there is one."""


@dataclass(frozen=True, eq=False)
class Loss(NoTruth):
    """How much more likely an output is on one table than on its neighbor: log p/p', as a random variable.

    Made by mechanisms (`dp.Laplace(...).loss`) and by `event_losses`; `a + b` is of both releases, ``3 * a`` of three.

    >>> from discreet.accounting.event_losses import laplace_loss
    >>> two = 2 * laplace_loss(1)
    >>> two.epsilon(delta=1e-3) <= 1.996, two.label
    (True, 'exact')
    """

    _ask: ClassVar[str] = "ask for an amount: loss.epsilon(delta=1e-6) <= 1."
    parts: tuple[LossPart, ...]

    @property
    def label(self) -> str:
        """``"exact"`` where the numbers are reached by the mechanism, ``"upper"`` where they only bound it."""
        return "exact" if all(part.pair.exact for part in self.parts) else "upper"

    def delta(self, epsilon: float | Fraction) -> float:
        """The least delta for `epsilon`, in the worse direction, rounded up."""
        exact = fraction("epsilon", epsilon)
        return self._delta(exact, float_down(exact)).upper

    def delta_bounds(self, epsilon: float | Fraction) -> Bounds:
        """Certified floats below and above the least delta."""
        exact = fraction("epsilon", epsilon)
        below, above = (self._delta(exact, place) for place in (float_down(exact), float_up(exact)))
        return Bounds(min(below.lower, above.lower), below.upper)

    def _delta(self, exact: Fraction, place: float) -> Bounds:
        """Bounds of delta at an epsilon, by that of a float beside it, since delta falls: of one below it the upper end
        holds, of one above it the lower.
        """
        if self._pure is not None and exact >= self._pure[1]:
            sure, most = self._leaked
            return Bounds(float_down(sure), float_up(most))
        if not -FARTHEST <= place < math.inf:
            return Bounds(0.0, 1.0)
        found = _worse(direction.delta(place) for direction in self._directions)
        can = self.label == "upper" and place > 0.0 and math.isfinite(self.rho)
        return _no_larger(found, delta_of(self.rho, place)) if can else found

    def epsilon(self, delta: float | Fraction) -> float:
        """The least epsilon for `delta`, in the worse direction, rounded up; infinite where there is none."""
        return self.epsilon_bounds(delta).upper

    def epsilon_bounds(self, delta: float | Fraction) -> Bounds:
        """Certified floats below and above the least epsilon."""
        exact = delta_or_zero(delta)
        if self._leaked == (exact, exact) and self._pure is not None:
            return Bounds(float_down(self._pure[0]), float_up(self._pure[1]))
        found = _worse(direction.epsilon(exact) for direction in self._directions)
        can = exact and self.label == "upper" and math.isfinite(self.rho)
        return _no_larger(found, epsilon_of(self.rho, float_down(exact))) if can else found

    def tail(self, t: float | Fraction) -> float:
        """P(L > t), infinity included, in the worse direction, rounded up. Strict: a loss of just t does not count.

        >>> from discreet.accounting.event_losses import laplace_loss
        >>> laplace_loss(1).tail(1), laplace_loss(1).tail(0.999) > 0.5
        (0.0, True)
        """
        exact = fraction("t", t)
        if self._pure is not None and exact >= self._pure[1]:
            return float_up(self._leaked[1])
        place = float_down(exact)
        if place < -FARTHEST:
            return 1.0
        place = min(place, FARTHEST)  # the tail falls
        return max(direction.tail(place).upper for direction in self._directions)

    def cdf(self, t: float | Fraction) -> float:
        """P(L <= t) in the worse direction, rounded down."""
        return float_down(1 - Fraction(self.tail(t)))

    @property
    def mean(self) -> float:
        """E[L], the Kullback-Leibler divergence, in the worse direction."""
        backward = sum(part.times * part.pair.reversed().mean for part in self.parts)
        return max(sum(part.times * part.pair.mean for part in self.parts), backward)

    @cached_property
    def rho(self) -> float:
        """A rho for which this is rho-zCDP, rounded up; infinite where there is none."""
        declared = sums(part.times * part.rho for part in self.parts if part.rho is not None)[1]
        computed = sum((part.times * _computed_rho(part.pair) for part in self.parts if part.rho is None), start=0.0)
        return float_up(declared) if not computed else (float_up(declared) + computed) * ALMOST

    @property
    def mu(self) -> float:
        """The mu of Gaussian differential privacy, where every part is Gaussian."""
        mu = normal_mu([(part.pair, part.times) for part in self.parts])
        if mu is None:
            cure = "only sums of Gaussian losses have a mu; ask .delta(epsilon), .epsilon(delta) or .rho instead."
            raise InvalidParameter(expected("a loss of Gaussian noise alone", "loss", self, cure))
        return float_up(mu)

    def renyi(self, alpha: float | Fraction) -> float:
        """The Rényi divergence of order `alpha` > 1, in the worse direction, rounded up."""
        order = fraction("alpha", alpha)
        if order <= 1:
            cure = "write an order above 1; the limit at 1 is .mean, at infinity .epsilon(delta=0)."
            raise InvalidParameter(expected("an order above 1", "alpha", alpha, cure))
        checked_amount("alpha - 1", order - 1)
        return float(sum(part.times * _divergence(part, float_up(order)) for part in self.parts)) * ALMOST

    def tradeoff(self, alpha: float | Fraction) -> float:
        """The least type-II error of any test between the neighbors at type-I error `alpha`, rounded down."""
        level = fraction("alpha", alpha)
        if not 0 <= level <= 1:
            raise InvalidParameter(expected("a level from 0 to 1", "alpha", alpha, "write a probability."))
        return min(least_error(direction.delta, level) for direction in self._directions)

    def sample(self, n: int) -> Reals:
        """`n` independent draws of the loss, forward; for a picture, not for a release."""
        number = count("n", n)
        uses = sum(part.times for part in self.parts)
        if number * uses > MOST_DRAWS:
            cure = f"at most {MOST_DRAWS} draws of single losses are added up; ask for fewer."
            raise InvalidParameter(expected("a smaller sample", "n", n, cure))
        words, total = fresh_words(), np.zeros(number)
        for part in self.parts:
            for _ in range(part.times):
                uniform = ((draw(words, number) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
                total += part.pair.quantile(uniform)
        return total

    def plot(self, *, ax: object = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """The privacy profile, the trade-off curve and a histogram of the loss, side by side; `ax` has three axes of
        yours to draw in, `path` saves the figure.
        """
        top = self.epsilon(1e-6)
        top = top if math.isfinite(top) and top > 0 else max(min(self.epsilon(0), 10.0), 1.0)
        epsilons, levels = np.linspace(0.0, top, 65), np.linspace(0.0, 1.0, 33)
        # Where the levels have their slopes, should the profile reach far beyond them.
        places = np.unique(np.append(epsilons, np.linspace(0.0, min(top, 6.0), 33)))
        deltas = np.array([self.delta(float(place)) for place in places])
        curves = LossCurves(
            epsilons=epsilons,
            deltas=deltas[np.searchsorted(places, epsilons)],
            levels=levels,
            errors=least_errors(places, deltas, levels),
            draws=self.sample(max(1, min(20_000, MOST_DRAWS // max(1, sum(part.times for part in self.parts))))),
        )
        caption = f"{self!r}: worst of both directions; {self.label}"
        return loss_figure(curves, caption=caption, ax=ax, path=path)

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        return Loss(self.parts + other.parts)

    def __mul__(self, times: int) -> Loss:
        number = at_least_one("times", times, "leave the loss out of the sum.")
        times_each = [int(checked_amount("times", Fraction(part.times * number))) for part in self.parts]
        return Loss(tuple(part._replace(times=n) for part, n in zip(self.parts, times_each, strict=True)))

    __rmul__ = __mul__

    def __radd__(self, other: object) -> Loss:
        """So that `sum` can begin with 0."""
        if other == 0 and not isinstance(other, Loss):
            return self
        return NotImplemented

    def __repr__(self) -> str:
        names = [f"{part.times} x {type(part.pair).__name__.removesuffix('Pair')}" for part in self._grouped[:3]]
        more = len(self._grouped) - 3
        return f"Loss({' + '.join(names)}{f' + {more} more' if more > 0 else ''})"

    @cached_property
    def _grouped(self) -> list[LossPart]:
        """Identical parts counted together."""
        found: dict[DominatingPair, LossPart] = {}
        for part in self.parts:
            before = found.get(part.pair)
            found[part.pair] = part if before is None else before._replace(times=before.times + part.times)
        return list(found.values())

    @cached_property
    def _leaked(self) -> tuple[Fraction, Fraction]:
        """Both ends of the probability of an infinite loss, forward; the same backward where `_pure` is known."""
        return infinite_loss_probability([(part.pair, part.times) for part in self.parts])

    @cached_property
    def _pure(self) -> tuple[Fraction, Fraction] | None:
        """Both ends of the sum of the largest finite losses, where all parts state theirs; nearly always the same."""
        known = [part.times * part.pure for part in self.parts if part.pure is not None]
        return sums(known) if len(known) == len(self.parts) else None

    @cached_property
    def _directions(self) -> tuple[Composition, ...]:
        """Forward and backward; one where they are the same."""
        forward = [(part.pair, part.times) for part in self._grouped]
        backward = [(pair.reversed(), number) for pair, number in forward]
        if all(there is back for (there, _), (back, _) in zip(forward, backward, strict=True)):
            return (Composition(forward),)
        return Composition(forward), Composition(backward)


def _no_larger(found: Bounds, also: float) -> Bounds:
    """The bounds, with `also` as another upper bound: the pairs may be pessimistic."""
    return Bounds(min(found.lower, also), min(found.upper, also))


def _worse(ends: Iterable[Bounds]) -> Bounds:
    found = list(ends)
    return Bounds(max(end.lower for end in found), max(end.upper for end in found))


def _computed_rho(pair: DominatingPair) -> float:
    return max(rho_of(pair), rho_of(pair.reversed()))


def _divergence(part: LossPart, alpha: float) -> float:
    """The Rényi divergence of one use, by its moments or by what is declared."""
    declared = alpha * float_up(part.rho) if part.rho is not None else math.inf
    return min(max(renyi_of(pair, alpha) for pair in (part.pair, part.pair.reversed())), declared)

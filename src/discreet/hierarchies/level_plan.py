"""A question on all levels of a path, priced: which noise each level has, and how good its answers are.

Claim
    The mechanisms of a `LevelPlan` together are `charge`-differentially private for the declared neighbors, on the
    exact totals of each level: sums, over the leaves of each node, of the totals of `plan`.
Requires
    An engine that computes the totals of `plan` as it says.
Relies on
    `planning.planner`: limits, lattices and shares of the blocks. `workloads.hierarchy.limits_of`: the limits of each
    level. `sensitivity.contributions`; `planning.noise_laws` for the noise and the composition of all.
Proof
    A block moves on a level as its form does under the limits of that level, with as many totals as the level has nodes
    and cells. Its noise there has the block's share times the level's; the shares of a block's levels add up to 1, and
    those of the blocks as well. A level without a share is not drawn.
Rounding
    As `planning.noise_laws`.
Source
    Hay, Rastogi, Miklau and Suciu (2010); Dwork et al. (2006).
Mutant
    leaves-for-levels: each level has the sensitivity of the leaves; killed by
    test_levels_have_their_own_limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import fraction, positive
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import in_memory
from discreet.hierarchies.place_keys import Places
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning import forms
from discreet.planning.noise_laws import Law, Noise, Price, noise_event, width_of
from discreet.planning.plan import Column, Plan, PricedBlock, Query
from discreet.planning.planner import price, stated_price, stated_weights
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event, composed
from discreet.sensitivity.contributions import Limits, Size
from discreet.workloads.hierarchy_least_squares import LevelVariances, Reals, reach, rounding
from discreet.workloads.hierarchy_release import stated_shares, variance_of
from discreet.workloads.hierarchy_shares import best_shares, level_variances, shares_within

Levels = tuple[Noise | None, ...]


@dataclass(frozen=True, eq=False)
class LevelPlan:
    """Everything that a release needs: the question about the leaves, and the noise of each level."""

    places: Places
    plan: Plan
    """Of the question by the leaves: its lattices and limits count, and its noise does not."""
    shares: tuple[tuple[Fraction, ...], ...]
    """For each block the shares of its levels."""
    noises: tuple[Levels, ...]
    """For each block the noise of its levels, in steps; none where a level is not measured."""
    offer: Price
    integers: bool

    @cached_property
    def event(self) -> Event:
        """What is drawn, all levels together."""
        return composed(*(noise_event(noise) for levels in self.noises for noise in levels if noise is not None))

    @cached_property
    def charge(self) -> Guarantee:
        """What it costs."""
        return self.offer.charge(self.event)

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.offer.law is Law.GAUSSIAN

    def variances_of(self, block: int) -> list[float]:
        """The variance of the noise of a block on each level, in rows; infinity where it is not measured."""
        steps = self.plan.blocks[block].steps
        return [
            math.inf if one is None else variance_of(width_of(one), gaussian=self.gaussian) / steps**2
            for one in self.noises[block]
        ]

    @cached_property
    def known(self) -> tuple[LevelVariances, ...]:
        """For each block, the variances of its nodes."""
        return tuple(LevelVariances.of(self.places.tree, self.variances_of(i)) for i in range(len(self.noises)))

    def half_width(self, column: Column, variances: Sequence[Reals], off: Reals | float, confidence: float) -> Reals:
        """Half the width of the intervals of a column, from the variances of its blocks."""
        square = sum(
            variance * sum(c**2 for c in factors)
            for variance, factors in zip(variances, column.coefficients, strict=True)
        )
        width = reach(confidence, gaussian=self.gaussian)
        return np.asarray(width * np.sqrt(np.maximum(square, 0.0)) + self.rest(column) + off, dtype=np.float64)

    def rest(self, column: Column) -> float:
        """What noise adds that is whole: half a step of each component."""
        steps = [self.plan.blocks[i].steps for i in column.blocks]
        return sum(sum(map(abs, own)) / 2 / step for own, step in zip(column.coefficients, steps, strict=True))

    def largest(self, column: Column, confidence: float) -> Reals:
        """The largest half width of a column on each level."""
        every = [level_variances(self.places.tree, self.variances_of(i))[1] for i in column.blocks]
        off: Reals | float = 0.0
        if self.integers:
            [block] = column.blocks
            off = np.array([float(level.max()) for level in rounding(self.places.tree, self.known[block])])
        return self.half_width(column, every, off, confidence)


def level_plan(
    query: Query,
    places: Places,
    prices: dict[str, Any],
    *,
    shares: object = None,
    weights: object = None,
    integers: bool = False,
) -> LevelPlan:
    """The best plan at a price, in the law of its noise and in the shares of levels where none are stated.

    Args:
        query: the question by the leaves.
        places: the leaves.
        prices: epsilon, with or without delta, or rho.
        shares: of the price, for each level, in proportion to each other.
        weights: of the levels, where shares are to be found.
        integers: whether answers are rounded to whole numbers.
    """
    stated = stated_price(**prices)
    best = price(query, **prices, stairs=False)
    plans = [one for one in (best, *best.runners_up) if stated.rho is None or one.law is Law.GAUSSIAN]
    for plan in plans:
        _check(plan, integers=integers)
    parts = None if shares is None else stated_shares(shares, len(places.levels))
    found = [_level_plan(plan, places, _offer(stated, plan.law), parts, weights, integers=integers) for plan in plans]
    by_column = stated_weights(query, None)
    return min(found, key=lambda one: _cost(one, found[0], by_column))


def _cost(plan: LevelPlan, first: LevelPlan, weights: dict[str, float]) -> float:
    """The variances of a plan beside those of another one, on average over its columns."""
    total = 0.0
    for column in plan.plan.columns:
        own, other = (
            float(
                sum(
                    np.sum(level_variances(one.places.tree, one.variances_of(i))[0]) * sum(c**2 for c in factors)
                    for i, factors in zip(column.blocks, column.coefficients, strict=True)
                )
            )
            for one in (plan, first)
        )
        total += weights[column.aggregate.name] * own / other
    return total


def _offer(stated: Price, law: Law) -> Price:
    if stated.rho is not None:
        return Price.concentrated(law, stated.rho)
    return replace(stated, law=law, delta=stated.delta if law is Law.GAUSSIAN else Fraction(0))


def _level_plan(
    plan: Plan, places: Places, offer: Price, parts: list[Fraction] | None, weights: object, *, integers: bool
) -> LevelPlan:
    noises, shares = [], []
    stated = None if weights is None else stated_weights_of(weights, places.levels).values()
    factors = None if stated is None else [float(one / sum(stated)) for one in stated]
    for block in plan.blocks:
        moved = sensitivities(plan, block, places, offer.law)
        own = parts
        if own is None:
            units = [offer.variance(float(bound), 1.0) for bound, _ in moved]
            own = best_shares(places.tree, units, power=offer.law.power, weights=factors)
        shares.append(tuple(own))
        noises.append(_levels(offer, moved, [block.share * part for part in own]))
    return LevelPlan(places, plan, tuple(shares), tuple(noises), offer, integers)


def stated_weights_of(weights: object, levels: Sequence[str]) -> dict[str, Fraction]:
    """The weights of levels, stated in their order or by name, 1 for those that are left out."""
    names, given = list(levels), weights if isinstance(weights, Mapping) else None
    if given is None and in_memory(weights):
        listed = list(weights)
        given = dict(zip(names, listed, strict=True)) if len(listed) == len(names) else None
    cure = f"write weights={{{names[-1]!r}: 4}}, or one number for each level from the top down."
    if given is None:
        raise InvalidParameter(expected(f"weights of {len(names)} levels", "weights", weights, cure))
    for name in given:
        if name not in names:
            raise InvalidParameter(
                expected("weights of levels of the path", "weights", name, nearest_name(name, names))
            )
    found = {name: fraction(f"weights[{name!r}]", given.get(name, 1)) for name in names}
    if min(found.values()) < 0 or not found[names[-1]]:
        what = f"weights of 0 or more, above 0 for {names[-1]!r}, of which the others are sums"
        raise InvalidParameter(expected(what, "weights", weights, cure))
    return found


def _levels(offer: Price, moved: Sequence[tuple[Fraction, Size]], shares: Sequence[Fraction]) -> Levels:
    return tuple(offer.noise(own, share) if share else None for own, share in zip(moved, shares, strict=True))


def sensitivities(plan: Plan, block: PricedBlock, places: Places, law: Law) -> list[tuple[Fraction, Size]]:
    """For each level, how far one unit moves the totals of a block, in steps."""
    query = plan.query
    limits = query.effective
    if not query.by_row:
        limits = Limits(max_groups=limits.max_groups, max_rows=block.block.form.rows(block.block, limits.max_rows))
    found = []
    for own, size in zip(places.tree.limits_of(limits), places.tree.sizes, strict=True):
        totals = size * places.number_of_cells if block.block.components == 1 else None
        back = block.lattice.back
        found.append(law.sensitivity_of(block.steps, own, query.declaration.neighbors, back=back, totals=totals))
    return found


def _check(plan: Plan, *, integers: bool) -> None:
    """Refuses what does not add up along a path."""
    cure = "ask for counts and sums; the mean of a place is its sum over its count."
    for column in plan.columns:
        asked = column.aggregate
        if not column.linear or column.offset or asked.statistic.form is forms.DISTINCT:
            raise InvalidQuery(expected("aggregates that add up along a path", asked.name, asked.statistic.name, cure))
        if asked.statistic.form is forms.UNITS and plan.limits.max_groups > 1:
            more = "state max_groups=1, so that each unit counts once; or count rows."
            what = "units that count in one place, so that those of a state are the sum of its counties'"
            raise InvalidQuery(expected(what, "max_groups", plan.limits.max_groups, more))
        if any(plan.blocks[i].block.form.rotated for i in column.blocks):
            raise InvalidQuery(expected("counts and sums", asked.name, asked.statistic.name, cure))
        if integers and not (asked.statistic.counts and len(column.blocks) == 1 and column.coefficients == ((1.0,),)):
            more = "leave integers out, or ask for the counts in a question of their own."
            raise InvalidQuery(expected("counts, where integers are wanted", asked.name, asked.statistic.name, more))


def plan_within(
    query: Query, places: Places, targets: Mapping[str, object], *, confidence: float, integers: bool = False
) -> LevelPlan:
    """The plan of the smallest epsilon, to four digits, at which a question's column is within these half widths.

    Args:
        query: the question by the leaves, of one column.
        places: the leaves.
        targets: half widths by level.
        confidence: of the intervals.
        integers: whether answers are rounded to whole numbers.

    Raises:
        InvalidParameter: no epsilon is enough: half a count, or what rounding adds, is above a target.
    """
    wanted = np.full(len(places.levels), math.inf)
    for name, target in _stated_targets(targets, places.levels).items():
        wanted[places.levels.index(name)] = target
    if len(query.aggregates) != 1:
        cure = "ask for one column, or state epsilon."
        raise InvalidQuery(expected("one column beside within", "aggregates", len(query.aggregates), cure))
    first = level_plan(query, places, {"epsilon": 1}, shares=[1] * len(places.levels), integers=integers)
    [column] = first.plan.columns
    moved = sensitivities(first.plan, first.plan.blocks[column.blocks[0]], places, first.offer.law)
    units = [first.offer.variance(float(bound), 1.0) for bound, _ in moved]
    deviations = [float(one) / reach(confidence, gaussian=False) for one in wanted]
    shares, _ = shares_within(places.tree, units, power=2, deviations=deviations)

    def made(epsilon: Fraction) -> LevelPlan:
        return level_plan(query, places, {"epsilon": epsilon}, shares=shares, integers=integers)

    def meets(epsilon: Fraction) -> bool:
        plan = made(epsilon)
        return bool(np.all(plan.largest(plan.plan.columns[0], confidence) <= wanted))

    return made(smallest_epsilon(meets, dict(targets)))


def _stated_targets(targets: object, levels: Sequence[str]) -> dict[str, float]:
    """Half widths by level, above 0."""
    if not isinstance(targets, Mapping) or not targets:
        cure = f"write within={{{levels[-1]!r}: 20}}."
        raise InvalidParameter(expected("a dict of half widths by level", "within", targets, cure))
    for name in targets:
        if name not in levels:
            raise InvalidParameter(expected("levels of the path", "within", name, nearest_name(name, levels)))
    return {name: float(positive(f"within[{name!r}]", target)) for name, target in targets.items()}

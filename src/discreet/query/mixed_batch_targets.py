"""Wanted errors of a batch beside ranges: read, and the cheapest plan of each part, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import positive
from discreet.planning.batch_planner import weights_of_tables
from discreet.planning.mixed_batch_plan import MixedBatchPlan, MixedBatchQuery, plan_within, plans_together
from discreet.planning.noise_laws import Law
from discreet.planning.planner import stated_delta
from discreet.planning.table_names import Name
from discreet.query.batch_targets import (
    BatchTargets,
    WantedBatch,
    batch_targets,
    cheapest_in_rho,
    cheapest_of_each_law,
    rows_for_parts,
    wanted_ranges,
    wanted_tables,
)
from discreet.query.explain import assumed_rows


@dataclass(frozen=True, kw_only=True)
class MixedBatchTargets:
    """By how much cells of listed tables may be off, and the worst of all ranges."""

    listed: BatchTargets | None
    ranges: Mapping[str, Fraction]

    @property
    def errors(self) -> dict[Name, Any]:
        """By table, in the units of each column."""
        found: dict[Name, Any] = {} if self.listed is None else dict(self.listed.errors)
        found.update(self.ranges)
        return found


def mixed_batch_targets(
    asked: MixedBatchQuery, within: object, *, relative: bool, assume: Mapping[str, int] | None
) -> MixedBatchTargets:
    """The wanted errors, checked; each part that has noise of its own needs one."""
    if asked.open:
        cure = "state a price, epsilon=...; .explain(epsilon=...) shows the errors."
        raise InvalidParameter(expected("a price where something is to be found", "within", within, cure))
    cure = "write within={'by_plan': 20, 'by_age': 40}: no range of by_age off by more than 40."
    if not isinstance(within, Mapping):
        raise InvalidParameter(expected("a wanted error for each part", "within", within, cure))
    if unknown := [name for name in within if name not in asked.names]:
        raise InvalidParameter(
            expected("tables of the batch", "within", unknown[0], nearest_name(unknown[0], list(map(str, asked.names))))
        )
    of = rows_for_parts(assumed_rows(assume)) if relative else 1
    if left := [name for name in asked.ranges if name not in within]:
        raise InvalidParameter(expected("a wanted error for each part", f"within[{left[0]!r}]", "none", cure))
    ranges = {name: positive(f"within[{name!r}]", within[name]) * of for name in asked.ranges}
    if asked.listed is None:
        return MixedBatchTargets(listed=None, ranges=ranges)
    rest = {name: target for name, target in within.items() if name not in ranges}
    if not rest:
        raise InvalidParameter(expected("a wanted error for some listed tables", "within", "of ranges alone", cure))
    return MixedBatchTargets(listed=batch_targets(asked.listed, rest, relative=relative, assume=assume), ranges=ranges)


def cheapest_mixed(
    asked: MixedBatchQuery,
    targets: MixedBatchTargets,
    delta: object,
    weights: Mapping[Any, object] | None,
    confidence: float,
) -> MixedBatchPlan:
    """All parts at the smallest epsilon that reaches what is wanted of each: with an even part of delta for each, or
    with one price for all Gaussian noise, whichever is less.
    """
    weights_of_tables(asked.names, weights)  # a wrong one is refused where nothing depends on it, too
    if idle := [name for name in asked.ranges if name in (weights or ())]:
        cure = "leave it out: its part of the price is what its error needs; weights divide what listed tables share."
        raise InvalidParameter(expected("weights of listed tables beside within", "weights", idle[0], cure))
    extra = stated_delta(delta)
    wanted: dict[str | None, WantedBatch] = {
        name: wanted_ranges(query, targets.ranges[name], confidence) for name, query in asked.ranges.items()
    }
    if asked.listed is not None and targets.listed is not None:
        wanted[None] = wanted_tables(asked.listed, targets.listed, weights, confidence)
    laws = {name: cheapest_of_each_law(one, extra / len(wanted)) for name, one in wanted.items()}
    apart = {name: min(own.values(), key=lambda plan: plan.charge.epsilon) for name, own in laws.items()}
    found = [plan_within(asked, apart)]
    if extra and len(wanted) > 1:
        gaussian = {name: cheapest_in_rho(one, laws[name][Law.GAUSSIAN]) for name, one in wanted.items()}
        pure = {name: [plan for law, plan in own.items() if law is not Law.GAUSSIAN] for name, own in laws.items()}
        laplace = {name: min(own, key=lambda plan: plan.charge.epsilon) for name, own in pure.items() if own}
        found += plans_together(asked, gaussian, laplace, extra)
    return min(found, key=lambda plan: plan.charge.epsilon)

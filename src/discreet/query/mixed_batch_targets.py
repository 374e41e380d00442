"""Wanted errors of a batch beside ranges: read, and the cheapest plan of each part, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter, expected, nearest
from discreet.exact.amounts import fraction, positive
from discreet.planning.batch_planner import BatchPlan, Name, weights_of_tables
from discreet.planning.mixed_batch_plan import MixedBatchPlan, MixedBatchQuery
from discreet.query.batch_targets import (
    BatchTargets,
    batch_targets,
    cheapest_ranges,
    cheapest_tables,
    rows_for_parts,
)
from discreet.query.explain import rows_of


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
            expected("tables of the batch", "within", unknown[0], nearest(unknown[0], list(map(str, asked.names))))
        )
    of = rows_for_parts(rows_of(assume)) if relative else 1
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
    """Each part at the smallest epsilon that reaches what is wanted of it, with an even part of delta."""
    weights_of_tables(asked.names, weights)  # a wrong one is refused where nothing depends on it, too
    if idle := [name for name in asked.ranges if name in (weights or ())]:
        cure = "leave it out: its part of the price is what its error needs; weights divide what listed tables share."
        raise InvalidParameter(expected("weights of listed tables beside within", "weights", idle[0], cure))
    own = fraction("delta", delta) / len(asked.planned)
    found: dict[str | None, BatchPlan] = {
        name: cheapest_ranges(query, targets.ranges[name], own, confidence) for name, query in asked.ranges.items()
    }
    if asked.listed is not None and targets.listed is not None:
        found[None] = cheapest_tables(asked.listed, targets.listed, own, weights, confidence)
    whole = sum(plan.charge.epsilon for plan in found.values())
    return MixedBatchPlan(
        names=asked.names,
        listed=found.get(None),
        open={},
        ranges={name: found[name] for name in asked.ranges},
        shares={name: plan.charge.epsilon / whole for name, plan in found.items()},
    )

"""A question with unspecified keys, limits or bounds: its price before they are found, and its plan afterwards.

Claim
    The mechanisms of `histograms` and `reports`, of `selection`, and of the plan that `completed_plan` makes of what
    they found, are together `charge`-differentially private for the declared neighbors; at a price in rho they are
    together rho-zCDP, up to an event whose probability is the delta that finds keys.
Requires
    Of the engine: histograms in which each unit is in one bin at most, and totals of keys as
    `selection.partition_selection` wants them (`engines.first_looks` owes both).
Relies on
    `mechanisms.laplace`, `selection.partition_selection`, `planner`; adaptive sequential composition;
    `thresholded_counts`, for one look alone.
Proof
    The parts of epsilon are positive fractions whose sum is epsilon, and public (`first_look_budget`, `split_weights`);
    delta is for the
    selection, but for a half of it
    where Gaussian noise in the answer is better than Laplace noise. Adding or removing a unit moves a histogram by 1 in
    L1 norm, replacing one by 2, and where a unit is m rows, each in a bin, by m or 2m; its noise has that sensitivity.
    The selection is made with what `thresholded_counts.under_adding` leaves it. The last plan depends on the rows
    through what was found alone, and whatever was found, it is private at the epsilon kept for it. Where one look is
    taken in place of two, it has all of epsilon and delta, and nothing follows; which way it is, public facts say.
    *rho.* The parts are of rho, and each look is pure at the epsilon whose epsilon^2/2 is its part (Bun and Steinke,
    proposition 1.4), the selection so up to an event of probability delta; the last plan has its part in rho. Costs in
    rho add up, for adaptive choices too (lemma 2.3).
Rounding
    None.
Source
    Dwork and Roth (2014), theorem 3.16 and, for adaptive choices, 3.5.1. Bun and Steinke, "Concentrated differential
    privacy" (2016).
Mutant
    whole-epsilon-again: the last plan is made with all of epsilon; killed by test_parts_add_up_to_the_charge.
    looks-at-parts-of-epsilon-in-rho: the first looks have the epsilon of all of rho; killed by
    test_parts_of_rho_add_up_to_it.
    last-look-alone: the receipt tells the cost of the last look; killed by
    test_a_receipt_says_what_the_ledger_added_up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

import ibis
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import above_zero, decimal_text
from discreet.language.checked_expressions import Kind, Value, cast, float_text
from discreet.mechanisms.laplace import Laplace
from discreet.planning.aggregates import Aggregate
from discreet.planning.auto_bounds import COUNTS, SIZES
from discreet.planning.clipping_reports import BINS, bounded_values
from discreet.planning.first_look_budget import parts
from discreet.planning.group_keys import Keys
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law, Price
from discreet.planning.plan import Plan, Query, StatedLimits
from discreet.planning.planner import price, stated_price
from discreet.planning.thresholded_counts import one_look, threshold_for, under_adding
from discreet.planning.unspecified import MOST_UNKNOWN_GROUPS, Unspecified, open_values
from discreet.privacy.declaration import Key
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import ApproximateEvent, ConcentratedEvent, Event, PureEvent, composed
from discreet.selection.partition_selection import KeySelection
from discreet.sensitivity.intervals import Interval

Weights: TypeAlias = Mapping[str, object] | None

REPORT_PART = Fraction(1, 20)
"""Of epsilon, for each kind of report."""


class Subject(Enum):
    """What a histogram of units counts by."""

    GROUPS = "max_groups"
    ROWS = "max_rows"
    SIZE = "bounds"
    CLIPPED = "clipped"
    WEIGHTED = "weighted"


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitHistogram:
    """A noisy histogram of units, each in one bin: by its groups, by its most rows in one, or by its largest value."""

    subject: Subject
    noise: Laplace
    value: Value | None = None
    where: Value | None = None

    @property
    def bins(self) -> int:
        """How many bins are counted, filled or not."""
        return {Subject.SIZE: 2 * SIZES + 1, Subject.CLIPPED: BINS, Subject.WEIGHTED: BINS}.get(self.subject, COUNTS)


@dataclass(frozen=True, slots=True)
class Findings:
    """What the first looks found: a limit by its name, the ends of each open value, the keys."""

    limits: Mapping[str, int] = field(default_factory=dict)
    ends: tuple[tuple[Fraction, Fraction], ...] = ()
    keys: tuple[tuple[Key, ...], ...] | None = None
    counts: NDArray[np.int64] | None = field(default=None, compare=False)
    """What was counted under each key, noise and all, where one look did both."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenQuestionPlan:
    """A priced question in which something is open. `query` has stand-ins for it, and `placeholder_plan`
    is their plan.
    """

    query: Query
    unspecified: Unspecified
    charge: Guarantee
    histograms: tuple[UnitHistogram, ...]
    reports: tuple[UnitHistogram, ...]
    """What is told beside the answer, of what was settled: clipping of each value in turn, and weights."""
    selecting: Fraction
    """The epsilon that finds keys; 0 where they are known."""
    answering: Guarantee
    """What the last plan may cost; the rest of delta finds keys. Of rho, with the epsilon that costs as much."""
    weights: Weights
    placeholder_plan: Plan
    runner_up: OpenQuestionPlan | None = None
    """Two looks, where one is taken: `placeholder_plan.shown` finds the keys, by the counts themselves."""

    @property
    def event(self) -> Event:
        """What a ledger records for all looks together."""
        if self.placeholder_plan.shown and self.placeholder_plan.event is not None:
            return self.placeholder_plan.event
        parts: list[Event] = [histogram.noise.event for histogram in (*self.histograms, *self.reports)]
        if self.selecting:
            parts.append(ApproximateEvent(epsilon=self.selecting, delta=self.selecting_delta))
        return composed(*parts, _any_event(self.answering))

    @property
    def selecting_delta(self) -> Fraction:
        """The delta that finds keys."""
        return self.charge.delta - self.answering.delta

    def selection(self, max_groups: int) -> KeySelection:
        """The mechanism that finds keys, for units in at most so many of them."""
        return _selection(self.query, self.selecting, self.selecting_delta, max_groups)

    def groups(self, found: int | None = None) -> int:
        """How many keys of one unit are looked at: as many as were found to be enough, or stated."""
        return min(found or self.query.limits.max_groups or 1, MOST_UNKNOWN_GROUPS)

    def completed_plan(self, findings: Findings) -> Plan:
        """The plan of the question, with nothing left open."""
        if self.placeholder_plan.shown:
            return replace(self.placeholder_plan, query=completed_query(self.query, findings))
        limits, kept = dict(findings.limits), self.answering
        while True:
            query = completed_query(self.query, replace(findings, limits=limits))
            empty = query.keys is not None and not query.keys.size
            priced = replace(query, keys=self.query.keys) if empty else query
            try:
                plan = _answer(priced, kept, self.weights)
            except InvalidParameter:  # limits so large that no lattice is fine enough
                largest = max(limits, key=lambda name: limits[name], default=None)
                if largest is None or limits[largest] == 1:
                    raise
                limits[largest] //= 2
            else:
                return replace(plan, query=query, charge=self.charge, event=self.event)


def _any_event(kept: Guarantee) -> Event:
    """What stands for any plan at a price."""
    if kept.rho is not None:
        return ConcentratedEvent(rho=kept.rho)
    if kept.delta:
        return ApproximateEvent(epsilon=kept.epsilon, delta=kept.delta)
    return PureEvent(epsilon=kept.epsilon)


def _answer(query: Query, kept: Guarantee, weights: Weights) -> Plan:
    """The plan of a question with nothing open, at a price."""
    if kept.rho is not None:
        return price(query, rho=kept.rho, weights=weights)
    return price(query, epsilon=kept.epsilon, delta=kept.delta, weights=weights)


def _selection(query: Query, epsilon: Fraction, delta: Fraction, max_groups: int) -> KeySelection:
    kept = under_adding(query.units_changed, Guarantee(epsilon=epsilon, delta=delta))
    return KeySelection(epsilon=kept.epsilon, delta=kept.delta, max_groups=max_groups)


def completed_query(query: Query, findings: Findings) -> Query:
    """A query with what was found in place of its placeholders."""
    keys = query.keys
    if findings.keys is not None and keys is not None:
        keys = Keys(keys.names, keys.kinds, findings.keys)
    limits = StatedLimits(
        max_groups=findings.limits.get("max_groups", query.limits.max_groups),
        max_rows=findings.limits.get("max_rows", query.limits.max_rows),
    )
    values = open_values(query) if findings.ends else []
    bounds = {value.expr.op(): ends for value, ends in zip(values, findings.ends, strict=True)}
    aggregates = tuple(_bounded(a, bounds) for a in query.aggregates)
    return replace(query, keys=keys, limits=limits, aggregates=aggregates)


def _bounded(a: Aggregate, bounds: Mapping[Any, tuple[Fraction, Fraction]]) -> Aggregate:
    if a.value is None:
        return a
    first, *others = (
        clipped(v, *bounds[v.expr.op()]) if v.unbounded and v.expr.op() in bounds else v for v in a.values
    )
    return replace(a, value=first, others=tuple(others))


def clipped(value: Value, low: Fraction, high: Fraction) -> Value:
    """A value moved into bounds that were chosen for it, or, where both are 0, into stand-ins of 0 and 1."""
    stand_in = low == high
    whole, own = value.kind is Kind.INTEGER, value.interval
    if own is None:
        raise TypeError(value)
    low, high = max(low, own.low), min(high, own.high)
    low = Fraction(math.floor(low)) if whole else low
    high = Fraction(math.ceil(high)) if whole else high
    high = high if high > low else low + 1
    number = int if whole else float
    start, end = (cast(ibis.literal(number(e)), value.kind) for e in (low, high))
    expr = ibis.cases(
        (value.expr.between(start, end), value.expr), (value.expr < start, start), (value.expr > end, end)
    )
    interval = Interval(low, high, integer=whole)
    text = f"{value.text} within {'auto' if stand_in else float_text(interval)}"
    return replace(value, expr=expr, interval=interval, narrow=interval, text=text)


def plan_open_question(
    query: Query,
    left: Unspecified,
    *,
    weights: Weights = None,
    within: object = None,
    **price_of_call: object,
) -> OpenQuestionPlan:
    """The price of a question with something unspecified, at an epsilon, with a delta, or at a rho; reads nothing and
    spends nothing.

    A single count by unknown keys takes one look in place of two, where that needs no more units to find a key and
    is off by no more, or where it was asked for; but not if the error of whatever count is shown is stated beforehand
    (`within`).
    """
    offer = stated_price(**price_of_call)
    stages = _with_first_looks(query, left, offer, weights)
    whole = Guarantee(epsilon=offer.epsilon, delta=offer.delta)
    is_wanted = left.keys is not None and left.keys.by_count
    if is_wanted and within is not None:
        cure = "state a price, epsilon=; or write keys=dp.UNKNOWN, whose counts have the same error whatever they are."
        raise InvalidQuery(expected("a price for keys that are found by their counts", "within", within, cure))
    rule = None if within is not None else threshold_for(query, left, whole)
    if rule is None:
        return stages
    answer = one_look(stages.placeholder_plan, rule, whole)
    needs_more = rule.threshold > stages.selection(stages.groups()).users()
    if not is_wanted and (needs_more or _error(answer) > _error(stages.placeholder_plan)):
        return stages
    charge = whole if offer.rho is None else replace(whole, rho=offer.rho)
    answer = replace(answer, charge=charge)
    return replace(
        stages, charge=charge, selecting=Fraction(0), answering=whole, placeholder_plan=answer, runner_up=stages
    )


def _error(plan: Plan) -> float:
    return half_width(plan, plan.columns[0], 0.95)


def _with_first_looks(query: Query, left: Unspecified, offer: Price, weights: Weights) -> OpenQuestionPlan:
    """The same with a first look for each unspecified part, and a last one that answers."""
    if left.keys and not offer.delta:
        raise InvalidQuery(
            "Expected a delta above 0 for unknown keys, got delta=0.\n"
            "Hint: give one, .release(epsilon=..., delta=1e-8): about the probability with which a key that one person "
            "alone has may be shown. Or list the keys, keys={...}, and do without."
        )
    if offer.rho is not None and offer.delta and not left.keys:
        cure = "leave delta out: without unknown keys, nothing that is priced in rho needs one."
        raise InvalidParameter(expected("no delta beside rho", "delta", decimal_text(offer.delta), cure))
    part = offer.delta
    values = open_values(query)
    keys_part, weights = split_weights(left, weights)
    limits = [Subject(name) for name in sorted(left.limits)]
    reports = _reports(query, left, offer)
    scale = query.units_changed / offer.epsilon
    each, together = parts(len(limits), len(values), left.share, query.declaration.size, scale)
    left_over = _left_over(left, each * len(limits) + (together if values else 0))
    for_keys = left_over * keys_part if left.keys else Fraction(0)
    selecting = offer.part(for_keys).epsilon if left.keys else Fraction(0)
    histograms = [_histogram(query, subject, offer.part(each)) for subject in limits]
    histograms += [_histogram(query, Subject.SIZE, offer.part(together / len(values)), value) for value in values]
    stand_in = completed_query(query, Findings(ends=((Fraction(0), Fraction(0)),) * len(values)))
    rest = offer.part(left_over - for_keys)
    own = Fraction(0) if offer.rho is not None else part / 2 if left.keys else part
    answering = Guarantee(epsilon=rest.epsilon, delta=own, rho=rest.rho)
    answer = _answer(stand_in, answering, weights)
    # Before the limits are found it is unknown which law is better.
    if answer.law is not Law.GAUSSIAN and not left.limits:
        own = Fraction(0)
    charge = Guarantee(
        epsilon=offer.epsilon if offer.rho is None else UNBOUNDED, delta=part if left.keys else own, rho=offer.rho
    )
    if left.keys:  # refused here, before anything is spent, where no law can keep so little
        _selection(query, selecting, part - own, query.limits.max_groups or 1)
    return OpenQuestionPlan(
        query=query,
        unspecified=left,
        charge=charge,
        histograms=tuple(histograms),
        reports=reports,
        selecting=selecting,
        answering=replace(answering, delta=own),
        weights=weights,
        placeholder_plan=replace(answer, charge=charge),
    )


def split_weights(left: Unspecified, weights: Weights) -> tuple[Fraction, Weights]:
    """The part of what is left that finds keys, and the weights of the columns of the answer. Keys weigh 1, as the
    answer does as a whole, or as much as the heaviest of their columns that has a weight.
    """
    if left.keys is None or not isinstance(weights, Mapping):
        return Fraction(1, 2), weights
    names = left.keys.names
    stated = [above_zero(f"weights[{name!r}]", weights[name]) for name in names if name in weights]
    heaviest = max(stated, default=Fraction(1))
    return heaviest / (1 + heaviest), {name: weight for name, weight in weights.items() if name not in names}


def _left_over(left: Unspecified, looks: Fraction) -> Fraction:
    """The part of the price for the answer, and the keys, beside that of the looks for limits and bounds."""
    found = 1 - looks - REPORT_PART * len(left.report)
    if found <= 0:
        cure = "lower first_look; each report takes a twentieth."
        raise InvalidParameter(expected("something left for the answer", "first_look", float(looks), cure))
    return found


def _reports(query: Query, left: Unspecified, offer: Price) -> tuple[UnitHistogram, ...]:
    """The histograms that report clipping and weighting."""
    reports = []
    if "clipped" in left.report:
        values = bounded_values(query)
        each = offer.part(REPORT_PART / len(values))
        reports += [_histogram(query, Subject.CLIPPED, each, value) for value in values]
    if "weighted" in left.report:
        reports.append(_histogram(query, Subject.WEIGHTED, offer.part(REPORT_PART)))
    return tuple(reports)


def _histogram(query: Query, subject: Subject, part: Price, value: Value | None = None) -> UnitHistogram:
    noise = Laplace(sensitivity=query.units_changed, epsilon=part.epsilon)
    return UnitHistogram(
        subject=subject, noise=noise, value=value, where=None if value is None else _where(query, value)
    )


def _where(query: Query, value: Value) -> Value | None:
    """The rows that a value is looked at in: those of its aggregates, or all where they differ."""
    own = [a.where for a in query.aggregates if any(v.expr.op() == value.expr.op() for v in a.values)]
    return own[0] if len({None if w is None else w.expr.op() for w in own}) == 1 else None

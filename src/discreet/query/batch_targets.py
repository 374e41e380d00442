"""Wanted errors of the tables of a batch: read, and the cheapest plan that reaches them, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import decimal_text, positive
from discreet.exact.given_values import flag
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning.aggregates import Aggregate
from discreet.planning.batch_planner import BatchPlan, BatchQuery, plan_batch, price_batch
from discreet.planning.joint_batch import is_one_question, plan_jointly
from discreet.planning.noise_laws import Law, Price
from discreet.planning.plan import Column
from discreet.planning.planner import LARGEST_EPSILON, offers_of, stated_price
from discreet.planning.table_names import Name, label, table_named
from discreet.query.explain import assumed_rows, error_of
from discreet.query.explain_batch import WORST, range_errors


@dataclass(frozen=True, kw_only=True)
class BatchTargets:
    """By how much cells of tables may be off, by table and column, in the units of each column."""

    errors: Mapping[Name, Mapping[str, Fraction]]
    rows: int | None
    """Of each cell, where errors depend on it; as somebody assumes, not as they are."""

    @property
    def weights(self) -> dict[Name, Fraction]:
        """How much the squared error of a cell matters, where these targets are all that does."""
        own = {name: 1 / min(stated.values()) ** 2 for name, stated in self.errors.items()}
        scale = max(own.values())
        return {name: weight / scale for name, weight in own.items()}

    def check_foreseen(self, plan: BatchPlan) -> None:
        """Refuses columns whose error depends on numbers of rows that nobody assumed."""
        for _, column, _ in self._columns(plan):
            if not column.linear and self.rows is None:
                name = column.aggregate.name
                cure = "say for cells of how many rows, assume={'rows': 400}; or give epsilon, and see .explain(...)."
                raise InvalidQuery(expected("a column whose error is known beforehand", "within", name, cure))

    def reached(self, plan: BatchPlan, confidence: float) -> bool:
        """Whether each named column of each named table is as good as it is wanted."""
        return all(
            error_of(plan.tables[place], column, confidence, self.rows).amount <= target
            for place, column, target in self._columns(plan)
        )

    def _columns(self, plan: BatchPlan) -> Iterator[tuple[int, Column, Fraction]]:
        for place, (name, own) in enumerate(zip(plan.query.names, plan.tables, strict=True)):
            wanted = self.errors.get(name, {})
            for column in own.columns:
                if column.aggregate.name in wanted:
                    yield place, column, wanted[column.aggregate.name]


def batch_targets(
    batch: BatchQuery, within: object, *, relative: object, assume: Mapping[str, int] | None
) -> BatchTargets:
    """The wanted errors by table and column, checked; parts of a count in rows, where they are `relative`."""
    cure = "write within={'by_plan': 20}, or within={'by_plan': {'n': 20}}: off by at most 20."
    if not isinstance(within, Mapping) or not within:
        raise InvalidParameter(expected("a wanted error for some tables", "within", within, cure))
    rows = assumed_rows(assume)
    of = rows_for_parts(rows) if flag("relative", relative) else None
    tables = {table.name: table for table in batch.tables}
    found: dict[Name, dict[str, Fraction]] = {}
    for stated, target in within.items():
        name = table_named(stated, tables)
        if name is None:
            known = nearest_name(stated, [label(one) for one in tables])
            raise InvalidParameter(expected("tables of the batch", "within", stated, known))
        columns = {a.name: a for a in tables[name].query.aggregates}
        own = target if isinstance(target, Mapping) else dict.fromkeys(columns, target)
        if not own:
            raise InvalidParameter(expected("a wanted error for some columns", f"within[{stated!r}]", own, cure))
        if unknown := [column for column in own if column not in columns]:
            known = nearest_name(unknown[0], list(columns))
            raise InvalidParameter(expected("columns of the table", f"within[{stated!r}]", unknown[0], known))
        found[name] = {column: _target(stated, columns[column], one, of) for column, one in own.items()}
    return BatchTargets(errors=found, rows=rows)


def rows_for_parts(rows: int | None) -> int:
    """Of how many rows a part is; refuses none."""
    if rows is None:
        raise InvalidParameter(
            "Expected assume={'rows': n} beside relative=True, got none: how many rows a cell has is private.\n"
            "Hint: write within={'by_plan': 0.05}, relative=True, assume={'rows': 400}, for ±5 % of 400 rows or more."
        )
    return rows


def _target(table: object, a: Aggregate, stated: object, rows: int | None) -> Fraction:
    target = positive(f"within[{table!r}]", stated)
    if rows is None:
        return target
    if not a.statistic.counts:
        cure = f"state it in the units of {a.name!r}, without relative: the size of its answer is private."
        raise InvalidParameter(expected("counts beside relative=True", a.name, a.statistic.name, cure))
    return target * rows


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedBatch:
    """Tables that are planned together, and how good they are to be."""

    batch: BatchQuery
    reaches: Callable[[BatchPlan], bool]
    within: object
    """As a refusal shows it."""
    weights: Mapping[Any, object] | None = None
    check: Callable[[BatchPlan], None] = field(default=lambda _plan: None)
    """Refuses a plan of which it is unknown how good it is."""

    def smallest(self, plan: BatchPlan, price: Callable[[Fraction], Price], largest: Fraction) -> BatchPlan:
        """The plan with this strategy at the smallest number, from one over `largest` on, whose price is enough."""
        return self.searched(lambda amount: plan_batch(self.batch, price(amount), plan.strategy), largest)

    def searched(self, at: Callable[[Fraction], BatchPlan | None], largest: Fraction) -> BatchPlan:
        """The plan at the smallest number, from one over `largest` on, that is good enough."""

        def meets(amount: Fraction) -> bool:
            try:
                plan = at(amount)
            except InvalidParameter:  # so little that the noise would leave 64 bits
                return False
            return plan is not None and self.reaches(plan)

        found = at(smallest_epsilon(meets, self.within, least=1 / largest, largest=largest))
        if found is None:
            raise TypeError(self.batch)
        return found


def wanted_tables(
    batch: BatchQuery, targets: BatchTargets, weights: Mapping[Any, object] | None, confidence: float
) -> WantedBatch:
    """Tables each of whose named columns is to be off by so much at most."""
    return WantedBatch(
        batch=batch,
        reaches=lambda plan: targets.reached(plan, confidence),
        within=targets.errors,
        weights=targets.weights if weights is None else weights,
        check=targets.check_foreseen,
    )


def wanted_ranges(batch: BatchQuery, target: Fraction, confidence: float) -> WantedBatch:
    """Ranges the worst of which is to be off by so many rows at most."""
    return WantedBatch(
        batch=batch,
        reaches=lambda plan: range_errors(plan, confidence)[WORST].amount <= target,
        within=decimal_text(target),
    )


def cheapest(wanted: WantedBatch, delta: object) -> BatchPlan:
    """The plan of the smallest epsilon that is good enough, of all laws; those of the others are its runners-up."""
    best, *others = sorted(cheapest_of_each_law(wanted, delta).values(), key=lambda plan: plan.charge.epsilon)
    return replace(best, runners_up=tuple(others))


def cheapest_of_each_law(wanted: WantedBatch, delta: object) -> dict[Law, BatchPlan]:
    """By the law of its noise, the plan of the smallest epsilon that is good enough, of all strategies."""
    first = price_batch(wanted.batch, epsilon=1, delta=delta, weights=wanted.weights)
    wanted.check(first)
    found: dict[Law, BatchPlan] = {}
    for plan in (first, *first.runners_up):
        extra = delta if plan.law is Law.GAUSSIAN else 0

        def price(epsilon: Fraction, extra: object = extra) -> Price:
            return offers_of(stated_price(epsilon=epsilon, delta=extra))[-1]

        own = wanted.smallest(plan, price, LARGEST_EPSILON)
        if plan.law not in found or own.charge.epsilon < found[plan.law].charge.epsilon:
            found[plan.law] = own
    if is_one_question(wanted.batch):
        with suppress(InvalidParameter):  # too large an error for it, which others have reached
            found[Law.JOINT] = wanted.searched(partial(plan_jointly, wanted.batch), LARGEST_EPSILON)
    return found


def cheapest_in_rho(wanted: WantedBatch, plan: BatchPlan) -> BatchPlan:
    """The plan with Gaussian noise and the strategy of another one, at the smallest rho that is good enough."""
    return wanted.smallest(plan, lambda rho: Price.concentrated(Law.GAUSSIAN, rho), LARGEST_EPSILON**2 / 2)

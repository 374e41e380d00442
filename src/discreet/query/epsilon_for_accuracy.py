"""The smallest epsilon that reaches a wanted error, where the error does not depend on the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import positive
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning.joint_plan import has_joint_totals
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law, Price
from discreet.planning.plan import Plan, Query
from discreet.planning.planner import (
    FLAT,
    LARGEST_EPSILON,
    plan_with,
    price,
    stated_delta,
    stated_epsilon,
    stated_weights,
)


def cheapest(
    query: Query, within: object, *, confidence: float, weights: Mapping[str, object] | None, delta: object = 0
) -> Fraction:
    """The smallest epsilon, to four digits, at which each named column is off by at most its target, by the plan that
    is the best at it.

    With this confidence each. Refuses columns whose error depends on the private number of rows.
    """
    return _smallest(query, within, confidence, lambda own: price(query, epsilon=own, delta=delta, weights=weights))


def cheapest_plan(
    query: Query, within: object, *, confidence: float, weights: Mapping[str, object] | None, delta: object = 0
) -> Plan:
    """The plan of the smallest epsilon, to four digits, at which each named column is off by at most its target: of
    those of all laws, each at its own, which are the runners-up.
    """
    stated, extra = stated_weights(query, weights), stated_delta(delta)
    found: list[Plan] = []
    refused: InvalidParameter | None = None
    for law in Law:
        if not _applies(query, law, extra, found):
            continue
        own = extra if law is Law.GAUSSIAN else Fraction(0)

        def at(epsilon: Fraction, law: Law = law, own: Fraction = own) -> Plan | None:
            return plan_with(query, law, Price(law=law, epsilon=stated_epsilon(epsilon), delta=own), stated)

        try:
            plan = at(_smallest(query, within, confidence, at))
        except InvalidParameter as none:
            refused = refused or none
            continue
        found += [] if plan is None else [plan]
    if not found:
        raise refused or TypeError(query)
    best, *others = sorted(found, key=lambda plan: (plan.charge.epsilon, plan.cost))
    return replace(best, runners_up=tuple(others))


def _applies(query: Query, law: Law, delta: Fraction, found: Sequence[Plan]) -> bool:
    """Whether there may be plans with noise of a law that are cheaper than what was found."""
    if law is Law.STAIRCASE:
        return not found or found[0].charge.epsilon > FLAT
    return bool(delta) if law is Law.GAUSSIAN else law is not Law.JOINT or has_joint_totals(query)


def _smallest(query: Query, within: object, confidence: float, at: Callable[[Fraction], Plan | None]) -> Fraction:
    targets = targets_of(query, within)
    first = at(Fraction(1))
    for column in () if first is None else first.columns:
        if column.aggregate.name in targets and not column.linear:
            raise InvalidQuery(
                f"Expected a column whose error is known beforehand, got {column.aggregate.name!r}: "
                f"the error of a {column.aggregate.statistic.name} depends on the private number of rows.\n"
                "Hint: say up to which epsilon to try, up_to=0.5; or give epsilon and look at "
                ".explain(epsilon=..., assume={'rows': n})."
            )

    def meets(epsilon: Fraction) -> bool:
        try:
            plan = at(epsilon)
        except InvalidParameter:  # so little epsilon that the noise would leave 64 bits
            return False
        return plan is not None and all(
            half_width(plan, column, confidence) <= targets[column.aggregate.name]
            for column in plan.columns
            if column.aggregate.name in targets
        )

    return smallest_epsilon(meets, within, least=1 / LARGEST_EPSILON, largest=LARGEST_EPSILON)


def check_unpriced(epsilon: object, rho: object) -> None:
    """Refuses a price beside a wanted error."""
    if epsilon is not None or rho is not None:  # `==` of a frame has no truth
        named = "epsilon" if rho is None else "rho"
        raise InvalidParameter(f"Expected {named} or within, got both.\nHint: `within` finds the epsilon.")


def targets_of(query: Query, within: object) -> dict[str, Fraction]:
    """The wanted errors of named columns, checked."""
    cure = "write within={'column': 25}: off by at most 25."
    if not isinstance(within, Mapping) or not within:
        raise InvalidParameter(expected("a wanted error for some columns", "within", within, cure))
    names = [a.name for a in query.aggregates]
    for name in within:
        if name not in names:
            raise InvalidParameter(expected("columns of the answer", "within", name, nearest_name(name, names)))
    return {name: positive(f"within[{name!r}]", target) for name, target in within.items()}

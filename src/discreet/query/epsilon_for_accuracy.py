"""The smallest epsilon that reaches a wanted error, where the error does not depend on the data."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest
from discreet.exact.amounts import positive
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning.linear_error import half_width
from discreet.planning.plan import Query
from discreet.planning.planner import LARGEST_EPSILON, price


def cheapest(
    query: Query, within: object, *, confidence: float, weights: Mapping[str, object] | None, delta: object = 0
) -> Fraction:
    """The smallest epsilon, to four digits, at which each named column is off by at most its target.

    With this confidence each. Refuses columns whose error depends on the private number of rows.
    """
    targets = targets_of(query, within)
    for column in price(query, epsilon=1, delta=delta, weights=weights).columns:
        if column.aggregate.name in targets and not column.linear:
            raise InvalidQuery(
                f"Expected a column whose error is known beforehand, got {column.aggregate.name!r}: "
                f"the error of a {column.aggregate.statistic.name} depends on the private number of rows.\n"
                "Hint: say up to which epsilon to try, up_to=0.5; or give epsilon and look at "
                ".explain(epsilon=..., assume={'rows': n})."
            )

    def meets(epsilon: Fraction) -> bool:
        try:
            plan = price(query, epsilon=epsilon, delta=delta, weights=weights)
        except InvalidParameter:  # so little epsilon that the noise would leave 64 bits
            return False
        wanted = [column for column in plan.columns if column.aggregate.name in targets]
        return all(half_width(plan, column, confidence) <= targets[column.aggregate.name] for column in wanted)

    return smallest_epsilon(meets, within, least=1 / LARGEST_EPSILON, largest=LARGEST_EPSILON)


def targets_of(query: Query, within: object) -> dict[str, Fraction]:
    """The wanted errors of named columns, checked."""
    cure = "write within={'column': 25}: off by at most 25."
    if not isinstance(within, Mapping) or not within:
        raise InvalidParameter(expected("a wanted error for some columns", "within", within, cure))
    names = [a.name for a in query.aggregates]
    for name in within:
        if name not in names:
            raise InvalidParameter(expected("columns of the answer", "within", name, nearest(name, names)))
    return {name: positive(f"within[{name!r}]", target) for name, target in within.items()}

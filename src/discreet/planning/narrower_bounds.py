"""Bounds that are to be found within those that were stated, where these are far wider than the rows.

Claim
    `narrower` gives the same query, whose values are those of the other, moved into bounds that the first look of
    `open_question_plan` finds; a function of the query alone.
Requires
    Of the query: values that lie within their intervals, which stay what they are.
Relies on
    `open_question_plan` for the price and the privacy of what is found: there an interval that was stated is as good as
    one that the limits of a type give, and what is found is cut to it.
Proof
    By reading: of a value, nothing is changed but `narrow`, which says that bounds are wanted. Where nothing is found,
    the stated ones are taken, in place of (0, 1), so that nobody is clipped by it.
Rounding
    None.
Source
    Huang, Liang and Yi, Instance-optimal Mean Estimation under Differential Privacy (NeurIPS 2021): clip to what holds
    nearly all values, and pay for noise in proportion to that.
Mutant
    beyond-the-stated: bounds that were found reach beyond the stated ones; killed by
    test_bounds_are_found_within_the_stated_ones.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.checked_expressions import Value
from discreet.planning.aggregates import Aggregate
from discreet.planning.clipping_reports import check_no_ranks
from discreet.planning.contribution_limits import check_moved
from discreet.planning.plan import Query
from discreet.planning.unspecified import is_auto, open_values


def stated_ends(value: Value) -> tuple[Fraction, Fraction] | None:
    """The ends of a range that was stated, where a narrower one is to be found; None where none was."""
    return None if value.narrow is not None or value.interval is None else (value.interval.low, value.interval.high)


def within_stated(found: tuple[Fraction, Fraction], value: Value) -> tuple[Fraction, Fraction]:
    """Bounds that were found for a value, cut to the stated ones, where these were; or these, where none lie within."""
    stated = stated_ends(value)
    if stated is None:
        return found
    low, high = max(found[0], stated[0]), min(found[1], stated[1])
    return (low, high) if low < high else stated


def narrower(query: Query, stated: object) -> Query:
    """The query with bounds that are to be found within the stated ones, of all that is added up."""
    if not is_auto(stated):
        cure = "write bounds='auto', which finds them within those stated; state others by .clip(low, high)."
        raise InvalidParameter(expected("'auto'", "bounds", stated, cure))
    check_moved(query.declaration, "bounds")
    check_no_ranks(query, "bounds")
    found = replace(query, aggregates=tuple(_opened(a) for a in query.aggregates))
    if not any(stated_ends(value) for value in open_values(found)):
        raise InvalidQuery(
            "Expected a column with stated bounds that is added up, got none to find narrower ones of.\n"
            "Hint: leave bounds= out: counts are not clipped."
        )
    return found


def _opened(a: Aggregate) -> Aggregate:
    """An aggregate whose values have bounds to be found; truth values have two, and nothing is narrower."""
    if a.value is None or a.statistic.counts:
        return a
    first, *others = (
        v
        if v.unbounded or v.interval is None or (v.interval.integer and v.interval.width <= 1)
        else replace(v, narrow=None)
        for v in a.values
    )
    return replace(a, value=first, others=tuple(others))

"""Expressions for a log's pairs of user and item, their contribution bounding, and the totals of each item.

Claim
    `pairs` has each pair of user and item once, with a count of 1..max_count; what it has of one user depends on that
    user's rows alone. `bounded` keeps at most `max_items` pairs of each user, and `totals` sums them by item. No row of
    the log can make any of them raise.
Requires
    A table behind the barrier of `language.input_barrier`, with a unit of one column.
Relies on
    Grouping and windows of the engine that depend on nothing but the rows.
Proof
    A row is left out if its user or item is NULL, or its count is NULL or below 1; a count is rounded down, and clipped
    to max_count, before and after the sums over rows of one pair. Casts are made of clipped numbers. Which pairs of a
    user are kept, `planning.contribution_bounding.keep` decides.
Rounding
    Counts down.
Source
    Korolova, Kenthapadi, Mishra, Ntoulas (WWW 2009): limited activity of each user.
Mutant
    items-unbounded: a user counts in one item more than allowed; killed by test_a_user_counts_in_few_items.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.exact_arithmetic import clipped, double, floored, integer
from discreet.planning.contribution_bounding import RANK, keep

USER, ITEM, COUNT = "user", "item", "count"
USERS, EXTRA, FIRST = "users", "extra", "first"


def pairs(relation: ir.Table, *, user: ir.Value, item: Value, count: Value | None, max_count: int) -> ir.Table:
    """One row for each pair: user, item, count."""
    rows = relation.select(**{USER: user, ITEM: item.expr, COUNT: _whole(count, max_count)})
    rows = rows.filter(rows[ITEM].notnull() & (rows[COUNT] >= integer(1)))
    summed = rows.group_by(USER, ITEM).agg(**{COUNT: rows[COUNT].sum()})
    return summed.mutate(**{COUNT: cast(ibis.least(summed[COUNT], integer(max_count)), Kind.INTEGER)})


def _whole(count: Value | None, most: int) -> ir.Value:
    """A row's count as an integer of 0..most; NULL is 0."""
    if count is None:
        return integer(1)
    if count.kind is Kind.INTEGER:
        return clipped(count.expr.coalesce(integer(0)), integer(0), integer(most))
    return floored(count.expr.coalesce(double(0.0)), integer(most))


def bounded(found: ir.Table, max_items: int) -> ir.Table:
    """The pairs that count: at most `max_items` of each user, with their place among them from 0."""
    return keep(found, unit=[USER], key=[ITEM], limit=max_items)


def totals(kept: ir.Table) -> ir.Table:
    """One row for each item: its users, the sum of count - 1, and how many users it is the first item of."""
    first = ibis.ifelse(kept[RANK] == integer(0), integer(1), integer(0))
    return kept.group_by(ITEM).agg(
        **{
            USERS: cast(kept.count(), Kind.INTEGER),
            EXTRA: cast((kept[COUNT] - integer(1)).sum(), Kind.INTEGER),
            FIRST: cast(first.sum(), Kind.INTEGER),
        }
    )

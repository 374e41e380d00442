"""Histograms of units by what bounds and limits did to them, as Ibis expressions.

Claim
    In `clipped_units` and `weighted_units` each unit is counted in one of four bins: 1 where the first of two things
    holds of it, 2 where the second does, 3 where both do, 0 otherwise.
Requires
    A scanned table behind `language.input_barrier.barrier`, and a plan with nothing left open.
Relies on
    `GROUP BY` of exact values.
Proof
    One aggregation by the unit makes one row for each; two flags, 0 or 1, make the number of its bin.
    A value counts as clipped that is at its bound or beyond: what lay beyond a declared bound is at the bound by the
    time that a query sees it. Groups are those with a listed or found key, column by column.
Rounding
    None.
Source
    As `planning.clipping_reports`.
Mutant
    rows-for-units: a unit is counted with each of its rows; killed by test_units_are_counted_once.
"""

from __future__ import annotations

import ibis
import ibis.expr.types as ir

from discreet.engines.first_looks import BIN, GROUP, NUMBER
from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.exact_arithmetic import TOTAL, double, integer
from discreet.language.literals import constant
from discreet.planning.contribution_bounding import units
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan

MOST_LISTED = 10_000
"""With more keys in a column, groups are counted whatever their keys."""


def clipped_units(plan: Plan, value: Value, where: Value | None) -> ir.Table:
    """Units by whether they have a value at or below its lower bound (1), at or above its upper one (2), or both."""
    interval = value.interval
    if interval is None:
        raise TypeError(value)
    relation = plan.query.relation if where is None else plan.query.relation.filter(where.expr)
    unit = units(relation)
    rows = relation.select(*unit, value=cast(value.expr, Kind.REAL))
    rows = rows.filter(rows["value"].notnull())
    if unit:
        rows = rows.group_by(unit).agg(low=rows["value"].min(), high=rows["value"].max())
    else:
        rows = rows.select(low=rows["value"], high=rows["value"])
    low, high = rows["low"] <= double(float(interval.low)), rows["high"] >= double(float(interval.high))
    return _binned(rows, low, high)


def weighted_units(plan: Plan) -> ir.Table:
    """Units by whether they are in more groups than count (1), have more rows in one than count (2), or both."""
    query = plan.query
    unit = units(query.relation)
    rows = query.relation.select(*unit, **{f"{GROUP}{i}": expr for i, expr in enumerate(query.groups.values())})
    if query.keys is not None:
        listed = (_listed(rows[f"{GROUP}{i}"], query.keys, i) for i in range(len(query.keys.names)))
        conditions = [condition for condition in listed if condition is not None]
        rows = rows.filter(conditions) if conditions else rows
    pairs = rows.group_by(rows.columns).agg(rows.count().name(NUMBER))
    found = pairs.group_by(unit).agg(groups=pairs.count(), most_rows=pairs[NUMBER].max())
    many = found["most_rows"] > integer(plan.limits.max_rows) if plan.limits_rows else ibis.literal(value=False)
    return _binned(found, found["groups"] > integer(plan.limits.max_groups), many)


def _listed(column: ir.Value, keys: Keys, place: int) -> ir.Value | None:
    """Whether a column holds one of its keys; nothing where they are too many for a statement."""
    if isinstance(keys, KeyFile):
        return None
    found = {row[place] for row in keys.rows}
    if len(found) > MOST_LISTED:
        return None
    known = [constant(key).expr for key in sorted(found - {None}, key=str)]
    among = column.isin(known) if known else ibis.literal(value=False)
    return among | column.isnull() if None in found else among


def _binned(rows: ir.Table, first: ir.Value, second: ir.Value) -> ir.Table:
    bins = rows.select(
        (ibis.ifelse(first, integer(1), integer(0)) + ibis.ifelse(second, integer(2), integer(0))).name(BIN)
    )
    return bins.group_by(BIN).agg(bins.count().cast(TOTAL).name(NUMBER))

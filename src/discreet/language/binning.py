"""Rules for public bins of numbers, and for casts of text that give NULL on failure."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import DTYPES, MOMENTS, Kind, Lower, Rule, Value, cast, numeric
from discreet.language.dates import within_calendar
from discreet.language.literals import constant
from discreet.language.logic import comparable, conversion, is_plain_timestamp
from discreet.sensitivity.intervals import Interval

MOST_DIGITS = 18
"""The most digits of a whole number in text: all of these fit into 64 bits."""
PATTERNS = {
    Kind.INTEGER: rf"^[+-]?[0-9]{{1,{MOST_DIGITS}}}#$",
    Kind.REAL: rf"^[+-]?[0-9]{{1,{MOST_DIGITS}}}(\.[0-9]{{0,{MOST_DIGITS}}})?([eE][+-]?[0-9]{{1,2}})?#$",
    Kind.DATE: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}#$",
    Kind.TIMESTAMP: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?#$",
}
"""The form of a number, a date and a timestamp in text, with a mark behind it; everything else is read as NULL. Without
the mark, Java's $ would also match before a line's end that comes last, which no other engine's does.
"""


def bucket(op: ops.Bucket, lower: Lower) -> Value:
    """The number of the bin that a value falls into, from 0 on; NULL if it falls into none."""
    numeric(lower(op.arg), name_of(op))
    raw = [edge.to_expr().op() if isinstance(edge, ops.Node) else ibis.literal(edge).op() for edge in op.buckets]
    x, *edges = comparable(op, [op.arg, *raw], lower)
    left = op.closed == "left"
    bins = [_inside(x.expr, low.expr, high.expr, left=left) for low, high in itertools.pairwise(edges)]
    if op.close_extreme and bins:
        place, (low, high) = (-1, (edges[-2], edges[-1])) if left else (0, (edges[0], edges[1]))
        bins[place] = (x.expr >= low.expr) & (x.expr <= high.expr)
    if op.include_under:
        bins.insert(0, x.expr < edges[0].expr if left or op.close_extreme else x.expr <= edges[0].expr)
    if op.include_over:
        bins.append(x.expr > edges[-1].expr if not left or op.close_extreme else x.expr >= edges[-1].expr)
    numbers = [constant(i).expr for i in range(len(bins))]
    expr = ibis.cases(*zip(bins, numbers, strict=True))
    interval = Interval(Fraction(0), Fraction(len(bins) - 1), integer=True)
    return Value(cast(expr, Kind.INTEGER), Kind.INTEGER, interval, nullable=True)


def _inside(x: ir.Value, low: ir.Value, high: ir.Value, *, left: bool) -> ir.Value:
    return (x >= low) & (x < high) if left else (x > low) & (x <= high)


def try_cast(op: ops.TryCast, lower: Lower) -> Value:
    """A cast that gives NULL on failure: of text to numbers and dates, of integers to narrower ones."""
    value, target = lower(op.arg), op.to
    if value.kind is Kind.INTEGER and target.is_integer() and value.interval is not None and not target.is_int64():
        low, high = Fraction(target.bounds.lower), Fraction(target.bounds.upper)
        interval = Interval(max(low, value.interval.low), min(high, value.interval.high), integer=True)
        if interval.low <= interval.high and interval != value.interval:
            ends = (constant(int(end)).expr for end in (interval.low, interval.high))
            return Value(ibis.cases((value.expr.between(*ends), value.expr)), Kind.INTEGER, interval, nullable=True)
    kind = _target(target) if value.kind is Kind.TEXT else None
    if kind is None:
        return conversion(ops.Cast(op.arg, target), lower)
    fits = ops.RegexSearch(value.expr + "#", PATTERNS[kind]).to_expr()
    # The pattern says what is a number on every engine; TRY_CAST, that nothing that gets past it can raise.
    read = ibis.cases((fits, ops.TryCast(value.expr, DTYPES[kind]).to_expr()))
    return Value(_tidy(read, kind), kind, RANGES.get(kind), nullable=True)


RANGES = {
    Kind.INTEGER: Interval(Fraction(1 - 10**MOST_DIGITS), Fraction(10**MOST_DIGITS - 1), integer=True),
    Kind.REAL: Interval(-Fraction(1e118), Fraction(1e118)),
}


def _tidy(read: ir.Value, kind: Kind) -> ir.Value:
    """What was read, in the type of its kind; the year 0 is none."""
    read = cast(read, kind)
    if kind not in MOMENTS:
        return read
    first = constant(MOMENTS[kind][0]).expr
    return within_calendar(ibis.cases((read >= first, read)), kind)


def _target(target: Any) -> Kind | None:
    """What text is to be read as."""
    kinds = {
        Kind.INTEGER: target.is_int64(),
        Kind.REAL: target.is_float64(),
        Kind.DATE: target.is_date(),
        Kind.TIMESTAMP: is_plain_timestamp(target) and target.timezone is None,
    }
    return next((kind for kind, holds in kinds.items() if holds), None)


RULES: dict[type[ops.Node], Rule] = {ops.Bucket: bucket, ops.TryCast: try_cast}

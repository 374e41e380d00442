"""Seconds and days since 1970, and the seconds between two timestamps.

Where a dialect counts fractions of a second, only timestamps are taken that have none, whatever the row: dates, and
what is truncated to a second or more.
"""

from __future__ import annotations

import datetime

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements import date_functions
from discreet.statements.date_functions import as_timestamp
from discreet.statements.scope import Lower, Scope

FRACTIONS = ("ms", "us", "ns")
"""Units of truncation below a second."""
SHIFTED = (ops.DateAdd, ops.DateSub, ops.TimestampAdd, ops.TimestampSub)
"""By a constant interval, which has whole seconds."""
FIRST = datetime.date(1970, 1, 1)
SPANS = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
"""Units that are always as long, in seconds."""


def extracted(node: exp.Extract, scope: Scope, lower: Lower) -> ir.Value:
    """EXTRACT(part FROM date), of the seconds since 1970 too, which are a real number."""
    if node.this.name.upper() != "EPOCH":
        return date_functions.extracted(node, scope, lower)
    if scope.text.dialect.name == "spark":
        raise scope.text.refusal("UNIX_SECONDS", node, "write UNIX_SECONDS(x), or UNIX_DATE(x) for days.")
    inner = node.expression.unnest()
    if isinstance(inner, exp.Sub) and not isinstance(inner.expression.unnest(), exp.Interval):
        last, first = (lower(part, scope) for part in (inner.this, inner.expression))
        if last.type().is_temporal() and first.type().is_temporal():
            if not (last.type().is_timestamp() or first.type().is_timestamp()):
                cure = "a difference of dates is a number of days: write (x - y) * 86400."
                raise scope.text.refusal("a date or a timestamp", node, cure)
            return (_seconds(last, node, scope) - _seconds(first, node, scope)).cast(dt.float64)
    return _seconds(lower(inner, scope), node, scope).cast(dt.float64)


def epoch(node: exp.TimeToUnix, scope: Scope, lower: Lower) -> ir.Value:
    """DuckDB's EPOCH(x), which means EXTRACT(EPOCH FROM x)."""
    return extracted(exp.Extract(this=exp.var("EPOCH"), expression=node.this), scope, lower)


def unix_seconds(node: exp.UnixSeconds, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's UNIX_SECONDS: whole seconds, rounded down."""
    return ops.ExtractEpochSeconds(_moment(lower(node.this, scope), node, scope)).to_expr()


def unix_timestamp(node: exp.StrToUnix, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's UNIX_TIMESTAMP of a timestamp, whole seconds; before 1970 it rounds them up."""
    return _seconds(lower(node.this, scope), node, scope)


def unix_date(node: exp.UnixDate, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's UNIX_DATE: the days of a date since 1970."""
    day = date_functions.day(node.this, scope, lower)
    return ops.DateDelta(left=day, right=ibis.literal(FIRST), part="day").to_expr()


def elapsed(node: exp.TimestampDiff, scope: Scope, lower: Lower) -> ir.Value:
    """DuckDB's DATE_SUB(unit, first, last) and Spark's TIMESTAMPDIFF: how many units are over, toward zero."""
    size = SPANS.get(node.args["unit"].name.upper())
    if size is None:
        cure = "a month is not always as long: DATE_DIFF counts the firsts of months between."
        raise scope.text.refusal(f"spans of {', '.join(SPANS)}", node, cure)
    last, first = (_seconds(lower(part, scope), part, scope) for part in (node.this, node.expression))
    span = last - first
    return ibis.ifelse(span < 0, -(-span // size), span // size)


def _moment(value: ir.Value, node: exp.Expression, scope: Scope) -> ir.Value:
    if not (value.type().is_date() or value.type().is_timestamp()):
        raise scope.text.refusal("a date or a timestamp", node, "CAST it AS TIMESTAMP.")
    return as_timestamp(value)


def _seconds(value: ir.Value, node: exp.Expression, scope: Scope) -> ir.Value:
    """The seconds since 1970 of a value that has whole ones."""
    moment = _moment(value, node, scope)
    if not _is_whole(moment.op()):
        cure = "write EXTRACT(EPOCH FROM DATE_TRUNC('second', x))."
        raise scope.text.refusal("a timestamp of whole seconds", node, cure)
    return ops.ExtractEpochSeconds(moment).to_expr()


def _is_whole(op: ops.Node) -> bool:
    """Whether a moment is at a whole second in every row."""
    if op.dtype.is_date() or isinstance(op, ops.DateTruncate):
        return True
    if isinstance(op, ops.TimestampTruncate):
        return op.unit.short not in FRACTIONS
    if isinstance(op, ops.Literal):
        return not op.value.microsecond
    inner = op.left if isinstance(op, SHIFTED) else op.arg if isinstance(op, ops.Cast | ops.Alias) else None
    return inner is not None and bool(inner.dtype.is_temporal()) and _is_whole(inner)

"""Rules for calculations with dates: constant intervals, days between dates, seconds since 1970."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import MOMENTS, Kind, Lower, Rule, Value, cast
from discreet.language.literals import constant
from discreet.language.logic import comparable
from discreet.sensitivity.intervals import Interval

DAYS = 3_652_058
"""From the first day of the year 1 to the last of 9999."""
SECONDS = Interval(Fraction(-62_135_596_800), Fraction(253_402_300_799), integer=True)
"""Of these years, since 1970."""
LONGEST: dict[str, int] = {"Y": 9999, "Q": 39_996, "M": 119_988, "W": 521_723, "D": DAYS}
"""The largest interval in each unit: a longer one would move every date out of the calendar."""
CLOCK: dict[str, int] = {"h": 24 * DAYS, "m": 1440 * DAYS, "s": 86_400 * DAYS}


def moment(op: ops.Node, argument: ops.Node, lower: Lower) -> Value:
    """An argument that has to be a date or a timestamp."""
    value = lower(argument)
    if value.kind not in MOMENTS:
        raise InvalidQuery(
            f"Expected a date or timestamp, got a {value.kind.value} in {name_of(op)}.\n"
            "Hint: apply it to a date or timestamp column."
        )
    return value


def within_calendar(expr: ir.Value, kind: Kind) -> ir.Value:
    """A date or timestamp clipped to the years 1 to 9999; NULL stays NULL."""
    low, high = (constant(end).expr for end in MOMENTS[kind])
    return ibis.cases((expr < low, low), (expr > high, high), (expr.notnull(), expr))


def shifted(op: Any, lower: Lower) -> Value:
    """A date or timestamp plus or minus a constant interval; outside the calendar it becomes its first or last."""
    value = moment(op, op.left, lower)
    unit, number = _interval(op, value.kind)
    step = ibis.interval(number, unit=unit).op()
    expr = cast(type(op)(value.expr, step).to_expr(), value.kind)
    return Value(within_calendar(expr, value.kind), value.kind, None, value.nullable)


def _interval(op: Any, kind: Kind) -> tuple[str, int]:
    """The unit and number of a constant interval."""
    allowed = LONGEST if kind is Kind.DATE else {**LONGEST, **CLOCK}
    right = op.right
    unit = right.dtype.unit.short if isinstance(right, ops.Literal) and right.dtype.is_interval() else None
    number = getattr(right, "value", None)
    if unit in allowed and isinstance(number, int) and abs(number) <= allowed[unit]:
        return unit, number
    units = "years, quarters, months, weeks or days" + ("" if kind is Kind.DATE else ", hours, minutes or seconds")
    raise InvalidQuery(
        f"Expected a constant number of {units}, at most 9999 years, got {name_of(op)}.\n"
        "Hint: write + ibis.interval(days=30)."
    )


def days_between(op: ops.DateDelta | ops.TimestampDelta, lower: Lower) -> Value:
    """The whole days from one date or timestamp to another."""
    part = getattr(op.part, "value", None)
    if str(part).lower() not in ("day", "d"):
        raise InvalidQuery(
            f"Expected the number of days, got {name_of(op)}.\n"
            "Hint: write .delta(..., unit='day'); for less, subtract .epoch_seconds()."
        )
    left, right = comparable(op, [op.left, op.right], lower)
    if left.kind not in MOMENTS:
        raise InvalidQuery(f"Expected dates, got {name_of(op)}.\nHint: apply it to date or timestamp columns.")
    days = [cast(value.expr, Kind.DATE) for value in (left, right)]
    expr = cast(ops.DateDelta(left=days[0], right=days[1], part="day").to_expr(), Kind.INTEGER)
    interval = Interval(Fraction(-DAYS), Fraction(DAYS), integer=True)
    return Value(expr, Kind.INTEGER, interval, left.nullable or right.nullable)


def seconds(op: ops.ExtractEpochSeconds, lower: Lower) -> Value:
    """Whole seconds since 1970."""
    value = moment(op, op.arg, lower)
    whole = cast(ops.TimestampTruncate(cast(value.expr, Kind.TIMESTAMP), "s").to_expr(), Kind.TIMESTAMP)
    expr = cast(ops.ExtractEpochSeconds(whole).to_expr(), Kind.INTEGER)
    return Value(expr, Kind.INTEGER, SECONDS, value.nullable)


RULES: dict[type[ops.Node], Rule] = {
    **dict.fromkeys((ops.DateAdd, ops.DateSub, ops.TimestampAdd, ops.TimestampSub), shifted),
    **dict.fromkeys((ops.DateDelta, ops.TimestampDelta), days_between),
    ops.ExtractEpochSeconds: seconds,
}

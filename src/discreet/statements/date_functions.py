"""Parts of dates, what they are cut to and moved by, the days between them, and constant ones."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.constants import number
from discreet.statements.scope import Lower, Scope

MOMENT = dt.Timestamp(scale=6)


def _sunday_first(value: ir.Value) -> ops.Value:
    return ((ops.DayOfWeekIndex(value).to_expr() + 1) % 7).op()


def _monday_is_one(value: ir.Value) -> ops.Value:
    return (ops.DayOfWeekIndex(value).to_expr() + 1).op()


PARTS: dict[str, Callable[..., ops.Value]] = {
    "YEAR": ops.ExtractYear,
    "QUARTER": ops.ExtractQuarter,
    "MONTH": ops.ExtractMonth,
    "WEEK": ops.ExtractWeekOfYear,
    "DAY": ops.ExtractDay,
    "DOY": ops.ExtractDayOfYear,
    "DOW": _sunday_first,
    "ISODOW": _monday_is_one,
    "HOUR": ops.ExtractHour,
    "MINUTE": ops.ExtractMinute,
    "SECOND": ops.ExtractSecond,
}
"""What EXTRACT can take out of a date; Sunday is 0 in DOW."""

CALLED: dict[type[exp.Expression], str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Week: "WEEK",
    exp.WeekOfYear: "WEEK",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfYear: "DOY",
    exp.DayOfWeek: "DOW",
    exp.DayOfWeekIso: "ISODOW",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
    exp.Second: "SECOND",
}
"""Functions that are called like the part they take."""
OTHER_WORDS = {"DAYOFWEEK": "DOW", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "WEEKOFYEAR": "WEEK", "DOW_ISO": "ISODOW"}

UNITS = {"YEAR": "Y", "QUARTER": "Q", "MONTH": "M", "WEEK": "W", "DAY": "D", "HOUR": "h", "MINUTE": "m", "SECOND": "s"}
"""What DATE_TRUNC can cut to, and an interval count."""
INTERVALS = (
    f"a constant whole number of one of {', '.join(UNITS)}",
    "write INTERVAL '1 day'; add two of them one after the other.",
)
"""What is expected of an interval, and the cure."""
CLOCK = ("h", "m", "s")
"""Those that a date has none of."""
SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (  # noqa: SIM905 - twelve names in quotes of their own are harder to read
    "January February March April May June July August September October November December"
).split()
PER_YEAR = {"QUARTER": 4, "MONTH": 12}


def part_of(word: str) -> str | None:
    """The name in `PARTS` of what EXTRACT is to take; None for what it cannot."""
    name = OTHER_WORDS.get(word.upper(), word.upper())
    return name if name in PARTS else None


def taken(part: str, value: ir.Value, *, first_day: int = 0) -> ir.Value:
    """A part of a date; `first_day` is the number of Sunday in DOW."""
    found = PARTS[part](value).to_expr()
    return found + first_day if part == "DOW" and first_day else found


def extracted(node: exp.Extract, scope: Scope, lower: Lower) -> ir.Value:
    """EXTRACT(part FROM date)."""
    part = part_of(node.this.name)
    if part is None:
        raise scope.text.refusal(f"EXTRACT of {', '.join(PARTS)}", node, "take another part of the date.")
    return taken(part, lower(node.expression, scope), first_day=scope.text.dialect.first_day)


def called(part: str) -> Callable[..., ir.Value]:
    """What builds a function of `CALLED`."""

    def build(node: exp.Func, scope: Scope, lower: Lower) -> ir.Value:
        inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
        return taken(part, lower(inner, scope), first_day=scope.text.dialect.first_day)

    return build


def cut(value: ir.Value, unit: str) -> ir.Value:
    """A date or time cut to a unit of `UNITS`; the hours of a date are those of its first moment."""
    short = UNITS[unit]
    if value.type().is_date() and short not in CLOCK:
        return ops.DateTruncate(value, short).to_expr()
    return ops.TimestampTruncate(moment(value), short).to_expr()


def truncated(node: exp.TimestampTrunc | exp.DateTrunc, scope: Scope, lower: Lower) -> ir.Value:
    """DATE_TRUNC('unit', date), in UTC."""
    zone = scope.text.call_with("DATE_TRUNC", 3)
    if zone is not None:  # the parser leaves it out
        raise scope.text.refusal_at("DATE_TRUNC in UTC, without a zone", zone, "leave its third argument out.")
    unit = node.args["unit"].name.upper()
    if unit not in UNITS:
        raise scope.text.refusal(f"DATE_TRUNC to {', '.join(UNITS)}", node, "cut to another unit.")
    return cut(lower(node.this, scope), unit)


def moment(value: ir.Value) -> ir.Value:
    """A date as its first moment; what is no date as it is."""
    if not value.type().is_date():
        return value
    op = value.op()
    if isinstance(op, ops.Literal):
        return ibis.literal(datetime.datetime.combine(op.value, datetime.time()))
    return ops.Cast(value, MOMENT).to_expr()


def alike(*values: ir.Value) -> tuple[ir.Value, ...]:
    """Values to be compared: dates beside moments are moments, as every engine has it."""
    return tuple(map(moment, values)) if any(value.type().is_timestamp() for value in values) else values


# -- moved -----------------------------------------------------------------------------------------


def added(node: exp.Add | exp.Sub, scope: Scope, lower: Lower) -> ir.Value:
    """A sum or difference: of numbers, of a date and an interval or a number of days, of two dates."""
    left, right, minus = node.this.unnest(), node.expression.unnest(), isinstance(node, exp.Sub)
    if isinstance(left, exp.Interval) and not minus:
        left, right = right, left
    value, days = lower(left, scope), number(right)
    if isinstance(right, exp.Interval):
        return _shifted(value, right, scope, minus=minus)
    if value.type().is_date() and isinstance(days, int):
        return ops.DateAdd(value, ibis.interval(-days if minus else days, unit="D")).to_expr()
    other = lower(right, scope)
    if not (minus and value.type().is_temporal() and other.type().is_temporal()):
        return (ops.Subtract if minus else ops.Add)(value, other).to_expr()
    dialect = scope.text.dialect
    if dialect.days_are_intervals or not (value.type().is_date() and other.type().is_date()):
        cure = "write DATEDIFF(last, first)." if dialect.days_are_intervals else "CAST both AS DATE."
        raise scope.text.refusal("a number of days between dates", node, cure)
    return _days(value, other)


def added_to(node: exp.DateAdd, scope: Scope, lower: Lower) -> ir.Value:
    """DATE_ADD(date, INTERVAL), which means date + INTERVAL."""
    return _shifted(lower(node.this, scope), node.expression, scope)


def _interval(node: exp.Expression, scope: Scope) -> tuple[int, str]:
    """How many of which unit of `UNITS`."""
    count, named = (node.this, node.args.get("unit")) if isinstance(node, exp.Interval) else (None, None)
    while isinstance(count, exp.Paren):
        count = count.this
    written = count.this if isinstance(count, exp.Literal) else None
    unit = named.name.upper().removesuffix("S") if isinstance(named, exp.Var) else ""
    digits = str(written).removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or unit not in UNITS:
        raise scope.text.refusal(INTERVALS[0], node, INTERVALS[1])
    return int(str(written)), UNITS[unit]


def _shifted(value: ir.Value, by: exp.Expression, scope: Scope, *, minus: bool = False) -> ir.Value:
    """A date and days are a date in one dialect, and a moment in the others."""
    count, unit = _interval(by, scope)
    step = ibis.interval(-count if minus else count, unit=unit)
    if value.type().is_date() and scope.text.dialect.days_are_intervals and unit not in CLOCK:
        return ops.DateAdd(value, step).to_expr()
    return ops.TimestampAdd(moment(value), step).to_expr()


def days_added(node: exp.TsOrDsAdd | exp.AddMonths, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's DATE_ADD, DATE_SUB and ADD_MONTHS, which make dates."""
    sign, count = 1, node.expression
    if isinstance(count, exp.Mul):  # so the parser reads DATE_SUB
        sign, count = -1, count.this
    days = number(count)
    if not isinstance(days, int):
        raise scope.text.refusal("a constant whole number", node, "write it as a number.")
    unit = "M" if isinstance(node, exp.AddMonths) else "D"
    return ops.DateAdd(day(node.this, scope, lower), ibis.interval(sign * days, unit=unit)).to_expr()


def day(node: exp.Expression, scope: Scope, lower: Lower) -> ir.Value:
    """The date of a date or moment, whatever function says so beside."""
    inner = node.this if isinstance(node, exp.Date | exp.TsOrDsToDate) else node
    is_day = isinstance(inner, exp.Literal) and inner.is_string and is_constant(inner.this, is_day=True)
    value = ibis.literal(_day(inner.this)) if is_day else lower(inner, scope)
    return ops.Cast(value, dt.date).to_expr()


def difference(node: exp.DateDiff, scope: Scope, lower: Lower) -> ir.Value:
    """How many units begin after one date and up to another: midnights, first days of a month, full hours."""
    unit = "DAY" if node.args.get("unit") is None else node.args["unit"].name.upper()
    if unit not in UNITS or unit == "WEEK":  # of which DuckDB's count is no count of Mondays
        known = ", ".join(word for word in UNITS if word != "WEEK")
        raise scope.text.refusal(f"DATE_DIFF in {known}", node, "count days, and divide by 7 for weeks.")
    if unit in SECONDS:
        last, first = (_seconds(cut(_moment_of(part, scope, lower), unit)) for part in (node.this, node.expression))
        return (last - first) // SECONDS[unit]
    last, first = (day(part, scope, lower) for part in (node.this, node.expression))
    if unit == "DAY":
        return _days(last, first)
    years = taken("YEAR", last) - taken("YEAR", first)
    return years if unit == "YEAR" else years * PER_YEAR[unit] + taken(unit, last) - taken(unit, first)


def last_day(node: exp.LastDay, scope: Scope, lower: Lower) -> ir.Value:
    """The last day of a date's month; after that of the last month of all there is no first day to count back from."""
    first = ops.DateTruncate(day(node.this, scope, lower), "M").to_expr()
    following = ops.DateAdd(first, ibis.interval(1, unit="M")).to_expr()
    last = ops.DateSub(following, ibis.interval(1, unit="D")).to_expr()
    december = datetime.date(9999, 12, 1)
    return ibis.cases((first < december, last), (first >= december, datetime.date(9999, 12, 31)))


def name_of_part(node: exp.Dayname | exp.Monthname, scope: Scope, lower: Lower) -> ir.Value:
    """The English name of a weekday or month, of three letters where the dialect has it so."""
    value, is_day = lower(node.this, scope), isinstance(node, exp.Dayname)
    part, names = (ops.DayOfWeekIndex, WEEKDAYS) if is_day else (ops.ExtractMonth, MONTHS)
    letters = 3 if scope.text.dialect.short_names else None
    cases = tuple(ibis.literal(number) for number in range(0 if is_day else 1, len(names) + (not is_day)))
    shown = tuple(ibis.literal(name[:letters]) for name in names)
    return ops.SimpleCase(part(value), cases, shown, ibis.null()).to_expr()


def _seconds(value: ir.Value) -> ir.Value:
    return ops.ExtractEpochSeconds(value).to_expr()


def _moment_of(node: exp.Expression, scope: Scope, lower: Lower) -> ir.Value:
    return ops.Cast(lower(node, scope), MOMENT).to_expr()


def _days(last: ir.Value, first: ir.Value) -> ir.Value:
    return ops.DateDelta(left=last, right=first, part="day").to_expr()


# -- constants -------------------------------------------------------------------------------------

DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK_TIME = r"[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
ZONE = r"Z|[+-]\d{2}(?::?\d{2})?"
"""How dates, times of day and zones are written; dialects read other forms otherwise, or in part."""


def zoned(text: str) -> bool:
    """Whether a text is a moment with a zone.

    >>> zoned("2020-01-31 12:00+02"), zoned("2020-01-31 12:00"), zoned("+02")
    (True, False, False)
    """
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def is_constant(text: str, *, is_day: bool) -> bool:
    """Whether a text is a date, or a moment without a zone, in the one form that all dialects read alike.

    >>> [is_constant(text, is_day=False) for text in ("2020-01-31 12:00:00.5", "2020-01-31", "20200131", "now")]
    [True, True, False, False]
    """
    try:
        return bool(_day(text) if is_day else _unzoned(text))
    except ValueError:
        return False


def _day(text: str) -> datetime.date:
    if not re.fullmatch(DAY, text, re.ASCII):
        raise ValueError(text)
    return datetime.date.fromisoformat(text)


def _unzoned(text: str) -> datetime.datetime:
    """A moment of a type without a zone, where engines pass over one instead of reading it.

    Dialects round or cut a seventh digit of a second, each in its way.
    """
    if not re.fullmatch(rf"{DAY}(?:{CLOCK_TIME})?", text, re.ASCII):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


def _zoned(text: str) -> datetime.datetime:
    """A moment of a type with a zone, in UTC where it states none."""
    if not re.fullmatch(rf"{DAY}(?:{CLOCK_TIME}(?:{ZONE})?)?", text, re.ASCII):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


MOMENTS: dict[exp.DataType.Type, Callable[[str], datetime.date]] = {
    exp.DataType.Type.DATE: _day,
    exp.DataType.Type.TIMESTAMP: _unzoned,
    exp.DataType.Type.TIMESTAMPNTZ: _unzoned,
    exp.DataType.Type.TIMESTAMPTZ: _zoned,
}
"""Constants, by the types that they are written in; a moment without a zone is in UTC."""

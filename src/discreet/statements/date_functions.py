"""Date functions of SQL: parts, truncation, intervals, differences and constants."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.constants import number_of
from discreet.statements.scope import Lower, Scope

TIMESTAMP = dt.Timestamp(scale=6)


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

PART_FUNCTIONS: dict[type[exp.Expression], str] = {
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
"""Functions named after the part that they extract."""
PART_SYNONYMS = {"DAYOFWEEK": "DOW", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "WEEKOFYEAR": "WEEK", "DOW_ISO": "ISODOW"}

FURTHEST = 18
"""No interval of so many digits ends within the calendar."""
UNITS = {"YEAR": "Y", "QUARTER": "Q", "MONTH": "M", "WEEK": "W", "DAY": "D", "HOUR": "h", "MINUTE": "m", "SECOND": "s"}
"""The units of DATE_TRUNC and of intervals."""
INTERVALS = (
    f"a constant whole number of one of {', '.join(UNITS)}",
    "write INTERVAL '1 day'; add two of them one after the other.",
)
"""What is expected of an interval, and the cure."""
CLOCK = ("h", "m", "s")
"""Units that a date does not have."""
SECONDS = {"HOUR": 3600, "MINUTE": 60, "SECOND": 1}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (  # noqa: SIM905 - twelve names in quotes of their own are harder to read
    "January February March April May June July August September October November December"
).split()
PER_YEAR = {"QUARTER": 4, "MONTH": 12}


def part_of(word: str) -> str | None:
    """The name in `PARTS` of a part of EXTRACT; None for other parts."""
    name = PART_SYNONYMS.get(word.upper(), word.upper())
    return name if name in PARTS else None


def date_part(part: str, value: ir.Value, *, first_day: int = 0) -> ir.Value:
    """A part of a date; `first_day` is the number of Sunday in DOW."""
    found = PARTS[part](value).to_expr()
    return found + first_day if part == "DOW" and first_day else found


def extracted(node: exp.Extract, scope: Scope, lower: Lower) -> ir.Value:
    """EXTRACT(part FROM date)."""
    part = part_of(node.this.name)
    if part is None:
        raise scope.text.refusal(f"EXTRACT of {', '.join(PARTS)}", node, "take another part of the date.")
    return date_part(part, lower(node.expression, scope), first_day=scope.text.dialect.first_day)


def part_function(part: str) -> Callable[..., ir.Value]:
    """Builds the translation of a function in `PART_FUNCTIONS`."""

    def build(node: exp.Func, scope: Scope, lower: Lower) -> ir.Value:
        inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
        return date_part(part, lower(inner, scope), first_day=scope.text.dialect.first_day)

    return build


def truncate(value: ir.Value, unit: str) -> ir.Value:
    """A date or timestamp truncated to a unit of `UNITS`; the hours of a date are those of midnight."""
    short = UNITS[unit]
    if value.type().is_date() and short not in CLOCK:
        return ops.DateTruncate(value, short).to_expr()
    return ops.TimestampTruncate(as_timestamp(value), short).to_expr()


def truncated(node: exp.TimestampTrunc | exp.DateTrunc, scope: Scope, lower: Lower) -> ir.Value:
    """DATE_TRUNC('unit', date), in UTC."""
    zone = scope.text.call_with("DATE_TRUNC", 3)
    if zone is not None:  # the parser leaves it out
        raise scope.text.refusal_at("DATE_TRUNC in UTC, without a zone", zone, "leave its third argument out.")
    unit = node.args["unit"].name.upper()
    if unit not in UNITS:
        raise scope.text.refusal(f"DATE_TRUNC to {', '.join(UNITS)}", node, "use one of these units.")
    return truncate(lower(node.this, scope), unit)


def as_timestamp(value: ir.Value) -> ir.Value:
    """A date as the timestamp of its midnight; other values unchanged."""
    if not value.type().is_date():
        return value
    op = value.op()
    if isinstance(op, ops.Literal):
        return ibis.literal(datetime.datetime.combine(op.value, datetime.time()))
    return ops.Cast(value, TIMESTAMP).to_expr()


def comparable(*values: ir.Value) -> tuple[ir.Value, ...]:
    """Values to be compared: dates compared with timestamps become timestamps, as on every engine."""
    return tuple(map(as_timestamp, values)) if any(value.type().is_timestamp() for value in values) else values


def added(node: exp.Add | exp.Sub, scope: Scope, lower: Lower) -> ir.Value:
    """A sum or difference: of numbers, of a date and an interval or a number of days, of two dates."""
    left, right, minus = node.this.unnest(), node.expression.unnest(), isinstance(node, exp.Sub)
    if isinstance(left, exp.Interval) and not minus:
        left, right = right, left
    value, days = lower(left, scope), number_of(right)
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


def subtracted(node: exp.DateSub, scope: Scope, lower: Lower) -> ir.Value:
    """DATE_SUB or DATE_SUBTRACT of a date and an interval, which mean date - INTERVAL."""
    return _shifted(lower(node.this, scope), node.expression, scope, minus=True)


def interval(node: exp.Expression, scope: Scope) -> tuple[int, str]:
    """The number and the unit, of `UNITS`, of an interval."""
    count, named = (node.this, node.args.get("unit")) if isinstance(node, exp.Interval) else (None, None)
    while isinstance(count, exp.Paren):
        count = count.this
    written = count.this if isinstance(count, exp.Literal) else None
    unit = named.name.upper().removesuffix("S") if isinstance(named, exp.Var) else ""
    digits = str(written).removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= FURTHEST) or unit not in UNITS:
        raise scope.text.refusal(INTERVALS[0], node, INTERVALS[1])
    return int(str(written)), UNITS[unit]


def _shifted(value: ir.Value, by: exp.Expression, scope: Scope, *, minus: bool = False) -> ir.Value:
    """A date or timestamp plus an interval; a date plus days is a date in one dialect, a timestamp in the others."""
    count, unit = interval(by, scope)
    step = ibis.interval(-count if minus else count, unit=unit)
    if value.type().is_date() and scope.text.dialect.days_are_intervals and unit not in CLOCK:
        return ops.DateAdd(value, step).to_expr()
    return ops.TimestampAdd(as_timestamp(value), step).to_expr()


def days_added(node: exp.TsOrDsAdd | exp.AddMonths, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's DATE_ADD, DATE_SUB and ADD_MONTHS, which return dates."""
    sign, count = 1, node.expression
    if isinstance(count, exp.Mul):  # so the parser reads DATE_SUB
        sign, count = -1, count.this
    days = number_of(count)
    if not isinstance(days, int):
        raise scope.text.refusal("a constant whole number", node, "write it as a number.")
    unit = "M" if isinstance(node, exp.AddMonths) else "D"
    return ops.DateAdd(day(node.this, scope, lower), ibis.interval(sign * days, unit=unit)).to_expr()


def moved(node: exp.TimestampAdd, scope: Scope, lower: Lower) -> ir.Value:
    """Spark's DATEADD(unit, number, date) and TIMESTAMPADD, which return timestamps."""
    count, unit = number_of(node.expression), UNITS.get(node.args["unit"].name.upper())
    if not isinstance(count, int) or unit is None:
        raise scope.text.refusal(
            f"DATEADD of a constant number of {', '.join(UNITS)}", node, "write DATEADD(DAY, 7, d)."
        )
    return ops.TimestampAdd(as_timestamp(lower(node.this, scope)), ibis.interval(count, unit=unit)).to_expr()


def day(node: exp.Expression, scope: Scope, lower: Lower) -> ir.Value:
    """The date of a date or timestamp, with or without a conversion function around it."""
    inner = node.this if isinstance(node, exp.Date | exp.TsOrDsToDate) else node
    is_day = isinstance(inner, exp.Literal) and inner.is_string and is_constant(inner.this, is_day=True)
    value = ibis.literal(_day(inner.this)) if is_day else lower(inner, scope)
    return ops.Cast(value, dt.date).to_expr()


def difference(node: exp.DateDiff, scope: Scope, lower: Lower) -> ir.Value:
    """The number of units that begin after one date and up to another: midnights, first days of a month, full hours.

    Of weeks it is another: a seventh of the midnights, toward zero, whatever the days of the week.
    """
    unit = "DAY" if node.args.get("unit") is None else node.args["unit"].name.upper()
    if unit not in UNITS:
        raise scope.text.refusal(f"DATE_DIFF in {', '.join(UNITS)}", node, "count days, and divide them.")
    if unit in SECONDS:
        last, first = (
            _seconds(truncate(_timestamp(part, scope, lower), unit)) for part in (node.this, node.expression)
        )
        return (last - first) // SECONDS[unit]
    last, first = (day(part, scope, lower) for part in (node.this, node.expression))
    if unit in ("DAY", "WEEK"):
        days = _days(last, first)
        return days if unit == "DAY" else ibis.ifelse(days < 0, -(-days // 7), days // 7)
    years = date_part("YEAR", last) - date_part("YEAR", first)
    return years if unit == "YEAR" else years * PER_YEAR[unit] + date_part(unit, last) - date_part(unit, first)


def last_day(node: exp.LastDay, scope: Scope, lower: Lower) -> ir.Value:
    """The last day of a date's month; December 9999 is a case of its own, since no month follows it."""
    first = ops.DateTruncate(day(node.this, scope, lower), "M").to_expr()
    following = ops.DateAdd(first, ibis.interval(1, unit="M")).to_expr()
    last = ops.DateSub(following, ibis.interval(1, unit="D")).to_expr()
    december = datetime.date(9999, 12, 1)
    return ibis.cases((first < december, last), (first >= december, datetime.date(9999, 12, 31)))


def name_of_part(node: exp.Dayname | exp.Monthname, scope: Scope, lower: Lower) -> ir.Value:
    """The English name of a weekday or month, of three letters where the dialect has short names."""
    letters = 3 if scope.text.dialect.short_names else None
    return english_name(lower(node.this, scope), of_day=isinstance(node, exp.Dayname), letters=letters)


def english_name(value: ir.Value, *, of_day: bool, letters: int | None) -> ir.Value:
    """The English name of the weekday of a date, or else of its month; so many letters of it."""
    part, names = (ops.DayOfWeekIndex, WEEKDAYS) if of_day else (ops.ExtractMonth, MONTHS)
    cases = tuple(ibis.literal(number) for number in range(0 if of_day else 1, len(names) + (not of_day)))
    shown = tuple(ibis.literal(name[:letters]) for name in names)
    return ops.SimpleCase(part(value), cases, shown, ibis.null()).to_expr()


def _seconds(value: ir.Value) -> ir.Value:
    return ops.ExtractEpochSeconds(value).to_expr()


def _timestamp(node: exp.Expression, scope: Scope, lower: Lower) -> ir.Value:
    return ops.Cast(lower(node, scope), TIMESTAMP).to_expr()


def _days(last: ir.Value, first: ir.Value) -> ir.Value:
    return ops.DateDelta(left=last, right=first, part="day").to_expr()


DAY = r"\d{4}-\d{2}-\d{2}"
CLOCK_TIME = r"[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
ZONE = r"Z|[+-]\d{2}(?::?\d{2})?"
"""How dates, times of day and zones are written; dialects read other forms differently, or only in part."""


def has_zone(text: str) -> bool:
    """Whether a text is a timestamp with a zone.

    >>> has_zone("2020-01-31 12:00+02"), has_zone("2020-01-31 12:00"), has_zone("+02")
    (True, False, False)
    """
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def is_constant(text: str, *, is_day: bool) -> bool:
    """Whether a text is a date, or a timestamp without a zone, in the one form that all dialects read alike.

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
    """A timestamp of a type without a zone, where engines ignore a zone instead of reading it.

    Dialects round or truncate a seventh digit of a second, each in its own way.
    """
    if not re.fullmatch(rf"{DAY}(?:{CLOCK_TIME})?", text, re.ASCII):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


def _zoned(text: str) -> datetime.datetime:
    """A timestamp of a type with a zone, in UTC if it states none."""
    if not re.fullmatch(rf"{DAY}(?:{CLOCK_TIME}(?:{ZONE})?)?", text, re.ASCII):
        raise ValueError(text)
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC)


CONSTANTS: dict[exp.DataType.Type, Callable[[str], datetime.date]] = {
    exp.DataType.Type.DATE: _day,
    exp.DataType.Type.TIMESTAMP: _unzoned,
    exp.DataType.Type.TIMESTAMPNTZ: _unzoned,
    exp.DataType.Type.TIMESTAMPTZ: _zoned,
}
"""Readers of constants, by type; a timestamp without a zone is in UTC."""

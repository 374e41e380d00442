"""Parts of dates, the dates that they are cut to, and constant ones."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp


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

OTHER_WORDS = {"DAYOFWEEK": "DOW", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "WEEKOFYEAR": "WEEK", "DOW_ISO": "ISODOW"}

UNITS = {"YEAR": "Y", "QUARTER": "Q", "MONTH": "M", "WEEK": "W", "DAY": "D"}
"""What DATE_TRUNC can cut to."""


def part_of(word: str) -> str | None:
    """The name in `PARTS` of what EXTRACT is to take; None for what it cannot."""
    name = OTHER_WORDS.get(word.upper(), word.upper())
    return name if name in PARTS else None


def taken(part: str, value: ir.Value, *, first_day: int = 0) -> ir.Value:
    """A part of a date; `first_day` is the number of Sunday in DOW."""
    found = PARTS[part](value).to_expr()
    return found + first_day if part == "DOW" and first_day else found


def cut(value: ir.Value, unit: str) -> ir.Value:
    """A date or time cut to a unit of `UNITS`."""
    return (ops.DateTruncate if value.type().is_date() else ops.TimestampTruncate)(value, UNITS[unit]).to_expr()


def zoned(text: str) -> bool:
    """Whether a text is a moment with a zone.

    >>> zoned("2020-01-31 12:00+02"), zoned("2020-01-31 12:00"), zoned("+02")
    (True, False, False)
    """
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _unzoned(text: str) -> datetime.datetime:
    """A moment of a type without a zone, where engines pass over one instead of reading it."""
    if zoned(text):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text)


MOMENTS: dict[exp.DataType.Type, Callable[[str], datetime.date]] = {
    exp.DataType.Type.DATE: datetime.date.fromisoformat,
    exp.DataType.Type.TIMESTAMP: _unzoned,
    exp.DataType.Type.TIMESTAMPNTZ: _unzoned,
    exp.DataType.Type.TIMESTAMPTZ: datetime.datetime.fromisoformat,
}
"""Constants, by the types that they are written in; a moment without a zone is in UTC."""

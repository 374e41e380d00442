"""Constants of a query, each in its full-width type."""

from __future__ import annotations

import datetime
import decimal
import math

import ibis
import ibis.expr.operations as ops

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import DTYPES, Kind, Value, cast
from discreet.sensitivity.intervals import LARGEST_INT, SMALLEST_INT, Interval, point


def constant(value: object) -> Value:
    """A Python constant as a checked value; None has no kind and is refused."""
    if isinstance(value, bool):
        return Value(ibis.literal(value), Kind.BOOLEAN, None, nullable=False)
    if isinstance(value, int):
        if not SMALLEST_INT <= value <= LARGEST_INT:
            raise InvalidQuery("Expected whole numbers of 64 bits, got a longer one.\nHint: write it with a point.")
        return _number(Kind.INTEGER, value, point(value, integer=True))
    if isinstance(value, float | decimal.Decimal):
        double = float(value)
        if not math.isfinite(double):
            raise InvalidQuery(
                f"Expected finite numbers in a query, got {value}.\n"
                "Hint: NaN is read as NULL and infinities as the bounds."
            )
        return _number(Kind.REAL, double, point(double))
    if isinstance(value, str):
        return Value(ibis.literal(plain_text(value)), Kind.TEXT, None, nullable=False)
    if isinstance(value, datetime.datetime):
        moment = cast(ibis.literal(_in_utc(value).isoformat()), Kind.TIMESTAMP)
        return Value(moment, Kind.TIMESTAMP, None, nullable=False)
    if isinstance(value, datetime.date):
        return Value(ibis.date(value.isoformat()), Kind.DATE, None, nullable=False)
    cure = (
        "test for NULL with .isnull() and .notnull()." if value is None else "one constant is one value for all rows."
    )
    said = f"Expected a number, text, a truth value or a date, got a constant of type {type(value).__name__}."
    raise InvalidQuery(f"{said}\nHint: {cure}")


def plain_text(text: str) -> str:
    """Text that a statement can hold: of a class of the caller's, which could write itself otherwise, what it holds."""
    text = str.__str__(text)
    if "\0" in text or text.encode(errors="replace").decode() != text:
        raise InvalidQuery(f"Expected text that SQL can hold, got {text!r}.\nHint: leave out NUL and lone surrogates.")
    return text


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    """A time as UTC, to the microsecond, without a zone."""
    plain = datetime.datetime.combine(moment.date(), moment.time())
    try:
        return plain - (moment.utcoffset() or datetime.timedelta(0))
    except OverflowError:
        raise InvalidQuery(
            f"Expected a time between the years 1 and 9999 in UTC, got {moment.isoformat()}.\nHint: write it in UTC."
        ) from None


def _number(kind: Kind, value: float, interval: Interval) -> Value:
    literal = ops.Literal(value, dtype=DTYPES[kind]).to_expr()
    return Value(cast(literal, kind), kind, interval, nullable=False)

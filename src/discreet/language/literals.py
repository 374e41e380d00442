"""Constants of a query, each in its full-width type."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Iterator, Mapping
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
from ibis.common.deferred import Deferred, Resolver

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
        double = float(value) + 0.0  # one zero: two that are equal would be one question in two statements
        if not math.isfinite(double):
            raise InvalidQuery(
                f"Expected finite numbers in a query, got {value}.\n"
                "Hint: NaN is read as NULL and infinities as the bounds."
            )
        return _number(Kind.REAL, double, point(double))
    if isinstance(value, str):
        return Value(ibis.literal(plain_text(value)), Kind.TEXT, None, nullable=False)
    if value != value:  # noqa: PLR0124 (of what is no number, only pandas' NaT differs from itself)
        raise InvalidQuery("Expected a date or a time, got NaT.\nHint: test for NULL with .isnull() and .notnull().")
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


def check_moments(written: object) -> None:
    """Refuses times of pandas and NumPy with more digits than microseconds, which Ibis would cut off."""
    for value in held_in(written) if isinstance(written, Deferred) else [written]:
        if isinstance(value, np.datetime64):
            is_cut = not np.isnat(value) and value != value.astype("datetime64[us]")
        else:
            is_cut = isinstance(value, datetime.datetime) and getattr(value, "nanosecond", 0) > 0
        if is_cut:
            raise InvalidQuery(f"Expected whole microseconds, got {value}.\nHint: times are compared in microseconds.")


def held_in(written: Deferred) -> Iterator[object]:
    """The names and values that something written with `_` holds."""
    left: list[Any] = [written._resolver]  # noqa: SLF001 - Ibis has no other way to look inside of one
    while left:
        one = left.pop()
        if isinstance(one, Resolver):
            left += [getattr(one, name) for name in one.__slots__ if hasattr(one, name)]
        elif isinstance(one, tuple | list | Mapping):
            left += one.values() if isinstance(one, Mapping) else one
        else:
            yield one


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

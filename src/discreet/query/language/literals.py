"""Constants of a query, each in its full-width type."""

from __future__ import annotations

import datetime
import decimal
import math
from fractions import Fraction

import ibis
import ibis.expr.operations as ops

from discreet.errors import InvalidQuery
from discreet.query.language.values import DTYPES, Kind, Value, cast
from discreet.sensitivity.intervals import Interval, point


def constant(value: object) -> Value:
    """A Python constant as a checked value; None has no kind and is refused."""
    if isinstance(value, bool):
        return Value(ibis.literal(value), Kind.BOOLEAN, None, nullable=False)
    if isinstance(value, int):
        return _number(Kind.INTEGER, value, point(value, integer=True))
    if isinstance(value, float | decimal.Decimal):
        double = float(value)
        if not math.isfinite(double):
            raise InvalidQuery(
                f"Expected finite numbers in a query, got {value}.\nHint: NaN is read as NULL and infinities as the bounds."
            )
        return _number(Kind.REAL, double, Interval(Fraction(double), Fraction(double)))
    if isinstance(value, str):
        return Value(ibis.literal(value), Kind.TEXT, None, nullable=False)
    if isinstance(value, datetime.datetime):
        naive = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return Value(cast(ibis.literal(naive.isoformat()), Kind.TIMESTAMP), Kind.TIMESTAMP, None, nullable=False)
    if isinstance(value, datetime.date):
        return Value(ibis.date(value.isoformat()), Kind.DATE, None, nullable=False)
    raise InvalidQuery(
        f"Expected a number, text, a truth value or a date, got a constant of type {type(value).__name__}.\n"
        "Hint: test for NULL with .isnull() and .notnull()."
    )


def _number(kind: Kind, value: float, interval: Interval) -> Value:
    literal = ops.Literal(value, dtype=DTYPES[kind]).to_expr()
    return Value(cast(literal, kind), kind, interval, nullable=False)

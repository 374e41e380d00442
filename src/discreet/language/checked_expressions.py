"""A checked row-wise expression, and what is proved about its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

from discreet.errors import InvalidQuery, expected
from discreet.sensitivity.intervals import LARGEST, LARGEST_INT, SMALLEST_INT, Interval, hull

if TYPE_CHECKING:
    import ibis.expr.types as ir

LARGEST_EXACT = Fraction(2**53)
"""Up to here every integer is a double."""


class Kind(Enum):
    """What a value is, whatever the engine calls its type: all integers have 64 bits, all reals are doubles."""

    INTEGER = "integer"
    REAL = "real number"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def said(self) -> str:
        """The kind with its article.

        >>> Kind.INTEGER.said, Kind.TEXT.said
        ('an integer', 'a text')
        """
        return f"{'an' if self is Kind.INTEGER else 'a'} {self.value}"

    @property
    def numeric(self) -> bool:
        """Whether arithmetic applies."""
        return self in (Kind.INTEGER, Kind.REAL)


DTYPES: dict[Kind, dt.DataType] = {
    Kind.INTEGER: dt.int64,
    Kind.REAL: dt.float64,
    Kind.BOOLEAN: dt.boolean,
    Kind.TEXT: dt.string,
    Kind.DATE: dt.date,
    Kind.TIMESTAMP: dt.Timestamp(scale=6),
}
"""The one type in which each kind is computed."""


MOMENTS: dict[Kind, tuple[date, date]] = {
    Kind.DATE: (date(1, 1, 1), date(9999, 12, 31)),
    Kind.TIMESTAMP: (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)),  # noqa: DTZ001 (naive: every timestamp is read in UTC)
}
"""Dates outside these have no year on some engine."""


class Measure(NamedTuple):
    """How large an expression is when it is written out."""

    depth: int
    """The depth of nested operations."""
    size: int
    """Operations, constants and columns."""


LEAF = Measure(0, 1)
"""A constant, or a column of the scanned table."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression over the scanned columns, and what is proved about it."""

    expr: ir.Value
    kind: Kind
    interval: Interval | None
    """The range of a number; None for other kinds."""
    nullable: bool
    """Whether it can be NULL."""
    narrow: Interval | None = None
    """The range of a number if columns without bounds had half the range of their type; if it differs from `interval`,
    that one depends on the limits of a type, which nobody stated. None where a range was stated, and a narrower one is
    to be found within it.
    """
    measure: Measure = LEAF
    """How large it is over the scanned columns, with the steps before it."""
    text: str = ""
    """The expression about as the analyst wrote it."""
    span: tuple[date | datetime, date | datetime] | None = None
    """The bounds of a date, where they were stated."""
    capped: bool = False
    """Whether values that differ are read as one though nobody stated bounds: whole numbers from 2**63 on."""

    @property
    def unbounded(self) -> bool:
        """Whether its interval depends on the limits of a type, or a narrower one is to be found."""
        return self.interval != self.narrow


Lower = Callable[[ops.Node], Value]
"""Checks an operation and the operations below it."""

Rule = Callable[[Any, Lower], Value]
"""Checks one class of operations: takes the operation and the means to check its arguments."""


def cast(expr: ir.Value, kind: Kind) -> ir.Value:
    """`expr` cast to the type of `kind`: an engine would overflow in the narrowest type for `5`."""
    return ops.Cast(expr.op(), DTYPES[kind]).to_expr()


def checked_number(expr: ir.Value, interval: Interval, *, nullable: bool, what: str) -> Value:
    """A numeric value, refused where it could overflow."""
    if not interval.fits:
        raise InvalidQuery(
            f"Expected an expression that cannot overflow, got {what}, which can reach {float_text(interval)}.\n"
            "Hint: give its columns bounds in dp.protect(bounds=...), or bound the expression with .clip(low, high)."
        )
    return Value(expr, Kind.INTEGER if interval.integer else Kind.REAL, interval, nullable)


def told_apart(value: Value, what: str) -> Value:
    """A value as it is; refused where several of a column without sign are read as one."""
    if value.capped:
        cure = (
            "make it text or a signed integer before dp.protect, or state bounds=; "
            ".clip(0, 2**63 - 1) says that larger ones are one value."
        )
        raise InvalidQuery(expected("whole numbers that are told apart", what, "64 bits without a sign", cure))
    return value


def float_text(interval: Interval) -> str:
    """An interval for people."""
    return f"[{shown(interval.low)}, {shown(interval.high)}]"


def shown(end: Fraction) -> str:
    """One end of an interval, short."""
    if end.denominator == 1 and abs(end) < 10**15:
        return str(end.numerator)
    return f"{float(end):.6g}" if abs(end) <= LARGEST else f"{'-' if end < 0 else ''}infinity"


def real(value: Value) -> Value:
    """A numeric value as a double; integers beyond 2**53 are rounded, so their interval grows."""
    if value.kind is Kind.REAL or value.interval is None:
        return value
    low, high = (Fraction(float(end)) for end in (value.interval.low, value.interval.high))
    return Value(cast(value.expr, Kind.REAL), Kind.REAL, Interval(low, high), value.nullable)


def integer(value: Value) -> Value:
    """A boolean as 0 or 1; a number as it is."""
    if value.kind is not Kind.BOOLEAN:
        return value
    interval = Interval(Fraction(0), Fraction(1), integer=True)
    return Value(cast(value.expr, Kind.INTEGER), Kind.INTEGER, interval, value.nullable, narrow=interval)


def same_kind(values: list[Value], what: str) -> list[Value]:
    """Values converted to one kind, integers to reals; so that no engine converts anything itself, and fails."""
    kinds = {value.kind for value in values}
    if kinds == {Kind.INTEGER, Kind.REAL}:
        return [real(value) for value in values]
    if len(kinds) > 1:
        names = " and ".join(sorted(kind.value for kind in kinds))
        raise InvalidQuery(
            f"Expected values of one kind, got {names} in {what}.\nHint: compare or combine like with like."
        )
    return values


def numeric(value: Value, what: str) -> tuple[Value, Interval]:
    """A numeric value and its interval, booleans counting as 0 and 1; anything else is refused."""
    value = integer(value)
    if value.interval is None:
        raise InvalidQuery(
            f"Expected a number, got {what} of a {value.kind.value}.\n"
            "Hint: take a number out of it first, as .year() or .length() do."
        )
    return value, value.interval


def joined(values: list[Value]) -> Interval | None:
    """The interval that holds any of these values."""
    intervals = [value.interval for value in values if value.interval is not None]
    return hull(*intervals) if intervals else None


FULL_INTEGER = Interval(SMALLEST_INT, LARGEST_INT, integer=True)
FULL_REAL = Interval(-LARGEST, LARGEST)
NARROW = {
    Kind.INTEGER: Interval(SMALLEST_INT / 2, -SMALLEST_INT / 2, integer=True),
    Kind.REAL: Interval(-LARGEST / 2, LARGEST / 2),
}
"""Half of what the types hold: see `Value.narrow`."""

"""Rules for text and dates: operations that cannot fail on any string or date."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis.expr.operations as ops

from discreet.errors import InvalidQuery
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind, Lower, Rule, Value, cast
from discreet.language.logic import boolean
from discreet.sensitivity.intervals import Interval

LONGEST_TEXT = 2**31
LARGEST_PLACE = 2**30
"""The largest position: engines count positions in 32 bits, and add one."""
LONGEST_PART = 1000
"""The characters used of each text in a concatenation."""


def _of_kind(op: ops.Node, argument: ops.Node, lower: Lower, *kinds: Kind) -> Value:
    value = lower(argument)
    if value.kind not in kinds:
        wanted = " or ".join(kind.value for kind in kinds)
        raise InvalidQuery(
            f"Expected a {wanted}, got a {value.kind.value} in {name_of(op)}.\nHint: apply it to a {wanted} column."
        )
    return value


def _text(op: ops.Node, argument: ops.Node, lower: Lower) -> Value:
    return _of_kind(op, argument, lower, Kind.TEXT)


def _pattern(op: ops.Node, argument: ops.Node, lower: Lower) -> Value:
    if not isinstance(argument, ops.Literal):
        raise InvalidQuery(f"Expected constant text to look for, got {name_of(op)}.\nHint: write the text in quotes.")
    return _text(op, argument, lower)


def changed(op: ops.Unary, lower: Lower) -> Value:
    """Text in lower case, in upper case, or stripped."""
    value = _text(op, op.arg, lower)
    return Value(type(op)(value.expr).to_expr(), Kind.TEXT, None, value.nullable)


def length(op: ops.StringLength, lower: Lower) -> Value:
    """The number of characters."""
    value = _text(op, op.arg, lower)
    interval = Interval(Fraction(0), Fraction(LONGEST_TEXT), integer=True)
    return Value(cast(ops.StringLength(value.expr).to_expr(), Kind.INTEGER), Kind.INTEGER, interval, value.nullable)


def affix(op: ops.StartsWith | ops.EndsWith, lower: Lower) -> Value:
    """Whether a text starts or ends with a constant one."""
    value = _text(op, op.arg, lower)
    other = op.start if isinstance(op, ops.StartsWith) else op.end
    return boolean(type(op)(value.expr, _pattern(op, other, lower).expr), nullable=value.nullable)


def contains(op: ops.StringContains, lower: Lower) -> Value:
    """Whether a text contains a constant one."""
    value = _text(op, op.haystack, lower)
    return boolean(ops.StringContains(value.expr, _pattern(op, op.needle, lower).expr), nullable=value.nullable)


def like(op: ops.StringSQLLike | ops.StringSQLILike, lower: Lower) -> Value:
    """Whether a text matches a constant pattern of % and _."""
    value = _text(op, op.arg, lower)
    return boolean(type(op)(value.expr, _pattern(op, op.pattern, lower).expr), nullable=value.nullable)


def _places(op: ops.Node, *arguments: ops.Node | None) -> list[int]:
    """The whole numbers that an operation counts characters by, each of them a constant; one rule for all of them."""
    places: list[Any] = [getattr(argument, "value", None) for argument in arguments if argument is not None]
    if not all(type(place) is int and 0 <= place <= LARGEST_PLACE for place in places):
        raise InvalidQuery(
            f"Expected constant places from 0 to 2**30, got {name_of(op)}.\n"
            "Hint: write .substr(0, 3), .left(3) or .right(3)."
        )
    return places


def substring(op: ops.Substring, lower: Lower) -> Value:
    """Characters from a constant place on, of a constant number."""
    value = _text(op, op.arg, lower)
    return Value(
        ops.Substring(value.expr, *_places(op, op.start, op.length)).to_expr(), Kind.TEXT, None, value.nullable
    )


def ending(op: ops.StrRight, lower: Lower) -> Value:
    """The last characters, of a constant number."""
    value = _text(op, op.arg, lower)
    return Value(ops.StrRight(value.expr, *_places(op, op.nchars)).to_expr(), Kind.TEXT, None, value.nullable)


def replaced(op: ops.StringReplace, lower: Lower) -> Value:
    """Constant text for constant text, in the first `LONGEST_PART` characters (see `concatenation`)."""
    value = _text(op, op.arg, lower)
    for argument in (op.pattern, op.replacement):
        text = getattr(argument, "value", None)
        if not isinstance(text, str) or len(text) > LONGEST_PART or (argument is op.pattern and not text):
            raise InvalidQuery(
                f"Expected constant texts, the first not empty, got {name_of(op)}.\nHint: write .replace('a', 'b')."
            )
    pattern, replacement = (lower(argument).expr for argument in (op.pattern, op.replacement))
    part = ops.Substring(value.expr, 0, LONGEST_PART)
    return Value(ops.StringReplace(part, pattern, replacement).to_expr(), Kind.TEXT, None, value.nullable)


def concatenation(op: ops.StringConcat, lower: Lower) -> Value:
    """Texts joined, the first `LONGEST_PART` characters of each.

    Joined to themselves time and again, whole ones would outgrow any memory where one row is long, which would tell.
    """
    values = [_text(op, arg, lower) for arg in op.arg]
    expr = ops.StringConcat(tuple(ops.Substring(value.expr, 0, LONGEST_PART) for value in values)).to_expr()
    return Value(expr, Kind.TEXT, None, any(value.nullable for value in values))


def extract(low: int, high: int, *, clock: bool = False) -> Rule:
    """A rule for a part of a date (or of a timestamp alone: the clock) that lies in [low, high]."""
    kinds = (Kind.TIMESTAMP,) if clock else (Kind.DATE, Kind.TIMESTAMP)

    def rule(op: ops.Unary, lower: Lower) -> Value:
        value = _of_kind(op, op.arg, lower, *kinds)
        interval = Interval(Fraction(low), Fraction(high), integer=True)
        return Value(cast(type(op)(value.expr).to_expr(), Kind.INTEGER), Kind.INTEGER, interval, value.nullable)

    return rule


def truncate(op: ops.DateTruncate | ops.TimestampTruncate, lower: Lower) -> Value:
    """The start of a year, quarter, month, week or day, and of an hour, minute or second."""
    kind = Kind.DATE if isinstance(op, ops.DateTruncate) else Kind.TIMESTAMP
    value = _of_kind(op, op.arg, lower, kind)
    return Value(cast(type(op)(value.expr, op.unit).to_expr(), kind), kind, None, value.nullable)


def day(op: ops.Date, lower: Lower) -> Value:
    """The date of a timestamp."""
    value = _of_kind(op, op.arg, lower, Kind.DATE, Kind.TIMESTAMP)
    return Value(cast(value.expr, Kind.DATE), Kind.DATE, None, value.nullable)


RULES: dict[type[ops.Node], Rule] = {
    **dict.fromkeys((ops.Lowercase, ops.Uppercase, ops.Strip, ops.LStrip, ops.RStrip), changed),
    **dict.fromkeys((ops.StartsWith, ops.EndsWith), affix),
    **dict.fromkeys((ops.StringSQLLike, ops.StringSQLILike), like),
    **dict.fromkeys((ops.DateTruncate, ops.TimestampTruncate), truncate),
    ops.Date: day,
    ops.StringLength: length,
    ops.StringContains: contains,
    ops.Substring: substring,
    ops.StringConcat: concatenation,
    ops.StrRight: ending,
    ops.StringReplace: replaced,
    ops.ExtractYear: extract(1, 9999),
    ops.ExtractQuarter: extract(1, 4),
    ops.ExtractMonth: extract(1, 12),
    ops.ExtractDay: extract(1, 31),
    ops.ExtractDayOfYear: extract(1, 366),
    ops.ExtractWeekOfYear: extract(1, 53),
    ops.DayOfWeekIndex: extract(0, 6),
    ops.ExtractHour: extract(0, 23, clock=True),
    ops.ExtractMinute: extract(0, 59, clock=True),
    ops.ExtractSecond: extract(0, 59, clock=True),
}

"""Rules for text and dates: operations that cannot fail on any string or date."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind, Lower, Rule, Value, cast
from discreet.language.logic import boolean
from discreet.sensitivity.intervals import Interval

LONGEST_TEXT = 2**31
LARGEST_PLACE = 2**30
"""The largest position: engines count positions in 32 bits, and add one."""
LONGEST_PART = 1000
"""The characters used of each text in a concatenation; the longest text that is padded to."""
WHOLE = Interval(Fraction(0), Fraction(LONGEST_TEXT), integer=True)
TEXTS = dt.Array(dt.string)


@ibis.udf.scalar.builtin(name="split_part", signature=((dt.string, dt.string, dt.int32), dt.string))
def _split_part(text, delimiter, number): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (Ibis reads the signature above)


@ibis.udf.scalar.builtin(name="list_reverse", signature=((TEXTS,), TEXTS))
def _list_reverse(texts): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


@ibis.udf.scalar.builtin(name="array_to_string", signature=((TEXTS, dt.string), dt.string))
def _array_to_string(texts, between): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


JOINED_BACKWARDS: type[ops.Node] = type(_array_to_string([""], "").op())
"""What `backwards` makes: DuckDB's own REVERSE keeps the characters together that are combined, others do not."""


def backwards(text: ops.Node) -> ops.Node:
    """The characters of a text from the last to the first, in words of DuckDB's.

    Other engines have a REVERSE of their own for it, which `reversed_again` writes.
    """
    node: ops.Node = _array_to_string(_list_reverse(ops.StringSplit(text, "").to_expr()), "").op()
    return node


def reversed_again(joined: ops.Node) -> ops.Node:
    """REVERSE of the text that `backwards` was given."""
    split: ops.Node = joined.args[0].args[0]
    return ops.Reverse(split.args[0])


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
    return Value(cast(ops.StringLength(value.expr).to_expr(), Kind.INTEGER), Kind.INTEGER, WHOLE, value.nullable)


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
    """Whether a text matches a constant pattern of % and _.

    Engines nest once for each % that a text gets to: at one that gets far enough in a long pattern, PostgreSQL raises.
    """
    value = _text(op, op.arg, lower)
    pattern = _pattern(op, op.pattern, lower).expr
    if len(getattr(op.pattern, "value", "")) > LONGEST_PART:
        said = f"Expected a pattern of at most {LONGEST_PART:,} characters, got {name_of(op)}."
        raise InvalidQuery(f"{said}\nHint: join several patterns by |, or write .contains('a').")
    return boolean(type(op)(value.expr, pattern), nullable=value.nullable)


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


def found(op: ops.StringFind, lower: Lower) -> Value:
    """Where a constant text first occurs, counted from 0; -1 where it does not."""
    value = _text(op, op.arg, lower)
    _places(op, op.start, op.end)
    if op.start is not None or op.end is not None:
        raise InvalidQuery(f"Expected the whole text, got {name_of(op)}.\nHint: write .substr(2).find('a').")
    pattern = _constant_text(op, op.substr, lower, "text to look for", most=LONGEST_TEXT)
    expr = cast(ops.StringFind(value.expr, pattern, None, None).to_expr(), Kind.INTEGER)
    interval = Interval(Fraction(-1), WHOLE.high, integer=True)
    return Value(expr, Kind.INTEGER, interval, value.nullable)


def padded(op: ops.LPad | ops.RPad, lower: Lower) -> Value:
    """Text with one constant character before or after it, as often as a constant length needs; no text is cut."""
    value = _text(op, op.arg, lower)
    (length,) = _places(op, op.length)
    if length > LONGEST_PART:
        raise InvalidQuery(
            f"Expected a length of at most {LONGEST_PART:,}, got {name_of(op)}.\nHint: write .lpad(5, '0')."
        )
    pad = _constant_text(op, op.pad, lower, "character", most=1)
    return Value(type(op)(value.expr, length, pad).to_expr(), Kind.TEXT, None, value.nullable)


def part(op: ops.ArrayIndex, lower: Lower) -> Value:
    """One of the parts between constant texts; NULL where a text has fewer parts."""
    if not isinstance(op.arg, ops.StringSplit):
        raise InvalidQuery(f"Expected a part of a split text, got {name_of(op)}.\nHint: write .split(',')[0].")
    value = _text(op, op.arg.arg, lower)
    (number,) = _places(op, op.index)
    if number >= LONGEST_PART:
        raise InvalidQuery(
            f"Expected one of the first {LONGEST_PART:,} parts, got {name_of(op)}.\nHint: write .split(',')[0]."
        )
    delimiter = _constant_text(op, op.arg.delimiter, lower, "text to split by", most=LONGEST_PART)
    taken = _split_part(value.expr, delimiter, number + 1)
    if not number:
        return Value(taken, Kind.TEXT, None, value.nullable)
    # No array is made, of which engines differ in what they do beyond its end, and for a text without characters.
    rest = ops.StringReplace(value.expr, delimiter, "")
    characters = ops.Subtract(ops.StringLength(value.expr), ops.StringLength(rest)).to_expr()
    expr = ibis.cases((characters >= number * len(delimiter.op().value), taken))
    return Value(expr, Kind.TEXT, None, nullable=True)


def turned(op: ops.Reverse, lower: Lower) -> Value:
    """The characters from the last to the first; accents and other combining characters are characters of their own."""
    value = _text(op, op.arg, lower)
    return Value(backwards(value.expr.op()).to_expr(), Kind.TEXT, None, value.nullable)


def _constant_text(op: ops.Node, argument: ops.Node, lower: Lower, what: str, *, most: int) -> ir.Value:
    """A constant that is not empty."""
    text = getattr(argument, "value", None)
    if not isinstance(text, str) or not 1 <= len(text) <= most:
        said = "one constant character" if most == 1 else f"a constant {what} of 1 to {most:,} characters"
        raise InvalidQuery(f"Expected {said}, got {name_of(op)}.\nHint: write the text in quotes.")
    return lower(argument).expr


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
    ops.StringFind: found,
    **dict.fromkeys((ops.LPad, ops.RPad), padded),
    ops.ArrayIndex: part,
    ops.Reverse: turned,
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

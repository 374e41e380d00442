"""The possible results of an expression, where the question determines them: constants, parts of dates, bins."""

from __future__ import annotations

from collections.abc import Iterator

import ibis.expr.operations as ops

from discreet.language.checked_expressions import Kind, Value
from discreet.language.logic import is_null_literal
from discreet.privacy.declaration import Key

PARTS = (
    ops.ExtractQuarter,
    ops.ExtractMonth,
    ops.ExtractDay,
    ops.ExtractDayOfYear,
    ops.ExtractWeekOfYear,
    ops.DayOfWeekIndex,
    ops.ExtractHour,
    ops.ExtractMinute,
    ops.ExtractSecond,
    ops.Bucket,
    ops.Modulus,
    ops.Sign,
)
"""Operations whose results may be few whole numbers: all in their interval."""
MOST_KEYS = 366
"""The most of them that can be keys: the days of a year."""
CHOICES = (ops.IfElse, ops.SearchedCase, ops.SimpleCase, ops.Coalesce)
CONSTANTS = {Kind.TEXT: str, Kind.INTEGER: int}
"""The Python types of constants that can be keys, by kind of the expression."""


def possible_results(op: ops.Node, value: Value) -> tuple[Key, ...]:
    """The possible results of a checked expression but NULL, in the question's order; empty if not determined.

    >>> import ibis
    >>> from discreet.language.literals import constant
    >>> age = ibis.ifelse(ibis._.x > 17, "adult", "child").resolve(ibis.table({"x": "int64"}))
    >>> possible_results(age.op(), constant(""))
    ('adult', 'child')
    """
    interval = value.interval if isinstance(op, PARTS) else None
    if interval is not None and interval.integer and interval.width < MOST_KEYS:
        return tuple(range(int(interval.low), int(interval.high) + 1))
    if not isinstance(op, CHOICES) or value.kind not in CONSTANTS:
        return ()
    kind, found = CONSTANTS[value.kind], list(_results(op))
    if not all(isinstance(result, ops.Literal) and isinstance(result.value, kind) for result in found):
        return ()
    return tuple(dict.fromkeys(kind(result.value) for result in found))


def _results(op: ops.Node) -> Iterator[ops.Node]:
    """What a choice chooses from, through the choices in it, without NULL."""
    for part in _branches(op):
        if not is_null_literal(part):
            yield from _results(part) if isinstance(part, CHOICES) else (part,)


def _branches(op: ops.Node) -> tuple[ops.Node, ...]:
    if isinstance(op, ops.IfElse):
        return op.true_expr, op.false_null_expr
    return tuple(op.arg) if isinstance(op, ops.Coalesce) else (*op.results, op.default)

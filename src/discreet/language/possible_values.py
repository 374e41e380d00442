"""What an expression can give, where the question itself says so: a choice among constants, a part of a date, a bin."""

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
"""Operations whose results may be few whole numbers: all that their interval holds."""
FEW = 366
"""As many of them as are keys: the days of a year."""
CHOICES = (ops.IfElse, ops.SearchedCase, ops.SimpleCase, ops.Coalesce)
CONSTANTS = {Kind.TEXT: str, Kind.INTEGER: int}
"""What a constant that is a key may be, by the kind of the whole."""


def outcomes(op: ops.Node, value: Value) -> tuple[Key, ...]:
    """All that a checked expression can give, NULL aside, in the order of the question; nothing where it does not say.

    >>> import ibis
    >>> from discreet.language.literals import constant
    >>> age = ibis.ifelse(ibis._.x > 17, "adult", "child").resolve(ibis.table({"x": "int64"}))
    >>> outcomes(age.op(), constant(""))
    ('adult', 'child')
    """
    interval = value.interval if isinstance(op, PARTS) else None
    if interval is not None and interval.integer and interval.width < FEW:
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

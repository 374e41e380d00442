"""Operations written differently for Spark, so that no row makes it raise and all totals are the same.

Sums are of decimals with 38 digits from the first addition on: Spark adds 64-bit integers in 64 bits, and raises, or
wraps, beyond them. A count under a condition is a sum there, which is NULL where the condition is never known; it is 0.
Three characters are written as escapes that Spark does not know, and would take for the letters a, v and f.
"""

from __future__ import annotations

import re
import string
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.operation_rewriting import Rule, rewritten

WIDE = dt.Decimal(38, 0)
QUOTED = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'", re.DOTALL)
"""A name, or a text."""
ESCAPE = re.compile(r"\\.", re.DOTALL)
NUMBERS = {r"\a": r"\u0007", r"\v": r"\u000b", r"\f": r"\u000c"}


def portable(table: ir.Table) -> ir.Table:
    """The same table in operations that have the same value on Spark."""
    return rewritten(table, RULES)


def legible(statement: str) -> str:
    r"""A statement in whose texts each escape is one that Spark knows.

    >>> print(legible(r"SELECT `\f` FROM t WHERE s IN ('\f', '`\\f')"))
    SELECT `\f` FROM t WHERE s IN ('\u000c', '`\\f')
    """
    return QUOTED.sub(_told, statement)


def _told(quoted: re.Match[str]) -> str:
    return quoted[0] if quoted[0][0] == "`" else ESCAPE.sub(lambda one: NUMBERS.get(one[0], one[0]), quoted[0])


@ibis.udf.scalar.builtin(name="ltrim", signature=((dt.string, dt.string), dt.string))
def _ltrim(l, r): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (Ibis reads the signature above)


@ibis.udf.scalar.builtin(name="rtrim", signature=((dt.string, dt.string), dt.string))
def _rtrim(l, r): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (as above)


def _sum(op: ops.Sum) -> ops.Node:
    if not op.arg.dtype.is_integer():
        return op
    return ops.Sum(ops.Cast(op.arg, WIDE), where=op.where)


def _count(op: ops.CountStar) -> ops.Node:
    return op if op.where is None else ops.Coalesce((op, ops.Literal(0, dtype=dt.int64)))


def _like(op: ops.StringSQLLike | ops.StringSQLILike) -> ops.Node:
    """A backslash is an escape in Spark's patterns."""
    pattern = op.pattern.value if isinstance(op.pattern, ops.Literal) else None
    if not isinstance(pattern, str):
        return op
    return type(op)(op.arg, ops.Literal(pattern.replace("\\", "\\\\"), dtype=dt.string))


def _left(op: ops.LStrip) -> ops.Node:
    node: ops.Node = _ltrim(string.whitespace, op.arg.to_expr()).op()
    return node


def _right(op: ops.RStrip) -> ops.Node:
    node: ops.Node = _rtrim(string.whitespace, op.arg.to_expr()).op()
    return node


def _shifted(op: Any) -> ops.Node:
    """Spark has no interval of quarters."""
    if op.right.dtype.unit.short != "Q":
        return op
    node: ops.Node = type(op)(op.left, ibis.interval(3 * op.right.value, unit="M").op())
    return node


RULES: dict[type[ops.Node], Rule] = {
    ops.Sum: _sum,
    ops.CountStar: _count,
    ops.StringSQLLike: _like,
    ops.StringSQLILike: _like,
    ops.LStrip: _left,
    ops.RStrip: _right,
    **dict.fromkeys((ops.DateAdd, ops.DateSub, ops.TimestampAdd, ops.TimestampSub), _shifted),
}

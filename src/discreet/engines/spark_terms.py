"""Operations written differently for Spark, so that no row makes it raise and all totals are the same.

Sums are of decimals with 38 digits from the first addition on: Spark adds 64-bit integers in 64 bits, and raises, or
wraps, beyond them. A count under a condition is a sum there, which is NULL where the condition is never known; it is 0.
A column that is compared with many constants is looked up in a map: Spark makes a program of its own of each statement,
and one with thousands of branches takes more memory than there is. Three characters are written as escapes that Spark
does not know, and would take for the letters a, v and f.
"""

from __future__ import annotations

import re
import string
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.operation_rewriting import PATTERNS, Rule, rewritten
from discreet.language.text import JOINED_BACKWARDS, reversed_again

WIDE = dt.Decimal(38, 0)
MOST_BRANCHES = 100
"""Of a choice by the value of one column; beyond so many, it is looked up."""
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


@ibis.udf.scalar.builtin(name="try_validate_utf8", signature=((dt.string,), dt.string))
def _valid(text): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


@ibis.udf.scalar.builtin(name="rtrim", signature=((dt.string,), dt.string))
def _without_blanks(text): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


def valid_text(text: ir.StringValue, kind: str) -> ir.StringValue:
    """A text, and NULL where its bytes are not UTF-8; of a char(n), without the blanks that fill it up."""
    valid: ir.StringValue = _valid(_without_blanks(text) if kind.startswith("char(") else text)
    return valid


def _sum(op: ops.Sum) -> ops.Node:
    if not op.arg.dtype.is_integer():
        return op
    return ops.Sum(ops.Cast(op.arg, WIDE), where=op.where)


def _count(op: ops.CountStar) -> ops.Node:
    return op if op.where is None else ops.Coalesce((op, ops.Literal(0, dtype=dt.int64)))


@ibis.udf.scalar.builtin(name="element_at", signature=((dt.Map(dt.string, dt.int64), dt.string), dt.int64))
def _text_lookup(m, k): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (Ibis reads the signature above)


@ibis.udf.scalar.builtin(name="element_at", signature=((dt.Map(dt.int64, dt.int64), dt.int64), dt.int64))
def _number_lookup(m, k): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


LOOKUPS = {dt.string: _text_lookup, dt.int64: _number_lookup}
"""By the type of the column. A map has NULL for what it lacks, and for NULL."""


def _choice(op: ops.SearchedCase) -> ops.Node:
    """The constant beside the value that a column has is looked up, where there are many."""
    columns = [case.left for case in op.cases if isinstance(case, ops.Equals)]
    lookup = LOOKUPS.get(columns[0].dtype.copy(nullable=True)) if columns else None
    if lookup is None or len(op.cases) <= MOST_BRANCHES:
        return op
    column = columns[0]
    pairs = [(_compared(case, column), _number(result)) for case, result in zip(op.cases, op.results, strict=True)]
    places = {key[0]: number for key, number in pairs if key is not None and number is not None}
    if len(places) < len(pairs):  # another kind of branch, or one that an earlier one hides
        return op
    of_null = places.pop(None, None)
    keys = ibis.array(list(places)).cast(dt.Array(column.dtype))
    value = lookup(ibis.map(keys, ibis.array(list(places.values())).cast("array<int64>")), column.to_expr())
    value = value.coalesce(op.default.to_expr())
    if of_null is not None:
        value = ibis.ifelse(column.to_expr().isnull(), ibis.literal(of_null, "int64"), value)
    node: ops.Node = value.op()
    return node


def _compared(case: ops.Node, column: ops.Node) -> tuple[str | int | None] | None:
    """The constant, or NULL, that a condition compares a column with; None for another condition."""
    if isinstance(case, ops.IsNull) and case.arg == column:
        return (None,)
    if not isinstance(case, ops.Equals) or case.left != column:
        return None
    if column.dtype.is_integer():
        number = _number(case.right)
        return None if number is None else (number,)
    return (case.right.value,) if isinstance(case.right, ops.Literal) and case.right.dtype.is_string() else None


def _number(op: ops.Node) -> int | None:
    """The value of a whole number that is written down; None for anything else."""
    while isinstance(op, ops.Cast) and op.to.is_integer():
        op = op.arg
    return op.value if isinstance(op, ops.Literal) and op.dtype.is_integer() else None


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
    ops.SearchedCase: _choice,
    ops.Sum: _sum,
    ops.CountStar: _count,
    **PATTERNS,
    ops.LStrip: _left,
    JOINED_BACKWARDS: reversed_again,
    ops.RStrip: _right,
    **dict.fromkeys((ops.DateAdd, ops.DateSub, ops.TimestampAdd, ops.TimestampSub), _shifted),
}

"""Expressions as an analyst writes them: `age > 50`, not `Greater(age, 50)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ibis.expr.operations as ops

LONGEST = 80
DEEPEST = 6
"""Of operations within each other; a column that is doubled again and again would have a text that has no end."""

MOST_LISTED = 8

INFIX: Mapping[type[ops.Node], str] = {
    ops.Greater: ">",
    ops.GreaterEqual: ">=",
    ops.Less: "<",
    ops.LessEqual: "<=",
    ops.Equals: "==",
    ops.NotEquals: "!=",
    ops.Add: "+",
    ops.Subtract: "-",
    ops.Multiply: "*",
    ops.Divide: "/",
    ops.FloorDivide: "//",
    ops.Modulus: "%",
    ops.Power: "**",
    ops.And: "&",
    ops.Or: "|",
    ops.Xor: "^",
}


def expression_text(op: ops.Node) -> str:
    """An operation about as it was written, in one line of at most 80 characters.

    >>> import ibis
    >>> t = ibis.table({"age": "int64", "plan": "string"}, name="people")
    >>> expression_text(((t.age > 50) & t.plan.isin(["a", "b"])).op())
    "(age > 50) & plan.isin(['a', 'b'])"
    """
    text = _text(op, DEEPEST)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _text(op: ops.Node, deep: int) -> str:
    if not deep:
        return "..."
    if type(op) in INFIX:
        return f"{_part(op.left, deep)} {INFIX[type(op)]} {_part(op.right, deep)}"
    written = next((WRITTEN[kind] for kind in type(op).__mro__ if kind in WRITTEN), None)
    if written is not None:
        return written(op, deep)
    return str(op.to_expr().get_name()) if isinstance(op, ops.Value) else type(op).__name__


def _literal(op: ops.Literal, _: int) -> str:
    return repr(op.value) if isinstance(op.value, bool | int | float | str) else str(op.value)


def _cast(op: ops.Cast, deep: int) -> str:
    """A constant without the type that checking gave it; a cast of anything else by the name that Ibis gives it."""
    return _text(op.arg, deep) if isinstance(op.arg, ops.Literal) else str(op.to_expr().get_name())


def _listed(op: ops.InValues, deep: int) -> str:
    shown = [_text(one, deep - 1) for one in op.options[:MOST_LISTED]]
    more = ["..."] if len(op.options) > MOST_LISTED else []
    return f"{_part(op.value, deep)}.isin([{', '.join([*shown, *more])}])"


def _between(op: ops.Between, deep: int) -> str:
    low, high = (_text(end, deep - 1) for end in (op.lower_bound, op.upper_bound))
    return f"{_part(op.arg, deep)}.between({low}, {high})"


def _aggregate(op: ops.Reduction, deep: int) -> str:
    if not isinstance(getattr(op, "arg", None), ops.Value):
        return str(op.to_expr().get_name())
    where = "" if op.where is None else f", where={_text(op.where, deep - 1)}"
    return f"{type(op).__name__}({_text(op.arg, deep - 1)}{where})"


WRITTEN: Mapping[type[ops.Node], Callable[[Any, int], str]] = {
    ops.Literal: _literal,
    ops.Cast: _cast,
    ops.Not: lambda op, deep: f"~{_part(op.arg, deep)}",
    ops.Negate: lambda op, deep: f"-{_part(op.arg, deep)}",
    ops.IsNull: lambda op, deep: f"{_part(op.arg, deep)}.isnull()",
    ops.NotNull: lambda op, deep: f"{_part(op.arg, deep)}.notnull()",
    ops.InValues: _listed,
    ops.Between: _between,
    ops.Mean: _aggregate,
    ops.Sum: _aggregate,
    ops.Max: _aggregate,
    ops.Min: _aggregate,
}
"""How operations are written that are not between their operands."""


def _part(op: ops.Node, deep: int) -> str:
    """An operand, in parentheses where it is written between two of its own."""
    inner = op.arg if isinstance(op, ops.Cast) and isinstance(op.arg, ops.Literal) else op
    text = _text(op, deep - 1)
    return f"({text})" if type(inner) in INFIX or isinstance(inner, ops.Negate) else text

"""Replaces operations that an engine lacks, or that could raise there, by others with the same value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

Rule = Callable[[Any], ops.Node]
"""Takes an operation whose arguments are rewritten already, and gives what stands for it."""


def rewritten(table: ir.Table, rules: Mapping[type[ops.Node], Rule]) -> ir.Table:
    """A table's expression with each operation of a class in `rules` replaced, from the leaves up."""

    def replace(node: ops.Node, arguments: Mapping[str, Any] | None) -> ops.Node:
        rebuilt = node if arguments is None else node.__recreate__(arguments)
        rule = rules.get(type(rebuilt))
        return rebuilt if rule is None else rule(rebuilt)

    expr: ir.Table = table.op().replace(replace).to_expr()
    return expr


def least_magnitude(op: ops.Node) -> float:  # noqa: PLR0911 (one rule for each kind of operation)
    """A number that the absolute value of a double expression is not below, unless it is zero; 0.0 where none is known.

    >>> import ibis
    >>> column = ibis.table({"i": "int64", "x": "float64"}).i.cast("float64")
    >>> least_magnitude((column / 8.0).op()), least_magnitude((column - 0.5).op())
    (0.125, 2.7755575615628914e-17)
    """
    match op:
        case ops.Field(rel=ops.Project(values=values), name=name):
            return least_magnitude(values[name])
        case ops.Alias(arg=arg):
            return least_magnitude(arg)
        case ops.Literal(value=int() | float() as value):
            return abs(float(value))
        case ops.Cast(arg=arg, to=to) if to.is_floating():
            return 1.0 if arg.dtype.is_integer() else least_magnitude(arg)
        case ops.Multiply(left=left, right=right):
            return least_magnitude(left) * least_magnitude(right)
        case ops.Divide(left=left, right=right) if divisor := constant(right):
            return least_magnitude(left) / abs(divisor)
        case ops.Add(left=left, right=right) | ops.Subtract(left=left, right=right):
            # Beside a constant c, a double is so close to -c that the difference is exact, or it is far from it.
            return 2.0**-54 * abs(constant(left) or constant(right) or 0.0)
        case ops.Negate(arg=arg) | ops.Abs(arg=arg):
            return least_magnitude(arg)
    return 0.0


def constant(op: ops.Node) -> float | None:
    """The value of a number written down, through casts; None for anything else."""
    while isinstance(op, ops.Cast | ops.Alias):
        op = op.arg
    value = op.value if isinstance(op, ops.Literal) else None
    return float(value) if isinstance(value, int | float) else None


def _literal_backslash(op: ops.StringSQLLike | ops.StringSQLILike) -> ops.Node:
    pattern = op.pattern.value if isinstance(op.pattern, ops.Literal) else None
    if not isinstance(pattern, str):
        return op
    return type(op)(op.arg, ops.Literal(pattern.replace("\\", "\\\\"), dtype=dt.string))


PATTERNS: Mapping[type[ops.Node], Rule] = dict.fromkeys((ops.StringSQLLike, ops.StringSQLILike), _literal_backslash)
"""For engines that take a backslash in a pattern for an escape."""

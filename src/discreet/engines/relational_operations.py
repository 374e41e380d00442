"""Projections and joins as the operations that Ibis makes of them, with no search for what each column may have meant.

Ibis looks every column up in all that its table was made of, which takes longer than to make the projection. Here each
column must be an expression of the table itself, or of the two `sides` of the join; Ibis refuses any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import ibis.expr.operations as ops
import ibis.expr.types as ir


def selected(table: ir.Table, columns: Mapping[str, ir.Value]) -> ir.Table:
    """A table's rows with these columns."""
    expr: ir.Table = ops.Project(table.op(), {name: value.op() for name, value in columns.items()}).to_expr()
    return expr


def sides(left: ir.Table, right: ir.Table) -> tuple[ir.Table, ir.Table]:
    """Both tables as a join of theirs names them, which tells them apart even where they are the same."""
    first, second = (ops.JoinReference(table.op(), identifier=i).to_expr() for i, table in enumerate((left, right)))
    return first, second


def joined(
    left: ir.Table,
    right: ir.Table,
    same: Sequence[ir.Value],
    columns: Mapping[str, ir.Value],
    *,
    how: Literal["inner", "left"] = "inner",
) -> ir.Table:
    """What `columns` say of the two `sides`, where all of `same` hold."""
    link = ops.JoinLink(how, table=right.op(), predicates=[one.op() for one in same])
    return ir.Table(ops.JoinChain(left.op(), (link,), {name: value.op() for name, value in columns.items()}))


STEPS = (
    ops.UnboundTable, ops.Project, ops.Filter, ops.Aggregate, ops.Sort, ops.JoinChain, ops.JoinReference,
)  # fmt: skip
"""Steps whose rows depend on no column but those that they name; a union or a distinct looks at all there are."""


def column_names(table: ir.Table) -> frozenset[str] | None:
    """The names of all columns that a table is made of, or has; None where a step may look at others too.

    >>> import ibis
    >>> t = ibis.table({"a": "int64", "b": "int64", "c": "int64"})
    >>> sorted(column_names(t.filter(t.a > 1).select(t.b))), column_names(t.distinct())
    (['a', 'b'], None)
    """
    op = table.op()
    if not all(isinstance(step, STEPS) for step in op.find(ops.Relation)):
        return None
    return frozenset((*op.schema, *(field.name for field in op.find(ops.Field))))

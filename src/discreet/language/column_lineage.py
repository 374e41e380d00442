"""Finds the columns of the scanned table from which an expression is computed."""

from __future__ import annotations

from collections.abc import Iterable

import ibis.expr.operations as ops


def source_columns(fields: Iterable[ops.Field]) -> frozenset[str]:
    """The columns of the scanned table that some fields of a chain's relation are computed from."""
    names, left, seen = set[str](), list(fields), set[ops.Field]()
    while left:
        field = left.pop()
        if field in seen:
            continue
        seen.add(field)
        if isinstance(field.rel, ops.UnboundTable):
            names.add(field.name)
        elif isinstance(field.rel, ops.Set):  # the rows of two tables, column by column
            left += [ops.Field(field.rel.left, field.name), ops.Field(field.rel.right, field.name)]
        else:
            left += field.rel.values[field.name].find(ops.Field, filter=ops.Value)
    return frozenset(names)

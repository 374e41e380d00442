"""Statements of the verbs with commands of their own: their rows, groups and aggregates, before any limit is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.cli.asking import TABLE as DATA
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.query.table import PrivateTable
from discreet.statements.answer_clauses import After
from discreet.statements.dialects import dialect_named
from discreet.statements.select_statement import SelectStatement
from discreet.statements.sql_translation import lower

if TYPE_CHECKING:
    from discreet.cli.verb_answers import VerbOptions

COUNTED = f"SELECT COUNT(*) AS n FROM {DATA} WHERE ({{}}\n)"  # noqa: S608 (it is parsed, and made of listed operations)


def statement_of(asked: VerbOptions, table: PrivateTable, statement: str) -> SelectStatement:
    """A statement about one table, which needs no limits: what is done with it says which ones."""
    names = {DATA: table, table.declaration.name: table}
    found = lower(statement, names, dialect_named(asked.dialect))
    if found.sets is not None or found.after != After(qualifier=found.after.qualifier):
        cure = "leave ROLLUP, CUBE, HAVING, ORDER BY, LIMIT and calculations with aggregates out."
        raise InvalidQuery(expected("groups and aggregates alone", "SQL", statement, cure))
    return found


def filtered_table(asked: VerbOptions, table: PrivateTable) -> PrivateTable:
    """The rows for which the condition holds; all, where there is none."""
    if asked.where is None:
        return table
    found = statement_of(asked, table, COUNTED.format(asked.where))
    if found.groups or [one.name for one in found.aggregates] != ["n"]:
        cure = "write one condition, --where \"age >= 18 AND plan = 'free'\"."
        raise InvalidParameter(expected("a condition", "where", asked.where, cure))
    return found.table


def values_of(statement: SelectStatement) -> dict[str, ir.Value | None]:
    """What each column of a statement counts or adds up of a row; none, where it is the number of all rows."""
    rows: Any = statement.table
    return {one.name: _value(one.name, rows._bound(one.written)) for one in statement.aggregates}  # noqa: SLF001 (as the verbs of this table do)


def _value(name: str, aggregate: ir.Value) -> ir.Value | None:
    op: Any = aggregate.op()
    if isinstance(op, ops.CountStar):
        return None if op.where is None else op.where.to_expr()
    if isinstance(op, ops.Count):
        held = op.arg.to_expr().notnull()
        return held if op.where is None else held & op.where.to_expr()
    if isinstance(op, ops.Sum):
        own = op.arg.to_expr()
        return own if op.where is None else ibis.ifelse(op.where.to_expr(), own, 0)
    raise not_of_a_row(name)


def not_of_a_row(name: str) -> InvalidQuery:
    """A column that neither counts nor adds up anything of a row."""
    cure = f"write COUNT(*) FILTER (WHERE age >= 18) AS {name}, or SUM(visits) AS {name}."
    return InvalidQuery(expected("a count under a condition, or a sum", "column", name, cure))

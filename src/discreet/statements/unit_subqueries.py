"""Sub-queries grouped by the privacy unit: one row for each unit, with aggregates of its own rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.query.table import PrivateTable
from discreet.statements.aggregate_functions import column_for, over_columns, sql_of
from discreet.statements.constants import number_of
from discreet.statements.expressions import row_wise
from discreet.statements.refusals import ROWS
from discreet.statements.scope import Scope
from discreet.statements.statement_text import located

MADE: dict[type[exp.Expression], Callable[..., ops.Value]] = {
    exp.Sum: ops.Sum,
    exp.Avg: ops.Mean,
    exp.Min: ops.Min,
    exp.Max: ops.Max,
    exp.LogicalAnd: ops.All,
    exp.LogicalOr: ops.Any,
}
"""Aggregates of one value over a unit's rows. COUNT has several forms."""


@dataclass(kw_only=True)
class UnitSubquery:
    """The features of a unit that a sub-query names, each computed once."""

    scope: Scope
    made: dict[str, Callable[[Any], ir.Value]] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)
    """For each sum, the feature that counts its values: SUM of no values is NULL."""
    _known: dict[str, str] = field(default_factory=dict)

    def over(self, node: exp.Expression) -> exp.Expression:
        """An expression over aggregates, translated to one over the columns that hold them."""
        return over_columns(node, self._column)

    def _column(self, node: exp.Expression) -> exp.Column:
        sql = sql_of(node)
        if sql not in self._known:
            self._known[sql] = self._add(node)
        return column_for(node, self._known[sql])

    def _add(self, node: exp.Expression) -> str:
        inner, where = node, None
        if isinstance(node, exp.Filter):
            inner, where = node.this, row_wise(node.expression.this, self.scope)
        name = f"feature_{len(self.made)}"
        self.scope.text.remember(node, name)
        self.made[name] = self._written(inner, where)
        if isinstance(inner, exp.Sum):
            value = row_wise(inner.this, self.scope)
            self.sums[name] = f"feature_{len(self.made)}"
            self.made[self.sums[name]] = lambda _: ops.Count(value, where).to_expr()
        return name

    def _written(self, node: exp.Expression, where: ir.Value | None) -> Callable[[Any], ir.Value]:
        make = MADE.get(type(node))
        extra = [part for part, held in node.args.items() if held and part not in ("this", "big_int")]
        if make is not None and not extra and not isinstance(node.this, exp.Distinct):
            value = row_wise(node.this, self.scope)
            return lambda _: make(value, where=where).to_expr()
        if isinstance(node, exp.Count) and not extra and node.this is not None:
            if isinstance(node.this, exp.Star | exp.Literal):
                return lambda table: table.count(where=where)
            distinct = isinstance(node.this, exp.Distinct)
            columns = node.this.expressions if distinct else [node.this]
            if len(columns) == 1:
                value = row_wise(columns[0], self.scope)
                return lambda _: (ops.CountDistinct if distinct else ops.Count)(value, where).to_expr()
        what = "COUNT, SUM, AVG, MIN, MAX, BOOL_AND or BOOL_OR of one person's rows"
        raise self.scope.text.refusal(what, node, "others would depend on the order of the rows.")


def per_unit(select: exp.Select, table: PrivateTable, scope: Scope) -> tuple[Scope, UnitSubquery]:
    """The table with one row for each unit, and the features that its columns hold."""
    text, unit = scope.text, table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name
    grouped = [_named(node, select, scope) for node in select.args["group"].expressions]
    if not unit or set(grouped) != set(unit) or len(select.args["group"].args) > 1:
        what, cure = ROWS
        raise text.refusal(what, select.args["group"], cure)
    features = UnitSubquery(scope=scope)
    having = select.args.get("having")
    nodes = [*select.expressions, *([] if having is None else [having.this])]
    for node in nodes:
        features.over(node)
    with located(text, select.args["group"]):
        made = table.per_unit(**features.made) if features.made else table.per_unit(feature_0=lambda t: t.count())
        nulls = {name: _null_without(name, counted) for name, counted in features.sums.items()}
        made = made.mutate(**nulls) if nulls else made
    after = scope.over(made)
    if having is not None:
        with located(text, having):
            made = made.filter(row_wise(features.over(having.this), after))
    return scope.over(made), features


def _null_without(name: str, counted: str) -> Callable[[Any], ir.Value]:
    return lambda table: ibis.cases((table[counted] > 0, table[name]))


def _named(node: exp.Expression, select: exp.Select, scope: Scope) -> str | None:
    """The column that an entry of GROUP BY names, by name or by number."""
    place = number_of(node)
    if isinstance(place, int) and 1 <= place <= len(select.expressions):
        node = select.expressions[place - 1]
        node = node.this if isinstance(node, exp.Alias) else node
    return scope.name(node.this, node) if isinstance(node, exp.Column) else None

"""Translates SQL aggregates into those of Ibis, and names their columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.planning.aggregates import Intercept, Slope
from discreet.statements.constants import number_of
from discreet.statements.expressions import row_wise
from discreet.statements.refusals import refusal
from discreet.statements.scope import Scope, in_one_case
from discreet.statements.statement_text import sql_text

Write = Callable[..., ops.Value]


def _spread(operation: Callable[..., ops.Value], how: str) -> Write:
    return lambda value, where: operation(value, how=how, where=where)


OF_ONE_COLUMN: dict[type[exp.Expression], tuple[str, Write]] = {
    exp.Sum: ("sum", ops.Sum),
    exp.Avg: ("avg", ops.Mean),
    exp.Variance: ("variance", _spread(ops.Variance, "sample")),
    exp.VariancePop: ("var_pop", _spread(ops.Variance, "pop")),
    exp.Stddev: ("stddev", _spread(ops.StandardDev, "sample")),
    exp.StddevSamp: ("stddev", _spread(ops.StandardDev, "sample")),
    exp.StddevPop: ("stddev_pop", _spread(ops.StandardDev, "pop")),
}
"""Aggregates of one value: the prefix of a column's default name, and the Ibis operation."""

OF_TWO_COLUMNS: dict[type[exp.Expression], tuple[str, Write]] = {
    exp.Corr: ("corr", lambda x, y, where: ops.Correlation(x, y, where=where)),
    exp.CovarSamp: ("covar_samp", lambda x, y, where: ops.Covariance(x, y, how="sample", where=where)),
    exp.RegrSlope: ("regr_slope", lambda y, x, where: Slope(x, y, where=where)),
    exp.RegrIntercept: ("regr_intercept", lambda y, x, where: Intercept(x, y, where=where)),
    exp.CovarPop: ("covar_pop", lambda x, y, where: ops.Covariance(x, y, how="pop", where=where)),
}
"""The same for aggregates of two values."""

BY_ORDER: dict[type[exp.Expression], tuple[str, Write]] = {
    exp.Median: ("median", ops.Median),
    exp.Min: ("min", ops.Min),
    exp.Max: ("max", ops.Max),
}
"""The same for aggregates that depend on the order of the values, which dates have, too."""

AGGREGATES = (*OF_ONE_COLUMN, *OF_TWO_COLUMNS, *BY_ORDER, exp.Count, exp.CountIf, exp.PercentileCont, exp.WithinGroup)
"""Every aggregate that a statement may have. docs/sql.md shows each; a test compares the two."""


@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """One aggregate of a statement: its name, and the expression as a function of the table."""

    name: str
    written: Callable[[Any], ir.Value]
    node: exp.Expression


def is_aggregate(node: exp.Expression) -> bool:
    """Whether a selected item is an aggregate as a whole."""
    inner = node.this if isinstance(node, exp.Filter) else node
    return isinstance(inner, exp.AggFunc | exp.WithinGroup) and not isinstance(inner, exp.Grouping)


def aggregate(node: exp.Expression, name: str, scope: Scope) -> AggregateFunction:
    """An aggregate, with its FILTER as the condition on its rows."""
    inner, where = node, None
    if isinstance(node, exp.Filter):
        inner, where = node.this, _condition(node.expression.this, scope)
    if isinstance(inner, exp.Count):
        written = _count(inner, where, scope)
        return AggregateFunction(name=name or _default_name(inner, "count"), written=written, node=node)
    if isinstance(inner, exp.CountIf):
        held = _condition(inner.this, scope)
        both = held if where is None else held & where
        name = name or _default_name(inner, "count_if")
        return AggregateFunction(name=name, written=lambda table: table.count(where=both), node=node)
    if isinstance(inner, exp.WithinGroup | exp.PercentileCont):
        return _quantile(node, inner, name, where, scope)
    if type(inner) not in (*OF_ONE_COLUMN, *OF_TWO_COLUMNS, *BY_ORDER):
        raise refusal(inner, scope.text)
    prefix, write = {**OF_ONE_COLUMN, **OF_TWO_COLUMNS, **BY_ORDER}[type(inner)]
    parts = ("this", "expression") if type(inner) in OF_TWO_COLUMNS else ("this",)
    if [part for part, held in inner.args.items() if bool(held) is not (part in parts)]:
        wanted = "two columns" if type(inner) in OF_TWO_COLUMNS else "one column"
        raise scope.text.refusal(f"{prefix.upper()} of {wanted}", node, f"write it with {wanted}.")
    values = [_aggregated_column(inner.args[part], node, scope, is_ordered=type(inner) in BY_ORDER) for part in parts]
    moment = write(*values, where=where).to_expr()
    return AggregateFunction(name=name or _default_name(inner, prefix), written=lambda _: moment, node=node)


def _aggregated_column(part: exp.Expression, node: exp.Expression, scope: Scope, *, is_ordered: bool) -> ir.Column:
    """The column that is aggregated; refuses types without that aggregate."""
    value = _column(part, scope)
    kind = value.type()
    if not (kind.is_numeric() or kind.is_boolean() or (is_ordered and (kind.is_date() or kind.is_timestamp()))):
        raise scope.text.refusal(f"an aggregate of numbers, not of {kind}", node, "COUNT takes any column.")
    return value


def _quantile(
    node: exp.Expression, inner: exp.Expression, name: str, where: ir.Value | None, scope: Scope
) -> AggregateFunction:
    """PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY column), or QUANTILE_CONT(column, share)."""
    share, of = inner.args.get("expression"), inner.this
    if isinstance(inner, exp.WithinGroup):
        ordered = share.expressions if isinstance(share, exp.Order) else []
        share, of = inner.this.this, ordered[0] if len(ordered) == 1 and not ordered[0].args.get("desc") else None
        if type(inner.this) is not exp.PercentileCont or of is None:
            cure = "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column)."
            raise scope.text.refusal("PERCENTILE_CONT in ascending order", node, cure)
        of = of.this
    stated = None if share is None else number_of(share)
    if stated is None or not 0 < stated < 1:
        raise scope.text.refusal("a quantile strictly between 0 and 1", node, "write QUANTILE_CONT(column, 0.9).")
    value = _aggregated_column(of, node, scope, is_ordered=True)
    made = ops.Quantile(value, float(stated), where).to_expr()
    column_words = re.findall(r"\w+", of.name if isinstance(of, exp.Column) else sql_text(of))
    return AggregateFunction(
        name=name or "_".join(["quantile", str(stated), *column_words]).lower(), written=lambda _: made, node=node
    )


def _condition(node: exp.Expression, scope: Scope) -> ir.Value:
    where = row_wise(node, scope)
    if not where.type().is_boolean():
        raise scope.text.refusal("a condition to count by", node, "compare it with something.")
    return where


def _column(node: exp.Expression, scope: Scope) -> ir.Column:
    value = row_wise(node, scope)
    if not isinstance(value, ir.Column):
        raise scope.text.refusal("an aggregate of a column", node, "COUNT(*) counts rows.")
    return value


def _count(node: exp.Count, where: ir.Value | None, scope: Scope) -> Callable[[Any], ir.Value]:
    extra = [part for part, value in node.args.items() if value and part not in ("this", "big_int")]
    if extra or node.this is None:
        raise scope.text.refusal("COUNT(*), COUNT(column) or COUNT(DISTINCT unit)", node, "count one thing.")
    if isinstance(node.this, exp.Star):
        if any(node.this.args.values()):
            raise refusal(node.this, scope.text)
        return lambda table: table.count(where=where)
    if isinstance(node.this, exp.Literal | exp.Boolean):  # COUNT(1) counts rows, since 1 is never NULL
        return lambda table: table.count(where=where)
    if not isinstance(node.this, exp.Distinct):
        value = _column(node.this, scope)
        return lambda _: ops.Count(value, where).to_expr()
    columns = node.this.expressions
    if len(columns) != 1 or node.this.args.get("on"):
        raise scope.text.refusal("COUNT(DISTINCT) of one column, the unit", node, "COUNT(*) counts rows.")
    unit = _column(columns[0], scope)
    return lambda _: ops.CountDistinct(unit, where).to_expr()


def _default_name(node: exp.Expression, prefix: str) -> str:
    """The name of an aggregate without an alias, made from its text, as in avg_visits."""
    if isinstance(node.this, exp.Star):
        return prefix
    inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    both = [part for part in (inner, node.args.get("expression")) if part is not None]
    texts = [part.name if isinstance(part, exp.Column) else sql_text(part) for part in both]
    words = re.findall(r"\w+", " ".join(texts))
    return "_".join([prefix, *(["distinct"] if isinstance(node.this, exp.Distinct) else []), *words]).lower()


def default_name(node: exp.Expression) -> str:
    """The name of a calculation without an alias, made from its text."""
    return "_".join(re.findall(r"\w+", sql_text(node))).lower()


def sql_of(node: exp.Expression) -> str:
    """The SQL of an aggregate in one form, with all that the text in one dialect leaves out of its parts, so that equal
    aggregates are found, and no others.
    """
    one = node.copy()
    for name in one.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", in_one_case(name.name))
    parts = [f"{type(part).__name__}{_held(part)}" for part in node.walk() if not isinstance(part, exp.Identifier)]
    return "; ".join([sql_text(one), *parts])


def _held(node: exp.Expression) -> list[str]:
    """What a node holds beside other nodes, and which of those it has."""
    held = {name: part for name, part in node.args.items() if part not in (None, False, [])}
    return sorted(name if isinstance(part, exp.Expression | list) else f"{name}={part}" for name, part in held.items())


def over_columns(node: exp.Expression, column: Callable[[exp.Expression], exp.Column]) -> exp.Expression:
    """An expression in which each aggregate is the column that holds it."""
    if is_aggregate(node):
        return column(node)
    copy = node.copy()
    for part in list(copy.walk(prune=is_aggregate)):
        if is_aggregate(part):
            part.replace(column(part))
    return copy


def column_for(node: exp.Expression, name: str) -> exp.Column:
    """The column of a name, with the position of the expression that it replaces."""
    identifier = exp.to_identifier(name, quoted=True)
    identifier.meta.update(next((part.meta for part in node.walk() if "start" in part.meta), {}))
    return exp.column(identifier)

"""CAST, where it cannot fail, with each dialect's meaning."""

from __future__ import annotations

import re

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements import date_functions, string_functions
from discreet.statements.refusals import refusal
from discreet.statements.scope import Lower, Scope

Type = exp.DataType.Type
CASTS: dict[Type, dt.DataType] = {
    Type.TINYINT: dt.int8,
    Type.SMALLINT: dt.int16,
    Type.INT: dt.int32,
    Type.BIGINT: dt.int64,
    Type.DOUBLE: dt.float64,
    Type.TEXT: dt.string,
    Type.VARCHAR: dt.string,
    Type.BOOLEAN: dt.boolean,
    Type.DATE: dt.date,
    Type.TIMESTAMP: date_functions.TIMESTAMP,
    Type.TIMESTAMPNTZ: date_functions.TIMESTAMP,
    Type.TIMESTAMPTZ: date_functions.TIMESTAMP,
}
"""The types that CAST can convert to, as far as the language allows."""
EXACT = 2**53
"""Whole numbers up to here are floats."""
_NUMBER = re.compile(r"[+-]?\d{1,19}(?P<fraction>\.\d{1,19})?", re.ASCII)


def toward_zero(number: ir.Value) -> ir.Value:
    """The next whole number toward zero."""
    return ibis.ifelse(number < 0, number.ceil(), number.floor())


def try_cast(node: exp.TryCast, scope: Scope, lower: Lower) -> ir.Value:
    """A cast in a dialect whose casts give NULL on failure; the language allows those that never fail."""
    if not scope.text.dialect.casts_try:
        raise refusal(node, scope.text)
    return cast(node, scope, lower)


def cast(node: exp.Cast | exp.TryCast, scope: Scope, lower: Lower) -> ir.Value:
    """CAST of a value, or of a constant text to a date."""
    to = node.to.this
    written = isinstance(node.this, exp.Literal) and node.this.is_string and not node.to.expressions
    if written and to in date_functions.CONSTANTS:
        try:
            return ibis.literal(date_functions.CONSTANTS[to](node.this.this))
        except (ValueError, OverflowError):  # a zone may lead out of the years 1 to 9999
            cure = "write it year-month-day, DATE '2020-01-31', and seconds with at most 6 digits after the point."
            raise scope.text.refusal("a date", node, cure) from None
    if to not in CASTS or node.to.expressions:
        known = ", ".join(kind.value for kind in CASTS)
        raise scope.text.refusal(f"a CAST to {known}", node, "use FLOOR or ROUND for whole numbers of real ones.")
    value, target = lower(node.this, scope), CASTS[to]
    constant = _constant(value, target)
    if constant is not None:
        return constant
    if value.type().is_numeric() and target.is_string():
        return string_functions.as_text(value, node.this, scope)
    if scope.is_answer and value.type().is_string() and not target.is_string() and scope.text.dialect.name != "duckdb":
        cure = "engines read texts differently: take the answer, and cast there."
        raise scope.text.refusal("a CAST of a number, a condition, a date or a constant", node, cure)
    if value.type().is_floating() and target.is_integer():
        value = _whole(value, node, scope)
    if value.type().is_integer() and target.is_boolean():
        return value != 0
    if value.type().is_boolean() and target.is_string():
        return ibis.cases((value, "true"), (~value, "false"))
    return ops.Cast(value, target).to_expr()


def _constant(value: ir.Value, target: dt.DataType) -> ir.Value | None:
    """A constant whose value the type has, which stays one, as in lists: drivers write $1::varchar and '5'::int4."""
    held = value.op()
    given = held.value if isinstance(held, ops.Literal) else None
    if given is not None and not target.is_numeric() and type(value.type()) is type(target):
        return value
    number = _NUMBER.fullmatch(given) if isinstance(given, str) and target.is_numeric() else None
    if number is not None:
        given = float(number[0]) if number["fraction"] else int(number[0])
    if type(given) is int and isinstance(target, dt.Integer) and target.bounds.lower <= given <= target.bounds.upper:
        return ibis.literal(given, target)
    if not target.is_floating() or isinstance(given, bool) or not isinstance(given, int | float):
        return None
    is_exact = isinstance(given, float) or number is not None or abs(given) <= EXACT
    return ibis.literal(float(given), target) if is_exact else None


def _whole(value: ir.Value, node: exp.Expression, scope: Scope) -> ir.Value:
    """A real number cast to a whole one, where the dialect has one rule for it."""
    if scope.text.dialect.halves_by_type:
        cure = "it rounds halves to even or away from zero, by type; write CAST(FLOOR(x) AS BIGINT)."
        raise scope.text.refusal("a whole number, or a cast that cannot fail", node, cure)
    return toward_zero(value) if scope.text.dialect.casts_truncate else value

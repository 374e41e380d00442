"""Rules for truth values, comparisons, NULL and choice."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import (
    FULL_INTEGER,
    Kind,
    Lower,
    Rule,
    Value,
    cast,
    integer,
    joined,
    real,
    same_kind,
    told_apart,
)
from discreet.language.literals import constant


def boolean(expr: ops.Value, *, nullable: bool) -> Value:
    """A truth value."""
    return Value(expr.to_expr(), Kind.BOOLEAN, None, nullable)


def truth(op: ops.Node, argument: ops.Node, lower: Lower) -> Value:
    """An argument that has to be a truth value."""
    value = lower(argument)
    if value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(
            f"Expected a condition, got {value.kind.said} in {name_of(op)}.\nHint: compare it with something."
        )
    return value


def comparable(op: ops.Node, raw: list[Any], lower: Lower) -> list[Value]:
    """Arguments of one kind, so that no engine converts one of them; text beside a date is read as a date."""
    values = [lower(arg) for arg in raw]
    moments = {value.kind for value in values} & {Kind.DATE, Kind.TIMESTAMP}
    if len(moments) == 1:
        kind = moments.pop()
        values = [_as_moment(v, arg, kind) for v, arg in zip(values, raw, strict=True)]
    if any(value.kind is Kind.BOOLEAN for value in values) and any(value.kind.numeric for value in values):
        values = [integer(value) for value in values]
    return [isolated(value) for value in same_kind(values, name_of(op))]


def isolated(value: Value) -> Value:
    """A truth value inside a cast, for use as an operand.

    Ibis writes NOT, IS NULL, BETWEEN, IN and LIKE without the parentheses that they need inside of a comparison, so an
    engine would take ``(NOT b) IS NULL`` for ``NOT (b IS NULL)``.
    """
    if value.kind is not Kind.BOOLEAN or isinstance(value.expr.op(), ops.Field | ops.Literal):
        return value
    return replace(value, expr=cast(value.expr, Kind.BOOLEAN))


def _as_moment(value: Value, op: ops.Node, kind: Kind) -> Value:
    if value.kind is not Kind.TEXT or not isinstance(op, ops.Literal):
        return value
    try:
        moment = datetime.datetime.fromisoformat(str(op.value))
    except ValueError:
        raise InvalidQuery(
            f"Expected {kind.said} such as '2020-01-31', got {op.value!r}.\nHint: write it year-month-day."
        ) from None
    return constant(moment.date() if kind is Kind.DATE else moment)


def comparison(op: ops.Comparison, lower: Lower) -> Value:
    """==, !=, <, <=, >, >=."""
    left, right = comparable(op, [op.left, op.right], lower)
    return boolean(type(op)(left.expr, right.expr), nullable=left.nullable or right.nullable)


def same(op: ops.IdenticalTo, lower: Lower) -> Value:
    """Equality in which NULL equals NULL."""
    left, right = comparable(op, [op.left, op.right], lower)
    return boolean(ops.IdenticalTo(left.expr, right.expr), nullable=False)


def between(op: ops.Between, lower: Lower) -> Value:
    """low <= x <= high."""
    arg, low, high = comparable(op, [op.arg, op.lower_bound, op.upper_bound], lower)
    return boolean(ops.Between(arg.expr, low.expr, high.expr), nullable=any(v.nullable for v in (arg, low, high)))


def among(op: ops.InValues, lower: Lower) -> Value:
    """x in a list of constants."""
    if not all(isinstance(option, ops.Literal) for option in op.options):
        raise InvalidQuery(f"Expected a list of constants, got {name_of(op)}.\nHint: compare columns with == and |.")
    arg, *options = comparable(op, [op.value, *op.options], lower)
    return boolean(ops.InValues(arg.expr, tuple(option.expr for option in options)), nullable=arg.nullable)


def connective(op: ops.Binary, lower: Lower) -> Value:
    """& and |, with SQL's rules for NULL; ^ as !=, since it becomes an XOR beside them, which DuckDB does not know."""
    left, right = truth(op, op.left, lower), truth(op, op.right, lower)
    made = ops.NotEquals if isinstance(op, ops.Xor) else type(op)
    if made is ops.NotEquals:
        left, right = isolated(left), isolated(right)
    return boolean(made(left.expr, right.expr), nullable=left.nullable or right.nullable)


def negation(op: ops.Not, lower: Lower) -> Value:
    """NOT of a truth value."""
    value = truth(op, op.arg, lower)
    return boolean(ops.Not(value.expr), nullable=value.nullable)


def null_test(op: ops.Unary, lower: Lower) -> Value:
    """IS NULL and IS NOT NULL."""
    return boolean(type(op)(isolated(lower(op.arg)).expr), nullable=False)


def choice(op: ops.Node, values: list[Value], expr: ir.Value, *, nullable: bool) -> Value:
    """One of several values of a kind."""
    del op
    return Value(expr, values[0].kind, joined(values), nullable, capped=any(value.capped for value in values))


def coalesce(op: ops.Coalesce, lower: Lower) -> Value:
    """The first value that is not NULL; what .fill_null() makes."""
    values = comparable(op, list(op.arg), lower)
    expr = ops.Coalesce(tuple(value.expr for value in values)).to_expr()
    return choice(op, values, expr, nullable=all(value.nullable for value in values))


def null_if(op: ops.NullIf, lower: Lower) -> Value:
    """x, or NULL where it equals y."""
    arg, other = comparable(op, [op.arg, op.null_if_expr], lower)
    return choice(op, [arg], ops.NullIf(arg.expr, other.expr).to_expr(), nullable=True)


def is_null_literal(op: ops.Node) -> bool:
    """Whether an operation is NULL, in a cast or without."""
    while isinstance(op, ops.Cast):
        op = op.arg
    return isinstance(op, ops.Literal) and op.value is None


def branches(op: ops.Node, conditions: list[Value], results: list[Any], lower: Lower) -> Value:
    """The result of the first condition that holds; the last of `results` if none does."""
    known = [result for result in results if not is_null_literal(result)]
    if not known:
        raise InvalidQuery(
            f"Expected a result other than NULL, got {name_of(op)}.\nHint: give at least one branch a value."
        )
    values = comparable(op, known, lower)
    found = iter(values)
    exprs = [None if is_null_literal(result) else next(found).expr for result in results]
    nullable = len(known) < len(results) or any(value.nullable for value in values)
    pairs = [(c.expr, ibis.null() if e is None else e) for c, e in zip(conditions, exprs, strict=False)]
    return choice(op, values, ibis.cases(*pairs, else_=exprs[-1]), nullable=nullable)


def if_else(op: ops.IfElse, lower: Lower) -> Value:
    """One value where a condition holds, another where it does not or is NULL."""
    condition = truth(op, op.bool_expr, lower)
    return branches(op, [condition], [op.true_expr, op.false_null_expr], lower)


def searched_case(op: ops.SearchedCase, lower: Lower) -> Value:
    """CASE WHEN condition THEN result ... END."""
    conditions = [truth(op, case, lower) for case in op.cases]
    return branches(op, conditions, [*op.results, op.default], lower)


def simple_case(op: ops.SimpleCase, lower: Lower) -> Value:
    """CASE x WHEN constant THEN result ... END."""
    base, *cases = comparable(op, [op.base, *op.cases], lower)
    conditions = [boolean(ops.Equals(base.expr, case.expr), nullable=True) for case in cases]
    return branches(op, conditions, [*op.results, op.default], lower)


def conversion(op: ops.Cast, lower: Lower) -> Value:
    """The casts that cannot fail: to numbers that hold as much, integers to text, between dates and timestamps."""
    value, target = lower(op.arg), op.to
    if value.kind is Kind.BOOLEAN and target.is_integer():
        return integer(value)
    is_number = value.kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL)
    if is_number and target.is_floating() and _is_held(value, target):
        return real(integer(value))
    if value.kind is Kind.INTEGER and target.is_integer() and value.interval is not None:
        low, high = (
            (FULL_INTEGER.low, FULL_INTEGER.high) if target.is_int64() else (target.bounds.lower, target.bounds.upper)
        )
        if low <= value.interval.low and value.interval.high <= high:
            return value
    if value.kind is Kind.TEXT and target.is_string():
        return value
    if value.kind is Kind.INTEGER and target.is_string():
        return Value(cast(told_apart(value, name_of(op)).expr, Kind.TEXT), Kind.TEXT, None, value.nullable)
    if value.kind in (Kind.DATE, Kind.TIMESTAMP) and (target.is_date() or is_plain_timestamp(target)):
        kind = Kind.DATE if target.is_date() else Kind.TIMESTAMP
        return Value(cast(value.expr, kind), kind, None, value.nullable)
    raise InvalidQuery(
        f"Expected a cast that cannot fail, got {name_of(op)}, from {value.kind.value} to {target}.\n"
        "Hint: a failing cast would reveal that a row exists. Use .floor() or .round() for whole numbers, "
        ".try_cast() where a failure may be NULL, or declare the column's type in dp.protect(schema=...). Real numbers "
        "are float64."
    )


def _is_held(value: Value, target: dt.DataType) -> bool:
    """Whether a number is the same in a type of real numbers: 32-bit floats have all whole numbers up to 2**24."""
    ends = integer(value).interval
    if target.is_float64() or ends is None:
        return bool(target.is_float64())
    return ends.integer and max(-ends.low, ends.high) <= 2 ** (24 if target.is_float32() else 11)


def is_plain_timestamp(target: dt.DataType) -> bool:
    """Whether it is the type that timestamps have here: in UTC, to the microsecond."""
    return target.is_timestamp() and target.timezone in (None, "UTC") and target.scale in (None, 6)


RULES: dict[type[ops.Node], Rule] = {
    **dict.fromkeys((ops.Equals, ops.NotEquals, ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual), comparison),
    **dict.fromkeys((ops.And, ops.Or, ops.Xor), connective),
    **dict.fromkeys((ops.IsNull, ops.NotNull), null_test),
    ops.IdenticalTo: same,
    ops.Between: between,
    ops.InValues: among,
    ops.Not: negation,
    ops.Coalesce: coalesce,
    ops.NullIf: null_if,
    ops.IfElse: if_else,
    ops.SearchedCase: searched_case,
    ops.SimpleCase: simple_case,
    ops.Cast: conversion,
}

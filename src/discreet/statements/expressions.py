"""Row-wise SQL as Ibis: an allow-list of nodes, each with the parts that it may have.

What comes out is written in Ibis and means what DuckDB says of the SQL. Whether it is private is not decided here: the
verbs check every expression again, by the same rules as one that was written in Ibis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.annotations import ValidationError
from ibis.common.exceptions import IbisError
from sqlglot import exp

from discreet.sensitivity.intervals import LARGEST_INT, SMALLEST_INT
from discreet.statements.dates import MOMENTS, PARTS, UNITS, cut, part_of, taken, zoned
from discreet.statements.refused import refusal
from discreet.statements.scope import Scope

Build = Callable[[Any, Scope], ir.Value]


class Rule(NamedTuple):
    """How one class of nodes is written in Ibis, and which of its parts may be there."""

    build: Build
    parts: frozenset[str]


def row_wise(node: exp.Expression, scope: Scope) -> ir.Value:
    """A row-wise expression in Ibis; refuses whatever is not listed."""
    rule = RULES.get(type(node))
    if rule is None:
        raise refusal(node, scope.text)
    otherwise = scope.text.dialect.refusal(node)
    if otherwise is not None:
        raise scope.text.refusal(otherwise[0], node, otherwise[1])
    foreign = [name for name, part in node.args.items() if part and name not in rule.parts]
    if foreign:
        raise refusal(node, scope.text, part=foreign[0])
    try:
        return rule.build(node, scope)
    except (IbisError, ValidationError, TypeError):
        parts = [part for part in node.iter_expressions() if type(part) in RULES]
        types = " and ".join(dict.fromkeys(str(row_wise(part, scope).type()) for part in parts)) or "nothing"
        raise scope.text.refusal(
            f"values that go together (not {types})",
            node,
            "compare and combine like with like; text is in single quotes.",
        ) from None


def _takes(build: Build, *parts: str) -> Rule:
    return Rule(build, frozenset(parts))


def _binary(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(row_wise(node.this, scope), row_wise(node.expression, scope)).to_expr()

    return _takes(build, "this", "expression", *flags)


def _unary(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(row_wise(node.this, scope)).to_expr()

    return _takes(build, "this", *flags)


def _several(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(tuple(row_wise(part, scope) for part in (node.this, *node.expressions))).to_expr()

    return _takes(build, "this", "expressions", *flags)


# -- constants -------------------------------------------------------------------------------------


def number(node: exp.Expression) -> int | float | None:
    """The number that a node is; None where it is none."""
    if isinstance(node, exp.Paren):
        return number(node.this)
    if isinstance(node, exp.Neg):
        value = number(node.this)
        return None if value is None else -value
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return int(node.this) if node.this.replace("_", "").isdigit() else float(node.this)


def _number(node: exp.Expression, value: float, scope: Scope) -> ir.Value:
    if not math.isfinite(value) or (isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT):
        raise scope.text.refusal("numbers of at most 64 bits", node, "write a number that a column can hold.")
    return ibis.literal(value)


def _literal(node: exp.Literal, scope: Scope) -> ir.Value:
    value = number(node)
    if node.is_string and zoned(node.this) and node.parent is not None:
        beside = (one for one in node.parent.iter_expressions() if not isinstance(one, exp.Literal))
        if any(row_wise(one, scope).type().is_timestamp() for one in beside if type(one) in RULES):
            raise scope.text.refusal("a moment without a zone", node, "write it in UTC; engines pass over the zone.")
    return ibis.literal(str(node.this)) if value is None else _number(node, value, scope)


def _negated(node: exp.Neg, scope: Scope) -> ir.Value:
    value = number(node)
    return ops.Negate(row_wise(node.this, scope)).to_expr() if value is None else _number(node, value, scope)


def _null(node: exp.Null, scope: Scope) -> ir.Value:
    """NULL as the result of a branch; comparing with it, or adding to it, is never what was meant."""
    if not isinstance(node.parent, exp.Case | exp.If | None):
        raise scope.text.refusal("a value other than NULL", node, "test for it with IS NULL or IS NOT NULL.")
    return ibis.null()


def _whole(node: exp.Expression | None, scope: Scope, what: str, *, least: int) -> int:
    value = None if node is None else number(node)
    if node is None or not isinstance(value, int) or value < least:
        got = node if node is not None else exp.null()
        raise scope.text.refusal(f"{what} as a whole number of {least} or more", got, "write it as a number.")
    return value


# -- numbers ---------------------------------------------------------------------------------------


def _toward_zero(node: exp.IntDiv, scope: Scope) -> ir.Value:
    """Integers divided as DuckDB does: cut, not floored."""
    left, right = row_wise(node.this, scope), row_wise(node.expression, scope)
    if not (left.type().is_integer() and right.type().is_integer()) or _is_rounded(node):
        raise scope.text.refusal("whole numbers around //", node, "write FLOOR(x / y) or x / y.")
    return _cut(left / right)


def _is_rounded(node: exp.Expression) -> bool:
    """Whether something in it is a whole number for Ibis and a real one for SQL."""
    return node.find(exp.Floor, exp.Ceil, exp.Round) is not None


def _divided(node: exp.Div, scope: Scope) -> ir.Value:
    """The quotient; of two integers it is cut where the dialect says so."""
    left, right = row_wise(node.this, scope), row_wise(node.expression, scope)
    if not (node.args.get("typed") and left.type().is_integer() and right.type().is_integer()):
        return ops.Divide(left, right).to_expr()
    if _is_rounded(node):
        raise scope.text.refusal(
            "a division whose kind is plain", node, "write CAST(x AS DOUBLE PRECISION) / y, or FLOOR(x / y)."
        )
    return _cut(left / right)


def _cut(quotient: ir.Value) -> ir.Value:
    return ibis.ifelse(quotient < 0, quotient.ceil(), quotient.floor())


def _rounded(node: exp.Round, scope: Scope) -> ir.Value:
    """The nearest whole number, halves away from zero, as DuckDB does."""
    decimals = node.args.get("decimals")
    if decimals is not None and number(decimals) != 0:
        raise scope.text.refusal("ROUND to whole numbers", node, "round the released answer instead.")
    value = row_wise(node.this, scope)
    if value.type().is_integer():
        return value
    return ibis.ifelse(value < 0, (value - 0.5).ceil(), (value + 0.5).floor())


def _logarithm(node: exp.Log, scope: Scope) -> ir.Value:
    """LOG is of base 10 where no base is given, as DuckDB has it."""
    if node.expression is None:
        return ops.Log10(row_wise(node.this, scope)).to_expr()
    base = number(node.this)
    if base not in (2, 10):
        raise scope.text.refusal("a logarithm of base e, 2 or 10", node, "write LN(x) divided by a constant.")
    operation = ops.Log2 if base == 2 else ops.Log10
    return operation(row_wise(node.expression, scope)).to_expr()


def _power(node: exp.Pow, scope: Scope) -> ir.Value:
    exponent = _whole(node.expression, scope, "an exponent", least=1)
    return ops.Power(row_wise(node.this, scope), exponent).to_expr()


# -- truth values ----------------------------------------------------------------------------------


def _distinct_from(left: ir.Value, right: ir.Value) -> ops.Value:
    return ops.Not(ops.IdenticalTo(left, right))


def _is(node: exp.Is, scope: Scope) -> ir.Value:
    value = row_wise(node.this, scope)
    if isinstance(node.expression, exp.Null):
        return value.isnull()
    if isinstance(node.expression, exp.Boolean):
        return ops.IdenticalTo(value, bool(node.expression.this)).to_expr()
    raise refusal(node.expression, scope.text)


def _between(node: exp.Between, scope: Scope) -> ir.Value:
    value, low, high = (row_wise(node.args[part], scope) for part in ("this", "low", "high"))
    return ops.Between(value, low, high).to_expr()


def _in(node: exp.In, scope: Scope) -> ir.Value:
    if not node.expressions:
        raise scope.text.refusal("a list of constants", node, "write IN (1, 2).")
    options = tuple(row_wise(option, scope) for option in node.expressions)
    return ops.InValues(row_wise(node.this, scope), options).to_expr()


def _case(node: exp.Case, scope: Scope) -> ir.Value:
    conditions = tuple(row_wise(branch.this, scope) for branch in node.args["ifs"])
    results = tuple(row_wise(branch.args["true"], scope) for branch in node.args["ifs"])
    default = row_wise(node.args.get("default") or exp.null(), scope)
    if node.this is None:
        return ops.SearchedCase(conditions, results, default).to_expr()
    return ops.SimpleCase(row_wise(node.this, scope), conditions, results, default).to_expr()


def _if(node: exp.If, scope: Scope) -> ir.Value:
    default = row_wise(node.args.get("false") or exp.null(), scope)
    return ops.SearchedCase((row_wise(node.this, scope),), (row_wise(node.args["true"], scope),), default).to_expr()


# -- text ------------------------------------------------------------------------------------------


def _trimmed(node: exp.Trim, scope: Scope) -> ir.Value:
    side = {"LEADING": ops.LStrip, "TRAILING": ops.RStrip}.get(str(node.args.get("position")), ops.Strip)
    return side(row_wise(node.this, scope)).to_expr()


def _substring(node: exp.Substring, scope: Scope) -> ir.Value:
    start = _whole(node.args.get("start"), scope, "the first place", least=1)
    length = node.args.get("length")
    count = None if length is None else _whole(length, scope, "the length", least=0)
    return row_wise(node.this, scope).substr(start - 1, count)


def _left(node: exp.Left, scope: Scope) -> ir.Value:
    return row_wise(node.this, scope).substr(0, _whole(node.expression, scope, "the length", least=0))


# -- dates -----------------------------------------------------------------------------------------


def _extract(node: exp.Extract, scope: Scope) -> ir.Value:
    part = part_of(node.this.name)
    if part is None:
        raise scope.text.refusal(f"EXTRACT of {', '.join(PARTS)}", node, "take another part of the date.")
    return taken(part, row_wise(node.expression, scope), first_day=scope.text.dialect.first_day)


def _part(name: str) -> Rule:
    """A function that is called like the part it takes."""

    def build(node: Any, scope: Scope) -> ir.Value:
        inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
        return taken(name, row_wise(inner, scope), first_day=scope.text.dialect.first_day)

    return _takes(build, "this")


def _truncated(node: exp.TimestampTrunc, scope: Scope) -> ir.Value:
    unit = node.args["unit"].name.upper()
    if unit not in UNITS:
        raise scope.text.refusal(f"DATE_TRUNC to {', '.join(UNITS)}", node, "cut to another unit.")
    return cut(row_wise(node.this, scope), unit)


# -- casts -----------------------------------------------------------------------------------------

Type = exp.DataType.Type
CASTS: dict[Type, dt.DataType] = {
    Type.TINYINT: dt.int8,
    Type.SMALLINT: dt.int16,
    Type.INT: dt.int32,
    Type.BIGINT: dt.int64,
    Type.DOUBLE: dt.float64,
    Type.TEXT: dt.string,
    Type.VARCHAR: dt.string,
    Type.DATE: dt.date,
}
"""What CAST can turn a value into, as far as the language allows it."""


def _try_cast(node: exp.TryCast, scope: Scope) -> ir.Value:
    """A cast in a dialect whose casts give NULL where they fail; the language allows those that never do."""
    if not scope.text.dialect.casts_try:
        raise refusal(node, scope.text)
    return _cast(node, scope)


def _cast(node: exp.Cast | exp.TryCast, scope: Scope) -> ir.Value:
    to = node.to.this
    if to in MOMENTS and isinstance(node.this, exp.Literal) and node.this.is_string:
        try:
            return ibis.literal(MOMENTS[to](node.this.this))
        except ValueError:
            raise scope.text.refusal("a date", node, "write it year-month-day, DATE '2020-01-31'.") from None
    if to not in CASTS or node.to.expressions:
        known = ", ".join(kind.value for kind in CASTS)
        raise scope.text.refusal(f"a CAST to {known}", node, "use FLOOR or ROUND for whole numbers of real ones.")
    return ops.Cast(row_wise(node.this, scope), CASTS[to]).to_expr()


RULES: dict[type[exp.Expression], Rule] = {
    exp.Column: _takes(lambda node, scope: scope.column(node), "this", "table", "db"),
    exp.Paren: _takes(lambda node, scope: row_wise(node.this, scope), "this"),
    exp.Literal: _takes(_literal, "this", "is_string"),
    exp.Boolean: _takes(lambda node, _: ibis.literal(bool(node.this)), "this"),
    exp.Null: _takes(_null),
    exp.Add: _binary(ops.Add),
    exp.Sub: _binary(ops.Subtract),
    exp.Mul: _binary(ops.Multiply),
    exp.Div: _takes(_divided, "this", "expression", "typed", "safe"),
    exp.Mod: _binary(ops.Modulus),
    exp.IntDiv: _takes(_toward_zero, "this", "expression"),
    exp.Neg: _takes(_negated, "this"),
    exp.Pow: _takes(_power, "this", "expression"),
    exp.EQ: _binary(ops.Equals),
    exp.NEQ: _binary(ops.NotEquals),
    exp.LT: _binary(ops.Less),
    exp.LTE: _binary(ops.LessEqual),
    exp.GT: _binary(ops.Greater),
    exp.GTE: _binary(ops.GreaterEqual),
    exp.NullSafeEQ: _binary(ops.IdenticalTo),
    exp.NullSafeNEQ: _binary(_distinct_from),
    exp.And: _binary(ops.And),
    exp.Or: _binary(ops.Or),
    exp.Not: _unary(ops.Not),
    exp.Is: _takes(_is, "this", "expression"),
    exp.Between: _takes(_between, "this", "low", "high"),
    exp.In: _takes(_in, "this", "expressions"),
    exp.Case: _takes(_case, "this", "ifs", "default"),
    exp.If: _takes(_if, "this", "true", "false"),
    exp.Coalesce: _several(ops.Coalesce, "is_nvl", "is_null"),
    exp.Nullif: _binary(ops.NullIf),
    exp.Greatest: _several(ops.Greatest, "ignore_nulls"),
    exp.Least: _several(ops.Least, "ignore_nulls"),
    exp.Abs: _unary(ops.Abs),
    exp.Floor: _unary(ops.Floor),
    exp.Ceil: _unary(ops.Ceil),
    exp.Round: _takes(_rounded, "this", "decimals"),
    exp.Sqrt: _unary(ops.Sqrt),
    exp.Exp: _unary(ops.Exp),
    exp.Ln: _unary(ops.Ln),
    exp.Log: _takes(_logarithm, "this", "expression"),
    exp.Lower: _unary(ops.Lowercase),
    exp.Upper: _unary(ops.Uppercase),
    exp.Length: _unary(ops.StringLength),
    exp.Trim: _takes(_trimmed, "this", "position"),
    exp.Substring: _takes(_substring, "this", "start", "length"),
    exp.Left: _takes(_left, "this", "expression"),
    exp.DPipe: _binary(lambda left, right: ops.StringConcat((left, right)), "safe"),
    exp.Like: _binary(ops.StringSQLLike),
    exp.ILike: _binary(ops.StringSQLILike),
    exp.StartsWith: _binary(ops.StartsWith),
    exp.EndsWith: _binary(ops.EndsWith),
    exp.Contains: _binary(ops.StringContains),
    exp.Extract: _takes(_extract, "this", "expression"),
    exp.Year: _part("YEAR"),
    exp.Quarter: _part("QUARTER"),
    exp.Month: _part("MONTH"),
    exp.Week: _part("WEEK"),
    exp.WeekOfYear: _part("WEEK"),
    exp.Day: _part("DAY"),
    exp.DayOfMonth: _part("DAY"),
    exp.DayOfYear: _part("DOY"),
    exp.DayOfWeek: _part("DOW"),
    exp.DayOfWeekIso: _part("ISODOW"),
    exp.Hour: _part("HOUR"),
    exp.Minute: _part("MINUTE"),
    exp.Second: _part("SECOND"),
    exp.TimestampTrunc: _takes(_truncated, "this", "unit", "input_type_preserved"),
    exp.Cast: _takes(_cast, "this", "to"),
    exp.TryCast: _takes(_try_cast, "this", "to", "requires_string", "safe"),
}
"""Every row-wise node that a statement may have. docs/sql.md shows each; a test compares the two."""

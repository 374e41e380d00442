"""Translates row-wise SQL into Ibis, by an allow-list of nodes, each with the parts that it may have.

The result has DuckDB's meaning of the SQL. Whether it is private is not decided here: the verbs check every expression
again, by the same rules as one that was written in Ibis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.annotations import ValidationError
from ibis.common.exceptions import IbisError
from sqlglot import exp

from discreet.sensitivity.intervals import LARGEST_INT, SMALLEST_INT
from discreet.statements import answer_windows, casts, date_formats, date_functions, epochs, rounding, string_functions
from discreet.statements.constants import number_of, whole_number_of
from discreet.statements.refusals import refusal
from discreet.statements.scope import Scope

Build = Callable[[Any, Scope], ir.Value]


class Rule(NamedTuple):
    """How one class of nodes is translated into Ibis, and which parts it may have."""

    build: Build
    parts: frozenset[str]


def row_wise(node: exp.Expression, scope: Scope) -> ir.Value:
    """A row-wise expression in Ibis; refuses whatever is not listed."""
    known = scope.meanings.get(id(node))
    if known is not None:
        return known[1]
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
        found = rule.build(node, scope)
    except (IbisError, ValidationError, TypeError, AttributeError):  # the last: a method that a type lacks
        parts = [part for part in node.iter_expressions() if type(part) in RULES]
        types = " and ".join(dict.fromkeys(str(row_wise(part, scope).type()) for part in parts)) or "nothing"
        raise scope.text.refusal(
            f"values of compatible types (not {types})",
            node,
            "compare and combine values of one type; text is in single quotes.",
        ) from None
    scope.meanings[id(node)] = node, found
    return found


def _takes(build: Build, *parts: str) -> Rule:
    return Rule(build, frozenset(parts))


def _binary(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(row_wise(node.this, scope), row_wise(node.expression, scope)).to_expr()

    return _takes(build, "this", "expression", *flags)


def _comparison(operation: Callable[..., ops.Value]) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(*_comparable((node.this, node.expression), scope)).to_expr()

    return _takes(build, "this", "expression")


def _by(build: Callable[..., ir.Value], *parts: str) -> Rule:
    """A rule from another module, which is passed the function that translates operands."""
    return _takes(lambda node, scope: build(node, scope, row_wise), *parts)


def _unary(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(row_wise(node.this, scope)).to_expr()

    return _takes(build, "this", *flags)


def _several(operation: Callable[..., ops.Value], *flags: str) -> Rule:
    def build(node: Any, scope: Scope) -> ir.Value:
        return operation(tuple(row_wise(part, scope) for part in (node.this, *node.expressions))).to_expr()

    return _takes(build, "this", "expressions", *flags)


def _number(node: exp.Expression, value: float, scope: Scope) -> ir.Value:
    if not math.isfinite(value) or (isinstance(value, int) and not SMALLEST_INT <= value <= LARGEST_INT):
        raise scope.text.refusal("numbers of at most 64 bits", node, "write a number that a column can hold.")
    return ibis.literal(value)


def _literal(node: exp.Literal, scope: Scope) -> ir.Value:
    value = number_of(node)
    return ibis.literal(str(node.this)) if value is None else _number(node, value, scope)


def _comparable(nodes: Iterable[exp.Expression], scope: Scope) -> tuple[ir.Value, ...]:
    """Operands of a comparison; texts compared with dates or timestamps are read as those."""
    both = [(node.unnest(), row_wise(node, scope)) for node in nodes]  # type: ignore[no-untyped-call]  # sqlglot's own
    kinds = [value.type() for node, value in both if not isinstance(node, exp.Literal)]
    for node, _ in both:
        if isinstance(node, exp.Literal) and node.is_string:
            _check_time(node, kinds, scope)
    return date_functions.comparable(*(value for _, value in both))


def _check_time(node: exp.Literal, kinds: list[dt.DataType], scope: Scope) -> None:
    """Refuses a text, compared with dates or timestamps, that engines would read differently, or only in part."""
    has_moment = any(kind.is_timestamp() for kind in kinds)
    if has_moment and date_functions.has_zone(node.this):
        raise scope.text.refusal("a timestamp without a zone", node, "write it in UTC; engines ignore the zone.")
    has_day = any(kind.is_date() for kind in kinds)
    if (has_moment or has_day) and not date_functions.is_constant(node.this, is_day=has_day):
        what = "a date such as '2020-01-31'" if has_day else "a timestamp such as '2020-01-31 12:00:00'"
        raise scope.text.refusal(what, node, "write it year-month-day, with at most 6 digits of a second.")


def _negated(node: exp.Neg, scope: Scope) -> ir.Value:
    value = number_of(node)
    if value is not None:
        return _number(node, value, scope)
    inner = row_wise(node.this, scope)
    held = inner.op()
    if isinstance(held, ops.Literal) and type(held.value) in (int, float):  # -5::integer is one, too
        return ibis.literal(-held.value, inner.type())
    return ops.Negate(inner).to_expr()


def _null(node: exp.Null, scope: Scope) -> ir.Value:
    """NULL as the result of a branch; refused elsewhere, since comparing with it or adding to it is a mistake."""
    if not isinstance(node.parent, exp.Case | exp.If | None):
        raise scope.text.refusal("a value other than NULL", node, "test for it with IS NULL or IS NOT NULL.")
    return ibis.null()


def _toward_zero(node: exp.IntDiv, scope: Scope) -> ir.Value:
    """Integer division as in DuckDB: truncated, not floored."""
    left, right = row_wise(node.this, scope), row_wise(node.expression, scope)
    if not (left.type().is_integer() and right.type().is_integer()) or scope.text.is_unclear(node):
        raise scope.text.refusal("whole numbers around //", node, "write FLOOR(x / y) or x / y.")
    return casts.toward_zero(left / right)


def _divided(node: exp.Div, scope: Scope) -> ir.Value:
    """The quotient; that of two integers is truncated where the dialect does so."""
    left, right = row_wise(node.this, scope), row_wise(node.expression, scope)
    if not node.args.get("typed") or _is_real(node.this, scope) or _is_real(node.expression, scope):
        return ops.Divide(left, right).to_expr()
    if scope.text.is_unclear(node):
        cure = "write CAST(x AS DOUBLE PRECISION) / y, and FLOOR around it for whole numbers."
        raise scope.text.refusal("a division whose type is clear", node, cure)
    return casts.toward_zero(left / right)


def _remainder(node: exp.Mod, scope: Scope) -> ir.Value:
    if number_of(node.expression) == 0:
        raise scope.text.refusal("a divisor above zero", node, "write another one.")
    return ops.Modulus(row_wise(node.this, scope), row_wise(node.expression, scope)).to_expr()


def _is_real(node: exp.Expression, scope: Scope) -> bool:
    """Whether a number is certainly a real number in the dialect, too."""
    if isinstance(node, exp.Paren | exp.Neg):
        return _is_real(node.this, scope)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        return _is_real(node.this, scope) or _is_real(node.expression, scope)
    floating = row_wise(node, scope).type().is_floating()
    # EXTRACT gives decimals where it gives no whole numbers: of EPOCH alone is it a real number here, too.
    return floating and (isinstance(node, exp.Extract) or not scope.text.is_unclear(node))


def _logarithm(node: exp.Log, scope: Scope) -> ir.Value:
    """LOG, with base 10 where no base is given, as in DuckDB."""
    if node.expression is None:
        return ops.Log10(row_wise(node.this, scope)).to_expr()
    base = number_of(node.this)
    if base not in (2, 10):
        raise scope.text.refusal("a logarithm of base e, 2 or 10", node, "write LN(x) divided by a constant.")
    operation = ops.Log2 if base == 2 else ops.Log10
    return operation(row_wise(node.expression, scope)).to_expr()


def _power(node: exp.Pow, scope: Scope) -> ir.Value:
    exponent = whole_number_of(node.expression, scope, "an exponent", least=1)
    return ops.Power(row_wise(node.this, scope), exponent).to_expr()


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
    return ops.Between(*_comparable((node.args[part] for part in ("this", "low", "high")), scope)).to_expr()


def _in(node: exp.In, scope: Scope) -> ir.Value:
    if not node.expressions:
        raise scope.text.refusal("a list of constants", node, "write IN (1, 2).")
    value, *options = _comparable((node.this, *node.expressions), scope)
    return ops.InValues(value, tuple(options)).to_expr()


def _case(node: exp.Case, scope: Scope) -> ir.Value:
    conditions = tuple(row_wise(branch.this, scope) for branch in node.args["ifs"])
    results = tuple(row_wise(branch.args["true"], scope) for branch in node.args["ifs"])
    default = row_wise(node.args.get("default") or exp.null(), scope)
    if node.this is None:
        return ops.SearchedCase(conditions, results, default).to_expr()
    _comparable((node.this, *(branch.this for branch in node.args["ifs"])), scope)
    return ops.SimpleCase(row_wise(node.this, scope), conditions, results, default).to_expr()


def _if(node: exp.If, scope: Scope) -> ir.Value:
    default = row_wise(node.args.get("false") or exp.null(), scope)
    return ops.SearchedCase((row_wise(node.this, scope),), (row_wise(node.args["true"], scope),), default).to_expr()


def _nvl2(node: exp.Nvl2, scope: Scope) -> ir.Value:
    """NVL2: one value where the first is not NULL, another where it is."""
    value, present, absent = (row_wise(node.args[part], scope) for part in ("this", "true", "false"))
    return ops.SearchedCase((value.notnull(),), (present,), absent).to_expr()


def _subtracted(date: exp.Expression, step: exp.Expression) -> exp.Expression:
    same: exp.Expression = exp.DateSub(this=date, expression=step)  # type: ignore[no-untyped-call]  # sqlglot's own
    return same


def _elapsed(unit: exp.Expression, first: exp.Expression, last: exp.Expression) -> exp.Expression:
    same: exp.Expression = exp.TimestampDiff(this=last, expression=first, unit=exp.Var(this=unit.name))  # type: ignore[no-untyped-call]  # sqlglot's own
    return same


NAMED: dict[tuple[str, int], Callable[..., exp.Expression]] = {
    ("BTRIM", 1): lambda x: exp.Trim(this=x),
    ("DATE_PART", 2): lambda part, x: exp.Extract(this=exp.Var(this=part.name), expression=x),
    ("DATEPART", 2): lambda part, x: exp.Extract(this=exp.Var(this=part.name), expression=x),
    ("DATE_SUB", 2): _subtracted,
    ("DATE_SUB", 3): _elapsed,
    ("DATESUB", 3): _elapsed,
    ("DATE_SUBTRACT", 2): _subtracted,
    ("ISNULL", 1): lambda x: exp.Is(this=x, expression=exp.null()),
    ("ISNOTNULL", 1): lambda x: exp.Not(this=exp.Is(this=x, expression=exp.null())),
    ("PREFIX", 2): lambda x, start: exp.StartsWith(this=x, expression=start),
    ("SUFFIX", 2): lambda x, end: exp.EndsWith(this=x, expression=end),
}
"""Their equivalents, by name and number of arguments."""


def _named(node: exp.Anonymous, scope: Scope) -> ir.Value:
    if node.name.upper() == scope.text.dialect.formatter and len(node.expressions) == 2:
        return date_formats.formatted(node, scope, row_wise)
    meant = NAMED.get((node.name.upper(), len(node.expressions)))
    if meant is None:
        raise refusal(node, scope.text)
    same = meant(*(part.copy() for part in node.expressions))
    same.parent = node.parent
    return row_wise(same, scope)


RULES: dict[type[exp.Expression], Rule] = {
    exp.Column: _takes(lambda node, scope: scope.column(node), "this", "table", "db"),
    exp.Paren: _takes(lambda node, scope: row_wise(node.this, scope), "this"),
    exp.Literal: _takes(_literal, "this", "is_string"),
    exp.Boolean: _takes(lambda node, _: ibis.literal(bool(node.this)), "this"),
    exp.Null: _takes(_null),
    exp.Add: _by(date_functions.added, "this", "expression"),
    exp.Sub: _by(date_functions.added, "this", "expression"),
    exp.Mul: _binary(ops.Multiply),
    exp.Div: _takes(_divided, "this", "expression", "typed", "safe"),
    exp.Mod: _takes(_remainder, "this", "expression"),
    exp.IntDiv: _takes(_toward_zero, "this", "expression"),
    exp.Neg: _takes(_negated, "this"),
    exp.Pow: _takes(_power, "this", "expression"),
    exp.EQ: _comparison(ops.Equals),
    exp.NEQ: _comparison(ops.NotEquals),
    exp.LT: _comparison(ops.Less),
    exp.LTE: _comparison(ops.LessEqual),
    exp.GT: _comparison(ops.Greater),
    exp.GTE: _comparison(ops.GreaterEqual),
    exp.NullSafeEQ: _comparison(ops.IdenticalTo),
    exp.NullSafeNEQ: _comparison(_distinct_from),
    exp.And: _binary(ops.And),
    exp.Or: _binary(ops.Or),
    exp.Not: _unary(ops.Not),
    exp.Is: _takes(_is, "this", "expression"),
    exp.Between: _takes(_between, "this", "low", "high"),
    exp.In: _takes(_in, "this", "expressions"),
    exp.Case: _takes(_case, "this", "ifs", "default"),
    exp.If: _takes(_if, "this", "true", "false"),
    exp.Coalesce: _several(ops.Coalesce, "is_nvl", "is_null"),
    exp.Nullif: _comparison(ops.NullIf),
    exp.Nvl2: _takes(_nvl2, "this", "true", "false"),
    exp.Greatest: _several(ops.Greatest, "ignore_nulls"),
    exp.Least: _several(ops.Least, "ignore_nulls"),
    exp.Abs: _unary(ops.Abs),
    exp.Floor: _unary(ops.Floor),
    exp.Ceil: _unary(ops.Ceil),
    exp.Round: _by(rounding.rounded, "this", "decimals"),
    exp.Trunc: _by(rounding.rounded, "this", "decimals"),
    exp.Sign: _unary(ops.Sign),
    exp.Sqrt: _unary(ops.Sqrt),
    exp.Exp: _unary(ops.Exp),
    exp.Ln: _unary(ops.Ln),
    exp.Log: _takes(_logarithm, "this", "expression"),
    exp.Lower: _unary(ops.Lowercase),
    exp.Upper: _unary(ops.Uppercase),
    exp.Length: _unary(ops.StringLength),
    exp.Trim: _by(string_functions.trimmed, "this", "position"),
    exp.Substring: _by(string_functions.substring, "this", "start", "length"),
    exp.Left: _by(string_functions.left, "this", "expression"),
    exp.Right: _by(string_functions.right, "this", "expression"),
    exp.Replace: _by(string_functions.replaced, "this", "expression", "replacement"),
    exp.StrPosition: _by(string_functions.position, "this", "substr"),
    exp.Pad: _by(string_functions.padded, "this", "expression", "fill_pattern", "is_left"),
    exp.Repeat: _by(string_functions.repeated, "this", "times"),
    exp.Reverse: _unary(ops.Reverse),
    exp.SplitPart: _by(string_functions.part, "this", "delimiter", "part_index"),
    exp.Escape: _by(string_functions.escaped, "this", "expression"),
    exp.DPipe: _by(string_functions.piped, "this", "expression", "safe"),
    exp.Concat: _by(string_functions.concatenated, "expressions", "safe", "coalesce"),
    exp.ConcatWs: _by(string_functions.separated, "expressions", "safe", "coalesce"),
    exp.Like: _binary(ops.StringSQLLike),
    exp.ILike: _binary(ops.StringSQLILike),
    exp.StartsWith: _binary(ops.StartsWith),
    exp.EndsWith: _binary(ops.EndsWith),
    exp.Contains: _binary(ops.StringContains),
    exp.Window: _by(answer_windows.windowed, *answer_windows.PARTS),
    exp.Extract: _by(epochs.extracted, "this", "expression"),
    exp.TimeToUnix: _by(epochs.epoch, "this"),
    exp.UnixSeconds: _by(epochs.unix_seconds, "this"),
    exp.StrToUnix: _by(epochs.unix_timestamp, "this", "format"),
    exp.UnixDate: _by(epochs.unix_date, "this"),
    **{kind: _by(date_functions.part_function(part), "this") for kind, part in date_functions.PART_FUNCTIONS.items()},
    exp.TimestampTrunc: _by(date_functions.truncated, "this", "unit", "input_type_preserved"),
    exp.DateTrunc: _by(date_functions.truncated, "this", "unit"),
    exp.DateAdd: _by(date_functions.added_to, "this", "expression"),
    exp.DateDiff: _by(date_functions.difference, "this", "expression", "unit"),
    exp.LastDay: _by(date_functions.last_day, "this"),
    exp.Dayname: _by(date_functions.name_of_part, "this"),
    exp.Monthname: _by(date_functions.name_of_part, "this"),
    exp.TsOrDsAdd: _by(date_functions.days_added, "this", "expression", "unit"),
    exp.AddMonths: _by(date_functions.days_added, "this", "expression"),
    exp.TimestampAdd: _by(date_functions.moved, "this", "expression", "unit"),
    exp.TimestampDiff: _by(epochs.elapsed, "this", "expression", "unit"),
    exp.DateSub: _by(date_functions.subtracted, "this", "expression"),
    exp.Date: _by(date_functions.day, "this"),
    exp.TsOrDsToDate: _by(date_functions.day, "this", "safe"),
    exp.Anonymous: _takes(_named, "this", "expressions"),
    exp.Cast: _by(casts.cast, "this", "to"),
    exp.TryCast: _by(casts.try_cast, "this", "to", "requires_string", "safe"),
}
"""Every row-wise node that a statement may have. docs/sql.md shows each; a test compares the two."""

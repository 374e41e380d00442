"""Expressions as an analyst writes them, in Ibis without its `_.`: `age > 50`, not `Greater(age, 50)`."""

from __future__ import annotations

import datetime
import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.deferred import Deferred

from discreet.errors import AS_WRITTEN, TEXTS
from discreet.language.literals import held_in

LONGEST = 80
DEEPEST = 40
"""Of operations within each other."""

MOST_LISTED = 8

Pieces = Iterator[str]

COMPARES, OR, XOR, AND, ADDS, MULTIPLIES, NEGATES, RAISES, ATOM = range(9)
"""How tightly operators of Python bind, from the loosest on."""


class Operator(NamedTuple):
    """An operator between its operands."""

    sign: str
    binds: int


INFIX: Mapping[type[ops.Node], Operator] = {
    ops.Greater: Operator(">", COMPARES),
    ops.GreaterEqual: Operator(">=", COMPARES),
    ops.Less: Operator("<", COMPARES),
    ops.LessEqual: Operator("<=", COMPARES),
    ops.Equals: Operator("==", COMPARES),
    ops.NotEquals: Operator("!=", COMPARES),
    ops.Or: Operator("|", OR),
    ops.Xor: Operator("^", XOR),
    ops.And: Operator("&", AND),
    **dict.fromkeys((ops.Add, ops.DateAdd, ops.TimestampAdd), Operator("+", ADDS)),
    **dict.fromkeys((ops.Subtract, ops.DateSub, ops.TimestampSub), Operator("-", ADDS)),
    **dict.fromkeys((ops.DateDiff, ops.TimestampDiff), Operator("-", ADDS)),
    ops.Multiply: Operator("*", MULTIPLIES),
    ops.Divide: Operator("/", MULTIPLIES),
    ops.FloorDivide: Operator("//", MULTIPLIES),
    ops.Modulus: Operator("%", MULTIPLIES),
    ops.Power: Operator("**", RAISES),
}
PREFIX: Mapping[type[ops.Node], str] = {ops.Not: "~", ops.Negate: "-"}

METHODS: Mapping[type[ops.Node], str] = {
    ops.Lowercase: "lower",
    ops.Uppercase: "upper",
    ops.StartsWith: "startswith",
    ops.EndsWith: "endswith",
    ops.StringSQLLike: "like",
    ops.StringSQLILike: "ilike",
    ops.StringLength: "length",
    ops.StringContains: "contains",
    ops.StringReplace: "replace",
    ops.StringFind: "find",
    ops.StringSplit: "split",
    ops.Substring: "substr",
    ops.StrRight: "right",
    ops.IsNull: "isnull",
    ops.NotNull: "notnull",
    ops.IsNan: "isnan",
    ops.IsInf: "isinf",
    ops.NullIf: "nullif",
    ops.DateTruncate: "truncate",
    ops.TimestampTruncate: "truncate",
    ops.DayOfWeekIndex: "day_of_week.index",
    ops.DayOfWeekName: "day_of_week.full_name",
    ops.Variance: "var",
    ops.StandardDev: "std",
    ops.Covariance: "cov",
    ops.Correlation: "corr",
    ops.CountDistinct: "nunique",
    ops.MultiQuantile: "quantile",
    ops.RegexSearch: "re_search",
    ops.RegexExtract: "re_extract",
    ops.RegexReplace: "re_replace",
    ops.NthValue: "nth",
    ops.ApproxCountDistinct: "approx_nunique",
}
"""Methods that Ibis calls otherwise than its operations; those of all others have the names of these."""

FUNCTIONS: Mapping[type[ops.Node], str] = {
    ops.RowNumber: "ibis.row_number",
    ops.MinRank: "ibis.rank",
    ops.DenseRank: "ibis.dense_rank",
    ops.PercentRank: "ibis.percent_rank",
    ops.CumeDist: "ibis.cume_dist",
    ops.NTile: "ibis.ntile",
    ops.Greatest: "ibis.greatest",
    ops.Least: "ibis.least",
    ops.IfElse: "ibis.ifelse",
    ops.RandomScalar: "ibis.random",
    ops.RandomUUID: "ibis.uuid",
    ops.TimestampNow: "ibis.now",
    ops.DateNow: "ibis.today",
}

UNITS = {"Y": "years", "Q": "quarters", "M": "months", "W": "weeks", "D": "days"}
UNITS |= {"h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
"""Arguments of `ibis.interval`, by the short names of their units."""

OTHERWISE: Mapping[str, object] = {
    "how": "sample",
    "closed": "left",
    "close_extreme": True,
    "order_by": (),
    "digits": 0,
    **dict.fromkeys(("include_under", "include_over", "include_null"), False),
}
"""What arguments are that nobody wrote."""


def expression_text(op: ops.Node) -> str:
    """An operation about as it was written, in one line of at most 80 characters.

    >>> import ibis
    >>> t = ibis.table({"age": "int64", "plan": "string"}, name="people")
    >>> expression_text(((t.age > 50) & ~t.plan.upper().isin(["A", "B"])).op())
    "(age > 50) & ~plan.upper().isin(['A', 'B'])"
    """
    while isinstance(op, ops.Alias):
        op = op.arg
    if isinstance(op, ops.Field):
        return str(op.name)
    text = ""
    for piece in _written(op, DEEPEST):
        text += piece
        if len(text) > LONGEST:
            return f"{text[: LONGEST - 3]}..."
    return text


def _written(op: ops.Node, deep: int) -> Pieces:
    """The pieces of a text, from the left; of a doubled expression, which has no end, no more than are asked for."""
    if not deep:
        yield "..."
    elif not isinstance(op, ops.Value | ops.SortKey):
        yield "a table"
    elif type(op) in INFIX or (isinstance(op, ops.StringConcat) and len(op.arg) == 2):
        yield from _infix(op, deep)
    elif type(op) in PREFIX:
        yield PREFIX[type(op)]
        yield from _part(op.args[0], deep, NEGATES, apart=isinstance(op, ops.Negate))
    elif type(op) in SPECIAL:
        yield from SPECIAL[type(op)](op, deep)
    elif type(op) in FUNCTIONS or isinstance(op, ops.ScalarUDF) or not isinstance(next(iter(op.args), None), ops.Value):
        own = op.__func_name__ if isinstance(op, ops.ScalarUDF) else type(op).__name__
        name = FUNCTIONS.get(type(op)) or _snake(own)
        yield from _call(name, [(None, one) for one in _flat(op)], deep)
    else:
        yield from _method(op, deep)


def _infix(op: Any, deep: int) -> Pieces:
    sign, binds = INFIX.get(type(op), Operator("+", ADDS))
    left, right = op.arg if isinstance(op, ops.StringConcat) else (op.left, op.right)
    if isinstance(left, ops.Literal) and isinstance(right, ops.Literal):
        yield from _part(left, deep, ATOM)
    else:
        yield from _part(left, deep, binds, apart=binds in (COMPARES, RAISES))
    yield f" {sign} "
    yield from _part(right, deep, binds, apart=binds != RAISES)


def _part(op: ops.Node, deep: int, binds: int, *, apart: bool = False) -> Pieces:
    """An operand, in parentheses where it binds less tightly than what it is in; `apart`, where it binds as tightly."""
    while isinstance(op, ops.Alias) or (isinstance(op, ops.Cast) and isinstance(op.arg, ops.Literal)):
        op = op.arg
    own = _binds(op)
    # Python needs none for & beside |; people do.
    mixed = OR <= binds < own <= AND
    if binds == ATOM and _is_plain(op):
        yield from _call("ibis.literal", [(None, op)], deep)
    elif own < binds or (apart and own == binds) or mixed:
        yield "("
        yield from _written(op, deep - 1)
        yield ")"
    else:
        yield from _written(op, deep - 1)


def _is_plain(op: ops.Node) -> bool:
    """Whether Python has the constant, which then has no method of Ibis."""
    plain = isinstance(op, ops.Literal) and isinstance(op.value, bool | int | float | str)
    return plain and not op.dtype.is_interval()


def _binds(op: Any) -> int:
    if isinstance(op, ops.StringConcat) and len(op.arg) == 2:
        return ADDS
    if _is_plain(op) and not isinstance(op.value, str):
        return NEGATES if str(op.value).startswith("-") else ATOM  # so is -0.0, which is not below 0
    return NEGATES if type(op) in PREFIX else INFIX[type(op)].binds if type(op) in INFIX else ATOM


def _call(name: str, arguments: list[tuple[str | None, Any]], deep: int) -> Pieces:
    """A call, with its arguments by place or by name."""
    yield f"{name}("
    for i, (called, value) in enumerate(arguments):
        yield ", " if i else ""
        yield f"{called}=" if called else ""
        yield from _argument(value, deep)
    yield ")"


def _argument(value: Any, deep: int) -> Pieces:
    if isinstance(value, ops.Node):
        yield from _written(value, deep - 1)
    elif isinstance(value, tuple | list):
        yield "["
        for i, one in enumerate(value[:MOST_LISTED]):
            yield ", " if i else ""
            yield from _argument(one, deep)
        yield ", ...]" if len(value) > MOST_LISTED else "]"
    elif isinstance(value, dt.DataType):
        yield repr(str(value.copy(nullable=True)))
    elif isinstance(value, Enum):
        yield repr(value.value)
    else:
        yield repr(value) if isinstance(value, bool | int | float | str) else type(value).__name__


def _snake(name: str) -> str:
    """The name of an operation as that of its method.

    >>> _snake("ExtractYear"), _snake("IdenticalTo")
    ('year', 'identical_to')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removeprefix("extract_")


def _flat(op: ops.Node) -> list[Any]:
    """All arguments of a function, those of any number one by one."""
    only = op.args[0] if len(op.args) == 1 else None
    return list(only if isinstance(only, tuple) else op.args)


def _method(op: Any, deep: int) -> Pieces:
    """A method of the first argument; the others by name after one that was left out."""
    first, *others = zip(op.__argnames__, op.args, strict=True)
    yield from _part(first[1], deep, ATOM)
    stated: list[tuple[str | None, Any]] = []
    missed = False
    for name, value in others:
        plain = value.value if isinstance(value, ops.Literal) else value
        if plain is None or (name in OTHERWISE and plain == OTHERWISE[name]):
            missed = True
        else:
            by_name = missed or name == "where" or (name in OTHERWISE and name != "digits")
            stated.append((name if by_name else None, value))
    yield from _call(f".{METHODS.get(type(op)) or _snake(type(op).__name__)}", stated, deep)


def _literal(op: ops.Literal, deep: int) -> Pieces:
    value = op.value
    if value is None:
        yield "ibis.null()"
    elif op.dtype.is_interval():
        yield f"ibis.interval({UNITS[op.dtype.unit.short]}={value})"
    elif isinstance(value, datetime.datetime):
        yield f"ibis.timestamp({value.isoformat(sep=' ')!r})"
    elif isinstance(value, datetime.date):
        yield f"ibis.date({value.isoformat()!r})"
    elif isinstance(value, tuple):
        yield from _argument(value, deep)
    else:
        yield repr(value) if isinstance(value, bool | int | float | str) else str(value)


def _field(op: ops.Field, _: int) -> Pieces:
    plain = op.name.isidentifier() and not keyword.iskeyword(op.name)
    yield str(op.name) if plain else f"_[{op.name!r}]"


def _cast(op: ops.Cast, deep: int) -> Pieces:
    """A constant without the type that checking gave it."""
    yield from _written(op.arg, deep) if isinstance(op.arg, ops.Literal) else _method(op, deep)


def _among(op: ops.InValues, deep: int) -> Pieces:
    yield from _part(op.value, deep, ATOM)
    yield from _call(".isin", [(None, op.options)], deep)


def _filled(op: ops.Coalesce, deep: int) -> Pieces:
    first, *others = op.arg
    if len(others) != 1:
        yield from _call("ibis.coalesce", [(None, one) for one in op.arg], deep)
        return
    yield from _part(first, deep, ATOM)
    yield from _call(".fill_null", [(None, others[0])], deep)


def _joined(op: ops.StringConcat, deep: int) -> Pieces:
    first, *others = op.arg
    yield from _part(first, deep, ATOM)
    yield from _call(".concat", [(None, one) for one in others], deep)


def _cases(op: ops.SearchedCase | ops.SimpleCase, deep: int) -> Pieces:
    if isinstance(op, ops.SimpleCase):
        yield from _part(op.base, deep, ATOM)
        yield ".cases("
    else:
        yield "ibis.cases("
    for i, (case, result) in enumerate(zip(op.cases, op.results, strict=True)):
        yield ", (" if i else "("
        yield from _written(case, deep - 1)
        yield ", "
        yield from _written(result, deep - 1)
        yield ")"
    if not (isinstance(op.default, ops.Literal) and op.default.value is None):
        yield ", else_="
        yield from _written(op.default, deep - 1)
    yield ")"


def _taken(op: ops.ArrayIndex | ops.StringSlice, deep: int) -> Pieces:
    yield from _part(op.arg, deep, ATOM)
    yield "["
    for i, place in enumerate(op.args[1:]):
        yield ":" if i else ""
        yield from _written(place, deep - 1) if place is not None else ""
    yield "]"


def _delta(op: ops.DateDelta | ops.TimestampDelta, deep: int) -> Pieces:
    yield from _part(op.left, deep, ATOM)
    yield from _call(".delta", [(None, op.right), ("unit", op.part)], deep)


def _rows(op: ops.CountStar, deep: int) -> Pieces:
    yield from _call("count", [] if op.where is None else [("where", op.where)], deep)


def _window(op: ops.WindowFunction, deep: int) -> Pieces:
    yield from _part(op.func, deep, ATOM)
    if op.start is not None or op.end is not None:
        yield ".over(...)"
        return
    stated = [("group_by", op.group_by), ("order_by", op.order_by)]
    yield from _call(".over", [(name, value) for name, value in stated if value], deep)


def _sorted(op: ops.SortKey, deep: int) -> Pieces:
    yield from _part(op.arg, deep, ATOM) if op.descending else _written(op.arg, deep)
    yield ".desc()" if op.descending else ""


def _deferred(written: Deferred) -> str:
    """What was written with `_`, where it holds no array and no frame, which would show its rows."""
    plain = (*AS_WRITTEN, type, FunctionType, BuiltinFunctionType)
    return repr(written) if all(isinstance(one, plain) for one in held_in(written)) else "an expression"


TEXTS[ir.Value] = lambda value: expression_text(value.op())
TEXTS[Deferred] = _deferred

SPECIAL: Mapping[type[ops.Node], Callable[[Any, int], Pieces]] = {
    ops.Field: _field,
    ops.Literal: _literal,
    ops.Alias: lambda op, deep: _written(op.arg, deep),
    ops.Cast: _cast,
    ops.InValues: _among,
    ops.Coalesce: _filled,
    ops.StringConcat: _joined,
    **dict.fromkeys((ops.SearchedCase, ops.SimpleCase), _cases),
    **dict.fromkeys((ops.ArrayIndex, ops.StringSlice), _taken),
    **dict.fromkeys((ops.DateDelta, ops.TimestampDelta), _delta),
    ops.CountStar: _rows,
    ops.WindowFunction: _window,
    ops.SortKey: _sorted,
}
"""Operations that are neither an operator nor a plain method or function."""

"""Expressions as parts of a document, node by node, by the same list of operations as the language; and back.

Claim
    What `read_expression` returns is made of the listed operations over the columns of one table. What
    `expression_document` returns is ready for JSON, says all of an expression that its check and its meaning depend
    on, and nothing of how it was spelled.
Requires
    Expressions that were bound to a table; parts of a document within its limits.
Relies on
    `language.allow_list` for what an expression means: what is read is checked like any other, in the verb that takes
    it.
Proof
    Both go through the tree once, by `NAMES`. A column is its name, whatever table of the chain it was written over,
    since a chain has one column of a name. Names that an expression was given are left out; so are the types that Ibis
    gave to constants before the noise, where the language has types of its own.
Rounding
    Decimal constants of a query become doubles, as in the language.
Source
    None.
Mutant
    constants-lose-their-point: 1.0 is written as 1; killed by test_whole_numbers_and_reals_stay_apart.
    operations-named-like-constants: the date of a moment is named as a date is; killed by
    test_every_operation_has_a_document.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import DiscreetError, InvalidQuery, expected
from discreet.language.allow_list import DEEPEST, RULES, too_deep
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import LEAF, Measure
from discreet.language.public_bins import MOST_BINS
from discreet.planning.aggregates import WRITTEN
from discreet.query.document_parts import DocumentPart
from discreet.query.unit_features import MAKERS
from discreet.query.window_documents import RANKS_AND_NEIGHBORS, WINDOW, read_window, window_part

SPELLED: dict[type[ops.Node], str] = {
    ops.Date: "date_of",
    ops.StringSQLLike: "like",
    ops.StringSQLILike: "ilike",
    ops.LStrip: "lstrip",
    ops.RStrip: "rstrip",
}
"""Names that are not Ibis's: shorter ones, and one that no constant has, `{"date": "2020-01-31"}`."""


def _snake(operation: type[ops.Node]) -> str:
    return SPELLED.get(operation) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation.__name__).lower()


OPERATIONS: dict[str, type[ops.Node]] = {_snake(one): one for one in (*RULES, ops.StringSplit, *WRITTEN, *MAKERS)}
"""Every operation that a document can name: those of the language, one that is part of another, those of `.agg` and of
`.per_unit`.
"""
NAMES = {operation: name for name, operation in OPERATIONS.items()}
AFTER_OPERATIONS: dict[str, type[ops.Node]] = {
    _snake(one): one
    for one in (
        *RANKS_AND_NEIGHBORS,
        *(ops.Sin, ops.Cos, ops.Tan, ops.Cot, ops.Asin, ops.Acos, ops.Atan, ops.Atan2, ops.Degrees, ops.Radians),
        *(ops.IsNan, ops.IsInf),
    )
}
"""Operations that only calculations with an answer have."""
AFTER_NAMES = {operation: name for name, operation in AFTER_OPERATIONS.items()}
GROWING = (ops.StringConcat, ops.StringReplace)
"""Not after the noise, where nothing limits how long a text becomes."""
PLAIN = frozenset(
    {
        *("to", "unit", "how", "escape", "place", "closed", "close_extreme", "include_under", "include_over"),
        *("buckets", "include_null"),
    }
)
"""Arguments that are no expressions."""
TYPES: dict[str, dt.DataType] = {
    str(dtype): dtype
    for dtype in (
        *(dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64),
        *(dt.float32, dt.float64, dt.boolean, dt.string, dt.date, dt.null),
        *(dt.Timestamp(scale=scale, timezone=zone) for scale in (None, 0, 3, 6, 9) for zone in (None, "UTC")),
    )
}
"""The types that a document can name."""
MOST_OPERANDS: dict[type[ops.Node], int] = dict.fromkeys((ops.InValues, ops.SearchedCase, ops.SimpleCase), 1000)
FEW_OPERANDS = 100
"""Of other operations: checking them takes the square of their number."""
LISTING = frozenset(NAMES[operation] for operation in MOST_OPERANDS)
MOST_LISTED = 10_000
"""Values of all these lists together: each is checked and compiled in about half a millisecond."""
CONSTANTS = ("real", "date", "timestamp", "interval", "decimal", "list", "typed", "null")
"""Constants that are no plain value of JSON."""

Columns = Callable[[str], ir.Value]
"""Finds a column by its name, or refuses the name."""


def expression_document(op: ops.Node, *, after: bool = False) -> Any:
    """An expression as a part of a document; `after` the noise, where the types of constants matter."""
    while isinstance(op, ops.Alias):
        op = op.arg
    if isinstance(op, ops.Field):
        return {"column": op.name}
    if isinstance(op, ops.Literal):
        return constant_part(op, after=after)
    if after and isinstance(op, ops.WindowFunction):
        return {WINDOW: window_part(op, lambda part: expression_document(part, after=True))}
    name = NAMES.get(type(op)) or (AFTER_NAMES.get(type(op)) if after else None)
    if name is None or (after and isinstance(op, GROWING)):
        cure = (
            "leave it out; calculate with the released answer." if after else "discreet docs documents has all of them."
        )
        raise InvalidQuery(f"Expected operations that a document has, got {name_of(op)}.\nHint: {cure}")
    arguments = [_argument(op.args[i], after=after) for i in _places(type(op)).values()]
    while arguments and arguments[-1] is None:
        arguments.pop()
    return {name: arguments}


def _places(operation: type[ops.Node]) -> Mapping[str, int]:
    """Where the arguments of an operation stand that a document has: all but the rows that are counted."""
    names = enumerate(operation.__argnames__)
    return {name: i for i, name in names if not (operation is ops.CountStar and name == "arg")}


def _argument(value: Any, *, after: bool) -> Any:
    if isinstance(value, ops.Node):
        return expression_document(value, after=after)
    if isinstance(value, tuple):
        return [_argument(one, after=after) for one in value]
    if isinstance(value, dt.DataType):
        return type_name(value)
    if isinstance(value, Enum):
        return value.value
    return real_part(value) if isinstance(value, float) else value


def type_name(dtype: dt.DataType) -> str:
    """The name of a type, one of `TYPES`."""
    name = str(dtype.copy(nullable=True))
    if name not in TYPES:
        raise InvalidQuery(expected("a type that a document has", "type", name, f"they are {', '.join(TYPES)}."))
    return name


def real_part(value: float) -> Any:
    """A real number: as it is, or as text where JSON would take it for a whole number or has none."""
    if math.isnan(value):
        raise InvalidQuery(expected("numbers", "constant", value, "NULL is ibis.null()."))
    return {"real": repr(value)} if math.isinf(value) or value.is_integer() else value


def moment_part(value: datetime.date) -> Any:
    """A date or a time, in UTC without a zone."""
    if isinstance(value, datetime.datetime):
        zone = value.utcoffset() or datetime.timedelta(0)
        return {"timestamp": (value.replace(tzinfo=None) - zone).isoformat()}
    return {"date": value.isoformat()}


def constant_part(op: ops.Literal, *, after: bool) -> Any:
    """A constant."""
    value, dtype = op.value, op.dtype
    if value is None:
        return {"null": True}
    if dtype.is_interval():
        return {"interval": [value, dtype.unit.short]}
    part = _value_part(value, after=after)
    if after and dtype.copy(nullable=True) != ibis.literal(value).type():
        return {"typed": [part, type_name(dtype)]}
    return part


def _value_part(value: Any, *, after: bool) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return {"decimal": str(value)} if after else real_part(float(value))
    if isinstance(value, float):
        return real_part(value)
    if isinstance(value, datetime.date):
        return moment_part(value)
    if isinstance(value, tuple):
        return {"list": [_value_part(one, after=after) for one in value]}
    cure = "use numbers, text, truth values, dates and times."
    raise InvalidQuery(expected("a constant that a document has", "constant", type(value).__name__, cure))


def checked_lists(whole: DocumentPart) -> DocumentPart:
    """A document whose operations list few enough values, in all of them together."""
    left, count = [whole.value], 0
    while left:
        one = left.pop()
        if isinstance(one, dict):
            lists = [one[name] for name in LISTING & one.keys() if isinstance(one[name], list)]
            count += sum(len(part) for listed in lists for part in listed if isinstance(part, list))
            left += one.values()
        elif isinstance(one, list):
            left += one
    if count > MOST_LISTED:
        cure = "ask for less at a time, or compare with the ends of ranges."
        raise InvalidQuery(expected(f"at most {MOST_LISTED:,} values in lists and cases", "size", f"{count:,}", cure))
    return whole


def read_expression(
    part: DocumentPart, columns: Columns, rows: ops.Relation, *, after: bool = False, depth: int = 0
) -> ir.Value:
    """The expression that `expression_document` wrote, over the columns of a table; `rows` is what a count is of."""
    if depth > DEEPEST:
        raise InvalidQuery(too_deep())
    if part.value is None or isinstance(part.value, list):
        part.refuse("an expression")
    if not isinstance(part.value, dict):
        return _built(part, lambda: ibis.literal(part.value))
    more = (WINDOW, *AFTER_OPERATIONS) if after else ()
    name, held = part.one_of(("column", *CONSTANTS, *OPERATIONS, *more), "an operation, a column or a constant")
    if name == "column":
        return columns(held.text())
    if name in CONSTANTS:
        return read_constant(name, held)
    if name == WINDOW:
        window = read_window(held, lambda one: read_expression(one, columns, rows, after=True, depth=depth + 1).op())
        return _built(held, lambda: ops.WindowFunction(**window).to_expr())
    operation = OPERATIONS.get(name) or AFTER_OPERATIONS[name]
    return _operation(operation, held, _Place(columns, rows, after, depth))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an expression stands."""

    columns: Columns
    rows: ops.Relation
    after: bool
    depth: int


def _operation(operation: type[ops.Node], part: DocumentPart, place: _Place) -> ir.Value:
    """An operation, with its arguments."""
    if place.after and operation in GROWING:
        part.refuse("operations that a document has after the noise")
    places = _places(operation)

    def value(one: DocumentPart) -> Any:
        if isinstance(one.value, list):
            return tuple(value(part) for part in one.listed(most=MOST_OPERANDS.get(operation, FEW_OPERANDS)))
        columns, rows, depth = place.columns, place.rows, place.depth + 1
        return read_expression(one, columns, rows, after=place.after, depth=depth).op()

    arguments: dict[str, Any] = {"arg": place.rows} if operation is ops.CountStar else {}
    for argument, one in zip(places, part.listed(most=len(places)), strict=False):
        if one.value is not None:
            arguments[argument] = read_plain(argument, one) if argument in PLAIN else value(one)
    return _built(part, lambda: operation(**arguments).to_expr())


def measured_part(value: Any, columns: Mapping[str, Measure]) -> Measure:
    """How large an expression is if the columns in it are written out."""
    if isinstance(value, dict) and isinstance(name := value.get("column"), str):
        return columns.get(name, LEAF)
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    parts = [measured_part(one, columns) for one in held]
    if not parts:
        return LEAF
    # A list of arguments is no operation of its own.
    deeper = 0 if isinstance(value, list) else 1
    return Measure(deeper + max(part.depth for part in parts), deeper + sum(part.size for part in parts))


def read_plain(argument: str, part: DocumentPart) -> Any:
    """An argument that is no expression."""
    if argument == "to":
        if part.text() not in TYPES:
            part.refuse(f"one of {', '.join(TYPES)}")
        return TYPES[part.value]
    if isinstance(part.value, list):
        return tuple(read_number(one) for one in part.listed(most=MOST_BINS + 1))
    if isinstance(part.value, dict):
        part.refuse("a name, a number or a truth value")
    return part.value


def read_number(part: DocumentPart) -> int | float:
    """A whole or a real number."""
    if isinstance(part.value, dict):
        _name, held = part.one_of(("real",), "a number")
        return read_real(held)
    if isinstance(part.value, bool) or not isinstance(part.value, int | float):
        part.refuse("a number")
    return part.value


def read_real(part: DocumentPart) -> float:
    """A real number that was written as text."""
    try:
        value = float(part.text())
    except ValueError:
        value = math.nan
    if repr(value) != part.value or math.isnan(value):
        part.refuse('a real number as text, such as "1.0"')
    return value


def read_moment(name: str, part: DocumentPart) -> datetime.date:
    """A date or a time."""
    kind = datetime.date if name == "date" else datetime.datetime
    try:
        value = kind.fromisoformat(part.text())
    except ValueError:
        part.refuse(f"a {name} as text, such as '2020-01-31'")
    if value.isoformat() != part.value or getattr(value, "tzinfo", None) is not None:
        part.refuse(f"a {name} as isoformat() writes it, in UTC without a zone")
    return value


def read_constant(name: str, part: DocumentPart) -> ir.Value:
    """A constant that is no plain value of JSON."""
    if name == "null":
        if part.value is not True:
            part.refuse("true")
        return ibis.null()
    if name == "interval":
        number, unit = part.listed(least=2, most=2)
        return _built(part, lambda: ibis.interval(number.number(least=-(2**63)), unit=unit.text()))
    if name == "typed":
        value, dtype = part.listed(least=2, most=2)
        if dtype.text() not in TYPES:
            dtype.refuse(f"one of {', '.join(TYPES)}")
        return _built(part, lambda: ibis.literal(read_value(value), type=TYPES[dtype.value]))
    value = read_value(DocumentPart({name: part.value}, part.place))
    return _built(part, lambda: ibis.literal(value))


def read_value(part: DocumentPart) -> Any:
    """A constant as a value of Python's."""
    if not isinstance(part.value, dict):
        if part.value is None or isinstance(part.value, list):
            part.refuse("a constant")
        return part.value
    name, held = part.one_of(("real", "date", "timestamp", "decimal", "list"), "a constant")
    if name == "list":
        return [read_number(one) for one in held.listed(least=1, most=1000)]
    if name == "real":
        return read_real(held)
    if name == "decimal":
        try:
            value = Decimal(held.text())
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or abs(value.adjusted()) > 38 or len(value.as_tuple().digits) > 38:
            held.refuse("a decimal number of at most 38 digits")
        return value
    return read_moment(name, held)


def _built(part: DocumentPart, make: Callable[[], ir.Value]) -> ir.Value:
    """What Ibis makes; refuses what it refuses."""
    try:
        made = make()
    except DiscreetError:
        raise
    except Exception:  # noqa: BLE001 - Ibis has many classes of its own for wrong arguments
        part.refuse(
            "arguments that this operation takes", "compare discreet docs language, or the types of its columns."
        )
    return made

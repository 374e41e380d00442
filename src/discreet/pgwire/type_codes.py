"""The types of PostgreSQL that answers and parameters have, by number: whole numbers are int8, real ones float8.

Claim
    A parameter is one constant of the question, whatever is in it: it cannot change what is asked.
Requires
    PostgreSQL's dialect, in which a backslash in a text is a character.
Relies on
    sqlglot's tokens, of which the question is made again by the service from the same text.
Proof
    `literal` writes a text between single quotes with every quote doubled; numbers, dates and truth values
    have forms without quotes of their own. `question_texts.with_values` puts it in the
    place of the tokens `$n`, which are not looked for inside texts, names and comments.
Rounding
    A real number is written as the decimal that it prints.
Source
    PostgreSQL's documentation, 4.1.2.1.
Mutant
    parameters-end-their-quotes: quotes in a text are not doubled; killed by test_a_text_stays_one_constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    import pyarrow as pa

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4 = 16, 17, 18, 19, 20, 21, 23
REGPROC, TEXT, OID, JSON = 24, 25, 26, 114
FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR = 700, 701, 705, 1042, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, NUMERIC, UUID = 1082, 1083, 1114, 1184, 1700, 2950
TEXTS = (UNKNOWN, TEXT, VARCHAR, BPCHAR, NAME, CHAR, JSON, UUID)
WHOLE = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I"}
REAL = {FLOAT4: "!f", FLOAT8: "!d"}
SIZES = {BOOL: 1, CHAR: 1, NAME: 64, INT8: 8, INT2: 2, INT4: 4, OID: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4}
SIZES |= {TIME: 8, TIMESTAMP: 8, TIMESTAMPTZ: 8}
ARRAYS = {BOOL: 1000, INT2: 1005, INT4: 1007, TEXT: 1009, INT8: 1016, FLOAT8: 1022, OID: 1028}
ELEMENTS = {array: element for element, array in ARRAYS.items()}

LONGEST_NUMBER = 100
"""Digits of a number that is written out."""


class BadValue(DiscreetError):
    """A parameter does not have the form of its type."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """One column of an answer: its name, and the number of its type."""

    name: str
    oid: int

    @property
    def described(self) -> tuple[str, int, int]:
        """As a description of rows has it."""
        return self.name, self.oid, SIZES.get(self.oid, -1)


def oid_of(kind: pa.DataType) -> int:
    """The type of PostgreSQL that carries an Arrow type; text for those without a counterpart.

    >>> import pyarrow as pa
    >>> oid_of(pa.int64()), oid_of(pa.float64()), oid_of(pa.list_(pa.int16()))
    (20, 701, 1005)
    """
    import pyarrow.types as of

    if of.is_list(kind):
        return ARRAYS.get(oid_of(kind.value_type), ARRAYS[TEXT])
    tests: tuple[tuple[Callable[[pa.DataType], bool], int], ...] = (
        (of.is_boolean, BOOL),
        (lambda one: of.is_int8(one) or of.is_uint8(one) or of.is_int16(one), INT2),
        (of.is_uint32, OID),
        (lambda one: of.is_int32(one) or of.is_uint16(one), INT4),
        (of.is_integer, INT8),
        (of.is_float32, FLOAT4),
        (of.is_floating, FLOAT8),
        (of.is_decimal, NUMERIC),
        (of.is_date, DATE),
        (of.is_time, TIME),
        (lambda one: of.is_timestamp(one) and one.tz is not None, TIMESTAMPTZ),
        (of.is_timestamp, TIMESTAMP),
        (lambda one: of.is_binary(one) or of.is_large_binary(one), BYTEA),
    )
    return next((oid for test, oid in tests if test(kind)), TEXT)


def literal(value: Any) -> str:
    """A parameter as a constant of SQL.

    >>> literal("it's"), literal(None), literal(date(2024, 5, 1)), literal(True)
    ("'it''s'", 'NULL', "DATE '2024-05-01'", 'TRUE')

    Raises:
        BadValue: it has no such form.
    """
    shown = next((form for kind, form in LITERALS if isinstance(value, kind)), _quoted)
    return shown(value)


def _number(value: float | Decimal) -> str:
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if not exact.is_finite() or abs(exact.adjusted()) > LONGEST_NUMBER:
        raise BadValue("Expected a number that can be written out, got another one.")
    shown = format(exact, "f")
    return shown if "." in shown else f"{shown}.0"  # a whole number would have whole quotients


def _no_list(value: object) -> str:
    del value
    raise BadValue("Expected one value for a parameter, got an array.")


def _quoted(value: object) -> str:
    if "\x00" in str(value):
        raise BadValue("Expected a text without NUL, got one with it.")
    return "'" + str(value).replace("'", "''") + "'"


LITERALS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (type(None), lambda _: "NULL"),
    (bool, lambda value: "TRUE" if value else "FALSE"),
    (int, str),
    ((float, Decimal), _number),
    (datetime, lambda value: f"TIMESTAMP '{value.isoformat(sep=' ')}'"),
    (date, lambda value: f"DATE '{value.isoformat()}'"),
    (list, _no_list),
)
"""How each kind of value is written; the first that fits."""

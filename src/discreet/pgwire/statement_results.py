"""What a statement gives: its columns and rows as values, which the protocol writes in the form that was asked for."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.pgwire.sqlstates import UNSUPPORTED, Refused
from discreet.pgwire.type_codes import INT8, REAL, TEXTS, WHOLE, ColumnType, oid_of
from discreet.pgwire.value_forms import binary, encoder, text_form_of

if TYPE_CHECKING:
    import pyarrow as pa

BINARY_COPY = b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0)
"""The start of a binary copy."""
END_OF_COPY = struct.pack("!h", -1)
STALE = "RevalidateCachedQuery"
"""The routine by which PostgreSQL says that a prepared statement is outdated: asyncpg and pgjdbc prepare it again."""
ESCAPES = str.maketrans({char: f"\\{letter}" for char, letter in zip("\\\b\f\n\r\t\v", "\\bfnrtv", strict=True)})
"""How a copy as text writes what it would be read by."""


@dataclass(frozen=True, kw_only=True)
class StatementResult:
    """Columns, rows and the tag of a statement that has run; no columns where it has no rows at all."""

    tag: str
    columns: tuple[ColumnType, ...] | None = None
    rows: tuple[tuple[Any, ...], ...] = ()
    notices: tuple[str, ...] = ()
    counted: bool = field(default=False)
    """Whether the tag ends with the number of rows."""

    @classmethod
    def of(
        cls, columns: Sequence[ColumnType], rows: Sequence[Sequence[Any]], *, notices: Sequence[str] = ()
    ) -> StatementResult:
        """The result of a SELECT.

        >>> StatementResult.of([ColumnType("n", 20)], [(1,), (2,)]).complete_tag(2)
        'SELECT 2'
        """
        held = tuple(tuple(row) for row in rows)
        return cls(tag="SELECT", columns=tuple(columns), rows=held, notices=tuple(notices), counted=True)

    def complete_tag(self, shown: int) -> str:
        """The tag that ends the statement, of which so many rows were shown."""
        return f"{self.tag} {shown}" if self.counted else self.tag


def result_of(table: pa.Table, names: Sequence[str] | None = None) -> StatementResult:
    """An Arrow table as the result of a SELECT, under its own or other names."""
    labels = names if names is not None and len(names) == table.num_columns else table.column_names
    columns = [ColumnType(name, oid_of(field.type)) for name, field in zip(labels, table.schema, strict=True)]
    values = [column.to_pylist() for column in table.columns]
    rows = list(zip(*values, strict=True)) if values else [() for _ in range(table.num_rows)]
    return StatementResult.of(columns, rows)


def as_described(result: StatementResult, told: Sequence[ColumnType] | None) -> StatementResult:
    """The same rows with the columns that a client was told before, by whose types it reads their bytes.

    Raises:
        Refused: their values are none of these types.
    """
    found = result.columns
    if told is None or found is None or [one.oid for one in told] == [one.oid for one in found]:
        return result
    if len(told) != len(found):
        raise _other_columns()
    makers = [_converted(own.oid, one.oid) for own, one in zip(found, told, strict=True)]
    rows = tuple(
        tuple(None if value is None else make(value) for make, value in zip(makers, row, strict=True))
        for row in result.rows
    )
    return replace(result, columns=tuple(told), rows=rows)


def _converted(own: int, told: int) -> Callable[[Any], Any]:
    """What makes a value of one type one of another, without another meaning."""
    if own == told or (own in WHOLE and told == INT8):
        return lambda value: value
    if own in WHOLE and told in REAL:
        return float
    if told in TEXTS:
        return lambda value: text_form_of(value, own)
    raise _other_columns()


def _other_columns() -> Refused:
    cure = "prepare the statement again."
    return Refused(UNSUPPORTED, "Expected columns of the types that were described, got others.", cure, routine=STALE)


def formats_of(codes: Sequence[int], count: int) -> list[int]:
    """The format of each column: none stated is text, one is for all."""
    if not codes:
        return [0] * count
    return [codes[0]] * count if len(codes) == 1 else list(codes)


def encoded(
    columns: Sequence[ColumnType], rows: Sequence[Sequence[Any]], formats: Sequence[int]
) -> Iterator[list[bytes | None]]:
    """The rows in text and binary forms."""
    writers = [encoder(column.oid, code) for column, code in zip(columns, formats, strict=True)]
    for row in rows:
        yield [None if value is None else write(value) for write, value in zip(writers, row, strict=True)]


def copied(
    result: StatementResult, form: str, *, header: bool = False, delimiter: str | None = None
) -> Iterator[bytes]:
    """The rows as COPY sends them: text, csv or binary."""
    columns = result.columns or ()
    if form == "binary":
        start = BINARY_COPY  # goes out with the first row, as clients expect
        for row in result.rows:
            parts = [start, struct.pack("!h", len(columns))]
            start = b""
            for column, value in zip(columns, row, strict=True):
                held = None if value is None else binary(value, column.oid)
                parts.append(struct.pack("!i", -1) if held is None else struct.pack("!i", len(held)) + held)
            yield b"".join(parts)
        yield start + END_OF_COPY
        return
    lines = ([column.name for column in columns],) if header else ()
    for row in (*lines, *result.rows):
        shown = [
            None if value is None else value if row in lines else text_form_of(value, column.oid)
            for column, value in zip(columns, row, strict=True)
        ]
        yield (_csv(shown, delimiter or ",") if form == "csv" else _plain(shown, delimiter or "\t")).encode()


def _csv(values: Sequence[str | None], delimiter: str) -> str:
    """A line as PostgreSQL writes it: NULL is nothing at all, and empty text is quoted."""
    odd = {delimiter, '"', "\n", "\r"}
    alone = ("", "\\.") if len(values) == 1 else ("",)
    shown = (
        "" if one is None else '"' + one.replace('"', '""') + '"' if one in alone or odd & set(one) else one
        for one in values
    )
    return delimiter.join(shown) + "\n"


def _plain(values: Sequence[str | None], delimiter: str) -> str:
    return delimiter.join("\\N" if one is None else _escaped(one, delimiter) for one in values) + "\n"


def _escaped(value: str, delimiter: str) -> str:
    shown = value.translate(ESCAPES)
    return shown if delimiter == "\t" else shown.replace(delimiter, f"\\{delimiter}")

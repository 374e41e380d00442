"""Columns of unsupported types: the messages for questions that name one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ibis.expr.datatypes as dt

from discreet.errors import expected, nearest_name
from discreet.language.input_barrier import kind_of

READ = "a column of numbers, truth values, text or dates"


def unsupported(schema: Mapping[str, dt.DataType]) -> dict[str, str]:
    """The columns of a schema that have no kind, and their types.

    >>> import ibis
    >>> unsupported(ibis.schema({"age": "int64", "tags": "array<string>"}))
    {'tags': 'array<string>'}
    """
    return {name: _engine_name(dtype) for name, dtype in schema.items() if kind_of(dtype) is None}


def _engine_name(dtype: dt.DataType) -> str:
    """A type by its engine's name, where Ibis has none."""
    if not isinstance(dtype, dt.Unknown):
        return str(dtype)
    raw = dtype.raw_type
    return str(raw.sql("duckdb")) if hasattr(raw, "sql") else str(raw)


def cast_first(name: str, kind: str) -> str:
    """The hint for a question that names such a column."""
    quoted = name if name.isidentifier() and name.islower() else '"' + name.replace('"', '""') + '"'
    return (
        f"{name!r} is there, of type {kind}, which is not read. Cast it before the table is protected: in the frame, "
        f"or in a view of the database's, CREATE VIEW ... AS SELECT CAST({quoted} AS TEXT) AS {quoted}, ..."
    )


def no_column(
    name: Any,
    known: Iterable[str],
    closed: Mapping[str, str],
    *,
    what: str = "a known column",
    label: str = "column",
) -> str:
    """The message for a name that is none of the `known` columns; `closed` ones exist but are not read.

    >>> print(no_column("tags", ["age"], {"tags": "array<string>"}).partition("Hint")[0].strip())
    Expected a column of numbers, truth values, text or dates, got column='tags'.
    """
    if isinstance(name, str) and name in closed:
        return expected(READ, label, name, cast_first(name, closed[name]))
    return expected(what, label, name, nearest_name(name, known))

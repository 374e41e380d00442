"""Answers in the formats that are sent."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pyarrow as pa

from discreet.answers.table_exports import comma_separated
from discreet.service.asked_tables import as_one


class AnswerFormat(StrEnum):
    """How an answer is sent."""

    JSON = "json"
    ARROW = "arrow"
    CSV = "csv"
    PARQUET = "parquet"
    STORED = "stored"


def json_rows(answer: Any, **more: Any) -> bytes:
    """One object: the names of keys and columns, ``rows`` by name, those of all tables of a batch, and the ``receipt``;
    and `more`, if there is any.

    What is no number is null.
    """
    answer = as_one(answer)
    rows = [{name: plain(value) for name, value in row.items()} for row in answer.to_pyarrow().to_pylist()]
    found = {
        "groups": list(answer.groups),
        "columns": list(answer.columns),
        "rows": rows,
        "receipt": dict(answer.receipt),
        **more,
    }
    return json.dumps(found, ensure_ascii=False, allow_nan=False).encode()


def plain(value: Any) -> Any:
    """A value that JSON has."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_receipt(answer: Any) -> pa.Table:
    return as_one(answer).to_pyarrow().replace_schema_metadata({"discreet": json.dumps(answer.receipt)})


def arrow_stream(table: pa.Table) -> bytes:
    """A table as a stream of Arrow."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    found: bytes = target.getvalue().to_pybytes()
    return found


def parquet_file(table: pa.Table) -> bytes:
    """A table as a file of Parquet."""
    import pyarrow.parquet as pq

    target = pa.BufferOutputStream()
    pq.write_table(table, target)
    found: bytes = target.getvalue().to_pybytes()
    return found


ARROW, CSV, PARQUET = "application/vnd.apache.arrow.stream", "text/csv; charset=utf-8", "application/vnd.apache.parquet"

WRITERS: dict[AnswerFormat, tuple[str, Callable[[Any], bytes]]] = {
    AnswerFormat.JSON: ("application/json", json_rows),
    AnswerFormat.ARROW: (ARROW, lambda answer: arrow_stream(_with_receipt(answer))),
    AnswerFormat.CSV: (CSV, lambda answer: comma_separated(as_one(answer).to_pyarrow()).encode()),
    AnswerFormat.PARQUET: (PARQUET, lambda answer: parquet_file(_with_receipt(answer))),
}
"""The media type of each format, and what writes it; the stored form is JSON of its own."""

TABLE_WRITERS: dict[str, tuple[str, Callable[[pa.Table], bytes]]] = {
    "arrow": (ARROW, arrow_stream),
    "csv": (CSV, lambda table: comma_separated(table).encode()),
    "parquet": (PARQUET, parquet_file),
}
"""The same of tables that are no answers and have no receipt."""

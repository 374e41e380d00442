"""Reads and writes tables in files, keeping their types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.engines.inputs import as_arrow
from discreet.errors import InvalidParameter, expected

SUFFIXES = (".parquet", ".csv", ".tsv", ".jsonl")


def read(data: Any) -> pa.Table:
    """Reads a frame, or a Parquet, CSV, TSV or JSON-lines file, as an Arrow table.

    Raises:
        InvalidParameter: it is no table, or a file of another kind.

    >>> read(pa.table({"a": [1]})).num_rows
    1
    """
    if not isinstance(data, str | Path):
        table: pa.Table = as_arrow(data)
        return table
    path = Path(data)
    if path.suffix not in SUFFIXES or not path.is_file():
        cure = f"name an existing file that ends in {', '.join(SUFFIXES)}."
        raise InvalidParameter(expected("a file with a table", "data", str(data), cure))
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path)
    if path.suffix == ".jsonl":
        from pyarrow import json

        return json.read_json(path)
    from pyarrow import csv

    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=_delimiter(path)))


def write_table(data: pa.Table, path: Path) -> None:
    """Writes a table as a file of the kind given by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(data, path)
    elif path.suffix == ".jsonl":
        import json

        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in data.to_pylist()), encoding="utf-8")
    else:
        from pyarrow import csv

        csv.write_csv(data, path, csv.WriteOptions(delimiter=_delimiter(path), quoting_style="needed"))


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","

"""Tables that do not fit in memory, so many rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

ROWS = 2**17
"""Of a batch, and of a row group of a file: whole runs of noise, and a few megabytes."""


def of_size(parts: Iterable[pa.Table], rows: int = ROWS) -> Iterator[pa.Table]:
    """The same rows in the same order, in tables of so many rows; the last one has what is left.

    >>> whole = pa.table({"n": range(10)})
    >>> [part["n"].to_pylist() for part in of_size([whole[:3], whole[3:9], whole[9:]], rows=4)]
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    """
    held: pa.Table | None = None
    for part in parts:
        held = pa.concat_tables([held, part]) if held is not None and held.num_rows else part  # no chunk without rows
        while held.num_rows >= rows:
            yield held.slice(0, rows)
            held = held.slice(rows)
    if held is not None and held.num_rows:
        yield held


def lines(table: pa.Table, *, header: bool = False) -> bytes:
    """A table as lines of values, to tell it from others; its buffers differ where something is NULL.

    >>> print(lines(pa.table({"n": [1, None], "plan": ["a", "b"]})).decode(), end="")
    1,"a"
    ,"b"
    """
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table.combine_chunks(), sink, csv.WriteOptions(include_header=header))  # Arrow garbles empty chunks
    written: bytes = sink.getvalue().to_pybytes()
    return written

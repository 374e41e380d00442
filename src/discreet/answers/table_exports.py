"""What every answer that is a table can be written as: frames, CSV, Excel, and a table across."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answers.display import polars_frame, records_of
from discreet.answers.workbook import write_workbook
from discreet.exact.given_values import place_to_write, unwritable

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl


FARTHEST = 2**63 - 1
"""Noisy whole numbers stand at 64 bits in a table."""


def within_64_bits(number: float) -> int:
    """A whole number as a table has it.

    >>> within_64_bits(12), within_64_bits(-(2**70))
    (12, -9223372036854775807)
    """
    return max(-FARTHEST, min(int(number), FARTHEST))


def comma_separated(table: pa.Table) -> str:
    r"""A table as comma-separated values, with a line of names.

    NULL is nothing at all and empty text is ``""``. Where a table has one column both are ``""``: readers take a line
    with nothing on it for no row.

    >>> comma_separated(pa.table({"plan": ["a", None]}))
    '"plan"\n"a"\n""\n'
    """
    from pyarrow import compute, csv

    if table.num_columns == 1 and table.column(0).null_count:
        texts = compute.fill_null(table.column(0).cast(pa.string()), "")
        table = pa.table([texts], names=table.column_names)
    sink = io.BytesIO()
    csv.write_csv(table.combine_chunks(), sink)  # Arrow garbles empty chunks
    return sink.getvalue().decode()


class TableExports(ABC):
    """An answer that is a table, with a receipt."""

    @abstractmethod
    def to_pyarrow(self) -> pa.Table:
        """The answer as an Arrow table."""

    @property
    @abstractmethod
    def receipt(self) -> Mapping[str, Any]:
        """What was promised, and how it was kept."""

    def to_pandas(self) -> pd.DataFrame:
        """The same table as a pandas frame."""
        frame: pd.DataFrame = self.to_pyarrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The same table as a polars frame (needs the extra ``discreet[polars]``)."""
        return polars_frame(self.to_pyarrow())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the same table as a Parquet file, with the receipt in its metadata under ``discreet``."""
        import pyarrow.parquet as pq

        place = place_to_write(path, "answer.parquet")
        table = self.to_pyarrow().replace_schema_metadata({"discreet": json.dumps(self.receipt)})
        try:
            with open(place, "wb") as file:  # noqa: PTH123 (of a path Arrow would guess whether it is an address)
                pq.write_table(table, file)
        except OSError as problem:
            raise unwritable(path) from problem

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The same table as comma-separated values, with a line of names; `path` writes it to a file, too.

        NULL is nothing at all, empty text is ``""``; in a table of one column both are ``""``. A CSV file has no
        place for the receipt.

        >>> from discreet.testing import people
        >>> people().count().release(epsilon=1).to_csv().splitlines()[0]
        '"count","count_low","count_high"'
        """
        text = comma_separated(self.to_pyarrow())
        if path is not None:
            place = place_to_write(path, "answer.csv")
            try:
                with open(place, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 (a path of any kind)
                    file.write(text)
            except OSError as problem:
                raise unwritable(path) from problem
        return text

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """Writes the same table as an Excel workbook (.xlsx), with the receipt on a second sheet; nothing to install.

        Numbers are numbers and all else is text, so that no key is taken for a formula.
        """
        table = self.to_pyarrow()
        rows = ([*row.values()] for row in records_of(table))
        receipt = ([name, fact if isinstance(fact, str) else json.dumps(fact)] for name, fact in self.receipt.items())
        write_workbook(path, {"answer": [table.column_names, *rows], "receipt": [["fact", "value"], *receipt]})

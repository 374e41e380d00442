"""An answer for people: a Rich table in a terminal, HTML in a notebook, a frame for their own work."""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answers.notebook_table import ShownCell, html_table, sort_number
from discreet.errors import InvalidParameter, printable

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 40
WIDTH = 120
"""Columns of text where the terminal does not say how many it has."""
UNTOLD = "—"
"""What stands for a value of which the answer tells nothing: its interval is all that was possible before."""


def number_text(value: float | date) -> str:
    """A value with as many digits as help; a date or time as it is written."""
    if isinstance(value, date):
        return value.isoformat(" ", "seconds") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if not math.isfinite(size):
        return str(value)
    if size >= 10**15 or 0 < size < 10**-4:
        return f"{value:.3e}"
    digits = 0 if size >= 1000 else max(0, 2 - math.floor(math.log10(size))) if size else 2
    return f"{value:,.{min(digits, 4)}f}"


def cells(table: pa.Table, columns: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Headers and texts: keys as they are, aggregates as value and interval."""
    headers, rows = _shown(table, columns)
    return headers, [["  ".join(filter(None, (cell.text, cell.interval))) for cell in row] for row in rows]


def _shown(table: pa.Table, columns: Sequence[str]) -> tuple[list[str], list[list[ShownCell]]]:
    """Headers and cells of the first rows."""
    ends = {f"{name}{end}" for name in columns for end in ("_low", "_high")}
    names = [name for name in table.column_names if name not in ends]
    records = records_of(table.slice(0, MOST_ROWS))
    rows = [[_cell(record, name, columns) for name in names] for record in records]
    return [printable(name) for name in names], rows


def records_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dicts; dates and times of years that Python does not have are text.

    >>> far = pa.table({"day": pa.array([3_000_000], pa.date32())})
    >>> records_of(far)
    [{'day': '10183-09-21'}]
    """
    for place, column in enumerate(table.columns):
        if pa.types.is_temporal(column.type):
            try:
                column.to_pylist()
            except (OverflowError, ValueError):
                table = table.set_column(place, table.column_names[place], column.cast(pa.string()))
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def _cell(record: dict[str, Any], name: str, columns: Sequence[str]) -> ShownCell:
    value = record[name]
    place = math.nan if value is None else sort_number(value)
    ends: list[Any] = [record.get(f"{name}{end}") for end in ("_low", "_high")] if name in columns else [None]
    if all(isinstance(end, int | float | date) for end in ends):
        low, high = ends
        interval = f"[{number_text(low)}, {number_text(high)}]"
        shown = UNTOLD if value is None or value != value else number_text(value)  # noqa: PLR0124 (NaN)
        return ShownCell(shown, place, interval, (sort_number(low) or 0.0, sort_number(high) or 0.0))
    if name in columns and isinstance(value, int | float) and not isinstance(value, bool):
        return ShownCell(number_text(value), place)
    return ShownCell("NULL" if value is None else printable(str(value)), place)


def table_text(table: pa.Table, columns: Sequence[str], caption: str) -> str:
    """The table as it looks in a terminal."""
    from rich.console import Console

    width = shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(file=io.StringIO(), width=width, force_terminal=False, force_jupyter=False)
    console.print(rich_table(table, columns, caption))
    shown: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return shown.rstrip()


def rich_table(table: pa.Table, columns: Sequence[str], caption: str) -> Any:
    """The table for a Rich console, with its caption below."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    headers, rows = cells(table, columns)
    shown = Table()
    shown_values = set(map(printable, columns))
    for header in headers:
        # Folded, never cut: a number without its last digits is another number.
        # Text: Rich would read a key such as [/b] as markup.
        shown.add_column(Text(header), justify="right" if header in shown_values else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    return Group(shown, Text(caption + _more(table), style="dim"))


def html(table: pa.Table, columns: Sequence[str], caption: str) -> str:
    """The table for a notebook."""
    return html_table(*_shown(table, columns), caption + _more(table))


def _more(table: pa.Table) -> str:
    return f" · first {MOST_ROWS} of {table.num_rows:,} groups" if table.num_rows > MOST_ROWS else ""


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """The same table as a polars frame; where polars is not installed, the cure is named.

    >>> polars_frame(pa.table({"n": [1]})).columns
    ['n']
    """
    try:
        import polars
    except ImportError:
        raise InvalidParameter(
            "Expected polars to be installed, got none.\nHint: pip install 'discreet[polars]', or use .to_pandas()."
        ) from None
    frame = polars.from_arrow(table)
    if not isinstance(frame, polars.DataFrame):
        raise TypeError(frame)
    return frame

"""Arrow tables in a terminal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from discreet.answers.display import number_text
from discreet.errors import printable


def rich_rows(table: pa.Table, *, title: str = "") -> Any:
    """A table for a Rich console: numbers to the right, with as many digits as help; nothing where a value is missing.

    >>> rich_rows(pa.table({"page": ["/a"], "users": [1200]})).row_count
    1
    """
    from rich.table import Table
    from rich.text import Text

    shown = Table(caption=title or None)
    for field in table.schema:
        text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        shown.add_column(Text(printable(field.name)), justify="left" if text else "right", overflow="fold")
    for row in table.to_pylist():
        shown.add_row(*(Text(printable(_cell(value))) for value in row.values()))
    return shown


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return number_text(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)

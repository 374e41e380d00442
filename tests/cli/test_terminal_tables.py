"""Arrow tables look in a terminal as they should."""

from __future__ import annotations

import io

import pyarrow as pa
from rich.console import Console

from discreet.cli.terminal_tables import rich_rows


def test_cells_are_shown_as_they_are() -> None:
    table = pa.table({"page": ["/[b]", "/a"], "users": [1200, None], "ok": [True, False]})
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_rows(table, title="below"))
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    for text in ("/[b]", "1,200", "True", "below"):
        assert text in shown
    assert "None" not in shown

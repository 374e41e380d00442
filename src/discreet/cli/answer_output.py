"""An answer as text and as files; what cannot be written is refused before anything is charged."""

from __future__ import annotations

import io
import math
import os
import shutil
from collections.abc import Callable, Iterable
from datetime import date
from glob import glob
from pathlib import Path
from typing import Any, Protocol

from discreet.answers.answer_file import ENDING, AnswerFile
from discreet.answers.display import WIDTH, records_of
from discreet.answers.release import Release
from discreet.cli import option_values
from discreet.cli.options import Format, QueryOptions
from discreet.cli.standard_output import json_text
from discreet.cli.table_option import declaration
from discreet.cli.terminal_tables import rich_rows
from discreet.errors import InvalidParameter, expected

PICTURES = (".png", ".svg", ".pdf")


class WrittenFiles(Protocol):
    """What says which files are written."""

    @property
    def output(self) -> str | None:
        """The file of the answer."""

    @property
    def plot(self) -> str | None:
        """The file of its picture."""


def as_csv(answer: Release) -> str:
    """Comma-separated values with a line of names; NULL is nothing at all, empty text is ``""``."""
    return answer.to_csv()


def as_json(answer: Release) -> str:
    """One object: ``rows``, a list of objects by column, and the ``receipt``."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in records_of(answer.to_pyarrow())]
    return json_text({"rows": rows, "receipt": answer.receipt})


def _plain(value: Any) -> Any:
    """A value that JSON has: dates as ISO text, and null where there is no number."""
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _to_arrow(answer: Release, path: Path) -> None:
    """An Arrow file, with the receipt in its metadata, as in a Parquet file."""
    import json

    import pyarrow as pa

    table = answer.to_pyarrow().replace_schema_metadata({"discreet": json.dumps(answer.receipt)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def as_table(answer: Release) -> str:
    """The table for people."""
    return f"{answer!r}\n"


PRINTED: dict[Format, Callable[[Release], str]] = {
    Format.TABLE: as_table,
    Format.CSV: as_csv,
    Format.JSON: as_json,
}
WRITTEN: dict[str, Callable[[Release, Path], object]] = {
    ".parquet": lambda answer, path: answer.to_parquet(path),
    ".csv": lambda answer, path: path.write_bytes(as_csv(answer).encode()),
    ".json": lambda answer, path: path.write_bytes(as_json(answer).encode()),
    ".arrow": _to_arrow,
}
"""How an answer is written, by the end of the file's name."""


SHOWN = 5
"""Rows of a streamed answer that are printed."""


def streamed(asked: QueryOptions) -> bool:
    """Whether the answer goes to its file group by group, and is never held: from keys in a file, to Parquet."""
    from_file = option_values.key_file(asked.keys or ()) is not None
    return from_file and asked.output is not None and Path(asked.output).suffix.lower() == ENDING


def check_streamed(asked: QueryOptions) -> None:
    """Refuses what would hold an answer that is streamed."""
    cure = "read the file; or give the output another ending, and the answer is held in memory."
    if asked.format is not Format.TABLE:
        raise InvalidParameter(expected("--format table beside a streamed answer", "format", asked.format.value, cure))
    if asked.plot is not None:
        raise InvalidParameter(expected("no picture of a streamed answer", "plot", asked.plot, cure))


def start(answer: AnswerFile) -> str:
    """The first rows of a streamed answer, for people."""
    from rich.console import Console

    rest = f"the first {SHOWN} of {len(answer):,} rows" if len(answer) > SHOWN else ""
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(file=io.StringIO(), width=width, highlight=False, force_jupyter=False)
    console.print(rich_rows(answer.head(SHOWN), title=rest))
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return text


def check_paths(asked: QueryOptions) -> None:
    """Refuses output that could not be written, or would replace the table, its ledger, or what is read beside it."""
    if streamed(asked):
        check_streamed(asked)
    public = [text.partition("=")[2] for text in asked.public or ()]
    keys = option_values.key_file(asked.keys or ())
    on_the_way = () if asked.table is None else declaration(asked.table).via_places
    check_files(asked, kept=(asked.file, asked.ledger, asked.table, keys, *public, *on_the_way))


def check_files(asked: WrittenFiles, *, kept: Iterable[str | None]) -> None:
    """Refuses files that could not be written, or would replace one that is to be kept."""
    _check_path("output", asked.output, tuple(WRITTEN), kept)
    _check_path("plot", asked.plot, PICTURES, kept)
    if asked.output is not None and asked.plot is not None and _same(asked.output, asked.plot):
        raise InvalidParameter(expected("two files", "plot", asked.plot, "write the picture to another file."))


def _check_path(option: str, text: str | None, ends: tuple[str, ...], kept: Iterable[str | None]) -> None:
    if text is None:
        return
    path = Path(text)
    if path.suffix.lower() not in ends:
        raise InvalidParameter(expected(f"a file that ends in {', '.join(ends)}", option, text, "give it such a name."))
    place, fit = (path, path.is_file()) if path.exists() else (path.parent, path.parent.is_dir())
    if not fit or not os.access(place, os.W_OK):
        raise InvalidParameter(expected("a file that can be written", option, text, "give another path."))
    for one in kept:
        if one is not None and _same(text, one):
            raise InvalidParameter(
                expected("a file of its own", option, text, "it would replace what it is made from.")
            )


def _same(one: str, other: str) -> bool:
    """Whether a file is another one, by any of its names, or one of those of a pattern."""
    return any(_is(one, place) for place in (other, *glob(other, recursive=True)))  # noqa: PTH207 (of any folder)


def _is(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:  # one of them is still to be made
        return os.path.realpath(one) == os.path.realpath(other)


def write(answer: Release, asked: WrittenFiles) -> list[str]:
    """Writes the files that were asked for, and returns their names."""
    written = []
    if asked.output is not None:
        WRITTEN[Path(asked.output).suffix.lower()](answer, Path(asked.output))
        written.append(asked.output)
    if asked.plot is not None:
        answer.plot(path=asked.plot)
        written.append(asked.plot)
    return written

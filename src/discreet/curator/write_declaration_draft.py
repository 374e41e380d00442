"""Writes the draft of a source's declaration beside it, and never over a file that is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.curator.declaration_draft import DraftColumn, draft
from discreet.curator.table_sources import TableOf, delimiter, stated_source, str_of, table
from discreet.engines import engine_selection
from discreet.engines.file_patterns import MAGIC, UNREADABLE, header, matching_files
from discreet.errors import InvalidParameter, expected
from discreet.language.input_barrier import kind_of
from discreet.language.unsupported_columns import unsupported

ENDING = ".toml"


def write_draft(source: str, to: str | None = None, *, connections: Mapping[str, Any] | None = None) -> Path:
    """Writes the draft, and returns where it is; a file that is there is left as it is.

    Args:
        source: a path or a pattern of files, relative to the current folder, or a table of a connection,
            ``warehouse:clinic.visits``.
        to: the file to write; by default, one beside the source that is called as it is, with the ending .toml.
        connections: the connections that a source may name.
    """
    place = stated_source(source, Path(), connections or {})
    target = Path(to) if to is not None else _beside(place)
    if target.suffix != ENDING:
        raise InvalidParameter(expected("a file that ends in .toml", "output", str(target), "give it such a name."))
    _free(target)
    text = draft(_stated(place, target), *_columns(place, connections or {}))
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _free(target)
        raise
    except (OSError, ValueError) as problem:
        cure = "give another path, in a folder that is there."
        told = expected("a file that can be written", "output", str(target), cure)
        raise InvalidParameter(told) from (problem if isinstance(problem, OSError) else None)
    return target


def _free(target: Path) -> None:
    if os.path.lexists(target):
        cure = "a declaration is not replaced: move it away, or write the draft to another file."
        raise InvalidParameter(expected("a file that is not there yet", "output", str(target), cure))


def _beside(place: str | TableOf) -> Path:
    """A file of the source's own name, without its endings and without what makes it a pattern."""
    if isinstance(place, TableOf):
        return Path(f"{_plain(place.parts[-1])}{ENDING}")
    folder, _slash, name = place.rpartition(os.sep)
    folder = folder if not any(c in folder for c in MAGIC) else ""
    return Path(folder) / f"{_plain(name.partition('.')[0])}{ENDING}"


def _plain(name: str) -> str:
    kept = "".join(c for c in name if c.isalnum() or c in "-_ ").strip("-_ ")
    return kept or "declaration"


def _stated(place: str | TableOf, target: Path) -> str:
    """The source as the declaration names it: a path from the folder of the declaration."""
    if isinstance(place, TableOf):
        return str_of(place)
    return os.path.relpath(place, target.parent)


def _columns(place: str | TableOf, connections: Mapping[str, Any]) -> tuple[list[DraftColumn], dict[str, str]]:
    """Names and types, and those of columns that are not read; of a text file, its first line alone is read."""
    if isinstance(place, str) and (separator := delimiter(place)) is not None:
        try:
            names = [name for name, _type in header(matching_files(place)[0], separator)]
        except UNREADABLE:
            cure = "check that it is a file, and that you may read it."
            raise InvalidParameter(expected("a readable CSV file", "source", place, cure)) from None
        return [DraftColumn(name=name, type="of a text file", kind=None) for name in names], {}
    schema = engine_selection.opened(table(place, connections) if isinstance(place, TableOf) else place, None).schema
    unread = unsupported(schema)
    kinds = {name: kind_of(dtype) for name, dtype in schema.items()}
    read = [
        DraftColumn(name=name, type=str(schema[name]).lstrip("!"), kind=kind)
        for name, kind in kinds.items()
        if name not in unread
    ]
    return read, unread

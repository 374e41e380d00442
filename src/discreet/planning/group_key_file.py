"""Public keys in a Parquet file: as many as a disk holds, in the order of the file.

Claim
    The tuples of a `KeyFile` are distinct, NULL counted as a key like any other, and of the kinds of their columns.
    Whenever and by whomever they are read, they are those that were checked.
Requires
    That nobody writes into a temporary folder of this process.
Relies on
    Parquet, which gives back what was written; DuckDB's DISTINCT, for which two NULLs are the same.
Proof
    The file is read once, batch by batch, into a copy of our own, each value in the one type of its kind by casts that
    refuse to lose anything; so equal keys are equal values there. The copy is what is counted, and what all others
    read: what becomes of the file afterwards changes nothing. As many distinct tuples as rows are rows that differ.
Rounding
    None.
Source
    A group that is listed twice counts its people twice, so its sensitivity would be twice what is paid for.
Mutant
    keys-come-twice: repeated keys are not looked for; killed by test_a_repeated_key_is_refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.given_values import path_of
from discreet.language.checked_expressions import MOMENTS, Kind
from discreet.planning.batches import ROWS, lines, of_size
from discreet.planning.group_keys import ARROW_TYPES, POSITION, Keys
from discreet.planning.temporary_folders import Folder
from discreet.privacy.declaration import Key

MEMORY = "1GB"
"""What it may take to see that no key comes twice; the rest goes to the temporary folder."""
EPOCH = date(1970, 1, 1).toordinal()
A_DAY = {Kind.DATE: 1, Kind.TIMESTAMP: 24 * 60 * 60 * 10**6}
"""In the numbers that stand for dates and times."""

HELD: Mapping[Kind, Callable[[pa.DataType], bool]] = {
    Kind.INTEGER: pa.types.is_integer,
    Kind.BOOLEAN: pa.types.is_boolean,
    Kind.TEXT: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
    Kind.DATE: pa.types.is_date,
    Kind.TIMESTAMP: pa.types.is_timestamp,
}
"""The types of a file that hold keys of a kind."""


class Copy:
    """A file in a folder of its own, which goes with this object."""

    def __init__(self) -> None:
        self._folder = Folder()
        self.path = self._folder.path / "keys.parquet"


@dataclass(frozen=True, slots=True)
class KeyFile(Keys):
    """The groups of an answer, in a file: there may be more of them than fit in memory."""

    rows: tuple[tuple[Key, ...], ...] = ()
    number: int = field(kw_only=True)
    digest: str = field(kw_only=True)
    """Of the tuples and their order."""
    copy: Copy = field(kw_only=True, compare=False, repr=False)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return self.number

    @property
    def facts(self) -> list[Any]:
        """What tells them from other keys; ready for JSON."""
        return [self.names, [kind.value for kind in self.kinds], self.number, self.digest]

    def to_arrow(self) -> pa.Table:
        """One column for each key, all of them in memory."""
        return pa.concat_tables(self.batches())

    def numbered(self) -> Any:
        """The keys and their places, of which an engine takes some rows at a time."""
        from pyarrow import dataset

        return dataset.dataset(self.copy.path)

    def batches(self) -> Iterator[pa.Table]:
        """One column for each key, `ROWS` groups at a time."""
        return of_size(_read(self.copy.path, self.names))

    def page(self, after: int, most: int) -> pa.Table:
        """The tuples behind the first `after`, so many at most."""
        import pyarrow.parquet as pq

        first, end = min(after, self.number), min(after + most, self.number)
        with pq.ParquetFile(self.copy.path) as file:
            parts = range(first // ROWS, -(-end // ROWS)) if first < end else ()
            held = file.read_row_groups(list(parts), columns=list(self.names))
        return held.select(list(self.names)).slice(first % ROWS, end - first)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> KeyFile:
        """The tuples of a file; refuses what would not be told apart, or comes twice."""
        file = path_of("data", path)
        kinds, copy = _kinds(file), Copy()
        number, digest = _copied(kinds, file, copy)
        if not number:
            raise InvalidParameter(expected("at least one key", "data", str(path), "give the file a row."))
        if _distinct(copy.path, kinds) < number:
            cure = "remove repeated tuples: SELECT DISTINCT."
            raise InvalidParameter(expected("each key once", "data", f"{path}, with a tuple that comes again", cure))
        return cls(tuple(kinds), tuple(kinds.values()), number=number, digest=digest, copy=copy)

    def by(self, kinds: Mapping[str, Kind]) -> KeyFile:
        """The same tuples in the order of some columns, which are all that there are."""
        own = dict(zip(self.names, self.kinds, strict=True))
        for name, kind in kinds.items():
            if own[name] is not kind:
                cure = f"write them as {name!r} has them."
                raise InvalidQuery(expected(f"keys of kind {kind.value}", f"keys[{name!r}]", own[name].value, cure))
        return replace(self, names=tuple(kinds), kinds=tuple(kinds.values()))


def _read(path: Path, names: tuple[str, ...]) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS, columns=list(names)):
            yield pa.Table.from_batches([batch])


def _copied(kinds: Mapping[str, Kind], path: Path, copy: Copy) -> tuple[int, str]:
    """Writes the copy; how many tuples it has, and their digest."""
    import pyarrow.parquet as pq

    schema = pa.schema({**{name: ARROW_TYPES[kind] for name, kind in kinds.items()}, POSITION: pa.int64()})
    digest, number = hashlib.sha256(str(schema).encode() + b"\0"), 0
    with pq.ParquetWriter(copy.path, schema, compression="zstd") as writer:
        for part in of_size(_read(path, tuple(kinds))):
            plain = pa.table({name: _plain(name, kind, part[name]) for name, kind in kinds.items()})
            digest.update(lines(plain))
            places = pa.array(range(number, number + part.num_rows), pa.int64())
            writer.write_table(plain.append_column(POSITION, places), row_group_size=ROWS)
            number += part.num_rows
    return number, digest.hexdigest()


def _kinds(path: Path) -> dict[str, Kind]:
    """The columns of a file and what their keys are, by their types."""
    import pyarrow.parquet as pq

    try:
        if not path.is_file():  # one that waits for a writer, say
            raise FileNotFoundError
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException):
        cure = "give the path of a Parquet file, or a pandas, polars or Arrow table of tuples."
        raise InvalidParameter(expected("a Parquet file of keys", "data", str(path), cure)) from None
    if len(set(schema.names)) < len(schema.names):
        raise InvalidParameter(expected("columns of different names", "data", schema.names, "rename one of them."))
    return {column.name: _kind(column) for column in schema}


def _kind(column: pa.Field) -> Kind:
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    kind = next((kind for kind, holds in HELD.items() if holds(held)), None)
    if kind is None:
        cure = "cast it to text, whole numbers, truth values, dates or timestamps."
        raise InvalidParameter(expected("keys that compare exactly", f"keys[{column.name!r}]", str(column.type), cure))
    return kind


def _plain(name: str, kind: Kind, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the one type of its kind; refuses what would lose something by it."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    cure = "give whole numbers of 64 bits, whole microseconds, times of the years 1 to 9999, and text in UTF-8."
    what = f"keys of kind {kind.value}"
    refusal = InvalidParameter(expected(what, f"keys[{name!r}]", str(column.type), cure))
    try:
        if kind is Kind.TIMESTAMP:  # the same instants, said in UTC
            column = column.cast(pa.timestamp("us", column.type.tz))
            column = pa.chunked_array([chunk.view(ARROW_TYPES[kind]) for chunk in column.chunks], ARROW_TYPES[kind])
        plain = column.cast(ARROW_TYPES[kind])
        plain.validate(full=True)
    except pa.ArrowException:
        raise refusal from None
    if kind in A_DAY and not _in_calendar(plain, kind):
        raise refusal
    return plain


def _in_calendar(column: pa.ChunkedArray, kind: Kind) -> bool:
    """Whether dates and times are among those that the scan keeps: it takes later ones for the last of them."""
    numbers = pa.int32() if kind is Kind.DATE else pa.int64()
    ends = pc.min_max(pa.chunked_array([chunk.view(numbers) for chunk in column.chunks], numbers)).as_py()
    first, last = (end.toordinal() - EPOCH for end in MOMENTS[kind])
    return ends["min"] is None or (first * A_DAY[kind] <= ends["min"] and ends["max"] < (last + 1) * A_DAY[kind])


def _distinct(path: Path, names: Mapping[str, Kind]) -> int:
    """How many different tuples a file of ours has."""
    import duckdb

    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    with duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": str(path.parent)}) as connection:
        counted = f"SELECT count(*) FROM (SELECT DISTINCT {columns} FROM read_parquet(?))"  # noqa: S608 (quoted names)
        [found] = connection.execute(counted, [str(path)]).fetchone() or (0,)
    return int(found)

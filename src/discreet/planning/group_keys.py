"""Public group keys: what they may be, and the order in which they come out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import in_memory
from discreet.language.checked_expressions import Kind
from discreet.planning.batches import of_size
from discreet.privacy.declaration import Key

MOST_KEYS = 10_000_000
POSITION = "__discreet_position"
"""The column with the places of keys, wherever they are a table."""
PYTHON_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.INTEGER: (int,),
    Kind.BOOLEAN: (bool,),
    Kind.TEXT: (str,),
    Kind.DATE: (date,),
    Kind.TIMESTAMP: (datetime,),
}
ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.INTEGER: pa.int64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


class Unknown(Enum):
    """The keys of a column that cannot be listed; by what they are found."""

    UNKNOWN = "unknown"
    UNKNOWN_BY_COUNT = "unknown-by-count"

    def __repr__(self) -> str:
        return f"dp.{self.name}"


UNKNOWN_WORDS = {how.value for how in Unknown}
"""What texts, in which no object can stand, have in place of all lists of keys."""

UNKNOWN = Unknown.UNKNOWN
"""Pass ``keys=dp.UNKNOWN`` to group by whatever keys the rows have: those that enough units have are shown."""

UNKNOWN_BY_COUNT = Unknown.UNKNOWN_BY_COUNT
"""Pass ``keys=dp.UNKNOWN_BY_COUNT`` to count units or rows by such keys in one look: those with many are shown."""


@dataclass(frozen=True)
class Keys:
    """The groups of an answer: one tuple of keys each, in the order of the output."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    rows: tuple[tuple[Key, ...], ...]

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.rows)

    @property
    def facts(self) -> list[Any]:
        """What tells them from other keys; ready for JSON."""
        return [self.names, [[type(key).__name__, str(key)] for row in self.rows for key in row]]

    def to_arrow(self) -> pa.Table:
        """One column for each key."""
        return self._table

    @cached_property  # a release needs it for the engine and for the answer
    def _table(self) -> pa.Table:
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.names)
        arrays = [pa.array(column, type=ARROW_TYPES[kind]) for column, kind in zip(columns, self.kinds, strict=True)]
        return pa.table(dict(zip(self.names, arrays, strict=True)))

    def numbered(self) -> Any:
        """The same with their places, as an engine takes it."""
        return self.to_arrow().append_column(POSITION, pa.array(range(self.size), pa.int64()))

    def batches(self) -> Iterator[pa.Table]:
        """One column for each key, `ROWS` groups at a time."""
        return of_size([self.to_arrow()])


def checked_keys(name: str, keys: object) -> tuple[Key, ...]:
    """The declared keys of one column: a list without duplicates or floats."""
    cure = f"list them, as in keys={{{name!r}: ['a', 'b']}}."
    if isinstance(keys, Unknown):
        cure = f"write keys={keys!r} for all columns together; for one of several, filter by the keys of the others."
    if not in_memory(keys):
        raise InvalidParameter(expected("a list of keys", f"keys[{name!r}]", keys, cure))
    found = tuple(_plain(name, key) for key in itertools.islice(keys, MOST_KEYS + 1))
    if len(found) > MOST_KEYS:
        raise InvalidParameter(
            expected(f"at most {MOST_KEYS:,} keys", f"keys[{name!r}]", "more", "group more coarsely.")
        )
    if not found:
        raise InvalidParameter(expected("at least one key", f"keys[{name!r}]", [], cure))
    _distinct(name, found)
    return found


def _plain(name: str, key: Any) -> Key:
    """A key as a plain Python value, such that two of them are equal here exactly if the engine takes them for one."""
    if hasattr(key, "item") and not isinstance(key, str | bytes) and not getattr(key, "ndim", 0):  # a NumPy scalar
        key = key.item()
    if hasattr(key, "as_py"):  # an Arrow scalar
        key = key.as_py()
    if key is None or isinstance(key, bool):
        return key
    if isinstance(key, datetime):
        return _moment(name, key)
    if isinstance(key, date):
        return date(key.year, key.month, key.day)
    if isinstance(key, int):
        return int.__index__(key)
    if isinstance(key, str):
        text = str.__str__(key)
        if text.isascii() or text == text.encode(errors="replace").decode():
            return text
        raise InvalidParameter(expected("text that UTF-8 can hold", f"keys[{name!r}]", key, "remove the surrogates."))
    cure = "use text, whole numbers, truth values, dates or None (for NULL); group reals by .floor() or by a condition."
    raise InvalidParameter(expected("keys that compare exactly", f"keys[{name!r}]", key, cure))


def _moment(name: str, key: datetime) -> datetime | None:
    """A time as UTC without a zone; pandas' NaT as NULL."""
    if key != key:  # noqa: PLR0124 (only NaT differs from itself)
        return None
    if getattr(key, "nanosecond", 0):
        raise InvalidParameter(
            expected("whole microseconds", f"keys[{name!r}]", str(key), "timestamps are compared in microseconds.")
        )
    zone = key.utcoffset() or timedelta(0)
    try:
        plain = datetime(key.year, key.month, key.day, key.hour, key.minute, key.second, key.microsecond)  # noqa: DTZ001 (naive means UTC here)
        return plain - zone
    except OverflowError:
        cure = "give a time between the years 1 and 9999."
        raise InvalidParameter(expected("a time that UTC can hold", f"keys[{name!r}]", str(key), cure)) from None


def _distinct(name: str, keys: Iterable[Any]) -> None:
    seen = set()
    for key in keys:
        mark = tuple((type(part) is bool, part) for part in (key if isinstance(key, tuple) else (key,)))
        if mark in seen:
            raise InvalidParameter(expected("each key once", f"keys[{name!r}]", key, "remove the repeated key."))
        seen.add(mark)


def comparable(kinds: Mapping[str, Kind]) -> None:
    """Refuses groups by values that do not compare exactly."""
    for name, kind in kinds.items():
        if kind is Kind.REAL:
            raise InvalidQuery(
                f"Expected groups that compare exactly, got the real numbers of {name!r}.\n"
                "Hint: group by .floor(), by a condition, or by a column of whole numbers."
            )


def grouping(
    kinds: Mapping[str, Kind], declared: Mapping[str, tuple[Key, ...]], keys: object, most: int | None = None
) -> Keys:
    """The keys of a group_by: those given with it, or declared with the table, or the two truth values of a condition.

    `kinds` has the group columns in the analyst's order; `keys` is a dict (the cross product of its lists), or None.
    Of more than `most` groups nothing is written out.
    """
    lists = key_lists(kinds, declared, keys)
    size = math.prod(map(len, lists))
    check_cells(size, most)
    if size > MOST_KEYS:
        raise InvalidQuery(
            f"Expected at most {MOST_KEYS:,} groups, got the {size:,} of a cross product.\n"
            "Hint: group more coarsely, or ask the curator for the tuples that matter: keys=dp.public_keys(table)."
        )
    return Keys(tuple(kinds), tuple(kinds.values()), tuple(itertools.product(*lists)))


def check_cells(cells: int, most: int | None) -> None:
    """Refuses a question whose answer has more cells, groups times columns, than is asked of one."""
    if most is not None and cells > most:
        cure = "group more coarsely, or ask for less at a time; the service file has [limits] cells."
        raise InvalidQuery(expected(f"at most {most:,} cells in an answer", "cells", f"{cells:,}", cure))


def key_lists(
    kinds: Mapping[str, Kind], declared: Mapping[str, tuple[Key, ...]], keys: object
) -> list[tuple[Key, ...]]:
    """The lists of keys whose cross product `grouping` gives, one for each column."""
    comparable(kinds)
    if keys is not None and not isinstance(keys, Mapping):
        cure = (
            f"list them, keys={{{next(iter(kinds))!r}: [...]}}, or keys=dp.UNKNOWN. Tuples in a file or a frame have "
            "to be marked as public by the curator: keys=dp.public_keys(...)."
        )
        raise InvalidParameter(expected("a dict of lists of keys, or public keys", "keys", keys, cure))
    known, lists = {**declared, **({} if keys is None else _own(kinds, keys))}, []
    for name, kind in kinds.items():
        if name not in known and kind is not Kind.BOOLEAN:
            raise InvalidQuery(
                f"Expected the public keys of {name!r}, got none.\n"
                f"Hint: list them, .group_by({name!r}, keys={{{name!r}: [...]}}) or dp.protect(keys=...). "
                "Keys read from the rows would reveal individuals; keys=dp.UNKNOWN finds those that many units have."
            )
        own = known.get(name, (False, True))
        lists.append(tuple(key for (key,) in typed({name: kind}, [(key,) for key in own]).rows))
    return lists


def typed(kinds: Mapping[str, Kind], rows: Sequence[tuple[Key, ...]]) -> Keys:
    """Rows as the keys of columns; refuses those that are no keys of their kinds."""
    for i, (name, kind) in enumerate(kinds.items()):
        allowed = PYTHON_TYPES[kind]
        for row in rows:
            key = row[i]
            wrong = isinstance(key, bool) is not (kind is Kind.BOOLEAN) or not isinstance(key, allowed)
            wrong = wrong or (kind is Kind.DATE and isinstance(key, datetime))
            wrong = wrong or (kind is Kind.INTEGER and isinstance(key, int) and not -(2**63) <= key < 2**63)
            if key is not None and wrong:
                cure = f"write them as {name!r} has them."
                raise InvalidQuery(expected(f"keys of kind {kind.value}", f"keys[{name!r}]", key, cure))
    return Keys(tuple(kinds), tuple(kinds.values()), tuple(rows))


def _own(kinds: Mapping[str, Kind], keys: Mapping[Any, Any]) -> dict[str, tuple[Key, ...]]:
    for name in keys:
        if name not in kinds:
            raise InvalidQuery(expected("keys of the columns grouped by", "keys", name, nearest_name(name, kinds)))
    return {name: checked_keys(name, values) for name, values in keys.items()}


def tuples(table: Any) -> tuple[tuple[str, ...], tuple[tuple[Key, ...], ...]]:
    """The columns of a frame and its rows: exact tuples of keys, each once."""
    if isinstance(table, pa.Table):
        _distinct("keys", table.column_names)
        columns = {name: _held(name, table[name]) for name in table.column_names}
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        _distinct("keys", list(table.columns))
        columns = {str(name): _column(table[name]) for name in table.columns}
    else:
        cure = "give the path of a Parquet file, or a pandas, polars or Arrow table; a dict of lists needs no mark."
        raise InvalidParameter(expected("a file or a frame of keys", "data", table, cure))
    rows = tuple(zip(*([_plain(name, key) for key in column] for name, column in columns.items()), strict=True))
    if not rows:
        raise InvalidParameter(expected("at least one key", "data", [], "give the table a row."))
    if len(rows) > MOST_KEYS:
        cure = "write them to a Parquet file, and give its path."
        raise InvalidParameter(expected(f"at most {MOST_KEYS:,} tuples in memory", "data", f"{len(rows):,}", cure))
    _distinct(", ".join(columns), rows)
    return tuple(columns), rows


def _held(name: str, column: pa.ChunkedArray) -> list[Any]:
    """The values of an Arrow column."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):  # text that is not UTF-8, years that Python does not have
        kind = str(column.type)
    else:
        return values
    cure = "write text in UTF-8, and dates and times of the years 1 to 9999."
    raise InvalidParameter(expected("keys that can be read", f"type of {name!r}", kind, cure))


def _column(column: Any) -> list[Any]:
    """The values of a frame's column; what pandas calls missing is None."""
    if not hasattr(column, "isna"):
        return list(column)
    return [None if missing else key for key, missing in zip(column, column.isna(), strict=True)]

"""Public group keys: what they may be, and the order in which they come out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest
from discreet.query.batches import of_size
from discreet.query.language.values import MOMENTS, Kind
from discreet.query.source import Key

MOST_KEYS = 10_000_000
POSITION = "__discreet_position"
"""The column with the places of keys, wherever they are a table."""
LAST_MOMENT = MOMENTS[Kind.TIMESTAMP][1]
"""As which the scan counts all that is later."""
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


@dataclass(frozen=True, slots=True)
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
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.names)
        arrays = [pa.array(column, type=ARROW_TYPES[kind]) for column, kind in zip(columns, self.kinds, strict=True)]
        return pa.table(dict(zip(self.names, arrays, strict=True)))

    def numbered(self) -> Any:
        """The same with their places, as an engine takes it."""
        return self.to_arrow().append_column(POSITION, pa.array(range(self.size), pa.int64()))

    def batches(self) -> Iterator[pa.Table]:
        """One column for each key, `ROWS` groups at a time."""
        return of_size([self.to_arrow()])


def listed(name: str, keys: object) -> tuple[Key, ...]:
    """The declared keys of one column: a list without duplicates or floats."""
    cure = f"list them, as in keys={{{name!r}: ['a', 'b']}}."
    if getattr(keys, "name", None) == "UNKNOWN":
        cure = "write keys=dp.UNKNOWN for all columns together; for one of several, filter by the keys of the others."
    # A set has no order, and an array without dimensions has no elements.
    no_list = isinstance(keys, str | bytes | Mapping | set | frozenset) or getattr(keys, "ndim", 1) == 0
    if no_list or not isinstance(keys, Iterable):
        raise InvalidParameter(expected("a list of keys", f"keys[{name!r}]", keys, cure))
    found = tuple(_plain(name, key) for key in itertools.islice(keys, MOST_KEYS + 1))
    if len(found) > MOST_KEYS:
        raise InvalidParameter(
            expected(f"at most {MOST_KEYS:,} keys", f"keys[{name!r}]", "more", "group more coarsely.")
        )
    if not found:
        raise InvalidParameter(expected("at least one key", f"keys[{name!r}]", [], cure))
    _distinct(name, [(type(key) is bool, key) for key in found])
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


def _distinct(name: str, rows: Sequence[Any]) -> None:
    seen = set()
    for row in rows:
        if row in seen:
            key = row[1] if isinstance(row, tuple) and len(row) == 2 and isinstance(row[0], bool) else row
            raise InvalidParameter(expected("each key once", f"keys[{name!r}]", key, "remove the repeated key."))
        seen.add(row)


def comparable(kinds: Mapping[str, Kind]) -> None:
    """Refuses groups by values that do not compare exactly."""
    for name, kind in kinds.items():
        if kind is Kind.REAL:
            raise InvalidQuery(
                f"Expected groups that compare exactly, got the real numbers of {name!r}.\n"
                "Hint: group by .floor(), by a condition, or by a column of whole numbers."
            )


def grouping(kinds: Mapping[str, Kind], declared: Mapping[str, tuple[Key, ...]], keys: object) -> Keys:
    """The keys of a group_by: those given with it, or declared with the table, or the two truth values of a condition.

    `kinds` has the group columns in the analyst's order; `keys` is a dict (their cross product), a table of exact
    tuples, or None.
    """
    comparable(kinds)
    if keys is None or isinstance(keys, Mapping):
        rows = _product(kinds, {**declared, **({} if keys is None else _own(kinds, keys))})
    else:
        rows = _tuples(kinds, keys)
    _typed(kinds, rows)
    return Keys(tuple(kinds), tuple(kinds.values()), tuple(rows))


def _own(kinds: Mapping[str, Kind], keys: Mapping[Any, Any]) -> dict[str, tuple[Key, ...]]:
    for name in keys:
        if name not in kinds:
            raise InvalidQuery(expected("keys of the columns grouped by", "keys", name, nearest(str(name), kinds)))
    return {name: listed(name, values) for name, values in keys.items()}


def _product(kinds: Mapping[str, Kind], lists: Mapping[str, tuple[Key, ...]]) -> list[tuple[Key, ...]]:
    columns: list[tuple[Key, ...]] = []
    for name, kind in kinds.items():
        if name not in lists and kind is not Kind.BOOLEAN:
            raise InvalidQuery(
                f"Expected the public keys of {name!r}, got none.\n"
                f"Hint: list them, .group_by({name!r}, keys={{{name!r}: [...]}}) or dp.protect(keys=...). "
                "Keys taken from the rows would give people away; keys=dp.UNKNOWN finds those that many have."
            )
        columns.append(lists.get(name, (False, True)))
    size = math.prod(len(column) for column in columns)
    if size > MOST_KEYS:
        raise InvalidQuery(
            f"Expected at most {MOST_KEYS:,} groups, got the {size:,} of a cross product.\n"
            "Hint: give a table of the tuples that matter, keys=table, or a file of them, keys='tuples.parquet'."
        )
    return list(itertools.product(*columns))


def _tuples(kinds: Mapping[str, Kind], table: Any) -> list[tuple[Key, ...]]:
    if hasattr(table, "to_dict") and hasattr(table, "columns") and not isinstance(table, pa.Table):
        _distinct("keys", list(table.columns))
        columns = {str(name): _column(table[name]) for name in table.columns}
    elif isinstance(table, pa.Table):
        columns = table.to_pydict()
    else:
        raise InvalidParameter(
            expected(
                "a dict or a table of keys",
                "keys",
                type(table).__name__,
                "give keys={'plan': [...]}, a table of tuples, the path of a Parquet file, or keys=dp.UNKNOWN.",
            )
        )
    if set(columns) != set(kinds):
        raise InvalidQuery(
            expected(
                f"a table of keys with the columns {list(kinds)}",
                "keys",
                list(columns),
                "name its columns as the groups are named.",
            )
        )
    rows = list(zip(*([_plain(name, key) for key in columns[name]] for name in kinds), strict=True))
    if not rows:
        raise InvalidParameter(expected("at least one key", "keys", [], "give the table a row."))
    _distinct(", ".join(kinds), rows)
    return rows


def _column(column: Any) -> list[Any]:
    """The values of a frame's column; what pandas calls missing is None."""
    if not hasattr(column, "isna"):
        return list(column)
    return [None if missing else key for key, missing in zip(column, column.isna(), strict=True)]


def _typed(kinds: Mapping[str, Kind], rows: Iterable[tuple[Key, ...]]) -> None:
    for i, (name, kind) in enumerate(kinds.items()):
        allowed = PYTHON_TYPES[kind]
        for row in rows:
            key = row[i]
            wrong = isinstance(key, bool) is not (kind is Kind.BOOLEAN) or not isinstance(key, allowed)
            wrong = wrong or (kind is Kind.DATE and isinstance(key, datetime))
            wrong = wrong or (kind is Kind.INTEGER and isinstance(key, int) and not -(2**63) <= key < 2**63)
            if key is not None and wrong:
                raise InvalidQuery(
                    expected(f"keys of kind {kind.value}", f"keys[{name!r}]", key, f"write them as {name!r} has them.")
                )
            if isinstance(key, datetime) and key > LAST_MOMENT:
                cure = f"what is later counts as {LAST_MOMENT}: write that."
                raise InvalidQuery(expected(f"times up to {LAST_MOMENT}", f"keys[{name!r}]", str(key), cure))

"""Makes neighbors of a table that are likely to reveal faults: extreme units removed, unusual ones added."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.privacy.definitions import Neighbors

MANY = 200
"""Rows of a unit that has far too many."""
MOST_GROUPS = 50
REMOVED = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbor:
    """A table that differs from another one by one unit, and in words how."""

    words: str
    data: pa.Table

    def __repr__(self) -> str:
        return f"Neighbor({self.words}, {self.data.num_rows} rows)"


def neighbors(data: pa.Table, unit: Sequence[str] = (), *, kind: str = "add-remove") -> list[Neighbor]:
    """The worst neighbors of a table that can be guessed from its columns.

    Args:
        data: an Arrow table.
        unit: the columns that name the unit; none where each row is one.
        kind: "add-remove", or "replace-one".

    Raises:
        InvalidParameter: a column of the unit is not there, or the kind is unknown.

    >>> table = pa.table({"person": [1, 1, 2], "x": [0.5, 0.25, 9.0]})
    >>> for one in neighbors(table, ["person"])[:3]:
    ...     print(one.words, one.data.num_rows)
    without the unit of most rows 1
    without the unit of the largest x 2
    with one more unit, like another one 5
    """
    kinds = [known.value for known in Neighbors]
    if kind not in kinds:
        raise InvalidParameter(expected("neighbors", "neighbors", kind, nearest_name(kind, kinds)))
    for name in unit:
        if name not in data.column_names:
            raise InvalidParameter(
                expected("a column of the table", "unit", name, nearest_name(name, data.column_names))
            )
    removed = list(_distinct(_removals(data, unit)))[:REMOVED]
    if kind == Neighbors.ADD_REMOVE.value:
        return [*removed, *_distinct(_added(data, data, unit, "with one more unit"))]
    found = [
        other
        for one in removed[:3]
        for other in _added(one.data, data, unit, f"{one.words}, and instead")
        if unit or other.data.num_rows == data.num_rows
    ]
    return list(_distinct(iter(found)))


def _distinct(found: Iterator[Neighbor]) -> Iterator[Neighbor]:
    seen: list[pa.Table] = []
    for one in found:
        if not any(one.data.equals(other) for other in seen):
            seen.append(one.data)
            yield one


def _removals(data: pa.Table, unit: Sequence[str]) -> Iterator[Neighbor]:
    """Without the units that stand out."""
    if not data.num_rows:
        return
    if unit:
        sizes = data.group_by(list(unit)).aggregate([([], "count_all")]).sort_by([("count_all", "descending")])
        most = [sizes[name][0] for name in unit]
        yield Neighbor(words="without the unit of most rows", data=_without(data, unit, most))
    for name in data.column_names:
        if name in unit:
            continue
        for words, row in _extremes(data[name]):
            values = [data[column][row] for column in unit]
            rest = _without(data, unit, values) if unit else _without_row(data, row)
            yield Neighbor(words=f"without the unit of {words} {name}", data=rest)
    for words, row in (("first", 0), ("last", data.num_rows - 1)):
        values = [data[column][row] for column in unit]
        rest = _without(data, unit, values) if unit else _without_row(data, row)
        yield Neighbor(words=f"without the {words} unit", data=rest)


def _extremes(column: pa.ChunkedArray) -> Iterator[tuple[str, int]]:
    """The rows with the largest, the smallest and the rarest value."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        ends = pc.min_max(column, skip_nulls=True)
        for words, end in (("the largest", ends["max"]), ("the smallest", ends["min"])):
            if end.is_valid and (row := pc.index(column, end).as_py()) >= 0:
                yield words, row
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        counts = pc.value_counts(column.drop_null())
        if len(counts):
            rarest = min(counts.to_pylist(), key=lambda one: (one["counts"], one["values"]))
            yield "the rarest", pc.index(column, pa.scalar(rarest["values"], kind)).as_py()


def _without(data: pa.Table, unit: Sequence[str], values: Sequence[Any]) -> pa.Table:
    mask = None
    for name, value in zip(unit, values, strict=True):
        same = pc.is_null(data[name]) if not value.is_valid else pc.fill_null(pc.equal(data[name], value), False)  # noqa: FBT003 (Arrow's argument)
        mask = same if mask is None else pc.and_(mask, same)
    return data.filter(pc.invert(mask))


def _without_row(data: pa.Table, row: int) -> pa.Table:
    return pa.concat_tables([data.slice(0, row), data.slice(row + 1)])


def _added(base: pa.Table, like: pa.Table, unit: Sequence[str], words: str) -> Iterator[Neighbor]:
    """With one more unit, whose rows are copies of a row of `like` with strange values."""
    model = like.slice(0, 1) if like.num_rows else _blank(like.schema)
    for name in unit:
        model = with_value(model, name, _new(like[name]))
    if like.num_rows and unit:
        first = pc.equal(like[unit[0]], like[unit[0]][0])
        copy = like.filter(first)
        for name in unit:
            copy = with_value(copy, name, _new(like[name]))
        yield Neighbor(words=f"{words}, like another one", data=pa.concat_tables([base, copy]))
    yield Neighbor(words=f"{words}, of one row", data=pa.concat_tables([base, model]))
    for name in like.column_names:
        if name in unit:
            continue
        for told, value in _strange(like[name]):
            row = with_value(model, name, value)
            if row is not None:
                told_all = f"{words}, whose {name} is {told}"
                yield Neighbor(words=told_all, data=pa.concat_tables([base, row]))
    if unit:
        many = pa.concat_tables([model] * MANY)
        yield Neighbor(words=f"{words}, of {MANY} rows", data=pa.concat_tables([base, many]))
        yield from _everywhere(base, like.drop_columns(list(unit)), (model, words))


def _everywhere(base: pa.Table, like: pa.Table, new: tuple[pa.Table, str]) -> Iterator[Neighbor]:
    """A unit with rows in every group that a text column makes."""
    model, words = new
    for name in like.column_names:
        if pa.types.is_string(like[name].type) or pa.types.is_large_string(like[name].type):
            values = pc.unique(like[name].drop_null())[:MOST_GROUPS]
            if len(values) > 1:
                rows = [with_value(model, name, value) for value in values for _ in range(3)]
                told = f"{words}, with rows in every {name}"
                yield Neighbor(words=told, data=pa.concat_tables([base, *rows]))


def _blank(schema: pa.Schema) -> pa.Table:
    columns = [pa.array([_ordinary(field.type)], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _ordinary(kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return 1
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "a"
    return False if pa.types.is_boolean(kind) else None


def with_value(row: pa.Table, name: str, value: Any) -> Any:
    """Rows with another value in one column, or None where the type cannot hold it."""
    place, field = row.schema.get_field_index(name), row.schema.field(name)
    try:
        scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, field.type)
        return row.set_column(place, field, pa.array([scalar.as_py()] * row.num_rows, field.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None


def _new(column: pa.ChunkedArray) -> Any:
    """The name of a unit that is not there."""
    if pa.types.is_integer(column.type):
        top = pc.max(column).as_py()
        return 1 if top is None else top + 1
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        taken = set(column.to_pylist())
        return next(name for name in (f"new{i}" for i in range(len(taken) + 1)) if name not in taken)
    top = pc.max(column).as_py() if len(column) else None
    return 1 if top is None else top + type(top)(1) if isinstance(top, float) else top


def _strange(column: pa.ChunkedArray) -> Iterator[tuple[str, Any]]:
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        ends = pc.min_max(column)
        size = max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0), 1)
        for told, value in (
            ("huge", size * 1000), ("hugely negative", -size * 1000), ("beyond all others", size * 2), ("zero", 0),
        ):  # fmt: skip
            yield told, float(value) if pa.types.is_floating(kind) else int(value)
        if pa.types.is_floating(kind):
            yield from (("NaN", math.nan), ("infinite", math.inf), ("a fraction", 0.1))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from (("a text that nobody else has", "text of nobody else"), ("empty", ""))
    yield "NULL", None

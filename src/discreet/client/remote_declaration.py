"""The declaration of a data set as its service states it, checked as a curator's own declaration is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import quote

import ibis
import ibis.expr.schema as sch
import pyarrow as pa

from discreet.client.service_bodies import list_of_objects, malformed, mapping, reading
from discreet.client.service_connection import ServiceConnection
from discreet.curator.protect_two_units import stated_pair
from discreet.curator.stated_facts import stated_bounds, stated_keys, stated_neighbors, stated_unit
from discreet.exact.amounts import whole_number
from discreet.exact.written_amounts import stored_amount
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import kind_of
from discreet.planning.group_keys import ARROW_TYPES
from discreet.planning.unspecified import AUTO, WIDEST
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import ROW, Neighbors

LIMITS = ("max_groups", "max_rows")
DECLARED: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "version", "neighbors"), str),
    "unit": (str, list),
    "size": (int, type(None)),
    "limits": dict,
    "columns": list,
}
"""What is read of the declaration of a data set."""
LONG = "key_count"
"""How many keys a column has whose list is not in the declaration, but a resource of its own."""
KEYS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("columns", "types", "keys"), list),
    "size": int,
    "next": (int, type(None)),
}
"""What is read of a page of keys."""


def with_long_lists(connection: ServiceConnection, facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """A declaration with all keys in it, the long lists fetched page by page."""
    stated = mapping("the declaration of a data set", facts, **DECLARED)
    of, columns = quote(stated["name"], safe=""), list_of_objects("columns of a data set", stated["columns"], name=str)

    def full(column: Mapping[str, Any]) -> Mapping[str, Any]:
        name, size = column["name"], column.get(LONG)
        if size is None:
            return column
        place = f"/datasets/{of}/columns/{quote(name, safe='')}/keys"
        pages = fetched_keys(connection, place, [name], size)
        return {**column, "keys": [key for _, keys in pages for (key,) in keys]}

    return {**stated, "columns": [full(column) for column in columns]}


def fetched_keys(
    connection: ServiceConnection, place: str, columns: Sequence[str], size: object
) -> Iterator[tuple[Sequence[Kind], list[list[Any]]]]:
    """The pages of so many keys of some columns: what the columns are, and the keys as they are sent."""
    what, after = f"{size} keys of {list(columns)}", 0
    while True:
        page = mapping(what, connection.get(place, after=after), **KEYS)
        with reading(what):
            kinds, keys = [Kind(one) for one in page["types"]], page["keys"]
            after += len(keys)
            is_last = page["next"] is None
            follows = after == size if is_last else after == page["next"] and after < page["size"]
            if page["columns"] != list(columns) or page["size"] != size or not keys or not follows:
                raise malformed(what)
            if len(kinds) != len(columns) or any(not isinstance(one, list) or len(one) != len(columns) for one in keys):
                raise malformed(what)
        yield kinds, keys
        if is_last:
            return


def fetched_tuples(connection: ServiceConnection, place: str, columns: Sequence[str], size: object) -> pa.Table:
    """Public tuples, as the curator of a data set named them."""
    parts: list[pa.Table] = []
    for kinds, keys in fetched_keys(connection, place, columns, size):
        with reading(f"{size} keys of {list(columns)}"):
            values = [[_key(kind, one[i]) for one in keys] for i, kind in enumerate(kinds)]
            arrays = [pa.array(column, ARROW_TYPES[kind]) for kind, column in zip(kinds, values, strict=True)]
            parts = [pa.concat_tables([*parts, pa.table(dict(zip(columns, arrays, strict=True)))])]  # of the same types
    return parts[0]


def declared(facts: Mapping[str, Any]) -> tuple[Declaration, sch.Schema]:
    """The declaration of a data set, as its service states it."""
    with reading("the declaration of a data set"):
        found, schema = _declared(mapping("the declaration of a data set", facts, **DECLARED))
        # What is stated here is checked as a curator's own declaration is.
        unit: Any = found.unit or ROW
        read = stated_pair if found.each_of else stated_unit
        if (found.unit or found.each_of) and read(unit, schema) != found.unit:
            raise ValueError(unit)
        stated_neighbors(
            facts["neighbors"],
            rows=None if found.unit else found.size,
            units=found.size if found.unit else None,
            by_row=not found.unit,
        )
        bounds = {name: pair for name, pair in found.bounds.items() if name not in found.auto_bounds}
        stated_bounds(bounds, schema, unit)
        stated_keys(found.keys, schema)
        if any(limit is not None and whole_number("limit", limit) < 1 for limit in (found.max_groups, found.max_rows)):
            raise ValueError(facts["limits"])
        if not all(isinstance(name, str) for step in found.via for pair in step for name in pair):
            raise ValueError(found.via)
    return found, schema


def _declared(facts: Mapping[str, Any]) -> tuple[Declaration, sch.Schema]:
    schema = ibis.schema({column["name"]: column["type"] for column in facts["columns"]})
    limits = {name: facts["limits"][name] for name in LIMITS}
    bounds: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for column in facts["columns"]:
        name, kind = column["name"], kind_of(schema[column["name"]])
        if column["bounds"] is not None:
            is_auto = column["bounds"] == AUTO
            bounds[name] = (-WIDEST, WIDEST) if is_auto else tuple(_value(kind, end) for end in column["bounds"])
        if column["keys"] is not None:
            keys[name] = tuple(_key(kind, key) for key in column["keys"])
    found = Declaration(
        name=facts["name"],
        version=facts["version"],
        unit=() if isinstance(facts["unit"], str) else tuple(facts["unit"]),
        each_of=facts.get("each_of", False) is not False,
        via=tuple(tuple(step.items()) for step in facts.get("via", ())),
        neighbors=Neighbors(facts["neighbors"]),
        size=facts["size"],
        bounds=bounds,
        keys=keys,
        max_groups=1 if limits["max_groups"] == AUTO else limits["max_groups"],
        max_rows=1 if limits["max_rows"] == AUTO else limits["max_rows"],
        auto_limits=frozenset(name for name, limit in limits.items() if limit == AUTO),
        auto_bounds=frozenset(one["name"] for one in facts["columns"] if one["bounds"] == AUTO),
    )
    return found, schema


def _key(kind: Kind | None, key: Any) -> Any:
    return key if not isinstance(key, str) or kind not in (Kind.DATE, Kind.TIMESTAMP) else _value(kind, key)


def _value(kind: Kind | None, text: str) -> Any:
    if kind is Kind.DATE:
        return date.fromisoformat(text)
    return datetime.fromisoformat(text) if kind is Kind.TIMESTAMP else stored_amount(text)

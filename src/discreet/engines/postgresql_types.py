"""The types of PostgreSQL's columns, as the server reports them.

Claim
    Each column of a `with_server_types` table is of the type that Ibis takes it for, or shown as text. The others are
    named, with their types. No row is read for it.
Requires
    Nothing: Ibis goes by the names of types, and a domain may have any. One called tinyint may hold texts, of which the
    first one that is no number would make a statement raise.
Relies on
    The description that PostgreSQL sends ahead of rows: of a domain, of a domain over a domain as well, it has the type
    below (SendRowDescription, since version 7.4). LIMIT 0, for which no row is fetched. The numbers of built-in types,
    which are the same on every server.
Proof
    A column stays what it is where Ibis's type is that of the number that was told, or both are integers, which are
    read by a cast to the widest. What Ibis shows as text is read by PostgreSQL's output, which every type has. Of those
    that Ibis has no word for, a domain becomes the type below and an enum text: the first cast changes no value and has
    no length or precision to change one by, the second gives the label; neither can raise. All others are left out.
Rounding
    None.
Source
    PostgreSQL 15, sections 8.18 (domains), 8.7 (enums) and 55.7 (RowDescription).
Mutant
    names-of-types-are-believed: a column stays what Ibis says; killed by test_a_name_of_a_type_is_not_believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis.expr.datatypes as dt
import ibis.expr.types as ir

from discreet.language.barrier import kind_of

TYPES: dict[int, dt.DataType] = {
    16: dt.boolean,
    **dict.fromkeys((20, 26), dt.int64),
    21: dt.int16,
    23: dt.int32,
    700: dt.float32,
    701: dt.float64,
    **dict.fromkeys((790, 1700), dt.Decimal(None, None)),
    **dict.fromkeys((19, 25, 1042, 1043), dt.string),
    1082: dt.date,
    1114: dt.Timestamp(),
    1184: dt.Timestamp("UTC"),
    2950: dt.uuid,
}
"""What Ibis takes each built-in type for that is read, by its number; texts and decimals without a limit."""

NAMES = "SELECT oid, pg_catalog.format_type(oid, NULL), typtype = 'e' FROM pg_catalog.pg_type WHERE oid = ANY(%s)"


def with_server_types(cursor: Any, raw: ir.Table, written: str) -> tuple[ir.Table, dict[str, str]]:
    """A table, `written` in SQL, as the server tells its types; and its columns that are not read, with their types.

    Where none is read, the table is left as it is, and nothing can be asked of it. What is left out of `written` keeps
    the type that Ibis knows.
    """
    cursor.execute(f"SELECT * FROM ({written}) AS raw LIMIT 0")  # noqa: S608 (the curator's own table)
    codes = {column.name: column.type_code for column in cursor.description}
    names = {code: (name, is_enum) for code, name, is_enum in cursor.execute(NAMES, [[*codes.values()]]).fetchall()}
    kinds = TYPES | {code: dt.string for code, (_, is_enum) in names.items() if is_enum}
    schema = raw.schema()
    held, closed = _sorted(schema, {name: kinds.get(code) for name, code in codes.items()})
    seen = [(raw[name] if kind is None else raw[name].cast(kind)).name(name) for name, kind in held.items()]
    is_changed = any(held.values()) or any(kind_of(schema[name]) for name in closed)
    called = {name: names[codes[name]][0] if name in codes else str(schema[name]) for name in closed}
    return (raw.select(seen) if seen and is_changed else raw), called


def _sorted(
    schema: Mapping[str, dt.DataType], found: Mapping[str, dt.DataType | None]
) -> tuple[dict[str, dt.DataType | None], list[str]]:
    """The columns that are read, each with the type that it has to be cast to, or none; and those that are not."""
    held: dict[str, dt.DataType | None] = {}
    closed = []
    for name, known in schema.items():
        kind = found.get(name)
        if known.is_unknown() and kind is not None:
            held[name] = kind
        elif kind_of(known) is not None and (known.is_string() if kind is None else _agree(known, kind)):
            held[name] = None
        else:
            closed.append(name)
    return held, closed


def _agree(known: dt.DataType, kind: dt.DataType) -> bool:
    whole = known.is_integer() and kind.is_integer() and not known.is_uint64()
    return whole or type(known) is type(kind)

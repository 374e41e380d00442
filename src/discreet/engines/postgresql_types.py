"""The types of PostgreSQL's columns, as the server reports them.

Claim
    Each column of a `with_server_types` table is of the type that Ibis takes it for, or shown as text by a function of
    PostgreSQL's own. The others are named, with their types. No row is read for it. `check` refuses a table whose
    columns have other types by now, or numbers of another scale, and from then on they stay what they are until its
    transaction ends. A `numeric` that is shown with a scale has that scale in all rows.
Requires
    Nothing: Ibis goes by the names of types, and a domain may have any. One called tinyint may hold texts, of which the
    first one that is no number would make a statement raise.
Relies on
    The description that PostgreSQL sends ahead of rows: of a domain, of a domain over a domain as well, it has the type
    below (SendRowDescription, since version 7.4). LIMIT 0, for which no row is fetched. The numbers of built-in types,
    which are the same on every server. The lock that a table has once a statement about it was planned, which ALTER
    TABLE waits for. The modifier of a type: all numbers of a column with a scale have it.
Proof
    A column stays what it is where Ibis's type is that of the number that was told, or both are integers, which are
    read by a cast to the widest; but an oid is cast to bigint: one that is compared with it would be cast to oid, which
    most cannot be. A numeric of another scale than Ibis knows is cast to one of any scale: where a scale is known,
    units are compared as texts, and 1.0 and 1.00 are one number and two texts. What Ibis shows as text is read by
    PostgreSQL's output, which every type has. Of those that Ibis has no word for, a domain becomes the type below and
    an enum text: the first cast changes no value and has no length or precision to change one by, the second gives the
    label; neither can raise. All others are left out.
    An enum is not cast to text, which whoever owns the type may define: a function of theirs would run with the
    curator's rights. Nor is a composite, whatever name it has. `concat` goes by output functions.
Rounding
    None.
Source
    PostgreSQL 15, sections 8.18 (domains), 8.7 (enums) and 55.7 (RowDescription).
Mutant
    types-at-first: the types of columns are those that they had at first; killed by
    test_a_column_of_another_type_is_refused.
    enums-by-their-owners-cast: an enum is cast to text; killed by test_what_is_shown_as_text_is_text.
    names-of-types-are-believed: a column stays what Ibis says; killed by test_a_name_of_a_type_is_not_believed.
    scales-of-ibis: a scale that the server does not tell of is believed; killed by
    test_a_scale_that_is_not_the_servers_is_not_believed.
    scales-at-first: numbers may have another scale later; killed by test_a_column_of_another_type_is_refused.
    oids-as-they-are: an oid is compared with a bigint; killed by test_an_oid_is_cast_to_bigint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.language.input_barrier import kind_of

OID, NUMERIC = 26, 1700
Told = dict[str, tuple[int, int | None]]
"""Of each column the number of its type, and the scale of a `numeric`, where it has one."""
TYPES: dict[int, dt.DataType] = {
    16: dt.boolean,
    **dict.fromkeys((20, OID), dt.int64),
    21: dt.int16,
    23: dt.int32,
    700: dt.float32,
    701: dt.float64,
    **dict.fromkeys((790, NUMERIC), dt.Decimal(None, None)),
    **dict.fromkeys((19, 25, 1042, 1043), dt.string),
    1082: dt.date,
    1114: dt.Timestamp(),
    1184: dt.Timestamp("UTC"),
    2950: dt.uuid,
}
"""What Ibis takes each built-in type for that is read, by its number; texts and decimals without a limit."""

NAMES = "SELECT oid, pg_catalog.format_type(oid, NULL), typtype FROM pg_catalog.pg_type WHERE oid = ANY(%s)"
ENUM, BASE = "e", "b"
"""The kinds of types that are read; those of the second one are made by superusers alone."""


@ibis.udf.scalar.builtin(name="concat", database="pg_catalog", signature=((None,), dt.string))  # type: ignore[untyped-decorator]  # Ibis's own
def _label(value: Any) -> Any:
    """What the output function of a type writes, whoever owns it; of NULL, the empty text."""


class OtherTypes(Exception):
    """A table whose columns have other types than it was protected with, that is stored no more, or a sample by now."""


def column_types(cursor: Any, written: str) -> Told:
    """The columns of a table, `written` in SQL, and their types; the table is locked as for a look."""
    cursor.execute(f"SELECT * FROM ({written}) AS raw LIMIT 0")  # noqa: S608 (the curator's own table)
    return {one.name: (one.type_code, one.scale if one.type_code == NUMERIC else None) for one in cursor.description}


def check(cursor: Any, written: str, protected: Told) -> None:
    """Refuses a table without a column that it was protected with, or with another type of it."""
    now = column_types(cursor, written) if written else protected
    if any(now.get(name) != told for name, told in protected.items()):
        raise OtherTypes


def with_server_types(cursor: Any, raw: ir.Table, told: Told) -> tuple[ir.Table, dict[str, str]]:
    """A table as the server told its types; and its columns that are not read, with their types.

    Where none is read, the table is left as it is, and nothing can be asked of it. What was not told of keeps the type
    that Ibis knows.
    """
    codes = {name: code for name, (code, _) in told.items()}
    names = {code: (name, kind) for code, name, kind in cursor.execute(NAMES, [[*codes.values()]]).fetchall()}
    of_kind = {name: names[code][1] for name, code in codes.items() if code in names}
    enums = {name for name, kind in of_kind.items() if kind == ENUM}
    schema = raw.schema()
    known = {name: dt.string if name in enums else TYPES.get(code) for name, code in codes.items()}
    held, closed = _sorted(schema, known, {name for name, kind in of_kind.items() if kind == BASE})
    held |= {name: dt.int64 for name in held if codes.get(name) == OID}
    scaled = {name: schema[name].scale for name in held if codes.get(name) == NUMERIC and schema[name].is_decimal()}
    held |= {name: TYPES[NUMERIC] for name, scale in scaled.items() if told[name][1] != scale}
    seen = [_shown(raw[name], kind, is_enum=name in enums).name(name) for name, kind in held.items()]
    is_changed = any(held.values()) or any(kind_of(schema[name]) for name in closed) or not enums.isdisjoint(held)
    called = {name: names[codes[name]][0] if name in codes else str(schema[name]) for name in closed}
    return (raw.select(seen) if seen and is_changed else raw), called


def _shown(column: Any, kind: dt.DataType | None, *, is_enum: bool) -> ir.Value:
    if is_enum:
        return ibis.cases((column.notnull(), _label(column)))
    return column if kind is None else ops.Cast(column, kind).to_expr()  # Ibis takes an oid for a bigint already


def _sorted(
    schema: Mapping[str, dt.DataType], found: Mapping[str, dt.DataType | None], bases: set[str]
) -> tuple[dict[str, dt.DataType | None], list[str]]:
    """The columns that are read, each with the type that it has to be cast to, or none; and those that are not."""
    held: dict[str, dt.DataType | None] = {}
    closed = []
    for name, known in schema.items():
        kind = found.get(name)
        if known.is_unknown() and kind is not None:
            held[name] = kind
        elif kind_of(known) is not None and (
            (known.is_string() and name in bases) if kind is None else _agree(known, kind)
        ):
            held[name] = None
        else:
            closed.append(name)
    return held, closed


def _agree(known: dt.DataType, kind: dt.DataType) -> bool:
    whole = known.is_integer() and kind.is_integer() and not known.is_uint64()
    return whole or type(known) is type(kind)

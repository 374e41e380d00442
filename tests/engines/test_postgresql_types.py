"""What PostgreSQL's columns are read as, from what a server tells of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir
import pytest

from discreet.engines import postgresql_types
from discreet.engines.postgresql_types import NAMES, OID, TYPES, OtherTypes, check, column_types

INTEGER, NUMERIC, TEXT, MONEY, RANGE, ENUM, CITEXT, COMPOSITE = 23, 1700, 25, 790, 3904, 16385, 16390, 16400
SERVER = {
    INTEGER: ("integer", "b"), NUMERIC: ("numeric", "b"), TEXT: ("text", "b"), MONEY: ("money", "b"),
    20: ("bigint", "b"), OID: ("oid", "b"), RANGE: ("int4range", "r"), ENUM: ("mood", "e"), CITEXT: ("citext", "b"),
    COMPOSITE: ("theirs.citext", "c"),
}  # fmt: skip
DOMAIN = dt.Unknown(raw_type="a domain")


class Cursor:
    """Tells the numbers of columns' types, as a server does, and what it calls them."""

    def __init__(self, codes: dict[str, int], scale: int | None = None) -> None:
        self.description = [SimpleNamespace(name=name, type_code=code, scale=scale) for name, code in codes.items()]
        self.asked: list[str] = []
        self._wanted: list[int] = []

    def execute(self, statement: str, parameters: Any = ()) -> Self:
        self.asked.append(statement)
        self._wanted = [code for group in parameters for code in group]
        return self

    def fetchall(self) -> list[tuple[int, str, str]]:
        return [(code, *facts) for code, facts in SERVER.items() if code in self._wanted]


def with_server_types(cursor: Any, raw: ir.Table, written: str) -> tuple[ir.Table, dict[str, str]]:
    return postgresql_types.with_server_types(cursor, raw, column_types(cursor, written))


def reported_types(**columns: tuple[Any, int]) -> tuple[ir.Table, dict[str, str]]:
    raw = ibis.table({name: known for name, (known, _) in columns.items()}, name="t")
    return with_server_types(Cursor({name: code for name, (_, code) in columns.items()}), raw, "SELECT * FROM t")


def test_no_row_is_asked_for() -> None:
    cursor = Cursor({"a": INTEGER})
    with_server_types(cursor, ibis.table({"a": "int32"}, name="t"), "SELECT * FROM t")
    assert cursor.asked == ["SELECT * FROM (SELECT * FROM t) AS raw LIMIT 0", NAMES]


def test_plain_columns_stay_what_they_are() -> None:
    raw = ibis.table({"a": "int32", "b": "string", "c": dt.Decimal(12, 2), "m": dt.Decimal(19, 4)}, name="t")
    seen, closed = with_server_types(
        Cursor({"a": INTEGER, "b": TEXT, "c": NUMERIC, "m": MONEY}, scale=2), raw, "SELECT * FROM t"
    )
    assert seen.equals(raw)
    assert closed == {}


def test_a_domain_is_read_as_the_type_below_and_an_enum_as_text() -> None:
    seen, closed = reported_types(
        whole=(DOMAIN, INTEGER), exact=(DOMAIN, NUMERIC), word=(DOMAIN, TEXT), mood=(DOMAIN, ENUM), x=("float64", 701)
    )
    assert closed == {}
    assert dict(seen.schema()) == {
        "whole": dt.int32, "exact": dt.Decimal(None, None), "word": dt.string, "mood": dt.string, "x": dt.float64
    }  # fmt: skip


def test_other_types_are_named() -> None:
    seen, closed = reported_types(a=("int32", INTEGER), tags=("array<int32>", RANGE), span=(DOMAIN, RANGE))
    assert closed == {"tags": "int4range", "span": "int4range"}
    assert seen.columns == ("a", "tags", "span")  # the barrier reads neither


@pytest.mark.parametrize(
    ("known", "code", "name"),
    [
        ("int8", TEXT, "text"),  # CREATE DOMAIN tinyint AS text
        ("string", INTEGER, "integer"),
        ("float64", NUMERIC, "numeric"),  # which a cast to doubles cannot always hold
        ("timestamp", TEXT, "text"),
        ("uint64", 20, "bigint"),
        ("uint32", RANGE, "int4range"),
    ],
)
def test_a_name_of_a_type_is_not_believed(known: str, code: int, name: str) -> None:
    """A domain may have any name: what it is taken for would make a statement raise for a row."""
    seen, closed = reported_types(a=("int32", INTEGER), wrong=(known, code))
    assert closed == {"wrong": name}
    assert seen.columns == ("a",)


def test_whole_numbers_of_another_width_are_read() -> None:
    raw = ibis.table({"tiny": "int8"}, name="t")
    assert with_server_types(Cursor({"tiny": INTEGER}), raw, "SELECT * FROM t")[0].equals(raw)


@pytest.mark.parametrize("known", ["int64", DOMAIN])
def test_an_oid_is_cast_to_bigint(known: Any) -> None:
    """Compared with one, the bigint would be cast to oid, which raises for that of one row."""
    seen, closed = reported_types(a=("int32", INTEGER), who=(known, OID))
    assert closed == {}
    assert 'CAST("t0"."who" AS BIGINT)' in str(ibis.to_sql(seen, dialect="postgres"))


@pytest.mark.parametrize("scale", [None, 3])
def test_a_scale_that_is_not_the_servers_is_not_believed(scale: int | None) -> None:
    """A unit of a scale is compared as text, in which 1.0 and 1.00 would be two units."""
    raw = ibis.table({"who": dt.Decimal(12, 2)}, name="t")
    seen, closed = with_server_types(Cursor({"who": NUMERIC}, scale=scale), raw, "SELECT * FROM t")
    assert (dict(seen.schema()), closed) == ({"who": dt.Decimal(None, None)}, {})


def test_what_is_shown_as_text_is_text() -> None:
    """A type of an extension, or an enum that Ibis knows by its name; no composite, which somebody may cast."""
    seen, closed = reported_types(a=("string", CITEXT), b=("string", ENUM), c=("string", COMPOSITE))
    assert closed == {"c": "theirs.citext"}
    assert seen.columns == ("a", "b")
    assert "CONCAT" in str(ibis.to_sql(seen, dialect="postgres"))


def test_a_column_of_another_type_is_refused() -> None:
    for now in ({"a": TEXT}, {"b": INTEGER}, {}):
        with pytest.raises(OtherTypes):
            check(Cursor(now), "SELECT * FROM t", {"a": (INTEGER, None)})
    check(Cursor({"a": INTEGER, "b": TEXT}, scale=6), "SELECT * FROM t", {"a": (INTEGER, None)})
    check(Cursor({"a": NUMERIC}, scale=2), "SELECT * FROM t", {"a": (NUMERIC, 2)})
    for scale in (None, 3):
        with pytest.raises(OtherTypes):
            check(Cursor({"a": NUMERIC}, scale=scale), "SELECT * FROM t", {"a": (NUMERIC, 2)})
    check(Cursor({"a": INTEGER}), "", {})


def test_a_table_of_which_nothing_is_read_is_closed_whole() -> None:
    seen, closed = reported_types(wrong=("int8", TEXT))
    assert closed.keys() == set(seen.columns)


def test_no_type_cuts_or_rounds() -> None:
    assert [kind for kind in TYPES.values() if kind.is_string() and kind.length is not None] == []
    assert [kind for kind in TYPES.values() if kind.is_decimal() and (kind.precision, kind.scale) != (None, None)] == []

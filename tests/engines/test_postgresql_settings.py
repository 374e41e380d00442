"""What is set on PostgreSQL, in which order, and by which words; what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Self

import duckdb
import ibis
import ibis.expr.operations as ops
import pytest

from discreet.engines.postgresql_settings import (
    CURATORS,
    FIRST,
    ISOLATION,
    SET_ALL,
    SETTINGS,
    STORED,
    TABLE_OID,
    as_statements,
    check,
    curators_settings,
    put_in_place,
    qualified,
    shortened,
    undone,
)
from discreet.errors import InvalidParameter


class Cursor:
    """Remembers what is asked, and answers with what it was given, one after the other."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._answers = list(answers)

    def execute(self, statement: str, parameters: Any = None) -> Self:
        self.asked.append((statement, parameters))
        return self

    def fetchone(self) -> Any:
        return self._answers.pop(0)

    fetchall = fetchone


def test_what_is_stored_has_no_part_elsewhere() -> None:
    """The statement is asked of a catalog of our own: a table with partitions, of which one may have some itself."""
    kinds = {"table": "r", "kept": "m", "view": "v", "foreign": "f", "whole": "p", "mixed": "p", "part": "p"}
    kinds["leaf"] = "r"
    heirs = [("whole", "leaf"), ("mixed", "part"), ("part", "leaf"), ("part", "foreign")]
    catalog = duckdb.connect()
    catalog.execute("CREATE TABLE pg_class (oid INT, relname TEXT, relnamespace INT, relkind TEXT)")
    catalog.execute("CREATE TABLE pg_namespace AS SELECT 7 AS oid, 'public' AS nspname")
    catalog.execute("CREATE TABLE pg_inherits (inhrelid INT, inhparent INT)")
    names = [*kinds]
    catalog.executemany("INSERT INTO pg_class VALUES (?, ?, 7, ?)", [[names.index(k), k, v] for k, v in kinds.items()])
    catalog.executemany("INSERT INTO pg_inherits VALUES (?, ?)", [[names.index(b), names.index(a)] for a, b in heirs])
    asked = {name: catalog.execute(STORED.replace("%s", "?"), ["public", name]).fetchone() for name in [*names, "none"]}
    assert [name for name, found in asked.items() if found == (True,)] == ["table", "kept", "whole", "leaf"]


def test_the_path_is_set_before_operators() -> None:
    """Up to there, nothing is run but SET and a function by its full name, whose argument's type leaves no choice."""
    cursor = Cursor((77,), ("public", "visits"))
    seen = qualified(cursor, stored("visits"))
    statements = [statement for statement, _ in cursor.asked]
    assert statements[:3] == [
        "SET LOCAL client_encoding = 'UTF8'", TABLE_OID, "SET LOCAL search_path = pg_catalog, pg_temp",
    ]  # fmt: skip
    assert TABLE_OID == "SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid"
    [found] = seen.op().find(ops.DatabaseTable)
    assert (found.namespace.database, found.name) == ("public", "visits")


def stored(name: str, **place: str) -> Any:
    schema = ibis.schema({"a": "int64"})
    return ops.DatabaseTable(name, schema=schema, source=None, namespace=ops.Namespace(**place)).to_expr()


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        (stored("visits"), '"visits"'),
        (stored('a"b', database="s.t"), '"s.t"."a""b"'),
        (stored("v", database="s", catalog="d"), '"d"."s"."v"'),
    ],
)
def test_names_are_looked_up_as_written(table: Any, asked: str) -> None:
    cursor = Cursor((1,), ("p", "q"))
    seen = qualified(cursor, table.filter(table.a > 1))
    assert (TABLE_OID, [asked]) in cursor.asked
    assert seen.op().find(ops.DatabaseTable)[0].name == "q"


def test_a_table_that_is_gone_is_no_table() -> None:
    with pytest.raises(LookupError):
        qualified(Cursor((None,)), stored("gone"))


def test_settings_are_those_of_ours() -> None:
    cursor = Cursor()
    put_in_place(cursor, {"lc_monetary": "C"})
    assert [statement for statement, _ in cursor.asked] == [
        "SET LOCAL client_encoding = 'UTF8'", "SET LOCAL search_path = pg_catalog, pg_temp", SET_ALL,
    ]  # fmt: skip
    names, values = cursor.asked[-1][1]
    assert dict(zip(names, values, strict=True)) == {
        "DateStyle": "ISO", "TimeZone": "UTC", "array_nulls": "on",
        "backslash_quote": "safe_encoding", "extra_float_digits": "1",
        "gin_fuzzy_search_limit": "0", "idle_in_transaction_session_timeout": "0", "lock_timeout": "0",
        "restrict_nonsystem_relation_kind": "", "row_security": "on", "standard_conforming_strings": "on",
        "statement_timeout": "0", "transaction_timeout": "0", "transform_null_equals": "off", "lc_monetary": "C",
    }  # fmt: skip


@pytest.mark.parametrize(("status", "asked"), [("IDLE", [(ISOLATION, None)]), ("INTRANS", []), ("INERROR", [])])
def test_a_transaction_of_ours_is_read_committed(status: str, asked: list[Any]) -> None:
    """One that is serializable fails by what others write, if it finds the row; in the caller's it cannot be set."""
    cursor, undoes = Cursor(), list[bool]()

    def transaction(*, force_rollback: bool) -> Any:
        undoes.append(force_rollback)
        return nullcontext()

    con = SimpleNamespace(
        info=SimpleNamespace(transaction_status=SimpleNamespace(name=status)), transaction=transaction
    )
    with undone(con, cursor):
        assert cursor.asked == asked
    assert undoes == [True]


def test_what_is_shown_is_what_is_set() -> None:
    shown = as_statements({"lc_monetary": "it's"})
    assert shown[:3] == [
        ISOLATION, "SET LOCAL client_encoding = 'UTF8'", "SET LOCAL search_path = pg_catalog, pg_temp",
    ]  # fmt: skip
    assert shown[-1] == "SET LOCAL lc_monetary = 'it''s'"
    assert len(shown) == 1 + len(FIRST) + len(SETTINGS) + 1


def test_the_callers_own_are_asked_for() -> None:
    cursor = Cursor([("lc_monetary", "ja_JP.utf8")])
    assert curators_settings(cursor) == {"lc_monetary": "ja_JP.utf8"}
    assert cursor.asked[0][1] == [list(CURATORS)]
    assert {*CURATORS} & {*FIRST, *SETTINGS} == {"DateStyle"}


def test_intervals_and_bytes_in_texts_are_those_of_the_session() -> None:
    """What a view makes of them would be another text than the curator sees, and '-1 2:03:04' another time."""
    assert {"IntervalStyle", "bytea_output"} <= {*CURATORS}


def test_days_are_read_in_the_order_of_the_callers() -> None:
    """In another one, a view that makes days of texts would fail at one of them that it does not fail at by itself."""
    for kept, wanted in (({}, "ISO"), ({"DateStyle": "ISO, DMY"}, "ISO, DMY")):
        cursor = Cursor()
        put_in_place(cursor, kept)
        names, values = cursor.asked[-1][1]
        assert dict(zip(names, values, strict=True))["DateStyle"] == wanted


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "WIN1252", "EUC_JP", None])
def test_other_encodings_are_refused(encoding: str | None) -> None:
    con = SimpleNamespace(info=SimpleNamespace(parameter_status={"server_encoding": encoding}.get))
    with pytest.raises(InvalidParameter, match="a database whose encoding is UTF8"):
        check(con, stored("visits"))


def test_names_differ_before_and_after() -> None:
    names = [
        "a",
        "é" * 31,
        "é" * 32,
        "é" * 33,
        "x" * 63,
        "x" * 64,
        "x" * 65,
        "x" * 62 + "é",
        "\U0001f3f3" * 16,
        "\ud800" * 40,
    ]
    short = [shortened(name) for name in names]
    assert len({*short}) == len(names)
    assert all(len(name.encode()) <= 63 for name in short)
    assert short[:2] == names[:2]
    assert len({name.encode()[:63] for name in short}) == len(names)

"""Keys for PostgreSQL: what is sent for those of a file, and what it cannot hold."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.postgresql_keys import (
    check_keys,
    keys_sql,
    store,
    store_rows,
    stored_table,
    storing,
    written_array,
)
from discreet.language.checked_expressions import Kind
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import Keys


def listed(folder: Path, columns: dict[str, list[object]], *kinds: Kind) -> KeyFile:
    pq.write_table(pa.table(columns), folder / "keys.parquet")
    return KeyFile.of(folder / "keys.parquet").by(dict(zip(columns, kinds, strict=True)))


def test_the_table_is_found_in_its_own_schema_alone(tmp_path: Path) -> None:
    """A search path that names another schema first finds no other table; texts differ byte by byte."""
    keys = listed(tmp_path, {'a "b"': ["x", None], "n": [1, 2]}, Kind.TEXT, Kind.INTEGER)
    made, filled, counted = storing(keys)
    assert made == (
        'CREATE TEMPORARY TABLE pg_temp."__discreet_listed" '
        '("a ""b""" text COLLATE "C", "n" bigint, "__discreet_position" bigint) ON COMMIT DROP'
    )
    for statement in (filled, counted, keys_sql(keys, [])):
        assert 'pg_temp."__discreet_listed"' in statement


class Cursor:
    """What is asked for and sent."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sent = b""

    def execute(self, statement: str) -> None:
        self.asked.append(statement.split(maxsplit=1)[0])

    def copy(self, statement: str) -> Cursor:
        self.execute(statement)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append("sent")

    def write(self, part: bytes) -> None:
        self.sent += part


def test_null_and_empty_text_are_told_apart(tmp_path: Path) -> None:
    cursor = Cursor()
    store(cursor, listed(tmp_path, {"k": ["", None, 'a"b', "\\."]}, Kind.TEXT))
    assert cursor.asked == ["CREATE", "COPY", "sent", "ANALYZE"]
    assert cursor.sent == b'"",0\n,1\n"a""b",2\n"\\.",3\n'


def test_text_with_nul_is_refused(tmp_path: Path) -> None:
    rows: list[object] = ["a", "b\0", None]
    with pytest.raises(dp.InvalidQuery, match=r"can hold, got 'b\\x00'"):
        check_keys(Keys(("k",), (Kind.TEXT,), (("a",), ("b\0",))))
    with pytest.raises(dp.InvalidQuery, match="can hold, got one with NUL"):
        check_keys(listed(tmp_path, {"k": rows}, Kind.TEXT))
    check_keys(listed(tmp_path, {"k": ["a", None]}, Kind.TEXT))
    check_keys(listed(tmp_path, {"n": [1]}, Kind.INTEGER))
    check_keys(None)


def test_rows_that_are_no_part_of_a_statement() -> None:
    """They are sent to a table of their own."""
    cursor = Cursor()
    store_rows(cursor, "__discreet_scan_1", pa.table({"unit": ["a,b", 'c"'], "step": [1, 2]}))
    assert cursor.asked == ["CREATE", "COPY", "sent", "ANALYZE"]
    assert cursor.sent == b'"a,b",1\n"c""",2\n'
    assert stored_table("__discreet_scan_1") == 'pg_temp."__discreet_scan_1_stored"'


def test_values_are_written_as_they_are() -> None:
    """A program may have psycopg write an empty text as NULL: rows of a listed key "" were counted in no group."""
    assert (
        written_array(["", None, "NULL", "it's", 'a\\"b', "{x}"]) == """'{"",NULL,"NULL","it''s","a\\\\\\"b","{x}"}'"""
    )
    assert written_array(
        [True, -1, 2.5e-300, datetime.date(2020, 2, 1), datetime.datetime.fromisoformat("2020-02-01T03:00:00")]
    ) == ("""'{"True","-1","2.5e-300","2020-02-01","2020-02-01T03:00:00"}'""")

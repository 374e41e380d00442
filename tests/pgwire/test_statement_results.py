"""Rows in the forms of COPY, and formats for columns."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_results import StatementResult, as_described, copied, formats_of, result_of
from discreet.pgwire.type_codes import ColumnType

TWO = StatementResult.of([ColumnType("a", 25), ColumnType("n", 20)], [("x\ty\\", 1), (None, 2)])


def test_copies() -> None:
    assert b"".join(copied(TWO, "text")) == b"x\\ty\\\\\t1\n\\N\t2\n"
    odd = StatementResult.of([ColumnType("a", 25)], [("\b\f\v,\t\r\n",)])
    assert b"".join(copied(odd, "text", delimiter=",")) == b"\\b\\f\\v\\,\\t\\r\\n\n"
    assert b"".join(copied(TWO, "csv", header=True, delimiter=";")) == b"a;n\nx\ty\\;1\n;2\n"
    whole = list(copied(TWO, "binary"))
    assert whole[0].startswith(b"PGCOPY\n\xff\r\n\0" + b"\0" * 8 + struct.pack("!hi", 2, 4))
    assert whole[-1] == struct.pack("!h", -1)
    assert b"".join(copied(StatementResult.of([ColumnType("a", 25)], []), "binary"))[-2:] == struct.pack("!h", -1)


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ((None,), "\n"),
        (("",), '""\n'),
        (("\\.",), '"\\."\n'),
        (("\\.", None), "\\.,\n"),
        (("", None, "x"), '"",,x\n'),
        (('say "a"', "b\r", "c,d", " e", "é\n"), '"say ""a""","b\r","c,d", e,"é\n"\n'),
    ],
)
def test_csv_tells_null_from_empty_text(row: tuple[str | None, ...], line: str) -> None:
    """Each line is what PostgreSQL 15 writes of these values."""
    held = StatementResult.of([ColumnType(f"c{i}", 25) for i, _ in enumerate(row)], [row])
    assert b"".join(copied(held, "csv")).decode() == line


def test_rows_fit_the_columns_that_were_described() -> None:
    own = StatementResult.of([ColumnType("a", 25), ColumnType("n", 20)], [("x", 1), (None, 2)])
    told = [ColumnType("a", 25), ColumnType("n", 701)]
    found = as_described(own, told)
    assert found.rows == (("x", 1.0), (None, 2.0))
    assert list(found.columns or ()) == told
    assert as_described(own, None) is own
    assert as_described(own, [ColumnType("b", 25), ColumnType("n", 25)]).rows == (("x", "1"), (None, "2"))
    real = StatementResult.of([ColumnType("n", 701)], [(1.5,)])
    for other in ([ColumnType("n", 20)], [ColumnType("n", 701), ColumnType("m", 701)], [ColumnType("n", 1082)]):
        with pytest.raises(Refused):
            as_described(real, other)


@pytest.mark.parametrize(("codes", "found"), [((), [0, 0]), ((1,), [1, 1]), ((0, 1), [0, 1])])
def test_formats(codes: tuple[int, ...], found: list[int]) -> None:
    assert formats_of(codes, 2) == found


def test_arrow_tables() -> None:
    found = result_of(pa.table({"a": [1, None], "b": [["x"], []]}), ["first", "second"])
    assert [(one.name, one.oid) for one in found.columns or ()] == [("first", 20), ("second", 1009)]
    assert found.rows == ((1, ["x"]), (None, []))
    assert found.complete_tag(2) == "SELECT 2"

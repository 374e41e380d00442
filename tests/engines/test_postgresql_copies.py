"""What PostgreSQL's COPY sends, as Arrow: every value, in its type, and no text looked into."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet.engines.postgresql_copies import TYPES, read


def test_texts_are_not_looked_into() -> None:
    """Bytes that are no text anywhere fail nothing, and stay apart."""
    found = read(b'"\x81"\n\xff\xfe\nx\n', {"t": pa.string()})
    assert found["t"].cast(pa.binary()).to_pylist() == [b"\x81", b"\xff\xfe", b"x"]
    assert found["t"].take([2]).to_pylist() == ["x"]


def test_a_byte_order_mark_belongs_to_its_text() -> None:
    """Files that were imported begin with one, and it comes first or not as the server happens to send the rows."""
    texts = ["\ufeffb", "\ufeff\ufeffb", "b", "\ufeff"]
    for first in range(len(texts)):
        sent = texts[first:] + texts[:first]
        assert read("".join(f"{one}\n" for one in sent).encode(), {"t": pa.string()})["t"].to_pylist() == sent


def test_null_and_empty_text_are_told_apart() -> None:
    assert read(b'\n""\nNULL\n', {"t": pa.string()})["t"].to_pylist() == [None, "", "NULL"]


@pytest.mark.parametrize("text", ["a\r\nb", '"', '","', "\n", "\\.", "x" * 3_000_000, "\u2028", "a\nb\n" * 50_000])
def test_texts_of_any_length_and_shape(text: str) -> None:
    quoted = '"' + text.replace('"', '""') + '"'
    found = read(f"1,{quoted}\n2,\n3,{quoted}\n".encode(), {"n": pa.int64(), "t": pa.string()})
    assert found["t"].to_pylist() == [text, None, text]


def test_types_keep_their_ends() -> None:
    types = {str(kind): kind for kind in TYPES.values()}
    low = "t,-9223372036854775808,-32768,-2147483648,-3.4028235e+38,-1.7976931348623157e+308,0001-01-01,"
    low += f"0001-01-01 00:00:00.000001,-{'9' * 38}\n"
    high = "f,9223372036854775807,32767,2147483647,1e-45,5e-324,9999-12-31,9999-12-31 23:59:59.999999,"
    high += f"{'9' * 38}\n"
    rows = read((low + high + "," * (len(types) - 1) + "\n").encode(), types).to_pylist()
    low_end, high_end = map(
        datetime.datetime.fromisoformat, ("0001-01-01T00:00:00.000001", "9999-12-31T23:59:59.999999")
    )
    first, second = (list(row.values()) for row in rows[:2])
    assert first[:4] == [True, -(2**63), -(2**15), -(2**31)]
    assert first[5:] == [
        -1.7976931348623157e308, datetime.date(1, 1, 1), low_end, Decimal("-" + "9" * 38),
    ]  # fmt: skip
    assert second[:4] == [False, 2**63 - 1, 2**15 - 1, 2**31 - 1]
    assert second[5] == 5e-324
    assert second[7] == high_end
    assert set(rows[2].values()) == {None}


def test_a_lone_null_is_a_row() -> None:
    assert read(b"\n5\n\n", {"n": pa.int64()})["n"].to_pylist() == [None, 5, None]


def test_no_rows_have_their_types() -> None:
    found = read(b"", {"n": pa.int64(), "t": pa.string()})
    assert found.num_rows == 0
    assert found.schema.types == [pa.int64(), pa.string()]

"""The forms of values are those that PostgreSQL's own clients read and write."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from depth import examples
from discreet.pgwire.type_codes import ARRAYS, BadValue
from discreet.pgwire.value_forms import encoder, parameter

VALUES: list[tuple[int, Any]] = [
    (16, True), (16, False), (21, -7), (23, 2**31 - 1), (20, -(2**63)), (26, 4_000_000_000), (700, 1.5), (701, -0.1),
    (701, float("inf")), (25, "Zoë, \"it's\""), (25, ""), (1082, date(1999, 12, 31)), (1082, date(2024, 2, 29)),
    (1114, datetime.fromisoformat("1970-01-01 12:30:05.25")), (1114, datetime.fromisoformat("2030-01-01")),
    (17, b"\x00\xff"),
    (1083, time(23, 59, 59, 1)), (1700, Decimal("12345678.9012")), (1700, Decimal("-0.00012")), (1700, Decimal(0)),
    (1700, Decimal("1E+9")), (1184, datetime(2024, 5, 1, 12, tzinfo=UTC)),
    (ARRAYS[25], ["a", None, 'say "x", {y}\\', "NULL", ""]), (ARRAYS[23], [1, None, 3]), (ARRAYS[20], []),
]  # fmt: skip


@pytest.mark.parametrize(("oid", "value"), VALUES)
@pytest.mark.parametrize("code", [0, 1])
def test_a_client_reads_what_is_written(oid: int, value: Any, code: int) -> None:
    transformer = Transformer()
    loader = transformer.get_loader(oid, psycopg.pq.Format(code))
    read = loader.load(encoder(oid, code)(value))
    if isinstance(value, datetime) and value.tzinfo is not None:
        assert read.astimezone(UTC) == value
    else:
        assert read == value


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("oid", [25, 1043])
def test_no_text_ends_early(oid: int, code: int) -> None:
    """`psql` showed "free\0x" as "free", beside the row of "free"."""
    assert encoder(oid, code)("free\0x") == rb"free\x00x"
    [held] = Transformer().get_loader(ARRAYS[25], psycopg.pq.Format(code)).load(encoder(ARRAYS[25], code)(["a\0b"]))
    assert held == r"a\x00b"


@pytest.mark.parametrize(
    ("value", "oid"),
    [(5, 23), (-5, 20), (1.25, 701), ("it's", 25), (True, 16), (date(2024, 1, 2), 1082),
     (datetime.fromisoformat("2024-01-02 03:04:05.06"), 1114),
     (datetime.fromisoformat("2024-01-02 03:04:05+00:00"), 1184),
     (datetime.fromisoformat("2024-01-02 03:04:05.06-09:30"), 1184),
     (Decimal("-12.5"), 1700), (Decimal("-9007199254740993.0000000000000001"), 1700), (["a", None, "b c"], ARRAYS[25]),
     (UUID("00112233-4455-6677-8899-aabbccddeeff"), 2950)],
)  # fmt: skip
@pytest.mark.parametrize("form", [PyFormat.TEXT, PyFormat.BINARY])
def test_what_a_client_writes_is_read(value: Any, oid: int, form: PyFormat) -> None:
    dumper = Transformer().get_dumper(value, form)
    data = bytes(dumper.dump(value) or b"")
    kind = dumper.oid or oid
    wanted = value.astimezone(UTC).replace(tzinfo=None) if oid == 1184 else str(value) if oid == 2950 else value
    assert parameter(data, kind if kind in (21, 23, 20) else oid, int(form is PyFormat.BINARY)) == wanted


@pytest.mark.parametrize("shown", ["2024-02-29 +05:30", "2024-02-29Z", "2024-02-29T23:30:00.000-04:00", " 2024-02-29"])
def test_a_day_has_neither_time_nor_zone(shown: str) -> None:
    """The first is what pgjdbc sends for a `java.sql.Date`, the third what node-postgres sends for a `Date`."""
    assert parameter(shown.encode(), 1082, 0) == date(2024, 2, 29)


def test_nothing_is_null() -> None:
    assert parameter(None, 23, 1) is None


@pytest.mark.parametrize(
    ("data", "oid", "code"),
    [
        (b"x", 23, 0), (b"\0", 23, 1), (b"maybe", 16, 0), (b"2024-13-01", 1082, 0), (b"2024-02-29 noon", 1082, 0),
        (b"2024-02-29 +5", 1082, 0), (b"\xff", 25, 0),
        (b"{1,2", ARRAYS[23], 0),
        (b"{{1}}", ARRAYS[23], 0), (b"\0\0\0\2" + b"\0" * 20, ARRAYS[23], 1), (b"1" * 200, 1700, 0), (b"a", 2950, 1),
        (b"2024-01-01 00:00:00.1234567", 1114, 0), (b"0001-01-01 00:00:00+01", 1184, 0),
        (b"abcd", 3802, 1), (b"\0\1\0\0\x40", 1700, 1),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused(data: bytes, oid: int, code: int) -> None:
    with pytest.raises(BadValue):
        parameter(data, oid, code)


@settings(max_examples=examples(1) * 4)
@given(
    st.binary(max_size=40),
    st.sampled_from([16, 20, 21, 23, 25, 26, 700, 701, 1082, 1114, 1184, 1700, 1007, 1009]),
    st.integers(0, 1),
)
def test_any_bytes_are_a_value_or_refused(data: bytes, oid: int, code: int) -> None:
    with suppress(BadValue):
        parameter(data, oid, code)

"""Two people are never read as one: every type of Arrow as a unit, in a frame and in a file, counts or is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.inputs import table
from discreet.errors import InvalidParameter
from neighbor_bench import plan_of

NEAR = np.array([1, 2, 86_400_000, 10**17, 10**17 + 1, 2**63 - 2, 2**63 - 1, -(2**63) + 2, -3])
UNITS = ("s", "ms", "us", "ns")


def of_integers(kind: pa.DataType) -> pa.Array:
    """Values of a type that are next to each other, by its bits."""
    if pa.types.is_decimal(kind):
        most = min(kind.precision, 28 if kind.bit_width > 128 else kind.precision)
        wide = [Decimal((0, (1, *[0] * (most - 2), i), -kind.scale)) for i in range(4)] if most > 1 else [Decimal(1)]
        return pa.array(wide, kind)
    if pa.types.is_temporal(kind) and kind.bit_width == 32:
        return pa.array([1, 2, 3], pa.int32()).view(kind)
    return pa.array(NEAR, pa.int64()).view(kind)


def types() -> Iterator[pa.DataType]:
    """Types of which Arrow has columns, those with parameters at several of them."""
    yield from (pa.date32(), pa.date64(), pa.int64(), pa.uint64())
    yield from (pa.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC", "Asia/Tokyo"))
    yield from (pa.duration(unit) for unit in UNITS)
    yield from (pa.time64(unit) for unit in ("us", "ns"))
    yield from (pa.decimal128(digits, places) for digits in (1, 9, 18, 19, 38) for places in (0, digits - 1))
    yield from (pa.decimal256(digits, places) for digits in (18, 38, 39, 76) for places in (0, 5))


SMALL: dict[str, Callable[[], pa.Array]] = {
    "int8": lambda: pa.array([-128, -127, 127], pa.int8()),
    "uint32": lambda: pa.array([2**32 - 1, 2**32 - 2, 0], pa.uint32()),
    "float16": lambda: pa.array(np.array([0.1, 0.1001, 65504, 65472], np.float16)),
    "float32": lambda: pa.array(np.nextafter(np.float32(1), [np.float32(0), np.float32(2)]), pa.float32()),
    "float64": lambda: pa.array(np.nextafter(1e300, [0, np.inf])),
    "bool": lambda: pa.array([True, False]),
    "string": lambda: pa.array(["a", "A", "a ", "a\x00", "é", "e\u0301", "", "01", "1"]),
    "large string": lambda: pa.array(["a", "A", "a "], pa.large_string()),
    "dictionary": lambda: pa.array(["a", "b", "a"]).dictionary_encode(),
    "dictionary of wide decimals": lambda: of_integers(pa.decimal256(60, 0)).dictionary_encode(),
    "binary": lambda: pa.array([b"\x00", b"\x01", b"\xff"]),
    "fixed binary": lambda: pa.array([b"\x00a", b"\x01a"], pa.binary(2)),
}
VALUES = {str(kind): of_integers(kind) for kind in types()} | {name: make() for name, make in SMALL.items()}
HOLDERS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "frame": lambda table, _: table,
    "file": lambda table, path: written(table, path, version="2.6"),
    "file of integers": lambda table, path: written(table, path, store_decimal_as_integer=True),
    "file without Arrow's schema": lambda table, path: written(table, path, store_schema=False),
    "old file": lambda table, path: written(table, path, use_deprecated_int96_timestamps=True, version="1.0"),
}


def written(table: pa.Table, path: Path, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


REFUSED = {
    "frame": {"date64[ms]", *(f"decimal256({digits}, {places})" for digits in (18, 38, 39, 76) for places in (0, 5))},
    "file": {
        *(f"timestamp[ns, tz={zone}]" for zone in ("UTC", "Asia/Tokyo")),
        *(f"decimal256({digits}, {places})" for digits in (39, 76) for places in (0, 5)),
    },
    "old file": {f"timestamp[{unit}{zone}]" for unit in UNITS for zone in ("", ", tz=UTC", ", tz=Asia/Tokyo")}
    | {f"decimal256({digits}, {places})" for digits in (39, 76) for places in (0, 5)},
}
REFUSED["frame"] |= {"dictionary of wide decimals"}
REFUSED["file"] |= {"dictionary of wide decimals"}
REFUSED["old file"] |= {"dictionary of wide decimals"}
REFUSED["file without Arrow's schema"] = REFUSED["file"]
REFUSED["file of integers"] = REFUSED["file"] | {"decimal128(1, 0)"}


@pytest.mark.parametrize(
    "holder", [pytest.param(name, marks=pytest.mark.long if "file " in name else ()) for name in HOLDERS]
)
def test_units_that_would_be_read_alike_are_refused(holder: str, tmp_path: Path) -> None:
    """All other types count as many units as there are values, or are not read at all."""
    refused, counted = set[str](), set[str]()
    for i, (name, values) in enumerate(VALUES.items()):
        if holder != "frame" and pa.types.is_date64(values.type):  # a writer cuts them to days
            continue
        table = pa.table({"u": values, "x": pa.array([0] * len(values))})
        try:
            held = HOLDERS[holder](table, tmp_path / f"{i}.parquet")
        except pa.ArrowException:  # Parquet has no such column
            continue
        try:
            people = dp.protect(held, unit="u", max_rows=1, name="n", budget=dp.Budget(epsilon=1))
        except InvalidParameter as problem:
            if "read as one" in str(problem):
                refused.add(name)
            continue
        plan = plan_of(people.nunique(), epsilon=1)
        source: Any = people._source
        [[total]] = source._engine.totals(plan)[0]
        assert int(total) == len(values.unique()) * plan.blocks[0].steps, name
        counted.add(name)
    assert refused == REFUSED[holder]
    assert len(counted) > 20


SIGNS, DIGITS = (
    ("", "+", "-"),
    ("0", "5", "05", "10", "1_0", "123456789012345", "9007199254740993", "999999999999999999"),
)
BEHIND = ("", ".", ".0", ".4", ".5", ".50", ".00000000000000000001")
EXPONENTS = ("", "e0", "E+1", "e-1", "e2", "e-400", "y", " 0")
ODD = ("", ".5", "5,0", "0x1E", "0x", "1e300", "yes")
TEXTS = [*map("".join, itertools.product(SIGNS, DIGITS, BEHIND, EXPONENTS)), *ODD]
REALS = [5.0, 5.4, 5.5, -0.0, 0.0, 1e-300, 2.0**51 + 0.5, 2.0**62, 2.0**63, 1e300, None]


def whole(text: str) -> int | None:
    """The whole number of 64 bits that a text says."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return int(text, 16) if text == "0x1E" else None
    is_whole = abs(number) < 2**63 and number == number.to_integral_value()
    return int(number) if is_whole else None


def test_types_that_are_stated_merge_no_units(tmp_path: Path) -> None:
    """5.4 was read as 5, a person of the same id, with no more than the half of what each was promised."""
    path = tmp_path / "a.csv"
    path.write_text("u,x\n" + "".join(f'"{text}",0\n' for text in TEXTS))
    found = table(path, {"u": "int64"}).table.to_pyarrow()["u"].to_pylist()
    for text, number in zip(TEXTS, found, strict=True):
        assert number in (whole(text), None), text
        if "e" not in text.lower():
            assert number == whole(text), text
    assert {5, 50, -5, 500, 9007199254740993, 30} <= set(found)
    frame = pa.table({"u": REALS})
    assert table(frame, {"u": "int64"}).table.to_pyarrow()["u"].to_pylist() == [
        5, None, None, 0, 0, None, None, 2**62, None, None, None
    ]  # fmt: skip
    for data, kind in itertools.product((path, frame), ("float32", "boolean", "date", "timestamp", "decimal(18, 2)")):
        with pytest.raises(InvalidParameter, match="read as one"):
            dp.protect(data, unit="u", schema={"u": kind}, budget=dp.Budget(epsilon=1))


def test_keys_that_lead_to_a_unit_are_as_exact() -> None:
    """A key that two units have in common would give its rows to neither, and without one of them to the other."""
    merged, own = pa.array([1, 2], pa.int64()).view(pa.date64()), pa.array([1, 2])
    for foreign, referenced, unit in ((merged, merged, own), (own, own, merged)):
        kept = pa.table({"order": referenced, "person": unit})
        with pytest.raises(InvalidParameter, match="read as one"):
            dp.protect(
                pa.table({"item": foreign}), unit="person", via=[(kept, {"item": "order"})], budget=dp.Budget(epsilon=1)
            )


def test_a_later_file_in_a_merging_type_is_refused(tmp_path: Path) -> None:
    """Both are DOUBLE to DuckDB."""
    pq.write_table(pa.table({"u": [0.5, 1.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"u": pa.array([Decimal(10**20)], pa.decimal256(50, 0))}), tmp_path / "b.parquet")
    with pytest.raises(InvalidParameter, match="of the same types"):
        dp.protect(tmp_path / "*.parquet", unit="u", budget=dp.Budget(epsilon=1))


def test_columns_that_are_no_units_are_read_as_before(tmp_path: Path) -> None:
    table = pa.table({"u": [1, 2], "v": pa.array([Decimal(3), Decimal(4)], pa.decimal256(50, 0))})
    for held in (table, written(table, tmp_path / "v.parquet")):
        people = dp.protect(held, unit="u", max_rows=1, bounds={"v": (0, 5)}, name="v", budget=dp.Budget(epsilon=10**9))
        assert people.agg(s=people.v.sum()).release(epsilon=10**6).to_pyarrow()["s"].to_pylist() == pytest.approx([7])

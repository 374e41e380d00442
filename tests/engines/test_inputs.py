"""What is handed over becomes a raw table by its types alone; rows decide about themselves, and raise nothing."""

from __future__ import annotations

import gzip
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import inputs
from discreet.engines.duckdb import DuckDB
from discreet.language.unsupported_columns import unsupported
from discreet.privacy.declaration import Declaration
from neighbor_bench import plan_of

SCHEMA = {"person": "int64", "s": "string", "v": "float64"}


def rows(engine: DuckDB) -> list[tuple[Any, ...]]:
    """All raw rows, as nobody outside of a test may see them."""
    return [tuple(row.values()) for row in engine._raw.to_pyarrow().to_pylist()]


def column(data: Any) -> list[Any]:
    return [row[0] for row in rows(DuckDB(data, None))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def csv(path: Path, body: str | bytes, schema: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return rows(DuckDB(path, SCHEMA if schema is None else schema))


def test_half_precision_is_read() -> None:
    halves = np.array([1.5, math.inf, -0.0, 6e-8, 65504], np.float16)
    assert column(pa.table({"v": pa.array(halves)})) == halves.astype(float).tolist()
    assert column(pd.DataFrame({"v": halves})) == halves.astype(float).tolist()


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "float32", "float64"]
)
def test_numbers_keep_their_ends(kind: str) -> None:
    ends: list[Any] = [True, False]
    if kind != "bool":
        info: Any = np.finfo(kind) if kind.startswith("float") else np.iinfo(kind)
        ends = [np.array(end, kind).item() for end in (info.min, info.max)]
    values = pa.array([*ends, None], getattr(pa, kind.replace("bool", "bool_"))())
    assert column(pa.table({"v": values})) == [*ends, None]
    assert column(pl.DataFrame({"v": pl.from_arrow(values)})) == [*ends, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_of_any_unit_and_zone_are_read(unit: str, zone: str | None) -> None:
    """Whatever the moment: DuckDB fails on a whole frame that has one zoned second beyond its microseconds."""
    values = pa.array([-(2**63), 2**63 - 1, 10**15, -(10**15), 0, None], pa.int64()).view(pa.timestamp(unit, zone))
    data = pa.table({"at": values})
    table = dp.protect(data, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="at")
    plan = plan_of(table.agg(n=table.at.count(), rows=lambda t: t.count()), epsilon=1)
    counts = [int(total[0, 0]) for total in DuckDB(data, None).totals(plan)]
    assert 1 <= counts[0] <= 5
    assert counts[1] == 6


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_in_files_are_read(unit: str, zone: str | None, tmp_path: Path) -> None:
    """Zoned nanoseconds are what pandas wrote for years."""
    per_second = 10**6 if unit == "us" else 10**9
    values = pa.array([0, 90 * per_second, 2**63 - 1, None], pa.int64()).view(pa.timestamp(unit, zone))
    pq.write_table(pa.table({'a"t': values}), tmp_path / "times.parquet")
    table = dp.protect(tmp_path / "times.parquet", unit=dp.ROW, budget=dp.Budget(epsilon=1))
    asked = table.agg(n=table['a"t'].count(where=table['a"t'] < "1970-01-01T00:01:00"), m=table['a"t'].count())
    assert [
        int(total[0, 0]) for total in DuckDB(tmp_path / "times.parquet", None).totals(plan_of(asked, epsilon=1))
    ] == [1, 3]


def test_dictionaries_are_their_values() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["a", "a", None]))
    assert column(pa.table({"s": values})) == ["a", "a", None, None]
    assert column(pl.DataFrame({"s": pl.Series(["a", "b", None], dtype=pl.Categorical)})) == ["a", "b", None]
    assert column(pd.DataFrame({"s": pd.Categorical(["a", "b", None])})) == ["a", "b", None]
    assert column(pd.DataFrame({"s": pd.Categorical([1, 2, None])})) == ["1", "2", None]
    assert column(pa.table({"s": pa.chunked_array([], values.type)})) == []


LISTED: dict[pa.DataType, list[Any]] = {
    pa.string(): ["a", "b"],
    pa.string_view(): ["a", "b"],
    pa.decimal32(5, 2): [Decimal("1.50"), Decimal("2.50")],
    pa.bool_(): [True, False],
}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64()], ids=str)
@pytest.mark.parametrize("of", LISTED, ids=str)
def test_places_that_a_dictionary_lacks_are_null(kind: pa.DataType, of: pa.DataType) -> None:
    """A file of Arrow's has any places, and Arrow's own cast named the first of them that was too large."""
    ends = [0, 1, 2, 127, 0] if pa.types.is_unsigned_integer(kind) else [0, 1, -1, 127, 0]
    values = pa.array(LISTED[of], of)
    held = pa.DictionaryArray.from_arrays(pa.array(ends, kind), values, safe=False)
    first, second = values.to_pylist()
    assert column(pa.table({"s": held})) == [first, second, None, None, first]
    texts = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), broken(pa.string()).chunk(0))
    whole = pa.chunked_array([texts, pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array(["a"]))])
    assert column(pa.table({"s": whole})) == [None, "a"]


def test_wide_decimals_are_read_as_reals() -> None:
    assert column(pa.table({"v": pa.array([Decimal(10**60), None], pa.decimal256(70, 0))})) == [1e60, None]
    assert column(pa.table({"v": pa.array([Decimal(10**30), None], pa.decimal128(38, 0))})) == [Decimal(10**30), None]


@pytest.mark.parametrize(
    "values",
    [
        pa.nulls(2),
        pa.array([b"a", None]),
        pa.array([b"ab", None], pa.binary(2)),
        pa.array([[1], None]),
        pa.array([{"a": 1}, None]),
        pa.array([1, None], pa.time64("us")),
        pa.array([1, None], pa.duration("us")),
        pa.RunEndEncodedArray.from_arrays([2], ["a"]),
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array([[1]])),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16), None], pa.binary(16))),
    ],
    ids=lambda values: str(values.type),
)
def test_other_types_are_left_out(values: pa.Array) -> None:
    engine = DuckDB(pa.table({"n": [1, 2], "other": values}), None)
    assert unsupported(engine.schema) == {"other": str(values.type)}
    assert "other" not in engine.barrier(Declaration(name="t"))


def test_a_frame_of_other_types_alone_is_refused() -> None:
    with pytest.raises(dp.InvalidParameter, match="columns that DuckDB can hold"):
        DuckDB(pa.table({"other": pa.nulls(2)}), None)


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"x": np.array([1j, 2])}), pl.DataFrame({"x": pl.Series([2**100], dtype=pl.Int128)})],
    ids=["pandas", "polars"],
)
def test_types_that_arrow_lacks_are_refused(frame: Any) -> None:
    with pytest.raises(dp.InvalidParameter, match="columns that Arrow can hold"):
        DuckDB(frame, None)


def test_names_that_occur_twice_are_refused() -> None:
    with pytest.raises(dp.InvalidParameter, match="distinct column names"):
        DuckDB(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), None)


def broken(kind: pa.DataType) -> pa.ChunkedArray:
    """Forty texts, the first two of which are bytes that are none."""
    ends = np.arange(41, dtype=np.int64 if pa.types.is_large_string(kind) else np.int32)
    plain = pa.large_string() if pa.types.is_large_string(kind) else pa.string()
    return pa.chunked_array(
        [pa.Array.from_buffers(plain, 40, [None, pa.py_buffer(ends), pa.py_buffer(b"\x81\xff" + b"x" * 38)])]
    )


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_text_that_is_not_utf_8_is_null(kind: pa.DataType, is_dictionary: bool) -> None:  # noqa: FBT001 (given by name)
    """One person's bytes keep nobody else's rows out, and no release from being made."""
    whole = broken(kind).dictionary_encode() if is_dictionary else broken(kind)
    data = pa.table({"id": range(40), "t": whole})
    assert dp.public(data).rows["t"].to_pylist() == [None, None, *["x"] * 38]
    table = dp.protect(data, unit="t", max_rows=40, budget=dp.Budget(epsilon=10**6), name="broken")
    assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [38]
    log = dp.release_log(data, user="id", item="t", epsilon=9, delta=1e-3, max_items=1)
    assert log.items["t"].to_pylist() == ["x"]


def test_text_that_is_utf_8_is_not_copied() -> None:
    column = pa.chunked_array([pa.array(["é", None, ""])])
    [chunk] = inputs.as_arrow(pa.table({"t": column}))["t"].chunks
    assert chunk.buffers()[2].address == column.chunk(0).buffers()[2].address


def test_names_that_are_one_as_text_are_refused() -> None:
    for frame in (pd.DataFrame({1: [1], "1": [2]}), pd.DataFrame([[1, 2]], columns=["a", "a"])):
        with pytest.raises(dp.InvalidParameter, match="distinct column names"):
            dp.public(frame)


def test_later_changes_of_a_frame_change_nothing() -> None:
    frame = pd.DataFrame({"v": [1.0, 2.0]})
    engine = DuckDB(frame, None)
    frame.loc[0, "v"] = 100.0
    assert rows(engine) == [(1.0,), (2.0,)]


@pytest.mark.parametrize("shape", ["'POINT(1 2)'::GEOMETRY", "['POINT(1 2)'::GEOMETRY]"])
def test_shapes_are_not_read(shape: str, tmp_path: Path) -> None:
    """Ibis would fetch an extension for them."""
    path = str(tmp_path / "a.parquet")
    duckdb.connect().execute(f"COPY (SELECT {shape} AS place, 1 AS v) TO '{path}'")
    engine = DuckDB(path, None)
    assert "place" in unsupported(engine.schema)
    assert [row[-1] for row in rows(engine)] == [1]


def test_types_of_folder_names_do_not_follow_the_names(tmp_path: Path) -> None:
    """One person in a new folder must not change the type of a column for all."""
    kinds = []
    for names in (["1"], ["1", "x"]):
        for name in names:
            (tmp_path / f"zip={name}").mkdir(exist_ok=True)
            pq.write_table(pa.table({"v": [1]}), tmp_path / f"zip={name}" / "a.parquet")
        kinds.append(str(DuckDB(str(tmp_path / "*" / "a.parquet"), None).schema["zip"]))
    assert kinds[0] == kinds[1] == "string"


def test_csv_is_read_by_its_schema(path: Path) -> None:
    body = 'person,s,v\n1,a,1.5\n2,"b, ""c""\nd",-0\n,,\n3,"",nan\n4,NULL,inf\n'
    expected = [(1, "a", 1.5), (2, 'b, "c"\nd', -0.0), (None, None, None), (3, "", math.nan), (4, "NULL", math.inf)]
    assert str(csv(path, body)) == str(expected)
    assert str(csv(path, body.replace("\n", "\r\n"))) == str(expected).replace("\\n", "\\r\\n")
    assert str(csv(path, "\ufeff" + body)) == str(expected)


def test_what_does_not_fit_is_null_and_its_row_stays(path: Path) -> None:
    """DuckDB moves a cast into its reader, which drops rows that fail: then the columns that are asked for decide."""
    body = "person,s,v\nx,a,1e400\n99999999999999999999,b,0x10\n1.5.5,c,2024-02-30\n7,d,\n"
    assert csv(path, body) == [(None, "a", math.inf), (None, "b", None), (None, "c", None), (7, "d", None)]
    engine = DuckDB(path, SCHEMA)
    table = dp.protect(path, unit=dp.ROW, schema=SCHEMA, budget=dp.Budget(epsilon=1))
    for asked in (table.count(), table.agg(n=table.person.count(), rows=lambda t: t.count())):
        assert int(engine.totals(plan_of(asked, epsilon=1))[-1][0, 0]) == 4


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("9,a,1,2,3", True),
        ("9,a", False),
        ("9", False),
        ("", False),
        ("9," + "x" * 3_000_000 + ",1", False),
        ("9,\udcff\udcfe,1", False),
        ("9,a\x00b,1", True),
        ('9,in"side,1', True),
        ('9,"in"side,1', True),
    ],
    ids=["more", "fewer", "one", "empty", "3 MB", "no UTF-8", "NUL", "quote", "quotes"],
)
def test_a_line_that_is_no_record_moves_no_other(path: Path, line: str, stays: bool) -> None:  # noqa: FBT001 (given by name)
    """Among 2,000 others, which DuckDB reads in several blocks."""
    sound = "".join(f'{i},"s{i}",{i}\n' for i in range(1000))
    body = f"person,s,v\n{sound}{line}\n{sound}".encode(errors="surrogateescape")
    found = csv(path, body)
    assert len(found) == 2000 + stays
    assert [row for row in found if row[0] != 9 or row[1] == "s9"] == [(i, f"s{i}", i) for i in range(1000)] * 2


@pytest.mark.parametrize("before", [30, 300])
def test_a_text_of_many_lines_moves_no_other_row(path: Path, before: int) -> None:
    """DuckDB's threads would begin every 8,000,000 bytes, and take a line of the text for a row of its own."""
    line = f"1,{'x' * 15},3\n"
    first = (8_000_000 - before) // len(line)
    last = 50_000
    path.write_text("person,s,v\n" + line * first + '9,"' + "5,a,3\n" * 100 + '",1\n' + line * last)
    table = dp.protect(path, unit=dp.ROW, schema=SCHEMA, budget=dp.Budget(epsilon=1))
    found = DuckDB(path, SCHEMA).totals(plan_of(table.count(), epsilon=1))
    assert int(found[-1][0, 0]) == first + 1 + last


def test_csv_of_several_files_and_compressed(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text(f"person,s,v\n{i},a,{i}\n")
    assert sorted(rows(DuckDB(str(tmp_path / "*.csv"), SCHEMA))) == [(0, "a", 0.0), (1, "a", 1.0)]
    (tmp_path / "z.tsv.gz").write_bytes(gzip.compress(b"person\ts\tv\n1\tb\t2\n"))
    assert rows(DuckDB(tmp_path / "z.tsv.gz", SCHEMA)) == [(1, "b", 2.0)]


def test_an_empty_table_is_a_table(path: Path, tmp_path: Path) -> None:
    assert csv(path, "person,s,v\n") == []
    pq.write_table(pa.table({"v": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    assert column(tmp_path / "empty.parquet") == []
    assert column(pa.table({"v": pa.array([], pa.float64())})) == []
    assert column(pd.DataFrame({"v": pd.Series([], dtype=float)})) == []


@pytest.mark.parametrize("body", ["", "\n", "a,a\n1,2\n"], ids=["empty", "blank", "names twice"])
def test_a_csv_without_names_is_refused_without_its_words(path: Path, body: str) -> None:
    path.write_text(body)
    with pytest.raises(dp.InvalidParameter, match="distinct column names, got columns=") as refusal:
        DuckDB(path, SCHEMA)
    assert "1" not in str(refusal.value).replace(f"columns={body.count(',') + 1}", "")


def test_a_csv_whose_first_line_is_a_row_does_not_show_it(path: Path) -> None:
    path.write_text("4711,secret,2\n5,b,3\n")
    with pytest.raises(dp.InvalidParameter, match="columns of the data, got schema='person'") as refusal:
        DuckDB(path, SCHEMA)
    assert "secret" not in str(refusal.value)


REFUSED: dict[str, tuple[Any, dict[str, str] | None, str]] = {
    "no file": ("/nowhere/x.parquet", None, "a file that exists"),
    "no files": ("/nowhere/*.csv", SCHEMA, "files that match"),
    "unknown suffix": ("table.xlsx", None, r"a \.parquet, \.csv or \.tsv file"),
    "no columns": (pd.DataFrame(), None, "a table that has columns"),
    "no table": ([1, 2], None, "a table, got data='list'"),
    "a column": (pd.Series([1]), None, "a table, got data='Series'"),
    "no connection": (ibis.table({"a": "int64"}, name="a"), None, "a table of a connection"),
    "unknown type": (pa.table({"a": [1]}), {"a": "integers"}, "a known type"),
    "unknown column": (pa.table({"a": [1]}), {"b": "int64"}, "columns of the data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused(name: str) -> None:
    data, schema, message = REFUSED[name]
    with pytest.raises(dp.InvalidParameter, match=message):
        DuckDB(data, schema)


def test_files_are_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.parquet").write_text("no Parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "c.parquet")
    (tmp_path / "d.csv").mkdir()
    (tmp_path / "e.csv.gz").write_text("a\n1\n")
    (tmp_path / "f.csv").write_bytes("a;b\n1;2\n".encode("utf-16"))
    for name, schema, message in (
        ("d.csv", {"a": "int64"}, r"a file, got data=.*\n.*folder/\*.csv"),
        ("e.csv.gz", {"a": "int64"}, "a readable CSV file"),
        ("f.csv", {"a": "int64"}, r"columns of the data.*\n.* in UTF-8, names .* apart by commas"),
        ("a.csv", None, "a schema for a CSV file"),
        ("b.parquet", None, "a readable Parquet file"),
        ("c.parquet", {"a": "int64"}, "no schema where the table has one"),
    ):
        with pytest.raises(dp.InvalidParameter, match=message):
            DuckDB(tmp_path / name, schema)


def test_a_schema_serves_frames_too() -> None:
    data = pd.DataFrame({"a": ["1", "x", None], "b": [1.0, 2.0, 3.0]})
    assert rows(DuckDB(data, {"a": "int8", "b": "string"})) == [(1, "1.0"), (None, "2.0"), (None, "3.0")]

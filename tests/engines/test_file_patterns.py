"""Columns go by their names in every file, at `protect` and in each look, and rows decide about no refusal."""

from __future__ import annotations

import gc
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import FAILED, UNCHARGED
from discreet.engines.file_patterns import literal, matching_files
from discreet.query.table import PrivateTable
from neighbor_bench import plan_of

SCHEMA = {"person": "int64", "amount": "int64"}
ROWS = [(1, amount) for amount in range(200)]
"""Of one person, who would be two hundred if amounts were persons."""


def as_csv(path: Path, names: tuple[str, ...] = ("person", "amount"), rows: Any = ROWS) -> None:
    places = [("person", "amount").index(name) if name in SCHEMA else 0 for name in names]
    lines = [",".join(names), *(",".join(str(row[place]) for place in places) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def as_parquet(path: Path, names: tuple[str, ...] = ("person", "amount"), rows: Any = ROWS, kind: Any = None) -> None:
    places = [("person", "amount").index(name) if name in SCHEMA else 0 for name in names]
    columns = {
        name: pa.array([row[place] for row in rows], pa.int64()) for name, place in zip(names, places, strict=True)
    }
    if kind is not None:
        columns["person"] = columns["person"].cast(kind)
    pq.write_table(pa.table(columns), path)


def protected(path: object, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"schema": SCHEMA} if str(path).endswith(".csv") else {}
    return dp.protect(path, unit="person", max_rows=1, budget=dp.Budget(epsilon=9), **facts, **stated)


def persons(table: PrivateTable) -> int:
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # the curator's source has it
    return int(engine.totals(plan_of(table.count(), epsilon=1))[0][0, 0])


@pytest.mark.parametrize(
    "names", [("amount", "person"), ("person", "amount", "more"), ("person",), ("Person", "amount")]
)
def test_csv_files_with_other_first_lines_are_not_read_as_one(tmp_path: Path, names: tuple[str, ...]) -> None:
    as_csv(tmp_path / "a.csv")
    as_csv(tmp_path / "b.csv", names)
    with pytest.raises(dp.InvalidParameter, match=r"each with the same first line, got data='.*2 files") as refusal:
        protected(str(tmp_path / "*.csv"))
    assert "199" not in str(refusal.value)


@pytest.mark.parametrize("kind", [pa.string(), pa.int32(), pa.float64()], ids=str)
def test_parquet_files_of_other_types_are_not_read_as_one(tmp_path: Path, kind: pa.DataType) -> None:
    """The types of the first would be forced on the others, which fails on some row or other."""
    as_parquet(tmp_path / "a.parquet")
    as_parquet(tmp_path / "b.parquet", kind=kind)
    with pytest.raises(dp.InvalidParameter, match="each with the columns of the first, of the same types"):
        protected(str(tmp_path / "*.parquet"))


def test_parquet_columns_go_by_their_names(tmp_path: Path) -> None:
    as_parquet(tmp_path / "a.parquet")
    as_parquet(tmp_path / "b.parquet", ("more", "amount", "person"))
    assert persons(protected(str(tmp_path / "*.parquet"))) == 1


WRITERS = {"csv": as_csv, "parquet": as_parquet}


def as_folder(path: Path) -> None:
    """As Spark writes one."""
    path.unlink()
    path.mkdir()
    WRITERS[path.suffix[1:]](path / f"part{path.suffix}")


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


OTHERS: dict[str, list[Callable[[Path], object]]] = {
    "csv": [
        lambda path: as_csv(path, ("amount", "person")),
        lambda path: as_csv(path, ("person",)),
        lambda path: path.write_text(""),
        lambda path: path.write_bytes(gzip.compress(b"person,amount\n1,1\n")),
        lambda path: path.unlink(),
        *(as_folder, as_pipe),
    ],
    "parquet": [
        lambda path: as_parquet(path, ("amount",)),
        lambda path: as_parquet(path, kind=pa.string()),
        lambda path: path.write_text("no Parquet"),
        lambda path: path.unlink(),
        *(as_folder, as_pipe),
    ],
}


@pytest.mark.parametrize(("kind", "change"), [(kind, change) for kind, changes in OTHERS.items() for change in changes])
def test_a_file_with_other_columns_is_refused(tmp_path: Path, kind: str, change: Callable[[Path], object]) -> None:
    """For nothing, if it has changed before the charge; and in the look, whose charge stays."""
    path = tmp_path / f"table.{kind}"
    WRITERS[kind](path)
    table = protected(path)
    plan = plan_of(table.count(), epsilon=1)
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # as above
    statement = engine.statement(plan)
    change(path)
    with pytest.raises(dp.EngineError) as refusal:
        table.count().release(epsilon=1)
    assert str(refusal.value) == UNCHARGED
    assert table.budget.spent.epsilon == 0
    with pytest.raises(dp.EngineError) as refusal:
        engine.totals(plan, statement)
    assert str(refusal.value) == FAILED


@pytest.mark.parametrize("kind", WRITERS)
def test_new_rows_under_the_same_columns_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"table.{kind}"
    WRITERS[kind](path)
    table = protected(path)
    WRITERS[kind](path, rows=[*ROWS, (2, 1)])
    assert persons(table) == 2


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_change_during_the_look_is_refused(tmp_path: Path, kind: str, restored: bool) -> None:  # noqa: FBT001 (given by name)
    """Whatever was found, and also where the file is what it was when the look ends."""
    path = tmp_path / f"table.{kind}"
    WRITERS[kind](path)
    engine: Any = protected(path)._source._engine  # type: ignore[attr-defined]  # as above
    files = engine._files
    with pytest.raises(Exception, match=r"^$") as refusal, files.unchanged():  # noqa: PT012 (a look)
        WRITERS[kind](path, ("amount",))
        if restored:
            WRITERS[kind](path)
    assert type(refusal.value).__name__ == "FilesChanged"
    with files.unchanged() if restored else pytest.raises(Exception, match=r"^$"):
        files.check()


def test_a_failure_of_a_changed_file_says_no_more(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    as_csv(path)
    files: Any = protected(path)._source._engine._files  # type: ignore[attr-defined]  # as above
    with pytest.raises(Exception, match=r"^$") as refusal, files.unchanged():  # noqa: PT012 (a look)
        as_csv(path, rows=[(4711, 1)])
        raise ValueError(4711)
    assert type(refusal.value).__name__ == "FilesChanged"


def test_files_that_come_later_are_not_read(tmp_path: Path) -> None:
    as_csv(tmp_path / "a.csv")
    table = protected(str(tmp_path / "*.csv"))
    as_csv(tmp_path / "b.csv", ("amount", "person"))
    assert persons(table) == 1
    later = table.refreshed(str(tmp_path / "a.csv"), version=2, schema=SCHEMA)
    assert persons(later) == 1


def test_another_working_folder_is_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rows in (("here", ROWS), ("there", [(1, 1), (2, 2)])):
        (tmp_path / name).mkdir()
        as_csv(tmp_path / name / "table.csv", rows=rows)
    monkeypatch.chdir(tmp_path / "here")
    table = protected("table.csv")
    monkeypatch.chdir(tmp_path / "there")
    assert persons(table) == 1


NAMES = [
    "a-[1]",
    "a*b",
    "a?",
    "a]b",
    "a{b,c}",
    "a\\b",
    "a'b",
    "a b$#%20",
    "k=v",
    "[a-c]",
    "a**",
    "[",
    "!a^",
    "s3:",
    "~",
]


@pytest.mark.long
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_found_under_its_own_name(tmp_path: Path, name: str, kind: str) -> None:
    """Beside others that its name would match as a pattern."""
    for other in ("a-1", "axb", "ab", "a", "b", "c", "aa"):
        WRITERS[kind](tmp_path / f"{other}.{kind}", rows=[(1, 1), (2, 2), (3, 3)])
    WRITERS[kind](tmp_path / f"{name}.{kind}")
    assert persons(protected(tmp_path / f"{name}.{kind}")) == 1


def test_a_file_of_a_pattern_may_have_a_patterns_name(tmp_path: Path) -> None:
    (tmp_path / "[x]").mkdir()
    for name in ("a-[1]", "a-1"):
        as_csv(tmp_path / "[x]" / f"{name}.csv")
    found = matching_files(str(tmp_path / "[[]x]" / "*.csv"))
    assert sorted(Path(one).name for one in found) == ["a-1.csv", "a-[1].csv"]
    assert literal(found[0]) != found[0]
    assert persons(protected(str(tmp_path / "[[]x]" / "*.csv"))) == 1


ELSEWHERE = [
    *("s3://bucket/*.parquet", "https://example.org/*.csv", "hf://datasets/a/b/*.parquet", "gs://b/[a].csv"),
    *("s3://bucket/a.parquet", "https://example.org/a.csv", "file:///etc/*.csv"),
]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_addresses_of_other_machines_are_refused(address: str) -> None:
    """Before the engine hears of them: it would fetch an extension, and then the file."""
    with pytest.raises(dp.InvalidParameter, match="a local file, a frame or an Ibis table, got data="):
        dp.protect(address, unit=dp.ROW, schema=SCHEMA, budget=dp.Budget(epsilon=1))


def test_nothing_is_fetched_or_loaded_by_connections_of_ours(tmp_path: Path) -> None:
    as_csv(tmp_path / "a.csv")
    raw = DuckDB(tmp_path / "a.csv", SCHEMA)._backend.con
    settings = dict(raw.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
    with pytest.raises(Exception, match="httpfs"):
        raw.execute("SELECT * FROM 'https://127.0.0.1:1/a.parquet'")


def test_what_does_not_fit_in_memory_lies_where_nobody_else_reads(tmp_path: Path) -> None:
    as_csv(tmp_path / "a.csv")
    engine = DuckDB(tmp_path / "a.csv", SCHEMA)
    raw = engine._backend.con
    [folder] = raw.execute("SELECT current_setting('temp_directory')").fetchone()
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert not Path(folder).is_relative_to(Path.cwd())
    other = DuckDB(tmp_path / "a.csv", SCHEMA)._backend.con
    assert other.execute("SELECT current_setting('temp_directory')").fetchone() != (folder,)
    raw.execute("SET memory_limit = '60MB'; SET threads = 1")
    raw.execute("CREATE TABLE spilled AS SELECT range AS a, hash(range) AS b, range::TEXT AS c FROM range(4_000_000)")
    assert any(Path(folder).iterdir())
    del raw, engine
    gc.collect()
    assert not Path(folder).exists()


def test_folders_that_are_named_as_a_column_are_refused(tmp_path: Path) -> None:
    """DuckDB takes the folder's name in place of what the file says: everybody would be one person, or none."""
    for kind, write in WRITERS.items():
        (tmp_path / "person=7").mkdir(exist_ok=True)
        write(tmp_path / "person=7" / f"a.{kind}")
        with pytest.raises(dp.InvalidParameter, match="folders that are not named as columns are, got folder='person'"):
            protected(tmp_path / "person=7" / f"a.{kind}")


def test_columns_of_folder_names_are_read(tmp_path: Path) -> None:
    for zone in (1, 2):
        (tmp_path / f"zip={zone}").mkdir()
        as_csv(tmp_path / f"zip={zone}" / "a.csv", rows=[(zone, 1)])
    table = dp.protect(
        str(tmp_path / "*" / "a.csv"),
        unit="person",
        max_rows=1,
        schema={**SCHEMA, "zip": "int64"},
        budget=dp.Budget(epsilon=1),
    )
    assert persons(table.filter(lambda t: t.zip == 2)) == 1


FAR = {unit: pa.array([-(2**63), 2**63 - 1, 0], pa.int64()).view(pa.timestamp(unit)) for unit in ("ms", "us", "ns")}


@pytest.mark.parametrize("unit", FAR)
def test_no_moment_of_a_parquet_file_raises(tmp_path: Path, unit: str) -> None:
    """DuckDB widens milliseconds as it reads them, and fails on a far one: such columns are left out."""
    pq.write_table(pa.table({"person": [1, 2, 3], "at": FAR[unit]}), tmp_path / "a.parquet")
    table = protected(tmp_path / "a.parquet")
    assert persons(table) == 3
    if unit == "ms":
        with pytest.raises(dp.InvalidQuery, match="TIMESTAMP in milliseconds"):
            table.agg(n=table["at"].count())
    else:
        asked = plan_of(table.agg(n=table["at"].count()), epsilon=1)
        assert DuckDB(tmp_path / "a.parquet", None).totals(asked)[0][0, 0] >= 1


def test_a_file_whose_moments_become_milliseconds_is_refused(tmp_path: Path) -> None:
    """DuckDB gives both the same type."""
    for unit, values in FAR.items():
        pq.write_table(pa.table({"person": [1, 2, 3], "at": values}), tmp_path / f"{unit}.parquet")
    table = protected(tmp_path / "us.parquet")
    assert persons(table) == 3
    (tmp_path / "ms.parquet").replace(tmp_path / "us.parquet")
    with pytest.raises(dp.EngineError) as refusal:
        table.count().release(epsilon=1)
    assert str(refusal.value) == UNCHARGED


def test_a_table_of_a_connection_with_other_types_is_refused() -> None:
    """A column that has become text would be cast, which fails on the first that is no number."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 1 AS person, range AS amount FROM range(200)")
    table = protected(connection.table("visits"), name="visits")
    assert persons(table) == 1
    for other in ("SELECT 'x' AS person, range AS amount", "SELECT range AS amount, 1 AS person", "SELECT 1 AS person"):
        connection.raw_sql(f"CREATE OR REPLACE TABLE visits AS {other} FROM range(200)")
        with pytest.raises(dp.EngineError) as refusal:
            table.count().release(epsilon=1)
        assert str(refusal.value) == UNCHARGED
    connection.raw_sql("CREATE OR REPLACE TABLE visits AS SELECT 1 AS person, range AS amount FROM range(10)")
    assert persons(table) == 1


@pytest.mark.parametrize("links", [("v1", "v2"), ("a/v1", "a/v2")])
def test_a_folder_that_is_turned_away_and_back(tmp_path: Path, links: tuple[str, str]) -> None:
    """A link to a folder above the file, through which another file was read for the time of a look."""
    for name, order in zip(links, (("person", "amount"), ("amount", "person")), strict=True):
        (tmp_path / name).mkdir(parents=True)
        as_csv(tmp_path / name / "table.csv", order)
    (tmp_path / "inner").symlink_to(links[0])
    (tmp_path / "outer").symlink_to(tmp_path / "inner")
    files: Any = protected(str(tmp_path / "outer" / "table.csv"))._source._engine._files  # type: ignore[attr-defined]  # as above
    files.check()
    with pytest.raises(Exception, match=r"^$") as refusal, files.unchanged():  # noqa: PT012 (a look)
        for target in (links[1], links[0]):
            (tmp_path / "new").symlink_to(target)
            (tmp_path / "new").rename(tmp_path / "inner")
    assert type(refusal.value).__name__ == "FilesChanged"
    with files.unchanged():
        pass


def test_links_in_a_circle_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(dp.InvalidParameter):
        protected(str(tmp_path / "a.csv"))


def test_what_waits_for_a_writer_is_no_file(tmp_path: Path) -> None:
    """It once had `protect` wait with it."""
    os.mkfifo(tmp_path / "table.csv")
    os.mkfifo(tmp_path / "table.parquet")
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(dp.InvalidParameter, match="Expected a file, got"):
            protected(str(tmp_path / name))
        with pytest.raises(dp.InvalidParameter, match="files that match"):
            protected(str(tmp_path / f"*{Path(name).suffix}"))
    with pytest.raises(dp.InvalidParameter, match="a Parquet file of keys"):
        dp.public_keys(tmp_path / "table.parquet")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    "folder", ["city=a=b", "city=", "=a", "city=a?", "ci?ty=a", "city=a\nb", "city=a\\b", "city=%ff"]
)
def test_folders_of_no_name_or_value_are_refused(tmp_path: Path, folder: str, kind: str) -> None:
    """Those with ?, a new line or a backslash are none to DuckDB, or end there; it fails at bytes that are no text."""
    (tmp_path / folder).mkdir()
    WRITERS[kind](tmp_path / folder / f"table.{kind}")
    with pytest.raises(dp.InvalidParameter, match="folders with one name and one value"):
        protected(str(tmp_path / "*" / f"table.{kind}"))


def test_a_file_that_a_pattern_cannot_find_costs_nothing(tmp_path: Path) -> None:
    """A name with brackets is looked for in its folder, where a stranger's file may stop the search."""
    as_csv(tmp_path / "visits[1].csv")
    table = protected(str(tmp_path / "visits[1].csv"))
    table.count().release(epsilon=1)
    (tmp_path / "\\v.csv").write_text("x\n")
    with pytest.raises(dp.EngineError) as refusal:
        table.count().release(epsilon=0.5)
    assert str(refusal.value) == UNCHARGED
    with pytest.raises(dp.InvalidParameter, match="a readable CSV file"):
        protected(str(tmp_path / "visits[1].csv"))

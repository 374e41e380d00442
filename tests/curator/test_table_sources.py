"""Where a source lies: beside its declaration, or on a connection; what a database says is not repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pytest

from discreet.curator.table_sources import TableOf, connected, path, stated_source, str_of, table
from discreet.errors import InvalidParameter


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("db:visits", TableOf("db", ("visits",))),
        ("db:clinic.visits", TableOf("db", ("clinic", "visits"))),
        ("db:a.clinic.visits", TableOf("db", ("a", "clinic", "visits"))),
        ('db:"my ""own"".clinic".visits', TableOf("db", ('my "own".clinic', "visits"))),
    ],
)
def test_tables_of_connections(source: str, place: TableOf) -> None:
    assert stated_source(source, Path("/data"), ["db"]) == place


@pytest.mark.parametrize(
    "source", ["db:", "db:.", "db:a.", "db:a..b", "db:a.b.c.d", 'db:"a', 'db:a"b"', "other:a", "https://x/y.parquet"]
)
def test_what_is_no_table_is_refused(source: str) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        stated_source(source, Path("/data"), ["db"])


def test_the_nearest_connection_is_named() -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'warehouse'"):
        stated_source("warehose:visits", Path("/data"), ["warehouse"])
    with pytest.raises(InvalidParameter, match="hand it over"):
        stated_source("warehouse:visits", Path("/data"), [])


def test_paths_are_relative_to_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "odd [x]"
    folder.mkdir()
    (folder / "a.parquet").touch()
    (folder / "a:b.parquet").touch()
    assert path("a.parquet", folder) == str(folder / "a.parquet")
    assert stated_source("a:b.parquet", folder, []) == str(folder / "a:b.parquet")
    assert path("*.parquet", folder) == f"{tmp_path}/odd [[]x]/*.parquet"


@pytest.mark.parametrize("source", ["none.parquet", "x" * 5_000 + ".parquet", "a\0b", "C:/none.parquet"])
def test_what_is_no_file_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        stated_source(source, tmp_path, [])


@pytest.fixture
def connection() -> Any:
    found = ibis.duckdb.connect()
    found.con.execute("CREATE SCHEMA clinic")
    found.con.execute("CREATE TABLE clinic.visits (person INTEGER)")
    found.con.execute('CREATE TABLE clinic."my.visits" (person INTEGER)')
    return found


def test_tables_are_found_by_their_schema(connection: Any) -> None:
    for source in ("db:clinic.visits", 'db:clinic."my.visits"', "db:memory.clinic.visits"):
        place = stated_source(source, Path(), ["db"])
        assert isinstance(place, TableOf)
        assert table(place, {"db": connection}).columns == ("person",)


def test_the_nearest_table_is_named(connection: Any) -> None:
    place = TableOf("db", ("clinic", "visit"))
    assert str_of(place) == "db:clinic.visit"
    with pytest.raises(InvalidParameter, match="did you mean 'visits'"):
        table(place, {"db": connection})
    with pytest.raises(InvalidParameter, match="check its schema"):
        table(TableOf("db", ("none", "visits")), {"db": connection})


def test_an_address_is_opened_and_never_shown() -> None:
    assert connected("db", "duckdb://").name == "duckdb"
    with pytest.raises(InvalidParameter) as refusal:
        connected("db", "postgresql://reader:s3cret@127.0.0.1:1/clinic")
    assert "s3cret" not in str(refusal.value)
    assert refusal.value.__context__ is None
    with pytest.raises(InvalidParameter, match="a connection of Ibis"):
        connected("db", object())

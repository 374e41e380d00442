"""A view whose types DuckDB finds out from rows would show them: by its columns, its refusals and its failures."""

from __future__ import annotations

from pathlib import Path

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb_names import qualified, relations
from discreet.engines.inferred_types import takes_types_from_rows

COLUMNS = "auto_detect = false, header = true, columns = {'person': 'BIGINT', 'visits': 'BIGINT'}"
GUESSED = {
    "a reader": "CREATE VIEW seen AS SELECT * FROM read_csv('{csv}')",
    "a reader of JSON": "CREATE VIEW seen AS SELECT * FROM read_json_auto('{json}')",
    "a file": "CREATE VIEW seen AS FROM '{csv}'",
    "a view of a view": "CREATE VIEW own AS FROM '{csv}'; CREATE VIEW seen AS SELECT person, visits FROM own",
    "a macro": "CREATE MACRO own() AS TABLE FROM '{csv}'; CREATE VIEW seen AS FROM own()",
    "a subquery": "CREATE VIEW seen AS SELECT * FROM stored WHERE person IN (SELECT person FROM read_csv('{csv}'))",
    "folders": "CREATE VIEW seen AS FROM read_parquet(['{folders}'])",
    "folders in the place of a table": "CREATE VIEW seen AS FROM '{folders}'",
    "columns, and folders": "CREATE VIEW seen AS FROM read_csv('{folders}', {columns})",
    "folders of one of two": "CREATE VIEW seen AS FROM read_parquet('{folders}', hive_types_autocast = false)"
    " UNION ALL BY NAME FROM read_parquet('{folders}')",
    "a file that a join begins with": "CREATE VIEW seen AS SELECT f.* FROM '{csv}' AS f JOIN stored ON true",
    "a file behind a comma": "CREATE VIEW seen AS SELECT f.* FROM stored, '{json}' AS f",
    "a file by its name": "CREATE VIEW seen AS FROM query_table('{csv}')",
    "a query of a text": "CREATE VIEW seen AS FROM query('FROM ''{text}''')",
    "a query of a calculated text": "CREATE VIEW seen AS FROM query('FROM read_' || 'csv(''{text}'')')",
    "files by their names": "CREATE VIEW seen AS FROM query_table(['{csv}'])",
    "a macro for names": "CREATE MACRO own(t) AS TABLE FROM query_table(t); CREATE VIEW seen AS FROM own('{csv}')",
    "a macro, folders": "CREATE MACRO own(t) AS TABLE FROM read_parquet(t); CREATE VIEW seen AS FROM own('{folders}')",
    "a calculated pattern": "CREATE VIEW seen AS FROM read_parquet('{folder}/' || '*' || '/*.parquet')",
    "one of several": "CREATE VIEW seen AS FROM read_parquet(['{folder}/site=1/visits.parquet', '{folder}/site=1'])",
    "a folder by an address": "CREATE VIEW seen AS FROM read_parquet('file://{folder}/site=1')",
    "a folder of the user's": "CREATE VIEW seen AS FROM read_parquet('~/site=1')",
    "a file that a text calls stated": "CREATE VIEW seen AS FROM read_csv('{csv}') WHERE 'auto_detect = false' <> ''",
    "folders that a text calls stated": "CREATE VIEW seen AS FROM read_parquet('{folders}') WHERE 'hive_types' <> ''",
    "folders behind a comma": "CREATE VIEW seen AS SELECT f.* FROM stored, '{folders}' AS f",
    "folders that a join begins with": "CREATE VIEW seen AS SELECT f.* FROM '{folders}' AS f JOIN stored ON true",
    "folders at any depth": "CREATE VIEW seen AS FROM read_parquet('{folder}/site=1/**')",
    "a folder": "CREATE VIEW seen AS FROM read_parquet('{folder}/site=1')",
    "what a variable holds": "SET VARIABLE p = '{folders}'; CREATE VIEW seen AS FROM read_parquet(getvariable('p'))",
    "one of two": "CREATE VIEW seen AS FROM read_csv('{csv}', {columns}) UNION ALL FROM read_csv('{csv}')",
}
STATED = {
    "a table": "CREATE TABLE seen AS FROM read_csv('{csv}')",
    "a view of a table": "CREATE VIEW seen AS SELECT *, 'visits.csv' AS file FROM stored",
    "columns": "CREATE VIEW seen AS SELECT * FROM read_csv('{csv}', {columns})",
    "folders as text": "CREATE VIEW seen AS FROM read_parquet(['{folders}', '{folders}'], hive_types_autocast = false)",
    "folders of stated types": "CREATE VIEW seen AS FROM read_parquet('{folders}', hive_types = {{'site': TEXT}})",
    "no folders": "CREATE VIEW seen AS FROM read_parquet('{folders}', hive_partitioning = false)",
    "one folder": "CREATE VIEW seen AS FROM read_parquet('{folder}/site=1/*.parquet')",
    "a column named query": "CREATE VIEW seen AS SELECT *, visits AS query, (visits + 1) AS more FROM stored",
    "a reader in a text": "CREATE VIEW seen AS SELECT *, 'from read_csv(''*/*.parquet'')' AS note FROM stored",
    "a variable, and no folders": "SET VARIABLE p = '{folder}/site=1/visits.parquet'; "
    "CREATE VIEW seen AS FROM read_parquet(getvariable('p'), hive_partitioning = false)",
    "a macro of that name, too": "CREATE MACRO read_own(n) AS TABLE FROM stored; CREATE VIEW seen AS FROM read_own(5)",
    "a macro of that name": "CREATE MACRO read_json(t) AS TABLE FROM stored; CREATE VIEW seen AS FROM read_json('t')",
}


def seen(made: str, above: Path, rows: str = "1,3\n2,5\n") -> ibis.Table:
    """What a statement makes of a file, below a folder whose name has what texts and calls end with."""
    folder = above / "Tom's (1) data"
    folder.mkdir(exist_ok=True)
    (folder / "visits.csv").write_text(f"person,visits\n{rows}")
    (folder / "visits.json").write_text('{"person": 1, "visits": 3}\n')
    (folder / "site=1").mkdir(exist_ok=True)
    pq.write_table(pa.table({"person": [1], "visits": [3]}), folder / "site=1" / "visits.parquet")
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE stored (person BIGINT, visits BIGINT)")
    found = {"csv": folder / "visits.csv", "json": folder / "visits.json", "folder": folder}
    found["folders"] = folder / "*" / "*.parquet"
    places = {name: str(place).replace("'", "''") for name, place in found.items()}
    places["text"] = places["csv"].replace("'", "''")
    for one in made.format(**places, columns=COLUMNS).split("; "):
        connection.raw_sql(one)
    return connection.table("seen")


def protected(table: ibis.Table) -> dp.PrivateTable:
    return dp.protect(table, unit="person", max_rows=1, budget=dp.Budget(epsilon=1), name="visits")


@pytest.mark.parametrize("made", GUESSED.values(), ids=GUESSED)
def test_a_view_that_guesses_types_is_refused(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "Tom's (1) data"))
    with pytest.raises(dp.InvalidParameter, match="columns whose types are stated"):
        protected(seen(made, tmp_path))


@pytest.mark.parametrize("made", STATED.values(), ids=STATED)
def test_a_view_whose_types_are_stated_is_taken(made: str, tmp_path: Path) -> None:
    assert protected(seen(made, tmp_path)).columns[:2] == ("person", "visits")


@pytest.mark.parametrize("made", ["SELECT * FROM lite.visits", "SELECT stored.* FROM stored, lite.visits"])
def test_a_table_of_sqlite_is_refused(made: str) -> None:
    """Its extension is not here: a database of DuckDB's stands for one of SQLite's, by itself and in a view."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("ATTACH ':memory:' AS lite; CREATE TABLE lite.visits (person BIGINT)")
    connection.raw_sql(f"CREATE TABLE stored (person BIGINT); CREATE VIEW seen AS {made}")
    stored = connection.table("visits", database=("lite", "main"))
    for table, is_loose in ((connection.table("seen"), True), (stored, True), (connection.table("stored"), False)):
        settled = qualified(table, connection.con)
        assert takes_types_from_rows(settled, relations(connection.con), {}, {"lite"}) is is_loose
        assert not takes_types_from_rows(settled, relations(connection.con), {})


PIVOTS = (
    "PIVOT stored ON plan USING sum(x) GROUP BY person",
    "FROM (Pivot stored ON plan USING sum(x) GROUP BY person)",
    "WITH p AS (PIVOT_WIDER stored ON plan USING sum(x) GROUP BY person) FROM p",
)


@pytest.mark.parametrize("query", PIVOTS)
def test_a_pivot_is_taken_in_a_view_alone(query: str) -> None:
    """There, DuckDB itself wants its values; in a query, one row with a new one makes a new column."""
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE stored AS SELECT 1 AS person, 'a' AS plan, 5 AS x")
    columns = list(connection.con.sql(query).columns)
    connection.raw_sql("INSERT INTO stored VALUES (2, 'b', 5)")
    assert (columns, connection.con.sql(query).columns) == (["person", "a"], ["person", "a", "b"])  # the attack itself
    table = connection.sql(query, schema={"person": "int32", "a": "decimal(38, 0)", "b": "decimal(38, 0)"})
    with pytest.raises(dp.InvalidParameter, match="columns whose types are stated"):
        protected(table)
    with pytest.raises(duckdb.Error, match="cannot be used in views"):
        connection.raw_sql(f"CREATE VIEW seen AS {query}")
    connection.raw_sql("CREATE VIEW seen AS FROM stored PIVOT (sum(x) FOR plan IN ('a', 'b') GROUP BY person)")
    assert protected(connection.table("seen")).columns == ("person", "a", "b")


def test_the_attack_works_on_a_view(tmp_path: Path) -> None:
    """One row decides what its column is."""
    kinds = [seen(GUESSED["a file"], tmp_path, f"1,3\n{row}").visits.type() for row in ("", "2,4.5\n", "2,abc\n")]
    assert [str(kind) for kind in kinds] == ["int64", "float64", "string"]


def test_a_frame_of_a_connection_is_refused_where_its_types_are_guessed() -> None:
    connection = ibis.duckdb.connect()
    rows = {"person": [1, 2], "visits": [3, 4]}
    connection.con.register("guessed", pd.DataFrame(rows))
    connection.con.register("stated", pa.table(rows))
    with pytest.raises(dp.InvalidParameter, match="columns whose types are stated"):
        protected(connection.table("guessed"))
    assert protected(connection.table("stated")).columns == ("person", "visits")

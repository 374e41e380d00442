"""What is handed to `dp.protect` and is no table, or is stated wrong: each answered with the line that protects it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import discreet as dp
from wrong_calls import misjudged

CALLS = {
    "dp.protect()": "write dp.protect(1, unit='person', budget=dp.B",
    "dp.protect(frame)": "unit='person' names the column that tells peop",
    'dp.protect(frame, "person")': "write dp.protect(<DataFrame>, unit='person', b",
    'dp.protect(frame, "person", 1)': "write dp.protect(<DataFrame>, unit='person', b",
    'dp.protect(frame, unit="person")': "say what may be spent in total: budget=dp.Budg",
    'dp.protect(frame, unit="person", budget=1)': "say what may be spent in total: budget=dp.Budg",
    'dp.protect(frame, unit="person", budget={"epsilon": 1})': "say what may be spent in total: budget=dp.Budg",
    'dp.protect(frame, unit="person", epsilon=1)': "a price is stated where it is paid, .release(e",
    'dp.protect(frame, unit="persn", budget=budget)': "did you mean 'person'?",
    "dp.protect(frame, unit=None, budget=budget)": "unit='person' names the column that tells peop",
    "dp.protect(frame, unit=3, budget=budget)": "unit='person' names the column that tells peop",
    'dp.protect(frame, privacy_unit="person", budget=budget)': "here it is called 'unit'.",
    'dp.protect(frame, user_id="person", budget=budget)': "here it is called 'unit'.",
    'protect(frame, bounds={"visits": 50})': "write bounds={'visits': (0, 100)}; for numbers",
    'protect(frame, bounds={"visits": (50, 0)})': "write the lower bound first; they may not be e",
    'protect(frame, bounds={"vists": (0, 50)})': "did you mean 'visits'?",
    'protect(frame, bounds={"plan": (0, 50)})': "leave it out; list its public categories in ke",
    'protect(frame, bounds={"member": (0, 1)})': "leave it out: a truth value has no bounds; cou",
    "protect(frame, bounds=(0, 50))": "write bounds={'column': (0, 100)}.",
    'protect(frame, bounds={"visits": (None, 50)})': "give both ends as numbers, bounds={'visits': (",
    'protect(frame, bounds={"visits": (0, float("inf"))})': "give both ends as numbers, bounds={'visits': (",
    'protect(frame, bounds={"visits": "auto "})': "write bounds={'visits': (0, 100)}; for numbers",
    'protect(frame, keys=["plan"])': "write keys={'column': ['a', 'b']}.",
    'protect(frame, keys={"pln": ["a"]})': "did you mean 'plan'?",
    'protect(frame, keys={"plan": "a"})': "list them, as in keys={'plan': ['a', 'b']}.",
    'protect(frame, keys={"visits": [1.5]})': "use text, whole numbers, truth values, dates o",
    "protect(frame, max_rows=0)": "write max_rows=5.",
    "protect(frame, max_rows=2.5)": "write max_rows=5.",
    'protect(frame, neighbors="bounded")': "'add-remove' protects whether a person is in t",
    "dp.protect(frame, unit=dp.ROW, budget=budget, max_rows=3)": "leave it out.",
    'protect(frame, neighbors="replace-one")': "replace-one neighbors have the same, public si",
    'protect("postgresql://reader:secret@db/clinic")': "write dp.protect(ibis.postgres.connect(...).ta",
    'protect("s3://bucket/visits.parquet")': "copy the files here, or read them into a table",
    'protect("https://example.org/x.csv")': "copy the files here, or read them into a table",
    'protect("visits.xlsx")': "read it first: dp.protect(pandas.read_excel('v",
    'protect("visits.json")': "read it first: dp.protect(pandas.read_json('vi",
    'protect("visits.db")': "export the table: engines are DuckDB, PostgreS",
    'protect("visits.feather")': "read it first: dp.protect(pyarrow.feather.read",
    'protect("visits")': "end its name with what it is; another kind of",
    'protect("missing.parquet")': "check the path, which is relative to the curre",
    'protect("missing.csv")': "check the path, which is relative to the curre",
    'protect("SELECT * FROM visits")': "protect the table first; dp.sql('SELECT ...',",
    'protect(pa.table([[1], [2], [3]], names=["person", "a", "a"]))': "rename them in the frame, or before the fil",
    'protect(pa.table([[1], [2], [3]], names=["person", "a", "A"]))': "rename them in the frame, or before the fil",
    'protect(pd.DataFrame([[1, 2, 3]], columns=["person", "a", "a"]))': "rename them in the frame, or before the",
    "protect(None)": "give a path, a pandas, polars or Arrow table,",
    'protect({"person": [1, 2]})': "write dp.protect(pyarrow.table(data), ...).",
    'protect([{"person": 1}])': "write dp.protect(pyarrow.Table.from_pylist(row",
    "protect([1, 2, 3])": "write dp.protect(pyarrow.Table.from_pylist(row",
    "protect(np.zeros((3, 2)))": "name the columns: dp.protect(pandas.DataFrame(",
    "protect(pd.Series([1, 2]))": "give a frame with the column of the unit, seri",
    "protect(spark.frame)": "write frame.createOrReplaceTempView('v'), and",
    'protect(duckdb.sql("SELECT 1 AS person"))': "give relation.to_arrow_table(), or the table i",
    "protect(ibis.duckdb.connect())": "name the table: connection.table('visits').",
    'protect(ibis.memtable(pa.table({"person": [1]})))': "pass the frame itself, or store it first, conn",
    'protect(ibis.table({"person": "int64"}, name="t"))': "write connection.table(name), with its connect",
    'protect(sqlite3.connect(":memory:"))': "export the table: engines are DuckDB, PostgreS",
    "protect(people)": "it is protected already: ask it, or refresh it",
    'protect(pd.DataFrame([[1, 2]], columns=["person", "person"]))': "rename them in the frame,",
    "protect(pd.DataFrame())": "name the columns, if only to say that there ar",
    "dp.public([1, 2])": "write dp.protect(pyarrow.Table.from_pylist(row",
    'dp.public("missing.csv")': "check the path, which is relative to the curre",
    'dp.public_keys(["free"])': "give the path of a Parquet file, or a pandas,",
    'dp.open("missing.toml")': "check the path, and that the file is text in U",
    'dp.connect("postgresql://reader@db/clinic")': "write dp.connect('https://example.org', token=",
    'dp.connect("http://example.org")': "write dp.connect('https://example.org', token=",
    'dp.sql("SELECT plan FROM people", people=people)': "add it to GROUP BY, or take an aggregate of it",
    'dp.sql("SELECT COUNT(*) FROM person", people=people)': "the known names are 'people'.",
    'dp.sql("SELECT COUNT(*) FROM people")': "pass it by name, dp.sql(..., people=table).",
    'dp.sql("SELEC COUNT(*) FROM people", people=people)': "write SELECT keys, aggregates FROM table WHERE",
    "dp.sql(people)": "write it as 'SELECT keys, aggregates FROM tabl",
    'dp.sql("SELECT COUNT(*) FROM people", people)': "write dp.sql('SELECT COUNT(*) AS n FROM people",
    "dp.batch(question, question)": "write dp.batch(by_plan=question, by_age=other)",
    "dp.batch()": "write dp.batch(by_plan=..., by_age=...).",
    "dp.batch(a=1)": "give what .agg(...) or .count() gave, before .",
    "dp.question({})": "write dp.question(document, {'people': people}",
    'dp.question("SELECT 1")': "write dp.question(document, {'people': people}",
}
"""The line that each is answered with, or the beginning of it."""


def test_what_is_no_table_is_answered_with_the_line() -> None:
    assert len(CALLS) >= 60
    assert misjudged(CALLS) == {}


def test_a_lazy_frame_that_fails_quotes_no_row() -> None:
    frame = pl.LazyFrame({"person": ["1", "hidden"]}).with_columns(pl.col("person").cast(pl.Int64))
    with pytest.raises(dp.InvalidParameter, match="a lazy frame that can be collected") as caught:
        dp.protect(frame, unit="person", max_rows=1, budget=dp.Budget(epsilon=1))
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_what_is_too_long_for_a_name_is_refused() -> None:
    """A table's text in place of its path, for example."""
    for long in ("person,age\n" + "1,30\n" * 60, "*" * 300, "/".join(["folder"] * 700)):
        for call in (dp.public, dp.public_keys):
            with pytest.raises(dp.InvalidParameter, match="Hint: "):
                call(long)
        with pytest.raises(dp.InvalidParameter, match="Hint: "):
            dp.protect(long, unit="person", max_rows=1, budget=dp.Budget(epsilon=9))


@pytest.mark.parametrize("named", ["table.csv.zst", "table.csv.z*"])
def test_what_is_named_like_a_packed_file_is_none_of_csv(named: str, tmp_path: Path) -> None:
    """DuckDB would unpack it by its name, and fail with each release."""
    (tmp_path / "table.csv.zst").write_text("person,visits\n1,2\n")
    with pytest.raises(dp.InvalidParameter, match=r"unpack it; \.csv\.gz can be read"):
        dp.protect(str(tmp_path / named), unit="person", schema={"person": "int64"}, budget=dp.Budget(epsilon=1))

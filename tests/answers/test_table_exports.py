"""The same table in every form that answers can be written in."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.answers.table_exports import comma_separated
from discreet.testing import people
from workbook_sheets import sheet


def answer() -> dp.Release:
    question = people().group_by("plan").agg(n=lambda t: t.count(), age=lambda t: t.age.mean())
    return question.release(epsilon=1)


def test_csv_is_the_table(tmp_path: Path) -> None:
    found = answer()
    text = found.to_csv(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text(encoding="utf-8") == text
    back = pd.read_csv(io.StringIO(text))
    assert list(back.columns) == found.to_pyarrow().column_names
    assert back["n"].tolist() == found["n"].tolist()


@pytest.mark.parametrize("column", [["a", None, "b"], [None, 3, None], [None], ["a", "", None], [True, None]])
def test_no_row_of_a_single_column_is_an_empty_line(column: list[object]) -> None:
    """A key that is NULL, alone in its row, was an empty line, which every reader skips."""
    table = pa.concat_tables([pa.table({"plan": column}), pa.table({"plan": pa.array([], pa.array(column).type)})])
    rows = list(csv.reader(comma_separated(table).splitlines()))
    assert rows == [["plan"], *([str(value).lower() if value is not None else ""] for value in column)]


@pytest.mark.parametrize("path", ["/nowhere/x.csv", 3.5])
def test_csv_that_cannot_be_written(path: object) -> None:
    with pytest.raises(dp.InvalidParameter, match="a place that can be written"):
        answer().to_csv(path)  # type: ignore[arg-type]  # the refusal is the test


@pytest.mark.parametrize("path", ["s3://bucket/answer", Path("gs://bucket/answer"), "file:///tmp/answer", "no:/answer"])
@pytest.mark.parametrize("export", ["to_parquet.parquet", "to_csv.csv", "to_excel.xlsx"])
def test_an_address_is_refused(export: str, path: str | Path) -> None:
    """Arrow went to the network for it, and others made folders of its name."""
    method, ending = export.split(".")
    place = f"{path}.{ending}" if isinstance(path, str) else path.with_suffix(f".{ending}")
    call = getattr(answer(), method)
    with pytest.raises(dp.InvalidParameter, match=r"a path, and no address, got path=.*\n.*upload it from there"):
        call(path=place)


def test_a_picture_has_no_address() -> None:
    with pytest.raises(dp.InvalidParameter, match="a place that can be written"):
        answer().plot(path="s3://bucket/answer.png")


def test_a_name_with_a_colon_is_a_name(tmp_path: Path) -> None:
    place = tmp_path / "a:b"
    place.mkdir()
    answer().to_parquet(place / "12:30.parquet")
    assert pq.read_table(pa.OSFile(str(place / "12:30.parquet"))).num_rows == 3


def test_excel_has_the_table_and_the_receipt(tmp_path: Path) -> None:
    found = answer()
    found.to_excel(tmp_path / "answer.xlsx")
    header, *rows = sheet(tmp_path / "answer.xlsx")
    assert [text for _, text in header] == found.to_pyarrow().column_names
    assert [row[1][1] for row in rows] == [str(n) for n in found["n"].tolist()]
    receipt = {name: value for (_, name), (_, value) in sheet(tmp_path / "answer.xlsx", 2)}
    assert receipt["guarantee"] == found.receipt["guarantee"]


def test_answers_of_other_kinds_have_the_same_forms(tmp_path: Path) -> None:
    table = people()
    data, both, budget = pa.table({"a": [1, 2], "b": [2, 3]}), ("a", "b"), dp.Budget(epsilon=1)
    for found in (
        table.group_by("plan", cube=True).agg(n=lambda t: t.count()).release(epsilon=1),
        table.kmeans(["age", "visits"], n_clusters=2, epsilon=8),
        table.top("plan", k=2, epsilon=1),
        people().choose([18, 65], score=lambda c: _.age >= c, epsilon=1),
        people().count_distinct("plan", epsilon=1),
        dp.protect_shared(data, each_of=both, budget=budget, name="pairs").truncated_total(most=4, epsilon=1),
    ):
        assert found.to_csv().count("\n") == found.to_pyarrow().num_rows + 1
        found.to_excel(tmp_path / "answer.xlsx")
        found.to_parquet(tmp_path / "answer.parquet")
        assert pa.table(found.to_polars().to_arrow()).num_rows == len(found.to_pandas())
        assert list(found.to_pandas().columns) == found.to_pyarrow().column_names
        assert found.receipt["charge"]["epsilon"] in {"1", "8"}

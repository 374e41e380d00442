"""Texts are joined, cut and replaced as the dialect says, NULL among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp

Exact = Callable[[dp.Question], list[dict[str, Any]]]
TEXTS = ["", "a", "ab", "aab", "é%", "😀b", "a" * 30, None]
ROWS = pa.table({"t": pa.array(TEXTS, pa.string()), "n": pa.array([0, -5, 7, None, 1, 2, 3, 4], pa.int64())})


@pytest.fixture
def texts(protect: Callable[..., dp.PrivateTable]) -> dp.PrivateTable:
    return protect(ROWS, bounds={"n": (-10, 10)})


@pytest.mark.long
@pytest.mark.parametrize(
    "written",
    [
        "RIGHT(t, 0)",
        "RIGHT(t, 2)",
        "REPLACE(t, 'a', '')",
        "REPLACE(t, 'aa', 'b')",
        "REPLACE(t, '%', '_%')",
        "CONCAT(t)",
        "CONCAT(t, '-', n, '-', t)",
        "CONCAT(n, n)",
        "t || n || t",
        "n || t",
        "CONCAT_WS('', t, n)",
        "CONCAT_WS(' -- ', n, t, 'x', t)",
        "CONCAT_WS('a', t)",
    ],
)
def test_each_text_is_that_of_duckdb(written: str, texts: dp.PrivateTable, exact: Exact) -> None:
    with duckdb.connect() as connection:
        connection.register("texts", ROWS)
        found = [value for (value,) in connection.sql(f"SELECT {written} FROM texts").fetchall()]  # noqa: S608 (ours)
    distinct = [value for value in dict.fromkeys(found) if value is not None]
    quoted = [value.replace("'", "''") for value in distinct]
    counts = [f"COUNT(*) FILTER (WHERE ({written}) = '{value}') AS x{i}" for i, value in enumerate(quoted)]
    statement = f"SELECT COUNT({written}) AS held, {', '.join(counts)} FROM texts"  # noqa: S608 (ours)
    [answer] = exact(dp.sql(statement, texts=texts))
    assert answer.pop("held") == len(found) - found.count(None)
    assert list(answer.values()) == [found.count(value) for value in distinct]


@pytest.mark.parametrize(("dialect", "held"), [("duckdb", 8), ("postgres", 8), ("spark", 6)])
def test_concat_and_null(dialect: str, held: int, texts: dp.PrivateTable, exact: Exact) -> None:
    """CONCAT passes over NULL but on Spark; || does nowhere, and CONCAT_WS does everywhere."""
    for written, wanted in (("CONCAT(t, n)", held), ("t || n", 6), ("CONCAT_WS('-', t, n)", 8)):
        question = dp.sql(f"SELECT COUNT({written}) AS held FROM texts", texts=texts, dialect=dialect)  # noqa: S608 (ours)
        assert exact(question) == [{"held": wanted}]


@pytest.mark.parametrize(("written", "what"), [("CONCAT_WS(',')", "CONCAT_WS"), ("CONCAT_WS(n, t)", "the separator")])
def test_a_separator_stands_before_texts(written: str, what: str, texts: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}.* at line 1, column .*\n?Hint: "):
        dp.sql(f"SELECT COUNT({written}) FROM texts", texts=texts)  # noqa: S608 (ours)

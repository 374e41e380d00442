"""What is said aloud about tables that are protected twice; never on account of their rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import SourceWarning
from discreet.testing import people

ROWS = pa.table({"person": [1, 2], "visits": [3, 4]})


def protect(data: Any, budget: dp.Budget, **stated: Any) -> dp.PrivateTable:
    return dp.protect(data, unit="person", max_rows=1, budget=budget, **stated)


@pytest.fixture(autouse=True)
def _all_are_seen() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=SourceWarning)
        yield


def written(path: Path) -> Path:
    pq.write_table(ROWS, path)
    return path


def test_other_data_under_one_name_and_version(tmp_path: Path) -> None:
    budget, other = dp.Budget(epsilon=1), ROWS.slice(0)
    protect(ROWS, budget, name="noticed")
    protect(ROWS, budget, name="noticed")
    protect(other, budget, name="noticed", version=2)
    with pytest.warns(SourceWarning, match="one table for a name and a version"):
        protect(other, budget, name="noticed")
    first, second = (written(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    protect(first, budget, name="files")
    protect(str(first), budget, name="files")
    with pytest.warns(SourceWarning, match="one table for a name and a version"):
        protect(second, budget, name="files")


def test_a_table_of_a_database_is_known_again() -> None:
    budget, connection = dp.Budget(epsilon=1), ibis.duckdb.connect()
    for name in ("a", "b"):
        connection.create_table(name, ROWS)
    for _ in range(2):
        protect(connection.table("a"), budget, name="stored")
    with pytest.warns(SourceWarning, match="one table for a name and a version"):
        protect(connection.table("b"), budget, name="stored")


def test_a_frame_that_is_read_again_is_not_another() -> None:
    budget = dp.Budget(epsilon=1)
    for _ in range(2):
        protect(pa.table({"person": [1, 2], "visits": [3, 4]}), budget, name="read again")


def test_another_budget_for_what_was_charged(tmp_path: Path) -> None:
    path = written(tmp_path / "visits.parquet")
    first, second = dp.Budget(epsilon=1), dp.Budget(epsilon=1)
    table = protect(path, first, name="by its name")
    protect(path, second)  # nothing was charged so far
    table.count().release(epsilon=0.5)
    for stated in ({}, {"name": "by its name"}, {"name": "by another name"}):
        with pytest.warns(SourceWarning, match="Expected one budget for"):
            protect(path, dp.Budget(epsilon=1), **stated)
    protect(path, first)


def test_one_ledger_is_one_budget(tmp_path: Path) -> None:
    for _ in range(2):
        budget = dp.Budget(epsilon=1, ledger=tmp_path / "spent.db")
        protect(ROWS, budget, name="in a file").count().release(epsilon=0.5)
    assert budget.spent.epsilon == 0.5


def test_frames_without_names_and_made_up_people_are_their_own() -> None:
    for _ in range(2):
        protect(ROWS, dp.Budget(epsilon=1)).count().release(epsilon=0.5)
        people().count().release(epsilon=0.5)

"""Texts of files are what they are, whatever their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_bytes_of_a_file_that_are_not_utf_8_are_question_marks(tmp_path: Path, is_dictionary: bool) -> None:  # noqa: FBT001 (given by name)
    """DuckDB fails on a file whose column of texts has one such value: a look at it would tell of that row."""
    bytes_ = pa.array([b"\x81", b"\xff", *[b"x"] * 38], pa.binary())
    broken = pa.StringArray.from_buffers(40, bytes_.buffers()[1], bytes_.buffers()[2])
    data = pa.table({"id": range(40), "t": broken})
    pq.write_table(data, tmp_path / "broken.parquet", use_dictionary=is_dictionary)
    with pytest.raises(duckdb.InvalidInputException, match="not valid UTF8"):  # the attack itself
        duckdb.read_parquet(str(tmp_path / "broken.parquet")).max("t").fetchall()
    assert dp.public(tmp_path / "broken.parquet").rows["t"].to_pylist() == ["?", "?", *["x"] * 38]
    stated: dict[str, Any] = {"unit": "id", "max_groups": 1, "max_rows": 1, "name": "broken"}
    table = dp.protect(tmp_path / "broken.parquet", budget=dp.Budget(epsilon=10**6, delta=0.1), **stated)
    counted = table.group_by("t", keys={"t": ["x", "?", None]}).agg(n=lambda t: t.count()).release(epsilon=10**5)
    assert [round(n) for n in counted["n"].tolist()] == [38, 2, 0]
    found = table.group_by("t", keys=dp.UNKNOWN).agg(n=lambda t: t.count()).release(epsilon=100, delta=1e-3)
    assert found.to_pandas()["t"].tolist() == ["?", "x"]

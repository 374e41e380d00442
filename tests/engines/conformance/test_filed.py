"""Answers in files on every engine: the same totals as in memory, and no file of keys where all have to be sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.mechanisms.laplace import Laplace
from discreet.query.question import Question
from discreet.testing.bench import STORES

ROWS = pa.table(
    {
        "person": pa.array([1, 1, 2, 3, 3, None], pa.int64()),
        "plan": ["a", "b", "B", "a", None, "a"],
        "cost": [1.0, 5.0, float("nan"), 9.0, 2.5, 1.0],
    }
)
KEYS = pa.table({"plan": pa.array(["b", None, "B", "c", "a"], pa.string())})


@pytest.fixture
def ask(backend_of: Callable[[str], Any], engine: str) -> Callable[[Any], Question]:
    backend = backend_of(engine)
    stored = STORES[backend.name](backend, "filed", ROWS) if backend.name in STORES else ROWS
    table = dp.protect(
        stored, unit="person", bounds={"cost": (0, 8)}, max_groups=2, max_rows=1,
        budget=dp.Budget(epsilon=9), name=f"filed on {engine}",
    )  # fmt: skip
    return lambda keys: table.group_by("plan", keys=keys).agg(n=lambda t: t.count(), m=lambda t: t.cost.mean())


def test_a_file_has_the_totals(
    ask: Callable[[Any], Question], engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise, from keys in a list and, where it is taken, in a file."""
    path = tmp_path / "keys.parquet"
    pq.write_table(KEYS, path)
    if engine == "postgresql":
        with pytest.raises(dp.InvalidQuery, match="keys at hand for PostgreSQL"):
            ask(path).release(epsilon=1, to=tmp_path / "answer.parquet")
    if engine != "spark":  # where noise is made by other processes
        monkeypatch.setattr(Laplace, "blurred", lambda _, totals, __: totals)
    for number, keys in enumerate([KEYS] if engine == "postgresql" else [KEYS, path]):
        written = ask(keys).release(epsilon=1, to=tmp_path / f"{number}.parquet")
        found = pq.read_table(written.path)
        assert found["plan"].to_pylist() == KEYS["plan"].to_pylist()
        if engine != "spark":
            assert found["n"].to_pylist() == [1, 1, 1, 0, 2]

"""An engineer's afternoon with a table of a warehouse: the same lines on each engine, a ledger between two programs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet as dp
from neighbor_bench import Bench

ASKED = """
    SELECT plan, COUNT(*) AS years, COUNT(DISTINCT person) AS users, AVG(visits) AS visits
    FROM people WHERE age >= 18 GROUP BY plan ORDER BY years DESC
"""


def opened(table: Any, ledger: Path) -> Any:
    return dp.protect(
        table,
        unit="person",
        budget=dp.Budget(epsilon=2, ledger=str(ledger)),
        max_groups=1,
        max_rows=5,
        bounds={"visits": (0, 50), "age": (0, 110)},
        keys={"plan": ["free", "25%", "50%", "95%", "deductible", "none"]},
        name="warehouse",
        version=1,
    )


@pytest.mark.long
def test_a_warehouse_is_asked_twice(engine: str, backend_of: Callable[[str], Any], tmp_path: Path) -> None:
    rows = pq.read_table(str(files("discreet.data") / "rand_hie.parquet")).select(["person", "plan", "age", "visits"])
    stored = Bench(backend_of(engine)).put(rows.slice(0, 3000))
    people = opened(stored, tmp_path / "spent.db")
    question = dp.sql(ASKED, people=people)
    explained = str(question.explain(epsilon=0.5))
    assert "e+1" not in explained
    assert people.budget.spent.epsilon == 0
    first = question.release(epsilon=0.5).to_pandas()
    assert sorted(first.plan) == sorted(["free", "25%", "50%", "95%", "deductible", "none"])
    assert (first.users_high - first.users_low).max() < 60  # not starved by the mean beside it
    assert (first.visits_low >= 0).all()
    assert (first.visits_high <= 50).all()
    again = dp.sql(ASKED, people=opened(stored, tmp_path / "spent.db")).release(epsilon=0.5)
    assert again.to_pandas().equals(first)  # another program, the same ledger: the same answer, once
    assert people.budget.spent.epsilon == 0.5
    with pytest.raises(dp.BudgetExceeded, match=r"Hint: "):
        question.release(epsilon=1.9)
    with pytest.raises(dp.InvalidQuery, match=r"Hint: "):
        dp.sql("SELECT plan, visits FROM people", people=people)
    assert people.budget.spent.epsilon == 0.5

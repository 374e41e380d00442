"""What is stated of rows that belong to two people each."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import SourceWarning
from discreet.service.data_sets import DataSet

CALLS = pa.table(
    {"caller": [1, 2], "called": [2, 3], "text": ["1", "2"], "exact": pa.array([1, 2], pa.decimal128(9, 2))}
)


def protected(data: Any = CALLS, **stated: Any) -> dp.SharedTable:
    facts: dict[str, Any] = {"each_of": ("caller", "called"), "budget": dp.Budget(epsilon=1), "name": "calls"}
    return dp.protect_shared(data, **(facts | stated))


def test_it_says_who_is_protected() -> None:
    table = protected()
    assert repr(table).startswith("<private table 'calls', protecting each of caller, called: caller: integer")
    assert (table.declaration.unit, table.declaration.each_of) == (("caller", "called"), True)
    assert table.declaration.protects == "each of caller, called"
    assert dp.protect(CALLS, unit=["caller", "called"], budget=table.budget).declaration.protects == [
        "caller",
        "called",
    ]


def test_a_path_and_versions(tmp_path: Path) -> None:
    pq.write_table(CALLS, tmp_path / "calls.parquet")
    budget = dp.Budget(epsilon=3)
    table = protected(str(tmp_path / "calls.parquet"), name=None, budget=budget)
    assert table.declaration.name == str(tmp_path / "calls.parquet")
    protected(budget=budget).truncated_total(epsilon=1, most=4)
    protected(budget=budget, version=2).truncated_total(epsilon=1, most=4)
    assert budget.spent.epsilon == 2
    with pytest.raises(dp.InvalidParameter, match="the unit that was declared for every version of 'calls'"):
        dp.protect(CALLS, unit=["caller", "called"], budget=budget, name="calls", version=3)
    with pytest.warns(SourceWarning, match="another one for name='calls'"):
        protected(CALLS.slice(1), budget=budget)


def test_a_level_of_a_budget_pays_for_it() -> None:
    table = protected()
    mine = table.with_budget(dp.Budget(parent=table.budget, epsilon=0.5, name="mine"))
    mine.truncated_total(epsilon=0.25, limit=2)
    assert mine.budget.remaining == table.budget.spent == dp.Guarantee(epsilon=Fraction(1, 4))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no columns": ({"each_of": None}, "two columns that name people"),
    "a column": ({"each_of": "caller"}, "two columns that name people"),
    "one column": ({"each_of": ["caller"]}, "two columns that name people"),
    "three columns": ({"each_of": ["caller", "called", "text"]}, "two columns that name people"),
    "one column twice": ({"each_of": ["caller", "caller"]}, "unit"),
    "no such column": ({"each_of": ["caller", "nobody"]}, "a known column"),
    "types": ({"each_of": ["caller", "text"]}, "two columns of one type"),
    "types of numbers": ({"each_of": ["caller", "exact"]}, "two columns of one type"),
    "no budget": ({"budget": None}, "a budget"),
    "bounds of a unit": ({"bounds": {"caller": (0, 1)}}, "other than the privacy unit"),
    "limits": ({"max_rows": 5}, "max_rows"),
    "neighbors": ({"neighbors": "replace-one"}, "neighbors"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused(name: str) -> None:
    stated, match = REFUSED[name]
    with pytest.raises(dp.InvalidParameter, match=match) as refused:
        protected(**stated)
    assert "Hint: " in str(refused.value)


def test_decimals_of_any_scale_are_refused() -> None:
    """PostgreSQL's `numeric`, of which no type of Arrow holds all values: one person would make a release fail."""
    kinds = {"caller": "decimal", "called": "decimal"}
    with pytest.raises(dp.InvalidParameter, match="no decimals without a scale"):
        protected(
            ibis.duckdb.connect()
            .create_table("calls", schema={"caller": "int64"})
            .select(**{name: ibis.null(kind) for name, kind in kinds.items()})
        )


def test_a_service_does_not_take_it() -> None:
    table: Any = protected()
    with pytest.raises(dp.InvalidParameter, match="one unit each"):
        DataSet(name="calls", table=table, budget=table.budget)

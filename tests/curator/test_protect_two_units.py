"""What is stated of rows that belong to two people each."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator.declaration_file import read_declaration
from discreet.errors import SourceWarning
from discreet.privacy.definitions import Neighbors

CALLS = pa.table(
    {"caller": [1, 2], "called": [2, 3], "text": ["1", "2"], "exact": pa.array([1, 2], pa.decimal128(9, 2)),
     "began": pa.array([1, 2], pa.timestamp("us")), "ended": pa.array([3, 4], pa.timestamp("us"))}
)  # fmt: skip


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
    "one column twice": ({"each_of": ["caller", "caller"]}, "each_of"),
    "no such column": ({"each_of": ["caller", "nobody"]}, "a known column, got each_of='nobody'"),
    "types": ({"each_of": ["caller", "text"]}, "two columns of one type"),
    "moments": ({"each_of": ["began", "ended"]}, "no timestamps"),
    "types of numbers": ({"each_of": ["caller", "exact"]}, "two columns of one type"),
    "no budget": ({"budget": None}, "a budget"),
    "bounds of a unit": ({"bounds": {"caller": (0, 1)}}, "other than the privacy unit"),
    "limits": ({"max_rows": 5}, "max_rows"),
    "no size": ({"neighbors": "replace-one"}, "the public number of units"),
    "a size of nothing": ({"units": 3}, "no public size with add-remove neighbors"),
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
    with pytest.raises(dp.InvalidParameter, match="no timestamps or decimals without a scale"):
        protected(
            ibis.duckdb.connect()
            .create_table("calls", schema={"caller": "int64"})
            .select(**{name: ibis.null(kind) for name, kind in kinds.items()})
        )


DECLARED = """
[table]
source = "calls.parquet"
each_of = ["caller", "called"]
description = "Who called whom"
[columns.exact]
bounds = [0, 10]
[budget]
epsilon = 3
ledger = "spent.db"
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes the declaration, with some of its text replaced, beside its file."""
    pq.write_table(CALLS, tmp_path / "calls.parquet")

    def written(old: str = "", new: str = "") -> Path:
        (tmp_path / "calls.toml").write_text(DECLARED.replace(old, new, 1) if old else DECLARED)
        return tmp_path / "calls.toml"

    return written


def test_a_declaration_file_states_it(write: Callable[..., Path]) -> None:
    path = write()
    table = dp.open(path)
    assert isinstance(table, dp.SharedTable)
    made = protected(path.parent / "calls.parquet", bounds={"exact": (0, 10)}, budget=table.budget)
    assert table.declaration == made.declaration
    assert table.declaration.description == "Who called whom"
    found = table.truncated_total("exact", epsilon=1, most=8)
    assert made.truncated_total("exact", epsilon=1, most=8).receipt["release"] == found.receipt["release"]
    assert table.budget.spent.epsilon == 1
    replaced = dp.open(write('source = "calls', 'neighbors = "replace-one"\nunits = 9\nname = "r"\nsource = "calls'))
    assert (replaced.declaration.neighbors, replaced.declaration.size) == (Neighbors.REPLACE_ONE, 9)


IN_A_FILE: dict[str, tuple[str, str, str]] = {
    "a unit as well": ("each_of", 'unit = "caller"\neach_of', r"no unit beside each_of, got table.unit=.* line 4"),
    "a path": ("[columns", '[[table.via]]\nsource = "x"\non = { a = "b" }\n[columns', "no via beside each_of"),
    "limits": ("[columns", "[table.limits]\nmax_rows = 5\n[columns", "no limits beside each_of.* line 6"),
    "steps": ("each_of", 'keep_steps = "kept"\neach_of', "no keep_steps beside each_of"),
    "keys": ("bounds = [0, 10]", "keys = [1, 2]", "no keys beside each_of"),
    "NULL": ("bounds = [0, 10]", "null = true", "no null beside each_of"),
    "rows": ("each_of", 'neighbors = "replace-one"\nrows = 9\neach_of', "the public number of units"),
    "a column": ('["caller", "called"]', '"caller"', r"a list of columns, got table.each_of='caller'.* line 4"),
    "one column": (', "called"', "", r"two columns that name people, got each_of=\['caller'\].* line 4"),
    "no such column": ('"called"', '"colled"', "a known column, got each_of='colled'.* line 4"),
    "types": ('"called"', '"text"', "two columns of one type.* line 4"),
}


@pytest.mark.parametrize("name", IN_A_FILE)
def test_what_a_file_cannot_mean_is_refused_with_its_line(write: Callable[..., Path], name: str) -> None:
    *replaced, match = IN_A_FILE[name]
    path = write(*replaced)
    with pytest.raises(dp.InvalidParameter, match=match) as refused:
        dp.open(path)
    assert "Hint: " in str(refused.value)
    assert not (path.parent / "spent.db").exists()


def test_it_is_no_table_for_a_replay(write: Callable[..., Path]) -> None:
    with pytest.raises(dp.InvalidParameter, match=r"a unit, got table.each_of=.* line 4"):
        _ = read_declaration(write()).stated

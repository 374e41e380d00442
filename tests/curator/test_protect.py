"""What the curator states is checked before a row is read; whatever is wrong is refused with its cure."""

from __future__ import annotations

import datetime
import importlib
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Neighbors

ROWS = pa.table(
    {
        "person": pa.array([1, 2], pa.int64()),
        "plan": ["a", "b"],
        "visits": pa.array([1, 2], pa.int32()),
        "cost": [1.0, 2.0],
        "day": pa.array([0, 1], pa.int32()).view(pa.date32()),
        "at": pa.array([0, 1], pa.int64()).view(pa.timestamp("us")),
        "sick": [True, False],
    }
)


def protect(data: Any = ROWS, **stated: Any) -> dp.PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "budget": dp.Budget(epsilon=1)} | stated
    return dp.protect(data, **facts)


def declared(data: Any = ROWS, **stated: Any) -> Declaration:
    source: Any = protect(data, **stated)._source
    found: Declaration = source.declaration
    return found


NAN, INF = math.nan, math.inf

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no unit": ({"unit": None}, "Expected a privacy unit, got none"),
    "empty unit": ({"unit": []}, "a column, several columns or dp.ROW"),
    "unit twice": ({"unit": ["person", "person"]}, "a column, several columns or dp.ROW"),
    "unit of a number": ({"unit": 5}, "a column, several columns or dp.ROW"),
    "unknown unit": ({"unit": "persons"}, "did you mean 'person'"),
    "no budget": ({"budget": None}, "a budget, got budget=None"),
    "a number as budget": ({"budget": 1.0}, "a budget, got budget=1.0"),
    "limits of rows": ({"unit": dp.ROW, "max_rows": 1}, "no max_rows where each row is a unit"),
    "limits of groups of rows": ({"unit": dp.ROW, "max_groups": 1}, "no max_groups where each row is a unit"),
    "max_rows of 0": ({"max_rows": 0}, "a whole number of 1 or more, got max_rows=0"),
    "max_rows of True": ({"max_rows": True}, "a whole number of 1 or more"),
    "max_groups of 1.0": ({"max_groups": 1.0}, "a whole number of 1 or more"),
    "unknown neighbors": ({"neighbors": "replace"}, "'add-remove' or 'replace-one'"),
    "no neighbors": ({"neighbors": None}, "'add-remove' or 'replace-one'"),
    "replace-one without a size": ({"neighbors": "replace-one"}, "the public number of units"),
    "replace-one with the other size": ({"neighbors": "replace-one", "rows": 5}, "the public number of units"),
    "both sizes": ({"neighbors": "replace-one", "rows": 5, "units": 5}, "the public number of units"),
    "rows without their size": ({"unit": dp.ROW, "neighbors": "replace-one", "units": 5}, "the public number of rows"),
    "a size of 0": ({"neighbors": "replace-one", "units": 0}, "a whole number of 1 or more"),
    "a size with add-remove": ({"units": 5}, "no public size with add-remove"),
    "bounds as a list": ({"bounds": [("visits", 0, 5)]}, "a dict by column"),
    "bounds of nothing": ({"bounds": {"visit": (0, 5)}}, "did you mean 'visits'"),
    "bounds of the unit": ({"bounds": {"person": (0, 5)}}, "columns other than the privacy unit"),
    "bounds of text": ({"bounds": {"plan": ("a", "b")}}, "bounds of numbers and dates"),
    "bounds of truths": ({"bounds": {"sick": (0, 1)}}, "bounds of numbers and dates"),
    "one bound": ({"bounds": {"visits": 5}}, "a pair"),
    "three bounds": ({"bounds": {"visits": (0, 1, 2)}}, "a pair"),
    "reversed": ({"bounds": {"visits": (5, 0)}}, "low < high"),
    "equal": ({"bounds": {"cost": (5, 5)}}, "low < high"),
    "equal once they are whole": ({"bounds": {"visits": (4.2, 5.8)}}, "low < high"),
    "equal once they are doubles": ({"bounds": {"cost": (Fraction(1), 1 + Fraction(1, 10**30))}}, "low < high"),
    "NaN": ({"bounds": {"cost": (0, NAN)}}, "two finite numbers"),
    "infinity": ({"bounds": {"cost": (0, INF)}}, "two finite numbers"),
    "None": ({"bounds": {"cost": (0, None)}}, "two finite numbers"),
    "a truth": ({"bounds": {"cost": (False, True)}}, "two finite numbers"),
    "a text": ({"bounds": {"cost": ("0", "1")}}, "two finite numbers"),
    "beyond 64 bits": ({"bounds": {"visits": (0, 2**63)}}, "bounds that a integer can have|bounds that an integer can"),
    "beyond the doubles": ({"bounds": {"cost": (0, 10**308 * 2)}}, "bounds that a real number can have"),
    "no day": ({"bounds": {"day": ("2020-02-30", "2021-01-01")}}, "a date"),
    "NaT": ({"bounds": {"at": (pd.NaT, pd.NaT)}}, "a timestamp"),
    "before all years of UTC": ({"bounds": {"at": ("0001-01-01T00:00:00+02:00", "2020-01-01")}}, "a timestamp"),
    "a number as a day": ({"bounds": {"day": (0, 5)}}, "a date"),
    "reversed days": ({"bounds": {"day": ("2021-01-01", "2020-01-01")}}, "low < high"),
    "keys as a list": ({"keys": ["a"]}, "a dict by column"),
    "keys of nothing": ({"keys": {"plans": ["a"]}}, "did you mean 'plan'"),
    "one key": ({"keys": {"plan": "ab"}}, "a list of keys"),
    "no key": ({"keys": {"plan": []}}, "at least one key"),
    "a key twice": ({"keys": {"plan": ["a", "b", "a"]}}, "each key once"),
    "reals as keys": ({"keys": {"cost": [1.0]}}, "keys that compare exactly"),
    "keys of reals": ({"keys": {"cost": [1]}}, "groups that compare exactly"),
    "numbers as texts": ({"keys": {"plan": [1]}}, "keys of kind text"),
    "truths as numbers": ({"keys": {"visits": [True]}}, "keys of kind integer"),
    "numbers as truths": ({"keys": {"sick": [0, 1]}}, "keys of kind boolean"),
    "a time as a day": ({"keys": {"day": [datetime.datetime(2020, 1, 1)]}}, "keys of kind date"),  # noqa: DTZ001 (as written)
    "an instant twice": (
        {"keys": {"at": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]}},  # noqa: DTZ001 (as written)
        "each key once",
    ),
    "NULL twice": ({"keys": {"at": [None, pd.NaT]}}, "each key once"),
    "nanoseconds": ({"keys": {"at": [pd.Timestamp(1)]}}, "whole microseconds"),
    "surrogates": ({"keys": {"plan": ["\ud800"]}}, "text that"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused(name: str) -> None:
    stated, message = REFUSED[name]
    budget = dp.Budget(epsilon=1)
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=message) as refusal:
        protect(**({"budget": budget} | stated))
    assert str(refusal.value).count("\nHint: ") == 1
    assert budget.spent.epsilon == 0


def test_bounds_are_kept_exactly() -> None:
    stated = {
        "visits": (-0.5, Decimal("7.9")),
        "cost": (0.1, np.float64(2)),
        "day": ("2020-01-31", datetime.date(2021, 1, 1)),
        "at": (
            datetime.date(2020, 1, 1),
            datetime.datetime(2021, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        ),
    }
    assert declared(bounds=stated).bounds == {
        "visits": (Fraction(0), Fraction(7)),
        "cost": (Fraction(0.1), Fraction(2)),
        "day": (datetime.date(2020, 1, 31), datetime.date(2021, 1, 1)),
        "at": (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1, 1)),  # noqa: DTZ001 (naive means UTC)
    }


def test_keys_are_kept_in_their_order() -> None:
    stated = {"plan": ["b", None, "a"], "visits": [np.int8(3), 1], "sick": (True,), "day": [datetime.date(2020, 1, 1)]}
    found = declared(keys=stated).keys
    assert found == {"plan": ("b", None, "a"), "visits": (3, 1), "sick": (True,), "day": (datetime.date(2020, 1, 1),)}
    assert type(found["visits"][0]) is int


def test_the_unit_may_be_a_column_several_or_a_row() -> None:
    assert declared().unit == ("person",)
    assert declared(unit=["person", "plan"]).unit == ("person", "plan")
    assert declared(unit=dp.ROW).unit == ()


def test_neighbors_and_sizes() -> None:
    assert (declared().neighbors, declared().size) == (Neighbors.ADD_REMOVE, None)
    found = declared(neighbors="replace-one", units=5)
    assert (found.neighbors, found.size) == (Neighbors.REPLACE_ONE, 5)
    assert declared(unit=dp.ROW, neighbors="replace-one", rows=7).size == 7


def test_a_path_names_itself_and_a_frame_gets_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    assert declared("rows.parquet").name == str((tmp_path / "rows.parquet").resolve())
    assert declared(tmp_path / "rows.parquet").name == declared("./rows.parquet").name
    assert declared().name != declared().name
    assert declared(name="people", version="2").version == "2"


def test_frames_of_two_containers_are_two_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Numbers of processes are the same there, and so is the second in which they begin: the second frame's answers
    were those of the first.
    """

    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=tz)

    module = importlib.import_module("discreet.curator.protect")
    monkeypatch.setattr(module, "datetime", Then)
    shared = dp.Budget(epsilon=1, ledger=tmp_path / "spent.db")
    names = set()
    for person in (1, 2):
        monkeypatch.setattr(module, "_numbers", itertools.count(1))
        frame = dp.protect(pa.table({"person": [person]}), unit="person", max_rows=1, budget=shared)
        frame.count().release(epsilon=0.5)
        names.add(frame.declaration.name)
        assert frame.declaration.title == "an unnamed frame"
    assert (len(names), shared.spent.epsilon) == (2, Fraction(1))


def test_protecting_reads_no_row_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The types are in the footer: a file whose pages are gone is protected all the same."""
    pq.write_table(ROWS, tmp_path / "rows.parquet", compression="none")
    whole = (tmp_path / "rows.parquet").read_bytes()
    first = pq.read_metadata(tmp_path / "rows.parquet").serialized_size + 8
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" + bytes(len(whole) - first - 4) + whole[len(whole) - first :])
    assert protect(tmp_path / "rows.parquet").columns == tuple(ROWS.column_names)


def test_one_budget_serves_two_tables() -> None:
    budget = dp.Budget(epsilon=1)
    first, second = (protect(budget=budget, max_rows=1) for _ in range(2))
    first.count().release(epsilon=0.7)
    with pytest.raises(dp.BudgetExceeded):
        second.count().release(epsilon=0.7)
    assert first.budget is second.budget is budget


def test_it_shows_columns_and_no_rows() -> None:
    shown = repr(protect(name="people"))
    assert shown == (
        "<private table 'people', protecting person: person: integer, plan: text, visits: integer, cost: real number, "
        "day: date, at: timestamp, sick: boolean>"
    )

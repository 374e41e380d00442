"""Levels in a folder: charged first, on record before they have a name, the same again, and all or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator.protected_table import Protected
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, InvalidQuery
from discreet.hierarchies import level_files, level_stream
from discreet.mechanisms.laplace import Laplace
from discreet.query.table import PrivateTable
from hierarchy_fixtures import KEYS, LEVELS, ROWS, STATED, asked, exactly, protected

Made = Callable[..., PrivateTable]
EXACT = exactly()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_stream, "VALUES", 3)


def counts(folder: Path, level: str) -> list[int]:
    found: list[int] = pq.read_table(folder / f"{level}.parquet")["n"].to_pylist()
    return found


def test_one_file_a_level(country: Made, tmp_path: Path) -> None:
    files = asked(country()).release(epsilon=500, integers=True, to=tmp_path / "counts")
    assert list(files) == LEVELS
    assert dict(files.rows) == {"total": 1, "state": 3, "county": 6}
    for name, exact in EXACT.items():
        assert counts(files.path, name) == exact
        assert dp.Receipt.of(files.receipt).charge.epsilon == 500
        assert pq.read_schema(files[name]).metadata[b"discreet"].startswith(b'{"release"')
    assert sorted(one.name for one in tmp_path.iterdir()) == ["country.parquet", "counts"]
    assert sorted(one.name for one in files.path.iterdir()) == sorted(f"{name}.parquet" for name in LEVELS)
    assert repr(files).endswith("total 1, state 3, county 6>")
    assert len(files) == 3
    with pytest.raises(InvalidParameter, match="a level of the path"):
        files["town"]


def test_units_are_bounded_over_all_parts(tmp_path: Path) -> None:
    """A person in two states counts in one place: half in each, and not once in either part."""
    rows = pa.table({"person": [1, 1] * 50, "state": ["b", "a"] * 50, "county": [1] * 100, "visits": [0] * 100})
    rows = rows.set_column(0, "person", pa.array(np.arange(50).repeat(2)))
    place = tmp_path / "two.parquet"
    pq.write_table(rows, place)
    table = protected(str(place), unit="person", max_groups=1, max_rows=1)
    files = asked(table).release(epsilon=500, integers=True, to=tmp_path / "counts")
    assert counts(files.path, "total") == [50]
    assert counts(files.path, "state") == [25, 25, 0]


def test_rows_in_memory_are_found_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks: list[int] = []
    plain = DuckDB.totals

    def totals(self: DuckDB, plan: Any, statement: str | None = None) -> Any:
        asks.append(plan.query.cells)
        return plain(self, plan, statement)

    monkeypatch.setattr(DuckDB, "totals", totals)
    asked(protected()).release(epsilon=500, to=tmp_path / "counts")
    assert asks == [6]


def test_files_are_asked_part_by_part(country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asks: list[int] = []
    plain = DuckDB.totals

    def totals(self: DuckDB, plan: Any, statement: str | None = None) -> Any:
        asks.append(plan.query.cells)
        return plain(self, plan, statement)

    monkeypatch.setattr(DuckDB, "totals", totals)
    asked(country()).release(epsilon=500, to=tmp_path / "counts")
    assert asks == [2, 3, 1]


def test_the_charge_comes_before_the_levels(country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, seen = country(), []
    plain = DuckDB.totals

    def totals(self: DuckDB, plan: Any, statement: str | None = None) -> Any:
        seen.append(table.budget.spent.epsilon)
        return plain(self, plan, statement)

    monkeypatch.setattr(DuckDB, "totals", totals)
    asked(table).release(epsilon=2, to=tmp_path / "counts")
    assert seen == [2, 2, 2]


def test_each_level_has_its_noise_once(country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[Fraction, list[int]] = {}
    plain = Laplace.add_noise

    def add_noise(self: Laplace, totals: Any, words: Any) -> Any:
        seen.setdefault(self.epsilon, []).extend(totals.reshape(-1).tolist())
        return plain(self, totals, words)

    monkeypatch.setattr(Laplace, "add_noise", add_noise)
    asked(country()).release(epsilon=6, shares=[1, 2, 3], to=tmp_path / "counts")
    assert seen == {Fraction(level): EXACT[name] for level, name in enumerate(LEVELS, 1)}


def test_the_same_again_is_the_same_folder(country: Made, tmp_path: Path) -> None:
    table = country()
    first = asked(table).release(epsilon=1, to=tmp_path / "counts")
    again = asked(table).release(epsilon=1, to=tmp_path / "counts")
    copy = asked(table).release(epsilon=1, to=tmp_path / "copy")
    assert again == first
    assert all(first[name].read_bytes() == copy[name].read_bytes() for name in LEVELS)
    assert table.budget.spent.epsilon == 1
    with pytest.raises(InvalidQuery, match="the confidence of the files"):
        asked(table).release(epsilon=1, to=tmp_path / "counts", confidence=0.9)
    with pytest.raises(InvalidQuery, match="to=, for an answer that was written"):
        asked(table).release(epsilon=1)
    first["state"].write_bytes(b"other")
    assert asked(table).release(epsilon=1, to=tmp_path / "copy") == copy
    copy["state"].unlink()
    with pytest.raises(InvalidQuery, match="the files of this answer"):
        asked(table).release(epsilon=1, to=tmp_path / "third")
    assert table.budget.spent.epsilon == 1
    asked(table).release(epsilon=1, to=tmp_path / "third", fresh=True)
    assert table.budget.spent.epsilon == 2


def test_what_was_answered_in_memory_is_written_as_well(country: Made, tmp_path: Path) -> None:
    table = country()
    answer = asked(table).release(epsilon=1)
    files = asked(table).release(epsilon=1, to=tmp_path / "counts")
    again = asked(table).release(epsilon=1, to=tmp_path / "again")
    for name in LEVELS:
        assert pq.read_table(files[name]).equals(answer[name])
        assert files[name].read_bytes() == again[name].read_bytes()
    assert files.receipt == answer.receipt
    assert table.budget.spent.epsilon == 1


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")], ids=repr)
def test_a_folder_that_waits_for_its_name_is_given_it(
    country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    """As after a process that was killed, or a disk that failed, when the answer was on record and had no name yet."""
    table = country()

    def killed(*_: object) -> None:
        raise failure

    monkeypatch.setattr(level_files, "give_name", killed)
    with pytest.raises((KeyboardInterrupt, InvalidParameter), match=r"^$|No space left[\s\S]*is free"):
        asked(table).release(epsilon=1, to=tmp_path / "counts")
    monkeypatch.undo()
    assert not (tmp_path / "counts").exists()
    files = asked(table).release(epsilon=1, to=tmp_path / "counts")
    assert sum(files.rows.values()) == 10
    assert table.budget.spent.epsilon == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["country.parquet", "counts"]


def test_what_killed_processes_left_is_swept_away(
    country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a folder, and a whole one that is on no record; one that is on record waits for its name."""
    table, to = country(), tmp_path / "counts"
    with monkeypatch.context() as patched:
        patched.setattr(level_files, "give_name", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            asked(table).release(epsilon=1, to=to)
    [waits] = tmp_path.glob(".counts*")
    shutil.copytree(waits, tmp_path / ".counts.7-0.whole")
    shutil.copytree(waits, tmp_path / ".counts.7-0.partial")
    asked(table).release(epsilon=2, to=to)
    assert sorted(tmp_path.glob(".counts*")) == [waits]
    assert asked(table).release(epsilon=1, to=tmp_path / "first").rows["total"] == 1
    assert table.budget.spent.epsilon == 3


@pytest.mark.parametrize("where", ["totals", "record"])
def test_a_failure_leaves_the_charge_and_no_files(
    country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    table = country()
    if where == "totals":
        monkeypatch.setattr(DuckDB, "totals", lambda *_: 1 / 0)
    else:
        monkeypatch.setattr(level_files, "sha256_of", lambda *_: 1 / 0)
    with pytest.raises(EngineError, match="the charge stays spent"):
        asked(table).release(epsilon=1, to=tmp_path / "counts")
    assert table.budget.spent.epsilon == 1
    assert [one.name for one in tmp_path.iterdir()] == ["country.parquet"]


def test_files_that_change_meanwhile_are_refused(
    country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that moves from one part to another would count in both."""
    table, plain = country(), DuckDB.totals

    def totals(self: DuckDB, plan: Any, statement: str | None = None) -> Any:
        found = plain(self, plan, statement)
        pq.write_table(ROWS, tmp_path / "country.parquet")
        return found

    monkeypatch.setattr(DuckDB, "totals", totals)
    with pytest.raises(EngineError):
        asked(table).release(epsilon=1, to=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()


REFUSED: dict[str, tuple[Any, str]] = {
    "a number": (5, "the path of a folder"),
    "nothing": ("", "the path of a folder"),
    "a folder above that is not there": ("nowhere/counts", "a folder that exists above"),
    "a name that is taken": ("country.parquet", "a name that is not taken"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_where_nothing_can_be_written_nothing_is_charged(country: Made, tmp_path: Path, why: str) -> None:
    to, what = REFUSED[why]
    table = country()
    with pytest.raises(InvalidParameter, match=what):
        asked(table).release(epsilon=1, to=tmp_path / to if isinstance(to, str) and to else to)
    with pytest.raises(BudgetExceeded):
        asked(table).release(epsilon=10**4, to=tmp_path / "counts")
    assert table.budget.spent.epsilon == 0
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize("name", ["../state", "a/b", ".state", "", "a\nb", "Total", "x" * 101])
def test_a_column_names_no_place(country: Made, tmp_path: Path, name: str) -> None:
    """An analyst can rename columns, and the files of levels stay in their folder."""
    (tmp_path / "inner").mkdir()
    table = country().mutate(**{name: lambda t: t.state}) if name else country()
    path, keys = [name or "state", "county"], KEYS.rename_columns(["county", name or "state"])
    question = table.hierarchy(path, keys=dp.public_keys(keys)).agg(n=lambda t: t.count())
    if not name:
        question.release(epsilon=1, to=tmp_path / "inner" / "counts")
        return
    with pytest.raises(InvalidQuery, match="names of columns that files can have"):
        question.release(epsilon=1, to=tmp_path / "inner" / "counts")
    assert list((tmp_path / "inner").iterdir()) == []
    assert table.budget.spent.epsilon == 0


def test_tables_with_units_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many groups for one look, where parts cannot be asked for, are refused."""
    monkeypatch.setattr("discreet.query.file_output.MOST_KEYS", 5)
    table = protected(unit="person", max_groups=1, max_rows=1)
    with pytest.raises(InvalidQuery, match="at most 5 groups"):
        asked(table).release(epsilon=1, to=tmp_path / "counts")
    assert isinstance(table._source, Protected)
    assert STATED["name"] == table._source.declaration.name

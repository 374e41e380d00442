"""Steps that a curator keeps: the exact totals of all rows from those of new steps alone, whoever is killed or late."""

from __future__ import annotations

import datetime
import shutil
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import EngineError, InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.series.kept_step_totals import KeptSteps, scanned_column
from discreet.series.series_record import key_of, points_of
from discreet.testing.example_tables import not_private
from discreet.testing.neighbors import array, hostile
from series_fixtures import DAYS, ROWS, START, asked, day, exact, protected, until

Seen = list[list[Any]]
KEY = key_of("hospital", "series")


def between(first: int, end: int, table: pa.Table = ROWS) -> pa.Table:
    """The rows of some days, and of no others."""
    return until(end, table).filter(pc.greater_equal(until(end, table)["day"], pa.scalar(day(first))))


def grown(tables: list[Any], ends: list[int], folder: Path, ask: Any = asked, **stated: Any) -> PrivateTable:
    """A series that was published up to each of some ends, from a table of its own each."""
    table = protected(tables[0], keep_steps=folder, budget=dp.Budget(rho=1), **stated)
    for place, (rows, end) in enumerate(zip(tables, ends, strict=True)):
        table = table.refreshed(rows, version=place + 1) if place else table
        ask(table).release(through=day(end - 1), rho=1)
    return table


@pytest.mark.long
@pytest.mark.parametrize(
    ("asking", "stated"),
    [
        ({}, {}),
        ({"apart": 3, "max_steps": 3}, {"max_groups": 1}),
        ({"max_steps": 1}, {"unit": dp.ROW, "max_groups": None, "max_rows": None}),
        ({"max_steps": 1}, {"unit": ("person", "day")}),
        ({"max_steps": 2}, {"unit": ("ward", "person")}),
        ({"arrives": "loaded", "late": "count"}, {}),
    ],
)
def test_the_same_totals_as_without(asking: Any, stated: Any, tmp_path: Path, seen: Seen) -> None:
    """From tables that have the rows of new steps alone, to the bit."""
    table = ROWS
    if "arrives" in asking:
        late = [
            one if n % 7 else min(day(DAYS - 1), day((one - START).days + n % 3))
            for n, one in enumerate(ROWS["day"].to_pylist())
        ]
        table = ROWS.append_column("loaded", pa.array(late))

    def ask(of: PrivateTable) -> Any:
        series = of.series(by="day", start="2026-01-01", until="2026-01-20", **{"max_steps": 4, **asking})
        persons = {} if stated else {"persons": lambda t: t.person.nunique()}
        return series.group_by("ward").agg(n=lambda t: t.count(), nights=lambda t: t.nights.mean(), **persons)

    column = table["loaded"] if "arrives" in asking else table["day"]
    ends = [3, 4, 9, DAYS]
    parts = [
        table.filter(pc.and_(pc.greater_equal(column, pa.scalar(day(first))), pc.less(column, pa.scalar(day(end)))))
        for first, end in zip([0, *ends], ends, strict=False)
    ]
    grown(parts, ends, tmp_path / "steps", ask, **stated)
    wanted = exact(ask(protected(table, name="all at once", **stated)))
    assert len(wanted) == 1 + (not stated)
    for found, end in zip(seen, ends, strict=True):
        for one, other in zip(found, wanted, strict=True):
            assert other.any()
            assert np.array_equal(one, other[:end])


def test_a_unit_counts_in_its_first_steps(tmp_path: Path, seen: Seen) -> None:
    """Twice, of days that are kept one by one, though no table has two of them."""
    twice = partial(asked, max_steps=2)
    grown([between(0, 1), between(1, 2), between(2, 5)], [1, 2, 5], tmp_path, twice)
    [wanted] = exact(twice(protected()), 5)
    assert np.array_equal(seen[-1][0], wanted)
    assert not np.array_equal(wanted, exact(asked(protected(), max_steps=5), 5)[0])


def test_nothing_is_kept_unless_the_curator_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = protected()
    asked(table).release(through="2026-01-02", rho=1)
    assert not list(tmp_path.iterdir())
    [point] = table.budget.points(KEY)
    assert b"kept" not in point
    kept = protected(keep_steps="steps")
    asked(kept).release(through="2026-01-02", rho=1)
    [mark] = [one.kept for one in points_of(kept.budget.points(KEY))]
    assert len(mark) == 32
    made = [tmp_path / "steps", *(tmp_path / "steps").rglob("*")]
    assert {oct(one.stat().st_mode & 0o777) for one in made} == {"0o700", "0o600"}
    assert sorted(one.suffix for one in made if one.is_file()) == [".steps", ".units"]


@pytest.mark.long
def test_the_same_noise_gives_the_same_numbers(tmp_path: Path) -> None:
    """To the bit, with noise that can be foreseen."""
    found = []
    for more in ({}, {"keep_steps": tmp_path / "steps"}):
        stated: Any = more
        question = asked(not_private(protected(**stated), seed=5))
        ends = ("2026-01-04", "2026-01-05", "2026-01-20")
        found += [question.release(through=end, rho=1).to_pyarrow() for end in ends]
    assert found[:3] == found[3:]


people = st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 7), st.sampled_from(["A", "B", "C"])), max_size=25)


@pytest.mark.long
@given(people, st.integers(1, 3), st.sampled_from((1, 2, 3)), st.integers(1, 2), st.sets(st.integers(1, 7), max_size=2))
@settings(deadline=None, max_examples=10)
def test_neighbors_over_whole_histories(made: Any, most: int, apart: int, groups: int, ends: set[int]) -> None:
    """A unit more, whose rows may come late and be taken away: it moves its first steps, each within the limits."""
    found = [
        _history([one for one in made if one[0] >= low], most, apart, groups, [*sorted(ends), 8]) for low in (-1, 0)
    ]
    moved = np.abs(found[0] - found[1])
    places = np.flatnonzero(moved.sum(axis=1))
    assert len(places) <= most
    assert np.diff(places).min(initial=apart) >= apart
    if groups == 2:  # whole rows, at most two in each of two groups
        assert moved.max(initial=0) <= 2
    first = sorted({number for person, number, _ in made if person == -1})
    assert set(places) <= set(first)


def _history(made: Any, most: int, apart: int, groups: int, ends: list[int]) -> Any:
    """What is kept of a table that at each end has rows of new days, and of some old ones."""
    with tempfile.TemporaryDirectory() as folder:
        kept: list[Any] = []
        plain = KeptSteps._looked
        KeptSteps._looked = lambda *given: kept.append(found := plain(*given)) or found  # type: ignore[method-assign, func-returns-value]  # seen as it is kept
        try:
            parts = [
                [one for one in made if first - 2 <= one[1] < end] for first, end in zip([0, *ends], ends, strict=False)
            ]
            tables = [_table(part) for part in parts]
            grown(tables, ends, Path(folder), lambda t: asked(t, max_steps=most, apart=apart), max_groups=groups)
        finally:
            KeptSteps._looked = plain  # type: ignore[method-assign]  # as above
    return np.concatenate([totals.noisy[0] for totals, _ in kept])


def _table(made: Any) -> pa.Table:
    return pa.table(
        {
            "person": pa.array([person for person, _, _ in made], pa.int64()),
            "day": pa.array([day(number) for _, number, _ in made], pa.date32()),
            "ward": pa.array([ward for _, _, ward in made], pa.string()),
            "nights": pa.array([1.0] * len(made), pa.float64()),
        }
    )


@pytest.mark.long
def test_rows_between_two_looks_count_for_nobody_new(
    tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who is there at the second look alone has no pair, and so no rows."""
    plain = KeptSteps._pairs

    def pairs(*given: Any) -> pa.Table:
        found = plain(*given)
        return found.filter(pc.not_equal(found.column(0), "7"))

    monkeypatch.setattr(KeptSteps, "_pairs", pairs)
    grown([ROWS], [4], tmp_path)
    [wanted] = exact(asked(protected(ROWS.filter(pc.not_equal(ROWS["person"], 7)))), 4)
    assert np.array_equal(seen[0][0], wanted)


@pytest.mark.long
def test_dates_that_bounds_move(tmp_path: Path, seen: Seen) -> None:
    """A row of the second day that counts on the seventh is read with it."""
    bounds = {"nights": (0, 8), "day": (day(6), day(9))}
    grown([ROWS, ROWS], [4, 9], tmp_path, bounds=bounds)
    [wanted] = exact(asked(protected(name="bounded", bounds=bounds)), 9)
    assert np.array_equal(seen[1][0], wanted)
    assert wanted[6].sum() > 0


@pytest.mark.long
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_far_moments_in_a_column_of_steps(unit: str, tmp_path: Path, seen: Seen) -> None:
    """Of rows that are in no step, of which none makes the release fail."""
    kind = pa.timestamp(unit)
    moments = pa.concat_arrays([ROWS["day"].combine_chunks().cast(kind), array(hostile(kind), kind)])
    more = ROWS.slice(0, len(moments) - len(ROWS))
    rows = pa.concat_tables([ROWS, more]).set_column(1, "day", moments)
    grown([rows, rows], [2, 4], tmp_path)
    assert np.array_equal(seen[-1][0], exact(asked(protected()), 4)[0])


@pytest.mark.long
def test_who_is_slower_takes_the_record(tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has read other rows, and has kept them: both publish of these."""
    ledger = dp.Budget(rho=1)
    slow, fast = (protected(until(5, rows), keep_steps=tmp_path, budget=ledger) for rows in (ROWS, ROWS.slice(60)))
    plain, looked = KeptSteps._looked, list[Any]()

    def looking(*given: Any) -> Any:
        if not looked:
            looked.append(None)
            asked(fast).release(through="2026-01-03", rho=1)
        looked.append(plain(*given))
        return looked[-1]

    monkeypatch.setattr(KeptSteps, "_looked", looking)
    asked(slow).release(through="2026-01-05", rho=1)
    [first], [second], whole = exact(asked(fast), 3), exact(asked(slow), 5), seen[-1][0]
    assert not np.array_equal(first, second[:3])
    assert np.array_equal(whole[:3], first)
    assert [one.end for one in points_of(ledger.points(KEY))] == [3, 5]


def test_steps_that_were_lost_are_refused(tmp_path: Path, seen: Seen) -> None:
    """And are read again once a step was published of all rows; what is published can be read all the while."""
    table = grown([ROWS], [4], tmp_path / "steps")
    shutil.rmtree(tmp_path / "steps")
    (tmp_path / "steps").mkdir()
    with pytest.raises(InvalidParameter, match="the 4 steps that were published of kept totals"):
        asked(table).release(through="2026-01-05")
    assert len(asked(table).release(through="2026-01-04"))
    whole = protected(budget=table.budget)
    asked(whole).release(through="2026-01-05")
    asked(table).release(through="2026-01-06")
    [wanted] = exact(asked(whole), 6)
    assert np.array_equal(seen[-1][0], wanted)
    assert len(list((tmp_path / "steps").rglob("*.steps"))) == 1


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_another_copy_of_the_folder_is_refused(
    when: str, tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies in which a day was read of different rows: what was published of one does not go on in the other."""
    budget = grown([until(4)], [4], tmp_path / "one").budget
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    one, two = (
        protected(rows, version=version, keep_steps=tmp_path / name, budget=budget)
        for name, rows, version in (("one", ROWS, 2), ("two", ROWS.slice(60), 3))
    )
    plain = dp.Budget.published

    def published(*given: Any) -> bytes:
        monkeypatch.setattr(dp.Budget, "published", plain)
        if when == "before":  # it is killed
            raise ZeroDivisionError
        asked(one).release(through="2026-01-05")
        return plain(*given)

    monkeypatch.setattr(dp.Budget, "published", published)
    with pytest.raises(ZeroDivisionError if when == "before" else InvalidParameter):
        asked(two).release(through="2026-01-06")
    asked(one).release(through="2026-01-05")
    with pytest.raises(InvalidParameter, match="keep_steps='others, of another copy of the folder'"):
        asked(two).release(through="2026-01-06")
    asked(one).release(through="2026-01-06")
    [wanted] = exact(asked(one), 6)
    assert np.array_equal(seen[-1][0], wanted)
    assert not np.array_equal(seen[1][0], wanted)
    assert [point.end for point in points_of(budget.points(KEY))] == [4, 5, 6]


@pytest.mark.long
def test_what_cannot_be_kept_is_refused_before_a_charge(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wrong: tuple[Any, ...] = (5, "", tmp_path / "file")
    for place in wrong:
        with pytest.raises(InvalidParameter, match="keep_steps"):
            protected(keep_steps=place)
    below = protected(keep_steps=tmp_path / "file" / "steps")
    with pytest.raises(InvalidParameter, match="a folder for steps"):
        asked(below).release(through="2026-01-02", rho=1)
    rows = ROWS.append_column("weight", ROWS["nights"])
    by_weight = protected(rows, unit="weight", bounds={}, keep_steps=tmp_path / "steps")
    with pytest.raises(InvalidQuery, match="a unit of whole numbers or texts"):
        asked(by_weight).release(through="2026-01-02", rho=1)
    assert not below.budget.spent.rho
    assert not by_weight.budget.spent.rho


@pytest.mark.long
def test_an_older_version_of_the_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kept steps as of published ones, though their points were lost on the way to the ledger."""
    first = grown([until(4)], [4], tmp_path)
    second = first.refreshed(until(9), version=2)
    with monkeypatch.context() as patch:
        patch.setattr(dp.Budget, "published", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asked(second).release(through="2026-01-05")
    with pytest.raises(InvalidQuery, match="version '2' of the table"):
        asked(first).release(through="2026-01-05")
    assert len(asked(second).release(through="2026-01-05"))


def test_older_rows_are_not_kept_once_another_process_was_quicker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the newer rows goes on; records of older ones behind theirs would stop it for good."""
    older = grown([until(4)], [4], tmp_path)
    newer, plain = older.refreshed(until(9), version=2), KeptSteps._looked

    def looked(*given: Any) -> Any:
        monkeypatch.setattr(KeptSteps, "_looked", plain)
        asked(newer).release(through="2026-01-05")
        return plain(*given)

    monkeypatch.setattr(KeptSteps, "_looked", looked)
    with pytest.raises(EngineError):
        asked(older).release(through="2026-01-07")
    with pytest.raises(InvalidQuery, match="version '2' of the table"):
        asked(older).release(through="2026-01-07")
    asked(newer).release(through="2026-01-07")
    assert [point.version for point in points_of(older.budget.points(KEY))] == ["1", "2", "2"]


def test_a_folder_for_several_ledgers(tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hospitals of one name, opened in one second: each publishes its own rows alone."""
    now = datetime.datetime.now(datetime.UTC)
    monkeypatch.setattr("discreet.series.publish_steps.datetime", SimpleNamespace(now=lambda _: now))
    for rows in (ROWS, ROWS.slice(60)):
        asked(protected(rows, keep_steps=tmp_path)).release(through="2026-01-03", rho=1)
        assert np.array_equal(seen[-1][0], exact(asked(protected(rows, name="alone")), 3)[0])
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.long
def test_numbers_that_leave_their_column(tmp_path: Path, seen: Seen) -> None:
    """Steps before and behind all that a column of one byte can hold."""
    rows = pa.table({"person": [1, 2, 3, 3], "hour": pa.array([-1, 2, 3, 127], pa.int8())})
    table = dp.protect(rows, unit="person", max_rows=2, budget=dp.Budget(rho=1), name="hours", keep_steps=tmp_path)
    series = table.series(by="hour", start=-200, until=300, every=1, max_steps=2).agg(n=lambda t: t.count())
    for end in (-150, 3, 130, 140):
        series.release(through=end, rho=1)
    assert np.flatnonzero(seen[-1][0]).tolist() == [199, 202, 203, 327]


@pytest.mark.long
def test_files_of_kept_days_stay_shut(tmp_path: Path, seen: Seen) -> None:
    """Folders of days: what is in an old file is nothing that can be read, and the totals are those of before."""
    for number in range(12):
        (tmp_path / f"rows/day={day(number)}").mkdir(parents=True)
        pq.write_table(between(number, number + 1).drop_columns("day"), tmp_path / f"rows/day={day(number)}/a.parquet")

    def ask(table: PrivateTable) -> Any:
        return asked(table.mutate(day=lambda t: t.day.try_cast("date")))

    places = str(tmp_path / "rows/*/*.parquet")
    table = grown([places, places], [5, 10], tmp_path / "steps", ask)
    for number in range(10):
        held = tmp_path / f"rows/day={day(number)}/a.parquet"
        whole = held.read_bytes()
        size = int.from_bytes(whole[-8:-4], "little") + 8
        held.write_bytes(b"\0" * (len(whole) - size) + whole[-size:])  # the footer, which each file is asked for
    later = table.refreshed(places, version=3)
    ask(later).release(through="2026-01-12")
    assert np.array_equal(seen[-1][0], exact(asked(protected(name="whole")), 12)[0])
    shutil.rmtree(tmp_path / f"rows/day={day(0)}")
    gone = later.refreshed(places, version=4)
    assert np.array_equal(ask(gone).release(through="2026-01-12")["n"], ask(later).release(through="2026-01-12")["n"])


def test_the_raw_column_of_a_column() -> None:
    scan = ibis.table({"day": "date", "other": "date"}, name="scan")
    assert scanned_column(scan.filter(scan.day == scan.other).select(when=scan.day), "when") == "day"
    assert scanned_column(scan.mutate(day=scan.day.truncate("M")), "day") is None
    assert scanned_column(scan.distinct(), "day") is None

"""The folder of kept steps: each record once, whole, of one series, in one order; anything else refused in words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.series.kept_step_files import StepFiles
from discreet.series.series_record import Point

UNITS = pa.table({"unit": ["a", "b"], "times": [1, 2], "last": [0, 1]})


def point(first: int, number: int = 2) -> Point:
    return Point(first, "1", private=False, noisy=[np.arange(2 * number, dtype=object).reshape(number, 2) + 2**80])


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> StepFiles:
    """Two records, of two steps each."""
    made = StepFiles(tmp_path, "first" * 10)
    assert made.records() == []
    assert made.units() is None
    assert made.add(1, point(0), UNITS)
    assert made.add(2, point(2), UNITS.slice(1))
    return made


def read(files: StepFiles) -> None:
    """All of it, as a release does."""
    files.records()
    files.units()


def again(files: StepFiles) -> StepFiles:
    return StepFiles(files._place.parent, files._series)


def test_records_come_back_in_their_order(files: StepFiles) -> None:
    for one in (files, again(files)):
        assert [record.totals.first for record in one.records()] == [0, 2]
        assert np.array_equal(one.records()[1].totals.noisy[0], point(2).noisy[0])
        units = one.units()
        assert units is not None
        assert units.equals(UNITS.slice(1))
    assert len(list(files._place.iterdir())) == 3


def test_a_record_is_written_once(files: StepFiles) -> None:
    """Who is slower changes nothing, and leaves nothing."""
    slow, fast = again(files), again(files)
    assert slow.records()
    assert fast.records()
    assert fast.add(3, point(4, 1), UNITS)
    before = {one: one.read_bytes() for one in files._place.iterdir()}
    assert not slow.add(3, point(4, 5), UNITS.slice(0, 1))
    assert {one: one.read_bytes() for one in files._place.iterdir()} == before
    assert [record.totals.end for record in slow.records()] == [2, 4, 5]


def test_who_reads_behind_a_later_record_is_told_to_look_again(files: StepFiles) -> None:
    behind = again(files)
    behind.records()
    files.add(3, point(4), UNITS)
    with pytest.raises(FileNotFoundError):
        behind.units()
    assert behind.units() is not None


def test_what_was_written_aside_is_cleared(files: StepFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process that was killed, by the next one; what somebody writes for a later place stays."""
    (files._place / ".00000003-left").write_bytes(b"half")
    (files._place / "00000003-abc.units").write_bytes(b"of nobody")
    (files._place / ".00000004-busy").write_bytes(b"half")
    assert files.add(3, point(4), UNITS)
    assert [one.name for one in files._place.glob(".*")] == [".00000004-busy"]
    assert len(list(files._place.glob("*.units"))) == 1
    plain = os.link

    def cleared(source: str, target: Path) -> None:
        Path(source).unlink()
        plain(source, target)

    monkeypatch.setattr(os, "link", cleared)
    assert not files.add(4, point(6), None)


@pytest.mark.parametrize(
    "which", ["first", "last", "units", "empty", "swapped", "gap", "gone", "other", "mixed", "fewer"]
)
def test_what_was_edited_is_refused(files: StepFiles, which: str, tmp_path: Path) -> None:
    first, last = (files._place / f"0000000{number}.steps" for number in (1, 2))
    [units] = files._place.glob("*.units")
    changed: dict[str, Any] = {"first": first, "last": last, "units": units}
    series, one = files._series, again(files)
    if which in changed:
        held = bytearray(changed[which].read_bytes())
        held[-1] ^= 1
        changed[which].write_bytes(held)
    elif which == "empty":
        last.write_bytes(b"")
    elif which == "swapped":
        last.write_bytes(first.read_bytes())
    elif which == "gap":
        first.unlink()
    elif which == "gone":
        units.unlink()
    elif which == "mixed":
        copy = StepFiles(tmp_path / "copy", series)
        copy.add(1, point(0), UNITS)
        copy.add(2, point(2), UNITS.slice(1))
        last.write_bytes((copy._place / last.name).read_bytes())
    elif which == "other":
        series = "other" * 10
        files._place.rename(tmp_path / series[:32])
        one = StepFiles(tmp_path, series)
    else:
        assert one.records()
        last.unlink()
    with pytest.raises(InvalidParameter, match="Expected the steps that were kept in") as refused:
        read(one)
    assert "Hint: restore the folder from a copy of it." in str(refused.value)


@pytest.mark.parametrize("how", ["removed", "edited", "unreadable"])
def test_refusals_hold_nothing_of_the_units(files: StepFiles, how: str) -> None:
    """Who knows all units but one could try what the sum is with it; and a folder's place is nobody's business."""
    for kind in ("units", "steps"):
        [*_, path] = sorted(files._place.glob(f"*.{kind}"))
        if how == "edited":
            path.write_bytes(b"PAR1")
        else:
            path.unlink()
        if how == "unreadable":
            path.mkdir()
        if (how, kind) == ("removed", "steps"):
            continue
        with pytest.raises(InvalidParameter, match=f"kept in 00000002.{kind}, ") as refusal:
            read(again(files))
        assert str(files._place) not in str(refusal.value)

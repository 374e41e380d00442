"""Steps that several processes keep, at once or one after the other, killed at any moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.query.table import PrivateTable
from discreet.series.series_record import key_of, points_of
from series_fixtures import asked, exact, protected

Seen = list[list[Any]]
KEY = key_of("hospital", "series")

PROGRAM = """
import os, pathlib, sys
from discreet.ledger.budget import Budget
import discreet as dp
import scipy.linalg
from series_fixtures import asked, protected

path, folder, *cases = sys.argv[1:]

def killing(kind, at, when):
    where, name = {"link": (os, "link"), "sync": (os, "fsync"), "ledger": (Budget, "published")}[kind]
    number, plain = [0], getattr(where, name)
    def method(*given, **more):
        number[0] += 1
        found = plain(*given, **more) if when == "after" or number[0] != int(at) else None
        if number[0] == int(at):
            os.kill(os.getpid(), 9)
        return found
    setattr(where, name, method)

def published(end):
    asked(protected(budget=dp.Budget(rho=1, ledger=path), keep_steps=folder)).release(through=end, rho=1)

def records():
    return {one: one.read_bytes() for one in pathlib.Path(folder).rglob("*.steps")}

def started(moment, end):
    child = os.fork()
    if not child:
        if moment != "whole":
            killing(*moment.split("-"))
        published(end)
        os._exit(0)
    return child

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

for case in cases:
    moment, *ends = case.split("=")
    before = records()
    found = [ended(child) for child in [started(moment, end) for end in ends]]
    assert found == [0 if moment == "whole" else -9] * len(ends), (case, found)
    assert all(records()[name] == content for name, content in before.items()), case
"""
MOMENTS = ("sync-1-before", "link-1-before", "link-1-after", "link-2-before", "link-2-after", "ledger-1-before")


def ran(folder: Path, *cases: str) -> PrivateTable:
    """The table after processes that ran, or were killed, one after the other."""
    search = os.pathsep.join(one for one in sys.path if one)
    places = (str(folder / "spent.db"), str(folder / "steps"))
    program = [sys.executable, "-c", PROGRAM, *places, *cases]
    subprocess.run(program, check=True, timeout=300, env={**os.environ, "PYTHONPATH": search})
    return protected(budget=dp.Budget(rho=1, ledger=folder / "spent.db"), keep_steps=folder / "steps")


@pytest.mark.long
def test_killed_at_any_moment(tmp_path: Path, seen: Seen) -> None:
    """Neither is a step lost nor one value replaced by another: what was kept or published stays, and the rest is read
    by whoever comes next. Each process is killed at another moment, on its way to another day.
    """
    whole = [f"2026-01-{3 + place:02}" for place in range(len(MOMENTS))]
    killed = [f"{moment}={end}" for moment, end in zip(MOMENTS, whole, strict=True)]
    table = ran(
        tmp_path, "whole=2026-01-02", *killed[:3], f"whole={whole[2]}", *killed[3:], "ledger-1-after=2026-01-10"
    )
    assert [one.end for one in points_of(table.budget.points(KEY))] == [2, 5, 10]
    asked(table).release(through="2026-01-12")
    assert np.array_equal(seen[-1][0], exact(asked(table), 12)[0])
    assert len(list((tmp_path / "steps").rglob("*.units"))) == 1
    assert not list((tmp_path / "steps").rglob(".*"))


@pytest.mark.long
def test_processes_at_once(tmp_path: Path, seen: Seen) -> None:
    """Four at a time, to different ends: one sequence of records, one of points, and no file too many."""
    table = ran(tmp_path, "whole=2026-01-02", "whole=2026-01-05=2026-01-06=2026-01-06=2026-01-09")
    asked(table).release(through="2026-01-12")
    assert np.array_equal(seen[-1][0], exact(asked(table), 12)[0])
    assert len(list((tmp_path / "steps").rglob("*.units"))) == 1

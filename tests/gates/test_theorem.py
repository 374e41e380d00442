"""The theorem page speaks of what runs: every file that it names has code that some release calls."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
POINTER = re.compile(r"\(\.\./src/discreet/([\w/]+\.py)\)")
POINTERS = sorted(set(POINTER.findall((ROOT / "docs" / "theorem.md").read_text(encoding="utf-8"))))
ROWS = pa.table(
    {
        "person": [number // 2 for number in range(400)],
        "page": [f"p{number % 3}" for number in range(400)],
        "age": [float(number % 90) for number in range(400)],
    }
)


def called(run: Callable[[], object]) -> set[str]:
    """The files of our own in which some function was called meanwhile, by a thread that does all by itself."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            found.add(frame.f_code.co_filename)

    threading.setprofile(note)
    try:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(run).result()
    finally:
        threading.setprofile(None)
    return {str(Path(one).relative_to(PACKAGE)) for one in found if one.startswith(f"{PACKAGE}/")}


def releases(folder: Path) -> None:
    """One release of each kind that the page speaks of, under a budget that is kept in a file."""
    budget = dp.Budget(epsilon=1000, delta=0.01, ledger=folder / "spent.db")
    stated: dict[str, Any] = {"unit": "person", "bounds": {"age": (0, 110)}, "max_groups": 2, "max_rows": 2}
    people = dp.protect(ROWS, budget=budget, name="visits", **stated)
    pages = {"page": ["p0", "p1", "p2"]}
    grouped = people.filter(_.age >= 18).group_by("page", keys=pages)
    grouped.agg(n=_.count(), m=_.age.mean()).release(epsilon=1)
    grouped.agg(n=_.count(), m=_.age.mean()).release(epsilon=1)
    grouped.agg(n=_.count()).release(epsilon=1, report=("clipped", "weighted")[1:])
    many = {"page": [f"p{number}" for number in range(200)]}
    people.group_by("page", keys=many, max_groups=50).agg(n=_.count()).release(epsilon=0.5, delta=1e-5)
    for epsilon, limit in ((1, 1), (0.5, 50)):
        unknown = people.group_by("page", keys=dp.UNKNOWN, max_groups=limit)
        unknown.agg(n=_.person.nunique()).release(epsilon=epsilon, delta=1e-5)
        unknown.agg(n=_.count(), s=_.age.sum()).release(epsilon=epsilon, delta=1e-5)
    people.group_by("page", keys=pages, max_groups="auto").agg(n=_.count()).release(epsilon=1)
    people.count().release(within={"count": 0.05}, relative=True, up_to=0.5)
    lines = ROWS.select(["age"]).append_column("visit", ROWS["page"])
    visits = pa.table({"visit": ["p0", "p1"], "person": [1, 2]})
    dp.protect(lines, via=(visits, {"visit": "visit"}), budget=budget, name="lines", **stated).count().release(
        epsilon=1
    )
    pq.write_table(ROWS, folder / "rows.parquet")
    rows = dp.protect(folder / "rows.parquet", unit=dp.ROW, budget=budget, name="rows")
    rows.count().release(epsilon=6)
    rows.select("page").join(rows.select("page", "age"), "page", max_matches=1).count().release(epsilon=1)
    rows.per_key("page", n=_.count()).agg(n=_.count(where=_.n > 1)).release(epsilon=1)
    rows.take(3).count().release(epsilon=1)
    rows.unnest(at=[_.age, 18]).agg(n=_.at.count()).release(epsilon=1)
    pq.write_table(pa.table(pages), folder / "keys.parquet")
    rows.group_by("page", keys=dp.public_keys(folder / "keys.parquet")).agg(n=_.count()).release(epsilon=1)
    both = {"by_page": grouped.agg(n=_.count()), "old": people.filter(_.age >= 50).count()}
    dp.batch(both).release(epsilon=1, delta=1e-5)
    people.group_by("page", keys=pages, cube=True).agg(n=_.count()).release(epsilon=1)
    levels = rows.hierarchy(["page"], keys=dp.public_keys(folder / "keys.parquet")).agg(n=_.count())
    levels.release(epsilon=1)
    levels.release(epsilon=2, to=folder / "levels")
    series = people.mutate(number=_.age.floor().cast("int64")).series(
        by="number", start=0, every=30, until=89, max_steps=2
    )
    series.agg(n=_.count()).release(through=29, epsilon=1, delta=1e-5)
    pairs = ROWS.append_column("other", ROWS["person"])
    shared = dp.protect_shared(pairs, each_of=("person", "other"), budget=budget, name="pairs")
    shared.truncated_total(epsilon=1, most=4)
    later = people.refreshed(ROWS, version=2).select("person", "age")
    later.join(people.select("person", "page"), on="person").count().release(epsilon=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return called(lambda: releases(tmp_path_factory.mktemp("theorem")))


@pytest.mark.parametrize("file", POINTERS)
def test_what_the_theorem_names_is_run_by_a_release(run: set[str], file: str) -> None:
    assert file in run


def test_the_rule_that_lets_a_charge_in_is_named(run: set[str]) -> None:
    """The page named another file once, and an import from it was all that a release had of it."""
    assert "ledger/privacy_filter.py" in {*POINTERS} & run
    assert len(POINTERS) > 30

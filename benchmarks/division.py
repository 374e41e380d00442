"""How a release's epsilon is best divided among its columns: a study of ten real tables.

Run: python benchmarks/division.py FOLDER, with the tables of `TABLES` below FOLDER; without one it says what it needs.

Each table is asked for its persons, its rows, and a mean or a sum where it has numbers, together, at epsilon 1. The
rules differ in what an error is measured against: rows as they are (0), or rows over a power of the rows that one
person may have (1/2, 1). Errors are those of `explain`, relative to the exact value; no noise is drawn. Of a rule, the
table shows the largest relative error of each question, which is what makes a reader ask again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

import discreet as dp

POWERS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class StudiedTable:
    """One table, and what is asked of it."""

    path: str
    unit: str
    max_rows: int
    value: str = ""
    bounds: tuple[float, float] = (0, 1)
    key: str = ""
    max_groups: int = 1


TABLES: Mapping[str, StudiedTable] = {
    "doctor visits": StudiedTable("people/randhie_person_year.parquet", "person_id", 5, "mdvis", (0, 50)),
    "doctor visits by site": StudiedTable(
        "people/randhie_person_year.parquet", "person_id", 5, "mdvis", (0, 50), "site", 1
    ),
    "retail lines": StudiedTable("logs/online_retail.parquet", "CustomerID", 200, "UnitPrice", (0, 50)),
    "retail by country": StudiedTable(
        "logs/online_retail.parquet", "CustomerID", 200, "UnitPrice", (0, 50), "Country", 1
    ),
    "web visits": StudiedTable("logs/msweb_visits.parquet", "user_id", 10),
    "edits": StudiedTable("logs/wiki_edits_20150912.parquet", "user_id", 100, "added", (0, 1000)),
    "edits by namespace": StudiedTable(
        "logs/wiki_edits_20150912.parquet", "user_id", 100, "added", (0, 1000), "namespace", 2
    ),
    "commits": StudiedTable("logs/git_statsmodels.parquet", "author_id", 500),
    "restaurant visits": StudiedTable("logs/restaurant_week_data.csv", "VisitorId", 6, "Money spent (euros)", (0, 60)),
    "restaurant by day": StudiedTable(
        "logs/restaurant_week_data.csv", "VisitorId", 1, "Money spent (euros)", (0, 60), "Day", 4
    ),
}


def rows_of(folder: Path, asked: StudiedTable) -> pd.DataFrame:
    """The rows of a table that have a unit."""
    path = folder / asked.path
    frame = pd.read_csv(path) if path.suffix == ".csv" else pq.read_table(path).to_pandas()
    return frame.dropna(subset=[asked.unit])


def question(frame: pd.DataFrame, asked: StudiedTable) -> Any:
    """The question about a table."""
    columns = [asked.unit, *filter(None, (asked.value, asked.key))]
    held = frame[columns].copy()
    if asked.key:
        held[asked.key] = held[asked.key].astype(str)
    table = dp.protect(
        pa.Table.from_pandas(held, preserve_index=False),
        unit=asked.unit,
        max_rows=asked.max_rows,
        max_groups=asked.max_groups if asked.key else None,
        bounds={asked.value: asked.bounds} if asked.value else None,
        keys={asked.key: sorted(held[asked.key].unique())} if asked.key else None,
        budget=dp.Budget(epsilon=1),
    )
    wanted = {"persons": _[asked.unit].nunique(), "rows": _.count()}
    if asked.value:
        wanted["mean"] = _[asked.value].mean()
    return (table.group_by(asked.key) if asked.key else table).agg(**wanted)


def exact(frame: pd.DataFrame, asked: StudiedTable) -> Mapping[str, float]:
    """Exact values, of the middle group where there are several: half of the groups are off by more."""
    groups = frame.groupby(asked.key) if asked.key else frame.assign(all=0).groupby("all")
    found = {"persons": float(groups[asked.unit].nunique().median()), "rows": float(groups.size().median())}
    if asked.value:
        found["mean"] = float(groups[asked.value].apply(lambda v: v.clip(*asked.bounds).mean()).median())
    return found


def errors(asked: StudiedTable, asking: Any, true: Mapping[str, float], power: float) -> dict[str, float]:
    """Relative errors of the columns, where rows count over this power of what one person may have."""
    scale = asked.max_rows ** (-2 * power)
    weights = {name: 1.0 if name == "persons" else scale for name in true}
    plan = asking.explain(epsilon=1, weights=weights, assume={"rows": max(1, round(true["rows"]))})
    return {name: plan.accuracy[name].amount / max(abs(true[name]), 1e-9) for name in true}


def study(folder: Path) -> Iterator[tuple[str, list[dict[str, float]]]]:
    """Each table's name, and its relative errors by each rule."""
    for name, asked in TABLES.items():
        frame = rows_of(folder, asked)
        asking, true = question(frame, asked), exact(frame, asked)
        yield name, [errors(asked, asking, true, power) for power in POWERS]


def main() -> None:
    """Prints the study as a table of Markdown."""
    if len(sys.argv) < 2:
        print("The tables are not here: name the folder that has them. The study is in docs/planner.md.")
        return
    print("| table | " + " | ".join(f"power {p:g}: persons, rows, mean" for p in POWERS) + " |")
    print("|---" * (1 + len(POWERS)) + "|")
    worst: list[list[float]] = []
    for name, found in study(Path(sys.argv[1])):
        worst.append([max(one.values()) for one in found])
        cells = [", ".join(f"{100 * error:.3g} %" for error in one.values()) for one in found]
        print(f"| {name} | " + " | ".join(cells) + " |")
    mean = np.exp(np.log(np.array(worst)).mean(axis=0))
    print("| largest of each, geometric mean | " + " | ".join(f"{100 * one:.3g} %" for one in mean) + " |")


if __name__ == "__main__":
    main()

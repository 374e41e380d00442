"""Verbs that make rows of rows: how long beside raw SQL of the same, in turn in one run, and how far off at epsilon 1.

Run: python benchmarks/row_verbs.py [ROWS], a million without it, of Parquet files on DuckDB, 2 threads.

One count or sum is asked of the rows that each verb makes. Printed are the medians of both times and their ratio, how
many rows one unit changes (`explain`), the standard deviation of the noise that follows from it, and the root of the
mean square of how far the releases were from the raw answer; the limits are as wide as the rows are, so that they take
nothing. Beside it, the rows that Tumult Analytics adds noise for, where it has the verb, by the stability that its
documentation states; it is not run, since noise for as many rows is the same noise. `flat_map(max_rows=k)` multiplies
by k; `join_private` changes 2 (t_1 d_2 + t_2 d_1) rows, where one unit has d_1 and d_2 rows and `DropExcess` keeps t_1
and t_2 rows of a key; and d_1 + d_2 with `DropNonUnique`, which drops all rows of a key that has several.

Of `choose`, the shortfall of the chosen candidate stands beside that of the exponential mechanism as it is commonly
drawn, with Gumbel noise, on the same exact scores.
"""

from __future__ import annotations

import math
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

import discreet as dp

ROUNDS = 10
THREADS = 2
GUMBELS = 100_000
TAKEN = 100_000
CANDIDATES = range(10, 90, 4)


class Case(NamedTuple):
    """A question beside raw SQL."""

    question: Any
    raw: str
    unit: int = 1
    """What the noise of one row is multiplied by: the bound of what is summed."""
    rival: str = "-"


def write(folder: Path, rows: int) -> None:
    """Two tables with a row for each order and a few lines, and visits of persons, ten of each."""
    chance = np.random.default_rng(20261128)
    at = np.arange(rows)
    tags = np.array(["a", "a b", "b c", "a b c", "c"])[chance.integers(0, 5, rows)]
    lines = pa.table({
        "item": chance.permutation(at // 4), "tags": tags,
        "morning": chance.integers(0, 101, rows), "evening": chance.integers(0, 101, rows),
        "code": np.minimum(chance.zipf(1.3, rows), 100_000),
    })  # fmt: skip
    items = pa.table({"item": chance.permutation(rows // 4), "price": chance.integers(0, 101, rows // 4)})
    visits = pa.table({"person": at // 10, "site": chance.permutation(rows) % 5_000, "length": at % 97})
    codes = lines.select(["code"]).slice(0, rows // 2)
    tables = {"lines": lines, "items": items, "visits": visits, "more": visits.slice(0, rows // 2), "codes": codes}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=200_000)


def protected(folder: Path) -> dict[str, Any]:
    """All tables, under one budget."""
    place, budget = ibis.duckdb.connect(threads=THREADS), dp.Budget(epsilon=10**6)
    bounds = {"morning": (0, 100), "evening": (0, 100), "price": (0, 100)}
    found: dict[str, Any] = {}
    for name in ("lines", "items", "codes", "visits", "more"):
        rows = place.read_parquet(str(folder / f"{name}.parquet"), table_name=name)
        stated: dict[str, Any] = {"unit": "person", "max_rows": 10} if name in ("visits", "more") else {"unit": dp.ROW}
        held = {column: ends for column, ends in bounds.items() if column in rows.columns}
        found[name] = dp.protect(rows, bounds=held, budget=budget, name=name, **stated)
    return found


def of_one_table(tables: dict[str, Any], rows: int) -> dict[str, Case]:
    """Questions about the rows that were made of one table."""
    lines, visits = tables["lines"], tables["visits"]
    tagged = lines.unnest(tag=_.tags.split(" "), max_items=3)
    longer = lines.pivot_longer(["morning", "evening"], names_to="time", values_to="amount")
    keys = "SELECT count(*) FROM (SELECT {} AS key, count(*) AS n FROM {} GROUP BY 1) WHERE n > {}"
    busy = rows // 5_000
    order = "SELECT count(*) FROM (SELECT * FROM lines ORDER BY hash(lines) {})"
    return {
        "unnest, a text": Case(
            tagged.agg(n=_.count(where=_.tag == "a")),
            "SELECT count(*) FROM (SELECT unnest(string_split(tags, ' ')[:3]) AS tag FROM lines) WHERE tag = 'a'",
            rival="3, flat_map",
        ),
        "pivot_longer": Case(
            longer.agg(n=_.amount.sum()),
            "SELECT sum(amount) FROM (UNPIVOT (SELECT morning, evening FROM lines) ON morning, evening "
            "INTO NAME time VALUE amount)",
            100,
            "2, flat_map",
        ),
        "take": Case(lines.take(TAKEN).agg(n=_.count()), order.format(f"LIMIT {TAKEN}")),
        "skip": Case(lines.skip(TAKEN).agg(n=_.count()), order.format(f"OFFSET {TAKEN}")),
        "per_key, rows": Case(
            lines.per_key("code", n=_.count()).agg(n=_.count(where=_.n > 10)), keys.format("code", "lines", 10)
        ),
        "per_key, persons": Case(
            visits.per_key("site", max_keys=10, n=_.count()).agg(n=_.count(where=_.n > busy - 5)),
            keys.format("site", "visits", busy - 5),
        ),
        "distinct": Case(
            lines.distinct("item", "tags").agg(n=_.count()),
            "SELECT count(*) FROM (SELECT DISTINCT item, tags FROM lines)",
            rival="1, count_distinct",
        ),
    }


def of_two_tables(tables: dict[str, Any]) -> dict[str, Case]:
    """Questions about rows of two tables."""
    lines, items = tables["lines"], tables["items"]
    priced = "FROM lines JOIN items USING (item)"
    joined = lines.join(items, "item", max_matches=(4, 1))
    codes = lines.select("code")
    return {
        "union, limits raised": Case(
            tables["visits"].union(tables["more"], raise_limits=True).agg(n=_.count()),
            "SELECT count(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM more)",
        ),
        "intersect": Case(
            codes.intersect(tables["codes"]).agg(n=_.count()),
            "SELECT count(*) FROM (SELECT code FROM lines INTERSECT SELECT code FROM codes)",
        ),
        "difference": Case(
            codes.difference(tables["codes"]).agg(n=_.count()),
            "SELECT count(*) FROM (SELECT code FROM lines EXCEPT SELECT code FROM codes)",
        ),
        "join, rows": Case(joined.agg(n=_.count()), f"SELECT count(*) {priced}", rival="10, join_private"),
        "join, a sum": Case(joined.agg(n=_.price.sum()), f"SELECT sum(price) {priced}", 100, "10, join_private"),
        "join, one to one": Case(
            items.join(items.select("item"), "item", max_matches=1).agg(n=_.count()),
            "SELECT count(*) FROM items JOIN items AS other USING (item)",
            rival="4, DropExcess(1)",
        ),
        "join, unique keys": Case(
            items.join(items.select("item"), "item", max_matches="unique").agg(n=_.count()),
            "SELECT count(*) FROM items JOIN items AS other USING (item)",
            rival="2, DropNonUnique",
        ),
    }


def deviation(scale: float) -> float:
    """Of noise of two-sided geometric distribution on the whole numbers."""
    share = math.exp(-1 / scale)
    return math.sqrt(2 * share) / (1 - share)


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """How long it takes, and what it gives."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def ratio(ours: list[float], raw: list[float]) -> str:
    """Both medians, and the ratio."""
    mine, its = statistics.median(ours), statistics.median(raw)
    return f"{1000 * mine:.0f} | {1000 * its:.0f} | {mine / its:.1f}"


def line(name: str, case: Case, raw: duckdb.DuckDBPyConnection) -> None:
    """Times both in turn, and prints what came out."""
    rows = moved(case.question)
    case.question.release(epsilon=1, fresh=True)
    ours, its, off = [], [], []
    for _round in range(ROUNDS):
        took, answer = seconds(partial(case.question.release, epsilon=1, fresh=True))
        beside, exact = seconds(lambda: raw.execute(case.raw).fetchall())
        ours.append(took)
        its.append(beside)
        off.append(float(answer.to_pandas()["n"].iloc[0]) - float(exact[0][0]))
    error = math.sqrt(statistics.fmean(one * one for one in off))
    stated = case.unit * deviation(rows)
    print(f"| {name} | {ratio(ours, its)} | {rows} | {stated:,.1f} | {error:,.1f} | {case.rival} |", flush=True)


def moved(question: Any) -> int:
    """How many rows one unit changes, as `explain` says."""
    limits = question.explain(epsilon=1)["limits"]
    return next(iter(limits.values())) if isinstance(limits, dict) else 1


def chosen(tables: dict[str, Any], raw: duckdb.DuckDBPyConnection) -> None:
    """Prints the times of a choice among thresholds, and how much of the best score it misses."""
    code = [f"count(*) FILTER (WHERE abs(morning - {c}) < 5)" for c in CANDIDATES]
    statement = f"SELECT {', '.join(code)} FROM lines"  # noqa: S608 (whole numbers)
    ours, its, short = [], [], []
    for _round in range(ROUNDS):
        took, choice = seconds(
            lambda: tables["lines"].choose(
                list(CANDIDATES), score=lambda c: (_.morning - c).abs() < 5, epsilon=0.01, fresh=True
            )
        )
        beside, found = seconds(lambda: raw.execute(statement).fetchall())
        ours.append(took)
        its.append(beside)
        scores = np.array(found[0], dtype=float)
        short.append(scores.max() - scores[list(CANDIDATES).index(choice.value)])
    most = choice.receipt["short by at most"]
    chance = np.random.default_rng(20261128)
    noisy = scores * 0.01 / 1 + chance.gumbel(size=(GUMBELS, scores.size))
    gumbel = float(np.mean(scores.max() - scores[noisy.argmax(axis=1)]))
    print(f"| choose of {len(CANDIDATES)}, epsilon 0.01 | {ratio(ours, its)} | {most:.0f} | "
          f"{statistics.fmean(short):.1f} | {gumbel:.1f} |")  # fmt: skip


def main() -> None:
    """Prints the table."""
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    print(f"{platform.machine()}, DuckDB {duckdb.__version__}, {rows:,} rows, {THREADS} threads, {ROUNDS} rounds\n")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, rows)
        raw = duckdb.connect(config={"threads": THREADS})
        for path in folder.glob("*.parquet"):
            raw.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
        tables = protected(folder)
        print("| verb | ours, ms | raw, ms | ratio | rows that a unit changes | noise | measured | Tumult |")
        print("|---|---|---|---|---|---|---|---|")
        for name, case in {**of_one_table(tables, rows), **of_two_tables(tables)}.items():
            line(name, case, raw)
        print("\n| choice | ours, ms | raw, ms | ratio | short by at most (95 %) | mean shortfall | Gumbel |")
        print("|---|---|---|---|---|---|---|")
        chosen(tables, raw)


if __name__ == "__main__":
    main()

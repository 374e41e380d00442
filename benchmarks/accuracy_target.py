"""The census bureau's own target for accuracy, on public counts of real people: how much rho it takes.

``python benchmarks/accuracy_target.py [--people FILE.parquet --levels PUMA SEX --group RAC1P [--unit ID]]`` counts the
people of a file by a group in each place of the last level, releases all levels as files of whole numbers, and tells in
which part of the places of 500 people or more the largest group has its share within five percentage points: 95 of 100
are wanted. Each line is of many releases. Without a file it counts the people of the bundled table of the RAND Health
Insurance Experiment by the health that they report, in each year at each site. Both tables are public, so that anybody
may look at their exact counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import discreet as dp
from discreet.accounting.conversions import zcdp_epsilon
from discreet.hierarchies.accuracy_target import TargetReport, largest_group_target
from discreet.hierarchies.hierarchy_question import HierarchyQuestion

RHOS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SIZES = {"500 to 550": (500, 551), "500 or more": (500, None)}
"""Of the places that are looked at, in people."""
DELTA = 1e-6


def counted(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """How many rows each combination of the values of some columns has, in a row for each, 0 included."""
    columns = {name: pc.unique(rows[name]).to_pylist() for name in by}
    places = rows.select(by[:-1]).group_by(list(by[:-1])).aggregate([]).to_pylist()
    every = pa.Table.from_pylist([place | {by[-1]: group} for place in places for group in columns[by[-1]]])
    every = every.cast(pa.schema([rows.schema.field(name) for name in by]))
    held = rows.group_by(list(by)).aggregate([([], "count_all")]).rename_columns([*by, "n"])
    whole = every.join(held, list(by))
    return in_small_texts(whole.set_column(len(by), "n", pc.fill_null(whole["n"], 0)))


def in_small_texts(table: pa.Table) -> pa.Table:
    """The table with texts of one kind: files have two, which Arrow does not compare."""
    kinds = {pa.large_string(): pa.string()}
    return table.cast(pa.schema([(field.name, kinds.get(field.type, field.type)) for field in table.schema]))


def asked(rows: Path, levels: Sequence[str], group: str, unit: str | None) -> HierarchyQuestion:
    """The people of each place by group, and of all levels above."""
    table = pq.read_table(rows)
    limits: dict[str, int] = {}
    if unit is not None:
        most = table.group_by([unit, *levels]).aggregate([]).group_by(unit).aggregate([([], "count_all")])
        limits = {"max_groups": pc.max(most["count_all"]).as_py(), "max_rows": 1}
    people = dp.protect(str(rows), unit=dp.ROW if unit is None else unit, budget=dp.Budget(rho=10**4), name="people")
    keys = dp.public_keys(table.select(levels).group_by(list(levels)).aggregate([]))
    cells = {group: sorted(pc.unique(table[group]).to_pylist())}
    question: HierarchyQuestion = people.hierarchy(list(levels), keys=keys, cells=cells, **limits).agg(n=ibis._.count())
    return question


def report(exact: pa.Table, found: pa.Table, group: str, sizes: tuple[int, int | None]) -> TargetReport:
    """The target, of the places of so many people."""
    names = [name for name in exact.column_names if name not in (group, "n")]
    people = exact.group_by(names).aggregate([("n", "sum")])
    least, most = sizes
    if most is not None:
        kept = people.filter(pc.less(people["n_sum"], most)).select(names)
        exact, found = (table.join(kept, names, join_type="inner") for table in (exact, found))
    return largest_group_target(exact, found, group=group, least=least)


def main() -> None:
    """Releases again and again at each rho."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=Path, default=None, help="a Parquet file, a row for each person")
    parser.add_argument("--levels", nargs="+", default=["site", "year"], help="the columns of the path")
    parser.add_argument("--group", default="health")
    parser.add_argument("--unit", default=None, help="the column of persons, where one has several rows")
    parser.add_argument("--releases", type=int, default=20)
    given = parser.parse_args()
    rows = given.people or Path(str(files("discreet.data") / "rand_hie.parquet"))
    unit = given.unit if given.people else "person"
    question = asked(rows, given.levels, given.group, unit)
    exact = counted(pq.read_table(rows), [*given.levels, given.group])
    today = date.today()  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores ({platform.machine()}), {given.releases} releases at each rho")
    print(f"{rows.name}: {exact['n'].to_numpy().sum():,} rows, {question}")
    for title, sizes in SIZES.items():
        print(f"{title} people: {report(exact, exact, given.group, sizes).places} places")
    print("| rho | epsilon at delta 1e-6 | " + " | ".join(f"met, {title}" for title in SIZES) + " |")
    print("|--:|--:|" + "--:|" * len(SIZES))
    for rho in RHOS:
        met = dict.fromkeys(SIZES, (0, 0))
        for _i in range(given.releases):
            with tempfile.TemporaryDirectory() as folder:
                place = question.release(rho=rho, integers=True, fresh=True, to=Path(folder) / "counts")
                found = pq.read_table(place[given.levels[-1]]).select([*given.levels, given.group, "n"])
            found = in_small_texts(found).cast(exact.schema)
            for title, sizes in SIZES.items():
                one = report(exact, found, given.group, sizes)
                met[title] = met[title][0] + one.met, met[title][1] + one.places
        shares = [f"{100 * good / places:.1f} %" if places else "-" for good, places in met.values()]
        print(f"| {rho} | {zcdp_epsilon(rho, DELTA):.2f} | " + " | ".join(shares) + " |", flush=True)


if __name__ == "__main__":
    main()

"""What one more day of a series takes, from the rows of all days and with kept steps: ``python benchmarks/kept_steps.py
[DAYS]``.

A file a day of 20,000 rows of 100,000 persons, in folders `day=2025-01-01`; counts by ten wards, of persons that count
on 30 days. `all rows` reads every file; `kept` has the totals of the days before. Seconds of the clock, seconds of
processors, and for `kept` the size of the folder. `first` is the release that reads all days and keeps them.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp

START = datetime.date(2025, 1, 1)
ROWS, PERSONS, WARDS = 20_000, 100_000, [f"ward {n}" for n in range(10)]


def day(number: int) -> datetime.date:
    """The day of a step."""
    return START + datetime.timedelta(days=number)


def written(folder: Path, number: int) -> None:
    """The rows of one day."""
    chance = np.random.default_rng(number)
    wards = np.array(WARDS)[chance.integers(0, len(WARDS), ROWS)]
    place = folder / f"day={day(number)}"
    place.mkdir(parents=True)
    rows = pa.table({"person": chance.integers(0, PERSONS, ROWS), "ward": wards, "nights": chance.random(ROWS)})
    pq.write_table(rows, place / "rows.parquet")


def asked(folder: Path, days: int, **more: Any) -> Any:
    """Counts by ward, day by day."""
    table = dp.protect(
        str(folder / "*/*.parquet"), unit="person", keys={"ward": WARDS}, max_groups=2, max_rows=2, **more
    )
    series = table.mutate(day=lambda t: t.day.try_cast("date")).series(
        by="day", start=START, until=day(days), windows=(1, 7, 28, "all"), max_steps=30
    )
    return series.group_by("ward").agg(n=lambda t: t.count())


def timed(question: Any, through: datetime.date) -> str:
    """What a release takes, in words."""
    begun, used = time.perf_counter(), time.process_time()
    question.release(through=through, rho=1)
    return f"{time.perf_counter() - begun:6.2f} s {time.process_time() - used:6.2f} s of processors"


def main(days: int) -> None:
    """Prints both, for the first days at once and for one more."""
    with tempfile.TemporaryDirectory() as place:
        folder, steps = Path(place) / "rows", Path(place) / "steps"
        for number in range(days - 1):
            written(folder, number)
        budgets = {"all rows": dp.Budget(rho=1), "kept": dp.Budget(rho=1)}
        stated: dict[str, dict[str, Any]] = {"all rows": {}, "kept": {"keep_steps": steps}}
        for name, budget in budgets.items():
            question = asked(folder, days, name=name, budget=budget, version=1, **stated[name])
            question.explain(rho=1)  # which finds the noise of the whole series, once
            print(f"{name:10} first {timed(question, day(days - 2))}", flush=True)
        written(folder, days - 1)
        for name, budget in budgets.items():
            question = asked(folder, days, name=name, budget=budget, version=2, **stated[name])
            print(f"{name:10} next  {timed(question, day(days - 1))}", flush=True)
        size = sum(one.stat().st_size for one in steps.rglob("*") if one.is_file())
        print(f"kept: {size:,} bytes, of {sum(one.stat().st_size for one in folder.rglob('*.parquet')):,} of rows")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 365)

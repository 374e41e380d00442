"""Units in four bins, counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.clipping_histograms import clipped_units, weighted_units
from discreet.planning.clipping_reports import bounded_values
from neighbor_bench import Bench, plan_of


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def clipped(bench: Bench, values: dict[int, list[float | None]], **more: Any) -> dict[Any, int]:
    rows = [(person, value) for person, own in values.items() for value in own]
    data = pa.table({"p": [r[0] for r in rows], "v": pa.array([r[1] for r in rows], pa.float64())})
    stated: dict[str, Any] = {"unit": "p", "max_rows": 1, "bounds": {"v": (-1, 5)}} | more
    asked = bench.protect(data, **stated).agg(s=lambda t: t.v.sum())
    [value] = bounded_values(asked._query)
    return bench.found(asked, clipped_units(plan_of(asked, epsilon=1), value, None))


def test_units_are_counted_once(bench: Bench) -> None:
    values = {1: [0.0, 4.9], 2: [5.0, 9.0, 1e300], 3: [-7.0, 0.0], 4: [-1.0, 5.0], 5: [None], 6: [float("nan"), 2.0]}
    assert clipped(bench, values) == {0: 2, 1: 1, 2: 1, 3: 1}  # type: ignore[arg-type]  # a dict of lists of floats


def test_rows_are_counted_where_each_is_a_unit(bench: Bench) -> None:
    assert clipped(bench, {1: [0.0, 9.0, 9.0]}, unit=dp.ROW, max_rows=None) == {0: 1, 2: 2}


def test_rows_that_do_not_count_are_not_clipped(bench: Bench) -> None:
    table = bench.protect(pa.table({"v": [1.0, 9.0]}), unit=dp.ROW, bounds={"v": (0, 5)})
    asked = table.agg(s=lambda t: t.v.sum(where=t.v < 2))
    [value] = bounded_values(asked._query)
    assert bench.found(asked, clipped_units(plan_of(asked, epsilon=1), value, asked._query.aggregates[0].where)) == {
        0: 1
    }


VISITS = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (2, "a"), (3, "a"), (3, "z"), (4, None), (5, "a"), (5, "b"), (5, "b")]


def weighted(bench: Bench, keys: list[Any] | Path | None, *, counts: bool = True) -> dict[Any, int]:
    data = pa.table({"p": [v[0] for v in VISITS], "g": pa.array([v[1] for v in VISITS])})
    table: Any = bench.protect(data, unit="p", max_rows=1, max_groups=1)
    grouped = (
        table
        if keys is None
        else table.group_by("g", keys=dp.public_keys(keys) if isinstance(keys, Path) else {"g": keys})
    )
    asked = grouped.agg(n=(lambda t: t.count()) if counts else (lambda t: t.p.nunique()))
    return bench.found(asked, weighted_units(plan_of(asked, epsilon=1)))


def test_weights_of_units(bench: Bench) -> None:
    """1 is in two groups, 2 has three rows in one, 5 both; 3 has a key that is not listed, 4 none at all."""
    assert weighted(bench, ["a", "b"]) == {0: 1, 1: 1, 2: 1, 3: 1}
    assert weighted(bench, ["a", "b", None]) == {0: 2, 1: 1, 2: 1, 3: 1}
    assert weighted(bench, ["a", "b"], counts=False) == {0: 2, 1: 2}
    assert weighted(bench, ["b"]) == {0: 1, 2: 1}


def test_without_groups_only_rows_are_weighted(bench: Bench) -> None:
    assert weighted(bench, None) == {0: 1, 2: 4}


def test_groups_are_counted_whatever_their_keys_where_these_are_too_many(bench: Bench, tmp_path: Path) -> None:
    pq.write_table(pa.table({"g": ["a", "b"]}), tmp_path / "keys.parquet")
    all_groups = {0: 1, 1: 2, 2: 1, 3: 1}
    assert weighted(bench, ["a", "b", *map(str, range(10_000))]) == all_groups
    assert weighted(bench, tmp_path / "keys.parquet") == all_groups

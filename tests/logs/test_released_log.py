"""A released log in all its forms, and its picture by the data that it draws."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp


def released() -> dp.LogRelease:
    table = pa.table({"who": [*range(200), *range(100)], "page": ["/home"] * 200 + ["/[b]"] * 100})
    budget = dp.Budget(epsilon=8, delta=1e-6)
    return dp.release_log(table, user="who", item="page", epsilon=8, delta=1e-6, max_items=2, budget=budget)


def test_all_forms_hold_the_same_rows(tmp_path: Any) -> None:
    one = released()
    rows = one.to_pyarrow()
    assert one.to_pandas().to_dict("list") == rows.to_pydict()
    one.to_parquet(tmp_path / "log.parquet")
    kept = pq.read_table(tmp_path / "log.parquet")
    assert kept.select(rows.column_names).replace_schema_metadata(None).equals(rows)
    assert json.loads(kept.schema.metadata[b"discreet"]) == one.receipt


def test_polars(tmp_path: Any) -> None:
    polars = pytest.importorskip("polars")
    one = released()
    assert isinstance(one.to_polars(), polars.DataFrame)
    assert one.to_polars().height == len(one)


def test_it_shows_its_items_and_its_cost() -> None:
    one = released()
    for shown in (repr(one), one._repr_html_()):
        assert "/home" in shown
        assert "/[b]" in shown
        assert "epsilon 8, delta 0.000001" in shown
        assert "an item needs about" in shown
    one.receipt["charge"] = "changed"
    assert one.receipt["charge"] == {"epsilon": "8", "delta": "0.000001"}


def test_the_picture_draws_the_items(tmp_path: Any) -> None:
    one = released()
    (axis,) = one.plot(truth={"/home": 200, "/[b]": 100}, path=tmp_path / "log.png").axes
    dots, truth = axis.get_lines()
    assert np.asarray(dots.get_xdata()).tolist() == one.items["users"].to_pylist()
    assert np.asarray(truth.get_xdata()).tolist() == [200, 100]
    assert (tmp_path / "log.png").stat().st_size > 5000


def test_nothing_cannot_be_drawn() -> None:
    empty = dp.LogRelease(pa.table({"who": []}), pa.table({"page": pa.array([], pa.string()), "users": []}), {})
    with pytest.raises(dp.InvalidParameter, match="an item to draw"):
        empty.plot()


def test_it_says_what_its_intervals_are_of() -> None:
    log = pa.table({"who": list(range(90)), "page": ["/home"] * 90, "hits": [3] * 90})
    shown = repr(
        dp.release_log(log, user="who", item="page", count="hits", epsilon=8, delta=1e-6, max_items=2, max_count=4)
    )
    assert "users cut to 2 items each, and to 4 times in each" in " ".join(shown.split())

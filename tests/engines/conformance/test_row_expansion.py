"""Rows that become several on each engine: the same exact totals as on DuckDB, of hostile values and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

Backends = Callable[[str], Any]
PARTS = ["", "x", "y", "z", "a", "é", "é,", "%", "\\", "aa", "b a", "'", None]
DELIMITERS = (",", "a", "aa", ".", "|", "%", "\\", "e", "é")
ROWS = pa.table(
    {
        "who": ["p1", "p1", "P1", "p2", None, "p3", "p3", "p4", "p4", "p5", "p5"],
        "text": ["x,y,z", "", None, ",", "é,é,", "aaa", "aaaaa", "a.b|c.d", "%,_,\\", "x,,y'", "e\u0301,x" * 40],
        "a": [1, 2**62, None, -(2**62), 4, 5, 0, -1, 7, 8, 9],
        "b": [0.5, float("nan"), float("inf"), -0.0, 3.0, None, 4.25, 2.0, -7.5, 1e300, 1.0],
        "flag": [True, None, False, True, True, False, None, True, True, False, True],
    }
)


def split_by(delimiter: str) -> Callable[[PrivateTable], Any]:
    return lambda t: (
        t.unnest(w=_.text.split(delimiter), max_items=3)
        .group_by("w", keys={"w": PARTS})
        .agg(n=_.count(), long=_.w.length().sum())
    )


EXPANSIONS: dict[str, Callable[[PrivateTable], Any]] = {
    "listed numbers": lambda t: t.unnest(v=[_.a, _.b, 3, ibis.null()]).agg(
        n=_.count(), v=_.v.count(), s=_.v.sum(), m=_.v.mean(where=_.flag)
    ),
    "side by side": lambda t: (
        t.unnest(w=[ibis.literal("x"), ibis.literal("y")], v=[_.a, _.a + 1]).group_by("w").agg(n=_.count(), s=_.v.sum())
    ),
    "columns as rows": lambda t: t.pivot_longer(["a", "b"]).group_by("name").agg(n=_.count(), s=_.value.sum()),
    "truths": lambda t: t.unnest(v=[_.flag, _.a > 1, _.text == "x"]).agg(n=_.count(where=_.v), m=_.v.count()),
    "steps before and after": lambda t: (
        t.filter(_.a.notnull())
        .mutate(c=_.a.clip(0, 3) * 2)
        .unnest(v=[_.c, _.a])
        .filter(_.v > 1)
        .unnest(v=[_.v, _.c])
        .mutate(v=_.v + 1)
        .agg(n=_.count(), s=_.v.sum())
    ),
    "of persons": lambda t: (
        t.unnest(v=[_.a, _.b], raise_limits=True)
        .per_unit(s=_.v.max(), n=_.count())
        .agg(s=_.s.clip(0, 9).sum(), n=_.count())
    ),
    **{
        f"parts between {delimiter!r}": split_by(delimiter)
        for delimiter in (",", "a", "aa", ".", "|", "%", "\\", "e", "é")
    },
}


def totals(backend: Any, name: str, *, by_row: bool) -> list[Any]:
    bench = Bench(backend)
    facts: dict[str, Any] = {"unit": ROW} if by_row else {"unit": "who", "max_rows": 2, "max_groups": 3}
    table = bench.protect(ROWS, bounds={"a": (-100, 100), "b": (-4, 4)}, **facts)
    return [block.tolist() for block in bench.totals(plan_of(EXPANSIONS[name](table), epsilon=1))]


@pytest.mark.long
@pytest.mark.parametrize("name", EXPANSIONS)
@pytest.mark.parametrize("by_row", [True, False], ids=["rows", "persons"])
def test_rows_become_the_same_on_every_engine(backend_of: Backends, engine: str, name: str, *, by_row: bool) -> None:
    if by_row and name == "of persons":
        return
    found = totals(backend_of("duckdb"), name, by_row=by_row)
    assert any(any(row) for block in found for row in block)
    assert totals(backend_of(engine), name, by_row=by_row) == found

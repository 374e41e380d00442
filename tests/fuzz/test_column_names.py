"""Columns whose names are parameters of what they are handed to: each is read and asked for like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

NAMES = ("self", "cls", "args", "exprs", "key", "keys", "by", "name", "table", "unit", "_", "schema", "verb", "class")
"""What Ibis, DuckDB or our own functions call their parameters, and a keyword."""

ROLES = ("number", "key", "unit")

Ask = Callable[[dp.PrivateTable, str, str], Any]

QUESTIONS: dict[str, Ask] = {
    "filter": lambda t, name, _: t.filter(t[name].notnull()).count(),
    "agg": lambda t, name, x: t.agg(**{name: t[x].sum()}),
    "mutate": lambda t, name, x: t.mutate(other=t[x] * 2).drop(x).rename({f"{name}2": "other"}).count(),
    "after": lambda t, name, _: t.agg(n=lambda t: t.count()).mutate(**{name: lambda answer: answer.n + 1}),
    "median": lambda t, name, x: t.agg(**{name: t[x].median()}),
    "statement": lambda t, name, x: dp.sql(f'SELECT SUM("{x}") AS "{name}" FROM named', named=t),  # noqa: S608 (a test)
    "sets": lambda t, name, x: t.group_by("g", keys={"g": ["a"]}, cube=True).agg(**{name: t[x].sum()}),
    "levels": lambda t, name, _: t.hierarchy(["g"], keys=dp.public_keys(pa.table({"g": ["a"]}))).agg(
        **{name: lambda t: t.count()}
    ),
}


def protected(role: str, name: str) -> tuple[dp.PrivateTable, str]:
    """A table with a column of this name in this role, and the name of its numbers."""
    called = {"number": "x", "key": "g", "unit": "person"} | {role: name}
    rows = {called["unit"]: [1, 2], called["number"]: [1.0, 2.0], called["key"]: ["a", "b"], "g": ["a", "b"]}
    stated: dict[str, Any] = {"bounds": {called["number"]: (0, 5)}, "max_rows": 1, "max_groups": 1, "name": "named"}
    return dp.protect(pa.table(rows), unit=called["unit"], budget=dp.Budget(epsilon=100), **stated), called["number"]


def door(source: str, rows: dict[str, list[float]], folder: Path) -> dict[str, Any]:
    """What `protect` is told of these rows, written in this form."""
    if source == "arrow":
        return {"data": pa.table(rows)}
    if source == "parquet":
        pq.write_table(pa.table(rows), folder / "rows.parquet")
        return {"data": folder / "rows.parquet"}
    lines = [list(rows), *zip(*rows.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    return {"data": folder / "rows.csv", "schema": dict.fromkeys(rows, "float64")}


@pytest.mark.parametrize("source", ["arrow", "parquet", "csv"])
def test_a_column_may_have_the_name_of_a_parameter(source: str, tmp_path: Path) -> None:
    rows = {name: [1.0, float(place)] for place, name in enumerate(NAMES)}
    stated: dict[str, Any] = {"unit": dp.ROW, "bounds": dict.fromkeys(NAMES, (0, 50)), "name": "named"}
    table = dp.protect(**door(source, rows, tmp_path), budget=dp.Budget(epsilon=10**7), **stated)
    answer = table.agg(**{name: table[name].sum() for name in NAMES}).release(epsilon=10**6)
    assert [round(answer[name].tolist()[0]) for name in NAMES] == [place + 1 for place in range(len(NAMES))]


@pytest.mark.long
@pytest.mark.parametrize("asked", QUESTIONS)
@pytest.mark.parametrize("role", ROLES)
def test_every_verb_takes_it(role: str, asked: str) -> None:
    table, number = protected(role, "self")
    assert "self" in table.columns
    QUESTIONS[asked](table, "self", number).release(epsilon=10)


def test_a_column_is_renamed_to_it() -> None:
    table, _ = protected("number", "x")
    assert table.rename(self="x").columns == ("person", "self", "g")

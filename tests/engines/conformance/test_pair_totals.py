"""Totals of rows of two people each are those of DuckDB, whatever their keys are; one person moves them as little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.ledger.ledger import stated_guarantee
from discreet.truncation.truncated_total import priced_total
from neighbor_bench import Bench

Backends = Callable[[str], Any]
NUMBERS = range(50)
DATA = pa.table(
    {
        "one": pa.array([*[i * i % 11 for i in NUMBERS], None, 1], pa.int32()),
        "other": pa.array([*[i * 7 % 9 for i in NUMBERS], 1, None], pa.int64()),
        "from": [*[f"n{i * i % 7} " for i in NUMBERS], "n1 ", "N1 "],
        "to": [*[f"{'nN'[i % 2]}{i % 7} " for i in NUMBERS], "N1 ", "n1 "],
        "n": pa.array([*[(i * i) % 40 * 2**55 for i in NUMBERS], None, 3], pa.int64()),
        "flag": [None, *[i % 3 == 0 for i in NUMBERS], True],
        "x": pa.array([*[i / 7 for i in NUMBERS], float("nan"), float("inf")], pa.float64()),
    }
)
ASKED: dict[str, Any] = {"rows": None, "a condition": _.flag, "huge": _.n.clip(0, 2**62), "real": _.x.clip(0, 8)}
UNITS = [("one", "other"), ("from", "to")]


def totals(table: dp.SharedTable, what: str) -> list[int]:
    """The exact total under each limit."""
    reading, source = priced_total(table, ASKED[what], price=stated_guarantee(1), most=64)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return reading.steps_of(found)


def protected(bench: Bench, unit: tuple[str, str]) -> dp.SharedTable:
    return dp.protect_shared(bench.put(DATA), each_of=unit, budget=dp.Budget(epsilon=1), name="pairs")


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_totals_are_those_of_duckdb(backend_of: Backends, other: str, unit: tuple[str, str]) -> None:
    found = []
    for name in ("duckdb", other):
        table = protected(Bench(backend_of(name)), unit)
        found.append(
            {what: totals(table, what) for what in ASKED} | {"distinct": totals(table.distinct("flag"), "rows")}
        )
    assert found[0] == found[1]
    assert found[0]["rows"][-1] == {"one": 50, "from": 52}[unit[0]]


@pytest.mark.long
def test_one_person_less(backend_of: Backends, engine: str) -> None:
    """Of every person in either column, or in one of them, on every engine."""
    bench = Bench(backend_of(engine))
    table = protected(bench, UNITS[0])
    limits = {what: priced_total(table, ASKED[what], price=stated_guarantee(1), most=64)[0] for what in ASKED}
    before = {what: totals(table, what) for what in ASKED}
    for person, names in [(3, UNITS[0]), (4, UNITS[0]), (4, UNITS[0][:1]), (0, UNITS[0][1:])]:
        kept = [all(row[name] != person for name in names) for row in DATA.to_pylist()]
        bench.put(DATA.filter(kept))
        for what in ASKED:
            moves = [old - new for old, new in zip(before[what], totals(table, what), strict=True)]
            assert all(0 <= move <= most for move, most in zip(moves, limits[what].mechanism.limits, strict=True))


@pytest.mark.long
@pytest.mark.engine("postgresql")
def test_days_that_no_calendar_has(backend_of: Backends, other: str) -> None:
    """A key that only PostgreSQL can write makes no release fail."""
    backend = backend_of(other)
    ends = "('infinity', '-infinity'), ('-infinity', '0044-03-15 BC'), ('20000-01-01', 'infinity')"
    with backend.begin() as cursor:
        cursor.execute("CREATE TABLE days_of_people (one date, other date)")
        cursor.execute(f"INSERT INTO days_of_people VALUES {ends}")  # noqa: S608 (our own)
    data, budget = backend.table("days_of_people"), dp.Budget(epsilon=1)
    table = dp.protect_shared(data, each_of=("one", "other"), budget=budget, name="days")
    assert totals(table, "rows")[:2] == [2, 3]


@pytest.mark.long
def test_texts_of_any_length_name_one_person(backend_of: Backends, other: str) -> None:
    """Blanks that fill up a char(n) are no part of a name: who is in two columns, of whatever lengths, is one."""
    backend = backend_of(other)
    text, ending = ("string", "USING parquet") if other == "spark" else ("text", "")
    kinds = {"short": "char(3)", "long": "char(5)", "words": text, "most": "varchar(9)"}
    made = [f"{side}_{name} {kind}" for side in ("one", "other") for name, kind in kinds.items()]
    rows = [[first] * len(kinds) + [second] * len(kinds) for first, second in (("ab", "x"), ("x", "ab"))]
    values = ", ".join(f"({', '.join(map(repr, row))})" for row in rows)
    statements = (
        f"CREATE TABLE names_of_people ({', '.join(made)}) {ending}",
        f"INSERT INTO names_of_people VALUES {values}",  # noqa: S608 (our own)
    )
    for statement in statements:
        if other == "postgresql":
            with backend.begin() as cursor:
                cursor.execute(statement)
        else:
            backend.raw_sql(statement)
    data, budget = backend.table("names_of_people"), dp.Budget(epsilon=1)
    for first in kinds:
        for second in kinds:
            unit = f"one_{first}", f"other_{second}"
            table = dp.protect_shared(data, each_of=unit, budget=budget, name=f"{first} {second}")
            assert totals(table, "rows")[0] == 1

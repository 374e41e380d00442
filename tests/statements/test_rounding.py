"""ROUND means what it means in the dialect, halves and their neighbors among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
import random_sql
from neighbor_bench import Bench

PEOPLE = pa.table({"age": [17, 18, 40, 64, None, 33, 7, 90], "spending": [12.5, 0.0, 2.5, 3.75, None, 0.5, 1.5, 80.0]})

TIES = [k / d for d in (2, 8, 20, 200, 2000, 20000) for k in (1, 3, 5, 201, 535, 12345, 20001, 99999)]
BESIDE = [math.nextafter(tie, to) for tie in TIES for to in (0, math.inf)]
WHOLE = [float(n) for n in (5, 15, 25, 50, 149, 150, 250, 449, 450, 650, 12345)]
VALUES = [sign * v for v in (0.0, 0.1, 1.005, 2.675, *TIES, *BESIDE, *WHOLE) for sign in (1, -1)]


def halves_up(value: float, places: int) -> float:
    """The shortest decimal that means a double, rounded with halves away from zero."""
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def found(
    expression: str, dialect: str, values: list[Any], kind: pa.DataType | None = None, most: int = 10**5
) -> list[Any]:
    """Our values of an expression of x, row by row."""
    bench, rows = Bench(), pa.table({"place": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, kind)})
    table = bench.protect(rows, unit=dp.ROW, bounds={"place": (0, 10**4), "x": (-most, most)})
    [[*ours]] = random_sql.values(bench, table, [random_sql.meaning(expression, dialect, table)])
    return ours


def of_duckdb(expression: str, values: list[Any], kind: pa.DataType | None = None) -> list[Any]:
    rows = pa.table({"place": range(len(values)), "x": pa.array(values, kind)})
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return [value for (value,) in connection.execute(f"SELECT {expression} FROM rows ORDER BY place").fetchall()]  # noqa: S608 (ours)


@pytest.mark.long
@pytest.mark.parametrize("beside", [0.5, 1.5, 2.5, 4503599627370497.0, 2.0**51 + 0.5, 2.0**52 - 0.5])
@pytest.mark.parametrize("sign", [1, -1])
def test_halves_and_their_neighbors_are_rounded_as_duckdb_does(beside: float, sign: int) -> None:
    values = [sign * math.nextafter(beside, 0), sign * beside, sign * math.nextafter(beside, math.inf)]
    assert found("ROUND(x)", "duckdb", values, most=2**52 + 9) == of_duckdb("ROUND(x)", values)


@pytest.mark.parametrize("places", [0, 1, 2, 3, -1, -2])
def test_decimals_are_rounded_as_duckdb_does(places: int) -> None:
    written = f"ROUND(CAST(x AS DOUBLE), {places})"
    assert found(written, "duckdb", VALUES) == of_duckdb(written, VALUES)


@pytest.mark.long
@pytest.mark.parametrize("places", [0, 1, 2, 3, -1, -2])
@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_other_dialects_round_the_decimal_that_is_written(dialect: str, places: int) -> None:
    """Where 1.005 has two decimals, it is 1.01: tests/engines/conformance asks the engines themselves."""
    assert found(f"ROUND(x, {places})", dialect, VALUES) == [halves_up(v, places) for v in VALUES]
    assert halves_up(1.005, 2) == 1.01
    assert of_duckdb("ROUND(x, 2)", [1.005]) == [1.0]


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["duckdb", "spark", "postgres"])
def test_whole_numbers_are_rounded_to_tens(dialect: str) -> None:
    values = [0, 4, 5, -5, 14, 15, -15, 25, 49, 50, -149, 150, None]
    for places in (-2, -1, 0, 3):
        written = f"ROUND(x, {places})"
        assert found(written, dialect, values, pa.int64()) == of_duckdb(written, values, pa.int64())


@pytest.mark.parametrize(
    ("written", "dialect", "what"),
    [
        ("ROUND(spending, age)", "duckdb", "ROUND to a constant number of decimals"),
        ("ROUND(spending, 1.5)", "duckdb", "ROUND to a constant number of decimals"),
        ("ROUND(spending, 16)", "duckdb", "ROUND to a constant number of decimals"),
        ("TRUNC(spending, 1)", "duckdb", "TRUNC to whole numbers"),
        ("ROUND(plan, 1)", "duckdb", "values of compatible types"),
        ("ROUND(age * 0.35, 1)", "duckdb", "ROUND of a double"),
        ("ROUND(age * 0.35)", "spark", "ROUND of a double"),
        ("ROUND(2.675, 2)", "duckdb", "ROUND of a double"),
        ("ROUND(spending, 14)", "duckdb", "numbers below 2**53"),
        ("ROUND(spending, 12)", "spark", "numbers of at most 15 digits"),
        ("ROUND(spending)", "postgres", "FLOOR or CEIL"),
        ("ROUND(spending * 2, 1)", "postgres", "ROUND of a column"),
    ],
)
def test_what_is_no_number_of_decimals_is_refused(written: str, dialect: str, what: str, rows: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery) as refusal:
        dp.sql(f"SELECT COUNT({written}) FROM people", people=rows, dialect=dialect)  # noqa: S608 (ours)
    assert f"Expected {what}" in str(refusal.value)
    assert "Hint: " in str(refusal.value)


@pytest.mark.parametrize("written", ["ROUND(age * 0.5 + spending, 1)", "ROUND(age / 3, 1)", "ROUND(SQRT(age), 2)"])
def test_doubles_are_rounded(written: str, rows: dp.PrivateTable, exact: Callable[..., Any]) -> None:
    question = dp.sql(f"SELECT SUM({written}) AS s FROM people", people=rows)  # noqa: S608 (ours)
    with duckdb.connect() as connection:
        connection.register("people", PEOPLE)
        [(wanted,)] = connection.execute(f"SELECT SUM({written}) FROM people").fetchall()  # noqa: S608 (ours)
    assert exact(question)[0]["s"] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.long
def test_answers_are_rounded_with_their_intervals(protect: Callable[..., Any]) -> None:
    """With an epsilon that leaves no noise; the ends are rounded too, so that they still hold the answer."""
    people = protect(budget=dp.Budget(epsilon=10**8))
    for dialect in ("duckdb", "spark", "postgres"):
        text = "SELECT ROUND(AVG(spending), 1) AS x, ROUND(COUNT(*), 2) AS n, ROUND(AVG(spending), -1) AS y FROM people"
        [row] = dp.sql(text, people=people, dialect=dialect).release(epsilon=1_000_000).to_pyarrow().to_pylist()
        assert (row["x"], row["n"], row["y"]) == (14.4, 8, 10.0)
        assert row["x_low"] <= 14.4 <= row["x_high"]
        assert row["x_high"] - row["x_low"] <= 0.3
        assert "n_low" in row


@pytest.mark.parametrize(("dialect", "wanted"), [("duckdb", 1.0), ("spark", 1.01), ("postgres", 1.01)])
def test_halves_of_an_answer_are_those_of_the_dialect(dialect: str, wanted: float, protect: Callable[..., Any]) -> None:
    rows = pa.table({"t": ["a"] * 1005})
    people = protect(rows, bounds={}, budget=dp.Budget(epsilon=10**8))
    text = "SELECT ROUND(CAST(COUNT(*) AS DOUBLE) / 1000, 2) AS x FROM people"
    text = text.replace("DOUBLE", "DOUBLE PRECISION") if dialect == "postgres" else text
    [row] = dp.sql(text, people=people, dialect=dialect).release(epsilon=1_000_000).to_pyarrow().to_pylist()
    assert row["x"] == wanted


def test_halves_of_an_answer_depend_on_its_type_in_postgresql(people: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match="Expected FLOOR or CEIL"):
        dp.sql("SELECT ROUND(AVG(age)) AS x FROM people", people=people, dialect="postgres")

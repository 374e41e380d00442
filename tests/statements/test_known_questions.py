"""The questions of docs/sql-questions.md: each statement gives what DuckDB gives; each rewrite, what the original."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

PAGE = (Path(__file__).parents[2] / "docs" / "sql-questions.md").read_text(encoding="utf-8")
TPCH = {int(n): text for n, text in re.findall(r"### Q(\d+)\n.*?```sql\n(.*?)```", PAGE, re.DOTALL)}
SPIDER = re.findall(r"^\| [^|`]+ \| `([^`]+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)

NATIONS = ["FRANCE", "GERMANY", "CHINA"]
REGIONS = ["EUROPE", "EUROPE", "ASIA"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "MAIL", "SHIP", "REG AIR"]
CUSTOMERS, ORDERS, LINES, PARTS, SUPPLIERS = 60, 500, 3000, 12, 6

ORIGINALS = {
    4: """SELECT o_orderpriority, COUNT(*) AS order_count FROM orders o
          WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' AND EXISTS (
            SELECT * FROM lineitem WHERE l_orderkey = o.o_orderkey AND l_commitdate < l_receiptdate)
          GROUP BY o_orderpriority""",
    13: """SELECT c_count, COUNT(*) AS custdist FROM (
             SELECT c.custkey, COUNT(o_orderkey) AS c_count FROM customer c LEFT JOIN orders o
             ON c.custkey = o.custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c.custkey)
           GROUP BY c_count""",
    15: """WITH revenue AS (SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue FROM lineitem
             WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
           SELECT * FROM revenue WHERE total_revenue = (SELECT MAX(total_revenue) FROM revenue)""",
    22: """SELECT SUBSTRING(c_phone, 1, 2) AS cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal
           FROM customer c WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29') AND c_acctbal > 5100.0
           AND NOT EXISTS (SELECT * FROM orders o WHERE o.custkey = c.custkey) GROUP BY cntrycode""",
}
"""What TPC-H asks, where the page rewrites it, with the constants that were found before."""


RNG = np.random.default_rng(1)


def days(number: int) -> Any:
    return np.datetime64("1993-01-01") + RNG.integers(0, 1500, number).astype("timedelta64[D]")


def some(words: list[Any], number: int) -> list[Any]:
    return [words[i] for i in RNG.integers(0, len(words), number)]


def of_people() -> dict[str, pa.Table]:
    """Customers, their orders and the lines of these, of a small TPC-H of our own."""
    codes = some(["13", "31", "23", "29", "30"], CUSTOMERS)
    customer = pa.table(
        {
            "custkey": range(CUSTOMERS),
            "c_nationkey": RNG.integers(0, len(NATIONS), CUSTOMERS),
            "c_acctbal": RNG.integers(-999, 9999, CUSTOMERS).astype(float),
            "c_phone": [f"{code}-555" for code in codes],
        }
    )
    comments = ["nothing", "special packages and requests", "more special things", "requests"]
    orders = pa.table(
        {
            "o_orderkey": range(ORDERS),
            "custkey": RNG.integers(0, CUSTOMERS // 2, ORDERS),
            "o_orderdate": days(ORDERS),
            "o_orderpriority": some(PRIORITIES, ORDERS),
            "o_comment": some(comments, ORDERS),
        }
    )
    lineitem = pa.table(
        {
            "l_orderkey": RNG.integers(0, ORDERS, LINES),
            "l_partkey": RNG.integers(0, PARTS, LINES),
            "l_suppkey": RNG.integers(0, SUPPLIERS, LINES),
            "l_quantity": RNG.integers(1, 51, LINES).astype(float),
            "l_extendedprice": RNG.integers(9, 1050, LINES).astype(float),
            "l_discount": RNG.integers(0, 11, LINES) / 100,
            "l_tax": RNG.integers(0, 9, LINES) / 100,
            "l_returnflag": some(["R", "A", "N"], LINES),
            "l_linestatus": some(["F", "O"], LINES),
            **{f"l_{name}date": days(LINES) for name in ("ship", "commit", "receipt")},
            "l_shipmode": some(MODES, LINES),
            "l_shipinstruct": some(["DELIVER IN PERSON", "NONE"], LINES),
        }
    )
    return {"customer": customer, "orders": orders, "lineitem": lineitem}


def of_nobody() -> dict[str, pa.Table]:
    """The tables in which there are no people."""
    nations = RNG.integers(0, len(NATIONS), SUPPLIERS)
    supplier = pa.table(
        {
            "l_suppkey": range(SUPPLIERS),
            "s_nationkey": nations,
            "s_nation": [NATIONS[i] for i in nations],
            "s_region": [REGIONS[i] for i in nations],
        }
    )
    part = pa.table(
        {
            "l_partkey": range(PARTS),
            "p_type": some(["ECONOMY ANODIZED STEEL", "PROMO BRUSHED TIN"], PARTS),
            "p_brand": some(["Brand#12", "Brand#23"], PARTS),
            "p_container": some(["SM BOX", "MED BOX", "MED BAG"], PARTS),
            "p_size": RNG.integers(1, 8, PARTS),
            "p_name": some(["green almond", "blue lace"], PARTS),
        }
    )
    pairs = [(p, s) for p in range(PARTS) for s in range(SUPPLIERS)]
    partsupp = pa.table(
        {
            "l_partkey": [p for p, _ in pairs],
            "l_suppkey": [s for _, s in pairs],
            "ps_supplycost": RNG.integers(1, 10, len(pairs)).astype(float),
        }
    )
    nation = pa.table({"c_nationkey": range(len(NATIONS)), "c_nation": NATIONS, "c_region": REGIONS})
    return {"supplier": supplier, "part": part, "partsupp": partsupp, "nation": nation}


KEYS: dict[str, list[Any]] = {
    "l_returnflag": ["R", "A", "N"],
    "l_linestatus": ["F", "O"],
    "l_shipmode": MODES,
    "l_suppkey": list(range(SUPPLIERS)),
    "o_orderpriority": PRIORITIES,
    "s_nation": NATIONS,
    "c_nation": NATIONS,
    "l_year": list(range(1993, 1999)),
    "o_year": list(range(1993, 1999)),
    "c_count": list(range(40)),
    "cntrycode": ["13", "31", "23", "29"],
}
BOUNDS = {
    "l_quantity": (0, 50),
    "l_extendedprice": (0, 1050),
    "l_discount": (0, 0.1),
    "l_tax": (0, 0.08),
    "c_acctbal": (-1000, 10_000),
}


@pytest.fixture(scope="module")
def raw() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, table in (of_people() | of_nobody()).items():
        connection.register(f"given_{name}", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")  # noqa: S608 (ours)
    [view] = re.findall(r"```sql\n(CREATE VIEW line AS.*?)```", PAGE, re.DOTALL)
    connection.execute(view)
    return connection


@pytest.fixture(scope="module")
def tables(raw: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Limits that nobody reaches, so that totals are those of all rows."""
    budget = dp.Budget(epsilon=10**9)

    def protected(name: str, most: int) -> dp.PrivateTable:
        data = raw.sql(f"SELECT * FROM {name}").to_arrow_table()  # noqa: S608 (ours)
        bounds = {column: ends for column, ends in BOUNDS.items() if column in data.column_names}
        stated: dict[str, Any] = {"bounds": bounds, "budget": budget, "max_rows": most, "max_groups": 24}
        return dp.protect(data, unit="custkey", name=f"tpch {name}", **stated)

    people = {"customer": protected("customer", 1), "orders": protected("orders", 100), "line": protected("line", 200)}
    public = {name: raw.sql(f"FROM {name}").to_arrow_table() for name in ("supplier", "part", "partsupp", "nation")}
    return people | {name: dp.public(table) for name, table in public.items()}


def close(found: list[dict[str, Any]], expected: list[dict[str, Any]], keys: list[str]) -> None:
    """Equal numbers under the same keys; groups without rows are 0 or nothing in ours."""
    held = {tuple(row[key] for key in keys): row for row in found}
    assert expected
    for row in expected:
        own = held.pop(tuple(row[key] for key in keys))
        for name, value in row.items():
            assert own[name] == (value if name in keys else pytest.approx(float(value), abs=off(value))), name
    named = [name for row in held.values() for name in row if name not in keys]
    counts = [row[name] for row in held.values() for name in named if name.endswith(("count", "dist", "cust"))]
    assert all(abs(count) < 0.5 for count in counts), counts


def off(value: float) -> float:
    """Forty scales of the noise of any column at least, and far less than rows that are left out would change."""
    return (
        2000
        if abs(value) > 2e4
        else 250
        if abs(value) > 500
        else 2
        if abs(value) > 100
        else 0.5
        if abs(value) > 1
        else 0.05
    )


@pytest.mark.long
@pytest.mark.parametrize("number", TPCH)
def test_questions_of_tpch(number: int, raw: duckdb.DuckDBPyConnection, tables: dict[str, Any]) -> None:
    statement = TPCH[number]
    names = [name for name in KEYS if re.search(rf"GROUP BY[^)]*\b{name}\b", statement)]
    keys = {name: KEYS[name] for name in names} or None
    answer = dp.sql(statement, tables=tables, keys=keys).release(epsilon=10**6)
    found = [
        {n: v for n, v in row.items() if not n.endswith(("_low", "_high"))} for row in answer.to_pyarrow().to_pylist()
    ]
    expected = raw.sql(ORIGINALS.get(number, statement)).to_arrow_table().to_pylist()
    close(found, expected, names)


def test_the_table_says_which_of_them_are_taken() -> None:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE)
    said = {int(number): what for number, what in rows}
    assert sorted(said) == list(range(1, 23))
    taken = {number for number, what in said.items() if what in ("taken", "with a rewrite")}
    assert taken == set(TPCH)
    assert {number for number, what in said.items() if what == "with a rewrite"} >= set(ORIGINALS)
    counts = [sum(what == kind for what in said.values()) for kind in ("taken", "with a rewrite", "refused")]
    assert (*counts, 22 - sum(counts)) == (9, 5, 5, 3)
    assert "Nine are taken as they are and five with a rewrite, five are refused, and three" in PAGE


SINGERS = pa.table(
    {
        "person": range(40),
        "name": [f"n{i}" for i in range(40)],
        "age": [20 + i for i in range(40)],
        "country": ["France"] * 12 + ["Spain"] * 20 + ["Chile"] * 8,
    }
)
CONCERTS = pa.table(
    {
        "person": [i % 30 for i in range(90)],
        "year": [2014 + (i % 7 > 2) for i in range(90)],
        "hall": ["h1" if i % 30 < 11 else "h2" for i in range(90)],
    }
)
HALLS = pa.table({"hall": ["h1", "h2"], "seats": [9000, 400]})


@pytest.mark.long
@pytest.mark.parametrize(("statement", "what"), SPIDER)
def test_everyday_questions(statement: str, what: str) -> None:
    budget = dp.Budget(epsilon=10**9)
    keys: dict[str, Any] = {"country": ["France", "Spain", "Chile"]}
    singer = dp.protect(
        SINGERS, unit="person", bounds={"age": (0, 100)}, keys=keys, max_rows=1, max_groups=1, budget=budget
    )
    concert = dp.protect(
        CONCERTS, unit="person", keys={"year": [2014, 2015]}, max_rows=9, max_groups=2, budget=budget, name="concerts"
    )
    tables: dict[str, Any] = {"singer": singer, "concert": concert, "hall": dp.public(HALLS)}
    if what.startswith("refused"):
        with pytest.raises(dp.InvalidQuery, match="Hint: "):
            dp.sql(statement, tables=tables)
        return
    found = dp.sql(statement, tables=tables).release(epsilon=10**5).to_pyarrow()
    if "MIN(" in statement:  # an end of a range is anything, once in a hundred
        tries = [dp.sql(statement, tables=tables).release(epsilon=10**5, fresh=True).to_pyarrow() for _ in range(5)]
        middle = {name: float(np.median([one[name][0].as_py() for one in tries])) for name in found.column_names}
        found = pa.Table.from_pylist([middle])
    with duckdb.connect() as connection:
        for name, table in (("singer", SINGERS), ("concert", CONCERTS), ("hall", HALLS)):
            connection.register(name, table)
        expected = connection.sql(statement).to_arrow_table()
    names = [name for name in ("country", "year") if name in expected.column_names]
    order = [(name, "ascending") for name in names]
    sorted_ours = found.sort_by(order) if order else found
    theirs = expected.sort_by(order) if order else expected
    for name in expected.column_names:
        own, other = sorted_ours[name].to_pylist(), theirs[name].to_pylist()
        assert own == (other if name in names else pytest.approx(other, abs=0.6)), name


def test_ten_everyday_questions_are_shown() -> None:
    assert len(SPIDER) == 10

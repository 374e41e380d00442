"""Several tables in FROM mean what they mean to the engine, and are refused with their place where they cannot."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

Exact = Callable[[dp.Question], list[dict[str, Any]]]
PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\| [^|`]+ \| `([^`]+)` \|$", PAGE.split("## Several tables")[1].split("## ")[0], re.MULTILINE)

STATEMENTS = (
    "SELECT COUNT(*), SUM(pop), SUM(zips.age) FROM people p INNER JOIN zips ON (ZIPS.zip = p.Zip) WHERE pop > 1",
    (
        "SELECT COUNT(*), SUM(z.age), SUM(p.age) AS b, COUNT(z.zip), COUNT(zip) AS c FROM people p LEFT JOIN zips z "
        "USING (zip)"
    ),
    "SELECT COUNT(*) FROM people p LEFT JOIN zips z ON p.zip = z.zip WHERE z.zip IS NULL",
    "SELECT COUNT(*), SUM(p.age) FROM zips z JOIN people p ON p.zip = z.zip AND p.age > z.age + 2",
    "SELECT COUNT(*), SUM(z.age) FROM people p, zips z WHERE p.age > 2 AND (p.zip = z.zip AND pop > 0)",
    "SELECT COUNT(*), SUM(v), SUM(b.age) FROM people a JOIN visits b ON a.person = b.person AND a.age = b.age",
    "SELECT COUNT(*), SUM(v), COUNT(b.person) FROM people a LEFT JOIN visits b ON a.person = b.person AND a.age = b.v",
    "SELECT COUNT(*) FROM people a JOIN visits b ON a.person = b.person AND a.age = b.age AND a.age = b.v",
    "SELECT COUNT(*), SUM(age) FROM people p ANTI JOIN zips z ON p.zip = z.zip WHERE age > 1",
    "SELECT COUNT(*), SUM(z.pop) FROM people p JOIN visits v ON p.person = v.person JOIN zips z ON z.zip = p.zip",
    "SELECT COUNT(*), SUM(zips.pop) FROM people JOIN visits USING (person) LEFT JOIN zips USING (zip) WHERE v < 4",
    "SELECT COUNT(*), SUM(a.age + b.age) FROM people a JOIN people b USING (person)",
    "SELECT COUNT(*), SUM(x.age) FROM (SELECT z.age, person FROM people JOIN zips z USING (zip)) x",
    "SELECT COUNT(*), SUM(x.pop) FROM (SELECT z.*, person FROM people LEFT JOIN zips z USING (zip)) x",
    "WITH u AS (SELECT * FROM people JOIN (SELECT person, v FROM visits) USING (person)) SELECT SUM(v) FROM u",
    (
        "SELECT COUNT(*), SUM(n) FROM (SELECT p.person, LEAST(GREATEST(SUM(v), 0), 9) AS n FROM people p JOIN visits v "
        "USING (person) GROUP BY p.person HAVING COUNT(*) > 1) x"
    ),
    "SELECT COUNT(*), SUM(x), COUNT(x) FROM people p CROSS JOIN UNNEST([p.age, p.age + 1, 7]) AS u(x)",
    "SELECT COUNT(*), SUM(u.age + p.age) FROM people p, UNNEST([p.age, p.age * 2, 0]) AS u(age) WHERE u.age > 1",
    (
        "SELECT COUNT(*), SUM(pop + x), SUM(y) FROM people p JOIN visits v ON p.person = v.person JOIN zips z "
        "ON p.zip = z.zip CROSS JOIN UNNEST([p.age, v]) AS a(x), UNNEST([x, pop]) AS b(y)"
    ),
    "SELECT COUNT(*), SUM(x) FROM (SELECT person, x FROM visits, UNNEST([v, age]) AS u(x) WHERE x < 4) t",
    "SELECT COUNT(*), SUM(t.age) FROM (SELECT person, age FROM people UNION ALL SELECT person, v AS q FROM visits) t",
    (
        "WITH t AS (SELECT age FROM people UNION ALL (SELECT v FROM visits) UNION ALL SELECT age FROM people) "
        "SELECT COUNT(*), SUM(age) FROM t"
    ),
)
"""Each is asked of our exact totals and of DuckDB, over tables drawn by chance."""


@cache
def raw(seed: int) -> dict[str, pa.Table]:
    """Tables with few values, so that rows meet, with NULL everywhere and duplicates in the public one."""
    chance = np.random.default_rng(seed)

    def column(values: list[Any], number: int) -> list[Any]:
        return [values[i] for i in chance.integers(len(values), size=number)]

    small, whole = [0, 1, 2, 3, 4, None], pa.int64()
    return {
        "people": pa.table(
            {
                "person": pa.array(column([1, 2, 3, 4], 12), whole),
                "zip": pa.array(column(["a", "b", "A", "", None], 12), pa.string()),
                "age": pa.array(column(small, 12), whole),
            }
        ),
        "visits": pa.table(
            {
                "person": pa.array(column([1, 2, 3, 5], 9), pa.int32()),
                "v": pa.array(column(small, 9), whole),
                "age": pa.array(column(small, 9), whole),
            }
        ),
        "zips": pa.table(
            {
                "zip": pa.array(column(["a", "b", "c", None], 6), pa.string()),
                "pop": pa.array(column(small, 6), whole),
                "age": pa.array(column(small, 6), whole),
            }
        ),
    }


@cache
def tables(seed: int) -> dict[str, Any]:
    """The same, protected under one budget, and the public one."""
    rows = raw(seed)
    bounds = {"people": {"age": (0, 9)}, "visits": {"age": (0, 9), "v": (0, 9)}}
    facts: dict[str, Any] = {"unit": "person", "max_rows": 10**4, "budget": dp.Budget(epsilon=100)}
    made = {name: dp.protect(rows[name], bounds=bounds[name], name=name, **facts) for name in bounds}
    return {**made, "zips": dp.public(rows["zips"])}


@pytest.fixture
def three() -> dict[str, Any]:
    return tables(0)


@pytest.mark.long
@pytest.mark.parametrize("statement", [*STATEMENTS, *SHOWN])
def test_totals_are_those_of_duckdb(statement: str, exact: Exact) -> None:
    for seed in range(2):
        [answer] = exact(dp.sql(statement, **tables(seed)))
        with duckdb.connect() as connection:
            for name, table in raw(seed).items():
                connection.register(name, table)
            [wanted] = connection.sql(statement).fetchall()
        assert list(answer.values()) == pytest.approx([float(number or 0) for number in wanted])
    assert len(SHOWN) >= 8


def test_what_duckdb_finds_is_not_always_nothing() -> None:
    """The data let each kind of join matter."""
    with duckdb.connect() as connection:
        for name, table in raw(0).items():
            connection.register(name, table)
        counts = {s: connection.sql(s).fetchall()[0][0] for s in STATEMENTS}
    assert list(counts.values()).count(0) <= 1
    assert len(set(counts.values())) > 8


def test_a_statement_is_what_the_verbs_say(three: dict[str, Any]) -> None:
    people, visits, zips = three["people"], three["visits"], three["zips"]
    by = {"pop": [0, 1, 2, 3]}
    public = dp.sql("SELECT pop, COUNT(*) AS n FROM people JOIN (SELECT person, v FROM visits) USING (person) "
                    "JOIN zips ON zips.zip = people.zip GROUP BY pop", **three, keys=by, max_groups=2)  # fmt: skip
    joined = people.join(visits.select("person", "v"), "person")
    most = zips.most(["zip"])
    written = joined.join(zips.renamed({"zip": "zip", "pop": "pop", "zips.age": "age"}), "zip", max_matches=most)
    written = written.group_by("pop", keys=by, max_groups=2).agg(n=lambda t: t.count())
    assert public.explain(epsilon=1).facts == written.explain(epsilon=1).facts


def test_groups_of_several_tables(three: dict[str, Any], exact: Exact) -> None:
    statement = (
        "SELECT z.pop, COUNT(*) AS n, SUM(p.age) / COUNT(*) AS each FROM people p JOIN zips z ON p.zip = z.zip "
        "GROUP BY z.pop HAVING z.pop > 1 ORDER BY n DESC, Z.pop LIMIT 2"
    )
    asked = dp.sql(statement, **three, keys={"pop": [3, 2, 1, 0]}, max_groups=4)
    answer = asked.release(epsilon=10)
    assert set(answer.to_pyarrow()["pop"].to_pylist()) == {2, 3}
    ages = dp.sql(
        "SELECT z.age AS years, COUNT(*) FROM people p JOIN zips z USING (zip) GROUP BY z.age",
        **three, keys={"years": [0, 1]}, max_groups=2,
    )  # fmt: skip
    assert [row["years"] for row in exact(ages)] == [0, 1]


def test_public_rows_that_stay_as_they_are_are_the_same_table(three: dict[str, Any]) -> None:
    zips = three["zips"]
    assert zips.renamed({name: name for name in zips.columns}) is zips
    other = zips.renamed({"zip": "zip", "p": "pop", "q": "pop"})
    assert other.columns == ("zip", "p", "q")
    assert other.digest != zips.digest
    assert other.digest == zips.renamed({"zip": "zip", "p": "pop", "q": "pop"}).digest


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("SELECT COUNT(*) FROM »zips", "a protected table, got"),
        ("SELECT COUNT(*) FROM zips AS a JOIN »zips AS b USING (zip)", "a protected table, got"),
        ("SELECT COUNT(*) FROM »zips SEMI JOIN people USING (zip)", "a protected table first"),
        ("SELECT COUNT(*) FROM »zips LEFT JOIN people USING (zip)", "a protected table first"),
        ("SELECT COUNT(*) FROM people JOIN »people USING (person)", "each name in FROM once"),
        ("SELECT COUNT(*) FROM people JOIN »zips", "columns that zips is joined on"),
        ("SELECT COUNT(*) FROM people, zips WHERE »zip = zips.zip", "a name that means one column"),
        (
            "SELECT COUNT(*) FROM people JOIN visits USING (person), zips WHERE »q.zip = zips.zip",
            "a column of one of p",
        ),
        ("SELECT COUNT(*) FROM people, »zips WHERE people.age > 3", "columns that zips is joined on"),
        ("SELECT COUNT(*) FROM people p LEFT JOIN »zips z ON p.zip = 'a'", "columns that z is joined on"),
        ("SELECT COUNT(*) FROM people JOIN »zips ON people.age > pop", "columns that zips is joined on"),
        ("SELECT COUNT(*) FROM people CROSS JOIN »zips", "an inner, left, semi or anti join, not CROSS"),
        ("SELECT COUNT(*) FROM people NATURAL JOIN »zips", "an inner, left, semi or anti join, not NATURAL"),
        ("SELECT COUNT(*) FROM people FULL JOIN »zips USING (zip)", "an inner, left, semi or anti join, not FULL"),
        ("SELECT COUNT(*) FROM people RIGHT JOIN »zips USING (zip)", "an inner, left, semi or anti join, not RIGHT"),
        ("SELECT COUNT(*) FROM people p ASOF JOIN »zips z ON p.zip >= z.zip", "semi or anti join, not ASOF"),
        ("SELECT COUNT(*) FROM people p LEFT JOIN zips z ON p.zip = z.zip AND »z.pop > 3", "equalities of columns"),
        ("SELECT COUNT(*) FROM people JOIN zips USING (»pop)", "a known column"),
        ("SELECT COUNT(*) FROM people JOIN zips USING (»person)", "a column of zips"),
        ("SELECT COUNT(*) FROM people p JOIN zips z ON p.zip = »z.pip", "a column of z"),
        ("SELECT COUNT(*) FROM people p JOIN zips z ON »q.zip = z.zip", "a column of 'p'"),
        ("SELECT AVG(»age) FROM people p JOIN zips z USING (zip)", "a name that means one column"),
        ("SELECT AVG(»q.age) FROM people p JOIN zips z USING (zip)", "a column of one of p, z"),
        ("SELECT AVG(»z.years) FROM people p JOIN zips z USING (zip)", "a known column"),
        ("SELECT »AVG(person) FROM people JOIN visits USING (person)", "bounds for 'person'"),
        ("SELECT COUNT(*) FROM people JOIN »visits USING (age)", "a join on the privacy unit"),
        ("SELECT COUNT(*) FROM people p JOIN »visits v ON p.age = v.person", "columns that v is joined on"),
        ("SELECT COUNT(*) FROM people JOIN »zips ON people.person = zips.zip", "of one exact kind"),
        ("SELECT COUNT(*) FROM (SELECT »* FROM people p JOIN zips z ON p.zip = z.zip)", "each column once"),
        ("SELECT COUNT(*) FROM (»people JOIN visits USING (person))", "SELECT in parentheses"),
        (
            "SELECT z.pop, COUNT(*) FROM people JOIN zips z USING (zip) GROUP BY 1 HAVING »z.age > 3",
            "GROUP BY lists",
        ),
        ("SELECT COUNT(*) FROM (SELECT age FROM people »UNION SELECT age FROM people)", "UNION ALL between"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people »EXCEPT SELECT age FROM people)", "UNION ALL between"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT »age, zip FROM people)", "1 columns, as in"),
        ("SELECT COUNT(*) FROM (SELECT zip FROM people UNION ALL SELECT »age FROM people)", "with the same columns"),
        ("SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people LIMIT 3)", "UNION ALL between"),
        ("SELECT COUNT(*) FROM (SELECT age FROM »zips)", "a protected table, got"),
    ],
)
def test_refusals_name_the_part_its_place_and_the_cure(statement: str, what: str, three: dict[str, Any]) -> None:
    with pytest.raises(dp.InvalidQuery) as refusal:
        dp.sql(statement.replace("»", ""), **three)
    message = str(refusal.value)
    assert message.startswith("Expected ")
    assert what in message
    assert "\nHint: " in message
    if "»" in statement:
        assert re.search(rf"at line 1, column {statement.index('»') + 1}\b", message), message


def test_a_comma_joins_in_every_dialect(three: dict[str, Any], exact: Exact) -> None:
    text = "SELECT COUNT(*), SUM(z.pop) FROM people p, zips z WHERE p.zip = z.zip AND p.age > 1"
    found = [exact(dp.sql(text, dialect=dialect, **three)) for dialect in ("duckdb", "postgres", "spark")]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["count"] > 0
    with pytest.raises(dp.InvalidQuery, match="columns that z is joined on"):
        dp.sql("SELECT COUNT(*) FROM people p, zips z", dialect="spark", **three)


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_words_that_name_a_table_are_no_joins(kind: str, three: dict[str, Any], exact: Exact) -> None:
    """To PostgreSQL the first table is called so, and the join is an inner one."""
    text = f"SELECT COUNT(*) FROM people {kind} JOIN visits USING (person)"  # noqa: S608 - our own text
    with pytest.raises(dp.InvalidQuery, match=r"(?s)an inner or a left join, got 'visits'.*line 1.*duckdb"):
        dp.sql(text, dialect="postgres", **three)
    assert exact(dp.sql(text, dialect="duckdb", **three)) == exact(dp.sql(text, dialect="spark", **three))


def test_rows_that_are_units_meet_no_public_row_twice(exact: Exact) -> None:
    rows = raw(0)
    people = dp.protect(rows["people"], unit=dp.ROW, bounds={"age": (0, 9)}, budget=dp.Budget(epsilon=1))
    text = "SELECT COUNT(*) AS n FROM people JOIN zips USING (zip)"
    with pytest.raises(dp.InvalidQuery, match=r"(?s)a public table without duplicates.*'zips' at line 1, c"):
        dp.sql(text, people=people, zips=dp.public(pa.table({"zip": ["a", "a"]})))
    once = dp.public(pa.table({"zip": ["a", "b"]}))
    found = sum(zip_ in ("a", "b") for zip_ in rows["people"]["zip"].to_pylist())
    assert exact(dp.sql(text, people=people, zips=once)) == [{"n": found}]


def test_limits_are_enforced_after_the_rows_were_multiplied(exact: Exact) -> None:
    many = dp.public(pa.table({"zip": ["a"] * 50, "pop": [1] * 50}))
    people = pa.table({"person": [1, 1, 2], "zip": ["a", "a", "a"], "age": [1, 1, 1]})
    own = dp.protect(people, unit="person", max_rows=3, budget=dp.Budget(epsilon=1))
    asked = dp.sql("SELECT COUNT(*) AS n FROM people JOIN zips USING (zip)", people=own, zips=many)
    assert exact(asked) == [{"n": 6}]

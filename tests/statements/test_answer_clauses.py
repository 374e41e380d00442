"""What a statement does after the noise is what the verbs of an answer do; each aggregate is asked once."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp


def columns(question: dp.Question) -> list[str]:
    return [a.name for a in question._query.aggregates]


def steps(question: dp.Question) -> list[str]:
    return [step.text for step in question._steps().steps]


@pytest.mark.parametrize(
    ("statement", "asked", "then"),
    [
        ("SELECT SUM(visits) / COUNT(*) AS each FROM people", ["sum_visits", "count"], ["mutate", "select each"]),
        ("SELECT COUNT(*) AS n, SUM(visits) / COUNT(*) FROM people", ["n", "sum_visits"], ["mutate", "select n, sum"]),
        ("SELECT COUNT(*) AS n FROM people HAVING COUNT(*) > 3", ["n"], ["having"]),
        ("SELECT COUNT(*) AS n FROM people HAVING n > 3 AND AVG(age) > 1", ["n", "avg_age"], ["having", "select n"]),
        (
            "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan ORDER BY 2 DESC LIMIT 1",
            ["n"],
            ["order_by", "limit 1"],
        ),
        ("SELECT plan, COUNT(*) FROM people GROUP BY plan ORDER BY count(*)", ["count"], ["order_by count"]),
        (
            "SELECT plan, AVG(age) FROM people GROUP BY 1 ORDER BY COUNT(*)",
            ["avg_age", "count"],
            ["order_by", "select"],
        ),
        ("SELECT plan, COUNT(*) AS n FROM people GROUP BY plan OFFSET 1", ["n"], ["limit"]),
        ("SELECT COUNT(*) AS count_2, SUM(age) / COUNT(*) AS x, AVG(age) AS count FROM people", None, None),
    ],
)
def test_steps(statement: str, asked: list[str] | None, then: list[str] | None, people: dp.PrivateTable) -> None:
    question = dp.sql(statement, people=people)
    if asked is not None and then is not None:
        assert columns(question) == asked
        assert len(steps(question)) == len(then)
        assert all(step.startswith(start) for step, start in zip(steps(question), then, strict=True))
    else:
        assert columns(question) == ["count_2", "count", "sum_age"]


def test_an_aggregate_written_twice_is_paid_for_once(people: dp.PrivateTable) -> None:
    twice = "SELECT plan, COUNT(*) AS n, 2 * count(*) AS m FROM people GROUP BY plan HAVING COUNT( * ) > 1 ORDER BY n"
    once = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"
    facts = [dp.sql(text, people=people).explain(epsilon=1)["totals"] for text in (twice, once)]
    assert facts[0] == facts[1]


def test_answers_without_noise(protect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an epsilon that leaves no noise: calculations, conditions, order and cuts on the values themselves."""
    rows = protect(keys={"plan": ["free", "25%", None, "none"]}, budget=dp.Budget(epsilon=10**8))

    def answer(statement: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = dp.sql(statement, people=rows).release(epsilon=1_000_000).to_pyarrow().to_pylist()
        return [{name: value for name, value in row.items() if not name.endswith(("_low", "_high"))} for row in found]

    by = "FROM people GROUP BY plan"
    assert answer(f"SELECT plan, COUNT(*) AS n {by} HAVING n >= 2 ORDER BY n DESC") == [
        {"plan": "free", "n": 3},
        {"plan": "25%", "n": 2},
    ]
    assert answer(f"SELECT plan {by} HAVING COUNT(*) = 1".replace("plan FROM", "plan, COUNT(*) AS n FROM")) == [
        {"plan": None, "n": 1}
    ]
    found = answer(f"SELECT plan, COUNT(*) AS n {by} ORDER BY plan DESC LIMIT 2 OFFSET 1")
    assert [row["plan"] for row in found] == ["free", "25%"]
    [ratio] = answer("SELECT SUM(visits) / COUNT(visits) AS each, AVG(visits) AS v FROM people")
    assert ratio["each"] == pytest.approx(28 / 7, rel=1e-3)
    assert list(ratio) == ["each", "v"]


@pytest.mark.long
@pytest.mark.parametrize(
    "written",
    [
        "GREATEST(COUNT(*), 0)",
        "LEAST(3.0, AVG(age))",
        "SUM(age) / GREATEST(COUNT(*), 1)",
        "GREATEST(MEDIAN(age), 1, 2)",
    ],
)
@pytest.mark.parametrize("by", ["", ", plan FROM people GROUP BY plan"])
def test_constants_beside_aggregates(written: str, by: str, people: dp.PrivateTable) -> None:
    """The usual guard against a division by zero; its interval once raised after the charge."""
    answer = dp.sql(f"SELECT {written} AS x{by or ' FROM people'}", people=people).release(epsilon=1).to_pyarrow()  # noqa: S608 (ours)
    assert all(row["x_low"] <= row["x_high"] for row in answer.to_pylist())


def test_a_limit_may_be_larger_than_any_answer(people: dp.PrivateTable) -> None:
    text = f"SELECT COUNT(*) AS n FROM people LIMIT {10**30} OFFSET 0"  # noqa: S608 (ours)
    assert len(dp.sql(text, people=people).release(epsilon=1)) == 1
    assert len(people.count().limit(3, offset=10**30).release(epsilon=1)) == 0


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_what_has_no_value_is_null_with_all_that_it_is_in(dialect: str, protect: Any) -> None:
    people = protect(keys={"plan": ["free", "nowhere"]}, budget=dp.Budget(epsilon=10**6))
    missing = ["2.5 / COUNT(*)", "SQRT(COUNT(*) - 1)", "LN(COUNT(*))", "LEAST(2.5 / COUNT(*), 1)"]
    missing.append("COALESCE(2.5 / COUNT(*), 0)")
    known = ["COALESCE(2.5 / NULLIF(COUNT(*), 0), 0)", "CASE WHEN COUNT(*) > 0 THEN 2.5 / COUNT(*) ELSE 0 END"]
    written = ", ".join(f"{one} AS x{i}" for i, one in enumerate([*missing, *known]))
    text = f"SELECT plan, {written} FROM people GROUP BY plan"  # noqa: S608 (ours)
    answer = dp.sql(text, people=people, dialect=dialect).release(epsilon=10**4).to_pyarrow()
    free, nowhere = ([row[f"x{i}"] for i in range(7)] for row in answer.to_pylist())
    assert free[0] == pytest.approx(2.5 / 3)
    assert None not in free
    assert nowhere == [*[None] * 5, 0, 0]


def test_a_text_orders_nothing(people: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match="a column or an expression"):
        dp.sql("SELECT plan, COUNT(*) AS n FROM people GROUP BY plan ORDER BY 'plan'", people=people)


def test_dialects_put_nulls_where_they_do(protect: Any) -> None:
    rows = protect(keys={"plan": ["free", None]}, budget=dp.Budget(epsilon=10))
    statement = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan ORDER BY plan"
    last = dp.sql(statement, people=rows).release(epsilon=1)
    first = dp.sql(statement, people=rows, dialect="spark").release(epsilon=1)
    assert [table.to_pyarrow()["plan"].to_pylist() for table in (last, first)] == [["free", None], [None, "free"]]


@pytest.mark.parametrize(
    "written",
    [
        "SUM(visits) / COUNT(*)",
        "MAX(age) / 2",
        "COUNT(*) / (1 + MIN(age) FILTER (WHERE smokes))",
        "2 * SUM(visits) / COUNT(*)",
    ],
)
def test_divisions_whose_kind_depends_on_types_are_refused(written: str, people: dp.PrivateTable) -> None:
    """PostgreSQL divides sums of whole numbers as such, or as decimals, by the type of the column in its table."""
    text = f"SELECT {written} AS x FROM people"  # noqa: S608 (ours)
    assert dp.sql(text, people=people) is not None
    with pytest.raises(dp.InvalidQuery, match="Expected a division whose type is clear"):
        dp.sql(text, people=people, dialect="postgres")


@pytest.mark.parametrize(
    "written",
    [
        "COUNT(*) / 2",
        "CAST(SUM(visits) AS DOUBLE PRECISION) / COUNT(*)",
        "100.0 * SUM(visits) / COUNT(*)",
        "SUM(spending) / COUNT(*)",
        "AVG(visits) / COUNT(*)",
    ],
)
def test_divisions_whose_kind_is_plain_are_taken(written: str, people: dp.PrivateTable) -> None:
    assert dp.sql(f"SELECT {written} AS x FROM people", people=people, dialect="postgres") is not None  # noqa: S608 (ours) is not None


def test_halves_that_a_dialect_rounds_by_type_are_refused(people: dp.PrivateTable) -> None:
    text = "SELECT CAST(AVG(age) AS INTEGER) AS x FROM people"
    with pytest.raises(dp.InvalidQuery, match="Expected a whole number, or a cast that cannot fail"):
        dp.sql(text, people=people, dialect="postgres")


@pytest.mark.parametrize("written", ["AVG(age)", "2.5 * COUNT(*)", "CASE WHEN COUNT(*) > 1 THEN 25e-2 ELSE 2 END"])
def test_real_numbers_have_no_text(written: str, people: dp.PrivateTable) -> None:
    """PostgreSQL writes 7, DuckDB 7.0, and 7.00 of a decimal."""
    for dialect in ("duckdb", "postgres", "spark"):
        with pytest.raises(dp.InvalidQuery, match="Expected a number that is whole in the dialect too"):
            dp.sql(f"SELECT CAST({written} AS VARCHAR) AS x FROM people", people=people, dialect=dialect)  # noqa: S608 (ours)


@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE PRECISION", "BOOLEAN", "DATE"])
def test_texts_are_read_as_numbers_in_one_dialect(kind: str, people: dp.PrivateTable) -> None:
    """DuckDB takes '1.5' for the whole number 2, where PostgreSQL stops; Spark takes '2020' for a date."""
    text = f"SELECT plan, CASE WHEN COUNT(*) > 1 THEN CAST(plan AS {kind}) END AS x FROM people GROUP BY plan"  # noqa: S608 (ours)
    assert dp.sql(text, people=people) is not None
    for dialect in ("postgres", "spark"):
        with pytest.raises(dp.InvalidQuery, match="Expected a CAST of a number, a condition, a date or a constant"):
            dp.sql(text, people=people, dialect=dialect)


@pytest.mark.parametrize(
    ("statement", "dialect"),
    [
        ("SELECT SUM(TRUNC(spending)) AS a, SUM(TRUNC(spending, 1)) + 0 AS b FROM people", "duckdb"),
        ("SELECT SUM(TRUNC(spending)) AS a FROM people HAVING SUM(TRUNC(spending, 1)) > 150", "duckdb"),
        ("SELECT SUM(TRUNC(spending)) AS a FROM people ORDER BY SUM(TRUNC(spending, 1))", "postgres"),
        (
            (
                "SELECT SUM(b) AS s FROM (SELECT person, MAX(TRUNC(age)) AS a, MAX(TRUNC(age, 1)) AS b FROM people "
                "GROUP BY person) q"
            ),
            "duckdb",
        ),
        (
            (
                "SELECT COUNT(*) FILTER (WHERE CAST(visits AS TEXT) = '1') AS a, "
                "COUNT(*) FILTER (WHERE CAST(visits AS CHAR) = '1') + 0 AS b FROM people"
            ),
            "postgres",
        ),
    ],
)
def test_what_is_refused_alone_is_refused_beside_its_like(
    statement: str, dialect: str, people: dp.PrivateTable
) -> None:
    """Two aggregates are not one because their texts are, in a dialect that leaves an argument out."""
    with pytest.raises(dp.InvalidQuery, match="Hint: "):
        dp.sql(statement, people=people, dialect=dialect)


def test_days_and_units_of_a_difference_are_told_apart(people: dp.PrivateTable) -> None:
    both = "SELECT SUM(DATEDIFF(seen, joined)) AS a, SUM(DATEDIFF(joined, seen)) + 0 AS b FROM people"
    assert len(columns(dp.sql(both, people=people, dialect="spark"))) == 2
    one = "SELECT SUM(visits) AS a, sum(VISITS) + 0 AS b, SUM( visits ) * 2 AS c FROM people"
    assert columns(dp.sql(one, people=people)) == ["a"]


DAYS = pa.table({"i": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4]})


@pytest.fixture(name="days", scope="module")
def _days() -> dp.PrivateTable:
    return dp.protect(
        DAYS, unit=dp.ROW, bounds={"i": (0, 9)}, keys={"i": [1, 2, 3, 4]}, budget=dp.Budget(epsilon=10**9), name="days"
    )


@pytest.mark.parametrize(
    "rest",
    [
        "GROUP BY t.i HAVING t.i > 2 ORDER BY g",
        "GROUP BY ALL HAVING t.i > 2 AND COUNT(*) > 1 ORDER BY g",
        "GROUP BY 1 ORDER BY t.i DESC",
        "GROUP BY 1 ORDER BY i DESC, g",
        "GROUP BY 1 QUALIFY ROW_NUMBER() OVER (ORDER BY t.i DESC) < 3 ORDER BY g",
    ],
)
def test_a_column_is_told_from_an_alias_of_its_name(days: dp.PrivateTable, rest: str) -> None:
    """`t.i` is the column, whatever is called i beside it; ORDER BY and a name alone is the alias: as for DuckDB."""
    text = f"SELECT i AS g, COUNT(*) AS i FROM t {rest}"  # noqa: S608 (ours)
    found = dp.sql(text, t=days).release(epsilon=10**6).to_pyarrow().select(["g", "i"]).to_pylist()
    expected = duckdb.connect().register("t", DAYS).sql(text).fetchall()
    assert [tuple(round(value) for value in row.values()) for row in found] == expected


@pytest.mark.parametrize(
    "rest",
    [
        "GROUP BY 1 HAVING i > 2",
        "GROUP BY 1 ORDER BY i + 0",
        "GROUP BY t.i HAVING COUNT(*) > 1 AND i > 2",
        "GROUP BY ROLLUP (1) HAVING i > 2",
        "GROUP BY 1 QUALIFY ROW_NUMBER() OVER (ORDER BY i) < 3",
    ],
)
def test_a_name_of_two_meanings_is_refused(days: dp.PrivateTable, rest: str) -> None:
    """Engines take the column where we would have the alias."""
    with pytest.raises(dp.InvalidQuery, match="a name with one meaning"):
        dp.sql(f"SELECT i AS g, COUNT(*) AS i FROM t {rest}", t=days)  # noqa: S608 (ours)


def test_names_beyond_ascii_are_told_apart_by_case() -> None:
    """For engines É and é are two columns: their sums were once taken for one."""
    data = pa.table({"person": [1, 1, 2], "É": [1, 2, 3], "é": [4, 5, 6]})
    facts: dict[str, Any] = {"bounds": {"É": (0, 9), "é": (0, 9)}, "budget": dp.Budget(epsilon=10**9)}
    table = dp.protect(data, unit="person", max_rows=3, name="letters", **facts)
    asked = dp.sql("SELECT SUM(É) AS a, SUM(é) + 0 AS b, SUM(É) + 0 AS c FROM t", t=table)
    assert len(asked._query.aggregates) == 2
    [row] = asked.release(epsilon=10**6).to_pyarrow().select(["a", "b", "c"]).to_pylist()
    assert [round(value) for value in row.values()] == [6, 15, 6]
    assert len(dp.sql("SELECT SUM(PERSON) AS a, SUM(person) + 0 AS b FROM t", t=_by_row())._query.aggregates) == 1


def _by_row() -> dp.PrivateTable:
    data = pa.table({"person": [1, 2]})
    return dp.protect(data, unit=dp.ROW, bounds={"person": (0, 9)}, budget=dp.Budget(epsilon=1), name="by row")


@pytest.mark.parametrize("digits", ["9" * 41, "9" * 309, "9" * 5000])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM t WHERE i > {}",
        "SELECT COUNT(*) AS n FROM t WHERE i IN (-{}, 1)",
        "SELECT COUNT(*) AS n FROM t LIMIT {}",
        "SELECT i, COUNT(*) AS n FROM t GROUP BY {}",
        "SELECT COUNT(*) AS n FROM t ORDER BY {}",
        "SELECT COUNT(*) + {} AS n FROM t",
        "SELECT ROUND(AVG(i), {}) AS n FROM t",
        "SELECT COUNT(*) AS n FROM t WHERE DATE '2020-01-01' + INTERVAL {} DAY > DATE '2020-01-01'",
    ],
)
def test_numbers_of_any_length_are_refused_in_words(days: dp.PrivateTable, text: str, digits: str) -> None:
    with pytest.raises(dp.DiscreetError, match="Hint: "):
        dp.sql(text.format(digits), t=days)

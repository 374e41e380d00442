"""RandomWords that dialects share and mean differently keep the meaning of theirs, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import discreet as dp
from discreet.statements.dialects import DIALECTS, dialect_named

Exact = Callable[[dp.Question], list[dict[str, Any]]]


def total(expression: str, dialect: str, rows: dp.PrivateTable, exact: Exact) -> float:
    statement = f"SELECT SUM({expression}) AS total FROM people"  # noqa: S608 - our own text
    [answer] = exact(dp.sql(statement, people=rows, dialect=dialect))
    return float(answer["total"])


VISITS = (3, 0, 5, 12, 1, 0, 7)


def test_whole_numbers_divide_as_the_dialect_says(rows: dp.PrivateTable, exact: Exact) -> None:
    assert total("(visits - 6) / 4", "postgres", rows, exact) == sum(int((v - 6) / 4) for v in VISITS)
    for dialect in ("duckdb", "spark"):
        assert total("(visits - 6) / 4", dialect, rows, exact) == sum((v - 6) / 4 for v in VISITS)
    assert total("(visits - 6) / 4.0", "postgres", rows, exact) == sum((v - 6) / 4 for v in VISITS)
    assert total("visits DIV 4", "spark", rows, exact) == sum(v // 4 for v in VISITS)


def test_logarithms(rows: dp.PrivateTable, exact: Exact) -> None:
    natural = total("LN(visits + 1)", "duckdb", rows, exact)
    assert total("LOG(visits + 1)", "spark", rows, exact) == pytest.approx(natural, rel=1e-6)
    for dialect in ("duckdb", "postgres"):
        assert total("LOG(visits + 1)", dialect, rows, exact) == pytest.approx(natural / 2.302585092994, rel=1e-6)


def test_the_number_of_sunday(rows: dp.PrivateTable, exact: Exact) -> None:
    # 2020-01-05 was a Sunday, 2021-12-31 a Friday and 2019-06-15 (five times) a Saturday.
    assert total("EXTRACT(DOW FROM joined)", "postgres", rows, exact) == 0 + 5 + 5 * 6
    assert total("EXTRACT(DAYOFWEEK FROM joined)", "spark", rows, exact) == 1 + 6 + 5 * 7
    assert total("DAYOFWEEK(joined)", "spark", rows, exact) == 1 + 6 + 5 * 7
    assert total("WEEKOFYEAR(joined)", "spark", rows, exact) == total("WEEKOFYEAR(joined)", "duckdb", rows, exact)


def test_names_and_texts(rows: dp.PrivateTable, exact: Exact) -> None:
    statement = 'SELECT COUNT(*) AS n FROM people WHERE `plan` = "free"'
    assert exact(dp.sql(statement, people=rows, dialect="spark")) == [{"n": 3}]
    assert total("CAST(visits AS DOUBLE)", "spark", rows, exact) == pytest.approx(sum(VISITS))
    for refused, dialect in (("plan", "spark"), ("spending", "duckdb"), ("spending", "postgres")):
        with pytest.raises(dp.InvalidQuery, match="cast that cannot fail"):
            dp.sql(f"SELECT SUM(CAST({refused} AS INT)) FROM people", people=rows, dialect=dialect)  # noqa: S608 (ours)


@pytest.mark.long
@pytest.mark.parametrize(
    ("condition", "dialect", "what"),
    [
        ("ROUND(spending) = 2", "postgres", "FLOOR or CEIL"),
        ("FLOOR(spending) / 2 = 2", "postgres", "a division whose type is clear"),
        ("EXTRACT(SECOND FROM seen) = 2", "postgres", "EXTRACT of whole parts"),
        ("EXTRACT(SECOND FROM seen) = 2", "spark", "EXTRACT of whole parts"),
        (r"plan LIKE 'a\_'", "postgres", "LIKE without backslashes"),
        (r"plan ILIKE 'a\_'", "postgres", "LIKE without backslashes"),
        (r"plan LIKE 'a\\_'", "spark", "LIKE without backslashes"),
        ("visits ^ 2 = 4", "spark", "operations that discreet docs sql lists"),
        ("seen > TIMESTAMP '2020-01-05 12:00:00+02'", "postgres", "a date"),
        ("seen > TIMESTAMP '2020-01-05 12:00:00+02'", "duckdb", "a date"),
        ("CAST(visits AS VARCHAR(1)) = '1'", "postgres", "a CAST to TINYINT"),
        ("seen >= '2020-01-05 12:00:00+02'", "duckdb", "a timestamp without a zone"),
        ("'2020-01-05T12:00:00Z' < seen", "postgres", "a timestamp without a zone"),
        ("seen BETWEEN '2020-01-05' AND '2020-01-05 12:00:00+02'", "spark", "a timestamp without a zone"),
        ("seen IN ('2020-01-05', '2020-01-05 12:00:00+02')", "duckdb", "a timestamp without a zone"),
        ("TRY_CAST(plan AS INTEGER) = 1", "duckdb", "a cast that cannot fail"),
        ("EXTRACT(YEAR FROM joined) / 10 = 202", "postgres", "a division whose type is clear"),
        ("visits / SIGN(visits) = 2", "postgres", "a division whose type is clear"),
        ("SIGN(visits) DIV 2 = 0", "spark", "whole numbers around //"),
        ("CAST(FLOOR(spending) AS VARCHAR) = '2'", "postgres", "a number that is whole in the dialect too"),
        ("CAST(ROUND(spending) AS STRING) = '2'", "spark", "a number that is whole in the dialect too"),
        ("joined - DATE '2020-01-01' > 3", "spark", "a number of days between dates"),
        ("seen - seen > 3", "postgres", "a number of days between dates"),
        ("DATEDIFF(DAY, joined, seen) = 1", "spark", r"DATEDIFF\(last, first\)"),
        ("DATEDIFF(joined, seen) = 1", "postgres", "a difference of dates"),
        ("DATE_ADD(joined, age) = joined", "spark", "a constant whole number"),
        ("DATEADD(DAY, age, joined) = joined", "spark", "DATEADD of a constant number of YEAR"),
        ("DATEADD(DAYS, 2, joined) = joined", "spark", "DATEADD of a constant number of YEAR"),
        ("DATE_SUB(joined, 7) = joined", "duckdb", "a constant whole number of one of YEAR"),
        ("DATE_SUBTRACT(joined, 7) = joined", "postgres", "a constant whole number of one of YEAR"),
        ("TRUNC(joined, 'MM') = joined", "spark", "DATE_TRUNC"),
        ("DATE_TRUNC('day', seen, 'Asia/Tokyo') = seen", "postgres", "DATE_TRUNC in UTC, without a zone"),
        ("RIGHT(plan, -1) = 'e'", "spark", "the length"),
        ("CAST(SIGN(spending) AS STRING) = '1.0'", "spark", "a number that is whole in the dialect too"),
        ("CAST(NULLIF(SIGN(spending), 0) AS STRING) = '1.0'", "spark", "a number that is whole in the dialect too"),
        ("visits * 2 / SIGN(spending) = 2", "postgres", "a division whose type is clear"),
    ],
)
def test_what_a_dialect_means_otherwise_is_refused(
    condition: str, dialect: str, what: str, rows: dp.PrivateTable
) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"(?s)Expected {what}.*at line 1, column .*Hint: "):
        dp.sql(f"SELECT COUNT(*) FROM people WHERE {condition}", people=rows, dialect=dialect)  # noqa: S608 - our text


def test_whole_numbers_where_the_dialect_has_them(rows: dp.PrivateTable, exact: Exact) -> None:
    spending = (12.5, 0.0, 2.5, 3.75, 0.5, 1.5, 80.0)
    assert total("CAST(spending - 2.75 AS INT)", "spark", rows, exact) == sum(int(x - 2.75) for x in spending)
    assert total("FLOOR(spending) DIV 2", "spark", rows, exact) == sum(int(x) // 2 for x in spending)
    assert total("CAST(FLOOR(spending) AS INTEGER) / 2", "postgres", rows, exact) == sum(int(x) // 2 for x in spending)
    years = (2020, 2021, *[2019] * 5)
    assert total("CAST(EXTRACT(YEAR FROM joined) AS INT) / 10", "postgres", rows, exact) == sum(y // 10 for y in years)
    assert total("EXTRACT(YEAR FROM joined) // 10", "duckdb", rows, exact) == sum(y // 10 for y in years)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("SELECT SUM(f / 2) FROM (SELECT FLOOR(spending) AS f FROM people) t", "a division whose type is clear"),
        ("SELECT SUM(g / 2) FROM (SELECT F + 1 AS g FROM (SELECT FLOOR(age) AS f FROM people))", "a division"),
        ("WITH t AS (SELECT EXTRACT(DAY FROM seen) AS f FROM people) SELECT SUM(f / 2) FROM t", "a division"),
        ("SELECT SUM(n / 2) FROM (SELECT age AS n FROM people UNION ALL SELECT CEIL(age) AS m FROM people)", "a divi"),
        ("SELECT SUM(f / 2) FROM (SELECT person, MAX(FLOOR(age)) AS f FROM people GROUP BY person) t", "a division"),
        ("SELECT SUM(f / 2) FROM (SELECT person, LEAST(SUM(age), 9) AS f FROM people GROUP BY person) t", "a division"),
        ("SELECT COUNT(CAST(f AS TEXT)) FROM (SELECT FLOOR(spending) AS f FROM people) t", "a number that is whole"),
    ],
)
def test_columns_of_sub_queries_keep_the_type_of_the_dialect(
    statement: str, what: str, people: dp.PrivateTable
) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}"):
        dp.sql(statement, people=people, dialect="postgres")
    assert (
        dp.sql(
            statement.replace("f / 2", "f").replace("g / 2", "g").replace("n / 2", "n").replace(" AS TEXT", " AS INT"),
            people=people,
            dialect="postgres",
        )
        is not None
    )


def test_days_that_are_added_to_a_date(rows: dp.PrivateTable, exact: Exact) -> None:
    """Only on Spark is it a date still; a comparison with a moment says nothing of it, an hour does."""
    for dialect in DIALECTS:
        for written in ("joined + INTERVAL '1' DAY = DATE '2020-01-06'", "joined + INTERVAL 24 HOURS > seen"):
            text = f"SELECT COUNT(*) AS n FROM people WHERE {written}"  # noqa: S608 - our own text
            assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": 1 if "=" in written else 6}]
        text = "SELECT SUM(HOUR(joined + INTERVAL '1' DAY)) AS n FROM people"
        if dialect == "spark":
            with pytest.raises(dp.InvalidQuery, match=r"compatible types \(not date\)"):
                dp.sql(text, people=rows, dialect=dialect)
        else:
            assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": 0}]


def test_dates_that_leave_the_calendar_are_its_ends(rows: dp.PrivateTable, exact: Exact) -> None:
    text = (
        "SELECT COUNT(*) AS n FROM people WHERE joined + INTERVAL 9000 YEARS = TIMESTAMP '9999-12-31 23:59:59.999999'"
    )
    assert exact(dp.sql(text, people=rows)) == [{"n": 7}]
    text = "SELECT COUNT(*) AS n FROM people WHERE joined - 3000000 = DATE '0001-01-01'"
    assert exact(dp.sql(text, people=rows)) == [{"n": 7}]


def test_moments_without_a_zone_are_in_utc(rows: dp.PrivateTable, exact: Exact) -> None:
    for dialect in DIALECTS:
        for written in ("TIMESTAMP '2020-01-05 13:07:59'", "CAST('2020-01-05 13:07:59' AS TIMESTAMP)"):
            text = f"SELECT COUNT(*) AS n FROM people WHERE seen >= {written}"  # noqa: S608 - our own text
            assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": 1}]
    text = "SELECT COUNT(*) AS n FROM people WHERE seen = TIMESTAMP WITH TIME ZONE '2020-01-05 15:07:59+02'"
    assert exact(dp.sql(text, people=rows, dialect="postgres")) == [{"n": 1}]


def test_texts_may_look_like_moments(rows: dp.PrivateTable, exact: Exact) -> None:
    text = "SELECT COUNT(*) AS n FROM people WHERE plan <> '2020-01-05 12:00:00+02' AND seen >= '2020-01-05'"
    assert exact(dp.sql(text, people=rows)) == [{"n": 1}]


def test_texts_of_any_length(rows: dp.PrivateTable, exact: Exact) -> None:
    for dialect, kind in (("duckdb", "VARCHAR"), ("postgres", "VARCHAR"), ("postgres", "TEXT"), ("spark", "STRING")):
        text = f"SELECT COUNT(*) AS n FROM people WHERE CAST(visits AS {kind}) = '12'"  # noqa: S608 - our own text
        assert exact(dp.sql(text, people=rows, dialect=dialect)) == [{"n": 1}]


def test_unknown_dialects_are_refused(rows: dp.PrivateTable) -> None:
    assert [dialect_named(name).name for name in DIALECTS] == ["duckdb", "postgres", "spark"]
    for name in ("postgresql", "", None, 3):
        with pytest.raises(dp.InvalidParameter, match="a dialect of SQL that is known here, got dialect="):
            dp.sql("SELECT COUNT(*) FROM people", people=rows, dialect=name)  # type: ignore[arg-type]  # the refusal is the test

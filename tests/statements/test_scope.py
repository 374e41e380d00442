"""A name means one column, or is refused: never another column that is spelt alike."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp

import discreet as dp
from discreet.statements.scope import Scope
from discreet.statements.sql_translation import lower
from discreet.statements.statement_text import Text


def test_names_are_written_in_any_case(rows: dp.PrivateTable) -> None:
    for written in ("age", "AGE", "Age", '"age"', "people.age", "PEOPLE.Age", '"people"."age"'):
        statement = lower(f"SELECT {written} AS x, COUNT(*) FROM people GROUP BY 1", {"people": rows})  # noqa: S608 - our own text
        assert statement.groups[0].column == "age"


def test_an_alias_replaces_the_name_of_the_table(rows: dp.PrivateTable) -> None:
    assert dp.sql("SELECT AVG(p.age) FROM people AS p", people=rows) is not None
    with pytest.raises(dp.InvalidQuery, match=r"a column of 'p', got 'people.age' at line 1, column 12"):
        dp.sql("SELECT AVG(people.age) FROM people p", people=rows)
    with pytest.raises(dp.InvalidQuery, match=r"a column of 'people', got 'main.people.age'"):
        dp.sql("SELECT AVG(main.people.age) FROM people", people=rows)
    with pytest.raises(dp.InvalidQuery, match=r"a column of 'P', got '\"p\".age'"):
        dp.sql('SELECT AVG("p".age) FROM people AS "P"', people=rows)


def test_columns_that_differ_in_case_need_quotes(rows: dp.PrivateTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dp.PrivateTable, "columns", ("age", "Age"))
    text = Text.of('SELECT "age", "Age", age, AGE FROM people')
    scope = Scope(text=text, table=rows, qualifier=exp.to_identifier("people"))
    columns = text.select().expressions
    assert [scope.name(column.this, column) for column in columns[:2]] == ["age", "Age"]
    for column in columns[2:]:
        with pytest.raises(dp.InvalidQuery, match=r'(?s)a name that means one column.*write one of "age", "Age"'):
            scope.name(column.this, column)


@pytest.mark.parametrize(
    ("statement", "refused"),
    [
        ("SELECT AVG(aeg) FROM people", "a known column, got 'aeg' at line 1, column 12.\nHint: did you mean 'age'?"),
        (
            'SELECT AVG("AGE") FROM people',
            "got '\"AGE\"' at line 1, column 12.\nHint: double quotes are exact",
        ),
        ('SELECT COUNT(*) FROM people WHERE plan = "free"', "Write text in single quotes."),
        ("SELECT COUNT(*) FROM peple", "got 'peple' at line 1, column 22.\nHint: did you mean 'people'?"),
        ("SELECT COUNT(*) FROM 'people.csv'", "a known table, got '\"people.csv\"' at line 1, column 22"),
        ("SELECT COUNT(*) FROM main.people", "the name of a protected table, got 'main.people' at line 1, column 22"),
        ("SELECT COUNT(*) FROM read_csv('a.csv')", "the name of a protected table, got \"READ_CSV('a.csv')\""),
        ("SELECT COUNT(*) FROM people TABLESAMPLE 10%", "all rows of the table, got 'people TABLESAMPLE"),
        ("SELECT COUNT(*) FROM (VALUES (1)) AS t", "the name of a protected table"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(statement: str, refused: str, rows: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match=re.escape(refused)):
        dp.sql(statement, people=rows)


def test_tables_that_differ_in_case_need_quotes(rows: dp.PrivateTable, people: dp.PrivateTable) -> None:
    assert lower('SELECT COUNT(*) FROM "T"', {"t": rows, "T": people}).table is people
    with pytest.raises(dp.InvalidQuery, match="a name that means one table, got 't'"):
        dp.sql("SELECT COUNT(*) FROM t", t=rows, T=people)


def test_without_any_table_the_cure_is_to_pass_one() -> None:
    with pytest.raises(dp.InvalidQuery, match=r"pass it by name, dp.sql\(..., people=table\)"):
        dp.sql("SELECT COUNT(*) FROM people")

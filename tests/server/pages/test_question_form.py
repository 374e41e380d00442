"""What stands in the form is a value or a name in SQL, whatever its text, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import sqlglot

from discreet.errors import InvalidQuery
from discreet.server.pages.form_fields import Fields
from discreet.server.pages.question_form import LINES, FormQuestion, quoted
from page_fixtures import HOSTILE

TYPES = {
    "age": "integer",
    "income": "float64",
    "plan": "string",
    "female": "boolean",
    "joined": "date",
    "seen": "timestamp",
}
COLUMNS = {name: SimpleNamespace(type=kind, is_unit=False) for name, kind in TYPES.items()} | {
    "person": SimpleNamespace(type="integer", is_unit=True),
    HOSTILE: SimpleNamespace(type="integer", is_unit=False),
}
TEXTS = ["free", "it's", "'; DROP TABLE people; --", "\\'", '"', HOSTILE, "1 OR 1=1", "", "é", "NULL"]


def asked(**fields: str) -> str:
    return FormQuestion.read(Fields(list(fields.items()))).sql("people", COLUMNS)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_stays_one_literal(text: str) -> None:
    sql = asked(statistic1="rows", where1="plan", is1="=", value1=text)
    (statement,) = sqlglot.parse(sql, dialect="duckdb")
    assert statement is not None
    comparison = statement.find(sqlglot.exp.EQ)
    assert comparison is not None
    assert comparison.expression == sqlglot.exp.Literal.string(text.strip())


@pytest.mark.parametrize("name", ["plan", "order", "Plan", "a b", 'a"b', "a'b", HOSTILE, "é", "a;b"])
def test_a_name_stays_one_name(name: str) -> None:
    column = sqlglot.parse_one(quoted(name), dialect="duckdb")
    assert isinstance(column, sqlglot.exp.Column)
    assert column.name == name


@pytest.mark.parametrize("value", ["", "x", "1; DROP", "1e9", "0x1", "1 OR 1=1", "NaN", "--1", chr(0x661)])
@pytest.mark.parametrize("column", ["age", "income"])
def test_a_number_is_one(column: str, value: str) -> None:
    with pytest.raises(InvalidQuery, match="Expected a number"):
        asked(statistic1="rows", where1=column, value1=value)


@pytest.mark.parametrize(
    ("column", "value", "literal"),
    [
        ("age", "-18", "-18"),
        ("income", ".5", ".5"),
        ("female", "Yes", "TRUE"),
        ("female", "0", "FALSE"),
        ("joined", "2020-01-31", "DATE '2020-01-31'"),
        ("seen", "2020-01-31 12:00", "TIMESTAMP '2020-01-31 12:00'"),
    ],
)
def test_a_value_has_the_type_of_its_column(column: str, value: str, literal: str) -> None:
    assert asked(statistic1="rows", where1=column, value1=value).endswith(f"WHERE {column} = {literal}")


@pytest.mark.parametrize(
    "fields",
    [
        {"statistic1": "mean"},
        {"statistic1": "mean", "of1": "nothing"},
        {"statistic1": "secrets", "of1": "age"},
        {"statistic1": "rows", "by_column": "nothing"},
        {"statistic1": "rows", "where1": "nothing", "value1": "1"},
        {"statistic1": "rows", "where1": "age", "is1": "LIKE", "value1": "1"},
        {"statistic1": "rows", "where1": "female", "value1": "perhaps"},
    ],
)
def test_half_a_line_is_told(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidQuery, match=r"Expected .*, got .*\nHint: "):
        asked(**fields)


def test_an_empty_form_asks_nothing() -> None:
    assert asked() == ""
    assert len(FormQuestion.first().measures) == len(FormQuestion.read(Fields([])).measures) == LINES
    assert (
        FormQuestion.first().sql("people", COLUMNS) == "SELECT COUNT(DISTINCT person) AS number_of_units\nFROM people"
    )

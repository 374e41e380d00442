"""The bounded parser reads what the plain one reads, and nothing for longer than its length allows."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
import sqlglot
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError

from discreet.errors import InvalidQuery
from discreet.statements import bounded_parser
from discreet.statements.bounded_parser import bounded, parse_one
from discreet.statements.dialects import DIALECTS
from discreet.statements.operator_precedence import parsed
from discreet.testing.example_tables import visits

DEEP = {
    "types": ("int(", "1", ")"),
    "casts": ("CAST(1 AS int(", "1", "))"),
    "lists": ("ARRAY[", "1", "]"),
    "moments": ("timestamp(", "1", ")"),
    "records": ("ROW(", "1", ")"),
    "dates": ("DATE ", "'a'", ""),
    "joins": ("1 FROM (a JOIN ", "b", ")"),
    "parentheses": ("(", "SELECT 1", ")"),
    "intervals": ("INTERVAL '1' ", "DAY", ""),
    "maps": ("map(", "1", ")"),
}
"""What stands so many times before and behind the middle."""
SECONDS = 60.0
"""Twofold with each of sixty brackets would be longer than anybody waits, and what is bounded takes half a second."""


@pytest.mark.long
@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", [40, 60])
def test_no_text_is_read_for_long(shape: str, dialect: str, number: int) -> None:
    before, middle, behind = DEEP[shape]
    text = f"SELECT {before * number}{middle}{behind * number}"
    began = time.process_time()
    with contextlib.suppress(ParseError, RecursionError):  # some of them can be read
        parsed(tuple(Dialect.get_or_raise(dialect).tokenize(text)), text, dialect)
    assert time.process_time() - began < SECONDS


def test_a_text_that_is_read_for_too_long_is_refused_in_words() -> None:
    with pytest.raises(InvalidQuery, match="moderate depth"):
        visits_asked("SELECT " + "int(" * 30 + "1" + ")" * 30 + " AS n FROM people")


NESTED = {
    "a choice by a choice": ("CASE ", " WHEN 1 THEN 1 END", 25),
    "halves of sizes": ("ABS(", " / 2)", 25),
    "rounded again": ("ROUND(", " + 1.5, 1)", 25),
    "a share of a share": ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ", ")", 14),
    "functions of another dialect": ("ADD_MONTHS(", ", 1, 1)", 25),
}


@pytest.mark.long
@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_operand_is_translated_twice(shape: str, dialect: str) -> None:
    """Twice at each level is for hours, and so is writing a refusal with what stands in it three times."""
    before, behind, number = NESTED[shape]
    for middle, verb in (
        ("age", "SELECT COUNT(*) AS n FROM people WHERE {} > 1"),
        ("AVG(age)", "SELECT {} FROM people"),
    ):
        began = time.process_time()
        with contextlib.suppress(InvalidQuery):
            visits_asked(verb.format(f"{before * number}{middle}{behind * number}"), dialect)
        assert time.process_time() - began < 5


def visits_asked(sql: str, dialect: str = "duckdb") -> Any:
    import discreet as dp

    people = dp.protect(visits(), unit="person", max_rows=5, budget=dp.Budget(epsilon=1), name="people")
    return dp.sql(sql, people=people, dialect=dialect)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT plan, COUNT(*) AS n, AVG(CAST(age AS DOUBLE)) FROM people WHERE age BETWEEN 1 AND 9 GROUP BY plan",
        "WITH a AS (SELECT b.c::int FROM b JOIN d ON b.x = d.x) SELECT ARRAY[1, 2], CASE WHEN x THEN 1 END FROM a",
        "SELECT DATE '2026-01-01' + INTERVAL '1' DAY, EXTRACT(YEAR FROM t), SUM(x) OVER (PARTITION BY y) FROM z",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_people_write_is_read_as_before_and_far_below_the_bound(
    text: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_parser, "STEPS", 0)
    monkeypatch.setattr(bounded_parser, "STEPS_A_TOKEN", bounded_parser.STEPS_A_TOKEN // 4)
    assert parse_one(text, dialect) == sqlglot.parse_one(text, read=dialect)


def test_long_statements_are_read() -> None:
    items = ", ".join(f"SUM(a{i} + {i}) AS b{i}" for i in range(1500))
    text = f"SELECT {items} FROM t WHERE {' AND '.join(['a = 1'] * 150)}"  # noqa: S608 (it goes nowhere)
    assert parse_one(text, "duckdb") == sqlglot.parse_one(text, read="duckdb")


def test_a_parser_reads_one_text_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_parser, "STEPS", 0)  # so that ten brackets are too many, and end without the bound
    parser = bounded(Dialect.get_or_raise("duckdb").parser_class)(dialect="duckdb")
    for text in ("SELECT 1", "SELECT " + "int(" * 10 + "1" + ")" * 10, "SELECT 2"):
        tokens = Dialect.get_or_raise("duckdb").tokenize(text)
        if "int" in text:
            with pytest.raises(RecursionError, match="nested"):
                parser.parse(tokens, text)
        else:
            assert parser.parse(tokens, text)[0].sql() == text


@pytest.mark.parametrize("operator", [" AND ", " OR ", " + ", " || ", ", "])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tree_is_not_deep(operator: str, dialect: str) -> None:
    """A chain is read in a loop; whatever is done with its tree recurses."""
    for times in (150, 900):
        text = f"SELECT {operator.join(['a'] * times)}"
        if operator == ", " or times == 150:
            assert parse_one(text, dialect).sql(dialect).count("a") >= times
        else:
            with pytest.raises(RecursionError, match="nested"):
                parse_one(text, dialect)

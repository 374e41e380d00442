"""Tools' statements become ours in place, and parameters get types and values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.question_texts import (
    declared_columns,
    in_our_words,
    parameter_types,
    parameters_of,
    sample,
    shown_items,
    tree_of,
    with_values,
    without_schemas,
)
from discreet.pgwire.sqlstates import SYNTAX, TOO_DEEP, TOO_LONG, Refused
from discreet.pgwire.statement_kinds import spaced
from discreet.pgwire.type_codes import ELEMENTS, REAL, TIME, UUID, WHOLE
from discreet.pgwire.value_forms import FROM_TEXT, parameter, text_form_of

TEXTS_ALONE = (TIME, UUID)
"""Types whose constants are texts in a question."""

PEOPLE = DeclaredTable(
    name="people",
    columns=(
        DeclaredColumn(name="age", oid=20),
        DeclaredColumn(name="plan", oid=25),
        DeclaredColumn(name="joined", oid=1082),
        DeclaredColumn(name="spending", oid=701),
    ),
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('"public"."people"', '         "people"'),
        ("SELECT public.people.age FROM people.public.people", "SELECT        people.age FROM               people"),
        ("SELECT 'public.people'", "SELECT 'public.people'"),
        ("SELECT p.age FROM people p", "SELECT p.age FROM people p"),
        ("SELECT public FROM t", "SELECT public FROM t"),
        ("SELECT age AS public FROM public.people", "SELECT age AS public FROM        people"),
        ("SELECT public.age FROM people public", "SELECT public.age FROM people public"),
        ("FROM t JOIN public.u AS Public ON public.a = t.a", "FROM t JOIN        u AS Public ON public.a = t.a"),
        ('FROM (SELECT) "public" WHERE public.a = public.u.a', 'FROM (SELECT) "public" WHERE public.a =        u.a'),
    ],
)
def test_schemas_are_blanked(text: str, plain: str) -> None:
    assert without_schemas(text, "people") == plain


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("count(1)", "COUNT(*)"),
        ("SUM( 1 )", "COUNT(*)"),
        ("sum(10)", "sum(10)"),
        ("'count(1)'", "'count(1)'"),
        ("avg(cast(x as decimal))", "avg(cast(x as float8 ))"),
        ("avg(x::numeric)", "avg(x::float8 )"),
        ("x < $1::numeric", "x < $1::float8 "),
        ("cast(x as numeric(10, 2))", "cast(x as numeric(10, 2))"),
    ],
)
def test_what_tools_write_is_said_in_our_words(text: str, ours: str) -> None:
    assert in_our_words(text) == ours


def test_parameters_are_counted_and_replaced_outside_of_texts() -> None:
    text = "a > $2 AND b = '$3' AND c = $1 -- $9"
    assert parameters_of(text) == 2
    assert with_values(text, [date(2024, 5, 1), -3]) == "a > -3 AND b = '$3' AND c = DATE '2024-05-01' -- $9"
    with pytest.raises(Refused):
        with_values("a = $1", [])


@pytest.mark.parametrize(
    ("text", "values", "asked"),
    [
        ("age > 45-$1\n AND plan = $2", [-5, "x"], "age > 45- -5\n AND plan = 'x'"),
        ("age > -$1 OR plan = $2", [-5, "\n1 --"], "age > - -5 OR plan = '\n1 --'"),
        ("plan = $1$2", ["a", "b"], "plan = 'a' 'b'"),
        ("age = $1.5 OR u&$2", [1, "x"], "age = 1 .5 OR u& 'x'"),
        ("age > $1 AND visits > @1 AND @ 2 < 3", [18], "age > 18 AND visits > @1 AND @ 2 < 3"),
        ("age / $1 > $2", [Decimal(2), Decimal("2.5")], "age / 2.0 > 2.5"),
    ],
)
def test_a_constant_is_no_part_of_what_is_beside_it(text: str, values: list[Any], asked: str) -> None:
    """A negative number behind a minus would begin a comment, in which the next condition is lost."""
    assert with_values(text, values) == asked


@pytest.mark.parametrize(
    ("text", "values", "asked"),
    [
        ("plan IN ($1,$2) AND age>$3+$4", ["a", "b", 1, 2], "plan IN ('a','b') AND age> 1 + 2"),
        ("a IN ($1,$2)\tOR b IN ($1,$3)", [1, 2, 3], "a IN (1,2)\tOR b IN (1,3)"),
        ("$1,$2 -- $1,$\n,'$1,$' || \"$1,$\" || E'\\'$1,$'", [1, 2], "1,2 -- $1,$\n,'$1,$' || \"$1,$\" || E'\\'$1,$'"),
        (
            "$$ $1,$ $$ || $a$ $$ $1,$ $a$ || /* '$1,$ */ $1+$2",
            [1, 2],
            "$$ $1,$ $$ || $a$ $$ $1,$ $a$ || /* '$1,$ */ 1 + 2",
        ),
    ],
)
def test_parameters_need_no_spaces_between_them(text: str, values: list[Any], asked: str) -> None:
    """As JDBC and its users write them: the tokenizer of sqlglot 29 reads `$1,$` as a sign that opens a text."""
    assert with_values(spaced(text), values).replace(" ,", ",") == asked


def test_values_are_no_longer_than_a_statement() -> None:
    """One of 1 MB in 3,000 places made a text of 3 GB."""
    with pytest.raises(Refused) as refused:
        with_values("plan IN (" + "$1, " * 3_000 + "'a')", ["x" * 1_000])
    assert refused.value.state == "54000"


@pytest.mark.parametrize("value", ["'; DROP TABLE people; --", "\\'; --", "$1", "a'b''c", "\n"])
def test_a_text_stays_one_constant(value: str) -> None:
    sql = with_values("SELECT COUNT(*) FROM people WHERE plan = $1", [value])
    [literal] = [node for node in tree_of(sql).walk() if node.key == "literal"]
    assert literal.name == value


@pytest.mark.parametrize(
    ("condition", "oid"),
    [
        ("age > $1", 20),
        ("plan = $1", 25),
        ("joined BETWEEN $1 AND DATE '2024-01-01'", 1082),
        ("plan IN ('a', $1)", 25),
        ("spending * 2 < $1", 701),
        ("plan LIKE $1", 25),
        ("$1::int = 3", 23),
        ("CAST($1 AS double precision) > 1", 701),
        ("oid = $1", 26),
        ("relkind = ANY($1)", 1009),
        ("joined < $1::timestamp with time zone", 1184),
        ("CASE WHEN age < 5 THEN $1 END = 'a'", 25),
        ("CASE WHEN age < 5 THEN 1 ELSE $1 END = 2", 20),
        ("CASE WHEN age < 5 THEN spending WHEN age < 9 THEN $1 END > 2", 701),
        ("CASE WHEN age < $1 THEN 'a' END = 'a'", 20),
        ("CASE age WHEN $1 THEN 'a' END = 'a'", 20),
        ("CASE WHEN age < 5 THEN 'a' ELSE plan END = $1", 25),
        ("EXTRACT(YEAR FROM joined) = $1", 20),
        ("$1 < (LENGTH(plan))", 20),
        ("COUNT(plan) > $1", 701),
        ("MIN(age) > $1", 20),
        ("SUM(1) > $1", 701),
        ("SUBSTR(plan, $1) = 'a'", 23),
        ("-age < $1", 20),
        ("10 - $1 < age", 20),
        ("$1 / 2.5 < spending", 701),
        ("ROUND(spending, $1) > 2", 23),
        ("PERCENTILE_CONT($1) WITHIN GROUP (ORDER BY age) > 2", 701),
        ("$1", 25),
    ],
)
def test_a_parameter_has_the_type_of_what_it_is_compared_with(condition: str, oid: int) -> None:
    tree = tree_of(f"SELECT COUNT(*) FROM people WHERE {condition}")  # noqa: S608 - our own text
    assert parameter_types(tree, 1, (), [PEOPLE]) == [oid]
    assert parameter_types(tree, 1, (1700,), [PEOPLE]) == [1700]


@pytest.mark.parametrize("oid", [*WHOLE, *REAL, *ELEMENTS, *FROM_TEXT, 25])
def test_a_parameter_that_is_not_bound_stands_for_a_value_of_its_type(oid: int) -> None:
    """Of a column of 16 bits it was a text, so that a statement that asyncpg or pg8000 prepared was refused."""
    bound = parameter(text_form_of(sample(oid), oid).encode(), oid, 0) if oid not in TEXTS_ALONE else sample(oid)
    assert type(sample(oid)) is type(bound)


@pytest.mark.parametrize(
    ("sql", "answer", "shown"),
    [
        ("SELECT COUNT(*) AS n, plan", ["plan", "n"], [("n", "n"), ("plan", "plan")]),
        ("SELECT AVG(age), plan", ["plan", "avg_age"], [("avg_age", "avg_age"), ("plan", "plan")]),
        ("SELECT plan AS Plan2, COUNT(*)", ["Plan2", "count"], [("Plan2", "plan2"), ("count", "count")]),
        ('SELECT COUNT(*) AS "N"', ["N"], [("N", "N")]),
        ("SELECT unclear(x), plan", ["plan", "n"], [("plan", "plan"), ("n", "n")]),
    ],
)
def test_columns_are_shown_as_they_were_selected(sql: str, answer: list[str], shown: list[tuple[str, str]]) -> None:
    assert [(one.name, one.label) for one in shown_items(tree_of(f"{sql} FROM people"), answer)] == shown


def test_columns_of_a_declared_table() -> None:
    tables = {"people": PEOPLE}

    def found(sql: str) -> list[tuple[str, int]] | None:
        columns = declared_columns(tree_of(sql), tables)
        return None if columns is None else [(one.name, one.oid) for one in columns]

    assert found("SELECT age, plan AS p FROM people") == [("age", 20), ("p", 25)]
    assert len(found("SELECT * FROM (SELECT * FROM people) t") or []) == 4
    assert found("SELECT 1, TRUE, 'x' FROM people") == [("?column?", 23), ("?column?", 16), ("?column?", 25)]
    assert found("SELECT age + 1 FROM people") is None
    assert found("SELECT * FROM others") is None


def test_words_of_sql_as_names() -> None:
    tree = tree_of("SELECT a AS select, b AS table FROM pg_class")
    assert [item.alias for item in tree.expressions] == ["select", "table"]
    for text in ("SELEC 1", "SELECT (((", ""):
        with pytest.raises(Refused):
            tree_of(text)


@pytest.mark.parametrize("text", ["SELECT '", 'SELECT "', "SELECT $$", "SELECT /*", "EXPLAIN SELECT '", "SELECT 1 '"])
def test_what_has_no_end_is_refused_as_a_mistake(text: str) -> None:
    """Not as a failure after a charge, which there was none of."""
    with pytest.raises(Refused) as refused:
        tree_of(text)
    assert refused.value.state == SYNTAX


QUESTION = "SELECT COUNT(*) FROM people WHERE "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (QUESTION + " AND ".join(["age = 1"] * 2_400), TOO_DEEP),
        (QUESTION + " OR ".join(["age = 1"] * 2_400), TOO_DEEP),
        ("SELECT " + "+".join(["1"] * 4_000), TOO_DEEP),
        ("SELECT " + "(" * 400 + "1" + ")" * 400, TOO_DEEP),
        (QUESTION + "age IN (" + ", ".join(["1"] * 6_000) + ")", TOO_LONG),
    ],
)
def test_what_is_too_deep_or_too_long_is_said(text: str, expected: str) -> None:
    with pytest.raises(Refused) as refused:
        tree_of(text)
    assert refused.value.state == expected
    assert refused.value.hint

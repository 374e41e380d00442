"""Texts are joined, cut and replaced as the dialect says, NULL among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp

Exact = Callable[[dp.Question], list[dict[str, Any]]]
TEXTS = [
    "",
    "a",
    "ab",
    "aab",
    "é%",
    "😀b",
    "a" * 30,
    "a%b",
    "e\u0301",
    "a%",
    "10%!",
    "b_a",
    "A%B",
    "İ%",
    "\u212a%\u212a",
    "x%\u212a",
    "É!",
    "😀_a",
    "\n%",
    "1a%%_",
    "a\\%",
    None,
]
ROWS = pa.table(
    {
        "t": pa.array(TEXTS, pa.string()),
        "n": pa.array([0, -5, 7, None, *(i % 9 + 1 for i in range(len(TEXTS) - 4))], pa.int64()),
    }
)


@pytest.fixture
def texts(protect: Callable[..., dp.PrivateTable]) -> dp.PrivateTable:
    return protect(ROWS, bounds={"n": (-10, 10)})


@pytest.mark.long
@pytest.mark.parametrize(
    "written",
    [
        "RIGHT(t, 0)",
        "RIGHT(t, 2)",
        "REPLACE(t, 'a', '')",
        "REPLACE(t, 'aa', 'b')",
        "REPLACE(t, '%', '_%')",
        "CONCAT(t)",
        "CONCAT(t, '-', n, '-', t)",
        "CONCAT(n, n)",
        "t || n || t",
        "n || t",
        "CONCAT_WS('', t, n)",
        "CONCAT_WS(' -- ', n, t, 'x', t)",
        "CONCAT_WS('a', t)",
        "CAST(POSITION('b' IN t) AS VARCHAR)",
        "CAST(STRPOS(t, '\u0301') AS VARCHAR)",
        "CAST(INSTR(t, 'aa') AS VARCHAR)",
        "LPAD(t, 0, 'x')",
        "LPAD(t, 2, 'x')",
        "RPAD(t, 4, '\u0301')",
        "REPEAT(t, 0)",
        "REPEAT(t, 1)",
        "REPEAT(t, 3)",
        "REPEAT(CONCAT(t, n), 100)",
        "SPLIT_PART(t, 'a', 1)",
        "SPLIT_PART(t, 'a', 2)",
        "SPLIT_PART(t, 'aa', 3)",
        "SPLIT_PART(t, '%', 999)",
        "CAST(t LIKE 'a!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%!%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'a%!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'a!%%b' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'a!%%!%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'a!%%!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'b!_a' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'b__' ESCAPE '!' AS VARCHAR)",
        "CAST(t NOT LIKE '%!!' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%\\%%' ESCAPE '\\' AS VARCHAR)",
        "CAST(t LIKE '_!%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '_!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%_!%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%!%_' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '%!__' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '_!_a' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '_%!%b' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '1_!%%_' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE '__%!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t LIKE 'a!%__' ESCAPE '!' AS VARCHAR)",
        "CAST(t ILIKE 'A!%%' ESCAPE '!' AS VARCHAR)",
        "CAST(t ILIKE '%!%B' ESCAPE '!' AS VARCHAR)",
        "CAST(t ILIKE 'i_!%' ESCAPE '!' AS VARCHAR)",
        "CAST(t ILIKE '_!%K' ESCAPE '!' AS VARCHAR)",
        "CAST(t ILIKE 'É!!' ESCAPE '!' AS VARCHAR)",
        "CAST(t NOT ILIKE '%A!%%' ESCAPE '!' AS VARCHAR)",
    ],
)
def test_each_text_is_that_of_duckdb(written: str, texts: dp.PrivateTable, exact: Exact) -> None:
    with duckdb.connect() as connection:
        connection.register("texts", ROWS)
        found = [value for (value,) in connection.sql(f"SELECT {written} FROM texts").fetchall()]  # noqa: S608 (ours)
    distinct = [value for value in dict.fromkeys(found) if value is not None]
    quoted = [value.replace("'", "''") for value in distinct]
    counts = [f"COUNT(*) FILTER (WHERE ({written}) = '{value}') AS x{i}" for i, value in enumerate(quoted)]
    statement = f"SELECT COUNT({written}) AS held, {', '.join(counts)} FROM texts"  # noqa: S608 (ours)
    [answer] = exact(dp.sql(statement, texts=texts))
    assert answer.pop("held") == len(found) - found.count(None)
    assert list(answer.values()) == [found.count(value) for value in distinct]


@pytest.mark.parametrize(("dialect", "held"), [("duckdb", 22), ("postgres", 22), ("spark", 20)])
def test_concat_and_null(dialect: str, held: int, texts: dp.PrivateTable, exact: Exact) -> None:
    """CONCAT passes over NULL but on Spark; || does nowhere, and CONCAT_WS does everywhere."""
    for written, wanted in (("CONCAT(t, n)", held), ("t || n", 20), ("CONCAT_WS('-', t, n)", 22)):
        question = dp.sql(f"SELECT COUNT({written}) AS held FROM texts", texts=texts, dialect=dialect)  # noqa: S608 (ours)
        assert exact(question) == [{"held": wanted}]


@pytest.mark.parametrize(("written", "what"), [("CONCAT_WS(',')", "CONCAT_WS"), ("CONCAT_WS(n, t)", "the separator")])
def test_a_separator_stands_before_texts(written: str, what: str, texts: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"Expected {what}.* at line 1, column .*\n?Hint: "):
        dp.sql(f"SELECT COUNT({written}) FROM texts", texts=texts)  # noqa: S608 (ours)


@pytest.mark.parametrize("text", ["e\u0301a", "🏳️‍🌈b", "", "abc"])
def test_reverse_turns_every_character(text: str, protect: Callable[..., dp.PrivateTable], exact: Exact) -> None:
    texts = protect(pa.table({"t": [text], "n": pa.array([1], pa.int64())}), bounds={"n": (-10, 10)})
    statement = f"SELECT COUNT(*) AS n FROM texts WHERE REVERSE(t) = '{text[::-1]}'"  # noqa: S608 (ours)
    assert exact(dp.sql(statement, texts=texts)) == [{"n": 1}]


@pytest.mark.parametrize("dialect", ["postgres", "spark"])
def test_other_dialects_fill_with_spaces(dialect: str, texts: dp.PrivateTable, exact: Exact) -> None:
    statement = "SELECT COUNT(*) AS n FROM texts WHERE LPAD(t, 3) = '  a'"
    assert exact(dp.sql(statement, texts=texts, dialect=dialect)) == [{"n": 1}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("POSITION('' IN t)", "what is looked for as a text of 1"),
        ("POSITION(t IN 'a')", "what is looked for"),
        ("LPAD(t, 5)", "LPAD"),
        ("LPAD(t, -1, 'x')", "the length"),
        ("LPAD(t, n, 'x')", "the length"),
        ("LPAD(t, 5, '')", "the character to fill with"),
        ("LPAD(t, 5, 'ab')", "one character to fill with"),
        ("LPAD(t, 1001, 'a')", "a length of at most 1,000"),
        ("REPEAT(t, -1)", "how often"),
        ("REPEAT(t, n)", "how often"),
        ("REPEAT(t, 101)", "REPEAT of at most 100 times"),
        ("REPEAT(CONCAT(REPEAT(t, 2)), 2)", "REPEAT of at most 100 times"),
        ("REPEAT(n, 2)", ""),
        ("SPLIT_PART(t)", r"SPLIT_PART\(x, ',', 1\)"),
        ("SPLIT_PART(t, ',')", r"SPLIT_PART\(x, ',', 1\)"),
        ("SPLIT_PART(t, '', 1)", "the text to split by"),
        ("SPLIT_PART(t, ',', 0)", "the number of the part"),
        ("SPLIT_PART(t, ',', -1)", "the number of the part"),
        ("SPLIT_PART(t, ',', 2000)", "one of the first 1,000 parts"),
        ("t ILIKE 'é!%' ESCAPE '!'", "ILIKE of ASCII letters"),
        ("t ILIKE 'aA%' ESCAPE 'A'", "an escape that is no letter"),
        ("t ILIKE 'ba%' ESCAPE 'a'", "an escape that is no letter"),
        ("t ILIKE 'ab' ESCAPE 'é'", "an escape that is no letter"),
        ("n = 1 ESCAPE '!'", "ESCAPE"),
        ("t LIKE '%a_!%%' ESCAPE '!'", "a pattern with %"),
        ("t LIKE t ESCAPE '!'", "the pattern as a text"),
        ("t LIKE 'a!%' ESCAPE ''", "the escape as a text of 1"),
        ("t LIKE 'a!%' ESCAPE '!!'", "one character of escape"),
        ("t LIKE 'a!b' ESCAPE '!'", "one character of escape"),
        ("t LIKE 'a!' ESCAPE '!'", "one character of escape"),
        ("t LIKE '%a!%%b%' ESCAPE '!'", "a pattern with %"),
        ("t LIKE '%a%!%' ESCAPE '!'", "a pattern with %"),
    ],
)
def test_texts_that_engines_read_differently_are_refused(written: str, what: str, texts: dp.PrivateTable) -> None:
    with pytest.raises(dp.InvalidQuery, match=f"Expected .*{what}.*(?s:.)*Hint: "):
        dp.sql(f"SELECT COUNT({written}) FROM texts", texts=texts)  # noqa: S608 (ours)


def test_trim_removes_white_space_of_ascii_alone(protect: Callable[..., dp.PrivateTable], exact: Exact) -> None:
    removed, kept = " \t\n\r\v\f", "\x1c\x85\u00a0\u2003\u3000\ufeff"
    people = protect(pa.table({"t": [f"{sign}b{sign}" for sign in removed + kept]}), bounds={})
    asked = dp.sql("SELECT COUNT(*) FILTER (WHERE TRIM(t) = 'b') AS n FROM people", people=people)
    assert exact(asked) == [{"n": len(removed)}]

"""CUBE, ROLLUP, GROUPING SETS and GROUPING, compared with DuckDB's own answers."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.query.grouping_sets_question import StackedQuestion

ROWS = pa.table({
    "a": ["x", "y", "y", None] * 30, "b": [1, 2, 3] * 40, "c": [True, False] * 60, "v": [i % 11 for i in range(120)],
})  # fmt: skip
KEYS: dict[str, Any] = {"a": ["x", "y", None], "b": [1, 2, 3], "c": [True, False]}
EXACT = 2**18
NUMBERS = ("n", "s")

STATEMENTS = [
    "SELECT a, b, COUNT(*) AS n, SUM(v) AS s, GROUPING(a) AS ga, GROUPING(a, b) AS g FROM t GROUP BY CUBE (a, b)",
    "SELECT b, a, COUNT(*) AS n, GROUPING(b) AS g FROM t GROUP BY a, ROLLUP (b)",
    "SELECT a, b, c, COUNT(*) AS n, GROUPING(a, b, c) AS g FROM t GROUP BY GROUPING SETS ((a, b), (c), ())",
    "SELECT a, b, c, SUM(v) AS n, GROUPING(c, a) AS g FROM t GROUP BY ROLLUP ((a, b), c)",
    "SELECT a, b, c, COUNT(*) AS n, GROUPING(a, b, c) AS g FROM t GROUP BY CUBE (a), ROLLUP (b, c)",
    "SELECT a, c, COUNT(*) FILTER (v > 3) AS n, GROUPING(a, c) AS g FROM t WHERE b < 3 GROUP BY ROLLUP (a, c)",
    "SELECT a, b, SUM(v) / COUNT(*) AS n, GROUPING(b) AS g FROM t GROUP BY CUBE (a, b) HAVING COUNT(*) > 45",
    "SELECT a, b, COUNT(*) AS n, GROUPING(a, b) AS g FROM t GROUP BY CUBE (a, b) ORDER BY g DESC, a, b LIMIT 4",
    "SELECT a AS name, b % 2 = 0 AS even, COUNT(*) AS n, GROUPING(a) AS g FROM t GROUP BY ROLLUP (name, even)",
]


def ask(text: str) -> dp.Question:
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(epsilon=2**20), keys=KEYS, bounds={"v": (0, 10)}, name="t")
    return dp.sql(text, t=table)


def found_in(answer: pa.Table) -> dict[tuple[Any, ...], dict[str, float]]:
    """The numbers of each row that counts somebody, by its keys and marks."""
    found = {}
    for row in answer.to_pylist():
        if not math.isclose(row["n"], 0, abs_tol=0.1):
            keys = tuple(
                value for name, value in row.items() if name not in NUMBERS and name[-4:] not in ("_low", "high")
            )
            found[keys] = {name: round(float(row[name]), 1) for name in NUMBERS if name in row}
    return found


@pytest.mark.long
@pytest.mark.parametrize("text", STATEMENTS)
def test_answers_are_those_of_duckdb(text: str) -> None:
    """Groups without rows are in ours and not in its."""
    raw = duckdb.connect()
    raw.register("t", ROWS)
    expected = raw.sql(text).to_arrow_table()
    question = ask(text)
    assert isinstance(question, StackedQuestion)
    released = question.release(epsilon=EXACT).to_pyarrow()
    found = found_in(released)
    true = found_in(expected)
    assert set(found) == set(true)
    for keys, numbers in found.items():
        assert numbers == pytest.approx(true[keys], abs=0.11)
    assert [name for name in released.column_names if name[-4:] not in ("_low", "high")] == expected.column_names
    if "ORDER BY" in text:
        assert list(found) == list(found_in(expected))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP", "a list in parentheses"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a GROUPING SETS (())", "a comma before GROUPING SETS"),
        ("SELECT a, COUNT(*) FROM t GROUP BY a ROLLUP (a)", "a comma before ROLLUP"),
        ("SELECT a, GROUPING(a), COUNT(*) FROM t GROUP BY a", "a column of several groupings"),
        ("SELECT a, GROUPING(b), COUNT(*) FROM t GROUP BY CUBE (a)", "a column of several groupings"),
        ("SELECT a, b, COUNT(*) FROM t GROUP BY CUBE (a)", "a column that GROUP BY lists"),
        ("SELECT a, COUNT(*) FROM t GROUP BY CUBE (a, b)", "groups that SELECT shows"),
        ("SELECT a, MEDIAN(v) FROM t GROUP BY CUBE (a)", "columns that add up"),
        ("SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a), (a))", "each set once"),
        ("SELECT a, b, COUNT(*) FROM t GROUP BY GROUPING SETS (ROLLUP (a), b)", "plain sets"),
        (f"SELECT a, COUNT(*) FROM t GROUP BY {', '.join(['ROLLUP (a)'] * 40)}", "at most 5,000 sets"),  # noqa: S608 (ours)
        (f"SELECT a, COUNT(*) FROM t GROUP BY ROLLUP ({', '.join('a' * 101)})", "at most 100 columns in a rollup"),  # noqa: S608 (ours)
        (f"SELECT a, COUNT(*) FROM t GROUP BY CUBE ({', '.join('a' * 11)})", "at most 10 columns in a cube"),  # noqa: S608 (ours)
    ],
)
def test_what_is_no_grouping_is_refused(text: str, what: str) -> None:
    with pytest.raises(InvalidQuery, match=what):
        ask(text)


def test_options_of_one_grouping_are_refused() -> None:
    question = ask(STATEMENTS[1])
    for stated in ({"up_to": 1}, {"report": ("clipped",)}, {"weights": {"n": 1}}):
        with pytest.raises(InvalidQuery, match="beside several groupings"):
            question.release(epsilon=1, **stated)
    assert question.explain(within={"n": 20})["charge"]["epsilon"]
    with pytest.raises(dp.InvalidParameter, match="columns of the answer"):
        question.release(within={"m": 20})

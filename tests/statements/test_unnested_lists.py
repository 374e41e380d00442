"""UNNEST in FROM: what the verb makes of it, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery

ROWS = pa.table({"person": [1, 1, 2], "age": [1, 2, None], "plan": ["a", "b", None], "max_items": [3, 4, 5]})


def protected(**stated: Any) -> dp.PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "max_rows": 9, "bounds": {"age": (0, 9), "max_items": (0, 9)}} | stated
    return dp.protect(ROWS, name="people", budget=dp.Budget(epsilon=1), **facts)


def test_a_statement_is_what_the_verb_says() -> None:
    people = protected()
    wanted = people.unnest(x=[_.age, _.max_items]).agg(s=_.x.sum()).explain(epsilon=1)
    text = "SELECT SUM(u.x) AS s FROM people p CROSS JOIN UNNEST([age, p.max_items]) AS u(x)"
    assert dp.sql(text, people=people).explain(epsilon=1).facts == wanted.facts


def test_rows_that_are_units_are_paid_for() -> None:
    people = protected(unit=dp.ROW, max_rows=None)
    asked = dp.sql("SELECT COUNT(*) AS n FROM people, UNNEST([age, max_items, 1]) AS u(x)", people=people)
    assert asked.explain(epsilon=1)["limits"] == {"rows that one unit has": 3}


def test_names_may_be_any() -> None:
    """Those of a column, and those of a parameter of the verb."""
    text = (
        "SELECT SUM(u.age) AS a, SUM(v.raise_limits) AS b FROM people, UNNEST([age]) AS u(age), "
        "UNNEST([1]) AS v(raise_limits)"
    )
    assert dp.sql(text, people=protected()).explain(epsilon=1)["columns"]


COUNTED = "SELECT COUNT(*) AS n FROM"
REFUSED = {
    "people, UNNEST(string_split(plan, ',')) AS u(x)": "one list of expressions",
    "people, UNNEST([age]) AS people(x)": "each name in FROM once",
    "people, UNNEST([age])": "a name for the values",
    "people, UNNEST([age]) AS u": "a name for the values",
    "people, UNNEST([age]) WITH ORDINALITY AS u(x, n)": "one list of expressions",
    "people LEFT JOIN UNNEST([age]) AS u(x) ON TRUE": "CROSS JOIN before UNNEST",
    "people, UNNEST([]) AS u(x)": "a list of 1 to 1,000",
    "people, UNNEST([age, 'a']) AS u(x)": "precedence",
    "people, UNNEST([zip]) AS u(x)": "a known column",
    "people, UNNEST([SUM(age)]) AS u(x)": "Expected",
    "people, UNNEST([age]) AS u(x), people b": "tables before UNNEST",
    "UNNEST([1]) AS u(x)": "a protected table",
}


@pytest.mark.parametrize("written", REFUSED)
def test_refusals(written: str) -> None:
    with pytest.raises(InvalidQuery, match=REFUSED[written]) as refusal:
        dp.sql(f"{COUNTED} {written}", people=protected())
    assert "at line 1" in str(refusal.value)


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("spark", "people, UNNEST(ARRAY(age)) AS u(x)"),
        ("postgres", "people, UNNEST(ARRAY[age]) AS u(x)"),
    ],
)
def test_other_dialects_have_other_notations(dialect: Any, written: str) -> None:
    with pytest.raises(InvalidQuery, match="Expected "):
        dp.sql(f"{COUNTED} {written}", people=protected(), dialect=dialect)


@pytest.mark.parametrize("condition", ["CAST(f AS VARCHAR) = '1'", "f || 'a' = '1a'", "CONCAT(f) = '1'", "f // 2 = 0"])
def test_a_real_number_in_a_list_stays_one(condition: str) -> None:
    """FLOOR is a real number in DuckDB, which it writes with a point, and a whole one here."""
    text = f"SELECT COUNT(*) AS n FROM people, UNNEST([FLOOR(age / 2), 1]) AS u(f) WHERE {condition}"  # noqa: S608 (ours)
    with pytest.raises(InvalidQuery, match="whole"):
        dp.sql(text, people=protected())

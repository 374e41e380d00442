"""docs/language.md against the rules: what the page says is what the language does."""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.language.allow_list import DEEPEST, RULES, bind, checked
from discreet.language.checked_expressions import Kind, Value
from discreet.language.text import LONGEST_PART
from discreet.query.table import MOST_STEPS, PrivateTable

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
DAY = datetime.date(2020, 1, 31)
TABLE = pa.table(
    {
        "person": pa.array([1, 2, None], pa.int64()),
        "plan": pa.array(["free", None, "25%"], pa.string()),
        "age": pa.array([30, None, 50], pa.int64()),
        "visits": pa.array([1, 2, None], pa.int64()),
        "spending": pa.array([1.5, None, 2.5], pa.float64()),
        "smokes": pa.array([True, None, False], pa.bool_()),
        "joined": pa.array([DAY, None, DAY], pa.date32()),
        "seen": pa.array([datetime.datetime.fromisoformat("2020-01-31T12:30:00"), None, None], pa.timestamp("us")),
    }
)


class Entry(NamedTuple):
    """One line of a table of operations."""

    written: str
    operation: str
    result: str
    null: str
    condition: str


def cells(line: str) -> list[str]:
    return [html.unescape(re.sub(r"</?code>|`", "", cell)).strip() for cell in line.strip().strip("|").split("|")]


def entries(page: str) -> list[Entry]:
    lines = [cells(line) for line in page.splitlines() if line.startswith("| ")]
    return [Entry(*line) for line in lines if len(line) == len(Entry._fields) and line[1] in BY_NAME]


BY_NAME = {operation.__name__: operation for operation in RULES}
TEXT = PAGE.read_text(encoding="utf-8")
ENTRIES = entries(TEXT)


@pytest.fixture(scope="module")
def people() -> PrivateTable:
    bounds = {"age": (0, 110), "visits": (0, 50), "spending": (0, 10_000)}
    return dp.protect(TABLE, unit="person", bounds=bounds, max_rows=2, budget=dp.Budget(epsilon=1))


def evaluated(written: str) -> Any:
    return eval(written, {"_": _, "ibis": ibis})  # noqa: S307 - our own page


def outermost(people: PrivateTable, written: str) -> tuple[ops.Node, Value]:
    bound = bind(people._visible, evaluated(written))
    return bound.op(), checked(bound, people._tables())


def test_the_page_lists_every_operation_once() -> None:
    assert sorted(entry.operation for entry in ENTRIES) == sorted(BY_NAME)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.operation)
def test_examples_are_of_the_operation_and_give_what_is_said(people: PrivateTable, entry: Entry) -> None:
    op, value = outermost(people, entry.written)
    assert type(op).__name__ == entry.operation
    assert value.kind is Kind(entry.result)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.operation)
def test_every_operation_has_a_document(people: PrivateTable, entry: Entry) -> None:
    """As a question is sent to a service, and read there."""
    document = people.mutate(made=evaluated(entry.written)).count().document()
    assert dp.question(json.loads(json.dumps(document)), {"table": people}).document() == document


NULLABLE = {"any": True, "SQL": True, "never": False, "choice": None, "all": None}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.operation)
def test_null_is_as_is_said(people: PrivateTable, entry: Entry) -> None:
    """Every column may be NULL, so what is NULL with any argument is nullable, and what never is, is not."""
    value = outermost(people, entry.written)[1]
    said = NULLABLE[entry.null]
    if said is not None:
        assert value.nullable is said
    if entry.null == "all":
        assert not value.nullable  # the examples have an argument that is never NULL


def rows(people: PrivateTable, written: str) -> list[Any]:
    """What the engine makes of an expression, as counts by its values."""
    made = people.mutate(made=evaluated(written))
    value = made._columns["made"]
    relation = made._relation.select(made=value.expr)
    engine: Any = people._source._engine  # type: ignore[attr-defined]  # the curator's
    with engine._lock.held():
        engine._backend.con.execute(
            f'CREATE OR REPLACE TEMP VIEW "__discreet_scan" AS {engine.barrier(people._source.declaration)}'
        )
        found: list[Any] = (
            engine._backend.con.sql(str(engine._backend.compile(relation))).to_arrow_table()["made"].to_pylist()
        )
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.null in {"any", "never"}], ids=lambda entry: entry.operation
)
def test_the_engine_agrees_about_null(people: PrivateTable, entry: Entry) -> None:
    """The second row is NULL in every column but the unit."""
    second = rows(people, entry.written)[1]
    assert (second is None) is (entry.null == "any")


def test_the_rules_for_null_between_truth_values(people: PrivateTable) -> None:
    assert rows(people, "_.smokes & (_.person < 0)")[1] is False
    assert rows(people, "_.smokes | (_.person > 0)")[1] is True
    assert rows(people, "_.smokes & (_.person > 0)")[1] is None


AGGREGATES = re.findall(r"^\| `(_\.(?:\w+\.)?(?:count|nunique|sum|mean|var|std)\([^`]*\))` \|", TEXT, re.MULTILINE)


def test_the_page_lists_every_aggregate(people: PrivateTable) -> None:
    asked = {f"a{i}": evaluated(written) for i, written in enumerate(AGGREGATES)}
    found = people.agg(**asked)._query.aggregates
    assert {one.statistic.name for one in found} == {"count", "units", "sum", "mean", "variance", "std"}
    assert len(found) == 8


@pytest.mark.parametrize(
    ("said", "number"),
    [
        (r"more than (\d+) nested operations", DEEPEST),
        (r"or (\d+) steps", MOST_STEPS),
        (r"the first ([\d,]+) characters", LONGEST_PART),
    ],
)
def test_numbers_on_the_page_are_those_of_the_code(said: str, number: int) -> None:
    (found,) = re.findall(said, TEXT)
    assert int(found.replace(",", "")) == number


REFUSED: list[Callable[[PrivateTable], Any]] = [
    lambda t: t.mutate(x=_.age.rank()),
    lambda t: t.mutate(x=_.age - _.age.mean()),
    lambda t: t.mutate(x=ibis.table({"a": "int64"}, name="o").a),
    lambda t: t.mutate(x=_.age + ibis.random()),
    lambda t: t.mutate(x=_.spending.isnan()),
    lambda t: t.filter(*[True]),
    lambda t: t.filter(lambda r: 1 < r.age < 5),
    lambda t: t.mutate(x=_.plan.cast("int64")),
    lambda t: t.mutate(x=1 / _.visits),
    lambda t: t.mutate(x=_.age.ln()),
    lambda t: t.group_by("spending", keys={"spending": [1]}),
    lambda t: t.mutate(__discreet_x=_.age),
    lambda t: t.mutate(AGE=_.age),
]


@pytest.mark.parametrize("ask", REFUSED)
def test_what_the_page_says_is_refused_is(people: PrivateTable, ask: Callable[[PrivateTable], Any]) -> None:
    with pytest.raises(dp.InvalidQuery):
        ask(people)


CURED: list[Callable[[PrivateTable], Any]] = [
    lambda t: t.mutate(x=_.spending.round(), y=1 / _.visits.clip(1, 50), z=(_.age + 1).ln()),
    lambda t: t.group_by(whole=_.spending.floor(), keys={"whole": [1]}, max_groups=1),
    lambda t: t.group_by(much=_.spending > 10, max_groups=1),
    lambda t: t.filter(_.spending.isnull()),
]


@pytest.mark.parametrize("ask", CURED)
def test_what_the_page_says_instead_is_accepted(people: PrivateTable, ask: Callable[[PrivateTable], Any]) -> None:
    assert ask(people) is not None


def test_a_missing_operation_is_seen() -> None:
    without = TEXT.replace("| `_.age ** 2` | Power |", "| `_.age ** 2` | Powers |")
    assert len(entries(without)) == len(ENTRIES) - 1

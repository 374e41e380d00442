"""Packed sums give the totals of plain ones, to the last step, however many rows a person has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.engines.duckdb import UNPACKED_NOTE, DuckDB
from discreet.engines.packed_sums import FEWEST_ROWS, ROWS_AT, TOO_MANY_ROWS, digits, packed_blocks, packs
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

BOUNDS = {"x": (0, 5), "y": (-2, 3), "i": (-3, 7)}
PLANS = ["a", "b", None]


def protected(data: Any, **declared: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "max_rows": 3, "max_groups": 2, "bounds": BOUNDS} | declared
    return dp.protect(data, budget=dp.Budget(epsilon=1), name="packed", **facts)


def means(table: PrivateTable) -> Question:
    """Two packed blocks, of which one counts NULLs, and blocks that are not packed."""
    return table.group_by("plan", keys={"plan": PLANS}).agg(
        n=lambda t: t.count(),
        x=lambda t: t.x.mean(),
        missing=lambda t: t.x.count(),
        spread=lambda t: t.y.var(where=t.i > 0),
        people=lambda t: t.person.nunique(),
        total=lambda t: t.y.sum(where=t.x > 1),
    )


def both(engine: DuckDB, plan: Plan) -> tuple[list[Any], list[Any]]:
    """The totals as they are asked for, and those of the plain statement."""
    assert packs(plan)
    return (
        [block.tolist() for block in engine.totals(plan)],
        [block.tolist() for block in engine.totals(plan, engine._unpacked.of(plan))],
    )


class Heavy(DuckDB):
    """A table of one person with `rows` rows of "a", of which those from `present` on have no value; and of another."""

    def __init__(self, rows: int, present: int, *, value: float) -> None:
        plans = pa.DictionaryArray.from_arrays(np.append(np.zeros(rows), 1).astype(np.int8), ["a", "b"])
        values = {"x": [value, 1.5], "y": [3.0, 0.5]}
        columns = {
            name: pa.array(np.repeat(both, (rows, 1)), mask=np.append(np.arange(rows) >= present, False))
            for name, both in values.items()
        }
        people = np.append(np.ones(rows), 2).astype(np.int64)
        self.asked: list[str] = []
        super().__init__(pa.table({"person": people, "plan": plans, "i": people, **columns}), None)

    def _run(self, declared: Declaration, statement: str) -> pa.Table:
        self.asked.append(statement)
        return super()._run(declared, statement)


REALS = st.sampled_from((None, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308)) | st.floats(-3, 8)
ROWS = st.lists(
    st.tuples(
        st.sampled_from((None, 1, 2, 3)), st.sampled_from((*PLANS, "c")), REALS, REALS,
        st.sampled_from((None, -(2**15), 0, 1, 2**15 - 1)),
    ),
    max_size=30,
)  # fmt: skip
SCHEMA = pa.schema({"person": pa.int64(), "plan": pa.string(), "x": pa.float64(), "y": pa.float64(), "i": pa.int16()})


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    return pa.table([pa.array(part, field.type) for part, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


@pytest.fixture(scope="module")
def asked() -> tuple[Bench, list[Plan]]:
    bench = Bench()
    table = bench.protect(arrow([]), unit="person", max_rows=3, max_groups=2, bounds=BOUNDS)
    whole = table.agg(m=lambda t: t.i.mean(), v=lambda t: t.x.var(), c=lambda t: t.x.cov(t.y))
    return bench, [plan_of(question, epsilon=1) for question in (means(table), whole)]


@pytest.mark.long
@settings(max_examples=40)
@given(rows=ROWS)
def test_packed_totals_are_those_of_plain_sums(asked: tuple[Bench, list[Plan]], rows: list[tuple[Any, ...]]) -> None:
    bench, plans = asked
    engine: Any = bench._engine
    bench.put(arrow(rows))
    for plan in plans:
        found, plain = both(engine, plan)
        assert found == plain


def plans_of(table: PrivateTable) -> dict[str, Plan]:
    spread = table.agg(v=lambda t: t.x.var())
    mean = table.agg(x=lambda t: t.x.mean(), missing=lambda t: t.x.count())
    asked = {"means": means(table), "mean": mean, "spread": spread}
    return {name: plan_of(question, epsilon=1) for name, question in asked.items()}


@pytest.mark.cases
@pytest.mark.parametrize("name", ["mean", "means", "spread"])
@pytest.mark.parametrize("share", [0, 1, 0.5])
def test_the_fullest_pair_is_read(name: str, share: float) -> None:
    """So many rows as a digit has room for, all at the top of the bounds, or without a value, or half of each."""
    most = min(rows_read(plans_of(protected(arrow([])))[name]))
    engine = Heavy(most, int(most * share), value=5)
    plan = plans_of(protected(engine._raw))[name]
    found, plain = both(engine, plan)
    assert found == plain
    assert [TOO_MANY_ROWS in statement for statement in engine.asked] == [True, False]  # the second was ours


@pytest.mark.cases
@pytest.mark.parametrize(("name", "share"), [("means", 1), ("means", 0), ("spread", 1)])
@pytest.mark.parametrize("times", [1, 5])
def test_pairs_of_too_many_rows_are_added_up_again(name: str, share: int, times: int) -> None:
    """One row more than can be read, and several times as many, of which the sums run into the digits above."""
    rows = 1 + times * max(rows_read(plans_of(protected(arrow([])))[name]))
    engine = Heavy(rows, rows * share, value=5)
    plan = plans_of(protected(engine._raw))[name]
    found, plain = both(engine, plan)
    assert found == plain
    assert [TOO_MANY_ROWS in statement for statement in engine.asked] == [True, False, False]
    assert found[0] != [[0] * len(row) for row in found[0]]


def rows_read(plan: Plan) -> list[int]:
    """The most rows that each of the blocks can tell apart."""
    return [digits(block)[1] for block in packed_blocks(plan).values()]


@pytest.mark.long
def test_groups_that_come_in_parts_are_added_up_again_before_any_has_noise() -> None:
    engine = Heavy(3_000_000, 3_000_000, value=5)
    plan = plans_of(protected(engine._raw))["means"]
    parts = list(engine.streamed(plan, engine.statement(plan), lambda _, totals: totals))
    plain = engine.totals(plan, engine._unpacked.of(plan))
    assert [[block.tolist() for block in part] for part in parts] == [[block.tolist() for block in plain]]
    assert [TOO_MANY_ROWS in statement for statement in engine.asked] == [True, False, False]


@pytest.mark.parametrize(
    "bounds",
    [(0, 1), (0, 255), (0, 2**40 - 1), (-3, 2**39), (0.0, 1e70), (1e-70, 2e-70), (0.0, 1e200), (1e-200, 2e-200)],
)
def test_digits_do_not_meet(bounds: tuple[float, float]) -> None:
    """Of the most rows that can be read; and the largest sum of all has 127 bits."""
    table = protected(arrow([]), bounds={"x": bounds, "y": bounds})
    asked: dict[str, Any] = {"m": lambda t: t.x.mean()}
    if 1e-75 < bounds[1] - bounds[0] < 1e75:  # beyond, there are no variances
        asked |= {"v": lambda t: t.x.var(), "c": lambda t: t.x.cov(t.y)}
    question = table.agg(**asked)
    for block in packed_blocks(plan_of(question, epsilon=1)).values():
        (at, most), high = digits(block), block.steps // block.lattice.fine
        assert most * high < 2**at
        assert most * 2**at + most * high < 2**ROWS_AT
        assert (ROW_CAP - 1) * (2**ROWS_AT + max(2**at, high)) < 2**127


def test_so_many_rows_can_be_told_apart_as_docs_engines_duckdb_md_says() -> None:
    table = protected(arrow([]), max_rows=100)
    asked = {"mean": table.agg(m=lambda t: t.x.mean()), "spread": table.agg(v=lambda t: t.x.var())}
    asked["products"] = table.agg(c=lambda t: t.x.cov(t.y))
    found = {name: min(rows_read(plan_of(question, epsilon=1))) for name, question in asked.items()}
    assert found == {"mean": 2**19 - 1, "spread": 2**18 - 1, "products": FEWEST_ROWS}


def test_what_is_not_packed() -> None:
    """Rows as units have no pairs, counts and sums with a sign keep their columns, products of columns leave too little
    room, long answers come in parts.
    """
    table = protected(arrow([]))
    keys = range(2**17 + 1)
    questions = {
        "rows": protected(arrow([]), unit=dp.ROW, max_rows=None, max_groups=None).agg(m=lambda t: t.x.mean()),
        "counts": table.agg(n=lambda t: t.count(), people=lambda t: t.person.nunique()),
        "signed": table.agg(total=lambda t: t.y.sum()),
        "products": table.agg(c=lambda t: t.x.cov(t.y)),
        "long": table.group_by("i", keys={"i": keys}).agg(m=lambda t: t.x.mean()),
    }
    engine = DuckDB(arrow([]), None)
    for name, question in questions.items():
        plan = plan_of(question, epsilon=1)
        assert not packs(plan), name
        assert TOO_MANY_ROWS not in engine.statement(plan), name


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(2**17, 2**17 + 1), (2**17 + 1, 2**17)])
def test_statements_of_long_and_short_answers_are_told_apart(sizes: tuple[int, int]) -> None:
    """Both have places of the same width. A packed statement that is streamed would have a column too many, and which
    question came first is no part of what the second is known by.
    """
    table, engine = protected(arrow([])), DuckDB(arrow([]), None)
    for size in sizes:
        plan = plan_of(table.group_by("i", keys={"i": range(size)}).agg(m=lambda t: t.x.mean()), epsilon=1)
        assert packs(plan) == (size == 2**17)
        assert (TOO_MANY_ROWS in engine.statement(plan)) == packs(plan)


def test_both_statements_are_shown() -> None:
    table = protected(arrow([]))
    assert means(table).explain(epsilon=1)["sql"].count(UNPACKED_NOTE) == 1
    assert UNPACKED_NOTE not in table.agg(n=lambda t: t.count()).explain(epsilon=1)["sql"]

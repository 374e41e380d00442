"""One unit counts no more than its limits, by weights, whoever the unit is and whatever names it has."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.engines.contribution_weights import bounded, entries
from discreet.engines.duckdb import DuckDB
from discreet.engines.generated_columns import Columns
from discreet.planning.forms import SUM
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

Totals = list[Any]


def protected(data: Any, **declared: Any) -> PrivateTable:
    facts: dict[str, Any] = {"max_rows": 1, "max_groups": 1, "name": "units", "budget": dp.Budget(epsilon=1)} | declared
    return dp.protect(data, **facts)


def in_rows(question: Question, data: Any) -> Totals:
    """The totals of the first block, in rows."""
    plan = plan_of(question, epsilon=1)
    totals = DuckDB(data, None).totals(plan)[0]
    return [[float(entry) / plan.blocks[0].steps for entry in row] for row in totals.tolist()]


def persons(ids: pa.Array, *, column: str = "person") -> float:
    """How many units the engine tells apart."""
    data = pa.table({column: ids})
    table = protected(data, unit=column)
    return float(in_rows(table.nunique(), data)[0][0])


@pytest.mark.parametrize("groups", [1, 2, 3, 5])
def test_a_unit_in_many_groups_is_weighted(groups: int) -> None:
    """A person with a row in each of five groups counts K/5 in each: K in all, however many groups there are."""
    plans = list("abcde")
    data = pa.table({"person": [1] * 5 + [2], "plan": [*plans, "a"]})
    table = protected(data, unit="person", max_groups=groups)
    found = in_rows(table.group_by("plan", keys={"plan": plans}).agg(n=lambda t: t.count()), data)
    expected = [[1 + groups / 5], *[[groups / 5]] * 4]
    assert found == [pytest.approx(row, abs=1e-9) for row in expected]


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_a_unit_with_many_rows_is_weighted(limit: int) -> None:
    """Its mean is that of all its rows, at the weight of `max_rows` of them."""
    data = pa.table({"person": [1] * 20, "x": [float(i % 5) for i in range(20)]})
    table = protected(data, unit="person", max_rows=limit, bounds={"x": (0, 4)})
    [[above, below]] = in_rows(table.agg(m=table.x.mean()), data)
    assert above + below == pytest.approx(min(limit, 20), abs=1e-9)
    assert above / (above + below) == pytest.approx(0.5, abs=1e-9)


def test_groups_that_are_not_listed_take_no_weight() -> None:
    data = pa.table({"person": [1] * 4, "plan": ["a", "x", "y", None]})
    table = protected(data, unit="person", max_groups=1)
    question = table.group_by("plan", keys={"plan": ["a", "b"]}).agg(n=lambda t: t.count())
    assert in_rows(question, data) == [[1.0], [0.0]]


def test_a_condition_of_a_column_moves_no_weight_between_groups() -> None:
    """Weights follow the groups that a person has rows in, not those that a `where=` leaves: for all columns."""
    data = pa.table({"person": [1, 1], "plan": ["a", "b"], "x": [0, 1]})
    table = protected(data, unit="person")
    question = table.group_by("plan", keys={"plan": ["a", "b"]}).agg(n=lambda t: t.count(where=t.x > 0))
    assert in_rows(question, data) == [[0.0], [pytest.approx(0.5)]]


def test_units_are_counted_once_whatever_the_rows() -> None:
    data = pa.table({"person": [1] * 50 + [2], "plan": ["a"] * 51})
    table = protected(data, unit="person", max_rows=5)
    question = table.group_by("plan", keys={"plan": ["a"]}).agg(n=lambda t: t.person.nunique())
    assert in_rows(question, data) == [[2.0]]


NAMES: dict[str, tuple[Callable[[], pa.Array], int]] = {
    "NULL names nobody": (lambda: pa.array([None, None, 1], pa.int64()), 1),
    "NaN names nobody": (lambda: pa.array([math.nan, -math.nan, 1.0]), 1),
    "NaN of another payload": (
        lambda: pa.array(np.array([0x7FF8000000000001, 0xFFF8000000000000], "u8").view("f8")),
        0,
    ),
    "negative zero is zero": (lambda: pa.array([0.0, -0.0, 1.0]), 2),
    "infinities are two": (lambda: pa.array([math.inf, -math.inf, 1.7976931348623157e308]), 3),
    "floats": (lambda: pa.array([0.1, 0.1, 0.2], pa.float32()), 2),
    "halves": (lambda: pa.array(np.array([0.1, 0.1, 0.2], np.float16)), 2),
    "large unsigned": (lambda: pa.array([2**63, 2**63 + 1, 2**64 - 1, 5], pa.uint64()), 4),
    "ends of int64": (lambda: pa.array([2**63 - 1, 2**63 - 2, -(2**63)]), 3),
    "long decimals": (lambda: pa.array([Decimal(10**37 + i) for i in range(4)], pa.decimal128(38, 0)), 4),
    "texts": (lambda: pa.array(["a", "A", "a ", "a\x00", "é", "e\u0301", "\uff45", ""]), 8),
    "dictionary": (lambda: pa.array(["a", "b", "a", None]).dictionary_encode(), 2),
    "truth values": (lambda: pa.array([True, False, True, None]), 2),
    "days": (lambda: pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]), 2),
    "days beyond the years": (lambda: pa.array([2**31 - 2, 2**31 - 3, -(2**31) + 5], pa.int32()).view(pa.date32()), 3),
    "nanoseconds": (lambda: pa.array([1, 2, 3], pa.int64()).view(pa.timestamp("ns")), 3),
    "seconds beyond microseconds": (lambda: pa.array([10**14, 10**14 + 1], pa.int64()).view(pa.timestamp("s")), 2),
    "one instant in one zone": (lambda: pa.array([0, 0, 1], pa.int64()).view(pa.timestamp("us", "Asia/Tokyo")), 2),
}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_names_tell_people_apart(name: str) -> None:
    """Two people taken for one would be protected as one: removing either could move more than the claim."""
    make, expected = NAMES[name]
    assert persons(make()) == expected


def test_objects_of_pandas_are_told_apart_as_text() -> None:
    ids = pd.Series([1, "1", 1.0, True, None, math.nan, "\ud800", "\udfff", [1]], dtype=object)
    data = pd.DataFrame({"person": ids})
    table = protected(data, unit="person")
    assert in_rows(table.nunique(), data) == [[5.0]]  # '1' twice, '1.0', 'True', and two lone surrogates


def test_a_unit_of_several_columns_needs_all_of_them() -> None:
    data = pa.table({"site": ["x", "x", "y", None, "y"], "person": [1, 1, 1, 1, None], "v": [1] * 5})
    table = protected(data, unit=["site", "person"])
    assert in_rows(table.count(), data) == [[2.0]]


def test_columns_of_the_unit_may_be_read_but_not_rewritten() -> None:
    data = pa.table({"person": [1, 2, 3]})
    table = protected(data, unit="person")
    assert in_rows(table.filter(table.person > 1).count(), data) == [[2.0]]
    for name in ("person", "PERSON", "__discreet_unit_0", "__DISCREET_UNIT_0"):
        with pytest.raises(dp.InvalidQuery):
            table.mutate(**{name: table.person + 1})


@pytest.mark.parametrize("name", ["__discreet_unit_0", "__discreet_unit_7", "__DISCREET_UNIT_0", "__Discreet_x"])
def test_raw_columns_with_our_prefix_are_refused(name: str) -> None:
    """A column that looks like a part of the unit would split people: one of three rows would count as three people."""
    with pytest.raises(dp.InvalidParameter, match="__discreet is taken"):
        protected(pa.table({"person": [1, 1, 1], name: [1, 2, 3]}), unit="person")


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.long
@settings(max_examples=30)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-10, 10)), max_size=30),
    groups=st.integers(1, 6),
    limit=st.integers(1, 40),
    signed=st.booleans(),
)
def test_one_unit_alone_stays_within_its_limits(
    bench: Bench, *, rows: list[tuple[str, float]], groups: int, limit: int, signed: bool
) -> None:
    """Every form at once: the absolute values of one unit's entries sum to at most groups x rows x steps."""
    data = pa.table(
        {
            "person": pa.array([1] * len(rows), pa.int64()),
            "g": pa.array([g for g, _ in rows], pa.string()),
            "x": pa.array([x for _, x in rows], pa.float64()),
        }
    )
    table = bench.protect(data, unit="person", bounds={"x": (-5 if signed else 0, 5)})
    asked = table.group_by("g", keys={"g": list("abcdef")}, max_groups=groups, max_rows=limit).agg(
        n=lambda t: t.count(), u=lambda t: t.person.nunique(), s=lambda t: t.x.sum(where=t.x > -1),
        m=lambda t: (t.x / 2).mean(), v=lambda t: (t.x + 1).var(),
    )  # fmt: skip
    plan = plan_of(asked, epsilon=1)
    present = len({g for g, _ in rows})
    for block, totals in zip(plan.blocks, bench.totals(plan), strict=True):
        size = sum(abs(int(entry)) for entry in totals.ravel())
        assert size <= block.sensitivity
        rows_of_form = 1 if block.block.form.name == "units" else limit
        assert size <= min(groups, present) * rows_of_form * block.steps


def test_whatever_the_sums_were_a_unit_stays_within_its_total() -> None:
    """The proof takes nothing from the sums, so that they may be those of any column and any engine."""
    data = pa.table({"person": [1], "x": [1.0]})
    table = protected(data, unit="person", bounds={"x": (0, 5)}, max_rows=3)
    lone = table.mutate(y=table.x - 2)
    for asked in (
        table.agg(n=lambda t: t.count(), m=table.x.mean()),
        table.agg(v=table.x.var()),
        lone.agg(s=lone.y.sum()),
    ):
        plan = plan_of(asked, epsilon=1)
        [block] = plan.blocks
        own = Columns(0)
        names = [own.rows, *[own.held] * block.block.nulls, *(own.sum(j) for j in range(block.block.parts))]
        ends: list[list[int | None]] = [[0, 1, 3, 4, 2**50]]
        ends += [[-(2**62), -1, 0, 2, block.steps, 2**62, None]] * (len(names) - 1)
        sums = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in itertools.product(*ends)])
        within = bounded(plan, ibis.memtable(sums), [own.rows])
        found = ibis.duckdb.connect().to_pyarrow(within.select(own.rows, **entries(plan, within))).to_pydict()
        wholes = [min(rows, 3) * block.steps for rows in found[own.rows]]
        assert (own.whole in found) is not block.block.signed
        assert found.get(own.whole, wholes) == wholes
        for whole, *parts in zip(
            wholes, *(found[name] for name in found if name.startswith(own.entry(""))), strict=True
        ):
            assert sum(abs(part) for part in parts) <= whole
            assert block.block.form is SUM or min(parts) >= 0
            low, high = block.lattice.ends if block.block.form is SUM else (0, block.steps)
            assert all(low * whole <= part * block.steps <= high * whole for part in parts)


@pytest.mark.parametrize("most", [3, 2**15 - 1, 2**15, 2**31])
def test_rows_that_count_fit_whatever_their_limit(most: int) -> None:
    """A person's rows in a group are kept in as few bytes as the limit leaves, and no fewer."""
    data = pa.table({"person": [1] * 40_000, "plan": ["a"] * 40_000})
    table = protected(data, unit="person", max_rows=most, keys={"plan": ["a", "b"]})
    assert in_rows(table.group_by("plan").agg(n=lambda t: t.count()), data)[0] == [min(most, 40_000)]


def test_places_fit_whatever_their_number() -> None:
    """The same question about a few keys and then about more than 16 bits can tell, of one table."""
    plans = range(40_000)
    data = pa.table({"person": [1, 1, 2], "plan": [0, 1, 39_999]})
    engine = DuckDB(data, None)
    table = protected(data, unit="person", max_groups=2)
    for keys, places in ((plans[:3], [0, 1]), (plans, [0, 1, 39_999])):
        question = table.group_by("plan", keys={"plan": keys}).agg(n=lambda t: t.count())
        plan = plan_of(question, epsilon=1)
        found = engine.totals(plan)[0][:, 0] // plan.blocks[0].steps
        assert np.flatnonzero(found).tolist() == places

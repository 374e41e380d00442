"""Neighbors are neighbors: they differ by one unit, whatever else differs; and hostile values are really there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.query.question import Question
from discreet.testing.neighbors import (
    IDENTITIES,
    INTEGERS,
    MOMENTS,
    REALS,
    NeighborPair,
    Rows,
    array,
    hostile,
    l1_distances,
    neighbors,
    pairs,
    rows_of,
    schemas,
    without,
)
from neighbor_bench import Bench, plan_of
from random_questions import questions

KINDS = [*dict.fromkeys((*INTEGERS, *REALS, *MOMENTS, *IDENTITIES, pa.bool_(), pa.string(), pa.date32()))]
UNIT = st.sampled_from(((), ("person",), ("person", "site")))


def key(row: tuple[Any, ...]) -> tuple[str, ...]:
    """A row as something that is equal to itself, NaN and all."""
    return tuple(map(repr, row))


def named(table: Rows, unit: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    """The rows that belong to somebody."""
    return Counter(key(row) for row in table.rows if not unit or table.unit_of(row, unit) is not None)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_hostile_values_are_of_their_type(kind: pa.DataType) -> None:
    values = hostile(kind)
    made = array(values, kind)
    assert made.type == kind
    assert made.null_count == values.count(None) == 1
    assert len(made) == len(values) >= 3


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_integers_have_their_ends(kind: pa.DataType) -> None:
    half = 2 ** (kind.bit_width - 1)
    assert ({0, 2 * half - 1} if str(kind).startswith("u") else {-half, half - 1}) <= set(hostile(kind))


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_reals_have_what_breaks_things(kind: pa.DataType) -> None:
    values = array(hostile(kind), kind).to_pylist()
    assert any(value is not None and math.isnan(value) for value in values)
    assert {math.inf, -math.inf} <= set(values)
    assert any(value == 0 and math.copysign(1, value) < 0 for value in values if value is not None)
    assert 0 < min(abs(value) for value in values if value and math.isfinite(value)) < 1e-6


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(pair=pairs())
def test_a_pair_differs_by_one_unit(pair: NeighborPair) -> None:
    first, second = named(pair.first, pair.unit), named(pair.second, pair.unit)
    gone, come = first - second, second - first
    if not pair.unit:
        assert gone.total() <= 1
        assert come.total() <= 1
        return
    units = [set(table.units(pair.unit)) for table in (pair.first, pair.second)]
    assert len(units[0] - units[1]) <= 1
    assert len(units[1] - units[0]) <= 1
    if not pair.replaced:
        assert not (units[0] - units[1] and units[1] - units[0])
    for table, rows in ((pair.first, gone), (pair.second, come)):
        owners = {table.unit_of(row, pair.unit) for row in table.rows if rows[key(row)]}
        assert len(owners) <= 1


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(pair=pairs())
def test_tables_of_a_pair_have_one_schema(pair: NeighborPair) -> None:
    assert pair.first.to_arrow().schema == pair.second.to_arrow().schema


INTERESTING: dict[str, Callable[[NeighborPair], bool]] = {
    "empty": lambda pair: not pair.first.rows,
    "many rows added": lambda pair: len(pair.second.rows) - len(pair.first.rows) > 5 and pair.unit != (),
    "a removal": lambda pair: len(pair.second.rows) < len(pair.first.rows) and pair.unit != () and not pair.replaced,
    "nobody's rows": lambda pair: any(row[0] is None for row in pair.second.rows) and pair.unit != (),
    "half a name": lambda pair: any(row[0] and row[1] is None for row in pair.first.rows) and len(pair.unit) == 2,
    "texts as units": lambda pair: pa.types.is_string(pair.first.columns[0][1]) and pair.first.units(["person"]) != [],
    "several groups": lambda pair: len({row[2] for row in pair.second.rows} & {"a", "b", None}) == 3,
    "NaN": lambda pair: any(value != value for row in pair.second.rows for value in row),  # noqa: PLR0124 (NaN)
}


@pytest.mark.long
def test_what_matters_is_drawn() -> None:
    """Within ten runs of 300 examples each kind of pair that has broken something is among them."""
    missing = set(INTERESTING)

    @settings(max_examples=300, suppress_health_check=list(HealthCheck), database=None)
    @given(pair=pairs())
    def look(pair: NeighborPair) -> None:
        missing.difference_update([name for name in missing if INTERESTING[name](pair)])

    for number in range(10):
        if missing:
            seed(number)(look)()
    assert not missing


TABLE = Rows((("person", pa.float64()), ("x", pa.int64())), ((1.0, 1), (-0.0, 2), (0.0, 3), (math.nan, 4), (None, 5)))


def test_units_are_named_as_the_engine_names_them() -> None:
    assert TABLE.units(["person"]) == [(1.0,), (0.0,)]
    assert [TABLE.unit_of(row, ["person"]) for row in TABLE.rows] == [(1.0,), (0.0,), (0.0,), None, None]
    assert TABLE.units(["person", "x"]) == [(1.0, 1), (0.0, 2), (0.0, 3)]


def test_without_takes_all_rows_of_one() -> None:
    assert without(TABLE, ["person"], (0.0,)).rows == tuple(TABLE.rows[i] for i in (0, 3, 4))
    assert len(without(TABLE, [], 3).rows) == 4


def test_moved_is_the_norm_over_all_totals() -> None:
    wide = [array([1, 2**40], pa.int64()).to_numpy(), array([0, 0], pa.int64()).to_numpy()]
    assert l1_distances(wide, [wide[1], wide[1]]) == [2**40 + 1, 0]
    with pytest.raises(ValueError, match=r"shorter|longer"):
        l1_distances(wide, wide[:1])


@given(table=schemas().flatmap(rows_of), unit=UNIT, data=st.data())
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_neighbors_of_any_table_can_be_asked_for(table: Rows, unit: tuple[str, ...], data: st.DataObject) -> None:
    other = data.draw(neighbors(table, unit))
    assert other.columns == table.columns
    assert repr(other).startswith("Rows([")


@pytest.mark.long
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_questions_have_a_price(data: st.DataObject) -> None:
    """Nearly all of what is drawn is accepted; what is not is drawn again."""
    rows = data.draw(schemas().flatmap(rows_of)).to_arrow()
    table = Bench().protect(rows, unit="person", bounds={"x": (0, 5)}, max_rows=2)
    question = data.draw(questions(table))
    assert isinstance(question, Question)
    plan = plan_of(question, epsilon=1)
    assert plan.blocks or plan.ranks


def test_a_bench_without_a_table_says_so() -> None:
    table = dp.protect(pa.table({"a": [1]}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    with pytest.raises(RuntimeError, match="protect a table first"):
        Bench().totals(plan_of(table.count(), epsilon=1))

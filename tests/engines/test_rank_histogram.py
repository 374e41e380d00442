"""Masses of cells: counted by hand where a row is a unit; never more than a unit may have; NULL and others left out."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.statement_cache import SEPARATOR
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

Masses = dict[tuple[int, int], float]


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def in_rows(bench: Bench, question: Question, i: int = 0) -> Masses:
    """The mass of each group and cell, in rows."""
    plan = plan_of(question, epsilon=1)
    found, steps = bench.masses(plan)[i], plan.ranks[i].steps
    places = zip(found.group.tolist(), found.cell.tolist(), strict=True)
    return {place: mass / steps for place, mass in zip(places, found.mass.tolist(), strict=True)}


def table(bench: Bench, data: dict[str, Any], **declared: Any) -> PrivateTable:
    return bench.protect(pa.table(data), **declared)


def test_rows_are_counted_cell_by_cell(bench: Bench) -> None:
    ages = table(bench, {"age": [3, 5, 5, None, -4, 99]}, unit=dp.ROW, bounds={"age": (2, 10)})
    assert in_rows(bench, ages.agg(m=ages.age.median())) == {(0, 0): 1, (0, 1): 1, (0, 3): 2, (0, 8): 1}


def test_conditions_and_groups(bench: Bench) -> None:
    data = {"plan": ["a", "b", "a", "c", None], "age": [1, 2, 3, 4, 5]}
    ages = table(bench, data, unit=dp.ROW, bounds={"age": (0, 9)})
    asked = ages.group_by("plan", keys={"plan": ["b", None, "a", "absent"]}).agg(
        m=ages.age.quantile(0.9, where=ages.age != 3)
    )
    assert in_rows(bench, asked) == {(0, 2): 1, (1, 5): 1, (2, 1): 1}


def test_a_constant_may_hold_what_stands_between_statements(bench: Bench) -> None:
    """The statements were cut there, so that a release failed after its charge."""
    ages = table(bench, {"plan": ["a", "b"], "age": [1, 2]}, unit=dp.ROW, bounds={"age": (0, 9)})
    other = ages.plan != f"a{SEPARATOR}b"
    asked = ages.agg(m=ages.age.median(where=other), most=ages.age.max())
    assert [in_rows(bench, asked, i) for i in range(2)] == [{(0, 1): 1, (0, 2): 1}] * 2


def test_reals_lie_on_a_lattice(bench: Bench) -> None:
    reals = table(bench, {"x": [0.0, 1.0, 0.5, float("nan"), float("inf")]}, unit=dp.ROW, bounds={"x": (0, 1)})
    plan = plan_of(reals.agg(m=reals.x.median()), epsilon=1)
    high = plan.ranks[0].lattice.high
    assert in_rows(bench, reals.agg(m=reals.x.median())) == {(0, 0): 1, (0, high): 2, (0, -(-high // 2)): 1}


def test_dates_and_times_are_numbers(bench: Bench) -> None:
    data = {
        "day": [datetime.date(2020, 1, 3), datetime.date(2019, 1, 1)],
        "at": [np.datetime64("2020-01-02", "us")] * 2,
    }
    bounds = {"day": ("2020-01-01", "2020-12-31"), "at": ("2020-01-01", "2020-01-03")}
    when = table(bench, data, unit=dp.ROW, bounds=bounds)
    assert in_rows(bench, when.agg(m=when.day.median())) == {(0, 0): 1, (0, 2): 1}
    asked = when.agg(m=when.at.median())
    assert [cell / plan_of(asked, epsilon=1).ranks[0].lattice.high for _, cell in in_rows(bench, asked)] == [0.5]


LIMITS = [(1, 1), (1, 3), (2, 1), (2, 5), (6, 40)]


@pytest.mark.parametrize(("max_groups", "max_rows"), LIMITS)
def test_a_unit_has_no_more_mass_than_it_may(bench: Bench, max_groups: int, max_rows: int) -> None:
    """Forty rows in each of six groups: the limits are used up, and not exceeded."""
    rows = [(plan, i % 7) for plan in "abcdef" for i in range(40)]
    data = {"person": [1] * 240, "plan": [plan for plan, _ in rows], "x": [x for _, x in rows]}
    people = table(bench, data, unit="person", bounds={"x": (0, 6)}, max_groups=max_groups, max_rows=max_rows)
    asked = people.group_by("plan", keys={"plan": list("abcdef")}).agg(m=people.x.median())
    plan = plan_of(asked, epsilon=1)
    mass = sum(bench.masses(plan)[0].mass.tolist())
    assert 0.999 * plan.ranks[0].cuts.mass < mass <= plan.ranks[0].cuts.mass


def test_a_unit_within_its_limits_counts_in_full(bench: Bench) -> None:
    data = {"person": [1, 1, 2, None], "x": [0, 3, 3, 3]}
    people = table(bench, data, unit="person", bounds={"x": (0, 6)}, max_rows=2)
    assert in_rows(bench, people.agg(m=people.x.max())) == {(0, 0): 1, (0, 3): 2}


def test_a_unit_with_many_rows_is_weighted(bench: Bench) -> None:
    data = {"person": [1] * 8 + [2], "x": [0] * 6 + [5] * 2 + [5]}
    people = table(bench, data, unit="person", bounds={"x": (0, 6)}, max_rows=4)
    assert in_rows(bench, people.agg(m=people.x.median())) == {(0, 0): 3, (0, 5): 2}


def test_blocks_have_masses_of_their_own(bench: Bench) -> None:
    data = {"x": [1, 2], "y": [5, 5]}
    both = table(bench, data, unit=dp.ROW, bounds={"x": (0, 9), "y": (0, 9)})
    asked = both.agg(a=both.x.median(), n=both.x.count(), b=both.y.max())
    assert in_rows(bench, asked, 0) == {(0, 1): 1, (0, 2): 1}
    assert in_rows(bench, asked, 1) == {(0, 5): 2}


def test_parts_of_a_second_are_cut_off(bench: Bench) -> None:
    """Engines round them in ways of their own."""
    at = np.array(["2020-01-01T00:00:01.6", "2020-01-01T00:00:02", "2020-01-01T00:00:02.5"], dtype="datetime64[us]")
    when = table(bench, {"at": at}, unit=dp.ROW, bounds={"at": ("2020-01-01", "2020-01-01T00:00:04")})
    lattice = plan_of(when.agg(m=when.at.median()), epsilon=1).ranks[0].lattice
    assert in_rows(bench, when.agg(m=when.at.median())) == {
        (0, 2**lattice.exponent): 1,
        (0, 2 * 2**lattice.exponent): 2,
    }

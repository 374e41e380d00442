"""Scores: exact to the last step, and no two of them further apart than claimed, for all small neighbors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.planning.exact_scores import ExactScores, exact_scores_of
from discreet.privacy.definitions import Guarantee
from discreet.query.table import PrivateTable
from neighbor_bench import Bench

CHARGE = Guarantee(epsilon=Fraction(1))
Scores = dict[str, Any]
MIXED: Scores = {
    "rows": lambda t: t.count(where=t.v == 1),
    "others": lambda t: t.count(where=t.v == 2),
    "sum": lambda t: t.v.sum(),
    "both signs": lambda t: t.x.sum(),
    "below": lambda t: (t.x - 2).clip(-3, 0).sum(),
}
"""Of different lattices: 1 row at most, 3, from -1.5 to 2, and from -3 to 0."""
COUNTS: Scores = {f"c{i}": _.count(where=_.v == i) for i in range(3)}
ROWS: list[tuple[int | None, float | None]] = [(1, -1.5), (2, 2.0), (3, 0.25), (None, None)]
BOUNDS = {"v": (0, 3), "x": (-1.5, 2)}


def data(rows: list[tuple[int, int | None, float | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 3
    kinds = (pa.int64(), pa.int64(), pa.float64())
    return pa.table({n: pa.array(c, k) for n, c, k in zip(("person", "v", "x"), columns, kinds, strict=True)})


OTHERS = [(1, 1, 0.5), (2, 3, -1.0)]


def databases(rows: int) -> Iterator[pa.Table]:
    """All tables of two others and a person with so many rows at most; the first is without it."""
    for number in range(rows + 1):
        for own in itertools.combinations_with_replacement(ROWS, number):
            yield data([*OTHERS, *((9, *row) for row in own)])


def scores_of(table: PrivateTable, asked: Scores) -> ExactScores:
    return exact_scores_of(table.agg(**asked)._query, CHARGE)


def width(one: Any, other: Any) -> Fraction:
    """By how much two scores come apart at most."""
    moved: list[Fraction] = list(np.subtract(one, other))
    return max(moved) - min(moved)


@pytest.mark.cases
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("asked", [MIXED, COUNTS], ids=["mixed", "counts"])
@pytest.mark.parametrize("unit", ["person", "row"])
def test_no_unit_moves_two_scores_further_apart_than_claimed(unit: str, asked: Scores, *, replaced: bool) -> None:
    """And counts of rows come as far apart as that."""
    bench, most = Bench(), 2 if unit == "person" else 1
    stated: dict[str, Any] = {"unit": "person", "max_rows": most} if unit == "person" else {"unit": dp.ROW}
    stated |= {"neighbors": "replace-one", "units" if unit == "person" else "rows": 3} if replaced else {}
    scores = scores_of(bench.protect(data([*OTHERS]), bounds=BOUNDS, **stated), asked)
    found = [scores.of(bench.totals(scores.plan, one)) for one in databases(most + 1 if unit == "person" else 1)]
    neighbors = itertools.combinations(found, 2) if replaced else ((found[0], one) for one in found[1:])
    widest = max(width(*two) for two in neighbors)
    assert widest <= scores.spread
    assert widest == scores.spread or asked is MIXED
    assert widest > scores.spread / 2 or replaced


@pytest.mark.long
@pytest.mark.parametrize("replaced", [False, True])
def test_rows_of_a_unit_in_several_tables_are_told_apart(*, replaced: bool) -> None:
    bench = Bench()
    stated: dict[str, Any] = {"neighbors": "replace-one", "rows": 9} if replaced else {}
    one, two = bench.protect_all([data([*OTHERS]), data([])], unit=dp.ROW, bounds=BOUNDS, **stated)
    question = one.union(two).agg(**COUNTS)
    bench.plan(question, epsilon=1)
    scores = exact_scores_of(question._query, CHARGE)
    assert scores.spread == (4 if replaced else 2)
    found = [scores.of(bench.totals(scores.plan, *pair)) for pair in itertools.product(databases(1), repeat=2)]
    neighbors = itertools.combinations(found, 2) if replaced else ((found[0], other) for other in found[1:])
    assert max(width(*two) for two in neighbors) == scores.spread


def test_scores_are_exact_numbers() -> None:
    bench = Bench()
    rows = [(1, 3, -1.5), (1, 2, 0.25), (2, None, None), (3, 1, 2.0)]
    scores = scores_of(bench.protect(data(rows), unit=dp.ROW, bounds=BOUNDS), MIXED)
    assert scores.of(bench.totals(scores.plan)).tolist() == [1, 1, 6, Fraction(3, 4), Fraction(-19, 4)]
    assert scores.of(bench.totals(scores.plan, data([]))).tolist() == [0] * 5


def test_equal_scores_are_found_once() -> None:
    scores = scores_of(Bench().protect(data([]), unit=dp.ROW), {"a": lambda _: _.count(), "b": lambda _: _.count()})
    assert scores.places == (0, 0)
    assert len(scores.plan.blocks) == 1


def test_the_spread_is_known_without_rows() -> None:
    """Of hand-made cases: what the definition gives."""
    table = dp.protect(data([]), unit="person", max_rows=4, bounds=BOUNDS, budget=dp.Budget(epsilon=1))
    assert scores_of(table, COUNTS).spread == 4
    assert scores_of(table, {"a": lambda t: t.v.sum(), "b": lambda t: (-t.v).sum()}).spread == 24
    assert scores_of(table, {"a": lambda t: (t.v + 5).sum()}).spread == 4 * 8
    assert scores_of(table, {"a": _.v.sum(), "b": _.count()}).spread == 12

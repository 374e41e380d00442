"""Distances between columns, found in three ways and by comparing all pairs."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.sensitivity.workload_sensitivity import (
    Norm,
    Workload,
    _by_products,
    _by_pruning,
    _by_signs,
    counts_sensitivity,
    diameter,
    histogram_sensitivity,
    mean_sensitivity,
    sum_sensitivity,
)

BOTH = ("add-remove", "replace-one")


def brute(columns: NDArray[Any], norm: Norm) -> int:
    """The largest distance by trying all pairs, in Python integers; squared for norm 2."""
    best = 0
    for a, b in itertools.combinations(columns.T.tolist(), 2):
        apart = [abs(x - y) for x, y in zip(a, b, strict=True)]
        best = max(best, {1: sum(apart), 2: sum(d * d for d in apart), "inf": max(apart)}[norm])
    return best


@st.composite
def matrices(draw: st.DrawFn, largest: int = 5) -> NDArray[np.int64]:
    k, m = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    cells = draw(st.lists(st.integers(-largest, largest), min_size=k * m, max_size=k * m))
    return np.array(cells, dtype=np.int64).reshape(k, m)


@given(matrices())
def test_every_way_agrees(columns: NDArray[np.int64]) -> None:
    for norm in (1, 2, "inf"):
        assert diameter(columns, norm) == diameter(columns.astype(object), norm) == brute(columns, norm)
        assert _by_pruning(columns, norm) == brute(columns, norm)
    assert _by_signs(columns) == brute(columns, 1)
    assert _by_products(columns) == brute(columns, 2)
    bits = np.abs(columns) % 2
    assert _by_products(bits) == brute(bits, 1)


@given(matrices(), st.integers(1, 7))
@settings(max_examples=50)
def test_add_remove_takes_the_largest_column(columns: NDArray[np.int64], denominator: int) -> None:
    matrix = np.array([[Fraction(int(x), denominator) for x in row] for row in columns], dtype=object)
    found = Workload(matrix)
    assert found.sensitivity(1) == max(sum(map(abs, column)) for column in matrix.T.tolist())
    assert found.sensitivity("inf") == max(max(map(abs, column)) for column in matrix.T.tolist())
    square = max(sum(x * x for x in column) for column in matrix.T.tolist())
    assert found.sensitivity(2) ** 2 >= square
    assert found.sensitivity(2) ** 2 <= square * (1 + Fraction(1, 2**59))


def test_a_histogram_moves_by_two() -> None:
    for bins in (2, 3, 100):
        histogram = Workload.histogram(bins)
        assert [histogram.sensitivity(neighbors=relation) for relation in BOTH] == [1, 2]
        assert [histogram_sensitivity(bins, neighbors=relation) for relation in BOTH] == [1, 2]
        assert histogram.sensitivity(2, neighbors="replace-one") == histogram_sensitivity(
            bins, 2, neighbors="replace-one"
        )
        assert histogram.sensitivity("inf", neighbors="replace-one") == histogram_sensitivity(bins, "inf") == 1
    assert histogram_sensitivity(1, neighbors="replace-one") == 1  # in the bin, or in none
    assert Workload([[1, 0]]).sensitivity(neighbors="replace-one") == 1


def test_one_conjunction_is_one_count() -> None:
    domain = list(itertools.product(range(111), (False, True)))
    both = Workload.of_predicates([lambda kind: kind[0] > 50 and kind[1]], domain=domain)
    assert [both.sensitivity(neighbors=relation) for relation in BOTH] == [1, 1]


def test_overlapping_questions() -> None:
    """Ranges [0, b] over ten values: value 0 is in all ten; 0 and 9 differ in nine."""
    ranges = Workload.of_predicates([(b).__ge__ for b in range(10)], domain=range(10))
    assert ranges.sensitivity(1) == counts_sensitivity(10) == 10
    assert ranges.sensitivity(1, neighbors="replace-one") == 9
    assert ranges.sensitivity(2, neighbors="replace-one") == 3
    assert ranges.sensitivity("inf", neighbors="replace-one") == 1
    assert not ranges.is_partition


def test_linear_questions_mean_their_decimals() -> None:
    tenths = Workload([[0.1, 0.2, 1.0], [0.7, 0.0, 0.3]])
    assert tenths.sensitivity(1) == Fraction(13, 10)
    assert tenths.sensitivity(1, neighbors="replace-one") == Fraction(13, 10)  # (0.1, 0.7) to (1, 0.3)
    assert tenths.sensitivity(1) <= counts_sensitivity(2)


def test_huge_entries_stay_exact() -> None:
    huge = Workload([[10**30, 10**30 + 1], [0, 1]])
    assert huge.sensitivity(1) == 10**30 + 2
    assert huge.sensitivity(1, neighbors="replace-one") == 2
    assert huge.sensitivity(2, neighbors="replace-one") ** 2 >= 2
    largest = Workload(np.array([[2**64 - 1, 0]], dtype=np.uint64))
    assert largest.sensitivity("inf", neighbors="replace-one") == 2**64 - 1


def test_sums_and_means() -> None:
    assert [sum_sensitivity(0, 50, neighbors=relation) for relation in BOTH] == [50, 50]
    assert [sum_sensitivity(-10, 50, neighbors=relation) for relation in BOTH] == [50, 60]
    assert [sum_sensitivity(20, 110, neighbors=relation) for relation in BOTH] == [110, 90]
    assert mean_sensitivity(0, 50, units=1000) == Fraction(1, 20)
    assert counts_sensitivity(4, 2, low=-1, high=1) == 4
    assert counts_sensitivity(3, "inf", low=5, high=6) == 6  # adding a unit brings at least 5


def test_thousands_of_kinds_take_a_moment() -> None:
    """Bound loosely: a busy machine must not fail it, a search through all pairs in Python would."""
    rng = np.random.default_rng(3)
    bits, counts = rng.integers(0, 2, (64, 5000)), rng.integers(0, 9, (12, 3000))
    start = time.perf_counter()
    Workload(bits).sensitivity(1, neighbors="replace-one")
    Workload(counts).sensitivity(2, neighbors="replace-one")
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Workload([]), "a matrix with rows and columns"),
        (lambda: Workload([1, 2]), "a matrix with rows and columns"),
        (lambda: Workload([[float("nan")]]), "a finite number"),
        (lambda: Workload([["a"]]), "a number"),
        (lambda: Workload.of_predicates([], domain=[1]), "a matrix with rows and columns"),
        (lambda: Workload.of_predicates([lambda x: x], domain=[2]), "yes-or-no answers"),
        (lambda: Workload.histogram(2).sensitivity(3), "a norm"),
        (lambda: Workload.histogram(2).sensitivity(norm=True), "a norm"),
        (lambda: Workload.histogram(2).sensitivity(neighbors="both"), "a relation between tables"),
        (lambda: sum_sensitivity(1, 0), "low <= high"),
        (lambda: mean_sensitivity(0, 1, units=0), "a whole number of 1 or more, got units=0"),
        (lambda: mean_sensitivity(0, 1, units=5, neighbors="add-remove"), "replace-one"),
        (lambda: counts_sensitivity(0), "a whole number of 1 or more, got questions=0"),
        (lambda: histogram_sensitivity(bins=True), "a whole number, got bins=True"),
    ],
)
def test_refusals_name_the_cure(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message) as refusal:
        call()
    assert "Hint: " in str(refusal.value)

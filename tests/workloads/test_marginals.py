"""Shares of rho: the published figures, the bound by dense linear algebra, and the largest variance."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.workloads.marginals import GAP, Marginals
from discreet.workloads.residual_tables import squared_sensitivity

ADULT = {f"a{i}": size for i, size in enumerate((100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2))}
UNIT = Fraction(1, 2)
"""The rho of noise of variance 1 on what one unit changes by 1."""


def workload(tables: Marginals) -> NDArray[np.float64]:
    """All cells of all marginals, one row each, times the root of its weight."""
    rows = []
    for one, weight in zip(tables.sets, tables.weights, strict=True):
        parts: list[NDArray[Any]] = [
            np.eye(size) if name in one else np.ones((1, size)) for name, size in tables.sizes.items()
        ]
        rows.append(np.sqrt(weight) * reduce(np.kron, parts))
    return np.concatenate(rows)


def spectral_bound(tables: Marginals) -> float:
    """The square of the sum of the singular values over the number of cells (Li and Miklau), as a mean error."""
    dense = workload(tables)
    values = np.linalg.svd(dense, compute_uv=False)
    return float(np.sqrt(values.sum() ** 2 / dense.shape[1] / (tables.weights @ tables.cells)))


@pytest.mark.parametrize(("ways", "wanted"), [(1, 3.047), (2, 6.359), (3, 10.515)])
def test_the_published_figures_of_adult(ways: int, wanted: float) -> None:
    best = Marginals(ADULT, ways=ways).total()
    assert best.rmse(rho=UNIT) == pytest.approx(wanted, abs=5e-4)
    assert best.rmse(rho=UNIT) == pytest.approx(best.bound(rho=UNIT), rel=1e-12)


@pytest.mark.parametrize(("ways", "wanted"), [(1, 12.047), (2, 67.803), (3, 236.844)])
def test_the_published_largest_variances_of_adult(ways: int, wanted: float) -> None:
    best = Marginals(ADULT, ways=ways).largest()
    assert best.largest(rho=UNIT) ** 2 == pytest.approx(wanted, rel=2 * GAP)
    assert best.bound(rho=UNIT) ** 2 == pytest.approx(wanted, rel=2 * GAP)


@st.composite
def some(draw: st.DrawFn) -> Marginals:
    """Marginals of small domains, with weights."""
    sizes = {f"x{i}": draw(st.integers(2, 4)) for i in range(draw(st.integers(1, 4)))}
    every = [one for k in range(len(sizes) + 1) for one in itertools.combinations(sizes, k)]
    sets = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    return Marginals(sizes, sets, weights={one: draw(st.sampled_from([0.1, 1, 3])) for one in sets})


@settings(max_examples=60)
@given(some())
def test_the_total_is_the_bound_of_all_strategies(tables: Marginals) -> None:
    best = tables.total()
    assert best.rmse(rho=UNIT) == pytest.approx(spectral_bound(tables), rel=1e-9)
    assert best.bound(rho=UNIT) == pytest.approx(spectral_bound(tables), rel=1e-9)


@settings(max_examples=40)
@given(some())
def test_the_largest_is_near_its_bound_and_no_share_is_better(tables: Marginals) -> None:
    best = tables.largest()
    largest, bound = best.largest(rho=UNIT) ** 2, best.bound(rho=UNIT) ** 2
    assert bound <= largest * (1 + 1e-9)
    assert largest <= bound * (1 + 1.01 * GAP)
    assert largest <= tables.total().largest(rho=UNIT) ** 2 * (1 + GAP)


@settings(max_examples=60)
@given(some(), st.sampled_from([1, Fraction(1, 3), 1e-9, 50]))
def test_parts_add_up_to_rho_and_no_more(tables: Marginals, rho: Any) -> None:
    for best in (tables.total(), tables.largest()):
        parts = best.parts(rho)
        exact = Fraction(str(rho))
        assert (1 - Fraction(1, 2**30)) * exact < sum(parts) <= exact
        assert min(parts) > 0


def test_targets_are_met_at_the_smallest_rho() -> None:
    tables = Marginals({"sex": 2, "plan": 5, "age": 9}, ways=[1, 2])
    wanted = {one: 3.0 if "age" in one else 8.0 for one in tables.sets}
    best = tables.largest(wanted)
    rho = best.bound(rho=UNIT) ** 2 / 2 * (1 + 1.01 * GAP)
    assert all(best.variances(rho=rho)[one] <= wanted[one] ** 2 * (1 + 1e-9) for one in tables.sets)
    assert tables.largest().largest(rho=UNIT) < best.largest(rho=UNIT)


def test_weights_move_the_error() -> None:
    sets = [("a",), ("b",)]
    even = Marginals({"a": 4, "b": 4}, sets).total().variances(rho=1)
    tilted = Marginals({"a": 4, "b": 4}, sets, weights={("a",): 9}).total().variances(rho=1)
    assert tilted[("a",)] < even[("a",)] == pytest.approx(even[("b",)])
    assert tilted[("b",)] > even[("b",)]


@pytest.mark.long
def test_a_hundred_attributes() -> None:
    tables = Marginals({f"a{i}": 10 for i in range(100)}, ways=[0, 1, 2, 3])
    best = tables.total()
    assert len(tables.subsets) == 1 + 100 + 4950 + 161_700
    assert best.rmse(rho=UNIT) == pytest.approx(303.216, abs=1e-3)
    assert squared_sensitivity([10, 10, 10]) == 90**3


REFUSED: dict[str, dict[str, Any]] = {
    "no sizes": {"sizes": {}, "ways": 1}, "one value": {"sizes": {"a": 1}, "ways": 1},
    "no sets": {"sizes": {"a": 2}}, "both": {"sizes": {"a": 2}, "sets": [("a",)], "ways": 1},
    "unknown": {"sizes": {"a": 2}, "sets": [("b",)]}, "text": {"sizes": {"a": 2}, "sets": ["a"]},
    "twice in a set": {"sizes": {"a": 2}, "sets": [("a", "a")]},
    "a set twice": {"sizes": {"a": 2, "b": 2}, "sets": [("a", "b"), ("b", "a")]},
    "too many ways": {"sizes": {"a": 2}, "ways": 2}, "ways of text": {"sizes": {"a": 2}, "ways": "all"},
    "a truth": {"sizes": {"a": 2}, "ways": True}, "no ways": {"sizes": {"a": 2}, "ways": []},
    "too many": {"sizes": {f"a{i}": 2 for i in range(60)}, "ways": 20},
    "too wide": {"sizes": {f"a{i}": 2 for i in range(30)}, "sets": [tuple(f"a{i}" for i in range(30))]},
    "weight of another": {"sizes": {"a": 2, "b": 2}, "sets": [("a",)], "weights": {("b",): 1}},
    "weight of 0": {"sizes": {"a": 2}, "sets": [("a",)], "weights": {("a",): 0}},
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    with pytest.raises(InvalidParameter, match="\nHint: "):
        Marginals(**REFUSED[case])


def test_refusals_of_errors_and_prices() -> None:
    tables = Marginals({"a": 2, "b": 3}, ways=1)
    wrong: list[dict[tuple[str, ...], object]] = [{("a",): 1}, {("a",): 1, ("b",): 0}, {("c",): 1}]
    for within in wrong:
        with pytest.raises(InvalidParameter, match="\nHint: "):
            tables.largest(within)
    for rho in (0, -1, float("nan"), None, "1"):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            tables.total().rmse(rho=rho)

"""Sums of cells in each of some groups: brute force over all that a unit can add, and the whole matrix beside it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from discreet.workloads.grouped_matrix import GroupedMatrix
from discreet.workloads.matrix_strategy import MatrixStrategy
from discreet.workloads.ordered_queries import OrderedQueries

SIZES = [(2, 3), (3, 4), (2, 2, 3), (1, 5), (4, 1)]


def strategy(sizes: tuple[int, ...], kind: str, *, gaussian: bool) -> GroupedMatrix:
    *groups, cells = sizes
    if kind == "cells":
        return GroupedMatrix(groups, MatrixStrategy.for_cells(cells))
    queries: OrderedQueries = getattr(OrderedQueries, kind)(cells)
    return GroupedMatrix(groups, MatrixStrategy.for_sums(queries, gaussian=gaussian))


def whole(made: Any, sizes: tuple[int, ...]) -> Any:
    """The matrix of what is measured of all cells."""
    units = np.eye(int(np.prod(sizes)), dtype=np.int64).reshape(-1, *sizes, 1)
    return np.stack([made.measure(one)[0][:, 0] for one in units], axis=1)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["ranges", "prefixes", "cells"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_units_in_groups_move_sums_no_further_than_stated(sizes: tuple[int, ...], kind: str, law: str) -> None:
    """All sets of up to three cells, with all signs; one cell moves them as far as is stated."""
    made = strategy(sizes, kind, gaussian=law == "gaussian")
    (part,) = made.parts
    matrix = whole(made, sizes).astype(object)
    cells = matrix.shape[1]
    assert part.rows == len(matrix)
    assert np.abs(matrix).sum(axis=0).max() == part.absolute
    gram = matrix.T @ matrix
    for most in range(1, min(3, cells) + 1):
        largest = 0
        for chosen in itertools.combinations(range(cells), most):
            for signs in itertools.product((1, -1), repeat=most):
                moved = np.array(signs, dtype=object)
                largest = max(largest, moved @ gram[np.ix_(chosen, chosen)] @ moved)
        assert largest <= part.squared(most)
        assert most > 1 or largest == part.squared(1)
    squares = np.diag(gram)
    apart = max(squares[i] + squares[j] - (0 if i == j else 2 * gram[i, j]) for i in range(cells) for j in range(cells))
    assert apart <= part.apart


def test_a_unit_of_one_cell_a_group_is_another() -> None:
    """Three cells of one group move what is measured further than three cells of three: the bound is of the first."""
    made = strategy((3, 4), "ranges", gaussian=True)
    (part,) = made.parts
    matrix = whole(made, (3, 4)).astype(object)
    one_group = max(int((matrix[:, list(c)].sum(axis=1) ** 2).sum()) for c in itertools.combinations(range(4), 3))
    assert 3 * part.squared(1) < one_group <= part.squared(3)


@pytest.mark.parametrize("kind", ["ranges", "prefixes", "cells"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_each_group_has_its_own_sums(kind: str, law: str) -> None:
    sizes, chance = (3, 2, 5), np.random.default_rng(2)
    made, cells = strategy(sizes, kind, gaussian=law == "gaussian"), chance.integers(0, 90, (3, 2, 5, 2))
    (measured,) = made.measure(cells)
    for group, own in enumerate(cells.reshape(6, 5, 2)):
        (expected,) = made.each.measure(own)
        rows = len(expected)
        assert (measured[group * rows : (group + 1) * rows] == expected).all()
    (table,) = made.tables([measured.astype(np.float64)])
    assert np.allclose(table, cells.reshape(-1, 2), atol=1e-6)
    weights = chance.normal(size=30)
    (form,) = made.form(0, weights)
    assert np.allclose(form @ measured, weights @ cells.reshape(-1, 2))


def test_variances_and_roundings_are_those_of_each_cell() -> None:
    made = strategy((3, 4), "ranges", gaussian=True)
    forms = np.stack([made.form(0, one)[0] for one in np.eye(12)])
    assert np.allclose(made.variances(0, [2.0]), 2 * (forms**2).sum(axis=1))
    assert np.allclose(made.roundings(0), np.abs(forms).sum(axis=1))
    assert made.facts != strategy((4, 4), "ranges", gaussian=True).facts
    assert made.facts != strategy((3, 4), "prefixes", gaussian=True).facts


def test_sums_of_a_group_are_forms_of_its_cells() -> None:
    made, rows = strategy((3, 4), "prefixes", gaussian=True), np.array([[1.0, 1, 0, 0], [0, 1, 1, 1]])
    added, cells = GroupedMatrix((3,), made.each.adding(rows)), np.arange(12).reshape(3, 4, 1)
    (table,) = added.tables([one.astype(np.float64) for one in added.measure(cells)])
    assert np.allclose(table.reshape(3, 2), cells[:, :, 0] @ rows.T)

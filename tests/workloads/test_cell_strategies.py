"""Strategies over the cells of a product: exact tables, forms that are the tables, moves that are the largest."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.workloads.cell_tables import CellStrategy, CellTable, largest_sum, over
from discreet.workloads.marginals import Marginals
from discreet.workloads.matrix_strategy import MatrixStrategy, cell_rows
from discreet.workloads.residual_strategy import ResidualStrategy
from discreet.workloads.separate_tables import SeparateTables
from discreet.workloads.sparse_cells import SparseCells
from discreet.workloads.spectral_bound import over_bound
from discreet.workloads.split_products import SplitProducts
from discreet.workloads.weighted_marginals import WeightedMarginals

Make = Callable[[Sequence[int], Sequence[CellTable]], CellStrategy]

MADE: dict[str, Make] = {
    "residual": ResidualStrategy,
    "marginals": lambda sizes, tables: WeightedMarginals(sizes, tables, power=1),
    "marginals for Laplace": lambda sizes, tables: WeightedMarginals(sizes, tables, power=2),
    "cells": lambda sizes, tables: WeightedMarginals(sizes, tables, [tuple(range(len(sizes)))], power=2),
    "matrix": lambda sizes, tables: MatrixStrategy(sizes, tables, gaussian=True),
    "matrix for Laplace": lambda sizes, tables: MatrixStrategy(sizes, tables, gaussian=False),
    "products": SplitProducts,
    "separate": lambda sizes, tables: SeparateTables(sizes, tables, power=1),
}
PREFIXES = np.tri(3, dtype=np.int64)


def plain(*axes: int) -> CellTable:
    return CellTable(axes, (None,) * len(axes))


DOMAINS: dict[str, tuple[tuple[int, ...], list[CellTable]]] = {
    "a cube": ((2, 3), [plain(), plain(0), plain(1), plain(0, 1)]),
    "two ways of three": ((2, 3, 2), [plain(*pair) for pair in itertools.combinations(range(3), 2)]),
    "one value": ((1, 3), [plain(0, 1), plain()]),
    "mapped": ((3, 2), [CellTable((0,), (PREFIXES,)), CellTable((0, 1), (np.array([[0, 1, 1]]), None)), plain()]),
    "one table": ((4,), [plain(0)]),
}
CASES = list(itertools.product(MADE, DOMAINS))


def columns_of(strategy: CellStrategy, sizes: Sequence[int]) -> list[NDArray[Any]]:
    """Each part as a matrix over the cells, from what it says of each cell alone."""
    cells = math.prod(sizes)
    units = np.eye(cells, dtype=np.int64).reshape(cells, *sizes, 1)
    measured = [strategy.measure(one) for one in units]
    return [np.stack([one[part][:, 0] for one in measured], axis=1) for part in range(len(strategy.parts))]


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_tables_follow_from_exact_parts(name: str, domain: str) -> None:
    sizes, tables = DOMAINS[domain]
    strategy = MADE[name](sizes, tables)
    cells = np.random.default_rng(1).integers(-50, 99, (*sizes, 2))
    for table, found in zip(tables, strategy.tables(strategy.measure(cells)), strict=True):
        exact = table.of(over(cells, table.axes)).reshape(-1, 2)
        assert np.allclose(found, exact, atol=1e-7), table


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_strategies_measure_the_same_of_sparse_cells(name: str, domain: str) -> None:
    sizes, tables = DOMAINS[domain]
    strategy = MADE[name](sizes, tables)
    whole = np.random.default_rng(4).integers(-3, 9, (*sizes, 2))
    places = tuple(np.indices(sizes).reshape(len(sizes), -1))
    sparse = SparseCells(tuple(sizes), places, whole.reshape(-1, 2))
    for own, other in zip(strategy.measure(whole), strategy.measure(sparse), strict=True):
        assert own.tolist() == other.tolist()


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_forms_are_the_tables(name: str, domain: str) -> None:
    """Of any noise in the parts; and the stated variances and roundings are theirs."""
    sizes, tables = DOMAINS[domain]
    strategy, random = MADE[name](sizes, tables), np.random.default_rng(2)
    noise = [random.normal(size=(part.rows, 1)) for part in strategy.parts]
    stated = random.uniform(0.5, 2, len(noise)).tolist()
    for place, found in enumerate(strategy.tables(noise)):
        variances, roundings = strategy.variances(place, stated), strategy.roundings(place)
        for cell in range(len(found)):
            form = strategy.form(place, np.eye(len(found))[cell])
            assert math.isclose(sum(float(f @ z[:, 0]) for f, z in zip(form, noise, strict=True)), found[cell, 0])
            own = sum(float(f @ f) * variance for f, variance in zip(form, stated, strict=True))
            assert math.isclose(own, variances[cell], rel_tol=1e-9)
            assert sum(float(np.abs(f).sum()) for f in form) <= roundings[cell] * (1 + 1e-9)


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_shares_add_up_to_one_at_most(name: str, domain: str) -> None:
    shares = [part.share for part in MADE[name](*DOMAINS[domain]).parts]
    assert min(shares) > 0
    assert 1 - Fraction(1, 2**30) < sum(shares) <= 1


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_cells_move_parts_no_further_than_stated(name: str, domain: str) -> None:
    sizes, tables = DOMAINS[domain]
    strategy = MADE[name](sizes, tables)
    for part, columns in zip(strategy.parts, columns_of(strategy, sizes), strict=True):
        assert int(np.abs(columns).sum(axis=0).max()) == part.absolute
        assert int((columns**2).sum(axis=0).max()) == part.squared(1)
        assert len(columns) == part.rows


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_replaced_units_move_parts_no_further_than_stated(name: str, domain: str) -> None:
    """From one cell to another, with the same component or another one; somewhere the claim is reached, but for
    separate tables whose rows overlap and products, of which a bound is stated.
    """
    sizes, tables = DOMAINS[domain]
    strategy = MADE[name](sizes, tables)
    for part, columns in zip(strategy.parts, columns_of(strategy, sizes), strict=True):
        squares = (columns**2).sum(axis=0)
        same = [int(((columns[:, i] - columns[:, j]) ** 2).sum()) for i in range(len(squares)) for j in range(i)]
        other = [int(a + b) for a in squares for b in squares]
        assert max([*same, *other]) <= part.apart
        assert max([*same, *other]) == part.apart or name in ("separate", "products")


@pytest.mark.parametrize(("name", "domain"), CASES)
def test_units_in_several_cells_move_parts_no_further_than_stated(name: str, domain: str) -> None:
    """Amounts of both signs in any K cells; and amounts of less in more of them."""
    sizes, tables = DOMAINS[domain]
    strategy, random = MADE[name](sizes, tables), np.random.default_rng(3)
    for part, columns in zip(strategy.parts, columns_of(strategy, sizes), strict=True):
        cells = columns.shape[1]
        for most in range(2, min(cells, 4) + 1):
            claimed = part.squared(most)
            for chosen in itertools.combinations(range(cells), most):
                for signs in itertools.product((1, -1), repeat=most - 1):
                    moved = columns[:, chosen] @ np.array([1, *signs])
                    assert int(moved @ moved) <= claimed
            weights = random.dirichlet(np.ones(cells), 50) * most
            weights = np.minimum(weights, 1.0) * random.choice([-1, 1], weights.shape)
            assert (((columns @ weights.T) ** 2).sum(axis=0) <= claimed * (1 + 1e-9)).all()


def total(strategy: CellStrategy, tables: Sequence[CellTable], sizes: Sequence[int]) -> float:
    """The sum of all cells' variances at rho = 1/2, from the forms."""
    found = 0.0
    for place, table in enumerate(tables):
        for one in np.eye(math.prod(table.shape(sizes))):
            for form, part in zip(strategy.form(place, one), strategy.parts, strict=True):
                found += float(form @ form) * part.squared(1) / float(part.share)
    return found


def test_residual_tables_have_the_least_error_there_is() -> None:
    sizes = (4, 5, 3)
    tables = [plain(*one) for k in range(4) for one in itertools.combinations(range(3), k)]
    best = Marginals({"a": 4, "b": 5, "c": 3}, ways=[0, 1, 2, 3]).total()
    cells = sum(math.prod(table.shape(sizes)) for table in tables)
    bound = best.bound(rho=0.5) ** 2 * cells
    assert math.isclose(total(ResidualStrategy(sizes, tables), tables, sizes), bound, rel_tol=1e-9)
    assert bound <= total(WeightedMarginals(sizes, tables, power=1), tables, sizes) * (1 + 1e-9) <= 1.01 * bound
    assert bound <= total(MatrixStrategy(sizes, tables, gaussian=True), tables, sizes) <= 1.001 * bound


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_strategy_is_below_the_spectral_bound(domain: str) -> None:
    """And the best one is at it, or near it."""
    sizes, tables = DOMAINS[domain]
    made = {name: MADE[name](sizes, tables) for name in ("residual", "marginals", "matrix", "separate")}
    ratios = {name: over_bound(one, sizes, tables) for name, one in made.items()}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    assert len(known) == 4
    assert 1 - 1e-6 <= min(known) <= 1.01
    found = (ratios["residual"] or 0) ** 2 * least(sizes, tables)
    assert math.isclose(total(made["residual"], tables, sizes), found, rel_tol=1e-6)


def least(sizes: Sequence[int], tables: Sequence[CellTable]) -> float:
    """The bound from all rows, written out."""
    rows = np.concatenate([cell_rows(sizes, table) for table in tables])
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0.0))
    return float(roots.sum()) ** 2 / math.prod(sizes)


def test_weights_move_the_error_to_other_tables() -> None:
    tables = [plain(0), CellTable((0, 1), (None, None), weight=1000.0)]
    light, heavy = ResidualStrategy((5, 5), [plain(0), plain(0, 1)]), ResidualStrategy((5, 5), tables)
    noises = [[part.squared(1) / float(part.share) for part in one.parts] for one in (light, heavy)]
    errors = [[one.variances(i, noise)[0] for i in (0, 1)] for one, noise in zip((light, heavy), noises, strict=True)]
    assert errors[1][1] < errors[0][1]
    assert errors[1][0] > errors[0][0]


def test_the_largest_numbers_are_added_first() -> None:
    assert largest_sum([(1, 5), (3, 2)], 4) == 8
    assert largest_sum([(2, 1)], 4) == 2


def test_whole_numbers_do_not_wrap() -> None:
    """Of any size: what would leave 64 bits is added up in Python's integers."""
    sizes, tables = DOMAINS["a cube"]
    for size in (2**61, 2**58):
        cells = np.full((*sizes, 1), size, dtype=object)
        cells[0, 0] = -size
        check_wide(sizes, tables, cells)
    sizes = (6, 7)
    signs = np.where(np.arange(6)[:, None] == 0, -1, 1) * np.where(np.arange(7) == 0, -1, 1)
    cells = signs.reshape(*sizes, 1).astype(object) * (2**62 // 42 - 1)  # as a residual adds them up
    check_wide(sizes, [plain(0, 1)], cells)


def check_wide(sizes: Sequence[int], tables: Sequence[CellTable], cells: NDArray[Any]) -> None:
    for make in (MADE["residual"], MADE["cells"], MADE["separate"], MADE["matrix"]):
        strategy = make(sizes, tables)
        found = strategy.measure(cells)
        for part, columns in zip(found, columns_of(strategy, sizes), strict=True):
            assert part[:, 0].tolist() == (columns.astype(object) @ cells.reshape(-1)).tolist()

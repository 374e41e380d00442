"""Reals come onto a lattice near enough, exactly, and what it costs is counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms.vector_lattice import VectorLattice, lattice_sensitivity, step_for

VECTORS = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(1, 10**9))
def test_steps_are_the_largest_powers_of_two(sensitivity: Fraction, dimension: int) -> None:
    step = step_for(sensitivity, dimension)
    assert step.numerator & (step.numerator - 1) == 0 == step.denominator & (step.denominator - 1)
    assert step * dimension * 2**20 <= sensitivity < 2 * step * dimension * 2**20


@given(VECTORS, st.sampled_from([Fraction(1), Fraction(1, 10**200), Fraction(10**200), Fraction(3, 7)]))
def test_integers_are_within_half_a_step(values: list[float], sensitivity: Fraction) -> None:
    grid = VectorLattice.of(values, sensitivity)
    for value, z in zip(values, grid.integers.tolist(), strict=True):
        assert abs(Fraction(value) - z * grid.step) <= grid.step / 2
    back = grid.shaped(grid.integers)
    assert np.allclose(back, values, rtol=1e-15, atol=float(grid.step))


@given(VECTORS.flatmap(lambda v: st.tuples(st.just(v), st.lists(st.floats(-5, 5), min_size=len(v), max_size=len(v)))))
def test_rounding_is_paid_for(pair: tuple[list[float], list[float]]) -> None:
    """Neighbors' integers are no farther apart than `moved` says, in either norm."""
    x, y = pair[0], [a + b for a, b in zip(*pair, strict=True)]
    change = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, y, strict=True)]
    l1, l2 = sum(change), sum(c * c for c in change)
    if not l1:
        return
    one, other = VectorLattice.of(x, Fraction(l1)), VectorLattice.of(y, Fraction(l1))
    apart = [abs(int(a) - int(b)) for a, b in zip(one.integers, other.integers, strict=True)]
    assert sum(apart) <= one.sensitivity(Fraction(l1), norm=1)
    square, root = l2 / one.step**2, one.sensitivity(Fraction(0), norm=2)  # |apart| <= sqrt(square) + root
    excess = sum(a * a for a in apart) - square - root**2
    assert excess <= 0 or excess**2 <= 4 * root**2 * square


def test_integers_are_their_own_lattice() -> None:
    grid = VectorLattice.of([1, 2, 3], Fraction(5))
    assert grid.step == 1
    assert grid.sensitivity(Fraction(5), norm=1) == grid.sensitivity(Fraction(5), norm=2) == 5
    assert lattice_sensitivity(Fraction(1), Fraction(1), 5, norm=2) == 4
    assert lattice_sensitivity(Fraction(1), Fraction(1), 1, norm=2) == 2


@pytest.mark.parametrize(("values", "kind"), [(3, int), (3.0, float), (np.int64(3), int), (np.float64(3), float)])
def test_numbers_come_back_as_numbers(values: float, kind: type) -> None:
    grid = VectorLattice.of(values, Fraction(1))
    assert type(grid.shaped(grid.integers)) is kind


def test_arrays_come_back_as_arrays() -> None:
    for values in (np.array(3), np.zeros((2, 0)), np.ones((2, 3, 4))):
        grid = VectorLattice.of(values, Fraction(1))
        assert grid.shaped(grid.integers).shape == values.shape


def test_overflow_saturates() -> None:
    grid = VectorLattice.of([1e308], Fraction(1))
    assert grid.shaped(grid.integers * 10**10).tolist() == [float("inf")]

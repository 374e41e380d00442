"""Coefficients in Bernstein polynomials give the polynomial that is asked for, at every point."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.planning.bernstein_polynomials import Basis, Reals


def polynomials(u: float, degree: int) -> Reals:
    return np.array([1 - u, u] if degree == 1 else [(1 - u) ** 2, 2 * u * (1 - u), u**2])


@pytest.mark.parametrize("degrees", [(1, 1), (2, 1), (1, 2), (2, 2), (2, 2, 1)])
def test_coefficients_give_the_moment(degrees: tuple[int, ...]) -> None:
    basis, chance = Basis(degrees), np.random.default_rng()
    point, about = chance.random(len(degrees)), chance.uniform(-1, 2, len(degrees))
    components = basis.product(*(polynomials(u, d) for u, d in zip(point, degrees, strict=True)))
    assert components.sum() == pytest.approx(1)
    assert components @ basis.crossed(about.tolist()) == pytest.approx(np.prod(point - about))
    powers = [list(range(degree + 1)) for degree in degrees]
    for column, allowed in enumerate(powers):
        for power in allowed:
            factors = [basis.single(k, power if k == column else 0, about[k]) for k in range(len(degrees))]
            assert components @ basis.product(*factors) == pytest.approx((point[column] - about[column]) ** power)


def test_several_places_at_once() -> None:
    basis = Basis((2, 1))
    found = basis.crossed([np.array([0.5, 0.25]), np.array([0.0, 1.0])])
    assert found.shape == (2, 6)
    assert found[1].tolist() == basis.crossed([0.25, 1.0]).tolist()

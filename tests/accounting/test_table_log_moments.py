"""Moments of tables, against sums in 200 bits."""

from __future__ import annotations

import numpy as np
import pytest
from flint import acb, arb, ctx

from discreet.accounting.pairwise_summation import UNIT, additions
from discreet.accounting.table_log_moments import tabulated


def moment(losses: list[float], masses: list[float], z: complex) -> acb:
    terms = ((acb(z) * arb(loss)).exp() * arb(mass) for loss, mass in zip(losses, masses, strict=True))
    return sum(terms, acb(0))


@pytest.mark.parametrize("z", [0.5, 0.5 + 40.0j])
def test_moments_of_long_tables_are_exact(z: complex) -> None:
    """One large mass and many small ones: added in a row, each of these would lose its last digits."""
    law = np.full(20_000, 2.0**-50)
    law[0] = 1.0 - 19_999 * 2.0**-50
    losses = np.linspace(-1e-2, 2e-2, law.size)
    found = tabulated(losses[None, :], law[None, :], np.ones(1), np.array([complex(z)]))[0]
    with ctx.workprec(200):
        exact = moment(losses.tolist(), law.tolist(), z)
        error = abs(acb(complex(found)).exp() - exact) / arb(UNIT)
        assert bool(error < arb(15.0 + additions(law.size) + 8.0 + 12.0 * abs(z) * 2e-2))


@pytest.mark.parametrize("size", [1, 3, 8, 9])
def test_rows_are_counted(size: int) -> None:
    random, z = np.random.default_rng(size), np.array([0.7, 0.7 + 3.0j])
    losses, first = np.sort(random.normal(size=(4, size)), axis=1), random.dirichlet(np.ones(size), 4)
    counts = np.array([1.0, 5.0, 2.0, 100.0])
    found = tabulated(losses, first, counts, z)
    exact = np.log((first[:, :, None] * np.exp(losses[:, :, None] * z)).sum(axis=1))
    assert np.exp(found - counts @ exact) == pytest.approx(np.ones(2), rel=1e-11)

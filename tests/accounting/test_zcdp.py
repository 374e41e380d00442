from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import tables
from discreet.accounting.pairs import BoundedRange, Gaussian, Laplace, Pair
from discreet.accounting.zcdp import TIGHT, rho_of

PURE_RHO = [
    ("0.1", "0.004995837495787997"),
    ("0.5", "0.1224593312018546"),
    ("1", "0.4621171572600098"),
    ("2", "1.52318831191153"),
    ("4", "3.856110320303268"),
]


@pytest.mark.parametrize(("epsilon", "rho"), PURE_RHO)
def test_rho_of_responses_is_the_reference(epsilon: str, rho: str) -> None:
    found = rho_of(tables.two_point(float(epsilon)))
    assert float(rho) * (1 - 1e-9) <= found <= float(rho) * (1 + 2 * TIGHT)


@pytest.mark.parametrize("pair", [Laplace(2.0), BoundedRange(3.0), tables.response(4.0, 9), tables.staircase(3.0, 0.2)])
def test_rho_is_above_every_order(pair: Pair) -> None:
    rho = rho_of(pair)
    best = 0.0
    for order in 1.0 + np.geomspace(1e-6, 1e3, 300):
        z = np.array([complex(order - 1.0)])
        best = max(best, type(pair).log_moments([pair], np.ones(1), z)[0].real / (order - 1.0) / order)
    assert best <= rho <= best * 1.001


def test_no_rho_and_closed_rho() -> None:
    assert rho_of(tables.two_point(1.0, 1e-6)) == math.inf
    assert rho_of(Gaussian(Fraction(3))) == 1.5

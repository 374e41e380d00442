"""Ends of calculations in doubles, against exact fractions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.inference.outward_rounding import added, divided, multiplied, nearly, root, subtracted

RULES: dict[str, tuple[Callable[..., Any], Callable[[Fraction, Fraction], Fraction]]] = {
    "sum": (added, operator.add),
    "difference": (subtracted, operator.sub),
    "product": (multiplied, operator.mul),
    "quotient": (divided, operator.truediv),
}
EDGES = [0.0, 1.0, -1.0, 0.1, 3.0, 1e-300, 5e-324, -1e308, 1.7e308, 2.0**53 + 2, 1e200, 2.0**-700]


def numbers(count: int) -> NDArray[np.float64]:
    chance = np.random.default_rng(7)
    return np.concatenate([
        [a for a in EDGES for _ in EDGES],
        chance.normal(size=count) * 2.0 ** chance.integers(-60, 60, count),
        chance.integers(-9, 10, count) / 4,
    ])  # fmt: skip


def others(count: int) -> NDArray[np.float64]:
    chance = np.random.default_rng(8)
    return np.concatenate([[b for _ in EDGES for b in EDGES], chance.normal(size=count), chance.integers(1, 9, count)])


@pytest.mark.parametrize("name", RULES)
def test_ends_are_on_the_outer_side(name: str) -> None:
    """On both sides of each exact result, no further apart than neighbors; the result itself, where it is a double."""
    rule, exact = RULES[name]
    x, y = numbers(2000), others(2000)
    low, high = rule((x, x), (y, y))
    for a, b, below, above in zip(x.tolist(), y.tolist(), low.tolist(), high.tolist(), strict=True):
        if name == "quotient" and b == 0:
            assert (below, above) == (-math.inf, math.inf)
            continue
        truth = exact(Fraction(a), Fraction(b))
        assert below == -math.inf or Fraction(below) <= truth
        assert above == math.inf or truth <= Fraction(above)
        if not all(1e-250 < abs(size) < 1e250 for size in (a, b, truth)):
            continue
        assert above <= math.nextafter(below, math.inf)
        if Fraction(float(truth)) == truth:
            assert below == above == float(truth)


def test_roots_exponentials_and_logarithms() -> None:
    x = np.abs(others(3000))
    low, high = root((x, x))
    for a, below, above in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
        assert Fraction(below) ** 2 <= Fraction(a) <= Fraction(above) ** 2
    assert [float(end) for end in root((np.array(4.0), np.array(2.25)))] == [2.0, 1.5]
    low, high = nearly(np.exp, (np.array(-1e9), np.array(1.0)), 0.0)
    assert (float(low), math.nextafter(float(high), 0) > math.e) == (0.0, True)
    assert nearly(np.log, (np.array(0.0), np.array(1.0)), -np.inf)[0] == -np.inf


def test_infinite_ends_stay() -> None:
    whole = np.array(-np.inf), np.array(np.inf)
    one = np.array(1.0), np.array(2.0)
    assert [float(end) for end in added(whole, one)] == [-math.inf, math.inf]
    assert [float(end) for end in divided(one, (np.array(2.0), np.array(np.inf)))] == [0.0, 1.0]
    low, high = added((np.array(1.7e308),) * 2, (np.array(1.7e308),) * 2)
    assert (float(low), float(high)) == (float(np.finfo(float).max), math.inf)

"""The law of weighted sums of Laplace variables: against certified values, by simulation, and on the safe side."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise.laplace_sum import BLOCK, MOST_TERMS, Reals, miss, quantile, tail
from discreet.testing.statistics import binomial_p

SAMPLES = 1_000_000
FALSE_ALARM = 1e-9
CONFIDENCES = [0.1, 0.5, 0.9, 0.95, 1 - 1e-6, 1 - 1e-12]
SUMS = {
    "one": [0.7],
    "two": [1.0, 0.3],
    "equal-two": [2.0, 2.0],
    "signs": [-1.0, 0.5, -0.25],
    "equal-three": [1.0, 1.0, 1.0],
    "two-and-two": [1.0, 1.0, 0.2, 0.2],
    "apart": [1e-8, 1e-4, 1.0],
    "apart-and-equal": [1e-3, 1e-3, 1e-3, 1.0, 1.0],
    "zeros": [0.0, 0.6, 0.0, 0.4],
    "steps": [k / 16 for k in range(1, 17)],
    "equal-sixteen": [0.25] * 16,
    "powers": [2.0**-k for k in range(16)],
}


def certified_tail(coefficients: list[float], t: float) -> arb:
    """P(|S| >= t) by partial fractions, at a precision at which their cancellation does no harm.

    Equal coefficients are told apart by 2**-100 of themselves, far below what is compared.
    """
    ctx.prec = 6000
    sizes = [abs(arb(c)) * (1 + arb(2) ** -100 * j) for j, c in enumerate(coefficients) if c]
    total = arb(0)
    for j, a in enumerate(sizes):
        weight = arb(1)
        for k, b in enumerate(sizes):
            if k != j:
                weight *= a * a / (a * a - b * b)
        total += weight * (-arb(t) / a).exp()
    return total


def error(found: Reals, exact: arb) -> float:
    return abs(float(arb(float(found)) / exact - 1))


@pytest.mark.parametrize("t", [0.01, 1.0, 30.0, 600.0])
def test_one_and_two_terms(t: float) -> None:
    """One term: exp(-t/a). Two: (a² exp(-t/a) - c² exp(-t/c))/(a² - c²), and exp(-t/a)(1 + t/2a) if equal."""
    assert np.isclose(tail([3.0], t), np.exp(-t / 3.0), rtol=1e-13)
    apart = (9.0 * np.exp(-t / 3.0) - np.exp(-t)) / 8.0
    assert np.isclose(tail([3.0, -1.0], t), apart, rtol=1e-13)
    assert np.isclose(tail([3.0, 3.0], t), np.exp(-t / 3.0) * (1.0 + t / 6.0), rtol=1e-13)


@pytest.mark.parametrize("name", SUMS)
def test_many_terms(name: str) -> None:
    largest = np.abs(SUMS[name]).max()
    for t in (1e-6, 0.1, 1.0, 3.0, 20.0, 500.0):
        assert error(tail(SUMS[name], t * largest), certified_tail(SUMS[name], t * largest)) < 1e-12


@pytest.mark.parametrize("terms", [3, 4, 8, 16])
def test_nearly_equal_coefficients(terms: int) -> None:
    """Coefficients 1, 1+g, 1+2g, ... for gaps g from the last bit to 1."""
    for gap in [0.0, *2.0 ** -np.arange(0.0, 53.0, 4.0)]:
        coefficients = [1.0 + gap * j for j in range(terms)]
        for t in (0.3, 4.0, 40.0):
            assert error(tail(coefficients, t), certified_tail(coefficients, t)) < 1e-12


def test_random_coefficients() -> None:
    """Two hundred sums whose coefficients spread over up to 12 decades, some of them repeated."""
    rng = np.random.default_rng()
    for _ in range(200):
        sizes = 10.0 ** rng.uniform(-12, 0, rng.integers(1, 9))
        repeated = rng.choice(sizes, rng.integers(0, 9))
        coefficients = np.concatenate([sizes, repeated]).tolist()
        t = float(sizes.max() * 10.0 ** rng.uniform(-2, 1.5))
        assert error(tail(coefficients, t), certified_tail(coefficients, t)) < 1e-12, (coefficients, t)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("name", SUMS)
def test_never_below_and_hardly_above(name: str, confidence: float) -> None:
    """The stated confidence holds at the quantile, by a certified bound, and fails 1e-8 below it."""
    found = float(quantile(SUMS[name], confidence))
    left = 1 - arb(str(confidence))
    assert certified_tail(SUMS[name], found) < left
    assert certified_tail(SUMS[name], found * (1 - 1e-8)) > left


@pytest.mark.parametrize("confidence", [1e-300, 1e-12, Fraction(10**30 - 1, 10**30)], ids=str)
def test_extreme_confidence_is_kept(confidence: float | Fraction) -> None:
    """Where a float cannot tell the miss probability from 1, the quantile is still above; and far out it is exact."""
    exact = Fraction(confidence)
    for coefficients in ([1.0], [1.0, 1.0], [3.0, 2.0, 1.0]):
        found = float(quantile(coefficients, confidence))
        assert certified_tail(coefficients, found) < 1 - arb(exact.numerator) / exact.denominator
        assert found < 5e-10 * sum(coefficients) or confidence > 0.5


def test_order_sign_scale_and_zeros_do_not_matter() -> None:
    base = quantile([0.5, 1.0, 0.1], 0.9)
    assert quantile([-1.0, 0.1, 0.5], 0.9) == base
    assert np.isclose(quantile([5.0, 10.0, 1.0], 0.9), 10 * base, rtol=1e-12)
    assert np.isclose(quantile([5e-300, 1e-299, 1e-300], 0.9), 1e-299 * base, rtol=1e-12)
    assert np.isclose(quantile([0.5, 0.0, 1.0, 0.1, 0.0], 0.9), base, rtol=1e-9)
    assert quantile([0.0, 0.0], 0.9) == 0.0
    assert tail([0.0, 0.0], [-1.0, 0.0, 1e-300, 1.0]).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert tail([1.0, 2.0], [-1.0, 0.0, 1e6, np.inf]).tolist() == [1.0, 1.0, 0.0, 0.0]


def test_leading_axes() -> None:
    """More sums than fit in a block, in any shape, come out as they do one by one; distances broadcast."""
    coefficients = np.linspace(0.0, 1.0, 3 * (BLOCK + 2)).reshape(-1, 1, 3)
    found = quantile(coefficients, 0.9, step=0.01)
    assert found.shape == (BLOCK + 2, 1)
    for i in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1):
        assert found[i, 0] == quantile(coefficients[i, 0], 0.9, step=0.01)
    tails = tail(coefficients, np.array([0.5, 1.0]))
    assert tails.shape == (BLOCK + 2, 2)
    assert tails[BLOCK, 1] == tail(coefficients[BLOCK, 0], 1.0)
    assert quantile(np.zeros((0, 2)), 0.9).shape == (0,)


def exceeded(coefficients: list[float], t: float) -> int:
    """How often the sum of fresh draws reaches t."""
    draws = np.random.default_rng().laplace(size=(SAMPLES, len(coefficients)))
    return int(np.count_nonzero(np.abs(draws @ coefficients) >= t))


@pytest.mark.long
@pytest.mark.parametrize("coefficients", [[0.5, 0.5], [0.25, -0.25, 0.25], [1.0, 1.0, 0.2, 0.2]], ids=str)
def test_draws_agree(coefficients: list[float]) -> None:
    """A million sums exceed each quantile as often as stated; and quantiles that are wrong on purpose not so often."""
    for confidence in (0.5, 0.95):
        found = float(quantile(coefficients, confidence))
        assert binomial_p(exceeded(coefficients, found), SAMPLES, 1 - confidence) > FALSE_ALARM
        assert binomial_p(exceeded(coefficients, 1.02 * found), SAMPLES, 1 - confidence) < FALSE_ALARM
        same_variance = float(np.linalg.norm(coefficients) * quantile([1.0], confidence))
        added = float(np.abs(coefficients).sum() * quantile([1.0], confidence))
        for wrong in (same_variance, added):
            assert binomial_p(exceeded(coefficients, wrong), SAMPLES, 1 - confidence) < FALSE_ALARM


def discrete_law(coefficients: list[int], scale: float) -> tuple[NDArray[np.int64], Reals]:
    """Values |s| and their probabilities for a sum of discrete Laplace variables with whole coefficients."""
    reach = int(40 * scale) + 1
    one = np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    law = np.ones(1)
    for c in coefficients:
        spread = np.zeros(2 * reach * abs(c) + 1)
        spread[:: abs(c)] = one
        law = np.convolve(law, spread)
    return np.abs(np.arange(law.size) - law.size // 2), law


@pytest.mark.parametrize("coefficients", [[1], [1, 1], [3, -2], [2, 1, 1]], ids=str)
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
def test_discrete_noise_stays_within(coefficients: list[int], scale: float) -> None:
    """On a lattice, even a coarse one, tails and quantiles are upper bounds; and without the steps they are not."""
    sizes, law = discrete_law(coefficients, scale)
    for t in range(1, int(5 * scale) + 2):
        assert law[sizes >= t].sum() <= tail(coefficients, t / scale, step=1 / scale)
    confidences = np.linspace(0.05, 0.99, 95)
    bounds = scale * np.array([quantile(coefficients, c, step=1 / scale) for c in confidences])
    kept = np.array([law[sizes <= bound].sum() for bound in bounds])
    assert (kept >= confidences).all()
    without = scale * np.array([quantile(coefficients, c) for c in confidences])
    assert (np.array([law[sizes <= bound].sum() for bound in without]) < confidences).any()
    slack = sum(map(abs, coefficients))
    assert np.allclose(bounds - without, slack)


def test_quantile_is_a_norm() -> None:
    """Q(c + c') <= Q(c) + Q(c') on 2,000 pairs, near and far; and it grows with each |c_j|."""
    rng = np.random.default_rng()
    for terms in (2, 3, 5):
        one = rng.standard_normal((2000, terms)) * 10.0 ** rng.uniform(-2, 0, (2000, terms))
        other = np.where(rng.random((2000, 1)) < 0.5, one[::-1], one * rng.normal(1.0, 0.05, one.shape))
        for confidence in (0.1, 0.5, 0.95, 1 - 1e-9):
            whole, parts = quantile(one + other, confidence), quantile([one, other], confidence).sum(axis=0)
            assert (whole <= parts * (1 + 1e-8)).all()
            larger = quantile(np.abs(one) + np.abs(other), confidence)
            assert (quantile(one, confidence) <= larger * (1 + 1e-8)).all()


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, -0.1, 1.5, float("nan"), float("inf"), True, "0.9", None, 1j])
def test_confidence_is_between_0_and_1(confidence: object) -> None:
    for asked in (miss, lambda value: quantile([1.0], value)):
        with pytest.raises(InvalidParameter, match="confidence"):
            asked(confidence)


@pytest.mark.parametrize("coefficients", [[], [[]], [1.0] * (MOST_TERMS + 1), [1.0, np.nan], [np.inf]], ids=str)
def test_coefficients_are_few_and_finite(coefficients: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="coefficients"):
        quantile(coefficients, 0.9)
    with pytest.raises(InvalidParameter, match="coefficients"):
        tail(coefficients, 1.0)

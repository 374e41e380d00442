"""The discrete Gaussian mechanism has a price of its own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import discrete_gaussian
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian, exact_delta
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.events import ConcentratedEvent, DiscreteGaussianEvent
from discreet.testing.scripted_words import splitmix

REFERENCE = [  # sigma2, epsilon, shift, delta
    ("0.25", "0.05", 1, 0.7810993301175884),
    ("0.25", "2", 1, 0.1047648441098983),
    ("0.5", "1", 1, 0.1896585294283971),
    ("1", "1", 1, 0.1413513394056219),
    ("1", "4", 1, 5.381866391346114e-5),
    ("2", "0.1", 1, 0.244343416853663),
    ("2", "4", 1, 7.263837624429829e-9),
]


@pytest.mark.parametrize(("sigma2", "epsilon", "shift", "delta"), REFERENCE)
def test_delta_is_the_reference(sigma2: str, epsilon: str, shift: int, delta: float) -> None:
    exact = exact_delta(Fraction(sigma2), shift, Fraction(epsilon))
    assert delta * (1 - 1e-14) <= exact <= delta * (1 + 1e-12)


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("sigma2", [Fraction(1, 2), Fraction(9), Fraction(40)], ids=str)
@pytest.mark.parametrize("epsilon", [0, 0.5, 1, 2, 4])
def test_delta_is_the_definition(sigma2: Fraction, shift: int, epsilon: float) -> None:
    """Against the sum of (p - e^epsilon p')+ over all integers."""
    z = np.arange(-400, 401)
    p = np.exp(-(z**2) / (2 * float(sigma2)))
    p /= p.sum()
    other = np.interp(z - shift, z, p, left=0, right=0)
    direct = float(np.maximum(p - math.exp(epsilon) * other, 0).sum())
    assert exact_delta(sigma2, shift, Fraction(epsilon)) == pytest.approx(direct, rel=1e-9, abs=1e-15)


def test_delta_is_its_own() -> None:
    """At the sigma where the continuous law has delta(1) = 1e-6, this one has 1.0197e-6."""
    scale = Gaussian(sensitivity=1, epsilon=1, delta=1e-6).scale
    assert DiscreteGaussian(sensitivity=1, scale=scale).delta(1) == pytest.approx(1.0197e-6, rel=1e-4)
    assert DiscreteGaussian(sensitivity=1, scale=scale).loss.delta(1) == pytest.approx(1.0197e-6, rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (4, 1e-3), (1, 1e-12)])
@pytest.mark.parametrize("shift", [1, 7])
def test_calibration_is_on_the_private_side(epsilon: float, delta: float, shift: int) -> None:
    d = DiscreteGaussian(sensitivity=shift, epsilon=epsilon, delta=delta)
    assert d.delta(epsilon) <= delta
    assert d.scale <= float(Gaussian(sensitivity=shift, epsilon=epsilon, delta=delta).scale) * 1.3


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("shift", [1, 1000])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-6, 0.5), (1e-6, 1e-300), (0.1, 0.5), (1, 1e-300), (1e3, 1e-300), (1e3, 1e-6), (1e3, 0.5)]
)
def test_calibration_ends_everywhere(epsilon: float, delta: float, shift: int) -> None:
    """Where e^epsilon is 10^434, delta below every precision that one would fix, or the law all but a point."""
    d = DiscreteGaussian(sensitivity=shift, epsilon=epsilon, delta=delta)
    assert d.delta(epsilon) <= delta
    assert d.scale <= float(Gaussian(sensitivity=shift, epsilon=epsilon, delta=delta).scale) * 1.1


def test_delta_at_large_epsilon_is_no_rounding() -> None:
    """At sigma2 = 1/1000 the loss is 500 at zero and 1500 at one, so delta(1000) is P(Z >= 1) but for e^-2000."""
    tail = math.exp(-500)
    assert tail * (1 - 1e-9) <= exact_delta(Fraction(1, 1000), 1, Fraction(1000)) <= tail * (1 + 1e-9)


def test_rho_holds_for_vectors() -> None:
    d = DiscreteGaussian(sensitivity=2, rho=0.02)
    assert d.sigma2 == 100
    assert d.rho == Fraction(1, 50)
    assert d.release(np.arange(6).reshape(2, 3)).shape == (2, 3)
    assert d.loss.rho == pytest.approx(0.02, rel=1e-12)
    assert repr(d) == "DiscreteGaussian(sensitivity=2, sigma2=100)"
    assert not hasattr(d, "mu")


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(1000)], ids=str)
@pytest.mark.parametrize("dimension", [1, 50])
def test_figures_are_those_of_samples(scale: Fraction, dimension: int) -> None:
    d = DiscreteGaussian(sensitivity=1, scale=scale)
    drawn = np.abs(d._law.sample(10_000 * dimension, splitmix(3))).reshape(-1, dimension)
    worst = drawn.max(axis=1)
    assert abs(float(worst.mean()) - d.expected_error(dimension)) < 5 * float(worst.std()) / 100 + 1e-9
    assert d.expected_error(dimension) <= d.bound(dimension=dimension) + 1e-9
    assert float(np.mean(worst <= d.error(confidence=0.9, dimension=dimension))) > 0.9 - 0.015
    assert d.error(confidence=0.9, dimension=dimension) <= d.bound(dimension=dimension, confidence=0.9) + 1
    assert float((drawn.astype(float) ** 2).mean()) == pytest.approx(d.variance, rel=0.1)


def test_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_gaussian, "fresh_words", lambda: splitmix(7))
    d = DiscreteGaussian(sensitivity=1, scale=10**9)
    assert type(d.release(42)) is int
    assert d.release([0, 0, 0]).all()
    for cure, values in (("use Gaussian", 4.5), ("finite numbers", "7"), ("finite numbers", [None])):
        with pytest.raises(InvalidParameter, match=cure):
            d.release(values)  # type: ignore[arg-type]  # the refusal is the test


def test_a_price_for_one_number_is_for_one() -> None:
    d = DiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-6)
    assert type(d.release(3)) is int
    with pytest.raises(InvalidParameter, match="known for one number"):
        d.release([1, 2])


@pytest.mark.parametrize(
    "stated",
    [
        {"sensitivity": 1},
        {"sensitivity": 1, "epsilon": 1},
        {"sensitivity": 1, "rho": 1, "scale": 1},
        {"sensitivity": 0, "rho": 1},
        {"sensitivity": 1, "rho": float("nan")},
        {"sensitivity": 1.5, "epsilon": 1, "delta": 1e-6},
        {"sensitivity": 1, "epsilon": 1, "delta": 1},
    ],
    ids=repr,
)
def test_amounts_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        DiscreteGaussian(**stated)


def test_deltas_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        DiscreteGaussian(sensitivity=1, rho=1).delta(-1)
    with pytest.raises(InvalidParameter, match="whole sensitivity"):
        DiscreteGaussian(sensitivity=1.5, rho=1).delta(1)


def test_what_is_recorded() -> None:
    assert DiscreteGaussian(sensitivity=2, rho=0.5).event == ConcentratedEvent(rho=Fraction(1, 2))
    d = DiscreteGaussian(sensitivity=2, epsilon=1, delta=1e-6)
    assert d.event == DiscreteGaussianEvent(sensitivity=Fraction(2), sigma2=d.sigma2)


def test_confidences_next_to_one() -> None:
    sure = 1 - Fraction(1, 10**50)
    for sigma2 in (1, 10**6):
        mechanism = DiscreteGaussian(sensitivity=1, scale=math.isqrt(sigma2))
        t = mechanism.error(confidence=sure)
        assert 14.9 * math.isqrt(sigma2) < t < 15.2 * math.isqrt(sigma2) + 1
    with pytest.raises(InvalidParameter, match="no nearer to 0 or 1 than 1e-50"):
        DiscreteGaussian(sensitivity=1, rho=1).error(confidence=1 - Fraction(1, 10**78))

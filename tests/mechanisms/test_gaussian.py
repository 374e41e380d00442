"""The Gaussian mechanism: its calibrations, its law on ints and floats, its errors, its refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.mechanisms import gaussian
from discreet.mechanisms.gaussian import CALIBRATIONS, Gaussian
from discreet.noise.gaussian import RoundedNormal
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import chi_square_p, vectors_p

SAMPLES = 300_000
FALSE_ALARM = 1e-9
EXACT = {  # (epsilon, delta): sigma for sensitivity 1
    ("0.01", "1e-6"): 306.35037615381769,
    ("0.1", "1e-3"): 17.404396203031167,
    ("0.1", "1e-6"): 36.304690426195785,
    ("0.1", "1e-15"): 71.300595076365015,
    ("0.5", "1e-5"): 7.0318266755824914,
}
CLASSICAL = {
    ("0.1", "1e-3"): 37.764795326590469,
    ("0.5", "1e-6"): 10.597605053700948,
    ("0.9", "1e-10"): 7.5766037671949858,
}
NOT_PRIVATE = [("8", "1e-3"), ("10", "1e-5"), ("20", "1e-10")]
"""Where the classical formula is no theorem and gives too little noise."""


def survival(sigma: float) -> Any:
    from scipy import special

    return lambda k: np.asarray(special.erfc((k - 0.5) / sigma / math.sqrt(2)) / 2)


@pytest.fixture
def foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "fresh_words", lambda: splitmix(7))


@pytest.mark.parametrize(("stated", "sigma"), EXACT.items())
def test_exact_calibration(stated: tuple[str, str], sigma: float) -> None:
    """On the private side, by less than one part in 10^9; in proportion to the sensitivity."""
    epsilon, delta = (Fraction(text) for text in stated)
    one = Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    assert sigma * (1 - 1e-15) <= one.scale <= sigma * (1 + 1e-9)
    assert Gaussian(sensitivity=3, epsilon=epsilon, delta=delta).scale == 3 * one.scale
    assert one.loss.delta(epsilon) <= float(delta)


@pytest.mark.parametrize(("stated", "sigma"), CLASSICAL.items())
def test_textbook_formulas(stated: tuple[str, str], sigma: float) -> None:
    epsilon, delta = (Fraction(text) for text in stated)
    scale = {c: Gaussian(sensitivity=1, epsilon=epsilon, delta=delta, calibration=c).scale for c in CALIBRATIONS}
    assert float(scale["classical"]) == pytest.approx(sigma, rel=1e-14)
    assert float(scale["lecture_notes"]) == pytest.approx(math.sqrt(2 * math.log(2 / delta)) / epsilon, rel=1e-14)
    assert float(scale["logarithmic"]) == pytest.approx(math.log(1 / delta) / epsilon, rel=1e-14)
    assert scale["exact"] < scale["classical"] < scale["lecture_notes"] <= scale["logarithmic"]


@pytest.mark.parametrize("stated", NOT_PRIVATE)
@pytest.mark.parametrize("calibration", sorted(set(CALIBRATIONS) - {"exact"}))
def test_formulas_are_refused_outside(stated: tuple[str, str], calibration: str) -> None:
    epsilon, delta = (Fraction(text) for text in stated)
    with pytest.raises(InvalidParameter, match=r"is proved for, got epsilon=.*\nHint: .*leave calibration at 'exact'"):
        Gaussian(sensitivity=1, epsilon=epsilon, delta=delta, calibration=calibration)


@pytest.mark.parametrize(
    ("calibration", "delta"), [("classical", 0.41), ("lecture_notes", 0.51), ("logarithmic", 0.079)]
)
def test_formulas_are_refused_at_large_delta(calibration: str, delta: float) -> None:
    with pytest.raises(InvalidParameter, match="is proved for"):
        Gaussian(sensitivity=1, epsilon=0.9, delta=delta, calibration=calibration)


def test_rho_and_scale() -> None:
    g = Gaussian(sensitivity=3, rho=0.5)
    assert g.scale == 3
    assert g.rho == Fraction(1, 2)
    assert g == Gaussian(sensitivity=3, scale=3)
    odd = Gaussian(sensitivity=1, rho=1)
    assert odd.rho <= 1
    assert float(odd.scale) == pytest.approx(math.sqrt(0.5), rel=1e-15)
    assert odd.loss.mu == pytest.approx(math.sqrt(2), rel=1e-12)
    assert repr(g) == "Gaussian(sensitivity=3, scale=3)"


@pytest.mark.parametrize("kind", [int, float])
def test_noise_has_the_law(kind: type, foreseen: None) -> None:
    """Vectors of three; one coordinate left out, 2 % of scale, and one draw for all must fail."""
    unit = 1 if kind is int else 50 / 1024
    g = Gaussian(sensitivity=50, scale=50)
    released = g.release(np.zeros((SAMPLES, 3), dtype=kind))
    cells = np.floor(released / unit + (0.5 if kind is float else 0)).astype(np.int64)
    law = survival(50 / unit)
    assert vectors_p(cells, law) > FALSE_ALARM
    spared = cells.copy()
    spared[:, -1] = 0
    assert vectors_p(spared, law) < FALSE_ALARM
    assert vectors_p(np.repeat(cells[:, :1], 3, axis=1), law) < FALSE_ALARM
    assert chi_square_p(cells, survival(51 / unit)) < FALSE_ALARM


def test_the_last_number_is_blurred(foreseen: None) -> None:
    for values in (np.zeros(3, dtype=int), np.zeros(3)):
        assert Gaussian(sensitivity=1, scale=10**9).release(values).all()


def test_ints_stay_ints(foreseen: None) -> None:
    g = Gaussian(sensitivity=1, scale=10)
    assert type(g.release(42)) is int
    assert type(g.release(2**70)) is int
    assert g.release([[1, 2]]).shape == (1, 2)
    assert type(g.release(4.0)) is float
    assert Gaussian(sensitivity=1, scale=10**40).release([1, 2]).dtype == object


def test_rounding_is_paid_for() -> None:
    """16 floats: sigma is raised by (sensitivity + 4 steps) / sensitivity."""
    g, step = Gaussian(sensitivity=1, scale=2), Fraction(1, 2**24)
    assert g.real_scale(16) == 2 * (1 + 4 * step)
    used = list[Fraction]()

    class Zero:
        @staticmethod
        def of_variance(variance: Fraction) -> type[Zero]:
            used.append(variance)
            return Zero

        @staticmethod
        def sample(n: int, _: Any) -> NDArray[np.int64]:
            return np.zeros(n, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian, "RoundedNormal", Zero)
        g.release(np.zeros(16))
        g.release(np.zeros(16, dtype=int))
    assert used == [(g.real_scale(16) / step) ** 2, 4]


@pytest.mark.parametrize("dimension", [1, 100])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10), Fraction(10**6)], ids=str)
def test_figures_are_those_of_samples(scale: Fraction, dimension: int) -> None:
    g = Gaussian(sensitivity=1, scale=scale)
    law = RoundedNormal.of_variance(scale**2)
    drawn = np.abs(law.sample(10_000 * dimension, splitmix(3))).reshape(-1, dimension)
    worst = drawn.max(axis=1)
    assert abs(float(worst.mean()) - g.expected_error(dimension)) < 5 * float(worst.std()) / 100 + 1e-9
    assert g.expected_error(dimension) <= g.bound(dimension=dimension)
    assert float(np.mean(worst <= g.error(confidence=0.9, dimension=dimension))) > 0.9 - 0.015
    assert g.error(confidence=0.9, dimension=dimension) <= g.bound(dimension=dimension, confidence=0.9) + 0.5
    assert float((drawn.astype(float) ** 2).mean()) == pytest.approx(g.variance, rel=0.1)


def test_errors_of_reals_are_those_of_the_continuous_law() -> None:
    g = Gaussian(sensitivity=1, scale=1)
    assert g.error(confidence=0.95, reals=True) == pytest.approx(1.959963984540054, rel=1e-5)
    assert g.error(confidence=0.95, dimension=3143, reals=True) == pytest.approx(4.310077711328378, rel=1e-5)


@pytest.mark.parametrize(
    "stated",
    [
        {"sensitivity": 1},
        {"sensitivity": 1, "epsilon": 1},
        {"sensitivity": 1, "delta": 1e-6},
        {"sensitivity": 1, "epsilon": 1, "delta": 1e-6, "rho": 1},
        {"sensitivity": 1, "rho": 1, "scale": 1},
        {"sensitivity": 0, "rho": 1},
        {"sensitivity": float("nan"), "rho": 1},
        {"sensitivity": 1, "epsilon": 1, "delta": 0},
        {"sensitivity": 1, "epsilon": 1, "delta": 1},
        {"sensitivity": 1, "epsilon": 1, "delta": -1e-6},
        {"sensitivity": 1, "epsilon": -1, "delta": 1e-6},
        {"sensitivity": 1, "epsilon": 1, "delta": 1e-6, "calibration": "exakt"},
        {"sensitivity": 1, "rho": 0},
        {"sensitivity": 1, "scale": "2"},
    ],
    ids=repr,
)
def test_amounts_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        Gaussian(**stated)


@pytest.mark.parametrize("values", [float("nan"), [1.0, float("inf")], "7", [True], None], ids=repr)
def test_values_that_are_no_numbers_are_refused(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="finite numbers"):
        Gaussian(sensitivity=1, rho=1).release(values)


def test_what_is_recorded() -> None:
    g = Gaussian(sensitivity=3, scale=6)
    assert g.event.mu2 == Fraction(1, 4)
    assert g.loss.mu == 0.5

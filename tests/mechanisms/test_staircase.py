"""Staircase noise: the paper's errors, its neighbors, its loss by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.mechanisms import staircase
from discreet.mechanisms.staircase import Staircase
from discreet.noise import staircase as noise
from discreet.testing.scripted_words import splitmix

REFERENCE = {  # epsilon: E|X| at the best gamma, that gamma, variance there; gamma for the variance, that variance
    0.1: (9.995834548290839, 0.4875026035157897, 199.9166979053032, 0.4916666674, 199.9166805610593),
    1: (0.9595173756674719, 0.3775406687981454, 1.919681759149449, 0.4167374349, 1.918103531235525),
    3: (0.2348212202976123, 0.1824255238063563, 0.1599974950275638, 0.2599064644, 0.1526736452092879),
    5: (0.08264183492754778, 0.07585818002124355, 0.03702725127542017, 0.1444821749, 0.02971102413637286),
}


@pytest.mark.parametrize(("epsilon", "wanted"), REFERENCE.items())
def test_the_error_is_that_of_the_paper(epsilon: float, wanted: tuple[float, ...]) -> None:
    best, calm = (
        Staircase(sensitivity=1, epsilon=epsilon),
        Staircase(sensitivity=1, epsilon=epsilon, minimize="variance"),
    )
    assert best.expected_error() == pytest.approx(wanted[0], rel=1e-12)
    assert best.gamma == pytest.approx(wanted[1], rel=1e-12)
    assert best.variance == pytest.approx(wanted[2], rel=1e-5)
    assert calm.gamma == pytest.approx(wanted[3], rel=1e-8)
    assert calm.variance == pytest.approx(wanted[4], rel=1e-5)
    law = best.law()
    drawn = np.abs(law.sample(200_000, splitmix(1))) * float(best.step)
    assert float(drawn.mean()) == pytest.approx(wanted[0], abs=5 * float(drawn.std()) / math.sqrt(200_000))


@pytest.mark.parametrize("sensitivity", [1, 3, Fraction(7, 2)])
def test_neighbors_are_covered(sensitivity: Fraction) -> None:
    """The law's width is as far as two neighbors' integers can be apart: a step more than the reals."""
    s = Staircase(sensitivity=sensitivity, epsilon=2)
    assert s.law().width >= sensitivity / s.step + 1
    assert s.law().width * s.step <= sensitivity * (1 + Fraction(1, 2**19))
    if Fraction(sensitivity).denominator == 1:
        assert s.law(reals=False).width == sensitivity


@pytest.mark.parametrize("sensitivity", [1, 2, 5, 12])
@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
def test_the_loss_by_enumeration(sensitivity: int, epsilon: float) -> None:
    """delta(t) of all shifts up to the sensitivity, summed over the integers: the loss is reached and never passed."""
    s = Staircase(sensitivity=sensitivity, epsilon=epsilon)
    law = s.law(reals=False)
    z = np.arange(-400 * sensitivity, 400 * sensitivity + 1)
    k = np.abs(z) // law.width + (np.abs(z) % law.width >= law.high)
    p = np.exp(-epsilon * k)
    p /= p.sum()
    for t in (0.0, epsilon / 2, epsilon * 0.9):
        deltas = [
            np.maximum(p[shift:] - math.exp(t) * p[: p.size - shift], 0).sum() for shift in range(1, sensitivity + 1)
        ]
        assert max(deltas) == pytest.approx(s.integer_loss.delta(t), rel=1e-9)
    assert s.integer_loss.epsilon(delta=0) == pytest.approx(epsilon, rel=1e-12)


def test_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staircase, "fresh_words", lambda: splitmix(7))
    s = Staircase(sensitivity=1000, epsilon=0.001)
    assert type(s.release(42)) is int
    assert type(s.release(4.2)) is float
    assert s.release(0) != 0
    assert s.release(np.array([3])).shape == (1,)


def test_errors() -> None:
    """P(|X| > t) of the continuous law; whole sensitivities for the bound."""
    s = Staircase(sensitivity=1, epsilon=5)
    drawn = np.abs(s.law().sample(200_000, splitmix(2))) * float(s.step)
    for confidence in (0.5, 0.95):
        within = float(np.mean(drawn <= s.error(confidence=confidence)))
        assert confidence - 0.006 < within < confidence + 0.006
        assert s.error(confidence=confidence) <= s.bound(confidence=confidence)
    assert s.error(confidence=0.95, reals=False) == 0
    assert s.bound(dimension=1000, confidence=0.99) == pytest.approx(3, rel=1e-5)
    assert repr(s) == "Staircase(sensitivity=1, epsilon=5)"


@pytest.mark.parametrize(
    "stated",
    [
        {"sensitivity": 0, "epsilon": 1},
        {"sensitivity": 1, "epsilon": float("nan")},
        {"sensitivity": 1, "epsilon": 1, "minimize": "bias"},
    ],
    ids=repr,
)
def test_amounts_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        Staircase(**stated)


def test_values_that_cannot_be_are_refused() -> None:
    s = Staircase(sensitivity=1.5, epsilon=1)
    for values, what in (([1.0, 2.0], "one number"), (float("inf"), "finite numbers"), (3, "whole sensitivity")):
        with pytest.raises(InvalidParameter, match=what):
            s.release(values)
    with pytest.raises(InvalidParameter, match="whole sensitivity"):
        _ = s.integer_loss


def test_what_is_recorded() -> None:
    s = Staircase(sensitivity=2, epsilon=3)
    assert s.event.epsilon == 3
    assert s.event.gamma == s.same_loss()


def test_tiny_epsilons_are_left_to_laplace_noise() -> None:
    """Below, steps would pass their cap: 2^62 of them with probability e^(-2^12) at 2^-50, and 0.6 at 2^-62."""
    edge = Staircase(sensitivity=1, epsilon=Fraction(1, 2**50))
    assert Fraction(1, 2) <= edge.same_loss() < Fraction(1, 2) + Fraction(1, 10**5)
    assert edge.event.gamma == edge.same_loss()
    with pytest.raises(InvalidParameter, match=r"an epsilon of 2\*\*-50 or more"):
        Staircase(sensitivity=1, epsilon=1e-17)
    with pytest.raises(InvalidParameter, match=r"an epsilon of 2\*\*-50 or more"):
        noise.StaircaseLaw.of(Fraction(1, 2**51), 1, 1)


def test_huge_epsilons_leave_the_lattice_alone() -> None:
    for epsilon in (800, 1e6, 1e100):
        mechanism = Staircase(sensitivity=1, epsilon=epsilon)
        assert mechanism.expected_error() < 1e-100 < mechanism.error()
        assert mechanism.variance > 0
        assert mechanism.loss.delta(1) == 1.0


def test_confidences_next_to_one_have_quantiles() -> None:
    sure = 1 - Fraction(1, 10**50)
    law = Staircase(sensitivity=1, epsilon=1).law()
    t = law.quantile(sure, dimension=10**12)
    assert law.tail(t + 1) * 10**12 <= 1e-50 * (1 + 1e-12)
    assert law.tail(t) * 10**12 > 1e-50 * (1 - 1e-12)

"""The Laplace mechanism as an object: what it adds to ints, floats and arrays, and what it says of its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.mechanisms import laplace
from discreet.mechanisms.laplace import Laplace
from discreet.noise.geometric import CAP
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import DiscreteLaplaceEvent, PureEvent
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import chi_square_p, laplace_survival, planted, vectors_p

SAMPLES = 300_000
FALSE_ALARM = 1e-9
COUNTY = Laplace(sensitivity=1, epsilon=0.1)


@pytest.fixture
def foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "fresh_words", lambda: splitmix(7))


def test_the_counties() -> None:
    """3,143 counts at epsilon 0.1: the largest is off by 86.3 on average, 90.5 at most; 110 with 95 % confidence."""
    assert COUNTY.scale == 10
    assert COUNTY.expected_error(3143) == pytest.approx(86.3, abs=0.05)
    assert COUNTY.bound(dimension=3143) == pytest.approx(90.5, abs=0.05)
    assert COUNTY.error(confidence=0.95, dimension=3143) == 110
    assert COUNTY.error(confidence=0.95, dimension=3143) <= COUNTY.bound(dimension=3143, confidence=0.95)
    assert COUNTY.expected_error(1) == pytest.approx(10, abs=0.02)
    replaced = Laplace(sensitivity=2, epsilon=0.1)
    assert replaced.expected_error(3143) == pytest.approx(172.6, abs=0.05)
    assert replaced.bound(dimension=3143) == pytest.approx(181.1, abs=0.05)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(10), Fraction(10**7)], ids=str)
@pytest.mark.parametrize("dimension", [1, 20])
def test_figures_are_those_of_samples(scale: Fraction, dimension: int) -> None:
    """Means and quantiles of 20,000 simulated maxima, within five standard errors."""
    m = Laplace(sensitivity=scale, epsilon=1)
    drawn = np.abs(DiscreteLaplace.of_scale(scale).sample(20_000 * dimension, splitmix(3))).reshape(-1, dimension)
    worst = drawn.max(axis=1)
    slack = 5 * float(worst.std()) / math.sqrt(20_000)
    assert abs(float(worst.mean()) - m.expected_error(dimension)) < slack
    assert m.expected_error(dimension) <= m.bound(dimension=dimension)
    within = float(np.mean(worst <= m.error(confidence=0.9, dimension=dimension)))
    assert within > 0.9 - 5 * math.sqrt(0.09 / 20_000)
    assert abs(float((drawn**2).mean()) / m.variance - 1) < 0.1


def test_ints_stay_ints(foreseen: None) -> None:
    assert type(COUNTY.release(42)) is int
    assert type(COUNTY.release(2**70)) is int
    assert COUNTY.release(np.arange(6).reshape(2, 3)).dtype == np.int64
    assert COUNTY.release([[1, 2], [3, 4]]).shape == (2, 2)
    assert COUNTY.release(np.array([2**63], dtype=np.uint64)).dtype == object
    assert type(COUNTY.release(4.0)) is float
    assert COUNTY.release(np.array([1.5, 2.5], dtype=np.float32)).dtype == np.float64
    assert COUNTY.release(np.array([])).shape == (0,)


@pytest.mark.parametrize("real", [False, True])
def test_noise_has_the_law(real: bool, foreseen: None) -> None:  # noqa: FBT001 - a case of the test
    """Chi-square on ints and, in steps of sigma/1024, on floats; each planted sampler fails the same test."""
    kind: type = float if real else int
    released = Laplace(sensitivity=50, epsilon=1).release(np.zeros(SAMPLES, dtype=kind))
    cells = np.floor(released * (1 if not real else 1024 / 50)).astype(np.int64)
    survival = laplace_survival(50.0) if not real else continuous_survival(1024.0)
    assert chi_square_p(cells, survival) > FALSE_ALARM
    wide = Laplace(sensitivity=50, scale=51.5).release(np.zeros(SAMPLES, dtype=kind))
    assert chi_square_p(np.floor(wide * (1 if not real else 1024 / 50)).astype(np.int64), survival) < FALSE_ALARM


def continuous_survival(scale: float) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """P(floor(X) >= k) for X Laplace."""
    return lambda k: np.where(k >= 0, np.exp(-np.abs(k) / scale) / 2, 1 - np.exp(-np.abs(k) / scale) / 2)


@pytest.mark.cases
@pytest.mark.parametrize("fault", planted(Fraction(2)))
def test_planted_faults_are_caught(fault: str) -> None:
    """Vectors of three with each planted sampler in place of the law."""
    sampler, words = planted(Fraction(2))[fault], splitmix(5)
    if fault in {"one-draw-for-all", "last-left-at-zero"}:
        drawn = np.stack([sampler(3, words) for _ in range(2000)])
    else:
        drawn = sampler(1_500_000, words).reshape(-1, 3)
    assert vectors_p(drawn, laplace_survival(2.0)) < FALSE_ALARM


def test_rounding_is_paid_for() -> None:
    """The scale for d floats is (sensitivity + d step) / epsilon, and the neighbors' integers are no farther apart."""
    m, step = Laplace(sensitivity=3, epsilon=0.5), Fraction(1, 2**22)
    assert m.real_scale(4) == (3 + 4 * Fraction(1, 2**21)) / Fraction(1, 2)
    assert m.real_scale(8) == (3 + 8 * step) / Fraction(1, 2)
    assert m.scale < m.real_scale(8) <= m.scale * (1 + Fraction(1, 2**20))
    used = list[Fraction]()
    with pytest.MonkeyPatch.context() as patch:

        def unblurred(flat: NDArray[Any], scale: Fraction, _: Any) -> NDArray[Any]:
            used.append(scale)
            return flat

        patch.setattr(laplace, "noisy", unblurred)
        m.release(np.zeros(8))
        m.release(np.zeros(8, dtype=int))
    assert used == [m.real_scale(8) / step, m.scale]
    assert m.error(confidence=0.95, dimension=8, reals=True) >= float(step / 2)


def test_errors_of_reals_are_those_of_their_lattice() -> None:
    """P(|Z| <= t) for continuous noise of scale 1 is 1 - exp(-t)."""
    m = Laplace(sensitivity=1, epsilon=1)
    assert m.error(confidence=0.95, reals=True) == pytest.approx(-math.log(0.05), rel=1e-5)
    assert m.error(confidence=0.95) == 3


def test_huge_noise_is_not_cut() -> None:
    """A draw at the cap is drawn on, in Python integers."""
    m = Laplace(sensitivity=10**30, epsilon=1)
    drawn = m.add_noise(np.zeros(200, dtype=np.int64), splitmix(3))
    assert drawn.dtype == object
    assert 0.5 < float(np.mean([abs(int(z)) / 1e30 for z in drawn])) < 2
    assert max(abs(int(z)) for z in drawn) > CAP


def test_cells_have_noise_of_their_own() -> None:
    """A thousand cells: none of the noise is another cell's, at a scale where two agree once in 10^10 runs."""
    drawn = Laplace(sensitivity=10**20, scale=2**55).add_noise(np.zeros(1000, dtype=np.int64), splitmix(6))
    assert np.unique(drawn).size == 1000


def test_an_epsilon_from_a_scale() -> None:
    m = Laplace(sensitivity=2, scale=10)
    assert m.scale == 10
    assert m.epsilon == Fraction(1, 5)
    assert m == Laplace(sensitivity=2, epsilon=0.2)
    assert repr(m) == "Laplace(sensitivity=2, epsilon=0.2)"


def test_sample_sizes() -> None:
    """Half the error or half the epsilon: twice the people, short of rounding. k queries: k log k times as many."""
    n = Laplace.sample_size(within=0.01, epsilon=0.5)
    assert n == math.ceil(DiscreteLaplace.of_scale(Fraction(2)).quantile(0.95) / 0.01)
    assert Laplace.sample_size(within=0.0001, epsilon=0.005) == pytest.approx(
        2 * Laplace.sample_size(within=0.0001, epsilon=0.01), rel=0.01
    )
    many = Laplace.sample_size(within=0.01, epsilon=0.01, queries=10, beta=0.05)
    assert many == pytest.approx(10 * math.log(10 / 0.05) / (0.01 * 0.01), rel=0.02)


def test_no_words_in_what_users_call() -> None:
    with pytest.raises(TypeError):
        COUNTY.release(1, scripted(1))  # type: ignore[call-arg]  # the refusal is the test


@pytest.mark.parametrize(
    "stated",
    [
        {"sensitivity": 1},
        {"sensitivity": 1, "epsilon": 1, "scale": 1},
        {"sensitivity": 0, "epsilon": 1},
        {"sensitivity": -1, "epsilon": 1},
        {"sensitivity": float("nan"), "epsilon": 1},
        {"sensitivity": 1, "epsilon": 0},
        {"sensitivity": 1, "epsilon": float("inf")},
        {"sensitivity": 1, "scale": -2},
        {"sensitivity": "1", "epsilon": 1},
        {"sensitivity": 1, "epsilon": True},
    ],
    ids=repr,
)
def test_amounts_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        Laplace(**stated)


def test_the_sensitivity_is_never_assumed() -> None:
    with pytest.raises(TypeError, match="sensitivity"):
        Laplace(epsilon=1)  # type: ignore[call-arg]  # the refusal is the test


@pytest.mark.parametrize(
    "values", [float("nan"), [1.0, float("inf")], "7", [True], None, [1, None], np.array([1j])], ids=repr
)
def test_values_that_are_no_numbers_are_refused(values: Any) -> None:
    with pytest.raises(InvalidParameter, match="finite numbers"):
        COUNTY.release(values)


@pytest.mark.parametrize(("confidence", "dimension"), [(0, 1), (1, 1), (0.9, 0), (0.9, -1), (0.9, 2.5)])
def test_errors_that_cannot_be_are_refused(confidence: float, dimension: int) -> None:
    for ask in (COUNTY.error, COUNTY.bound):
        with pytest.raises(InvalidParameter, match="Hint"):
            ask(confidence=confidence, dimension=dimension)


def test_what_is_recorded_and_lost() -> None:
    """On integers that move by 1 the loss is that of randomized response; on reals that of continuous noise."""
    assert COUNTY.event == DiscreteLaplaceEvent(sensitivity=Fraction(1), scale=Fraction(10))
    assert Laplace(sensitivity=0.5, epsilon=1).event == PureEvent(epsilon=Fraction(1))
    assert COUNTY.loss.epsilon(delta=0) == pytest.approx(0.1, rel=1e-12)
    one = Laplace(sensitivity=1, epsilon=1)
    assert one.loss.delta(0.5) == pytest.approx(math.e / (1 + math.e) * (1 - math.exp(-0.5)), rel=1e-12)
    assert one.real_loss().delta(0.5) == pytest.approx(1 - math.exp(-0.25), rel=1e-3)
    assert Laplace(sensitivity=0.5, epsilon=1).loss.delta(0.5) == one.loss.delta(0.5)


@pytest.mark.parametrize("shift", [(2, 0), (1, 1), (1, -1), (1, 0), (0, 0)])
def test_one_coordinate_dominates(shift: tuple[int, int]) -> None:
    """All shifts of two integers by at most 2: delta by summing over the plane, never above that of (2, 0)."""
    m, z = Laplace(sensitivity=2, epsilon=1), np.arange(-60, 61)
    p = np.exp(-np.abs(z) / float(m.scale))
    p /= p.sum()
    moved = [np.exp(-np.abs(z - s) / float(m.scale)) / np.exp(-np.abs(z) / float(m.scale)).sum() for s in shift]
    for t in (0.0, 0.3, 0.5, 0.9):
        delta = float(np.maximum(np.outer(p, p) - math.exp(t) * np.outer(*moved), 0).sum())
        assert delta <= m.loss.delta(t) * (1 + 1e-9) + 1e-12

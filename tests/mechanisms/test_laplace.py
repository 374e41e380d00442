"""What the curator adds to totals: noise that does not know them, exact at any size, beyond the cap too."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.mechanisms import laplace
from discreet.mechanisms.laplace import SMALL, WIDE, Laplace
from discreet.noise.geometric import CAP, Geometric
from discreet.noise.laplace import DiscreteLaplace
from discreet.testing import chi_square_p, splitmix, vectors_p
from discreet.testing.statistics import laplace_survival, planted

FALSE_ALARM = 1e-9
SAMPLES = 200_000

SIZES = st.one_of(
    st.integers(-10, 10),
    st.integers(-SMALL - 2, SMALL + 2),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**100), 2**100),
    st.sampled_from((SMALL, -SMALL, SMALL - 1, 1 - SMALL, -(2**63), 2**63 - 1)),
)
SCALES = st.sampled_from(
    (Fraction(1, 7), Fraction(3, 2), Fraction(10**6), Fraction(2**55), Fraction(WIDE), Fraction(10**30))
)


def array(totals: list[int]) -> NDArray[Any]:
    fits = all(-(2**63) <= total < 2**63 for total in totals)
    return np.array(totals, dtype=np.int64 if fits else object)


@given(totals=st.lists(SIZES, min_size=1, max_size=6), scale=SCALES, seed=st.integers(0, 2**64 - 1))
def test_the_noise_does_not_know_the_totals(totals: list[int], scale: Fraction, seed: int) -> None:
    """The same words make the same noise, whatever it is added to; sums are exact, however large they are."""
    mechanism = Laplace(sensitivity=1, scale=scale)
    alone = mechanism.add_noise(np.zeros(len(totals), dtype=np.int64), splitmix(seed))
    add_noise = mechanism.add_noise(array(totals), splitmix(seed))
    assert [int(one) - total for one, total in zip(add_noise, totals, strict=True)] == [int(noise) for noise in alone]


@given(shape=st.sampled_from(((0, 1), (4, 3), (1, 4), (3,))), dtype=st.sampled_from((np.int64, object)))
def test_shapes_are_kept(shape: tuple[int, ...], dtype: type) -> None:
    assert Laplace(sensitivity=1, epsilon=1).add_noise(np.zeros(shape, dtype=dtype), splitmix(1)).shape == shape


def test_totals_are_left_as_they_were() -> None:
    totals = np.arange(5)
    Laplace(sensitivity=1, epsilon=1).add_noise(totals, splitmix(1))
    assert totals.tolist() == [0, 1, 2, 3, 4]


class Scripted:
    """Draws in place of a law's own, whatever is asked for."""

    def __init__(self, *draws: int) -> None:
        self.draws: Iterator[int] = iter(draws)

    def sample(self, n: int, _: object) -> NDArray[np.int64]:
        return np.array([next(self.draws) for _ in range(n)], dtype=np.int64)


def test_a_draw_at_the_cap_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """CAP stands for CAP or more: what lies beyond is drawn from the same geometric law, again and again, and added."""
    monkeypatch.setattr(DiscreteLaplace, "of_scale", lambda _: Scripted(CAP, -CAP, 5, -5))
    beyond = Scripted(7, CAP, CAP, 3)
    monkeypatch.setattr(Geometric, "of_scale", lambda _: beyond)
    found = Laplace(sensitivity=1, epsilon=1).add_noise(np.array([1, 2, 3, 4]), splitmix(1))
    assert found.tolist() == [1 + CAP + 7, 2 - (3 * CAP + 3), 8, -1]


def test_the_law_behind_the_cap_is_that_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cap at 3 instead of 2**62, the mended draws have the whole law; 200,000 draws, p below 1e-9 says no."""
    of_scale = DiscreteLaplace.of_scale

    class Capped:
        def __init__(self, scale: Fraction) -> None:
            self.law = of_scale(scale)

        def sample(self, n: int, words: Any) -> NDArray[np.int64]:
            return np.clip(self.law.sample(n, words), -3, 3)

    monkeypatch.setattr(laplace, "CAP", 3)
    monkeypatch.setattr(DiscreteLaplace, "of_scale", Capped)
    drawn = Laplace(sensitivity=1, scale=2).add_noise(np.zeros(SAMPLES // 10, dtype=np.int64), splitmix(2))
    assert chi_square_p(drawn.astype(np.int64), laplace_survival(2.0)) > FALSE_ALARM
    monkeypatch.setattr(laplace, "_excess", lambda *_: 0)
    cut = Laplace(sensitivity=1, scale=2).add_noise(np.zeros(SAMPLES // 10, dtype=np.int64), splitmix(2))
    assert chi_square_p(cut.astype(np.int64), laplace_survival(2.0)) < FALSE_ALARM


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [(1, Fraction(1, 3)), (7, Fraction(5, 2)), (2**40, Fraction(2**39)), (10**6, Fraction(1))],
)
def test_totals_have_the_law_of_their_scale(sensitivity: int, epsilon: Fraction) -> None:
    drawn = Laplace(sensitivity=sensitivity, epsilon=epsilon).add_noise(np.full(SAMPLES, 12345), splitmix(3)) - 12345
    assert chi_square_p(drawn, laplace_survival(float(sensitivity / epsilon))) > FALSE_ALARM
    assert chi_square_p(drawn, laplace_survival(1.05 * float(sensitivity / epsilon))) < FALSE_ALARM


def test_components_of_a_cell_are_independent() -> None:
    drawn = Laplace(sensitivity=1, scale=2).add_noise(np.zeros((SAMPLES, 3), dtype=np.int64), splitmix(4))
    assert vectors_p(drawn, laplace_survival(2.0)) > FALSE_ALARM


@pytest.mark.parametrize("fault", planted(Fraction(2)))
def test_planted_noise_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test sees each of the planted samplers through the mechanism."""
    sampler = planted(Fraction(2))[fault]

    class Planted:
        def sample(self, n: int, words: Any) -> NDArray[np.int64]:
            return sampler(n, words)

    monkeypatch.setattr(DiscreteLaplace, "of_scale", lambda _: Planted())
    mechanism, words = Laplace(sensitivity=1, scale=2), splitmix(5)
    cells = [(3000, 3)] if fault not in {"one-draw-for-all", "last-left-at-zero"} else [(3,)] * 3000
    if fault in {"scale-2%-off", "rounded-continuous"}:
        cells = [(500_000, 3)]
    drawn = np.concatenate(
        [mechanism.add_noise(np.zeros(shape, dtype=np.int64), words).reshape(-1, 3) for shape in cells]
    )
    assert vectors_p(drawn, laplace_survival(2.0)) < FALSE_ALARM

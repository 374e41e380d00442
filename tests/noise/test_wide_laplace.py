"""Discrete Laplace noise of any width, in Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise import wide_laplace as module
from discreet.noise.entropy import fresh_words
from discreet.noise.geometric import CAP, Geometric
from discreet.noise.wide_laplace import wide_laplace
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p, chi_square_p, laplace_survival

SAMPLES = 100_000
FALSE_ALARM = 1e-9


@pytest.mark.parametrize("narrow", [1, 8, 1 << 50], ids=str)
def test_narrow_scales(narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same law however many bits are drawn one by one; 5 % of scale are seen."""
    monkeypatch.setattr(module, "NARROW", narrow)
    drawn = wide_laplace(Fraction(7, 2), SAMPLES, splitmix(narrow)).astype(np.int64)
    assert chi_square_p(drawn, laplace_survival(3.5)) > FALSE_ALARM
    assert chi_square_p(drawn, laplace_survival(3.5 * 1.05)) < FALSE_ALARM


def test_wide_scales() -> None:
    """Thousandths of the scale follow the law; no draw is cut."""
    drawn = wide_laplace(Fraction(10**30), SAMPLES // 4, splitmix(1))
    cells = np.array([z // 10**27 for z in drawn.tolist()])

    def fine(k: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(floor(1000 X) >= k) of the continuous law of scale 1."""
        half = np.exp(-np.abs(k) / 1000.0) / 2
        return np.where(k > 0, half, 1 - half)

    assert chi_square_p(cells, fine) > FALSE_ALARM
    assert max(abs(z) for z in drawn.tolist()) > 2**62


def test_low_bits_are_drawn() -> None:
    """At a scale of 10**30 the lowest twenty bits are fair coins."""
    drawn = np.array([z % 2**20 for z in wide_laplace(Fraction(10**30), 20_000, splitmix(2)).tolist()])
    for i in range(20):
        assert binomial_p(int(np.count_nonzero(drawn >> i & 1)), 20_000, 0.5) > FALSE_ALARM


def test_draws_at_the_cap_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cap of 0 every draw is past it; two draws below it end it."""
    pieces = iter([np.array([CAP]), np.array([CAP]), np.array([5])])
    monkeypatch.setattr(Geometric, "sample", lambda *_: next(pieces))
    (drawn,) = module._magnitudes(Fraction(3), 1, splitmix(3)).tolist()
    assert drawn == 2 * CAP + 5


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), 1.0], ids=repr)
def test_scales_that_cannot_be_are_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="scale"):
        wide_laplace(scale, 1, fresh_words())

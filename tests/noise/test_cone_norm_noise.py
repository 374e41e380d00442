"""Cone noise: its cones by volume, its law in bodies where it is known, its roundings at the edge."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.noise.cone_norm_noise import Cones, Corner, nearest_integer
from discreet.noise.entropy import fresh_words
from discreet.testing.scripted_words import scripted, splitmix
from discreet.testing.statistics import Survival, binomial_p, chi_square_p, laplace_survival, vectors_p

SAMPLES = 200_000
FALSE_ALARM = 1e-9
ONE, TWO = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))


def negative(corner: Corner) -> Corner:
    return tuple(-x for x in corner)


def octahedron(size: int) -> Cones:
    axes = [tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size)]
    sides = [
        [negative(a) if s else a for a, s in zip(axes, signs, strict=True)] for signs in product((0, 1), repeat=size)
    ]
    return Cones.of([Fraction(1)] * len(sides), sides)


def rounded_laplace(scale: float) -> Survival:
    """P(round(X) >= k) for X continuous Laplace."""

    def survival(k: NDArray[np.int64]) -> NDArray[np.float64]:
        far = np.exp(-np.abs(k - 0.5) / scale) / 2
        return np.asarray(np.where(k > 0, far, 1 - far))

    return survival


@pytest.mark.parametrize("size", [1, 3])
def test_the_cross_polytope_is_laplace(size: int) -> None:
    """K the L1 ball: independent Laplace variables, rounded; at 2 % of scale they are not; discrete ones are not."""
    drawn = octahedron(size).sample(Fraction(1, 2), SAMPLES, splitmix(1))
    assert vectors_p(drawn, rounded_laplace(2.0)) > FALSE_ALARM
    assert chi_square_p(drawn, laplace_survival(2.0)) < FALSE_ALARM
    wide = octahedron(size).sample(Fraction(100, 206), SAMPLES, splitmix(2))
    assert chi_square_p(wide, rounded_laplace(2.0)) < FALSE_ALARM


def test_the_square_is_laplace_rotated() -> None:
    """K the square of corners (+-1, +-1): x + y and x - y are independent Laplace variables of scale 2."""
    corners = [(Fraction(x), Fraction(y)) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    sides = [(corners[i], corners[(i + 1) % 4]) for i in range(4)]
    drawn = Cones.of([Fraction(2)] * 4, sides).sample(Fraction(1, 500), SAMPLES, splitmix(3))
    turned = np.stack([drawn.sum(axis=1), drawn[:, 0] - drawn[:, 1]], axis=1) // 100

    def fine(k: NDArray[np.int64]) -> NDArray[np.float64]:
        half = np.exp(-np.abs(k) / 10.0) / 2
        return np.asarray(np.where(k > 0, half, 1 - half))

    assert vectors_p(turned, fine) > FALSE_ALARM
    drawn[:, 1] = 0  # one coordinate left out
    assert vectors_p(np.stack([drawn.sum(axis=1), drawn[:, 0] - drawn[:, 1]], axis=1) // 100, fine) < FALSE_ALARM


def test_cones_by_their_volume() -> None:
    """Weights 1 : 3 are met as often."""
    law = Cones.of([Fraction(1), Fraction(3)], [[ONE, TWO], [negative(ONE), TWO]])
    left = int(np.count_nonzero(law.sample(Fraction(1, 10**9), SAMPLES, splitmix(4))[:, 0] < 0))
    assert binomial_p(left, SAMPLES, 0.75) > FALSE_ALARM


def test_roundings_at_the_edge_are_decided_by_more_bits() -> None:
    """A corner such that the length is 5/2 in the middle of the first word's interval: the next word tells the side."""
    word = 3 << 60
    with ctx.workprec(300):
        length = -((arb(word) + arb(0.5)) * arb(2) ** -64).log()
        scaled = int((arb(5) / 2 / length * arb(2) ** 200).mid().floor().unique_fmpz() or 0)
    law = Cones.of([Fraction(1)], [[(Fraction(scaled, 2**200),)]])
    assert law._decided(0, [word], Fraction(1), scripted(2**63 - 2**20)) == [3]  # a smaller uniform is a longer side
    assert law._decided(0, [word], Fraction(1), scripted(2**63 + 2**20)) == [2]
    assert law.sample(Fraction(1), 1, scripted(0, word, 2**63 - 2**20)).tolist() == [[3]]


def test_floats_and_arb_agree() -> None:
    law = octahedron(2)
    words = splitmix(6)(4000).reshape(2000, 2)
    pieces = [splitmix(7)(500), words.reshape(-1)]
    drawn = law.sample(Fraction(1, 1000), 2000, lambda n: pieces.pop(0)[:n])
    pieces = [splitmix(7)(500)]
    cones = law.table.sample(2000, lambda n: pieces.pop(0)[:n])
    for i in range(2000):
        exact = law._decided(int(cones[i]), [int(w) for w in words[i]], Fraction(1, 1000), fresh_words())
        assert drawn[i].tolist() == exact


def test_large_coordinates_are_python_integers() -> None:
    drawn = octahedron(1).sample(Fraction(1, 10**30), 200, splitmix(8))
    assert drawn.dtype == object
    assert 0.5 < float(np.mean([abs(int(z)) / 1e30 for z in drawn[:, 0]])) < 2


def test_words_that_tell_nothing_are_read_on() -> None:
    assert octahedron(1).sample(Fraction(1), 1, scripted(0, 0, 2**63, 2**63, 2**63)).shape == (1, 1)


def test_nearest_integers() -> None:
    assert nearest_integer(arb(-2.25)) == -2
    assert nearest_integer(arb(0.5, 0.01)) is None
    assert nearest_integer(arb("inf")) is None


@pytest.mark.parametrize("weights", [[], [Fraction(0)], [Fraction(-1)], [Fraction(1), Fraction(1)]], ids=repr)
def test_weights_that_cannot_be_are_refused(weights: list[Fraction]) -> None:
    with pytest.raises(InvalidParameter, match="weights"):
        Cones.of(weights, [[ONE, TWO]])


@pytest.mark.parametrize("rate", [Fraction(0), 1.0, None], ids=repr)
def test_rates_that_cannot_be_are_refused(rate: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="rate"):
        octahedron(1).sample(rate, 1, fresh_words())

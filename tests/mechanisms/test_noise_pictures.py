"""Pictures are tested by the data they plot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.mechanisms import noise_pictures
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase

MECHANISMS = (
    Laplace(sensitivity=4, epsilon=1),
    Gaussian(sensitivity=4, rho=0.5),
    DiscreteGaussian(sensitivity=4, rho=0.5),
    Staircase(sensitivity=4, epsilon=1),
)


def test_probabilities_add_up() -> None:
    """Each law over all integers in reach; the first at 0 and 5 by its formula."""
    for mechanism in MECHANISMS:
        law = noise_pictures.law_of(mechanism)
        assert math.fsum(noise_pictures._probability(law, z) for z in range(-150, 151)) == pytest.approx(1, abs=1e-9)
    q, law = math.exp(-1 / 4), noise_pictures.law_of(MECHANISMS[0])
    for z in (0, 5, -5):
        assert noise_pictures._probability(law, z) == pytest.approx((1 - q) / (1 + q) * q ** abs(z), rel=1e-10)


def test_every_curve_is_drawn() -> None:
    (axis,) = noise_pictures.noise_figure(*MECHANISMS).axes
    assert [line.get_label() for line in axis.lines] == [repr(m) for m in MECHANISMS]
    assert len({(str(line.get_linestyle()), str(line.get_marker())) for line in axis.lines}) == len(MECHANISMS)
    wide = noise_pictures.noise_figure(Laplace(sensitivity=10**6, epsilon=1)).axes[0].lines[0]
    assert np.size(wide.get_xdata()) < 300


def test_the_curves_are_the_errors() -> None:
    """Laplace noise wins for few answers, Gaussian noise for many: it overtakes between 5 and 20 at epsilon 1."""
    rows = noise_pictures.noise_table(dimensions=(1, 5, 20, 100))
    assert rows[3][1:] == (
        Laplace(sensitivity=100, epsilon=1).error(dimension=100),
        Gaussian(sensitivity=10, epsilon=1, delta=1e-6).error(dimension=100),
    )
    assert [laplace < gaussian for _, laplace, gaussian in rows] == [True, True, False, False]
    (axis,) = noise_pictures.dimension_figure(dimensions=(1, 5, 20, 100)).axes
    assert [np.asarray(line.get_ydata()).tolist() for line in axis.lines] == [
        [r[1] for r in rows],
        [r[2] for r in rows],
    ]


def test_errors_fall_with_epsilon() -> None:
    (axis,) = noise_pictures.noise_error_figure(epsilons=(0.1, 1.0)).axes
    laplace, gaussian = (np.asarray(line.get_ydata(), dtype=float).tolist() for line in axis.lines)
    assert laplace == [30.0, 3.0]
    assert gaussian[0] > gaussian[1]

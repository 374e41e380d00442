"""Ordinary random numbers are spread as they should be. False alarms below 1e-6."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clustering.random_floats import RandomFloats
from discreet.testing.scripted_words import splitmix


def test_uniform_numbers_fill_the_unit() -> None:
    drawn = RandomFloats(splitmix(1)).uniform(100, 100)
    assert 0 <= drawn.min() < 0.01
    assert 0.99 < drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=5 * 12**-0.5 / 100)


def test_directions_have_length_one_and_no_favorite() -> None:
    drawn = RandomFloats(splitmix(2)).directions(10_000, 3)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, atol=5 * 3**-0.5 / 100)
    np.testing.assert_allclose(drawn.T @ drawn / 10_000, np.eye(3) / 3, atol=0.02)

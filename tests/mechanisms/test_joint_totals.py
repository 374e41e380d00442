"""K-norm noise in the totals of many groups: its law, its figures, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.event_costs import cost_of
from discreet.errors import InvalidParameter
from discreet.mechanisms.joint_totals import JointTotals
from discreet.mechanisms.knorm import KNorm
from discreet.testing.scripted_words import splitmix

CORNERS = ((8, 0, 0), (8, 100, 0), (8, 0, 100), (8, 100, 100))
HALF = JointTotals(contributions=CORNERS, epsilon=Fraction(1, 2))
DRAWN = HALF.add_noise(np.zeros((40_000, 3), dtype=np.int64), splitmix(5)).astype(np.float64)


def test_joint_noise_has_its_variance() -> None:
    """40,000 draws, whose variances are within 6 % with a false-alarm rate below one in a million: those of noise at
    twice epsilon, a quarter, are not.
    """
    stated = np.array([part.variance for part in HALF.parts()])
    assert np.all(np.abs(DRAWN.var(axis=0) / stated - 1) < 0.06)
    assert not np.any(np.abs(DRAWN.var(axis=0) * 4 / stated - 1) < 0.06)
    covariance = KNorm.of_contributions(CORNERS, epsilon=Fraction(1, 2)).covariance
    assert np.allclose(np.cov(DRAWN.T), covariance, rtol=0.12, atol=0.05 * covariance.max())


def test_quantiles_hold_as_often_as_they_say() -> None:
    """40,000 draws: 2,000 misses of 5 % on average, 1,780 to 2,230 with a false-alarm rate of one in a million; figures
    for the law before rounding are at most a hundredth of the reach too wide, and half a step.
    """
    for place, part in enumerate(HALF.parts()):
        misses = int((np.abs(DRAWN[:, place]) > part.quantile(0.95)).sum())
        assert misses <= 2230
        assert int((np.abs(DRAWN[:, place]) > part.quantile(0.95) * 0.9).sum()) > 2230
        assert misses >= 1500


def test_groups_are_independent() -> None:
    """Of neighboring groups the correlation is below 0.03: five standard deviations of 40,000."""
    for place in range(3):
        assert abs(float(np.corrcoef(DRAWN[1:, place], DRAWN[:-1, place])[0, 1])) < 0.03


def test_parts_are_of_one_price() -> None:
    assert cost_of(HALF.event).epsilon == Fraction(1, 2)
    assert sum(part.epsilon for part in HALF.parts()) == Fraction(1, 2)
    assert [part.sensitivity for part in HALF.parts()] == [8, 100, 100]
    assert np.isclose(float(HALF.parts()[0].scale) ** 2 * 2, HALF.parts()[0].variance)


def test_totals_of_any_size_have_noise() -> None:
    large = np.array([[2**80, -(2**70), 0]], dtype=object)
    found = HALF.add_noise(large, splitmix(1))
    assert abs(found[0, 0] - 2**80) < 10**6
    with pytest.raises(InvalidParameter, match="3 totals of each group"):
        HALF.add_noise(np.zeros((2, 2), dtype=np.int64), splitmix(1))

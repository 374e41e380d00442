"""What follows from noisy bins lies between its own ends, however far the noise at some edge is from that at others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from discreet.answers.linear_combination import Combination
from discreet.answers.range_statistics import RangeStatistics

COUNTS = np.array([[30, 0, 110, -40, 100, -60], [80, 0, -70, 100, 100, -70], [10, 30, -70, 40, 40, 0], [0] * 6], float)
"""Of the rows below an edge there are far too many, or too few; the last group has none."""


@dataclass(frozen=True)
class Certain:
    """A combination that is off by one at most."""

    value: float = 0.0

    def interval(self, confidence: float) -> tuple[float, float]:
        del confidence
        return self.value - 1.0, self.value + 1.0


@pytest.fixture
def bins() -> RangeStatistics:
    return RangeStatistics(COUNTS, range(COUNTS.shape[1] + 1), lambda _weights: cast("Combination", Certain()))


@pytest.mark.parametrize("part", [0.05, 0.2, 0.4, 0.5, 0.7, 0.95])
def test_quantiles_lie_between_their_ends(bins: RangeStatistics, part: float) -> None:
    found = bins.quantiles(part, 0.95)
    assert all(low <= value <= high for value, low, high in zip(*found, strict=True))


def test_shares_lie_between_their_ends(bins: RangeStatistics) -> None:
    found = bins.shares(0.95)
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    assert (np.diff(found.values, axis=1) >= 0).all()

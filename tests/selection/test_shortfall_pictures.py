"""The figures in the picture are those of the tables."""

from __future__ import annotations

import pytest

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.selection.shortfall_pictures import gap_figure, worst_gap

# In units of the scale, which is 1 at epsilon 2; from independent code, over a finer grid.
WORST = {2: (0.278414522, 0.1839397206), 10: (1.101002734, 0.8932093994), 100: (2.62848429, 2.427878999)}


@pytest.mark.parametrize("candidates", WORST)
def test_the_worst_gaps(candidates: int) -> None:
    found = [worst_gap(rule(sensitivity=1, epsilon=2), candidates) for rule in (Exponential, PermuteAndFlip)]
    assert found == pytest.approx(WORST[candidates], rel=2e-3)


def test_the_picture_shows_both() -> None:
    figure = gap_figure(epsilon=0.5, candidates=(2, 10))
    exponential, flip, bound = (line.get_ydata() for line in figure.axes[0].lines)
    assert list(flip) < list(exponential) < list(bound)  # type: ignore[arg-type]  # arrays, though typed as anything

"""A cluster survives if a private center is its own; the picture says how many do."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.clustering.cluster_pictures import MOST_ROWS, survival_figure, survivors
from discreet.errors import InvalidParameter


def test_survivors() -> None:
    original = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    assert survivors(original, original + 1).tolist() == [True, True, True]
    assert survivors(original, np.array([[0.0, 1.0]] * 3)).tolist() == [True, False, False]
    assert survivors(original, np.array([[5.0, 5.0]])).tolist() == [False, False, False]


def test_the_caption_counts() -> None:
    rows = np.repeat([[0.0, 0.0], [10.0, 0.0]], 20, axis=0)
    figure = survival_figure(rows, np.array([[0.0, 0.0], [1.0, 0.0]]), axes=(0, 1), caption="epsilon 1")
    assert figure.get_supxlabel().startswith("1 of 2 clusters survive")
    assert figure.get_supxlabel().endswith("epsilon 1")


def test_the_exact_centers_of_many_rows_that_come_in_turns_are_all_found() -> None:
    kinds = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    figure = survival_figure(np.tile(kinds, (4 * MOST_ROWS // 4, 1)), kinds, axes=(0, 1), caption="epsilon 1")
    assert figure.get_supxlabel() == "4 of 4 clusters survive · inertia 1.000 times the original's · epsilon 1"


def test_pictures_need_a_row() -> None:
    with pytest.raises(InvalidParameter, match="a row to draw, or more, got rows=0"):
        survival_figure(np.zeros((0, 2)), np.zeros((1, 2)), axes=(0, 1), caption="epsilon 1")

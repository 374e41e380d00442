"""A cluster survives if a private center is its own; the picture says how many do."""

from __future__ import annotations

import numpy as np

from discreet.clustering.pictures import survival_figure, survivors


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

"""A grid says where its cells are."""

from __future__ import annotations

import numpy as np

from discreet.clustering.point_oracle import PointGrid


def test_middles_are_in_the_order_of_the_cells() -> None:
    grid = PointGrid(directions=np.eye(2), origins=np.array([0.0, -1.0]), widths=np.array([1.0, 2.0]), shape=(2, 3))
    assert grid.cells == 6
    assert grid.middles().tolist() == [[0.5, 0.0], [0.5, 2.0], [0.5, 4.0], [1.5, 0.0], [1.5, 2.0], [1.5, 4.0]]

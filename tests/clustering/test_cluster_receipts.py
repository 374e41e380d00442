"""The receipt says what each step cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import discreet as dp
from discreet.clustering.cluster_receipts import steps
from discreet.clustering.point_oracle import RecordedStep


def test_steps_are_told() -> None:
    recorded = [RecordedStep(what="sizes", epsilon=Fraction(1, 8), scale=8.0, answers=3)]
    assert steps(recorded) == [{"what": "sizes", "epsilon": "0.125", "scale": 8.0, "answers": 3}]


def test_scales_of_sums_are_in_the_units_of_the_columns() -> None:
    """Half of a round's epsilon is for sums of offsets: in [0, 1] and [0, 8] these are at most some units a row."""
    rows = np.random.default_rng(3).uniform(0, 1, (1000, 2)) * [1, 8]
    found = dp.KMeans(n_clusters=2, epsilon=1, bounds=([0, 0], [1, 8]), algorithm="lloyd", rounds=5).fit(rows)
    scales = {step["what"]: step["scale"] for step in found.receipt_["steps"]}
    assert scales["sizes"] == 10
    assert 10 * 4 <= scales["sums"] <= 10 * 2 * 8

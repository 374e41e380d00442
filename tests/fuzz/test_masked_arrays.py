"""Arrays with masked entries: each call that takes data refuses them, for a plain array would have what is behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import series, theory, workloads

AMOUNTS: dict[str, Any] = {"sensitivity": 1, "epsilon": 1}
TREE = workloads.Hierarchy.of([0, 0, 0])
STREAM = series.StreamStrategy.best(series.StepWindows.of(3, (1,)))
LOCAL = (theory.UnaryResponse, theory.LocalHashing, theory.HadamardResponse)
CALLS: dict[str, Callable[[Any], object]] = {
    "Laplace": dp.Laplace(**AMOUNTS).release,
    **{kind.__name__: kind(**AMOUNTS).release for kind in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip)},
    **{kind.__name__: kind(sensitivity=1, rho=1).release for kind in (dp.Gaussian, dp.DiscreteGaussian)},
    **{kind.__name__: kind(epsilon=1, categories=4).report for kind in LOCAL},
    "probabilities": dp.Exponential(**AMOUNTS).probabilities,
    "Threshold": dp.Threshold(epsilon=1, delta=1e-3).release,
    "SparseVector": lambda given: dp.SparseVector(**AMOUNTS, threshold=5).release(given),
    "KNorm": dp.KNorm.box(reaches=[1, 1, 1], epsilon=1).release,
    "RandomizedResponse": dp.RandomizedResponse(epsilon=1, categories=4).release,
    "tally": dp.RandomizedResponse(epsilon=1, categories=4).tally,
    "RaceToTheTop": theory.RaceToTheTop(limits=[1, 2, 4], epsilon=1).release,
    "Hierarchy": workloads.LevelNoise.of(TREE, epsilon=1).release,
    "NoisyStream": lambda given: series.NoisyStream(STREAM, rho=1).publish(given),
    "KMeans": lambda given: dp.KMeans(n_clusters=1, epsilon=1, bounds=(0, 4)).fit(given.reshape(-1, 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_masked_entry_is_missing(name: str) -> None:
    """What was behind a mask was released, or, by `Threshold`, left out for certain."""
    entries = [1, 3, 2]
    CALLS[name](np.ma.array(entries))
    with pytest.raises(dp.InvalidParameter):
        CALLS[name](np.ma.array(entries, mask=[False, True, False]))

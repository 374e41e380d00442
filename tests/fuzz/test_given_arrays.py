"""Arrays with masked entries are refused by each call that takes data; numbers of odd classes are made plain ones."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import series, theory, workloads
from discreet.mechanisms.selection_probabilities import exact_scores

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


class _Reader:
    """Gives masked arrays of itself, as variables of netCDF files do."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ma.MaskedArray[Any, Any]:
        return np.ma.array([1, 3, 2], mask=[False, True, False])


ROW = np.ma.array([1, 3, 2], mask=[False, True, False])


@pytest.mark.parametrize(
    "given", [[ROW, ROW], (ROW,), [[ROW], [ROW]], UserList([ROW]), deque([ROW]), [1, ROW[1]], _Reader()]
)
def test_masked_entries_are_found_in_lists_and_made_by_readers(given: Any) -> None:
    """NumPy makes an array of what is behind them, without a word."""
    with pytest.raises(dp.InvalidParameter):
        dp.Laplace(**AMOUNTS).release(given)


class _Silent(int):
    """A whole number that takes no noise."""

    def __add__(self, other: object) -> int:
        return self

    __radd__ = __add__


@pytest.mark.parametrize("kind", [_Silent, np.int8, np.uint64])
def test_whole_numbers_of_other_classes_are_added_as_plain_ones(kind: Callable[[int], Any]) -> None:
    """One class got no noise, and NumPy's failed or wrapped where it did not fit."""
    noisy = dp.Laplace(sensitivity=1, epsilon=1e-9).release(np.array([kind(5)] * 10, dtype=object))
    assert all(type(one) is int for one in noisy)
    assert np.unique(noisy).size > 1


@pytest.mark.parametrize("name", ["Laplace", "Gaussian", "Threshold", "SparseVector", "Exponential"])
def test_spans_of_time_are_no_whole_numbers(name: str) -> None:
    """NumPy counts them among its integers: a day and an hour are 1 each."""
    spans = [np.timedelta64(1, "D"), np.timedelta64(1, "h")]
    for given in (spans, np.array(spans, dtype=object)):
        with pytest.raises(dp.InvalidParameter):
            CALLS[name](given)


@pytest.mark.parametrize("name", ["Threshold", "SparseVector", "Exponential"])
def test_the_keys_of_a_dict_are_no_scores(name: str) -> None:
    """Of what a dict counts, the keys were taken for the counts."""
    for given in ({37: 1, 41: 2}, {1, 2}, frozenset((1, 2))):
        with pytest.raises(dp.InvalidParameter):
            CALLS[name](given)


def test_long_floats_are_not_rounded() -> None:
    """As floats of 64 bits, two scores that are 1 apart were equal, or 16,384 apart."""
    near = [np.longdouble(2) ** 60, np.longdouble(2) ** 60 + 1]
    apart = int(near[1] - near[0])  # 0 where long floats have 64 bits
    with pytest.raises(dp.InvalidParameter):
        CALLS["Exponential"](near)
    assert exact_scores([*near, 1]).tolist() == [Fraction(2**60), Fraction(2**60 + apart), 1]
    assert exact_scores([np.float16(0.5), 1]).tolist() == [Fraction(1, 2), 1]

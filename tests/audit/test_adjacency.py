"""Every mechanism has a distance, and the distance is the one that its promise is about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit.adjacency import MechanismMetric, entry_distances, known
from discreet.audit.own_mechanisms import _array, mechanisms, parameters
from discreet.curator.open_question_transaction import TableKeys
from discreet.engines.first_looks import GROUP, NUMBER
from discreet.logs.item_threshold import ItemThreshold
from discreet.logs.thresholded_log import ThresholdedLog
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.selection.partition_selection import KeySelection
from discreet.selection.top_k import TopK
from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_release import LevelNoise


def test_no_mechanism_is_without_a_distance() -> None:
    """A new mechanism gets an entry in `judges.DISTANCES`, or an ancestor that has one."""
    found = {kind for kind, _ in mechanisms()}
    assert {kind.__name__ for kind in found if known(kind) is None} == set()
    assert {dp.Laplace, dp.Gaussian, dp.KNorm, dp.SparseVector, TopK, JointExponential, KeySelection} <= found


NAN = math.nan
TREE = Hierarchy.of([0, 0], [0, 0, 1])
BOX = dp.KNorm.box([1, 10], epsilon=1)
CROSS = dp.KNorm.cross_polytope([1, 10], epsilon=1)
HEXAGON = dp.KNorm.of_contributions([(1, 0), (0, 1), (1, 1)], epsilon=1)
ONE_WAY = dp.Exponential(sensitivity=1, epsilon=1, monotonic=True)


@pytest.mark.parametrize(
    ("mechanism", "first", "second", "share"),
    [
        (dp.Laplace(sensitivity=2, epsilon=1), [1, 2, 3], [2, 2, 2], 1.0),
        (LevelNoise.of(TREE, epsilon=1), [1, 2, 3], [1, 3, 3], 1.0),
        (LevelNoise.of(TREE, rho=1, shares=[1, 0, 1]), [1, 2, 3], [3, 2, 3], 2.0),
        (dp.Laplace(sensitivity=2, epsilon=1), [2**70], [2**70 + 1], 0.5),
        (dp.Laplace(sensitivity=2, epsilon=1), [1.0], [NAN], math.inf),
        (dp.Laplace(sensitivity=2, epsilon=1), [NAN], [NAN], 0.0),
        (dp.Laplace(sensitivity=2, epsilon=1), [1, 2], [1], math.inf),
        (dp.Gaussian(sensitivity=5, rho=1), [0.0, 0.0], [3.0, 4.0], 1.0),
        (dp.DiscreteGaussian(sensitivity=5, rho=1), [0, 0], [3, 4], 1.0),
        (dp.Staircase(sensitivity=2, epsilon=1), 1.0, 4.0, 2.0),
        (dp.Staircase(sensitivity=2, epsilon=1), [0, 0], [1, 1], 2.0),
        (dp.Staircase(sensitivity=2, epsilon=1), [0, 0], [0, 2], 1.0),
        (CountsUnderLimits(limits=[1, 4], epsilon=1), [5, 9], [6, 13], 1.0),
        (CountsUnderLimits(limits=[1, 4], epsilon=1), [5, 9], [6, 7], 2.0),
        (CountsUnderLimits(limits=[1, 4], epsilon=1, units=2), [5, 9], [4, 5], 0.5),
        (CountsUnderLimits(limits=[1, 4], epsilon=1, both_ways=True), [5, 9], [7, 5], 2.0),
        (CountsUnderLimits(limits=[1, 4], epsilon=1), [5, 9], [5], math.inf),
        (RaceToTheTop(limits=[1, 4], epsilon=1), [5, 9], [6, 13], 1.0),
        (RaceToTheTop(limits=[1, 4], epsilon=1), [5, 9], [5, 13], 0.5),
        (RaceToTheTop(limits=[1, 4], epsilon=1, units=2), [5, 9], [4, 13], 0.5),
        (RaceToTheTop(limits=[1, 4], epsilon=1), [5, 9], [5], math.inf),
        (BOX, [0, 0], [1, -10], 1.0),
        (CROSS, [0, 0], [1, -10], 2.0),
        (HEXAGON, [0, 0], [1, 1], 1.0),
        (HEXAGON, [0, 0], [1, -1], 2.0),
        (dp.Exponential(sensitivity=2, epsilon=1), [1, 5], [3, 3], 1.0),
        (ONE_WAY, [1, 5], [2, 6], 1.0),
        (ONE_WAY, [1, 5], [2, 4], 2.0),
        (TopK(k=2, sensitivity=1, epsilon=1), [1, 2, 3], [2, 1, 3], 1.0),
        (JointExponential(k=2, sensitivity=1, epsilon=1), [1, 2, 3], [2, 1, 3], 1.0),
        (JointExponential(k=2, sensitivity=1, epsilon=1, monotonic=True), [1, 2, 3], [2, 1, 3], 2.0),
        (dp.SparseVector(sensitivity=1, epsilon=1, threshold=3), [1, 2], [3, 2], 2.0),
        (dp.Threshold(epsilon=1, delta=1e-6, max_groups=2), [1, 1, 0], [0, 0, 1], 1.5),
        (dp.Threshold(epsilon=1, delta=1e-6, max_groups=2), [1], [3], 2.0),
        (dp.Threshold(epsilon=1, delta=1e-6, max_groups=2, max_rows=3), [1, 6], [4, 6], 1.0),
        (dp.RandomizedResponse(epsilon=1, categories=["n", "y"]), ["n", "y", "n"], ["n", "n", "n"], 1.0),
        (dp.RandomizedResponse(epsilon=1, questions=2), [[0, 1], [1, 1]], [[1, 0], [1, 1]], 1.0),
        (dp.RandomizedResponse(epsilon=1), [0, 1], [0, 1, 1], math.inf),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_distances(mechanism: Any, first: Any, second: Any, share: float) -> None:
    promise = MechanismMetric(mechanism)
    assert promise.declared is not None
    assert promise.distance(first, second) == pytest.approx(share * promise.declared)


def test_a_unit_of_many_keys_weighs_less_in_each() -> None:
    pages = KeySelection(epsilon=1, delta=1e-5, max_groups=4, method="weighted")
    for keys in (1, 2, 4):
        first, second = np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64)
        second[:keys] = pages.weight(keys)
        assert MechanismMetric(pages).distance(first, second) / 4 == pytest.approx(1.0, rel=0.01) or keys < 4
        assert MechanismMetric(pages).distance(first, second + 0) <= 4
        second[:keys] += pages.weight(keys)
        assert MechanismMetric(pages).distance(first, second) > 4


def test_keys_are_compared_by_what_they_are() -> None:
    """Not by where they stand: a table may have other keys than its neighbor, and more or fewer of them."""
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=2, method="optimal")
    few, more, other = (
        _array(pa.table({f"{GROUP}0": list(keys), NUMBER: pa.array(numbers, pa.decimal128(38, 0))}))
        for keys, numbers in (("bd", [4, 7]), ("abd", [1, 5, 7]), ("ade", [2, 7, 1]))
    )
    for mechanism in (TableKeys(rule, 1), TableKeys(dp.Threshold(epsilon=1, delta=1e-5, max_groups=2), 1)):
        promise = MechanismMetric(mechanism)
        assert (few.shape, promise.declared) == ((), 2)
        assert [promise.distance(few, one) for one in (few, more)] == [0, 2]
        assert promise.distance(few, other) > 2
    for method in ("optimal", "weighted"):
        rule = KeySelection(epsilon=1, delta=1e-5, max_groups=4, method=method)
        none, two, three = (
            _array(pa.table({f"{GROUP}0": range(5 * n), NUMBER: [rule.weight(1)] * n + [rule.weight(4)] * 4 * n}))
            for n in (0, 1, 3)
        )
        promise = MechanismMetric(TableKeys(rule, 2))
        assert promise.declared == 8
        assert promise.distance(none, two) <= 8
        assert promise.distance(none, three) > 8


def test_costs_are_shares_of_the_price() -> None:
    assert MechanismMetric(dp.Laplace(sensitivity=2, epsilon=3)).cost(0, 1).epsilon == pytest.approx(1.5)
    assert MechanismMetric(dp.Gaussian(sensitivity=2, scale=4)).cost(0.0, 2.0).mu == pytest.approx(0.5)
    assert MechanismMetric(dp.DiscreteGaussian(sensitivity=2, scale=4)).cost(0, 2).mu == pytest.approx(0.5, rel=0.05)
    assert MechanismMetric(dp.SparseVector(sensitivity=1, epsilon=2, threshold=1)).cost([1], [1]).epsilon == 0


def test_differences_are_exact() -> None:
    assert entry_distances([0.1], [0.2]) == [Fraction(0.2) - Fraction(0.1)]
    assert entry_distances(np.array([2**62]), [2**62 + 1]) == [1]


def test_what_a_mechanism_remembers_is_no_parameter() -> None:
    run = dp.SparseVector(sensitivity=1, epsilon=1, threshold=0, count=2)
    before = parameters(run)
    run.release([1000])
    assert parameters(run) == before
    assert set(parameters(dp.Laplace(sensitivity=1, epsilon=1))) >= {"sensitivity", "epsilon"}


def log(max_count: int, neighbors: Neighbors = Neighbors.ADD_REMOVE) -> ThresholdedLog:
    price = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 100))
    return ThresholdedLog(
        what="log", guarantee=price, neighbors=neighbors, unit="user",
        screen=ItemThreshold.of(epsilon=price.epsilon, delta=price.delta, max_items=2, max_count=max_count),
        expression=ibis.table({"item": "string"}, name="log"),
    )  # fmt: skip


def totals(*rows: tuple[str, int, int, int]) -> Any:
    names = ("item", "users", "extra", "first")
    return _array(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))


@pytest.mark.parametrize(
    ("mechanism", "second", "share"),
    [
        (log(5), [("a", 5, 8, 3), ("b", 1, 0, 0)], 0.0),
        (log(5), [("a", 6, 12, 4), ("b", 1, 0, 0)], 1.0),
        (log(5), [("a", 6, 12, 4), ("b", 2, 4, 0), ("c", 1, 0, 0)], 1.5),
        (log(5), [("a", 7, 8, 3), ("b", 1, 0, 0)], 2.0),
        (log(5), [("a", 6, 16, 4), ("b", 1, 0, 0)], 2.0),
        (log(1), [("a", 6, 9, 4), ("b", 1, 0, 0)], math.inf),
        (log(5, Neighbors.REPLACE_ONE), [("a", 6, 12, 3), ("b", 1, 0, 1), ("c", 1, 0, 0), ("d", 1, 0, 0)], 1.0),
    ],
)
def test_logs_are_apart_by_users_items_and_counts(mechanism: ThresholdedLog, second: list[Any], share: float) -> None:
    first = totals(("a", 5, 8, 3), ("b", 1, 0, 0))
    assert MechanismMetric(mechanism).distance(first, totals(*second)) == share

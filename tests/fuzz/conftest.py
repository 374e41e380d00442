"""One object of each public class, for the tests that try all of them; and where tables are measured, once a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
import several_tables
from discreet import audit
from discreet.testing import people, visits
from neighbor_bench import Bench

GRID = np.array([[0.0, 0.0], [1.0, 1.0]] * 8)
LOG = pa.table({"who": list(range(60)), "page": ["/home"] * 60})
COLUMNS = ["age", "visits"]
PLANS = pa.table({"plan": ["free", "25%"], "share": [0, 25]})


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def question(**stated: Any) -> dp.Question:
    found: dp.Question = people().group_by("plan", **stated).agg(n=_.count(), m=_.visits.mean())
    return found


def unknown() -> Any:
    stated: dict[str, Any] = {"unit": "person", "bounds": {"visits": (0, 50)}, "max_rows": 5}
    table = dp.protect(visits(), budget=dp.Budget(epsilon=100, delta=0.1), **stated)
    return table.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count(), m=_.visits.mean())


def batch() -> dp.BatchQuestion:
    return people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=_.count())


def ranges() -> dp.RangesQuestion:
    return people().histogram("age", bins=4, ranges=True, max_groups=1, max_rows=5)


def grouped_ranges() -> dp.GroupedRangesQuestion:
    groups: Any = people().group_by("plan", max_groups=1, max_rows=5)
    found: dp.GroupedRangesQuestion = groups.histogram("age", bins=4, ranges=True)
    return found


def path() -> Any:
    return people().hierarchy(["plan"], keys=dp.public_keys(PLANS.select(["plan"]), name="places"), max_groups=1)


MAKERS: dict[str, Callable[[], Any]] = {
    "AnswerFile": lambda: None,  # a file: made where there is a folder
    "BatchQuestion": batch,
    "BatchRelease": lambda: batch().release(epsilon=1),
    "Budget": lambda: dp.Budget(epsilon=1),
    "Clusters": lambda: people().kmeans(COLUMNS, n_clusters=2, epsilon=8),
    "Consistent": lambda: dp.consistent([[4, 5], [10]], [[0, 0]], variances=[[1, 1], [1]]),
    "DiscreteGaussian": lambda: dp.DiscreteGaussian(sensitivity=1, rho=1),
    "Exponential": lambda: dp.Exponential(sensitivity=1, epsilon=1),
    "Gaussian": lambda: dp.Gaussian(sensitivity=1, rho=1),
    "Explanation": lambda: question().explain(epsilon=1),
    "GroupingSets": lambda: people().group_by("plan", cube=True, max_groups=1, max_rows=5),
    "GroupedRangesQuestion": grouped_ranges,
    "GroupedRangesRelease": lambda: grouped_ranges().release(epsilon=1),
    "Guarantee": lambda: dp.Budget(epsilon=1).remaining,
    "Choice": lambda: people().choose([1, 2], score=lambda c: _.age < c, epsilon=1),
    "DistinctValues": lambda: people().count_distinct("plan", epsilon=1),
    "HierarchyQuestion": lambda: path().agg(n=_.count()),
    "HierarchyRelease": lambda: path().agg(n=_.count()).release(epsilon=1),
    "KMeans": lambda: dp.KMeans(2, epsilon=8, bounds=(0, 1)).fit(GRID),
    "KNorm": lambda: dp.KNorm.box([1, 1], epsilon=1),
    "KeySelection": lambda: dp.KeySelection(epsilon=1, delta=1e-3),
    "Laplace": lambda: dp.Laplace(sensitivity=1, epsilon=1),
    "Loss": lambda: dp.Laplace(sensitivity=1, epsilon=1).loss,
    "LogRelease": lambda: dp.release_log(LOG, user="who", item="page", epsilon=3, delta=1e-6),
    "LogSample": lambda: dp.sample_own_log(LOG, user="who", item="page", output_counts={"/home": 3}),
    "NoisyMax": lambda: dp.NoisyMax(sensitivity=1, epsilon=1),
    "OpenQuestion": unknown,
    "PathGroups": path,
    "PermuteAndFlip": lambda: dp.PermuteAndFlip(sensitivity=1, epsilon=1),
    "PrivateGroups": lambda: people().group_by("plan"),
    "PrivateTable": several_tables.own_people,
    "PublicKeys": lambda: dp.public_keys(PLANS),
    "PublicTable": lambda: dp.public(PLANS),
    "Question": question,
    "RangesQuestion": ranges,
    "RangesRelease": lambda: ranges().release(epsilon=1),
    "RandomizedResponse": lambda: dp.RandomizedResponse(epsilon=1),
    "Receipt": lambda: dp.Receipt.of({"private": True, "charge": {"epsilon": "1", "delta": "0"}}),
    "Release": lambda: question().release(epsilon=1),
    "Report": lambda: audit.Report(title="an audit", findings=(), tried={}, blind=()),
    "Search": lambda: dp.check_sensitivity(len, 1),
    "SharedTable": several_tables.own_pairs,
    "SparseVector": lambda: dp.SparseVector(sensitivity=1, epsilon=1, threshold=5),
    "Staircase": lambda: dp.Staircase(sensitivity=1, epsilon=1),
    "TruncatedTotal": lambda: people().truncated_total(epsilon=1),
    "Threshold": lambda: dp.Threshold(epsilon=1, delta=1e-3),
    "Top": lambda: people().top("plan", epsilon=1),
    "Verdict": lambda: dp.check([[0.5, 0.5], [0.5, 0.5]], epsilon=1),
}


Own = Callable[[str], Any]


@pytest.fixture(scope="session")
def makers() -> dict[str, Callable[[], Any]]:
    """What makes one of each class, by name."""
    return MAKERS


@pytest.fixture(scope="session")
def own() -> Own:
    """One object of each class, for all calls: none of them may change it."""
    held: dict[str, Any] = {}

    def of(kind: str) -> Any:
        if kind not in held:
            held[kind] = MAKERS[kind]()
        return held[kind]

    return of

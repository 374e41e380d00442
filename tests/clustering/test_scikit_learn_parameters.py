"""The estimator has the manners of scikit-learn, with it or without it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.base import clone, is_clusterer
from sklearn.utils.estimator_checks import check_estimator

import discreet as dp
from discreet.clustering.scikit_learn_parameters import Parameters
from discreet.errors import InvalidParameter

NOT_HERE = {
    "check_clustering": "the labels of the training rows are not released",
    "check_dtype_object": "whether an entry is a number is private",
    "check_estimators_empty_data_messages": "whether there are rows at all is private",
    "check_estimators_nan_inf": "whether a row has a NaN is private",
}
"""The checks of scikit-learn that a private estimator must not pass; docs/clusters.md lists them too."""


def test_it_passes_the_checks_that_make_sense() -> None:
    estimator = dp.KMeans(3, epsilon=100, bounds=(-100, 100))
    done = check_estimator(estimator, expected_failed_checks=NOT_HERE, on_skip=None, on_fail=None)
    assert {one["check_name"] for one in done if one["status"] == "failed"} == set()
    assert {one["check_name"] for one in done if one["status"] == "xfail"} == set(NOT_HERE)
    assert sum(one["status"] == "passed" for one in done) >= 35


def test_it_can_be_cloned() -> None:
    estimator = dp.KMeans(3, epsilon=1, bounds=(0, 1))
    copy = clone(estimator).set_params(epsilon=2)
    assert (copy.n_clusters, copy.epsilon, estimator.epsilon) == (3, 2, 1)
    assert is_clusterer(estimator)


class Small(Parameters):
    def __init__(self, first: int = 1, second: str = "a") -> None:
        self.first, self.second = first, second


def test_parameters_without_it() -> None:
    small = Small(first=3).set_params(second="b")
    assert small.get_params() == {"first": 3, "second": "b"}
    assert repr(small) == "Small(first=3, second='b')"
    with pytest.raises(InvalidParameter, match="got name='frist'"):
        small.set_params(frist=2)


WITHOUT = """
import sys
sys.modules["sklearn"] = None
import numpy as np
import discreet as dp
estimator = dp.KMeans(2, epsilon=1, bounds=(0, 1))
try:
    estimator.predict([[0.5]])
except ValueError as refusal:
    print(refusal)
print(estimator.fit(np.full((1000, 2), 0.5)).cluster_centers_.shape, estimator)
"""


def test_it_works_without_scikit_learn() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Expected .fit(X) before .predict(...), got none.",
        "Hint: fit it first.",
        "(2, 2) KMeans(n_clusters=2, epsilon=1, bounds=(0, 1))",
    ]


def test_the_package_does_not_import_it() -> None:
    program = "import discreet as dp, sys; dp.protect; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

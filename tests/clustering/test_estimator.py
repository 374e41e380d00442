"""The estimator: centers, receipt, what it refuses, and what it never shows."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.clustering.random_floats import RandomFloats
from discreet.errors import InvalidParameter
from discreet.testing.scripted_words import splitmix

ROWS = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 10.0]])[np.arange(3000) % 3] + RandomFloats(splitmix(1)).uniform(
    3000, 2
)


def fitted(**parameters: Any) -> dp.KMeans:
    stated: dict[str, Any] = {"n_clusters": 3, "epsilon": 5, "bounds": (-5, 15)}
    return dp.KMeans(**stated | parameters)


@pytest.fixture(autouse=True)
def _foreseeable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same noise each time."""
    seeds = iter(range(1000))
    monkeypatch.setattr("discreet.clustering.estimator.fresh_words", lambda: splitmix(next(seeds)))


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_centers_are_near_the_clusters(neighbors: str) -> None:
    found = fitted(neighbors=neighbors).fit(ROWS)
    np.testing.assert_allclose(
        found.cluster_centers_[np.argsort(found.cluster_centers_ @ [1, 2])],
        [[0.5, 0.5], [0.5, 10.5], [10.5, 10.5]],
        atol=0.3,
    )
    np.testing.assert_allclose(found.cluster_sizes_, 1000, atol=150)
    assert set(found.predict(ROWS[:3])) == {0, 1, 2}


def test_the_receipt_adds_up() -> None:
    receipt = fitted(epsilon=0.5, algorithm="lloyd", rounds=3).fit(ROWS).receipt_
    assert receipt["guarantee"] == "0.5-differential privacy for add-remove neighbors"
    assert receipt["algorithm"] == "lloyd: 3 rounds"
    assert receipt["private"] is False
    assert len(receipt["steps"]) == 6
    json.dumps(receipt)


def test_noise_of_the_system_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert fitted().fit(ROWS).receipt_["private"] is True


def test_missing_numbers_are_left_out_and_infinite_ones_are_bounds() -> None:
    strange = np.vstack([ROWS, np.full((500, 2), math.nan), np.full((1, 2), math.inf)])
    assert np.isfinite(fitted().fit(strange).cluster_centers_).all()


def test_one_strange_row_makes_no_difference_but_to_the_noise() -> None:
    """With the noise of both the same, centers with and without a row that is no number are the same."""
    found = []
    for last in ([], [["secret", 1.0]], [[None, 1.0]], [[{}, 1.0]]):
        rows = np.array([*ROWS.tolist(), *last], dtype=object)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("discreet.clustering.estimator.fresh_words", lambda: splitmix(7))
            found.append(fitted().fit(rows).cluster_centers_.tolist())
    assert found == [found[0]] * 4


@pytest.mark.parametrize("algorithm", ["best", "lloyd"])
@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -math.inf, 1e308, 5e-324])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_and_odd_rows_are_answered(rows: int, value: float, algorithm: str) -> None:
    """More clusters than rows, none, or none that are finite: centers within the bounds, as of any other rows."""
    centers = fitted(algorithm=algorithm).fit(np.full((rows, 2), value)).cluster_centers_
    assert centers.shape == (3, 2)
    assert ((centers >= -5) & (centers <= 15)).all()


@pytest.mark.parametrize("algorithm", ["best", "lloyd"])
@pytest.mark.parametrize("value", [5e-324, -5e-324, 2.3e-308, 1e-300, 1e308, math.nan, math.inf])
def test_how_numpy_meets_errors_elsewhere_makes_no_difference(value: float, algorithm: str) -> None:
    """One row next to 0 raised FloatingPointError where the program around had asked NumPy to; no other row did."""
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for bounds in ((-1e7, 1e7), (-1e150, 1e150)):
            found = fitted(algorithm=algorithm, bounds=bounds).fit(np.array([[0.5, 0.5], [value, value]]))
            assert np.isfinite(found.cluster_centers_).all()


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"epsilon": None}, "Expected an epsilon, got none"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"bounds": None}, "Expected bounds, got none"),
        ({"bounds": (5, 1)}, "low < high"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 4000, "neighbors": "replace-one"}, "at most as many clusters as the 3000 points"),
        ({"algorithm": "k-medians"}, "'best' or 'lloyd'"),
        ({"neighbors": "close"}, "neighbors='close'"),
    ],
)
def test_refusals(parameters: dict[str, Any], why: str) -> None:
    estimator = fitted(**parameters)
    with pytest.raises(InvalidParameter, match=why):
        estimator.fit(ROWS)
    assert not hasattr(estimator, "cluster_centers_")


def test_one_row_is_no_fault() -> None:
    assert fitted().fit(ROWS[:1]).cluster_centers_.shape == (3, 2)


def test_labels_are_not_released() -> None:
    found = fitted().fit(ROWS)
    assert not hasattr(found, "labels_")
    with pytest.raises(AttributeError, match=r"Expected centers alone.*\n.*predict"):
        found.labels_  # noqa: B018 - the refusal is the test
    with pytest.raises(AttributeError, match="Expected centers alone"):
        found.fit_predict(ROWS)


def test_names_of_columns_are_kept_and_forgotten() -> None:
    import pandas as pd

    found = fitted().fit(pd.DataFrame(ROWS, columns=["x", "y"]))
    assert found.feature_names_in_.tolist() == ["x", "y"]
    assert not hasattr(found.fit(ROWS), "feature_names_in_")


def test_the_picture_is_one_call() -> None:
    found = fitted().fit(ROWS)
    figure = found.plot(ROWS)
    assert [axis.get_title() for axis in figure.axes] == ["original", "private"]
    assert "3 of 3 clusters survive" in figure.get_supxlabel()
    with pytest.raises(ValueError, match=r"before \.plot"):
        fitted().plot(ROWS)

"""Steps before KMeans that learn from rows are warned of: by the pipeline that was written, never by a row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

import discreet as dp
from discreet.errors import LeakWarning

ROWS = np.array([[0.1, 0.2], [0.8, 0.9], [0.2, 0.1]])


def model() -> dp.KMeans:
    return dp.KMeans(n_clusters=1, epsilon=1, bounds=(0, 1))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=str)
def test_a_scaler_is_warned_of_by_its_name(scaler: Any) -> None:
    with pytest.warns(LeakWarning, match=type(scaler).__name__):
        make_pipeline(scaler, model()).fit(ROWS)


def test_public_steps_and_none_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(ROWS)
        make_pipeline(FunctionTransformer(lambda rows: rows / 2), model()).fit(ROWS)
        Pipeline([("nothing", "passthrough"), ("kmeans", model())]).fit(ROWS)

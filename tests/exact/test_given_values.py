"""Values that are there already, and flags."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.exact.given_values import flag, in_memory, path_of, values


def test_arrays_of_one_dimension_are_values() -> None:
    row = [1, 2]
    given: object
    for given in (row, (1,), range(3), {}.keys(), np.array(row), pd.Series(row), pd.Index(row), pl.Series(row)):
        assert in_memory(given)
    for given in (pa.array(row), pa.chunked_array([row]), pd.Categorical(["a"])):
        assert in_memory(given)


def test_frames_texts_and_loops_are_not() -> None:
    columns = {"a": [1]}
    frames = (pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns))
    for given in (
        *frames,
        "ab",
        b"ab",
        bytearray(b"ab"),
        {1},
        columns,
        iter([1]),
        np.ones((2, 2)),
        np.array(1),
        1,
        None,
    ):
        assert not in_memory(given)


def test_a_flag_is_true_or_false() -> None:
    assert flag("fresh", given=True) is True
    assert flag("fresh", given=False) is False
    for given in (1, 0, "yes", None, np.True_):
        with pytest.raises(InvalidParameter, match="True or False"):
            flag("fresh", given)


def test_values_are_listed_or_refused() -> None:
    assert values("reaches", np.array([1, 2]), "list them.") == [1, 2]
    with pytest.raises(InvalidParameter, match="a list or an array of values, got reaches"):
        values("reaches", iter([1]), "list them.")


def test_paths_are_text(tmp_path: Path) -> None:
    assert path_of("data", tmp_path / "ä.csv") == tmp_path / "ä.csv"
    with pytest.raises(InvalidParameter, match=r"a path in UTF-8, got data='na\?me.csv'"):
        path_of("data", os.fsdecode(b"na\xffme.csv"))
    assert path_of("data", "ä" * 127 + "/b.csv").name == "b.csv"
    for long in ("ä" * 128, "/".join(["folder"] * 700)):
        with pytest.raises(InvalidParameter, match=r"names of up to 255 bytes[\s\S]*not what is in it"):
            path_of("data", long)

"""Whatever clustering cannot use is refused with a cure, and without a word about values."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.clustering.argument_checks import (
    axes_of,
    clusters_of,
    method,
    names_of,
    points_of,
    readable,
    rows_as_doubles,
    span,
)
from discreet.clustering.frames import InvalidPoints, NoNumbers
from discreet.errors import InvalidParameter


@pytest.mark.parametrize("number", [0, -1, 2.0, True, "3", None, 10**6, math.nan])
def test_strange_numbers_of_clusters(number: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"Expected a whole number from 1 to 10,000, got n_clusters="):
        clusters_of(number, None)


def test_more_clusters_than_public_points() -> None:
    assert clusters_of(np.int64(5), 5) == 5
    with pytest.raises(InvalidParameter, match="at most as many clusters as the 5 points, got n_clusters=6"):
        clusters_of(6, 5)


@pytest.mark.parametrize(
    "bounds",
    [
        (1, 0),
        (1, 1),
        ([0, 5], [1, 5]),
        (0, math.nan),
        (-math.inf, 1),
        5,
        (1, 2, 3),
        "ab",
        ([0, 0, 0], 1),
        (None, 1),
        ("x", 1),
        (0, 1e300),
    ],
)
def test_strange_bounds(bounds: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"bounds=.*\nHint: write bounds=\(0, 100\)"):
        span(bounds, 2)


def test_missing_bounds() -> None:
    with pytest.raises(InvalidParameter, match=r"Expected bounds, got none.*\n.*publicly known"):
        span(None, 2)


def test_bounds_are_for_all_columns_or_each() -> None:
    low, high = span((0, [1, 2]), 2)
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 2])


@pytest.mark.parametrize(("algorithm", "rounds"), [("worst", 5), (None, 5), ("lloyd", 0), ("best", 2.5)])
def test_strange_algorithms(algorithm: Any, rounds: Any) -> None:
    with pytest.raises(InvalidParameter):
        method(algorithm, rounds)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([1, 2, 3], InvalidPoints),
        ([[[1]]], InvalidPoints),
        (np.zeros((3, 0)), InvalidPoints),
        (np.zeros((1, 70_000)), InvalidPoints),
        ([[1j]], InvalidPoints),
        ([["secret"]], NoNumbers),
        (np.array([[b"secret"]]), NoNumbers),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), NoNumbers),
    ],
)
def test_rows_that_are_no_points(rows: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind) as refusal:
        points_of(rows)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None


class Strange:
    """What raises when it is made a number."""

    def __float__(self) -> float:
        raise ZeroDivisionError


ENTRIES: list[tuple[Any, float]] = [
    (None, math.nan),
    ("secret", math.nan),
    ({"secret": 1}, math.nan),
    (1j, math.nan),
    (np.complex128(1), math.nan),
    (np.array([1.0]), math.nan),
    (np.datetime64("2020-01-01"), math.nan),
    (Strange(), math.nan),
    (Decimal("sNaN"), math.nan),
    (10**400, math.inf),
    (Fraction(-(10**400)), -math.inf),
    (Decimal("1e400"), math.inf),
    ("2.5", 2.5),
    (np.float32(0.5), 0.5),
    (np.True_, 1.0),
    (Fraction(1, 4), 0.25),
]


@pytest.mark.parametrize(("entry", "number"), ENTRIES, ids=[str(i) for i in range(len(ENTRIES))])
def test_no_entry_of_an_array_of_objects_is_an_error(entry: Any, number: float) -> None:
    """Whatever one row has, no exception and no warning tells of it, and the other rows stay what they are."""
    rows = np.array([[1, 2], [3, 4]], dtype=object)
    rows[1, 1] = entry
    np.testing.assert_array_equal(points_of(rows), [[1, 2], [3, number]])


def test_numbers_wider_than_a_double_are_infinite() -> None:
    wide = np.array([[np.longdouble("1e4000")]])
    assert points_of(wide).tolist() == [[float(wide[0, 0])]]


def test_frames_with_odd_entries_are_rows() -> None:
    import pandas as pd
    import polars as pl

    missing = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([3, None], "Int64")})
    np.testing.assert_array_equal(rows_as_doubles(missing), [[1, 3], [2, math.nan]])
    np.testing.assert_array_equal(rows_as_doubles(pl.DataFrame({"a": [1, None]})), [[1], [math.nan]])
    np.testing.assert_array_equal(rows_as_doubles(pa.table({"a": [1.0, None]})), [[1], [math.nan]])


@pytest.mark.parametrize("rows", [[[1, 2], [3, 4]], [[1, 2], [3]], [[1, 2], [3, "secret"]], ((1, 2),), []])
def test_lists_are_refused_whatever_is_in_them(rows: Any) -> None:
    """Their number of columns and their type are those of the rows: one row of another length would be an error."""
    with pytest.raises(NoNumbers, match=r"Expected an array or a frame, got X='(list|tuple)'\.\nHint: np\.asarray"):
        rows_as_doubles(rows)


def test_sparse_rows() -> None:
    from scipy.sparse import csr_array

    with pytest.raises(NoNumbers, match="sparse"):
        points_of(csr_array(np.eye(2)))


def test_rows_to_look_at() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    names = names_of(frame)
    assert readable(frame, 2, names).tolist() == [[1.0, 2.0]]
    assert names_of(np.zeros((1, 2))) is None
    assert names_of(pd.DataFrame([[1, 2]])) is None
    with pytest.raises(InvalidPoints, match="feature names should match"):
        readable(frame[["b", "a"]], 2, names)
    with pytest.raises(InvalidPoints, match="X has 1 features"):
        readable([[1]], 2, None)
    with pytest.raises(InvalidPoints, match="NaN or infinity"):
        readable([[1, math.nan]], 2, None)


def test_columns_to_draw() -> None:
    assert (axes_of(None, 1), axes_of(None, 5), axes_of(np.array([3, 1]).tolist(), 5)) == ((0,), (0, 1), (3, 1))
    for strange in ((), (0, 1, 2), (0, 5), (-1, 0), (0.5, 1), (True, False)):
        with pytest.raises(InvalidParameter, match="columns to draw"):
            axes_of(strange, 5)  # type: ignore[arg-type]  # the refusal is the test

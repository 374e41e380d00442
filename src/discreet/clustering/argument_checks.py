"""Checks the arguments of clustering: points, bounds, numbers of clusters and names of algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.clustering.frames import InvalidPoints, NoNumbers, doubles, not_a_table
from discreet.clustering.lloyd import LloydResult, lloyd
from discreet.clustering.point_oracle import PointOracle, Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.synopsis import best
from discreet.errors import InvalidParameter, expected, shown
from discreet.exact.amounts import is_whole
from discreet.exact.given_values import values

MOST_CLUSTERS = 10_000
MOST_ROUNDS = 1_000
MOST_COLUMNS = 1 << 16

Run = Callable[[PointOracle, int, Fraction, RandomFloats], LloydResult]


@dataclass(frozen=True, slots=True)
class Method:
    """An algorithm by its name."""

    name: str
    run: Run


def method(algorithm: object, rounds: object) -> Method:
    """The algorithm of this name."""
    number = _whole("rounds", rounds, MOST_ROUNDS)
    if not isinstance(algorithm, str):
        algorithm = shown(algorithm)
    if algorithm == "lloyd":
        return Method("lloyd", lambda p, k, e, rng: lloyd(p, k, e, rounds=number, rng=rng))
    if algorithm == "best":
        return Method("best", lambda p, k, e, rng: best(p, k, e, rng=rng))
    cure = "'best' for centers near the true ones, 'lloyd' for the lecture notes' algorithm."
    raise InvalidParameter(expected("'best' or 'lloyd'", "algorithm", algorithm, cure))


def clusters_of(number: object, size: int | None) -> int:
    """A number of clusters, no larger than a public number of points."""
    clusters = _whole("n_clusters", number, MOST_CLUSTERS)
    if size is not None and clusters > size:
        raise InvalidPoints(
            expected(f"at most as many clusters as the {size} points", "n_clusters", clusters, "ask for fewer.")
        )
    return clusters


def _whole(name: str, value: object, most: int) -> int:
    number = int(value) if is_whole(value) else 0
    if not 1 <= number <= most:
        raise InvalidParameter(expected(f"a whole number from 1 to {most:,}", name, value, f"write {name}=5."))
    return number


def span(bounds: object, columns: int) -> tuple[Reals, Reals]:
    """The public bounds of each column."""
    if bounds is None:
        raise InvalidParameter(
            "Expected bounds, got none.\nHint: state what is publicly known of the columns, bounds=(low, high). "
            "Bounds taken from the rows would reveal people."
        )
    cure = "write bounds=(0, 100), or bounds=([0, 0], [100, 5]) with one number for each column."
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidParameter(expected("a pair (low, high)", "bounds", bounds, cure))
    low, high = (_ends(end, columns, bounds, cure) for end in bounds)
    if not (low < high).all():
        raise InvalidParameter(expected("low < high in every column", "bounds", bounds, cure))
    return low, high


LARGEST = 2.0**500


def _ends(end: Any, columns: int, bounds: object, cure: str) -> Reals:
    try:
        found = np.asarray(end, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(expected("numbers as bounds", "bounds", bounds, cure)) from None
    if found.shape not in ((), (1,), (columns,)):
        raise InvalidParameter(
            expected(f"one pair of bounds, or one for each of {columns} columns", "bounds", bounds, cure)
        )
    if not (np.abs(found) < LARGEST).all():
        raise InvalidParameter(expected("finite bounds", "bounds", bounds, cure))
    return np.broadcast_to(found, (columns,)).astype(np.float64)


def rows_as_doubles(given: object) -> Reals:
    """Private rows, shape (rows, columns), as doubles: type and shape alone decide whether they are refused.

    Of a list, they would be found in the rows: one row of text or of another length would make the difference.
    """
    if not hasattr(given, "__array__") and not hasattr(given, "toarray"):
        cure = "np.asarray(rows, dtype=float) makes one of lists of numbers."
        raise NoNumbers(expected("an array or a frame", "X", type(given).__name__, cure))
    return points_of(given)


def points_of(given: Any) -> Reals:
    """Rows of numbers, shape (rows, columns), as doubles; faults of their values are not reported."""
    if hasattr(given, "toarray"):
        raise NoNumbers("Expected a dense array, got a sparse one.\nHint: use .toarray().")
    result = doubles(given)
    if result.ndim != 2:
        raise not_a_table(result.ndim)
    if not result.shape[1]:
        raise InvalidPoints(
            f"0 feature(s) (shape={result.shape}) while a minimum of 1 is required.\nHint: give the rows a column."
        )
    if result.shape[1] > MOST_COLUMNS:
        raise InvalidPoints(
            expected(f"at most {MOST_COLUMNS:,} columns", "columns", result.shape[1], "leave some out.")
        )
    return result


def readable(given: ArrayLike, columns: int, names: NDArray[np.object_] | None) -> Reals:
    """The caller's own rows, for fitted centers: finite, with as many columns."""
    rows = points_of(given)
    if rows.shape[1] != columns:
        raise InvalidPoints(
            f"X has {rows.shape[1]} features, but KMeans is expecting {columns} features as input.\n"
            "Hint: give the columns that it was fitted with."
        )
    own = names_of(given)
    if names is not None and own is not None and not np.array_equal(names, own):
        raise InvalidPoints(
            "The feature names should match those that were passed during fit.\nHint: give the columns by that order."
        )
    if not np.isfinite(rows).all():
        raise InvalidPoints("Expected finite numbers: Input X contains NaN or infinity.\nHint: leave such rows out.")
    return rows


def names_of(given: object) -> NDArray[np.object_] | None:
    """The names of a frame's columns, where all are text."""
    columns = getattr(given, "columns", None)
    names = list(columns) if columns is not None else []
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.array(names, dtype=object)


def axes_of(columns: Sequence[int] | None, number: int) -> tuple[int, ...]:
    """The one or two columns that a picture is over: the first two where none are named."""
    if columns is None:
        return tuple(range(min(2, number)))
    values("columns", columns, f"give one or two indices from 0 to {number - 1}, columns=(0, 1).")
    whole = [is_whole(column) for column in columns]
    if not 1 <= len(columns) <= 2 or not all(whole) or not all(0 <= column < number for column in columns):
        cure = f"give one or two indices from 0 to {number - 1}, columns=(0, 1)."
        raise InvalidParameter(expected("columns to draw", "columns", columns, cure))
    return tuple(int(column) for column in columns)

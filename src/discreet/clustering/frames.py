"""Converts the columns of a frame or an array to doubles, by their declared types alone.

Claim
    Whether `doubles` refuses what it is given depends on its types and shape alone, and so does what a refusal says. A
    row of the result depends on that row alone; an entry that is missing, or no number, is NaN. Nothing warns.
Requires
    A pandas, polars or Arrow table, or what NumPy makes an array of by a type of its own.
Relies on
    NumPy's, Arrow's and polars' conversions of numbers and truth values to doubles, which take every value of them.
Proof
    NumPy finds one type for a whole frame, and which one, or whether it fails on the way, may depend on one missing
    value; so a frame is taken apart, and each column goes one of two ways. Numbers and truth values are converted as a
    column, NULL to NaN, with NumPy's warnings off: a signalling NaN would raise one. Objects, and categories, whose
    list may come from the rows, go entry by entry through `_double`, which catches all that an entry can raise. Other
    types are refused by name, text among them: read as numbers, a column of names would be one of NaN. What a library
    raises nevertheless becomes one sentence.
Rounding
    To the nearest double; infinity beyond.
Source
    Architecture, rule 6: an error that one row brings about gives that row away.
Mutant
    frames-as-a-whole: NumPy finds one type for all columns; killed by test_one_row_never_makes_a_difference.
    wide-number-told: a number wider than a double is an error; killed by
    test_no_entry_of_an_array_of_objects_is_an_error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.given_values import array_of

Reals = NDArray[np.float64]

LIBRARIES = ("pandas", "polars", "pyarrow")
PLAIN = "biuf"
"""NumPy's kinds of types that hold numbers."""


class InvalidPoints(InvalidParameter, ValueError):
    """Rows whose shape or type clustering cannot use; also a ValueError, as in scikit-learn."""


class NoNumbers(InvalidParameter, TypeError):
    """Rows of a type that is not numeric."""


def doubles(given: Any) -> Reals:
    """A frame's columns as one array, or an array in its own shape."""
    library = type(given).__module__.split(".")[0]
    frame = library in LIBRARIES
    if frame and getattr(given, "columns", None) is None:  # a Series or a lone array: its type may be anything
        raise not_a_table(1)
    try:
        with np.errstate(all="ignore"):
            return _stacked(_columns(given, library), len(given)) if frame else _array(array_of("X", given))
    except (InvalidPoints, NoNumbers) as refused:
        told = refused
    except Exception:  # noqa: BLE001 (whatever a library says of its entries may quote them)
        told = NoNumbers(expected("columns of numbers", "X", type(given).__name__, "give an array of floats."))
    raise told  # here, where no exception is being handled that it would carry along


def not_a_table(dimensions: int) -> InvalidPoints:
    """The refusal of what has no rows and columns, in scikit-learn's words."""
    return InvalidPoints(
        f"Expected a 2D array of shape (rows, columns), got {dimensions} dimensions.\n"
        "Hint: Reshape your data: .reshape(-1, 1) makes one column of a list of numbers."
    )


def _stacked(columns: list[Reals], rows: int) -> Reals:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))


def _columns(frame: Any, library: str) -> list[Reals]:
    if library == "pandas":
        return [_pandas(frame.iloc[:, j]) for j in range(frame.shape[1])]
    if library == "polars":
        return [_polars(column) for column in frame.get_columns()]
    return [_arrow(column) for column in frame.columns]


def _array(array: NDArray[Any]) -> Reals:
    kind = array.dtype.kind
    if kind == "c":
        raise InvalidPoints("Complex data not supported: expected real numbers.\nHint: give two columns instead.")
    if kind == "O":
        result: Reals = np.frompyfunc(_double, 1, 1)(array).astype(np.float64)  # nothing faster takes any object
        return result
    if kind not in PLAIN:
        raise NoNumbers(expected("numbers", "dtype", str(array.dtype), "give rows.astype(float)."))
    return array.astype(np.float64)


def _pandas(column: Any) -> Reals:
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _array(column.to_numpy())
    kind = getattr(dtype, "kind", "O")
    if hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        held = column.array.__arrow_array__()
        return _arrow(held if isinstance(held, pa.ChunkedArray) else pa.chunked_array([held]))
    if str(dtype) == "category":
        return _each(column.astype(object).tolist())
    if kind not in PLAIN:
        raise _no_number(str(dtype))
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def _polars(column: Any) -> Reals:
    import polars as pl

    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return np.asarray(column.cast(pl.Float64, strict=False).fill_null(math.nan).to_numpy(), dtype=np.float64)
    if dtype in (pl.Object, pl.Null):
        return _each(column.to_list())
    raise _no_number(str(dtype))


def _arrow(column: Any) -> Reals:
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _arrow(column.cast(kind.value_type))
    if types.is_null(kind):
        return np.full(len(column), math.nan)
    if types.is_float16(kind):
        column = column.cast(pa.float32())
    elif not any(test(kind) for test in (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)):
        raise _no_number(str(kind))
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(), dtype=np.float64)


def _no_number(dtype: str) -> NoNumbers:
    return NoNumbers(expected("columns of numbers", "dtype", dtype, "leave the column out, or make numbers of it."))


def _each(entries: list[Any]) -> Reals:
    convert: Callable[[Any], float] = _double
    return np.fromiter(map(convert, entries), dtype=np.float64, count=len(entries))


def _double(entry: Any) -> float:
    """An entry of a column of objects as the nearest double, infinity beyond; NaN if it is not a number."""
    if not isinstance(entry, Real | Decimal | np.bool_ | str):
        return math.nan
    try:
        return float(entry)
    except OverflowError:
        return math.copysign(math.inf, _sign(entry))
    except Exception:  # noqa: BLE001 (an object may be of anyone's class)
        return math.nan


def _sign(entry: Any) -> float:
    try:
        return 1.0 if entry > 0 else -1.0
    except Exception:  # noqa: BLE001 (as above)
        return math.nan

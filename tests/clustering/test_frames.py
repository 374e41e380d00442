"""Frames and arrays as doubles: whatever one row holds, what is refused is the type, and nothing warns."""

from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.clustering.frames import InvalidPoints, NoNumbers, doubles

SIGNALING = np.array([0x7F800001], dtype=np.uint32).view(np.float32)
BROKEN = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b"1\x81")])


class Spiteful(str):
    """A text that nothing can be made of."""

    __slots__ = ()

    def __float__(self) -> float:
        raise RuntimeError(self)


def two(kind: pa.DataType, *values: Any) -> pa.Table:
    return pa.table({"a": [1.0, 2.0], "b": pa.array(values, kind)})


TIME = datetime.time(1, 2, 3)
DAY = datetime.date(2020, 1, 1)
PAIRS: dict[str, tuple[Any, Any]] = {
    "polars NULL beside a date": (
        pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int64), "b": [DAY, DAY]}),
        pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Int64), "b": [DAY, DAY]}),
    ),
    "polars NULL": (
        pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int64), "b": [True, False]}),
        pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Int64), "b": [True, None]}),
    ),
    "polars text": (pl.DataFrame({"a": ["1", "2"]}), pl.DataFrame({"a": ["1", "secret"]})),
    "polars decimals": (
        pl.DataFrame({"a": pl.Series([Decimal(1), Decimal(2)])}), pl.DataFrame({"a": pl.Series([Decimal(1), None])})
    ),
    "polars times": (pl.DataFrame({"a": [TIME, TIME]}), pl.DataFrame({"a": [TIME, None]})),
    "Arrow times": (two(pa.time64("ns"), 1, 2), two(pa.time64("ns"), 1, 86_399_999_999_999)),
    "Arrow broken text": (two(pa.string(), "1", "2"), pa.table({"a": [1.0, 2.0], "b": BROKEN})),
    "Arrow decimals": (
        two(pa.decimal128(38, 0), Decimal(1), None), two(pa.decimal128(38, 0), Decimal(1), Decimal("9" * 38))
    ),
    "Arrow wide integers": (two(pa.uint64(), 1, 2), two(pa.uint64(), None, 2**64 - 1)),
    "pandas mixed": (
        pd.DataFrame({"a": pd.Series([1, 2], dtype=object)}),
        pd.DataFrame({"a": pd.Series([1, Spiteful("secret")], dtype=object)}),
    ),
    "pandas nullable": (
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")}), pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    ),
    "pandas of Arrow": (
        pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([["1", "2"]]))}),
        pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([BROKEN]))}),
    ),
    "pandas categories": (
        pd.DataFrame({"a": pd.Series([1, 2], dtype="category")}),
        pd.DataFrame({"a": pd.Series([1, "x"], dtype="category")}),
    ),
    "pandas signaling NaN": (
        pd.DataFrame({"a": np.ones(2, np.float32)}), pd.DataFrame({"a": np.concatenate([SIGNALING, SIGNALING])})
    ),
    "NumPy signaling NaN": (np.ones((2, 1), np.float32), np.concatenate([SIGNALING, SIGNALING])[:, None]),
    "NumPy objects": (
        np.array([[1], [2]], dtype=object), np.array([[1], [Decimal("sNaN")]], dtype=object)
    ),
    "NumPy long doubles": (
        np.ones((2, 1), np.longdouble), np.array([[1], [np.finfo(np.longdouble).max]], dtype=np.longdouble)
    ),
}  # fmt: skip


def outcome(given: Any) -> tuple[type, str] | tuple[int, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return doubles(given).shape
        except dp.InvalidParameter as problem:
            refused = problem
    assert refused.__context__ is None
    assert "secret" not in str(refused)
    return type(refused), str(refused)


@pytest.mark.parametrize("name", PAIRS)
def test_one_row_never_makes_a_difference(name: str) -> None:
    plain, odd = PAIRS[name]
    assert outcome(plain) == outcome(odd)


@pytest.mark.parametrize("name", [name for name in PAIRS if outcome(PAIRS[name][0]) == np.shape(PAIRS[name][0])])
def test_one_row_never_makes_kmeans_fail(name: str) -> None:
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in PAIRS[name]:
            found = dp.KMeans(n_clusters=1, epsilon=1, bounds=(0, 9)).fit(given)
            assert np.isfinite(found.cluster_centers_).all()


def test_values_are_those_of_the_columns() -> None:
    rows = {
        "i": [1, None, 2**62], "x": [0.5, math.nan, -math.inf], "b": [True, None, False],
    }  # fmt: skip
    wanted = [[1, 0.5, 1], [math.nan, math.nan, math.nan], [2.0**62, -math.inf, 0]]
    table = pa.table(rows, schema=pa.schema({"i": pa.int64(), "x": pa.float64(), "b": pa.bool_()}))
    half = pa.table({"h": pa.array(np.array([0.5, np.inf], np.float16)), "n": pa.nulls(2)})
    np.testing.assert_array_equal(doubles(half), [[0.5, math.nan], [math.inf, math.nan]])
    given: tuple[Any, ...] = (
        table,
        pl.from_arrow(table),
        table.to_pandas(),
        table.to_pandas(types_mapper=pd.ArrowDtype),
    )
    given += (
        table.to_pandas().convert_dtypes(),
        table.to_pandas().astype("category"),
        pd.DataFrame(rows).astype(object),
    )
    given += (table.set_column(0, "i", table["i"].dictionary_encode()),)
    for one in given:
        np.testing.assert_array_equal(doubles(one), wanted)
    texts = pd.DataFrame({"t": pd.Series(["7", "", None], dtype=object)})
    for one in (texts, texts.astype("category")):
        np.testing.assert_array_equal(doubles(one), [[7], [math.nan], [math.nan]])


TEXTS: dict[str, Any] = {
    "pandas": pd.DataFrame({"a": pd.Series(["1", "2"], dtype="str")}),
    "pandas string": pd.DataFrame({"a": pd.Series(["1", "2"], dtype="string")}),
    "polars": pl.DataFrame({"a": ["1", "2"]}),
    "polars categories": pl.DataFrame({"a": ["1", "2"]}, schema={"a": pl.Categorical}),
    "Arrow": two(pa.string(), "1", "2"),
    "Arrow large": two(pa.large_string(), "1", "2"),
    "Arrow dictionary": two(pa.dictionary(pa.int32(), pa.string()), "1", "2"),
    "NumPy": np.array([["1"], ["2"]]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_no_number(name: str) -> None:
    with pytest.raises(NoNumbers, match="Hint: "):
        doubles(TEXTS[name])


def test_objects_beyond_the_doubles_are_infinite() -> None:
    assert doubles(np.array([[10**400], [-(10**400)], [Fraction(10**400)]], dtype=object)).ravel().tolist() == [
        math.inf, -math.inf, math.inf,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        pl.Series([1, 2]), pd.Series([1, 2]), pa.array([1]), pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        pd.DataFrame({"a": [1 + 2j]}), pd.DataFrame({"a": pd.period_range("2020", periods=1)}),
        pa.table({"a": [[1]]}), pl.DataFrame({"a": [[1]]}), np.array([TIME]).astype("S"), np.zeros(1, "M8[s]"),
    ],
)  # fmt: skip
def test_other_types_are_refused(given: Any) -> None:
    with pytest.raises((InvalidPoints, NoNumbers), match="Hint"):
        doubles(given)


def test_what_a_library_says_is_not_repeated() -> None:
    class Odd:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise ValueError("secret")

    assert outcome(Odd()) == outcome(Odd())
    with pytest.raises(NoNumbers, match=r"^Expected columns of numbers, got X='Odd'\."):
        doubles(Odd())

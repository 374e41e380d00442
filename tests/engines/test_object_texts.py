"""Objects of pandas are texts, each for itself, by what they are and not by what they say."""

from __future__ import annotations

import datetime
import math
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp


def column(data: pd.DataFrame) -> list[Any]:
    return list(dp.public(data).rows["x"].to_pylist())


def test_objects_of_pandas_are_text_each_for_itself() -> None:
    items = [1, "1", 1.5, True, None, math.nan, pd.NaT, pd.NA, Decimal("1.0"), Decimal("sNaN"), 10**5000, [1], {}, b"x"]
    items += [datetime.date(2020, 1, 1), "\ud800", np.array([1, 2]), object()]
    expected = ["1", "1", "1.5", "True", None, None, None, None, "1.0", None, None, None, None, None]
    expected += ["2020-01-01", "\\ud800", None, None]
    assert column(pd.DataFrame({"x": pd.Series(items, dtype=object)})) == expected


def test_numbers_of_numpy_among_objects_are_as_pandas_has_them() -> None:
    items = [np.float64(1.5), np.float64("nan"), np.str_("a"), pd.Timestamp("2020-01-01")]
    items += [np.int64(5), np.uint8(3), np.float32("nan"), np.float32(0.1), np.bool_(True), np.datetime64("NaT")]  # noqa: FBT003 (a value)
    expected = ["1.5", None, "a", "2020-01-01 00:00:00", "5", "3", None, "0.1", "True", None]
    assert column(pd.DataFrame({"x": pd.Series(items, dtype=object)})) == expected


def test_people_who_are_uuids_of_python_count() -> None:
    """As DuckDB and psycopg give them to pandas."""
    data = pd.DataFrame({"id": [uuid.UUID(int=i) for i in range(40)]})
    assert column(data.rename(columns={"id": "x"}))[1] == "00000000-0000-0000-0000-000000000001"
    table = dp.protect(data, unit="id", max_rows=1, budget=dp.Budget(epsilon=10**6), name="people")
    assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [40]


def test_text_of_pandas_with_surrogates_is_text() -> None:
    assert column(pd.DataFrame({"x": pd.array(["a", "\ud800", None], dtype="string[python]")})) == [
        "a",
        "\\ud800",
        None,
    ]


class Spiteful(str):
    """A text that says of itself what ends the program."""

    __slots__ = ()

    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__


class Unequal(str):
    """A text that cannot be compared."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as an object of anyone's class may have it

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    __ne__ = __eq__


class Hidden:
    """An object that does not say what it is."""

    @property  # type: ignore[misc]  # as an object of anyone's class may have it
    def __class__(self) -> type:
        raise SystemExit


@pytest.mark.parametrize(("kind", "text"), [(Spiteful, "b"), (Unequal, "b"), (Hidden, None)])
def test_objects_are_not_asked_what_they_are(kind: type, text: str | None) -> None:
    held = np.empty(3, dtype=object)
    held[0], held[1], held[2] = "a", kind() if kind is Hidden else kind("b"), "c"
    assert column(pd.DataFrame({"x": pd.Series(held, dtype=object)})) == ["a", text, "c"]

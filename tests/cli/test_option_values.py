"""What is written is what is meant: exact decimals, dates, NULL, commas; all else is refused, with a cure."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.option_values import bounds, columns, keys
from discreet.errors import InvalidParameter
from discreet.language.checked_expressions import Kind


@given(low=st.decimals(allow_nan=False, allow_infinity=False), high=st.decimals(allow_nan=False, allow_infinity=False))
def test_bounds_are_the_decimals_that_are_written(low: Decimal, high: Decimal) -> None:
    assert bounds([f"a={low}:{high}"]) == {"a": (low, high)}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("0:50", (Decimal(0), Decimal(50))),
        ("-5:-1.25", (Decimal(-5), Decimal("-1.25"))),
        ("2020-01-01:2020-12-31", ("2020-01-01", "2020-12-31")),
        ("2020-01-01T00:00:00:2020-12-31T23:59:59", ("2020-01-01T00:00:00", "2020-12-31T23:59:59")),
        ("2020-01-01 10:30:2020-12-31", ("2020-01-01 10:30", "2020-12-31")),
    ],
)
def test_bounds_are_numbers_dates_or_times(text: str, pair: Any) -> None:
    assert bounds([f"when={text}"]) == {"when": pair}


def test_bounds_may_be_repeated_or_listed() -> None:
    both = {"a": (Decimal(0), Decimal(1)), "b": (Decimal(2), Decimal(3))}
    assert bounds(["a=0:1", "b=2:3"]) == bounds(["a=0:1,b=2:3"]) == both


@pytest.mark.parametrize("text", ["a", "=0:1", "a=", "a=0", "a=0-1", "a=0:", "a=:1", "a=x:y", "a=0:1:2"])
def test_other_bounds_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"--bounds .*=0:50"):
        bounds([text])


def test_a_column_is_stated_once() -> None:
    assert columns("schema", ["a=int64,b=string", "c=date"], "") == {"a": "int64", "b": "string", "c": "date"}
    with pytest.raises(InvalidParameter, match="each column once, got schema='a'"):
        columns("schema", ["a=int64,a=string"], "")


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (Kind.TEXT, "free,25%", ["free", "25%"]),
        (Kind.TEXT, "a, b,", ["a", " b", ""]),
        (Kind.TEXT, r"a,\N", ["a", None]),
        (Kind.TEXT, "a=b", ["a=b"]),
        (Kind.INTEGER, r"1,-2, +3,\N", [1, -2, 3, None]),
        (Kind.BOOLEAN, "true,FALSE", [True, False]),
        (Kind.DATE, "2020-01-31", [datetime.date(2020, 1, 31)]),
        (Kind.TIMESTAMP, "2020-01-31T12:00", [datetime.datetime(2020, 1, 31, 12)]),  # noqa: DTZ001 (naive means UTC here)
    ],
)
def test_keys_are_read_as_the_group_has_them(kind: Kind, text: str, found: Any) -> None:
    assert keys([f"g={text}"], {"g": kind}) == {"g": found}


def test_repeated_keys_keep_their_commas() -> None:
    kinds = {"city": Kind.TEXT, "year": Kind.INTEGER}
    texts = ["city=Paris, TX", "year=1,2", "city=Rome"]
    assert keys(texts, kinds) == {"city": ["Paris, TX", "Rome"], "year": [1, 2]}
    assert keys([], kinds) is None


@pytest.mark.parametrize(
    ("kind", "text", "cure"),
    [
        (Kind.INTEGER, "1.0", "g=3"),
        (Kind.INTEGER, "one", "g=3"),
        (Kind.INTEGER, "1_0", "g=3"),
        (Kind.INTEGER, "", "g=3"),
        (Kind.BOOLEAN, "yes", "g=true"),
        (Kind.DATE, "2020-13-01", "g=2020-01-31"),
        (Kind.TIMESTAMP, "noon", "g=2020-01-31T12:00:00"),
    ],
)
def test_keys_of_another_kind_are_refused(kind: Kind, text: str, cure: str) -> None:
    with pytest.raises(InvalidParameter, match=f"(?s)a {kind.value} as a key of 'g', got .*--keys {re.escape(cure)},"):
        keys([f"g={text}"], {"g": kind})


@pytest.mark.parametrize("word", ["unknown", "UNKNOWN", "unknown-by-count"])
def test_keys_of_one_group_are_not_unknown(word: str) -> None:
    with pytest.raises(InvalidParameter, match=f"(?s)keys of one group, got .*--keys {word.lower()}, for all groups"):
        keys([f"city={word}"], {"city": Kind.TEXT})
    assert keys([f"city={word},Rome"], {"city": Kind.TEXT}) == {"city": [word, "Rome"]}
    assert keys([f"city={word}", "city=Rome"], {"city": Kind.TEXT}) == {"city": [word, "Rome"]}


def test_keys_of_other_columns_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'plan'"):
        keys(["plam=a"], {"plan": Kind.TEXT})
    with pytest.raises(InvalidParameter, match="name=value"):
        keys(["plan"], {"plan": Kind.TEXT})

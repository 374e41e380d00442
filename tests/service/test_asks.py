from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.service.asks import Ask, amount

SQL = {"sql": "SELECT COUNT(*) FROM people"}


@pytest.mark.parametrize(
    "asked",
    [
        None,
        [],
        "x",
        {},
        {"question": None},
        {"question": {}},
        {"question": {"sql": ""}},
        {"question": {"sql": "x" * 20_001}},
        {"question": {"sql": "SELECT \0"}},
        {"question": {"sql": "SELECT \ud800"}},
        {"question": {"sql": 1}},
        {"question": {**SQL, "path": "/etc/passwd"}},
        {"question": {**SQL, "max_rows": 0}},
        {"question": {**SQL, "max_rows": True}},
        {"question": {**SQL, "keys": {"plan": []}}},
        {"question": {**SQL, "keys": {"plan": [1.5]}}},
        {"question": {**SQL, "keys": {"plan": "keys.parquet"}}},
        {"question": {**SQL, "document": {}}},
        {"question": {"document": "x"}},
        {"question": SQL, "price": {"epsilon": "0"}},
        {"question": SQL, "price": {"epsilon": "-1"}},
        {"question": SQL, "price": {"epsilon": "nan"}},
        {"question": SQL, "price": {"epsilon": "inf"}},
        {"question": SQL, "price": {"epsilon": "1e999"}},
        {"question": SQL, "price": {"epsilon": "1/0"}},
        {"question": SQL, "price": {"epsilon": True}},
        {"question": SQL, "price": {"epsilon": "٣"}},
        {"question": SQL, "price": {"epsilon": "1", "rho": "1"}},
        {"question": SQL, "price": {"delta": "1e-6"}},
        {"question": SQL, "price": {"within": {}}},
        {"question": SQL, "price": {"within": {"n": "0"}}},
        {"question": SQL, "price": {"within": {"n": "5"}, "confidence": "1"}},
        {"question": SQL, "fresh": 1},
        {"question": SQL, "weights": {"n": "x"}},
        {"question": SQL, "tables": {"people": "people.parquet"}},
    ],
)
def test_what_is_no_ask_is_refused(asked: Any) -> None:
    with pytest.raises(DiscreetError, match="Expected"):
        Ask.read(asked)


@pytest.mark.parametrize("text", ["0.1", "0.10", ".1", "1e-1", "1/10", 0.1, Decimal("0.1"), Fraction(1, 10)])
def test_amounts_are_exact(text: Any) -> None:
    assert amount("epsilon", text) == Fraction(1, 10)


def test_equal_asks_have_one_digest_and_are_read_again() -> None:
    one = Ask.read({"question": SQL, "price": {"epsilon": "0.10"}, "fresh": False, "weights": {}})
    other = Ask.read({"price": {"epsilon": 0.1, "rho": None}, "question": SQL})
    assert one.digest == other.digest
    assert Ask.stored(one.text) == one
    assert Ask.read({"question": SQL, "price": {"epsilon": "0.1"}, "fresh": True}).digest != one.digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("question", "price", "sql", "keys", "epsilon", "rho", "within", "fresh", "weights", "document", "plan")
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_sent_is_an_ask_or_one_clean_refusal(asked: Any) -> None:
    try:
        found = Ask.read(asked)
    except DiscreetError:
        return
    json.dumps(found.canonical)
    assert Ask.stored(found.text) == found

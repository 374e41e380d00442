"""Multinomial sampling of a log of one's own: real users, stated or chosen row counts, and what is not promised."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.logs.integer_programs import OBJECTIVES
from discreet.logs.multinomial import LogSample, sample_own_log

ROWS = [
    ("081", "pregnancy test", 2), ("081", "book", 3), ("081", "google", 15), ("082", "car price", 2),
    ("082", "google", 7), ("083", "google", 17), ("083", "diabetes", 1), ("083", "book", 1), ("083", "car price", 5),
]  # fmt: skip
NOTES = pa.table(dict(zip(("user", "query", "count"), map(list, zip(*ROWS, strict=True)), strict=True)))
"""The table of the lecture notes; the last column is how often."""
COUNTS = {"google": 20, "book": 3, "car price": 4}
FACTS: dict[str, Any] = {"user": "user", "item": "query", "count": "count"}
CHOSEN: dict[str, Any] = {"epsilon": Fraction("17.3247"), "delta": 1 - Fraction(1, 10**8)}


def sample(log: Any = NOTES, **stated: Any) -> LogSample:
    return sample_own_log(log, **{**FACTS, **stated})


def held(found: LogSample) -> dict[tuple[str, str], int]:
    rows = found.to_pyarrow().to_pylist()
    return {(row["user"], row["query"]): row["count"] for row in rows}


def test_stated_counts_come_out_exactly() -> None:
    found = sample(output_counts=COUNTS)
    totals: Counter[str] = Counter()
    for (user, query), number in held(found).items():
        assert (user, query) in {row[:2] for row in ROWS}
        totals[query] += number
    assert totals == COUNTS
    assert found.items["query"].to_pylist() == ["google", "car price", "book"]
    assert found.receipt["needs"] == {"epsilon": "17.3245", "delta": "0.999999971"}
    assert (found.receipt["rows"], found.receipt["users"], found.receipt["row_counts"]) == (27, 3, "stated")


def test_the_users_of_rows_have_their_shares() -> None:
    """c_ik / c_i: of 20,000 draws of google, 15, 7 and 17 of 39; six deviations, one false alarm in 10^8."""
    found = held(sample(output_counts={"google": 20_000}))
    for user, count in {"081": 15, "082": 7, "083": 17}.items():
        share = count / 39
        assert abs(found[user, "google"] - 20_000 * share) < 6 * (20_000 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ({"epsilon": Fraction("17.3244")}, "user '083' needs an epsilon of 17.32"),
        ({"epsilon": Fraction(13)}, "user '081' needs an epsilon of 13.869"),
        ({"delta": Fraction(99, 100)}, "within the limits for every user"),
        ({"epsilon": 18, "delta": Fraction(99, 100)}, "within the limits for every user"),
        ({"output_counts": {"diabetes": 1}}, "no row of an item of one user"),
        ({"output_counts": {"gogle": 1}}, "items of the log"),
        ({"output_counts": {"google": -1}}, "whole numbers of 0 or more"),
        ({"output_counts": {"google": 2.5}}, "whole numbers of 0 or more"),
        ({"output_counts": {"google": True}}, "whole numbers of 0 or more"),
        ({"output_counts": ["google"]}, "a dict of row counts"),
        ({"objective": "size"}, "no objective beside output_counts"),
        ({"size": 3}, "no size but for"),
        ({"support": 0.1}, "no support but for"),
        ({"delta": 1}, "a delta between 0 and 1"),
        ({"epsilon": 0}, "a number above 0"),
        ({"output_counts": None}, "a value of epsilon"),
        ({"output_counts": None, "epsilon": 1}, "a value of delta"),
        ({"output_counts": None, "objective": "utility", **CHOSEN}, "an objective"),
        ({"output_counts": None, "objective": "support", "support": 2, **CHOSEN}, "a support above 0"),
        ({"output_counts": None, "objective": "support", "size": 0, **CHOSEN}, "a whole number of 1 or more"),
        ({"item": "quer"}, "a column of the log"),
        ({"user": 3}, "the name of a column"),
    ],
    ids=str,
)
def test_what_the_condition_does_not_allow_is_refused(stated: dict[str, Any], what: str) -> None:
    with pytest.raises(dp.InvalidParameter, match=what) as refusal:
        sample(**{"output_counts": COUNTS, **stated})
    assert "Hint: " in str(refusal.value)


def test_one_user_beyond_the_limit_is_enough() -> None:
    with pytest.raises(dp.InvalidParameter, match="user '083'"):
        sample(output_counts=COUNTS, epsilon=Fraction("17.3"))


def test_counts_within_the_limits_are_drawn() -> None:
    assert len(sample(output_counts=COUNTS, **CHOSEN)) > 0
    assert sample(output_counts={"google": 0, "diabetes": 0}, epsilon=1).to_pyarrow().num_rows == 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_chosen_rows_are_those_of_real_users_with_shared_items(objective: str) -> None:
    stated: dict[str, Any] = {"size": 27, "support": 0.05} if objective == "support" else {}
    found = sample(objective=objective, **CHOSEN, **stated)
    assert {query for _, query in held(found)} <= set(COUNTS)
    assert set(held(found)) <= {row[:2] for row in ROWS}
    assert sum(held(found).values()) == found.receipt["rows"]
    assert float(found.receipt["needs"]["epsilon"]) <= 17.3247


def test_the_size_of_the_example_fits_at_its_price() -> None:
    """27 rows need epsilon 17.32; the program finds as many, and more where it may choose."""
    assert sample(objective="support", size=27, support=0.05, **CHOSEN).receipt["rows"] == 27
    assert sample(**CHOSEN).receipt["rows"] >= 27
    assert sample(objective="support", size=10**6, **CHOSEN).receipt["row_counts"] == "none"


def test_a_meaningful_delta_leaves_nothing() -> None:
    found = sample(epsilon=17, delta=Fraction(1, 10**6))
    assert (len(found), found.receipt["row_counts"]) == (0, "optimal")


def test_logs_without_counts_and_in_frames() -> None:
    single = sample_own_log(NOTES.to_pandas(), user="user", item="query", output_counts={"google": 4})
    assert (len(single), single.to_pyarrow().column_names) == (4, ["user", "query"])
    assert single.items["rows"].to_pylist() == [4]
    assert isinstance(single.to_pandas(), pd.DataFrame)


def test_it_is_marked_as_not_private() -> None:
    found = sample(output_counts=COUNTS)
    assert found.receipt["private"] is False
    assert found.receipt["guarantee"] == "none from end to end"
    assert "probabilistic differential privacy of the sampling step for fixed row counts" in found.receipt["covered"]
    assert any("delta is 1" in line for line in found.receipt["not_covered"])
    assert "NOT PRIVATE from end to end" in repr(found)
    assert "NOT PRIVATE from end to end" in found._repr_html_()
    assert np.all(np.asarray(found.items["count"]) > 0)

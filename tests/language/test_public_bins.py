"""Public bins: which values they hold, how they are named, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.public_bins import MOST_BINS, bins
from discreet.query.table import PrivateTable

INF = float("inf")


def test_labels() -> None:
    assert bins([0, 18, 65.5, 110], None).labels == ("[0, 18)", "[18, 65.5)", "[65.5, 110]")
    assert bins([-INF, 0, INF], None).labels == ("< 0", ">= 0")
    assert bins([-INF, 5], None).labels == ("<= 5",)
    day = datetime.date
    assert bins([day(2020, 1, 1), day(2021, 1, 1)], None).labels == ("[2020-01-01, 2021-01-01]",)
    assert bins([0, 1, 2], ("low", "high")).labels == ("low", "high")


def test_every_row_is_in_the_bin_that_its_label_says(by_row: Callable[..., PrivateTable], exact: Any) -> None:
    table = by_row().cut("age", [17, 30, 31, 50, 200], labels=["a", "b", "c", "d"])
    found = exact(table.group_by("age_bin", keys={"age_bin": ["a", "b", "c", "d", None]}).agg(n=_.count()))
    assert found == {"age_bin": ["a", "b", "c", "d", None], "n": [2, 2, 1, 2, 1]}
    days = by_row().cut("day", ["2020-01-02", "2020-01-04", "2020-01-05"], name="week")
    assert exact(days.group_by("week").agg(n=_.count()))["n"] == [2, 2]
    open_ends = by_row().cut("age", [-INF, 30, INF])
    assert exact(open_ends.group_by("age_bin").agg(n=_.count())) == {"age_bin": ["< 30", ">= 30"], "n": [2, 5]}


def test_labels_are_keys_until_the_column_is_rewritten(by_row: Callable[..., PrivateTable], refused: Any) -> None:
    table = by_row().cut("age", [0, 50, 110])
    assert table.filter(_.ok).rename(band="age_bin").group_by("band")._keys.rows == (("[0, 50)",), ("[50, 110]",))
    rewritten = table.mutate(age_bin=_.age_bin.upper())
    assert "the public keys of 'age_bin'" in refused(InvalidQuery, rewritten.group_by, "age_bin")
    assert "the public keys of 'age_bin'" in refused(
        InvalidQuery, table.drop("age_bin").mutate(age_bin=_.plan).group_by, "age_bin"
    )


@pytest.mark.parametrize(
    ("edges", "labels", "what"),
    [
        ([1], None, "2 to 1,001 edges"),
        ("ab", None, "2 to 1,001 edges"),
        (5, None, "2 to 1,001 edges"),
        ([1, 1], None, "rising order"),
        ([-INF, INF], None, "rising order"),
        ([0, float("nan")], None, "all numbers"),
        ([0, "a"], None, "all numbers"),
        ([True, 2], None, "all numbers"),
        ([0, 10**400], None, "all numbers"),
        ([0, np.arange(2)], None, "all numbers"),
        ([0, 1, 2], ["a"], "2 distinct labels"),
        ([0, 1, 2], ["a", "a"], "2 distinct labels"),
        ([0, 1, 2], [1, 2], "2 distinct labels"),
    ],
)
def test_refusals(by_row: Callable[..., PrivateTable], refused: Any, edges: Any, labels: Any, what: str) -> None:
    assert what in refused(InvalidQuery, by_row().cut, "age", edges, labels=labels)


def test_a_column_of_another_kind_is_refused(by_row: Callable[..., PrivateTable], refused: Any) -> None:
    assert "not comparable" in refused(InvalidQuery, by_row().cut, "plan", [0, 1])
    assert "known column" in refused(InvalidQuery, by_row().cut, "nothing", [0, 1])


def test_so_many_bins_of_one_width(by_row: Callable[..., PrivateTable], exact: Any) -> None:
    """Over the stated bounds; the same question as written out, bin by bin."""
    table = by_row()
    edges = [0.0, 27.5, 55.0, 82.5, 110.0]
    long = table.cut("age", edges).group_by("age_bin").agg(count=_.count())
    for bins_of in (4, edges):
        question = table.histogram("age", bins_of)
        assert question._query.groups.keys() == long._query.groups.keys()
        assert exact(question) == exact(long)
    assert len(exact(table.histogram("age"))["count"]) == 10
    assert exact(table.histogram("age", 1))["age_bin"] == ["[0, 110]"]
    assert exact(table.histogram("day", ["2020-01-02", "2020-01-04", "2020-01-05"]))["count"] == [2, 2]


def test_bins_are_of_what_is_public(by_row: Callable[..., PrivateTable], refused: Any) -> None:
    for column, number in (("size", 10), ("plan", 3), ("day", 5)):
        assert "of a column with bounds" in refused(InvalidQuery, by_row().histogram, column, number)
    for number in (0, -1, True, MOST_BINS + 1):
        assert "bins, or their edges" in refused(InvalidQuery, by_row().histogram, "age", number)

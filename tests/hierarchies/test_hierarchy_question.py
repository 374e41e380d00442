"""The verb: what it takes, what it shows, and what it refuses before anything is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DiscreetError
from discreet.hierarchies.explain_levels import INTERVALS
from discreet.hierarchies.hierarchy_question import hierarchy
from hierarchy_fixtures import KEYS, PATH, asked, protected


def test_it_says_what_it_will_ask() -> None:
    table = protected()
    groups = table.hierarchy(PATH, keys=dp.public_keys(KEYS))
    assert repr(groups).startswith("<levels of ")
    assert "1 total, 3 state, 6 county" in repr(groups)
    assert repr(asked(table)) == "<question about 'country': n on 1 total, 3 state, 6 county>"


def test_the_account_tells_of_each_level() -> None:
    told = asked(protected(), cells={"female": [True, False]}).explain(epsilon=1, shares=[1, 0, 1])
    assert told["groups"] == "1 total, 3 state, 6 county x 2 cells"
    assert list(told.accuracy) == ["n by total", "n by state", "n by county"]
    assert [one["statistic"] for one in told["totals"]] == ["count of rows, by total", "count of rows, by county"]
    assert told["intervals"] == INTERVALS
    assert "n by county" in repr(told)
    assert asked(protected()).explain(epsilon=1, integers=True)["rounding"].startswith("to whole numbers")


def test_declared_keys_of_cells_are_used() -> None:
    table = protected(keys={"female": [True, False]})
    assert asked(table, cells=["female"])._places.number_of_cells == 2


def test_steps_before_it_count() -> None:
    table = protected().filter(lambda t: t.visits >= 4)
    answer = asked(table).release(epsilon=200)
    assert answer["total"]["n"][0].as_py() < 250


FRAME = dp.public_keys(KEYS)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a list of keys": ({"keys": KEYS}, "Expected public keys"),
    "a path of a file": ({"keys": "keys.parquet"}, "Expected public keys"),
    "no path": ({"levels": []}, "a list of columns"),
    "a text for a path": ({"levels": "state"}, "a list of columns"),
    "a column twice": ({"levels": ["state", "state"]}, "each once"),
    "a number for a path": ({"levels": 5}, "a list of columns"),
    "an unknown column": ({"levels": ["state", "town"]}, "town"),
    "keys of other columns": ({"levels": ["state"]}, r"public keys of the columns \['state'\]"),
    "a cell that is in the path": ({"cells": {"state": ["a"]}}, "columns of different names"),
    "a level called total": ({"levels": ["total"]}, "columns of different names"),
    "cells without keys": ({"cells": ["visits"]}, "public keys of 'visits'"),
    "cells of other values": ({"cells": {"female": ["x"]}}, "keys of kind boolean"),
    "keys of another kind": (
        {"keys": dp.public_keys(pa.table({"state": ["a"], "county": ["x"]}))}, "keys of kind"
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_refused_when_it_is_written(why: str) -> None:
    changed, what = REFUSED[why]
    stated: dict[str, Any] = {"levels": PATH, "keys": FRAME, **changed}
    table = protected()
    with pytest.raises(DiscreetError, match=what):
        table.hierarchy(stated.pop("levels"), **stated)
    assert table.budget.spent.epsilon == 0


def test_a_table_that_is_not_protected_is_refused() -> None:
    not_protected: Any = KEYS
    with pytest.raises(dp.InvalidParameter, match="a protected table"):
        hierarchy(not_protected, PATH, keys=FRAME)


def test_aggregates_have_names() -> None:
    groups = protected().hierarchy(PATH, keys=FRAME)
    with pytest.raises(dp.InvalidQuery, match="an aggregate"):
        groups.agg()
    with pytest.raises(dp.InvalidQuery, match="a name for each"):
        groups.agg(groups)


def test_limits_are_asked_for() -> None:
    with pytest.raises(dp.InvalidQuery, match="max_groups"):
        asked(protected(unit="person"))


def test_nothing_is_shown_before_a_release() -> None:
    with pytest.raises(dp.InvalidQuery, match="a release before rows"):
        getattr(asked(protected()), "to_pandas")()  # noqa: B009 (a type checker knows no such method)

"""Public keys: what they may be, their order, and which rows they take."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ibis import _
from pyarrow import dataset

import discreet as dp
from discreet.planning.group_keys import checked_keys
from discreet.planning.planner import price

DAY = datetime.date(2026, 1, 2)
TABLE = pa.table(
    {
        "plan": ["b", "a", None, "b", "z"],
        "year": [1, 2, 1, 1, 2],
        "on": [True, False, None, True, True],
        "day": [DAY, None, DAY, DAY, DAY],
        "x": [0.5, 1.5, 2.5, 3.5, 4.5],
    }
)


def people(**stated: Any) -> dp.PrivateTable:
    """Five rows, each a person."""
    return dp.protect(TABLE, unit=dp.ROW, bounds={"x": (0, 5)}, budget=dp.Budget(epsilon=1), **stated)


def counts(question: dp.Question) -> list[tuple[Any, ...]]:
    """Keys and exact counts, in the order of the answer."""
    priced = price(question._query, epsilon=1)
    keys = priced.query.keys
    assert keys is not None
    source: Any = question._source
    totals = source._engine.totals(priced)[0][:, 0]
    return [(*row, int(n)) for row, n in zip(keys.rows, totals, strict=True)]


def test_every_key_comes_out_in_the_stated_order_present_or_not() -> None:
    asked = people().group_by("plan", keys={"plan": ["b", "q", "a"]}).agg(n=_.count())
    assert counts(asked) == [("b", 2), ("q", 0), ("a", 1)]


def test_null_is_a_group_only_if_it_is_listed() -> None:
    assert counts(people().group_by("plan", keys={"plan": ["a", None]}).agg(n=_.count())) == [("a", 1), (None, 1)]


def test_several_columns_make_a_cross_product() -> None:
    asked = people(keys={"plan": ["a", "b"]}).group_by("plan", "year", keys={"year": [2, 1]}).agg(n=_.count())
    assert counts(asked) == [("a", 2, 1), ("a", 1, 0), ("b", 2, 0), ("b", 1, 2)]


def test_a_condition_has_two_groups_of_its_own() -> None:
    assert counts(people().group_by(big=_.x > 2).agg(n=_.count())) == [(False, 2), (True, 3)]
    assert counts(people().group_by("on").agg(n=_.count())) == [(False, 1), (True, 3)]


ROWS = {"plan": ["b", "a"], "year": [1, 2]}


@pytest.mark.parametrize(
    "keys", [pa.table(ROWS), pd.DataFrame(ROWS), pl.DataFrame(ROWS)], ids=["arrow", "pandas", "polars"]
)
def test_a_table_of_keys_gives_exactly_its_rows(keys: Any) -> None:
    assert counts(people().group_by("plan", "year", keys=dp.public_keys(keys)).agg(n=_.count())) == [
        ("b", 1, 2),
        ("a", 2, 1),
    ]


def test_dates_and_numpy_values_are_keys() -> None:
    assert counts(people().group_by("day", keys={"day": [DAY, None]}).agg(n=_.count())) == [(DAY, 4), (None, 1)]
    assert counts(people().group_by("year", keys={"year": np.array([1, 2])}).agg(n=_.count())) == [(1, 3), (2, 2)]


def test_times_are_keys_in_utc_to_the_microsecond() -> None:
    """Two ways to write one instant are one key: a unit must not count twice."""
    tokyo = datetime.timezone(datetime.timedelta(hours=9))
    noon = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
    assert checked_keys("at", [noon]) == (noon.replace(tzinfo=None),)
    assert checked_keys("at", [pd.Timestamp(noon), pd.NaT]) == (noon.replace(tzinfo=None), None)
    for again in (
        noon.astimezone(tokyo),
        noon.replace(tzinfo=None),
        pd.Timestamp(noon),
        np.datetime64("2026-01-02T12", "us"),
    ):
        with pytest.raises(dp.InvalidParameter, match="each key once"):
            checked_keys("at", [noon, again])
    with pytest.raises(dp.InvalidParameter, match="each key once"):
        checked_keys("at", [None, pd.NaT])
    with pytest.raises(dp.InvalidParameter, match="whole microseconds"):
        checked_keys("at", [pd.Timestamp("2026-01-02 12:00:00.000000001")])
    with pytest.raises(dp.InvalidParameter, match="UTC can hold"):
        checked_keys("at", [datetime.datetime(1, 1, 1, tzinfo=tokyo)])


def test_the_last_moments_are_keys_of_their_own() -> None:
    """As what has no end is often written: 9999-12-31 23:59:59. All that is later counts as the last microsecond."""
    late = datetime.datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 (naive means UTC here)
    midnight, last = late.replace(hour=0, minute=0, second=0), late.replace(microsecond=999_999)
    times = pa.chunked_array([pa.array([late, late, midnight], pa.timestamp("us")), pa.array([2**62], "timestamp[us]")])
    table = dp.protect(pa.table({"at": times}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    asked = table.group_by("at", keys={"at": [late, midnight, last]}).agg(n=_.count())
    assert counts(asked) == [(late, 2), (midnight, 1), (last, 1)]


class Plan(enum.StrEnum):
    """A name that is also a text."""

    FREE = "b"


def test_values_of_other_libraries_are_plain_keys() -> None:
    assert checked_keys("k", pa.array(["a", None])) == ("a", None)
    assert checked_keys("k", pl.Series([1, 2])) == (1, 2)
    assert checked_keys("k", [np.int64(3), np.int8(4)]) == (3, 4)
    assert checked_keys("k", [np.True_, np.False_]) == (True, False)
    assert checked_keys("k", [True, 1]) == (True, 1)
    assert type(checked_keys("k", [Plan.FREE])[0]) is str
    with pytest.raises(dp.InvalidParameter, match="each key once"):
        checked_keys("k", [Plan.FREE, "b"])
    for wrong in (np.array(5), np.array([[1, 2]]), [pd.NA], [b"a"], [1.0]):
        with pytest.raises(dp.InvalidParameter, match="Hint: "):
            checked_keys("k", wrong)


def test_what_pandas_calls_missing_is_null_in_a_table_of_keys() -> None:
    frame = pd.DataFrame({"plan": ["a", None]})
    assert counts(people().group_by("plan", keys=dp.public_keys(frame)).agg(n=_.count())) == [("a", 1), (None, 1)]
    twice = pd.DataFrame([["a", "b"]], columns=["plan", "plan"])
    with pytest.raises(dp.InvalidParameter, match="each key once"):
        people().group_by("plan", keys=dp.public_keys(twice))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"plan": pa.array([], pa.string())}), "at least one key"),
        (pa.table({"plan": ["a", "a"]}), "each key once"),
        (pa.table({"plan": ["a", "a"], "year": [1, 1]}), "each key once"),
        (pa.table({"x": [1.5]}), "compare exactly"),
        ({"plan": ["a"]}, "a file or a frame of keys"),
        (["a"], "a file or a frame of keys"),
    ],
    ids=str,
)
def test_public_keys_that_could_mislead_are_refused(table: Any, message: str) -> None:
    with pytest.raises(dp.InvalidParameter, match=message) as refusal:
        dp.public_keys(table)
    assert "\nHint: " in str(refusal.value)


def test_values_that_have_to_be_fetched_are_no_list(tmp_path: Path) -> None:
    """A file, a cursor, a lazy frame or a column of a connection: whatever would have to be opened or asked."""
    held = tmp_path / "plans.csv"
    held.write_text("b\na\n")
    connection = duckdb.sql("SELECT 'secret' AS plan")
    rows = {"plan": ["secret"]}
    stored = ibis.duckdb.connect().create_table("plans", schema=ibis.schema({"plan": "string"}))
    with held.open() as file:
        for fetched in (
            file, iter(["secret"]), (key for key in "ab"), connection, duckdb.execute("SELECT 'secret'"), stored.plan,
            stored, pl.LazyFrame(rows), pl.DataFrame(rows), pd.DataFrame(rows),
            pa.table(rows), dataset.dataset(pa.table(rows)), held, str(held), b"b",
        ):  # fmt: skip
            with pytest.raises(dp.InvalidParameter, match="a list of keys") as refusal:
                people().group_by("plan", keys={"plan": fetched})
            assert "secret" not in str(refusal.value)
        assert file.read() == "b\na\n"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"a", b"\xff"]).view(pa.string()),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([2**30], pa.date32()),
    ],
    ids=["text", "moments", "days"],
)
def test_keys_that_python_does_not_have_are_refused(column: pa.Array) -> None:
    with pytest.raises(dp.InvalidParameter, match="keys that can be read, got type of 'plan'="):
        dp.public_keys(pa.table({"plan": column}))


@pytest.mark.parametrize(
    ("column", "keys", "message"),
    [
        ("plan", {"plan": ["a", "a"]}, "each key once"),
        ("plan", {"plan": [None, None]}, "each key once"),
        ("plan", {"plan": []}, "at least one key"),
        ("plan", {"plan": "abc"}, "a list of keys"),
        ("plan", {"plan": {"a"}}, "a list of keys"),
        ("plan", {"plan": [1]}, "of kind text"),
        ("plan", {"plan": ["\ud800"]}, "UTF-8"),
        ("plan", {"plans": ["a"]}, "columns grouped by"),
        ("plan", ["a", "b"], "a dict of lists of keys, or public keys"),
        ("plan", dp.public_keys(pa.table({"other": ["a"]})), "public keys of the columns"),
        ("year", {"year": [1.0]}, "compare exactly"),
        ("year", {"year": [float("nan")]}, "compare exactly"),
        ("year", {"year": [True]}, "of kind integer"),
        ("year", {"year": [2**63]}, "of kind integer"),
        ("year", {"year": [1, np.int8(1)]}, "each key once"),
        ("on", {"on": [1]}, "of kind boolean"),
        ("day", {"day": ["2026-01-02"]}, "of kind date"),
        ("x", {"x": [1]}, "real numbers"),
        ("plan", None, "public keys of 'plan'"),
    ],
    ids=str,
)
def test_keys_that_could_mislead_are_refused(column: str, keys: Any, message: str) -> None:
    with pytest.raises((dp.InvalidQuery, dp.InvalidParameter), match=message) as refusal:
        people().group_by(column, keys=keys).agg(n=_.count())
    assert "\nHint: " in str(refusal.value)


def test_cross_products_have_a_limit_that_is_shown() -> None:
    with pytest.raises(dp.InvalidQuery, match=r"16,000,000 of a cross product"):
        people().group_by("year", "plan", keys={"year": range(4000), "plan": [str(i) for i in range(4000)]})


def test_a_rewritten_column_loses_its_declared_keys() -> None:
    declared = people(keys={"plan": ["a", "b"]})
    with pytest.raises(dp.InvalidQuery, match="public keys of 'plan'"):
        declared.mutate(plan=_.plan.upper()).group_by("plan")
    assert counts(declared.filter(_.x > 1).group_by("plan").agg(n=_.count())) == [("a", 1), ("b", 1)]


def test_a_unit_counts_only_in_listed_groups() -> None:
    """Rows with other keys are left out before the groups of a unit are counted."""
    rows = pa.table({"who": [1, 1, 1, 2], "plan": ["a", "z", None, "a"]})
    table = dp.protect(rows, unit="who", budget=dp.Budget(epsilon=1), max_rows=1, max_groups=1)
    question = table.group_by("plan", keys={"plan": ["a", "b"]}).agg(n=_.count())
    priced = price(question._query, epsilon=1)
    source: Any = question._source
    (totals,) = source._engine.totals(priced)
    assert totals[:, 0].tolist() == [2 * priced.blocks[0].steps, 0]

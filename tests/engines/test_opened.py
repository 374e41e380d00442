"""Engines that are not known are refused, old ones too, and new ones come with a warning."""

from __future__ import annotations

import warnings

import duckdb
import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.opened import SUPPORT, check, opened


def test_what_is_tried_here_is_what_runs_here() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check("duckdb", duckdb.__version__)


@pytest.mark.parametrize("name", SUPPORT)
def test_tried_versions_are_taken_without_a_word(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for major in SUPPORT[name].tried:
            check(name, f"{major}.0.1")


@pytest.mark.parametrize("name", SUPPORT)
def test_newer_versions_are_warned_of(name: str) -> None:
    newer = max(SUPPORT[name].tried) + 1
    with pytest.warns(UserWarning, match=f"{SUPPORT[name].title} {newer}.1 has not passed the conformance suite"):
        check(name, f"{newer}.1")


@pytest.mark.parametrize("name", SUPPORT)
@pytest.mark.parametrize("version", ["1.9", "0", "unknown"])
def test_older_and_unreadable_versions_are_refused(name: str, version: str) -> None:
    with pytest.raises(
        dp.InvalidParameter, match=f"Expected {SUPPORT[name].title} .* or later, got version='{version}'"
    ):
        check(name, version)


@pytest.mark.parametrize("name", ["sqlite", "polars", "mysql"])
def test_other_engines_are_refused(name: str) -> None:
    with pytest.raises(dp.InvalidParameter, match=f"got backend='{name}'.\nHint: use DuckDB"):
        check(name, "99")


def test_everything_but_tables_of_other_engines_is_duckdbs() -> None:
    data = pa.table({"x": [1]})
    assert isinstance(opened(data, None), DuckDB)
    assert isinstance(opened(ibis.duckdb.connect().create_table("t", data), None), DuckDB)


def test_tables_of_no_connection_are_refused() -> None:
    for table, said in (
        (ibis.table({"x": "int64"}, name="t"), "Expected a table of a connection"),
        (ibis.memtable(pa.table({"x": [1]})), "a memtable"),
    ):
        with pytest.raises(dp.InvalidParameter, match=said):
            opened(table, None)

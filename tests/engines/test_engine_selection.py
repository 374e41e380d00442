"""Engines that are not known are refused, old ones too, and new ones come with a warning."""

from __future__ import annotations

import re
import tomllib
import warnings
from pathlib import Path

import duckdb
import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine_selection import SUPPORT, check, opened


def test_what_is_tried_here_is_what_runs_here() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check("duckdb", duckdb.__version__)


@pytest.mark.parametrize("name", SUPPORT)
def test_tried_versions_are_taken_without_a_word(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tried in SUPPORT[name].tried:
            check(name, f"{tried}.1")


@pytest.mark.parametrize("name", SUPPORT)
def test_other_versions_are_warned_of(name: str) -> None:
    """The next one counts as another also where it is called a minor one, as engines may call it."""
    *major, last = SUPPORT[name].tried[-1].split(".")
    newer = ".".join([*major, str(int(last) + 1)])
    for version in (newer, f"{newer}.1", f"{int((major or [last])[0]) + 1}.1", f"{newer}0.dev1"):
        with pytest.warns(UserWarning, match=f"{SUPPORT[name].title} {version} has not passed the conformance suite"):
            check(name, version)


def locked(name: str, lock: str) -> str:
    """The first two parts of the version of a package that CI runs."""
    [version] = re.findall(rf"^{name}==(\d+\.\d+)", Path(__file__).parents[2].joinpath(lock).read_text(), re.MULTILINE)
    return str(version)


def test_what_ci_runs_is_what_counts_as_tried() -> None:
    """The lowest version that pyproject.toml allows is the one in the lock: CI runs all that is not warned of."""
    assert SUPPORT["duckdb"].tried == (locked("duckdb", "requirements.lock"),)
    assert SUPPORT["pyspark"].tried == (locked("pyspark", "requirements-engines.lock"),)
    stated = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())["project"]["dependencies"]
    [allowed] = [one for one in stated if one.startswith("duckdb")]
    assert allowed == f"duckdb>={SUPPORT['duckdb'].oldest},<{SUPPORT['duckdb'].oldest + 1}"
    assert SUPPORT["duckdb"].tried[0] == f"{SUPPORT['duckdb'].oldest}.0"


def test_files_and_frames_are_warned_of_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engines.engine_selection.version", lambda _: "2.1.0")
    with pytest.warns(UserWarning, match=r"DuckDB 2\.1\.0 has not passed"):
        opened(pa.table({"x": [1]}), None)


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
        (ibis.param("int64").as_table(), "a question with a parameter"),
    ):
        with pytest.raises(dp.InvalidParameter, match=said):
            opened(table, None)

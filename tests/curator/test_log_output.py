"""What somebody sees who configured nothing, and what `DISCREET_LOG` adds; never what a row made an engine say."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import hide_failure_details

PROGRAM = """
import logging, sys
import pyarrow as pa
import discreet as dp
from discreet.engines.engine import logger as curator
from discreet.ledger import file_locks, sqlite_store

file_locks.SLOW_SECONDS, sqlite_store.BUSY_SECONDS = 0.01, 0.1
rows = pa.table({"person": [1, 2]})
budget = dp.Budget(epsilon=1, ledger=sys.argv[1])
people = dp.protect(rows, unit="person", max_rows=1, name="people", budget=budget)
people.count().release(epsilon=0.1)
people.count().release(epsilon=0.1)
curator.error("the engine failed", exc_info=ValueError("row 7391846"))
held = file_locks.Descriptor(sys.argv[1])
with held.locked(alone=True, seconds=0):
    try:
        people.count().release(epsilon=0.2)
    except dp.LedgerError:
        pass
"""
ROWS = pa.table({"person": [1, 2]})
WAITS = "waiting up to 0.1 s for a ledger that another program holds"


def shown(folder: Path, **environment: str) -> list[str]:
    """The lines on standard error of a program that configures nothing."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder / "people.db")],
        env={name: value for name, value in os.environ.items() if name != "DISCREET_LOG"} | environment,
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert not done.stdout
    return done.stderr.splitlines()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere SQLite waits, and says nothing")
def test_warnings_are_seen_by_whoever_configures_nothing(tmp_path: Path) -> None:
    assert set(shown(tmp_path)) == {WAITS}


@pytest.mark.long
def test_a_variable_shows_the_rest_and_no_cause(tmp_path: Path) -> None:
    lines = shown(tmp_path, DISCREET_LOG="info")
    told = [line.split(" ", 2)[2] for line in lines if "INFO" in line]
    assert told == [
        "INFO discreet.release: charged epsilon=0.1: count (count) of people",
        "INFO discreet.release: answered: count (count) of people",
        "INFO discreet.release: answered from the record, at no charge: count (count) of people",
    ]
    assert any(WAITS in line for line in lines)
    assert "7391846" not in "".join(lines)
    assert not any("engine failed" in line for line in lines)


@pytest.mark.long
def test_a_level_above_leaves_lines_out(tmp_path: Path) -> None:
    assert shown(tmp_path, DISCREET_LOG="error") == []


@pytest.mark.long
def test_another_value_is_said_to_be_wrong(tmp_path: Path) -> None:
    lines = "\n".join(shown(tmp_path, DISCREET_LOG="loud"))
    assert "Expected one of debug, info, warning, error, got DISCREET_LOG='loud'.\nHint: nothing is shown" in lines
    assert "INFO" not in lines


class Full(io.StringIO):
    """A disk without space."""

    def write(self, _: str, /) -> int:
        raise OSError(28, "No space left on device")


class Broken(logging.Handler):
    """A handler of the program's own, which fails."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError(28, f"No space for {record.levelname}")


@pytest.fixture(params=[logging.StreamHandler(Full()), Broken()], ids=["full", "broken"])
def failing_log(request: pytest.FixtureRequest) -> Iterator[None]:
    """All that the library logs goes where nothing can be written."""
    own, handler = logging.getLogger("discreet"), request.param
    level = own.level
    own.addHandler(handler)
    own.setLevel(logging.DEBUG)
    yield
    own.removeHandler(handler)
    own.setLevel(level)


@pytest.mark.usefixtures("failing_log")
def test_a_log_that_fails_shows_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Python shows on standard error how a handler failed, with all that was being handled then."""

    def failing() -> None:
        raise ValueError("row 7391846")

    with pytest.raises(dp.EngineError) as failure:
        hide_failure_details(lambda: hide_failure_details(failing))
    assert "7391846" not in "".join(traceback.format_exception(failure.value)) + capsys.readouterr().err


@pytest.mark.usefixtures("failing_log")
def test_a_broken_log_costs_no_answer() -> None:
    table = dp.protect(ROWS, unit="person", max_rows=1, name="people", budget=dp.Budget(epsilon=3))
    first, second = (table.count().release(epsilon=1) for _ in range(2))
    assert first.to_pyarrow() == second.to_pyarrow()
    assert table.budget.spent.epsilon == 1

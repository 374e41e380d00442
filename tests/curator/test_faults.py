"""Faults at every line between a charge and its record: nothing of the rows is left in anybody's reach."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from depth import examples
from discreet.curator import transaction
from discreet.engines import connected_engine, engine, statement_cache
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import FAILED, hide_failure_details
from discreet.query.table import PrivateTable
from discreet.series import publish_steps
from reachable_objects import PACKAGE, reachable

Ask = Callable[[PrivateTable, Path], Any]
Hidden = Callable[..., PrivateTable]

LINES = examples(8)
"""How many lines of each kind of release fail, of several hundred; FUZZ=8000 takes all."""
SECONDS = 5 * max(1, LINES // 12)
"""And for how long, on a machine that is busy."""

OTHERS = "ledger"
"""Files with tests of their own for what an interrupt leaves locked."""
MOST_SOUGHT, LARGE = 50, 900
"""So many exact totals are looked for, from so much on; rows are such that none is a constant of the code."""


class Fault:
    """Follows a release between its charge and its record; raises `problem` at one of its lines."""

    def __init__(self, at: tuple[str, int] | None = None, problem: BaseException | None = None) -> None:
        self.at, self.problem = at, problem
        self.lines: dict[tuple[str, int], None] = {}
        self.fired = False
        self._inside = False
        self._begun: dict[FrameType, set[int]] = {}

    def __enter__(self) -> Self:
        sys.settrace(self._entered)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        self._begun.clear()

    def _entered(self, frame: FrameType, *_: object) -> Any:
        if frame.f_code in (transaction._drawn.__code__, publish_steps._drawn.__code__):
            self._inside = True
            frame.f_trace_lines = True
            return self._outermost
        path = frame.f_code.co_filename
        return self._line if self._inside and path.startswith(PACKAGE) and OTHERS not in path else None

    def _outermost(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "return":
            self._inside = False
        self._line(frame, event, argument)
        return self._outermost

    def _line(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and self._inside and not self._ends_with(frame):
            place = frame.f_code.co_filename, frame.f_lineno
            self.lines.setdefault(place)
            if place == self.at and self.problem is not None and not self.fired:
                self.fired, self._inside = True, False
                raise self.problem
        return self._line

    def _ends_with(self, frame: FrameType) -> bool:
        """Whether a `with` is to be left, or a `try` begins: there a tracer could raise, and nothing else can."""
        begun, line = self._begun.setdefault(frame, set()), text_of(frame.f_code, frame.f_lineno)
        again = line == "try:" or (frame.f_lineno in begun and line.startswith("with "))
        begun.add(frame.f_lineno)
        return again


@cache
def lines_of(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


def text_of(code: CodeType, line: int) -> str:
    """What stands in a line."""
    return lines_of(code.co_filename)[line - 1].strip()


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The exact numbers that engines found, once something was asked."""
    found: set[int] = set()

    def noted(name: str) -> None:
        run = getattr(DuckDB, name)

        def noting(self: DuckDB, *given: Any) -> pa.Table:
            table = run(self, *given)
            found.update(number for column in table.columns for number in numbers(column) if abs(number) >= LARGE)
            return table

        monkeypatch.setattr(DuckDB, name, noting)

    for name in ("_run_plan", "_run_statement"):
        noted(name)
    blocks_of = engine.blocks_of

    def noting(plan: Any, answer: pa.Table) -> Any:
        blocks = blocks_of(plan, answer)
        found.update(number for block in blocks for number in numbers(block) if abs(number) >= LARGE)
        return blocks

    monkeypatch.setattr(connected_engine, "blocks_of", noting)
    return found


def numbers(held: Any) -> Iterator[int]:
    """The whole numbers of a column, an array, or a number itself."""
    if isinstance(held, pa.ChunkedArray | pa.Array):
        held = held.to_pylist()
    if isinstance(held, np.ndarray):
        held = held.ravel().tolist()
    for one in held if isinstance(held, list) else [held]:
        if isinstance(one, int | Decimal | float) and not isinstance(one, bool) and one == one // 1:
            yield int(one)


WHOLE = re.compile(r"(?<![0-9a-zA-Z])[0-9]{1,30}(?![0-9a-zA-Z])")
"""A number in a text: digits within the hash of a key are none."""


def shown(problem: BaseException, exact: set[int]) -> set[int]:
    """The exact numbers among all that can be reached; of thousands, the largest: others come about by themselves."""
    found, exact = set(), set(sorted(exact)[-MOST_SOUGHT:])
    for one in reachable(problem):
        columns = one.columns if isinstance(one, pa.Table | pa.RecordBatch) else [one]
        found |= {number for column in columns for number in numbers(column)} & exact
        # A ledger in memory is named by its number, of which a long run has many.
        if isinstance(one, str | bytes) and not str(one).startswith("memory "):
            found |= {int(one) for one in WHOLE.findall(one if isinstance(one, str) else repr(one))} & exact
    return found


def _is_free(lock: Any) -> bool:
    return lock.acquire(blocking=False) and not lock.release()


def check_free(table: PrivateTable, at: tuple[str, int]) -> None:
    source: Any = table._source
    connection = source._engine._lock
    assert not connection._asked.locked()
    with ThreadPoolExecutor(1) as pool:  # locks that this thread could take again are asked for by another one
        for lock in (connection._lock, statement_cache._fusing, statement_cache._remembering):
            assert pool.submit(_is_free, lock).result(), at
    assert not transaction._turns


@pytest.mark.long
def test_nothing_is_left_of_a_release_that_fails(ask: Ask, hidden: Hidden, exact: set[int], tmp_path: Path) -> None:
    """At one line after another: one message, no exact total in reach, one charge, no lock, and no file."""
    for number in range(2):  # the first fills what is remembered, so that the second runs the lines of all later ones
        table = hidden()
        with Fault() as watched:
            ask(table, folder(tmp_path, number))
    price, entries = table.budget.spent, len(table.budget.entries())
    assert len(watched.lines) > 100
    assert exact
    lines = list(watched.lines)
    chosen = lines if len(lines) <= LINES else random.Random().sample(lines, LINES)  # noqa: S311 - which lines fail is no secret
    fired, stop = 0, time.monotonic() + SECONDS
    for number, at in enumerate(chosen, 2):
        if fired and time.monotonic() > stop:
            break
        table, place = hidden(), folder(tmp_path, number)
        given = (MemoryError("12345"), KeyboardInterrupt(), ValueError(str(max(exact))))[number % 3]
        with Fault(at, given) as fault:
            try:
                ask(table, place)
            except BaseException as problem:  # noqa: BLE001 (all kinds are the test)
                caught = problem
            else:
                continue  # a line that is not reached twice, or whose failure has a way around
        assert fault.fired, caught
        fired += 1
        if isinstance(given, KeyboardInterrupt):
            assert caught is given
        else:
            assert (type(caught), str(caught)) == (dp.EngineError, FAILED), at
        assert caught.__cause__ is caught.__context__ is None
        assert shown(caught, exact) == set(), (at, given)
        booked = len(table.budget.entries())
        assert 1 <= booked <= entries
        assert booked < entries or table.budget.spent == price, at
        check_free(table, at)
        # What is on record goes on under its own name when it is asked for again.
        assert list(place.iterdir()) == [] or table.budget.entries()[-1].answered, at
        del caught
    assert fired


def folder(path: Path, number: int) -> Path:
    made = path / str(number)
    made.mkdir()
    return made


def test_the_search_finds_what_a_plain_exception_shows(
    plain: Ask, hidden: Hidden, exact: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the handler, in all of the ways in which it could leak."""
    monkeypatch.setattr(transaction, "hide_failure_details", lambda look: look())
    table = hidden()

    def failing(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("discreet.mechanisms.laplace.Laplace.add_noise", failing)
    with pytest.raises(ValueError, match=r"^$") as failure:
        plain(table, Path())
    assert shown(failure.value, exact)


def test_the_log_has_the_cause_and_no_totals(
    plain: Ask, hidden: Hidden, exact: set[int], caplog: pytest.LogCaptureFixture
) -> None:
    """A hook of the log may print the locals of frames as well."""

    def failing(*_: object) -> None:
        raise ValueError("the cause")

    table = hidden()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("discreet.mechanisms.laplace.Laplace.add_noise", failing)
        with caplog.at_level("DEBUG"), pytest.raises(dp.EngineError):
            plain(table, Path())
    [record] = [one for one in caplog.records if one.exc_info]
    assert (record.name, record.getMessage()) == ("discreet.curator", "the engine failed")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)
    assert exact
    assert shown(record.exc_info[1], exact) == set()


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(3), MemoryError(), ValueError("12345")], ids=repr)
def test_an_interrupt_while_a_failure_is_concealed_shows_nothing(
    problem: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler stands twice, since its own lines can be interrupted."""
    given = (12345, problem)

    def failing() -> None:
        total = 98765
        raise RuntimeError(total)

    def interrupted(one: BaseException, *, charged: bool) -> BaseException:
        monkeypatch.setattr(engine, "_without_frames", left)
        raise given[1]

    left = engine._without_frames
    monkeypatch.setattr(engine, "_without_frames", interrupted)
    with pytest.raises(BaseException) as failure:  # noqa: PT011 (all kinds are the test)
        hide_failure_details(lambda: hide_failure_details(failing))
    assert shown(failure.value, {98765}) == set()
    assert failure.value is problem if not isinstance(problem, Exception) else str(failure.value) == FAILED

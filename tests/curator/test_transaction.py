"""One release of a question at a time, paid once; and connections that are asked for life before the charge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator import transaction
from discreet.curator.transaction import once
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import FAILED, UNCHARGED
from discreet.errors import LedgerError
from discreet.ledger.budget import Budget
from discreet.query.table import PrivateTable
from nested_calls import nested_calls_left

Ask = Callable[[PrivateTable, Path], Any]
Hidden = Callable[..., PrivateTable]
ROWS = pa.table({"person": range(40), "age": range(40)})

# -- the same at once --------------------------------------------------------------------------------------------


def at_once(number: int, ask: Callable[[], Any]) -> list[Any]:
    """What so many threads get, answers or exceptions."""
    barrier, found = threading.Barrier(number), list[Any]()

    def one() -> None:
        barrier.wait()
        try:
            found.append(ask())
        except BaseException as problem:  # noqa: BLE001 (told to the test)
            found.append(problem)

    threads = [threading.Thread(target=one) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.long
def test_one_question_from_many_threads_is_drawn_once(ask: Ask, hidden: Hidden, tmp_path: Path) -> None:
    """Of whatever kind: one charge, or those of its rounds, and the same answer for all."""
    alone, table = hidden(), hidden()
    ask(alone, tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    found = at_once(8, lambda: ask(table, place))
    assert [type(one).__name__ for one in found if isinstance(one, BaseException)] == []
    assert table.budget.spent == alone.budget.spent
    assert len(table.budget.entries()) == len(alone.budget.entries())
    assert len({str(one.receipt) for one in found}) == 1
    assert not transaction._turns


def test_budgets_of_one_ledger_draw_once(hidden: Hidden, tmp_path: Path) -> None:
    """Two budgets, one file, one process: still one draw."""
    tables = [hidden(epsilon=9, ledger=tmp_path / "spent.db") for _ in range(2)]
    turns = iter([*tables] * 3)
    found = at_once(6, lambda: next(turns).count().release(epsilon=0.5))
    assert len({one["count"][0] for one in found}) == 1
    assert tables[0].budget.spent.epsilon == Fraction(1, 2)


def test_fresh_noise_is_drawn_by_each(hidden: Hidden) -> None:
    table = hidden()
    at_once(4, lambda: table.count().release(epsilon=0.25, fresh=True))
    assert table.budget.spent.epsilon == 1


class Turns(dict[Any, Any]):
    """The turns of questions, and how often one was asked for."""

    asked = 0

    def setdefault(self, *given: Any) -> Any:
        self.asked += 1
        return super().setdefault(*given)


def slow(monkeypatch: pytest.MonkeyPatch, problem: BaseException | None, askers: int = 0) -> None:
    """Every look takes a while, until so many have asked, and the first one ends with a problem."""
    run, left, turns = DuckDB._run_plan, [problem], Turns()
    monkeypatch.setattr(transaction, "_turns", turns)

    def looking(self: DuckDB, *given: Any) -> pa.Table:
        patience = time.monotonic() + 60
        while turns.asked < askers and time.monotonic() < patience:
            time.sleep(0.01)
        time.sleep(0.3)
        found = left.pop() if left else None
        if found is not None:
            raise found
        return run(self, *given)

    monkeypatch.setattr(DuckDB, "_run_plan", looking)


@pytest.mark.long
@pytest.mark.parametrize("problem", [RuntimeError("person 7"), KeyboardInterrupt()], ids=repr)
def test_who_waited_for_a_failure_is_told_and_pays_nothing(
    problem: BaseException, hidden: Hidden, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = hidden()
    slow(monkeypatch, problem, askers=6)
    found = at_once(6, lambda: table.count().release(epsilon=0.5))
    told = [one for one in found if isinstance(one, dp.EngineError)]
    assert {str(one) for one in told} == {FAILED}
    assert len(told) == (5 if isinstance(problem, KeyboardInterrupt) else 6)
    assert table.budget.spent.epsilon == Fraction(1, 2)
    assert not transaction._turns
    table.count().release(epsilon=0.5)  # who asks again, and knows, pays again
    assert table.budget.spent.epsilon == 1


@pytest.mark.parametrize("ask", ["plain", "k-means"], indirect=True)
def test_a_ledger_that_fails_after_the_charge_says_that_it_stays(
    ask: Ask, hidden: Hidden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full, say: its own words are of what it was asked last, which is to keep the answer."""
    table, words = hidden(), "Expected room for the ledger, got none.\nHint: make room."

    def full(*_: object) -> None:
        raise LedgerError(words)

    monkeypatch.setattr(Budget, "_commit", full)
    with pytest.raises(LedgerError) as told:
        ask(table, tmp_path)
    assert str(told.value) == f"{words} The charge stays spent."
    assert table.budget.spent.epsilon > 0


def test_who_waited_for_a_refusal_asks_for_itself(hidden: Hidden) -> None:
    """The refused one has charged nothing, so the next one is not held to it."""
    table, begun, refused = hidden(), threading.Event(), threading.Event()
    drawn: list[str] = []

    def first(_: object) -> str:
        begun.set()
        time.sleep(0.3)
        refused.set()
        raise dp.BudgetExceeded("no")

    def second(_: object) -> str:
        assert refused.is_set()
        drawn.append("an answer")
        return "an answer"

    def stored() -> str | None:
        return drawn[0] if drawn else None

    def leading() -> None:
        with pytest.raises(dp.BudgetExceeded):
            once(table.budget, "a", stored=stored, draw=first, fresh=False)

    leader = threading.Thread(target=leading)
    leader.start()
    begun.wait()
    found = at_once(5, lambda: once(table.budget, "a", stored=stored, draw=second, fresh=False))
    leader.join()
    assert found == ["an answer"] * 5
    assert drawn == ["an answer"]


def test_a_question_inside_of_itself_does_not_wait_for_itself(hidden: Hidden) -> None:
    """As a signal handler can ask it."""
    table = hidden()

    def again(_: object) -> list[str]:
        return ["outside", *once(table.budget, "a", stored=lambda: None, draw=lambda _: ["inside"], fresh=False)]

    assert once(table.budget, "a", stored=lambda: None, draw=again, fresh=False) == ["outside", "inside"]
    assert not transaction._turns


INTERRUPTED = """
import threading, time
import pyarrow as pa, discreet as dp
from discreet.engines.duckdb import DuckDB
table = dp.protect(pa.table({"a": [1, 2]}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
looking, begun = DuckDB._run_plan, threading.Event()
def slow(self, *given):
    begun.set()
    time.sleep(1)
    return looking(self, *given)
DuckDB._run_plan = slow
leader = threading.Thread(target=lambda: table.count().release(epsilon=0.5))
leader.start()
begun.wait()
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    table.count().release(epsilon=0.5)
except KeyboardInterrupt:
    print("interrupted", leader.is_alive())
leader.join()
if os.fork() == 0:
    mine = dp.protect(pa.table({"a": [1, 2]}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    mine.count().release(epsilon=0.5)
    print("the child", mine.budget.spent.epsilon, flush=True)
    os._exit(0)
os.wait()
table.count().release(epsilon=0.5)
print(table.budget.spent.epsilon)
"""


@pytest.mark.long
def test_who_waits_can_be_interrupted_and_leaves_no_lock(run: Callable[..., str]) -> None:
    assert run(INTERRUPTED).splitlines() == ["interrupted True", "the child 1/2", "1/2"]


# -- connections -------------------------------------------------------------------------------------------------


def test_a_dead_connection_costs_nothing() -> None:
    """The cause of two charges for nothing: it is asked first, and no table of it."""
    connection = ibis.duckdb.connect()
    table = dp.protect(
        connection.create_table("t", ROWS.slice(0, 4)), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="t"
    )
    table.count().release(epsilon=0.25)
    connection.disconnect()
    for _ in range(2):
        with pytest.raises(dp.EngineError) as failure:
            table.count().release(epsilon=0.5)
        assert str(failure.value) == UNCHARGED
    assert table.budget.spent.epsilon == Fraction(1, 4)
    table.count().release(epsilon=0.25)  # what is stored needs no connection


def test_a_release_without_room_for_its_calls_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was charged, and failed, where few nested calls were left; here a look makes 150."""
    run: Any = DuckDB._run_plan

    def nested(self: DuckDB, given: tuple[Any, ...], calls: int = 150) -> Any:
        return nested(self, given, calls - 1) if calls else run(self, *given)

    monkeypatch.setattr(DuckDB, "_run_plan", lambda self, *given: nested(self, given))
    released = 0
    for room in range(30, 600, 30):
        table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(epsilon=1), name=f"t{room}")
        try:
            with nested_calls_left(room):
                table.count().release(epsilon=0.5)
        except Exception:  # noqa: BLE001 (before the charge, Ibis may fail in any way)
            assert not table.budget.spent.epsilon, room
        else:
            released += 1
    assert 0 < released < 19


def test_either_of_two_dead_connections_costs_nothing() -> None:
    first, second = ibis.duckdb.connect(), ibis.duckdb.connect()
    budget = dp.Budget(epsilon=1)
    tables = [
        dp.protect(one.create_table("t", ROWS), unit="person", budget=budget, name=name, max_rows=1)
        for one, name in ((first, "a"), (second, "b"))
    ]
    question = tables[0].union(tables[1]).count()
    second.disconnect()
    with pytest.raises(dp.EngineError) as failure:
        question.release(epsilon=0.5)
    assert str(failure.value) == UNCHARGED
    assert budget.spent.epsilon == 0

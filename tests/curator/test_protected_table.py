"""Price, reserve, look, blur, commit, release: in this order, whatever fails, and from whatever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.answers.stored_answers import unpacked
from discreet.curator.protected_table import Protected
from discreet.curator.serialization import packed
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import FAILED, UNCHARGED
from discreet.noise.entropy import RandomWords
from discreet.planning.plan import Plan
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import not_private, people, splitmix

ROWS = pa.table({"person": [1, 2, 3, 4], "plan": ["a", "b", "a", None], "age": [30, 40, 50, 60]})


class Watched(DuckDB):
    """An engine that notes what was spent when it was asked, and may fail."""

    def __init__(self, budget: dp.Budget, failure: BaseException | None = None) -> None:
        super().__init__(ROWS, None)
        self.budget = budget
        self.failure = failure
        self.spent: list[Fraction] = []

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        self.spent.append(self.budget.spent.epsilon)
        if self.failure is not None:
            raise self.failure
        return super().totals(plan, statement)


def watched(
    epsilon: float = 1, *, failure: BaseException | None = None, words: Callable[[], RandomWords] | None = None
) -> tuple[PrivateTable, Watched]:
    """A protected table with an engine that is watched."""
    plain = dp.protect(
        ROWS,
        unit="person",
        bounds={"age": (0, 100)},
        max_rows=1,
        max_groups=1,
        budget=dp.Budget(epsilon=epsilon),
        name="w",
    )
    engine = Watched(plain.budget, failure)
    source: Any = plain._source
    more: dict[str, Any] = {} if words is None else {"words": words}
    return PrivateTable.of(Protected(engine, source.declaration, plain.budget, **more)), engine


def test_the_charge_comes_before_the_engine() -> None:
    table, engine = watched()
    table.count().release(epsilon=0.25)
    assert engine.spent == [Fraction(1, 4)]


def test_what_does_not_fit_is_never_looked_at() -> None:
    table, engine = watched(epsilon=0.5)
    with pytest.raises(dp.BudgetExceeded):
        table.count().release(epsilon=0.6)
    assert engine.spent == []
    assert table.budget.spent.epsilon == 0


@pytest.mark.parametrize("failure", [dp.EngineError("failed"), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_a_failed_look_stays_paid(failure: BaseException) -> None:
    table, engine = watched(failure=failure)
    with pytest.raises(KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else dp.EngineError):
        table.count().release(epsilon=0.25)
    assert table.budget.spent.epsilon == Fraction(1, 4)
    engine.failure = None
    table.count().release(epsilon=0.25)  # nothing was stored, so it is looked at, and paid, again
    assert engine.spent == [Fraction(1, 4), Fraction(1, 2)]


def test_what_fails_after_the_charge_says_that_it_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys of a file are asked about before the charge, and again for the statement that rests on a first look."""
    table, engine = watched()
    pq.write_table(pa.table({"plan": ["a", "b"]}), tmp_path / "keys.parquet")
    question = table.group_by("plan", keys=dp.public_keys(tmp_path / "keys.parquet"), max_groups="auto").agg(
        n=lambda t: t.count()
    )

    def statement(plan: Plan) -> str:
        if engine.budget.spent.epsilon:
            raise dp.EngineError(UNCHARGED)
        return DuckDB.statement(engine, plan)

    monkeypatch.setattr(engine, "statement", statement)
    with pytest.raises(dp.EngineError) as failure:
        question.release(epsilon=0.25)
    assert str(failure.value) == FAILED
    assert table.budget.spent.epsilon == Fraction(1, 4)


def test_failed_entropy_gives_no_answer_and_stays_paid() -> None:
    def words() -> RandomWords:
        raise dp.DiscreetError("no random bytes")

    table, _ = watched(words=words)
    with pytest.raises(dp.EngineError) as failure:
        table.count().release(epsilon=0.25)
    assert str(failure.value) == FAILED
    assert table.budget.spent.epsilon == Fraction(1, 4)
    assert not table.budget.entries()[0].answered


def test_a_repeat_is_free_and_the_same_to_the_byte() -> None:
    table, engine = watched()
    first, second = (table.agg(n=table.age.count(), m=table.age.mean()).release(epsilon=0.25) for _ in range(2))
    assert len(engine.spent) == 1
    assert table.budget.spent.epsilon == Fraction(1, 4)
    assert first.receipt == second.receipt
    assert first.to_pyarrow().equals(second.to_pyarrow())
    assert repr(first) == repr(second)


def test_fresh_noise_is_drawn_and_paid_for() -> None:
    table, engine = watched(epsilon=100)
    first = table.agg(m=table.age.sum()).release(epsilon=0.001)
    second = table.agg(m=table.age.sum()).release(epsilon=0.001, fresh=True)
    third = table.agg(m=table.age.sum()).release(epsilon=0.001)
    assert len(engine.spent) == 2
    assert table.budget.spent.epsilon == Fraction(2, 1000)
    assert not first.to_pyarrow().equals(second.to_pyarrow())
    assert second.to_pyarrow().equals(third.to_pyarrow())  # the latest answer is the one that is kept


OTHERS: dict[str, Callable[[PrivateTable], dp.Release]] = {
    "another epsilon": lambda t: t.count().release(epsilon=0.26),
    "another statistic": lambda t: t.nunique().release(epsilon=0.25),
    "another name": lambda t: t.agg(rows=lambda s: s.count()).release(epsilon=0.25),
    "a condition": lambda t: t.filter(t.age > 0).count().release(epsilon=0.25),
    "groups": lambda t: t.group_by("plan", keys={"plan": ["a"]}).agg(count=lambda s: s.count()).release(epsilon=0.25),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_question_is_another_release(other: Callable[[PrivateTable], dp.Release]) -> None:
    table, engine = watched()
    table.count().release(epsilon=0.25)
    other(table)
    assert len(engine.spent) == 2


def test_another_confidence_is_the_same_release() -> None:
    table, engine = watched()
    wide, narrow = (table.count().release(epsilon=0.25, confidence=level) for level in (0.999, 0.5))
    assert len(engine.spent) == 1
    assert wide["count"] == narrow["count"]
    assert wide.to_pyarrow()["count_low"][0].as_py() < narrow.to_pyarrow()["count_low"][0].as_py()


def test_many_threads_spend_no_more_than_there_is() -> None:
    """Twelve threads at once, each with questions of its own, over what pays for ten."""
    table, engine = watched(epsilon=1)
    barrier, outcomes = threading.Barrier(12), list[str]()

    def ask(i: int) -> None:
        barrier.wait()
        try:
            table.filter(table.age > i).count().release(epsilon=0.1)
            outcomes.append("answered")
        except dp.BudgetExceeded:
            outcomes.append("refused")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["answered"] * 10 + ["refused"] * 2
    assert table.budget.spent.epsilon == 1
    assert len(engine.spent) == 10


def test_answers_outlive_the_process_in_a_ledger(tmp_path: Path) -> None:
    def ask() -> tuple[dp.Release, Fraction]:
        budget = dp.Budget(epsilon=1, ledger=tmp_path / "spent.db")
        table = dp.protect(ROWS, unit="person", max_rows=1, budget=budget, name="people")
        return table.count().release(epsilon=0.25), budget.spent.epsilon

    (first, spent), (second, again) = ask(), ask()
    assert spent == again == Fraction(1, 4)
    assert first.receipt == second.receipt
    assert first.to_pyarrow().equals(second.to_pyarrow())


def test_a_new_version_is_a_new_source(tmp_path: Path) -> None:
    budget = dp.Budget(epsilon=1)
    for version in ("2026-01", "2026-02"):
        dp.protect(ROWS, unit=dp.ROW, budget=budget, name="people", version=version).count().release(epsilon=0.25)
    assert budget.spent.epsilon == Fraction(1, 2)


def test_every_release_has_noise_of_its_own() -> None:
    """Rows, groups, columns, questions: no two of 200 means share their noise."""
    table = dp.protect(ROWS, unit=dp.ROW, bounds={"age": (0, 100)}, budget=dp.Budget(epsilon=100))
    keys = {"plan": [f"absent {i}" for i in range(100)]}
    asked = table.group_by("plan", keys=keys).agg(a=table.age.mean(), b=(table.age / 2).mean())
    first, second = (asked.release(epsilon=1, fresh=True) for _ in range(2))
    noise = [int(total) for release in (first, second) for block in release._totals for total in block.ravel()]
    assert len(set(noise)) == len(noise) == 800


def test_noise_that_can_be_foreseen_is_never_called_private() -> None:
    table, _ = watched(words=lambda: splitmix(1))
    answer = table.count().release(epsilon=0.25)
    assert answer.receipt["private"] is False
    assert "NOT PRIVATE" in repr(answer)
    assert "NOT PRIVATE" in answer._repr_html_()
    assert not_private(people()).count().release(epsilon=1).receipt["private"] is False


def test_noise_from_the_system_is() -> None:
    table, _ = watched()
    answer = table.count().release(epsilon=0.25)
    assert answer.receipt["private"] is True
    assert "PRIVATE" not in repr(answer)


def test_nothing_about_rows_is_shown_before_a_release() -> None:
    table, engine = watched()
    question: Question = table.filter(table.age > 40).count()
    for shown in (repr(table), repr(question), repr(question.explain(epsilon=1)), repr(table._source)):
        assert "4711" not in shown
    assert engine.spent == []


@pytest.mark.long
def test_a_forked_child_spends_nothing(run: Callable[..., str]) -> None:
    told = run(
        """
import pyarrow as pa, discreet as dp
table = dp.protect(pa.table({"a": [1, 2]}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
table.count().release(epsilon=0.5)
if os.fork() == 0:
    try:
        table.count().release(epsilon=0.5)
        print("answered")
    except LedgerError as refusal:
        print("refused:", str(refusal).splitlines()[0])
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(table.budget.spent.epsilon)
"""
    )
    assert told.splitlines()[0].startswith("refused: Expected the process that made this budget")
    assert told.splitlines()[1] == "1/2"


def test_answers_of_any_size_survive_the_store() -> None:
    totals: list[NDArray[Any]] = [np.array([[1, -(2**80)], [2**62, 0]], dtype=object), np.array([[5]])]
    found, account = unpacked(packed(totals, {"private": True}))
    assert [block.tolist() for block in found] == [block.tolist() for block in totals]
    assert account == {"private": True}


def test_a_table_is_charged_to_a_level_of_its_budget() -> None:
    """The same rows, filtered as they were; a budget that is not in that of the table is refused."""
    table = people()
    adults = table.filter(_.age >= 18)
    alice = dp.Budget(parent=table.budget, epsilon=0.3, name="alice")
    mine = adults.with_budget(alice)
    assert mine.budget is alice
    first = mine.count().release(epsilon=0.2)
    assert (alice.spent.epsilon, table.budget.spent.epsilon) == (Fraction(1, 5), Fraction(1, 5))
    assert adults.count().release(epsilon=0.2).to_pyarrow() == first.to_pyarrow()
    assert table.budget.spent.epsilon == Fraction(1, 5)
    with pytest.raises(dp.BudgetExceeded, match="level 'alice'"):
        mine.count().release(epsilon=0.15)
    [entry] = table.budget.entries()
    assert (entry.level, entry.asked_by) == ("alice", "alice")
    for other in (dp.Budget(epsilon=1), dp.Budget(parent=people().budget, epsilon=1, name="alice"), "alice"):
        with pytest.raises(dp.InvalidQuery, match="a level in the budget"):
            adults.with_budget(other)  # type: ignore[arg-type]  # the last one is the case
    with pytest.raises(dp.InvalidQuery, match="a level in the budget"):
        mine.with_budget(table.budget)


def test_levels_that_do_not_share_answers_draw_their_own() -> None:
    table = people()
    names = ("alice", "bob")
    levels = [dp.Budget(parent=table.budget, epsilon=1, name=name).for_asker(name, shared=False) for name in names]
    for level in levels:
        for _turn in range(2):
            table.with_budget(level).count().release(epsilon=0.2)
    assert [entry.level for entry in table.budget.entries()] == list(names)

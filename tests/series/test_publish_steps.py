"""The transaction of a series: one charge, first; each step drawn once, in whatever process; refusals before all."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.curator.transaction import charge_to
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, InvalidQuery, LedgerError
from discreet.ledger.budget import Budget
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.entropy import RandomWords
from discreet.privacy.definitions import Guarantee
from discreet.series import publish_steps
from discreet.series.series_record import Point, key_of, points_of
from ledger_fixtures import folder
from series_fixtures import asked, day, protected, until

__all__ = ("folder",)

KEY = key_of("hospital", "series")


def values(answer: Any) -> list[Any]:
    found: list[Any] = answer.to_pyarrow().to_pylist()
    return found


def test_one_charge_for_the_whole_series() -> None:
    table = protected()
    question = asked(table)
    first = question.release(through="2026-01-03", rho=1)
    assert table.budget.spent.rho == 1
    later = question.release(through="2026-01-12", rho=1)
    again = question.release(through="2026-01-03")
    whole = question.release(through="2026-01-20")
    assert table.budget.spent.rho == 1
    assert [entry.answered for entry in table.budget.entries()] == [True]
    assert values(first) == values(again) == values(later)[: len(first)]
    assert values(later) == values(whole)[: len(later)]
    assert [point.end for point in points_of(table.budget.points(KEY))] == [3, 12, 20]


def test_the_charge_comes_before_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table = protected(budget=dp.Budget(rho=1))
    with pytest.raises(BudgetExceeded):
        asked(table).release(through="2026-01-03", rho=2)
    assert not table.budget.spent.rho
    assert table.budget.stored(KEY) is None
    seen: list[Any] = []

    def totals(*_: Any) -> Any:
        seen.append(table.budget.spent.rho)
        return 1 / 0

    with monkeypatch.context() as patch:
        patch.setattr(DuckDB, "totals", totals)
        with pytest.raises(EngineError, match="the charge stays spent") as failed:
            asked(table).release(through="2026-01-03", rho=1)
    assert seen == [1]
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert table.budget.points(KEY) == ()
    assert len(asked(table).release(through="2026-01-03", rho=1)) == 2 * (3 + 3)
    assert table.budget.spent.rho == 1


def test_only_what_is_on_record_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is faster: their draw of the same steps is what everybody sees, and the rest is drawn behind it."""
    table = protected()
    question = asked(table)
    question.release(through="2026-01-02", rho=1)
    plain, others = Budget.published, list[bytes]()

    def published(self: Budget, key: str, place: int, answer: bytes) -> bytes:
        if not others:
            mine = Point.of(answer)
            theirs = [block[:1] * 0 + 2**70 for block in mine.noisy]
            others.append(Point(mine.first, mine.version, private=True, noisy=theirs).to_bytes())
            plain(self, key, place, others[0])
        return plain(self, key, place, answer)

    monkeypatch.setattr(Budget, "published", published)
    answer = question.release(through="2026-01-05")
    points = points_of(table.budget.points(KEY))
    assert [point.end for point in points] == [2, 3, 5]
    assert points[1].noisy[0].tolist() == [[2**70] * 2]
    frame = answer.to_pandas()
    assert frame[(frame.step == day(2)) & (frame.window == 1)].n.min() > 2**40


def test_each_block_has_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    plain = Gaussian.add_noise

    def add_noise(self: Gaussian, totals: Any, words: RandomWords) -> Any:
        seen.append((self, len(totals)))
        return plain(self, totals, words)

    monkeypatch.setattr(Gaussian, "add_noise", add_noise)
    series = protected().series(by="day", start="2026-01-01", until="2026-01-20", max_steps=4)
    question = series.group_by("ward").agg(n=lambda t: t.count(), persons=lambda t: t.person.nunique())
    question.release(through="2026-01-03", rho=1)
    plan = question._plan({"epsilon": None, "delta": 0, "rho": 1})
    assert seen == [(noise, 3) for noise in plan.noises]
    assert len(set(plan.noises)) == 2


def test_noise_is_fresh_for_each_step() -> None:
    """No two of 40 noisy numbers are alike."""
    table = protected(budget=dp.Budget(rho=10))
    asked(table).release(through="2026-01-20", rho=1)
    [point] = points_of(table.budget.points(KEY))
    assert len(set(point.noisy[0].reshape(-1).tolist())) == point.noisy[0].size


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"every": "2 days"}, "every"),
        ({"start": "2026-01-02"}, "start"),
        ({"until": "2026-01-19"}, "steps"),
        ({"windows": (1, 7)}, "windows"),
        ({"max_steps": 5}, "max_steps"),
    ],
)
def test_another_series_under_its_name_is_refused(
    change: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = protected()
    asked(table).release(through="2026-01-04", rho=1)
    monkeypatch.setattr(DuckDB, "totals", lambda *_: 1 / 0)
    with pytest.raises(InvalidQuery, match=f"the {told} that the series was opened with"):
        asked(table, **change).release(through="2026-01-10", rho=1)
    assert table.budget.spent.rho == 1
    assert len(table.budget.entries()) == 1


def test_other_prices_questions_and_declarations_are_refused() -> None:
    table = protected()
    question = asked(table)
    question.release(through="2026-01-04", rho=1)
    with pytest.raises(InvalidQuery, match="the price"):
        question.release(through="2026-01-05", rho=2)
    with pytest.raises(InvalidQuery, match="the price"):
        question.release(through="2026-01-05", epsilon=1, delta=1e-6)
    with pytest.raises(InvalidParameter, match="beside a delta"):
        question.release(through="2026-01-05", delta=1e-6)
    with pytest.raises(InvalidQuery, match=r"the question|the keys"):
        asked(table.filter(lambda t: t.nights > 1)).release(through="2026-01-05", rho=1)
    wider = table.refreshed(until(20), version=2, max_rows=3)
    with pytest.raises(InvalidQuery, match="the limits"):
        asked(wider).release(through="2026-01-05", rho=1)
    beside = asked(table, name="beside", every="2 days").release(through="2026-01-04", rho=1)
    assert len(beside) == 2 * (2 + 2)
    assert table.budget.spent.rho == 2


def test_refusals_do_not_depend_on_rows() -> None:
    """The same words over no rows at all."""
    told = []
    for data in (until(20), until(0)):
        table = protected(data)
        asked(table).release(through="2026-01-04", rho=1)
        with pytest.raises(InvalidQuery) as refused:
            asked(table, every="2 days").release(through="2026-01-10", rho=1)
        told.append(str(refused.value))
        with pytest.raises(InvalidParameter) as passed:
            asked(table).release(through="2026-01-21", rho=1)
        told.append(str(passed.value))
    assert told[:2] == told[2:]


def test_a_table_that_grows_and_never_goes_back() -> None:
    first = protected(until(4), version=1)
    asked(first).release(through="2026-01-04", rho=1)
    second = first.refreshed(until(9), version=2)
    answer = asked(second).release(through="2026-01-09")
    with pytest.raises(InvalidQuery, match="version '2' of the table"):
        asked(first).release(through="2026-01-10")
    third = second.refreshed(until(20), version=3)
    assert values(asked(third).release(through="2026-01-20"))[: len(answer)] == values(answer)
    assert first.budget.spent.rho == 1


def test_older_rows_are_not_drawn_from_once_another_process_was_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of the next step is lost to one who has newer rows: those of before are no longer those on record."""
    older = protected(until(4), version=1)
    asked(older).release(through="2026-01-04", rho=1)
    newer, usual = older.refreshed(until(9), version=2), Budget.published

    def late(budget: Budget, key: str, place: int, answer: bytes) -> bytes:
        monkeypatch.setattr(Budget, "published", usual)
        asked(newer).release(through="2026-01-05")
        return usual(budget, key, place, answer)

    monkeypatch.setattr(Budget, "published", late)
    with pytest.raises(InvalidQuery, match="version '2' of the table"):
        asked(older).release(through="2026-01-07")
    assert [point.version for point in points_of(older.budget.points(KEY))] == ["1", "2"]


def test_a_closed_level_pays_for_nothing_new() -> None:
    """Whoever else asks: what its charge was for goes no further."""
    whole = dp.Budget(rho=2)
    alice, bob = (dp.Budget(parent=whole, rho=1, name=name) for name in ("alice", "bob"))
    first = asked(protected(budget=alice)).release(through="2026-01-02", rho=0.5)
    alice.close(by="curator", why="the study has ended")
    other = asked(protected(budget=bob))
    assert other.release(through="2026-01-02").to_pyarrow().equals(first.to_pyarrow())
    with pytest.raises(BudgetExceeded, match="a budget that is open"):
        other.release(through="2026-01-03")
    assert bob.spent.rho == 0


def test_a_frozen_budget_publishes_nothing_new() -> None:
    table = protected()
    question = asked(table)
    first = question.release(through="2026-01-04", rho=1)
    table.budget.freeze(by="carol", why="a report of an attack")
    assert values(question.release(through="2026-01-04")) == values(first)
    with pytest.raises(BudgetExceeded, match=r"that is open, got budget"):
        question.release(through="2026-01-05")
    table.budget.unfreeze(by="carol", why="it was none")
    assert len(question.release(through="2026-01-05")) > len(first)


def test_a_freeze_during_a_look_stops_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn is thrown away unseen, and drawn anew once the budget is open again."""
    table = protected()
    question = asked(table)
    first = question.release(through="2026-01-04", rho=1)
    drawn = publish_steps._drawn

    def slow(*given: Any) -> bytes | dp.DiscreetError:
        found = drawn(*given)
        table.budget.freeze(by="carol", why="a report of an attack")
        return found

    monkeypatch.setattr(publish_steps, "_drawn", slow)
    with pytest.raises(BudgetExceeded, match=r"that is open, got budget"):
        question.release(through="2026-01-05")
    assert values(question.release(through="2026-01-04")) == values(first)
    monkeypatch.setattr(publish_steps, "_drawn", drawn)
    table.budget.unfreeze(by="carol", why="it was none")
    assert len(question.release(through="2026-01-05")) > len(first)


def test_a_series_that_was_not_paid_for_is_not_drawn(folder: Path) -> None:
    """An opening of a dear series under the charge of a cheap one draws nothing; one that was paid for goes on."""
    honest = protected(budget=dp.Budget(rho=100, ledger=folder / "honest.db"))
    asked(honest).release(through="2026-01-02", rho=50)
    dear = honest.budget.stored(KEY)
    assert dear is not None
    cheap = protected(budget=dp.Budget(rho=100, ledger=folder / "cheap.db"))
    charge = charge_to(cheap.declaration, KEY, "cheap", Guarantee(epsilon=Fraction(1, 10**6)))
    cheap.budget.opened(charge, dear)
    with pytest.raises(LedgerError, match="the charge of this series"):
        asked(cheap).release(through="2026-01-02", rho=50)
    assert cheap.budget.points(KEY) == ()
    again = protected(budget=dp.Budget(rho=100, ledger=folder / "honest.db"))
    assert len(asked(again).release(through="2026-01-03")) == 2 * (3 + 3)


def test_a_table_without_a_name_is_refused() -> None:
    """Another process would know it by another one, and pay again."""
    table = dp.protect(until(20), unit="person", max_rows=1, budget=dp.Budget(rho=1))
    daily = table.series(by="day", start="2026-01-01", max_steps=1).agg(n=lambda t: t.count())
    with pytest.raises(InvalidQuery, match="a table with a name"):
        daily.release(through="2026-01-02", rho=1)
    assert table.budget.spent.rho == 0


def test_parts_of_a_table_have_no_series() -> None:
    part = protected().partition("ward", keys=["A", "B"], max_parts=1)["A"]
    with pytest.raises(InvalidQuery):
        part.series(by="day", start="2026-01-01", max_steps=2).agg(n=lambda t: t.count()).release(
            through="2026-01-02", rho=1
        )


PROGRAM = """
import os, sys
from discreet.ledger.budget import Budget
import discreet as dp
import scipy.linalg
from series_fixtures import asked, protected

def killing(name, *, after):
    plain = getattr(Budget, name)
    def method(*arguments):
        if after:
            plain(*arguments)
        os.kill(os.getpid(), 9)
    setattr(Budget, name, method)

path, *cases = sys.argv[1:]
for case in cases:
    mode, end = case.split("=")
    child = os.fork()
    if not child:
        if mode != "whole":
            name, moment = mode.split("-")
            killing(name, after=moment == "after")
        table = protected(budget=dp.Budget(rho=1, ledger=path))
        print(asked(table).release(through=end, rho=1).to_pyarrow().to_pylist(), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (0 if mode == "whole" else -9), (case, status)
"""


@pytest.mark.long
def test_killed_at_any_moment(folder: Path) -> None:
    """The charge is made once, what was recorded stays, what was not is drawn by whoever comes next. Each process opens
    the ledger for itself, and is killed at some moment of its release.
    """
    path = folder / "spent.db"
    cases = ("opened-after=2026-01-02", "published-before=2026-01-03", "published-after=2026-01-04", "whole=2026-01-04")
    search = os.pathsep.join(one for one in sys.path if one)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), *cases],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": search},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    table = protected(budget=dp.Budget(rho=1, ledger=path))
    assert str(values(asked(table).release(through="2026-01-04"))) == done.stdout.strip()
    assert table.budget.spent.rho == 1
    assert len(table.budget.entries()) == 1
    assert [point.end for point in points_of(table.budget.points(KEY))] == [4]
    table.budget.verify()


def test_an_asker_apart_has_a_series_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who shares no answers opens a series of their own, which changes nobody's numbers: not those on record, nor, by
    an opening between a draw and its record, how often steps of one opening are drawn.
    """
    table = protected(budget=dp.Budget(rho=3))
    first = values(asked(table).release(through="2026-01-03", rho=1))
    budgets = [dp.Budget(parent=table.budget, rho=1, name=name) for name in ("alice", "bob")]
    alice, bob = (table.with_budget(own.for_asker(own.path, shared=False)) for own in budgets)
    hers = values(asked(alice).release(through="2026-01-03", rho=Fraction(1, 1000)))
    assert hers != first
    assert values(asked(table).release(through="2026-01-03", rho=1)) == first
    kept = Budget.published
    opened: list[Any] = []

    def late(budget: Budget, *point: Any) -> bytes:
        if not opened:
            opened.append(True)
            opened.append(values(asked(bob).release(through="2026-01-03", rho=Fraction(1, 500))))
        return kept(budget, *point)

    monkeypatch.setattr(Budget, "published", late)
    more = values(asked(table).release(through="2026-01-12", rho=1))
    assert more[: len(first)] == first
    assert values(asked(table).release(through="2026-01-12")) == more
    assert values(asked(alice).release(through="2026-01-03")) == hers
    assert values(asked(bob).release(through="2026-01-03")) == opened[1]
    assert [point.end for point in points_of(table.budget.points(KEY))] == [3, 12]
    assert table.budget.spent.rho == Fraction(1003, 1000)

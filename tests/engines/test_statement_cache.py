"""A statement is compiled once for all plans that are alike, and never taken for one of another plan."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.exact_totals import totals
from discreet.engines.statement_cache import KEPT, Statements, unfused
from discreet.planning.plan import Plan
from discreet.query.table import PrivateTable
from neighbor_bench import plan_of

DATA = pa.table({"person": [1, 2], "plan": ["a", "b"], "x": [1.0, 2.0], "i": [1, 2]})


def protected(**stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {
        "unit": dp.ROW,
        "bounds": {"x": (0, 5), "i": (0, 5)},
        "keys": {"plan": ["a", "b"]},
    } | stated
    return dp.protect(DATA, budget=dp.Budget(epsilon=1), name="t", **facts)


def plans() -> list[Plan]:
    """Plans of which no two may share a statement."""
    table, wider = protected(), protected(bounds={"x": (0, 500), "i": (0, 5)})
    persons = [protected(unit="person", max_rows=n, max_groups=1) for n in (1, 2)]
    asked = [
        table.agg(s=table.x.sum()), table.agg(s=table.i.sum()), table.agg(s=table.x.mean()), table.agg(s=table.x.var()),
        table.agg(s=(table.x + 1).sum()), table.filter(table.x > 1).agg(s=table.x.sum()), wider.agg(s=wider.x.sum()),
        table.filter(table.x > 2).agg(s=table.x.sum()), table.agg(s=table.x.sum(where=table.i > 1)),
        table.group_by("plan").agg(s=table.x.sum()),
        table.group_by(p=table.plan.upper(), keys={"p": ["A"]}).agg(s=table.x.sum()),
        *(one.agg(s=one.x.sum()) for one in persons), persons[0].group_by("plan").agg(s=persons[0].x.sum()),
        persons[0].agg(n=persons[0].person.nunique()),
    ]  # fmt: skip
    return [plan_of(question, epsilon=1) for question in asked]


def test_other_plans_have_other_statements() -> None:
    written = Statements(lambda plan: str(id(plan)))
    kept = plans()
    assert len({written.of(plan) for plan in kept}) == len(kept)


def test_what_was_asked_before_makes_no_difference() -> None:
    """Noise of another law may need another statement for the same totals."""
    table = protected(unit="person", max_rows=1, max_groups=1)
    asked = table.group_by("plan").agg(s=table.i.sum(where=table.x > 0), n=lambda t: t.count())
    plan = plan_of(asked, epsilon=1)
    plans = [plan, *plan.runners_up]
    assert {one.joint is None for one in plans} == {True, False}
    for order in (plans, plans[::-1]):
        written = Statements(lambda one: str(ibis.to_sql(totals(one))))
        assert [written.of(one) for one in order] == [str(ibis.to_sql(totals(one))) for one in order]


def test_the_same_question_asked_again_is_not_compiled() -> None:
    compiled: list[Plan] = []

    def compile_(plan: Plan) -> str:
        compiled.append(plan)
        return "SELECT 1"

    written, table = Statements(compile_), protected()
    for _ in range(3):
        for epsilon in (1, 2):
            written.of(plan_of(table.group_by("plan").agg(s=table.x.sum(), n=table.i.count()), epsilon=epsilon))
    assert len(compiled) == 1


def test_no_more_are_kept_than_said() -> None:
    written, table = Statements(lambda _: "SELECT 1"), protected()
    for i in range(KEPT + 5):
        written.of(plan_of(table.filter(table.i > i).agg(s=table.x.sum()), epsilon=1))
    assert len(written._known) == KEPT


@pytest.mark.parametrize("was", [True, False])
def test_the_setting_comes_back(was: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    before, ibis.options.sql.fuse_selects = ibis.options.sql.fuse_selects, was
    try:
        with unfused():
            assert not ibis.options.sql.fuse_selects
        assert ibis.options.sql.fuse_selects is was
    finally:
        ibis.options.sql.fuse_selects = before


def test_a_handler_may_ask_while_a_statement_is_compiled() -> None:
    """In the thread that compiles; it waited for itself."""
    before = ibis.options.sql.fuse_selects
    with unfused():
        assert protected().count().release(epsilon=1) is not None
        assert ibis.options.sql.fuse_selects is False
    assert ibis.options.sql.fuse_selects is before


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_waits_for_who_compiles() -> None:
    """A child would inherit the lock of a thread that it does not have."""
    inside, leave = threading.Event(), threading.Event()

    def compiles() -> None:
        with unfused():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=compiles)
    thread.start()
    inside.wait(20)
    threading.Timer(0.05, leave.set).start()
    child = os.fork()
    if not child:
        signal.alarm(10)
        with unfused():
            os._exit(7)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

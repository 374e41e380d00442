"""Tables that grow: one budget over all versions, no answer of one for another, nothing taken from the rows."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import not_private

JUNE = pa.table({"person": [1, 2, 3, 3], "plan": ["a", "b", "a", "b"], "visits": [1.0, 2.0, 3.0, 4.0]})
JULY = pa.concat_tables([JUNE, pa.table({"person": [3, 4], "plan": ["b", "a"], "visits": [5.0, 6.0]})])


def june(rows: pa.Table = JUNE, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {
        "unit": "person",
        "bounds": {"visits": (0, 5)},
        "keys": {"plan": ["a", "b"]},
        "max_groups": 2,
        "max_rows": 2,
        "budget": dp.Budget(epsilon=1),
        "name": "visits",
        "version": 6,
    }
    return dp.protect(rows, **(facts | stated))


def by_plan(table: PrivateTable) -> Question:
    return table.group_by("plan").agg(n=_.count(), total=_.visits.sum())


def test_versions_share_one_budget() -> None:
    first = june()
    later = first.refreshed(JULY, version=7)
    first.count().release(epsilon=0.6)
    assert later.budget is first.budget
    with pytest.raises(dp.BudgetExceeded):
        later.count().release(epsilon=0.6)
    later.count().release(epsilon=0.4)
    assert first.budget.remaining.epsilon == 0
    assert [(entry.source, entry.what) for entry in first.budget.entries()] == [
        ("visits@6", "count (count)"),
        ("visits@7", "count (count)"),
    ]


def test_what_was_stated_holds_and_can_be_stated_anew() -> None:
    first: Any = june(bounds={"visits": "auto"}, max_rows="auto")
    kept: Any = first.refreshed(JULY, version="7")
    mine, theirs = first._source.declaration, kept._source.declaration
    for fact in ("name", "unit", "neighbors", "bounds", "keys", "max_groups", "max_rows", "auto_limits", "auto_bounds"):
        assert getattr(mine, fact) == getattr(theirs, fact), fact
    assert theirs.version == "7"
    anew: Any = first.refreshed(
        JULY, version="8", bounds={"visits": (0, 9)}, keys={"plan": ["a", "b", "c"]}, max_rows=3
    )
    declared = anew._source.declaration
    assert declared.bounds == {"visits": (0, 9)}
    assert declared.keys == {"plan": ("a", "b", "c")}
    assert (declared.max_rows, declared.auto_bounds, declared.auto_limits) == (3, frozenset(), frozenset())


def test_an_old_answer_is_not_given_for_a_new_version() -> None:
    first = not_private(june(budget=dp.Budget(epsilon=100)))
    old = by_plan(first).release(epsilon=1)
    later = first.refreshed(JULY, version=7)
    new = by_plan(later).release(epsilon=1)
    assert old.receipt["release"] != new.receipt["release"]
    assert (old.receipt["source"], new.receipt["source"]) == ("visits@6", "visits@7")
    assert first.budget.spent.epsilon == 2
    assert new.receipt["private"] is False  # the chance of the first table goes on


def test_the_same_version_again_gets_its_stored_answers() -> None:
    budget = dp.Budget(epsilon=1)
    first = june(budget=budget)
    later = first.refreshed(JULY, version=7)
    told = by_plan(later).release(epsilon=0.5)
    for again in (first.refreshed(JULY, version=7), *(june(JULY, budget=budget, version=v) for v in ("7", 7))):
        assert by_plan(again).release(epsilon=0.5).to_pyarrow().equals(told.to_pyarrow())
    assert budget.spent.epsilon == Fraction(1, 2)


def without(rows: pa.Table, person: int) -> pa.Table:
    return rows.filter(pa.array([one != person for one in rows["person"].to_pylist()]))


def lost(person: int) -> tuple[Fraction, Fraction]:
    """What one person changes in the totals of two versions over the scale of their noise; and what was charged."""
    loss, budget = Fraction(0), dp.Budget(epsilon=1)
    for version, rows in ((6, JUNE), (7, JULY)):
        asked = by_plan(june(rows, budget=budget, version=version))
        plan = asked.plan(epsilon=0.5)
        asked.release(epsilon=0.5)
        engines: list[Any] = [june(data, budget=budget, version=9)._source for data in (rows, without(rows, person))]
        for block, one, other in zip(plan.blocks, *(source._engine.totals(plan) for source in engines), strict=True):
            assert block.noise is not None
            loss += int(np.abs(one - other).sum()) / Fraction(block.noise.scale)
    return loss, budget.spent.epsilon


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Expected one table for a name:UserWarning")
def test_who_is_in_all_versions_loses_their_sum_and_no_more() -> None:
    """Neighbors differ in one person's rows in all versions; the largest charge of one version would not do."""
    losses = {person: lost(person) for person in (3, 4)}
    assert all(loss <= charged for loss, charged in losses.values())
    most, charged = max(losses.values())
    assert charged / 2 < most
    assert losses[4][0] <= charged / 2  # new in the second version


def test_another_name_for_the_same_rows_is_paid_from_the_same_budget() -> None:
    """Who protects once more under another name gets fresh answers, and finds the allowance as it was left."""
    budget = dp.Budget(epsilon=1)
    june(budget=budget).count().release(epsilon=0.7)
    again = june(budget=budget, name="innocent", version="")
    with pytest.raises(dp.BudgetExceeded):
        again.count().release(epsilon=0.7)
    assert budget.spent.epsilon == Fraction(7, 10)


def test_a_ledger_goes_on_under_the_same_name(tmp_path: Path) -> None:
    def budget() -> dp.Budget:
        return dp.Budget(epsilon=1, ledger=tmp_path / "spent.db")

    old = by_plan(june(budget=budget())).release(epsilon=0.25)
    later = june(JULY, budget=budget(), version=7)
    by_plan(later).release(epsilon=0.25)
    assert by_plan(june(budget=budget())).release(epsilon=0.25).receipt == old.receipt
    last = budget()
    assert last.spent.epsilon == Fraction(1, 2)
    with pytest.raises(dp.InvalidParameter, match="every version of 'visits'"):
        june(unit="plan", keys={}, budget=last, version=8)
    with pytest.raises(dp.InvalidParameter, match="every version of 'visits'"):
        june(unit=dp.ROW, max_groups=None, max_rows=None, budget=last, version=8)
    assert last.spent.epsilon == Fraction(1, 2)


def test_who_comes_second_with_another_unit_is_not_answered(tmp_path: Path) -> None:
    """Both were protected before anything was charged, each by a process of its own."""
    first, second = (dp.Budget(epsilon=1, ledger=tmp_path / "spent.db") for _ in range(2))
    one, other = june(budget=first), june(unit="plan", keys={}, budget=second)
    one.count().release(epsilon=0.25)
    with pytest.raises(dp.InvalidParameter, match="every version of 'visits'"):
        other.count().release(epsilon=0.25)
    assert len(first.entries()) == 1


def test_tables_in_one_question_are_remembered_each() -> None:
    first = june()
    later = first.refreshed(JULY, version=7)
    first.union(later).count().release(epsilon=0.5)
    assert first.budget.spent.epsilon == Fraction(1, 2)
    with pytest.raises(dp.InvalidParameter, match="every version of 'visits'"):
        june(unit="plan", keys={}, budget=first.budget, version=8)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "the same version": ({"version": 6}, "a new version"),
    "no version": ({"version": ""}, "a new version"),
    "no kind of version": ({"version": 1.5}, "a version, got version=1.5"),
    "a truth": ({"version": True}, "a version, got version=True"),
    "another name": ({"version": 7, "name": "other"}, "what a new version may change"),
    "another unit": ({"version": 7, "unit": "plan"}, "what a new version may change"),
    "another budget": ({"version": 7, "budget": dp.Budget(epsilon=9)}, "what a new version may change"),
    "other neighbors": ({"version": 7, "neighbors": "replace-one"}, "what a new version may change"),
    "bounds of nothing": ({"version": 7, "bounds": {"visit": (0, 1)}}, "did you mean 'visits'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_new_version_is_refused(name: str) -> None:
    stated, message = REFUSED[name]
    with pytest.raises(dp.InvalidParameter, match=message):
        june().refreshed(JULY, **stated)


def test_a_table_without_its_columns_is_refused() -> None:
    with pytest.raises(dp.InvalidParameter, match="unit='person'"):
        june().refreshed(JULY.drop_columns(["person"]), version=7)
    with pytest.raises(dp.InvalidParameter, match="bounds='visits'"):
        june().refreshed(JULY.drop_columns(["visits"]), version=7)


@pytest.mark.parametrize("changed", [lambda t: t.filter(t.visits > 1), lambda t: t.union(t), lambda t: t.drop("plan")])
def test_verbs_come_after_the_refresh(changed: Any) -> None:
    with pytest.raises(dp.InvalidQuery, match="refresh the protected table first"):
        changed(june()).refreshed(JULY, version=7)


def test_a_public_size_is_stated_anew() -> None:
    sized = dp.protect(
        JUNE, unit="person", neighbors="replace-one", units=3, max_rows=2, budget=dp.Budget(epsilon=1), name="sized"
    )
    with pytest.raises(dp.InvalidParameter, match="the public number of units"):
        sized.refreshed(JULY, version=2)
    declared: Any = sized.refreshed(JULY, version=2, units=4)
    assert declared._source.declaration.size == 4


def test_a_frame_without_a_name_grows_too() -> None:
    first = june(name=None, version="")
    later: Any = first.refreshed(JULY, version=2)
    assert later._source.declaration.name == first._source.declaration.name
    assert later._source.declaration.label == "an unnamed frame@2"

"""Who counts in which step: prefix-stable, within its limits, step by step; on whole histories and their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.series.participation import Participation
from series_fixtures import DAYS, ROWS, START, WARDS, asked, day, exact, protected, until


def counts(data: pa.Table, max_steps: int, *, apart: int = 1, **more: Any) -> Any:
    """Exact counts by day and ward."""
    [found] = exact(asked(protected(data, **more), max_steps=max_steps, apart=apart))
    return found


def of_one(days: list[int], wards: list[str], max_steps: int, **more: Any) -> Any:
    made = {"person": [1] * len(days), "day": [day(one) for one in days], "ward": wards}
    return counts(pa.table({**made, "nights": [1.0] * len(days)}), max_steps, **more)


def test_a_unit_counts_in_its_first_steps() -> None:
    found = of_one([9, 2, 2, 5, 14], list("AABAA"), 3)
    assert found[[2, 5, 9]].tolist() == [[1, 1], [1, 0], [1, 0]]
    assert found.sum() == 4
    assert of_one([9, 2, 2, 5, 14], list("AABAA"), 4).sum() == 5


def test_each_step_is_bounded_by_itself() -> None:
    """Two rows in one ward on each of three days: in each of them all of it counts, and three rows are weighted."""
    assert of_one([1, 1, 2, 2, 3, 3], ["A"] * 6, 3)[1:4, 0].tolist() == [2, 2, 2]
    halves = of_one([1, 1, 2, 2, 3, 3], list("ABABAB"), 3, max_groups=1)
    assert len(set(halves[1:4].reshape(-1).tolist())) == 1  # each ward half of a row, in steps of a lattice
    assert halves[1:4].min() > 2**20
    assert of_one([1, 1, 1, 2], ["A"] * 4, 3)[1:3, 0].tolist() == [2, 1]


@pytest.mark.long
@pytest.mark.parametrize("max_steps", [1, 3, DAYS])
def test_the_past_never_changes(max_steps: int) -> None:
    """What the first days hold follows from the rows of these days, whatever comes later."""
    whole = counts(ROWS, max_steps)
    for end in (1, 4, 11):
        assert np.array_equal(counts(until(end), max_steps)[:end], whole[:end])


def test_steps_of_a_unit_are_apart() -> None:
    """The first one, the first that is three behind it or more, and so on; never one for its place alone."""
    found = of_one([9, 2, 2, 4, 5, 6, 7, 8, 14, 19], ["A"] * 10, 4, apart=3)
    assert np.flatnonzero(found[:, 0]).tolist() == [2, 5, 8, 14]
    assert found[2, 0] == 2
    assert np.flatnonzero(of_one([0, 1, 2, 3, 4, 5], ["A"] * 6, 9, apart=5)[:, 0]).tolist() == [0, 5]
    assert np.flatnonzero(of_one([3], ["A"], 9, apart=5)[:, 0]).tolist() == [3]


@pytest.mark.long
@pytest.mark.parametrize("apart", [2, 7])
def test_the_past_never_changes_where_steps_are_apart(apart: int) -> None:
    whole = counts(ROWS, 3, apart=apart)
    for end in (1, 4, 11):
        assert np.array_equal(counts(until(end), 3, apart=apart)[:end], whole[:end])


@pytest.mark.long
def test_limits_of_steps_that_are_apart() -> None:
    """As many as there can be, where none is stated; no more than one statement can find."""
    assert asked(protected(), max_steps=None, apart=7)._terms.participation == Participation(3, 7)
    assert asked(protected(), max_steps=9, apart=7)._terms.participation == Participation(3, 7)
    assert asked(protected(), max_steps=2, apart=7).explain(rho=1).facts["limits"]["apart"] == 7
    by_day = protected(unit=("person", "day"), max_groups=2, name="person and day")
    assert asked(by_day, max_steps=None, apart=7)._terms.participation == Participation()
    with pytest.raises(InvalidQuery, match="at most 32 steps of a unit"):
        protected().series(by="day", start=START, apart=7)
    most = protected().series(by="day", start=START, apart=7, max_steps=32).group_by("ward").agg(n=lambda t: t.count())
    assert sum(exact(most)[0][:, 0].tolist()) > 0
    wrong: tuple[Any, ...] = (0, -1, 2.5, "7 days", None)
    for apart in wrong:
        with pytest.raises(InvalidParameter, match="apart"):
            protected().series(by="day", start=START, apart=apart, max_steps=3)


def test_late_rows_count_where_they_arrive_or_not_at_all() -> None:
    moments = {"day": [day(1), day(1), day(2)], "loaded": [day(1), day(3), day(2)]}
    table = pa.table({"person": [1, 2, 3], "ward": ["A"] * 3, "nights": [0.0] * 3, **moments})
    for late, wanted in (("count", [1, 1, 1]), ("drop", [1, 1, 0])):
        [found] = exact(asked(protected(table), arrives="loaded", late=late))
        assert found[1:4, 0].tolist() == wanted
        early = table.filter(pa.compute.less_equal(table["loaded"], pa.scalar(day(2))))
        [before] = exact(asked(protected(early), arrives="loaded", late=late))
        assert np.array_equal(before[:3], found[:3])


people = st.lists(
    st.tuples(st.integers(-1, 6), st.integers(0, 7), st.sampled_from([*WARDS, "C", None])), min_size=0, max_size=25
)


@pytest.mark.long
@given(people, st.integers(1, 4), st.sampled_from((1, 1, 2, 3)), st.integers(1, 2), st.integers(1, 3))
@settings(deadline=None, max_examples=12)
def test_neighbors_over_whole_histories(made: list[Any], max_steps: int, apart: int, groups: int, most: int) -> None:
    """A unit more: in at most so many steps something changes, in each within the limits, and in the past nothing."""
    data = pa.table(
        {
            "person": pa.array([person for person, _, _ in made], pa.int64()),
            "day": pa.array([day(number) for _, number, _ in made], pa.date32()),
            "ward": pa.array([ward for _, _, ward in made], pa.string()),
            "nights": pa.array([1.0] * len(made), pa.float64()),
        }
    )
    limits = {"max_groups": groups, "max_rows": most}
    question = asked(protected(data, **limits), max_steps=max_steps, apart=apart)
    plan: Any = question._plan({"epsilon": None, "delta": 0, "rho": 1})
    [whole] = exact(question, strategy=plan.strategy)
    without = data.filter(pa.compute.not_equal(data["person"], 1))
    [other] = exact(asked(protected(without, **limits), max_steps=max_steps, apart=apart), strategy=plan.strategy)
    change = (whole - other).astype(object)
    steps = np.flatnonzero((change != 0).any(axis=1))
    assert len(steps) <= max_steps
    assert min(np.diff(steps), default=apart) >= apart
    assert max(sum(abs(one) for one in row) for row in change.tolist()) <= groups * most * plan.plan.blocks[0].steps
    moved = plan.strategy.matrix.astype(object) @ change
    assert sum(int(one) ** 2 for one in moved.reshape(-1)) <= plan.noises[0].sensitivity ** 2
    sooner = asked(protected(until(4, data), **limits), max_steps=max_steps, apart=apart)
    [early] = exact(sooner, strategy=plan.strategy)
    assert np.array_equal(early[:4], whole[:4])


def joined(table: PrivateTable) -> PrivateTable:
    return table.join(dp.public(pa.table({"ward": ["A"], "floor": [1]}), name="floors"), "ward")


@pytest.mark.parametrize(
    ("verb", "cure"),
    [
        (lambda t: t.distinct("person", "day", "ward", "nights"), "distinct"),
        (lambda t: t.per_unit(day=lambda t: t.day.max()), "per_unit"),
        (joined, "join"),
        (lambda t: t.union(t), "union"),
        (lambda t: t.mutate(step=1), "no column 'step'"),
    ],
)
def test_rows_that_later_rows_could_change_are_refused(verb: Any, cure: str) -> None:
    with pytest.raises(InvalidQuery, match=cure):
        verb(protected()).series(by="day", start=START, max_steps=2)


def test_steps_cannot_be_rewritten() -> None:
    """What an analyst computes has no part in what counts as a step."""
    series = protected().series(by="day", start=START, max_steps=2)
    refused: list[Any] = [
        lambda: series.group_by("step", keys={"step": [1, 2]}).agg(n=lambda t: t.count()),
        lambda: series.group_by(step=lambda t: t.nights > 3, max_rows=1).agg(n=lambda t: t.count()),
        lambda: series.group_by(window=lambda t: t.nights > 3, max_rows=1).agg(n=lambda t: t.count()),
        lambda: series.agg(step=lambda t: t.count()),
    ]
    for grouped in refused:
        with pytest.raises(InvalidQuery, match="other names than step and window"):
            grouped()
    rows = series.rows.mutate(step=lambda t: t.step * 0)
    [found] = exact(series.question(rows.group_by("ward").agg(n=lambda t: t.count())))
    [wanted] = exact(series.group_by("ward").agg(n=lambda t: t.count()))
    assert np.array_equal(found, wanted)
    for question in (
        series.rows.distinct("ward", "nights").agg(n=lambda t: t.count()),
        series.rows.per_unit(n=lambda t: t.count()).agg(m=lambda t: t.n.clip(0, 9).sum()),
        series.rows.select("ward").agg(n=lambda t: t.count()),
    ):
        with pytest.raises(InvalidQuery):
            series.question(question)


def test_rows_of_steps_answer_nothing_by_themselves() -> None:
    """In them a unit of one step is a unit: whatever is asked of them alone would be charged for one step only."""
    table = protected()
    rows = table.series(by="day", start=START, max_steps=9).rows
    tries: list[Any] = [
        lambda: rows.count().release(rho=0.1),
        lambda: rows.count().explain(rho=0.1),
        lambda: rows.agg(n=lambda t: t.count()).release(epsilon=1, delta=1e-6),
        lambda: rows.group_by("ward").agg(n=lambda t: t.count()).release(rho=0.1),
        lambda: dp.batch(a=rows.count(), b=rows.filter(lambda t: t.nights > 1).count()).release(rho=0.1),
        lambda: rows.top("ward", epsilon=1),
        lambda: rows.choose([1, 2], score=lambda c: rows.nights == c, epsilon=1),
        lambda: rows.count_distinct("ward", epsilon=1),
        lambda: rows.truncated_total("nights", epsilon=1),
        lambda: rows.kmeans(["nights"], n_clusters=2, epsilon=1),
        lambda: rows.with_budget(dp.Budget(parent=table.budget, rho=0.1, name="mine")),
        lambda: rows.partition("ward", max_parts=1),
        lambda: rows.union(table).count().release(rho=0.1),
        lambda: table.union(rows.drop("step")).count().release(rho=0.1),
        lambda: table.join(rows.select("person", "step"), on="person").count().release(rho=0.1),
        lambda: rows.series(by="day", start=START, max_steps=1),
        lambda: table.series(by="day", start=START, max_steps=1).question(rows.agg(n=lambda t: t.count())),
    ]
    for one in tries:
        with pytest.raises((InvalidQuery, InvalidParameter)):
            one()
    assert table.budget.spent.rho == 0


def test_filters_and_new_columns_are_taken() -> None:
    table = protected().filter(lambda t: t.nights > 2).mutate(long=lambda t: t.nights > 5).rename(days="day")
    [found] = exact(asked(table.rename(day="days"), max_steps=DAYS))
    nights = [row["nights"] > 2 for row in ROWS.to_pylist()]
    assert found.sum() == sum(nights)


@pytest.mark.parametrize("named", [{"arrives": "day"}, {"late": "drop"}, {"arrives": "day", "late": "later"}])
def test_half_a_rule_for_late_rows_is_refused(named: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        protected().series(by="day", start=START, max_steps=2, **named)


def test_rows_and_units_of_a_day_need_no_limit() -> None:
    by_row = dp.protect(ROWS, unit=dp.ROW, keys={"ward": list(WARDS)}, budget=dp.Budget(rho=1), name="each row")
    daily = protected(unit=("person", "day"), max_groups=2, name="person and day")
    for table in (by_row, daily):
        question = table.series(by="day", start=START, until="2026-01-20").agg(n=lambda t: t.count())
        assert question._terms.participation.steps == 1
    with pytest.raises(InvalidQuery, match="Expected max_steps"):
        protected().series(by="day", start=START)

"""Which rows count in which step of a series: those of a unit's first active steps, bounded step by step.

Claim
    In the totals of the first t steps a unit has rows in at most `max_steps` of the steps, its first ones of which any
    two are `apart` or more, and in each of them no more than the limits of groups and rows allow. These totals are the
    same in every table that holds the same rows of the first t steps, whatever else it holds.
Requires
    A relation in which each row was made of one row of the table by itself (`check_rowwise`), with the number of its
    step in `HELD`, never NULL, which no verb can rewrite. That the rows of a step are all there when it is published,
    and stay as they are: whoever refreshes the table sees to it; where rows arrive late, by a column that says when.
Relies on
    Window functions that number the distinct values of an integer column in its order; `engines.contribution_weights`,
    which bounds what belongs together by all hidden columns of the unit.
Proof
    `RANKED` of a row is the number of distinct steps before its own in which its unit has rows: a function of the
    unit's own rows up to that step. It is below `max_steps` in the first so many active steps, and in no other. So the
    rows that are kept of the first t steps follow from the rows of the first t steps. The step becomes one more hidden
    column of the unit: the engine bounds each unit in each step by itself, from its rows in that step alone. A question
    about these rows that is priced for one step of a unit cannot be released: their source is a `StepSource`.
    *Late rows.* With `late="count"` a row belongs to the step in which it arrived, so a later arrival changes no
    earlier step; with `late="drop"` it is left out unless that is its own step: then again no step changes after it has
    ended. Both are conditions on the row itself.
Rounding
    None here.
Source
    Bounding by a unit's own past: Dong, Luo and Yi, "Continual observation under user-level differential privacy"
    (2023).
Mutant
    last-steps-first: the last active steps are kept; killed by test_the_past_never_changes.
    steps-bounded-together: a unit's limits hold for all steps together; killed by test_each_step_is_bounded_by_itself.
    steps-by-their-name: a group may have the name of the steps; killed by test_steps_cannot_be_rewritten.
    steps-answer-by-themselves: the rows of steps are a table like any other; killed by
    test_rows_of_steps_answer_nothing_by_themselves.
    nearer-by-one: a unit's steps may be nearer to each other by one than is stated; killed by
    test_steps_of_a_unit_are_apart.
    one-step-more: a unit counts in one step more than it may; killed by test_a_unit_counts_in_its_first_steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ibis

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.language.input_barrier import UNIT
from discreet.planning.contribution_bounding import units
from discreet.privacy.declaration import Declaration
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.series.participation import Participation
from discreet.series.step_calendar import StepCalendar

STEP = "step"
WINDOW = "window"
HELD = "__discreet_step"
"""The step of a row, under a name that no verb takes."""
RANKED = "__discreet_ranked"
CHAINED = "__discreet_chained"
KEPT = "__discreet_kept"
MOST_APART = 32
"""So many minima stand in each other in one statement."""
ROWWISE = {"table", "filter", "mutate", "select", "rename"}
"""Verbs after which each row is still one row of the table."""
LATE = ("count", "drop")


class StepSource:
    """A source of the rows of steps, in which a unit of one step is a unit: it answers nothing by itself.

    What a question about these rows would be charged for is one step of a unit; the series has the price of all.
    """

    def __init__(self, source: Any) -> None:
        self._source = source

    @property
    def declaration(self) -> Declaration:
        """What was stated of the table."""
        declared: Declaration = self._source.declaration
        return declared

    @property
    def schema(self) -> Any:
        """Its column names and types."""
        return self._source.schema

    @property
    def budget(self) -> Any:
        """What its series is charged to."""
        return self._source.budget

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        cure = "ask the series, .group_by(...).agg(...).release(through=...); or the table that it was made of."
        raise InvalidQuery(expected("a question to a series", "question", "one to its rows", cure))


def in_steps(
    table: PrivateTable, by: str, calendar: StepCalendar, *, arrives: str | None = None, late: str | None = None
) -> PrivateTable:
    """The rows of the calendar's steps, with their numbers in `STEP`."""
    if (arrives is None) != (late is None) or late not in (None, *LATE):
        cure = 'arrives="loaded" names the column that says when a row came, and late="count" or "drop" what then.'
        raise InvalidParameter(expected("arrives and late together", "late", late, cure))
    steps = {STEP: calendar.expression(arrives if arrives is not None and late == "count" else by)}
    rows = table.mutate(**steps)
    if arrives is not None and late == "drop":
        rows = rows.filter(lambda t: calendar.expression(arrives)(t) == t[STEP])
    return rows.filter(lambda t: t[STEP] >= 0, lambda t: t[STEP] < calendar.steps)


def bounded_steps(rows: PrivateTable, taken: Participation) -> PrivateTable:
    """The rows of each unit's first active steps, each of these steps a unit of its own to whoever bounds it."""
    relation = rows._relation  # noqa: SLF001 (a verb of this table, in another room)
    hidden = units(relation)
    relation = relation.mutate(relation[STEP].name(HELD))
    if hidden:
        relation = _first(relation, hidden, taken.steps) if taken.apart == 1 else _chained(relation, hidden, taken)
        relation = relation.mutate(relation[HELD].name(f"{UNIT}{len(hidden)}"))
    bounded = rows._with(relation, rows._columns, rows._columns, conditions=1)  # noqa: SLF001 (as above)
    return replace(bounded, _source=StepSource(rows._source))  # noqa: SLF001 (as above)


def _first(relation: Any, hidden: Sequence[str], max_steps: int) -> Any:
    """The rows of the first active steps."""
    ranked = ibis.dense_rank().over(group_by=[relation[name] for name in hidden], order_by=relation[HELD])
    relation = relation.mutate(ranked.name(RANKED))
    return relation.filter(relation[RANKED] < max_steps)


def _chained(relation: Any, hidden: Sequence[str], taken: Participation) -> Any:
    """The rows of the first active step, of the first one so far behind it, and so on."""
    by = [relation[name] for name in hidden]
    relation = relation.mutate(relation[HELD].min().over(group_by=by).name(CHAINED), ibis.literal(0).name(KEPT))
    for _ in range(taken.steps - 1):
        later = ibis.cases((relation[HELD] >= relation[CHAINED] + taken.apart, relation[HELD]))
        following = later.min().over(group_by=[relation[name] for name in hidden])
        relation = relation.mutate(following.name(CHAINED), _kept(relation).name(KEPT))
    return relation.filter(_kept(relation) > 0)


def _kept(relation: Any) -> Any:
    """Above 0 for rows in one of the steps of the chain so far, which ends with NULL where there is no further one."""
    return relation[KEPT] + ibis.cases((relation[HELD] == relation[CHAINED], 1), else_=0)


def check_rowwise(table: Any, *, named: bool = True) -> None:
    """Refuses a table whose rows are made of several, so that later rows could change what an earlier step holds."""
    if not isinstance(table, PrivateTable):
        cure = "protect it first: dp.protect(data, unit=..., budget=...)."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    taken = [verb.name for verb in table._taken]  # noqa: SLF001 (as above)
    wrong = next((name for name in taken if name not in ROWWISE), None)
    declared = table.declaration
    if wrong is not None or declared.parts or declared.rows_changed != 1:
        cure = "filter it, rename or compute columns: what joins and aggregates make of a day may change later."
        raise InvalidQuery(expected("a table whose rows are as they were protected", "verb", wrong or "another", cure))
    for name in (STEP, WINDOW):
        if named and name in table.columns:
            cure = f"the answer has a column of this name: .rename(other_{name}={name!r})."
            raise InvalidQuery(expected(f"no column {name!r}", "column", name, cure))


def check_asked(question: Question, rows: PrivateTable) -> None:
    """Refuses a question that is not about the rows of the steps as they are, or takes the names of their columns."""
    query, asked = question._query, question._asked  # noqa: SLF001 (as above)
    if question._source is not rows._source:  # noqa: SLF001 (as above)
        raise InvalidQuery(expected("a question about the rows of this series", "question", "another", "use .rows."))
    taken = {name for name in (STEP, WINDOW) if name in query.groups or any(name == a.name for a in query.aggregates)}
    if taken:
        cure = "the answer has columns of these names for the steps themselves: give yours another one."
        raise InvalidQuery(expected("other names than step and window", "name", sorted(taken), cure))
    if asked is not None:
        check_rowwise(asked.table, named=False)
    if HELD not in query.relation.columns:
        cure = "ask for columns of the table itself, in one SELECT without a sub-query."
        raise InvalidQuery(expected("a question about the rows of the steps", "question", "another", cure))


def named_column(table: PrivateTable, name: str, written: object) -> str:
    """A column of the table."""
    if not isinstance(written, str) or written not in table.columns:
        raise InvalidQuery(expected("a column of the table", name, written, nearest_name(written, table.columns)))
    return written


def one_step_units(table: PrivateTable, by: str) -> bool:
    """Whether each unit is in one step only: a row, or what has the column of the step in its name, which no verb may
    rewrite.
    """
    return not table.declaration.unit or by in table.declaration.unit


def with_record_of(rows: PrivateTable, table: PrivateTable) -> PrivateTable:
    """Rows whose documents speak of the table that they were made of."""
    return replace(rows, _verbs=table._taken)  # noqa: SLF001 (as above)

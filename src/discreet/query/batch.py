"""`dp.batch`: any questions about one protected table, planned together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidQuery, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.inference.interval_propagation import HIGH, LOW
from discreet.language.checked_expressions import Kind
from discreet.planning.aggregates import Aggregate
from discreet.planning.batch_planner import BatchQuery, BatchTable
from discreet.planning.contribution_limits import stated_limits
from discreet.planning.group_keys import Keys
from discreet.planning.mixed_batch_plan import MixedBatchQuery
from discreet.planning.plan import Query, StatedLimits
from discreet.query.batch_cells import Moved, attributes, common_relation, rewrite_over_relation, with_codes
from discreet.query.batch_question import BatchQuestion, check_added, check_cells
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.mixed_batch_question import MixedBatchQuestion
from discreet.query.question import Question
from discreet.query.ranges import AllRanges
from discreet.query.recorded_verbs import RecordedBatch, given_limits
from discreet.workloads.cell_tables import CellTable

Asked: TypeAlias = "Question | AllRanges[Any]"


@overload
def batch(  # type: ignore[overload-overlap]  # of tables alone, the answer has tables alone
    questions: Mapping[str, Question] | None = None,
    /,
    *,
    max_groups: int | None = None,
    max_rows: int | None = None,
    **named: Question,
) -> BatchQuestion: ...


@overload
def batch(
    questions: Mapping[str, Asked] | None = None,
    /,
    *,
    max_groups: int | None = None,
    max_rows: int | None = None,
    **named: Asked,
) -> MixedBatchQuestion: ...


@with_usage_hint("dp.batch(by_plan=question, by_age=other)")
def batch(
    questions: Mapping[str, Asked] | None = None,
    /,
    *,
    max_groups: int | None = None,
    max_rows: int | None = None,
    **named: Asked,
) -> BatchQuestion:
    """Questions about one protected table as one: one charge, the least error that is known, answers that agree.

    The common cells of their groups and conditions are found, and what is measured is chosen for exactly these
    questions: sixteen nested counts have a third of the error that they have one by one. Counts, sums, means, variances
    and lines can be asked for; with a pure epsilon, counts and sums. All ranges of a histogram, and questions whose
    keys, limits or bounds are to be found, stand beside these or by themselves, each with a part of the price for
    itself.

    Args:
        max_groups: in how many of the common cells one unit counts, where units are columns; of those that differ in
            any group or condition of any question. Without it, that of ``dp.protect``. What stands beside the others
            has limits of its own.
        max_rows: with how many rows it counts in each.
        questions: what ``.agg(...)``, ``.count()`` or ``.histogram(...)`` gave, with `ranges` or without, in a dict by
            name.
        named: the same, each as ``by_plan=question``.

    Raises:
        InvalidQuery: questions of another table or budget, with steps after the noise, or that do not add up.

    >>> from discreet.testing import people
    >>> table = people()
    >>> old, all_ages = table.filter(lambda t: t.age >= 65).count(), table.count()
    >>> import discreet as dp
    >>> both = dp.batch(old=old, all_ages=all_ages, max_groups=1, max_rows=5)
    >>> both
    <batch about 'people': 2 tables, count>
    >>> answer = both.release(epsilon=1)
    >>> answer.sum("all_ages", "count") - answer.sum("old", "count") is not None
    True
    """
    if questions is not None and not isinstance(questions, Mapping):
        raise InvalidQuery(expected("a dict of questions", "questions", questions, "write {'by_plan': question}."))
    questions = dict(questions or {})
    if twice := [name for name in named if name in questions]:
        raise InvalidQuery(expected("each name once", "name", twice[0], "give one of both questions another name."))
    questions |= named
    if not questions:
        raise InvalidQuery("Expected questions by name, got none.\nHint: write dp.batch(by_plan=..., by_age=...).")
    for name, question in questions.items():
        _check(name, question)
    parts = list(questions.values())
    sources = [one.batch.source if isinstance(one, AllRanges) else one._source for one in parts]
    source = sources[0]
    if any(one is not source for one in sources):
        cure = "ask all of them of one table; join or unite once, and ask what came of it. Two tables are two releases."
        raise InvalidQuery(expected("questions about one protected table", "batch", "several", cure))
    limits = stated_limits(source.declaration, max_groups=max_groups, max_rows=max_rows)
    verbs = {name: one._asked for name, one in questions.items() if one._asked is not None}
    recorded = RecordedBatch(verbs, given_limits(max_groups, max_rows))
    ranges = {name: _named(one, name) for name, one in questions.items() if isinstance(one, AllRanges)}
    tables = {name: one for name, one in questions.items() if isinstance(one, Question)}
    listed = {name: one._query for name, one in tables.items() if not one._is_open}
    together = _batch_of(tuple(listed), list(listed.values()), limits) if listed else None
    if together is not None and len(listed) == len(questions):
        return ListedBatchQuestion(source, recorded, together)
    left = {name: (one._query, one._open) for name, one in tables.items() if one._is_open}
    if together is None and recorded.limits:
        cure = "state limits where ranges and groups are made, .group_by(..., max_groups=1), and leave them out here."
        name, given = next(iter(recorded.limits.items()))
        raise InvalidQuery(expected("no limits without tables of listed keys", name, given, cure))
    _check_columns([*(one._query for one in tables.values()), *(one.cells for one in ranges.values())])
    mixed = MixedBatchQuery(names=tuple(questions), listed=together, open=left, ranges=ranges)
    return MixedBatchQuestion(source, recorded, mixed)


def _named(question: AllRanges[Any], name: str) -> BatchQuery:
    """The bins of a question about ranges, as a table of this name."""
    batch = question.batch.query
    (bins,) = batch.tables
    return replace(batch, tables=(replace(bins, name=name),))


def _check(name: object, question: object) -> None:
    """Refuses what is no plain question, and not about ranges."""
    if not isinstance(name, str) or not name:
        raise InvalidQuery(expected("questions by name", "name", name, "write {'by_plan': question}."))
    if isinstance(question, AllRanges):
        return
    if type(question) is not Question:
        got = type(question).__name__
        cure = "give what .agg(...) or .count() gave, before .release; several groupings are a batch by themselves."
        raise InvalidQuery(expected("questions", name, got, cure))
    if question._later:
        cure = "release the batch, and take these steps with its tables."
        raise InvalidQuery(expected("a question without steps after the noise", name, repr(question), cure))
    keys = question._query.keys
    if question._is_open:
        return
    check_added(question._query.aggregates)
    if keys is not None and type(keys) is not Keys:
        cure = "list its keys, or ask it by itself."
        raise InvalidQuery(expected("a question with listed keys", name, repr(question), cure))
    if keys is not None:
        lists = [tuple(dict.fromkeys(row[i] for row in keys.rows)) for i in range(len(keys.names))]
        if keys.rows != tuple(itertools.product(*lists)):
            cure = "list the keys of each column by itself, or ask it by itself."
            raise InvalidQuery(expected("all combinations of the keys", name, "some tuples", cure))


def _batch_of(names: Sequence[str], queries: Sequence[Query], limits: StatedLimits) -> BatchQuery:
    """The common cells of some questions, and each question as a table of them."""
    base = common_relation(queries)
    questions = [rewrite_over_relation(query, base) for query in queries]
    columns = attributes(questions, queries)
    sizes = tuple(len(column.values) for column in columns)
    aggregates, places = _shared(questions)
    asked = replace(
        queries[0],
        relation=base.to_expr(),
        limits=limits,
        aggregates=aggregates,
        filtered=True,
        most_rows=None,
        conditions=(),
    )
    cells = with_codes(asked, [(column.code, column.values) for column in columns])
    _check_limits(cells)
    tables = []
    for place, (name, query) in enumerate(zip(names, queries, strict=True)):
        axes = tuple(axis for axis, column in enumerate(columns) if place in column.maps)
        maps = tuple(_plainly(columns[axis].maps[place]) for axis in axes)
        tables.append(BatchTable(name=name, query=query, table=CellTable(axes, maps), places=places[place]))
    check_cells(cells, sizes, [table.table.axes for table in tables])
    _check_columns([table.query for table in tables])
    return BatchQuery(cells=cells, sizes=sizes, tables=tuple(tables))


def _plainly(rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """A map, or None for the one that leaves all values as they are."""
    return None if np.array_equal(rows, np.eye(rows.shape[1])) else rows


def _shared(questions: Sequence[Moved]) -> tuple[tuple[Aggregate, ...], list[tuple[int, ...]]]:
    """All aggregates of all questions, each once; and where those of each stand."""
    found: dict[Any, Aggregate] = {}
    places = []
    for question in questions:
        own = []
        for a in question.aggregates:
            ops_of = tuple(value.expr.op() for value in a.values)
            where = None if a.where is None else a.where.expr.op()
            key = (a.statistic.name, ops_of, where, a.sample, a.place)
            found.setdefault(key, replace(a, name=f"a{len(found)}"))
            own.append(list(found).index(key))
        places.append(tuple(own))
    return tuple(found.values()), places


def _check_columns(queries: Sequence[Query]) -> None:
    """Refuses names that mean keys in one table and values, or keys of another kind, in another: all tables are shown
    as one as well.
    """
    kinds: dict[str, Kind] = {}
    for query in queries:
        keys = query.keys
        for name, kind in zip(keys.names, keys.kinds, strict=True) if keys else ():
            if kinds.setdefault(name, kind) is not kind:
                cure = "rename one of them: .group_by(other_name=...)."
                raise InvalidQuery(expected("keys of one kind under one name", "name", name, cure))
    values = {f"{a.name}{end}" for query in queries for a in query.aggregates for end in ("", LOW, HIGH)}
    if both := sorted(values & set(kinds)):
        cure = "rename the aggregate; its interval takes the names x_low and x_high."
        raise InvalidQuery(expected("names that are no key in another table", "name", both[0], cure))


def _check_limits(cells: Query) -> None:
    if cells.by_row or (cells.limits.max_groups is not None and cells.limits.max_rows is not None):
        return
    unit = ", ".join(cells.declaration.unit)
    raise InvalidQuery(
        "Expected max_groups and max_rows of the batch, got less.\n"
        f"Hint: dp.batch(..., max_groups=1, max_rows=5) says in how many of the {cells.cells:,} common cells one "
        f"{unit} counts, and with how many rows in each. They are enforced, not assumed."
    )

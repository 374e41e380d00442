"""Questions with one table for an answer, with several, and about ranges: what a service makes alike of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ibis.expr.schema as sch
import pyarrow as pa

from discreet.answers.batch_release import TABLE, BatchRelease
from discreet.answers.grouped_ranges_release import GroupedRangesRelease
from discreet.answers.ranges_release import RangesRelease
from discreet.answers.release import Release
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.inference.post_processing import expectation
from discreet.planning.first_look_budget import NOTHING_TO_FIND
from discreet.planning.plan import Query
from discreet.planning.table_names import label
from discreet.query.batch_question import BatchQuestion
from discreet.query.explain_batch import WORST
from discreet.query.mixed_batch_question import MixedBatchQuestion
from discreet.query.ranges import AllRanges
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.service.application_questions import AppliedAnswer, applied_answer, applied_arguments, applied_shape
from discreet.service.asks import Ask

MOST_TABLES, MOST_CELLS, MOST_BINS, MOST_OPEN = 200, 20_000, 400, 10
"""Of what is planned for several tables together, for all ranges, and for what is to be found beside listed tables: it
takes a second of a processor to price.
"""
MOST_RANGES = 20
"""Histograms with ranges in one batch: each is read by a statement of its own."""
MOST_COLUMNS = 200
"""Of one table: each is a block of noise of its own, which takes some milliseconds to price."""


def source_of(question: Any) -> Any:
    """The source of what is asked; refuses what takes long to price."""
    batch = question.batch if isinstance(question, AllRanges) else question
    if not isinstance(batch, BatchQuestion):
        is_applied = isinstance(question, UnpricedQuestion)  # a choice and its kind, which have no aggregates
        columns = 0 if is_applied else len(question._query.aggregates)  # noqa: SLF001 (stands in for the curator here)
        if columns > MOST_COLUMNS:
            cure = "ask for less at a time, in several questions."
            raise InvalidQuery(expected(f"at most {MOST_COLUMNS} aggregates from a service", "columns", columns, cure))
        return question._source  # noqa: SLF001 (stands in for the curator here)
    cells = sum(math.prod(one.sizes) for one in batch.planned)
    bins = sum(one.sizes[-1] for one in batch.planned if one.ranges)
    for found, most, what in ((bins, MOST_BINS, "bins"), (cells, MOST_CELLS, "common cells")):
        if found > most:
            cure = "group more coarsely, or ask for less at a time."
            raise InvalidQuery(expected(f"at most {most:,} {what} from a service", "cells", f"{found:,}", cure))
    if len(batch.names) > MOST_TABLES:
        cure = "ask for less at a time: crosstabs(ways=2) in place of a cube."
        raise InvalidQuery(expected(f"at most {MOST_TABLES} tables from a service", "tables", len(batch.names), cure))
    if isinstance(batch, MixedBatchQuestion) and len(batch.mixed.open) > MOST_OPEN:
        what = f"at most {MOST_OPEN} tables from a service whose keys, limits or bounds are to be found"
        raise InvalidQuery(expected(what, "tables", len(batch.mixed.open), "ask for less at a time, or list the keys."))
    if isinstance(batch, MixedBatchQuestion) and len(batch.mixed.ranges) > MOST_RANGES:
        what = f"at most {MOST_RANGES} histograms with ranges in a batch from a service"
        raise InvalidQuery(expected(what, "tables", len(batch.mixed.ranges), "ask for less at a time."))
    return batch.source


def arguments_of(question: Any, ask: Ask) -> dict[str, Any]:
    """What `explain` and `release` of a question are given for an ask, in which tables are called by their texts."""
    found = ask.arguments
    if (own := applied_arguments(question, found)) is not None:
        return own
    if isinstance(question, BatchQuestion):
        tables = {label(name): name for name in question.names}
        return found | {
            stated: {_known(stated, name, tables): one for name, one in found[stated].items()}
            for stated in ("within", "weights")
            if stated in found
        }
    if isinstance(question, AllRanges):
        if "first_look" in found:
            raise InvalidQuery(NOTHING_TO_FIND)
        if "weights" in found:
            cure = "leave them out: a question about ranges has one table."
            raise InvalidParameter(expected("no weights", "weights", "some", cure))
        if "within" in found:
            return found | {"within": _of_the_worst(found["within"])}
    return found


def _known(stated: str, name: str, tables: Mapping[str, Any]) -> Any:
    if name not in tables:
        raise InvalidParameter(expected("a table of the batch", stated, name, nearest_name(name, tables)))
    return tables[name]


def _of_the_worst(within: Mapping[str, Any]) -> Any:
    if list(within) != [WORST]:
        cure = f'write "within": {{"{WORST}": "50"}}: by how many rows the worst of all ranges may be off.'
        raise InvalidParameter(expected("the error of the worst range", "within", sorted(within), cure))
    return within[WORST]


def answer_columns(question: Any) -> list[dict[str, str]]:
    """The names and types of the columns that the answer will have as one table, the ends of intervals included."""
    if (shape := applied_shape(question)) is not None:
        return _listed(sch.Schema.from_pyarrow(shape))
    if isinstance(question, AllRanges):
        bins = question.batch.query.tables[0].query
        return _listed(expectation(bins, reconciled=True).shape.schema())
    if not isinstance(question, BatchQuestion):
        return _listed(question._steps().shape.schema())  # noqa: SLF001 (its shape has no public name)
    tables = _tables(question)
    keys = dict.fromkeys(itertools.chain.from_iterable(one.keys.names for one, _ in tables if one.keys))
    found: dict[str, Any] = {}
    for one, reconciled in tables:
        shape = expectation(one, reconciled=reconciled).shape.schema()
        found |= {name: kind for name, kind in shape.items() if name not in found or kind.is_floating()}
    ordered = [*keys, *(name for name in found if name not in keys)]
    return [{"name": _free(found), "type": "string"}, *_listed({name: found[name] for name in ordered})]


def _tables(question: BatchQuestion) -> list[tuple[Query, bool]]:
    """What is asked for each table of a batch, in the order of the answer, and whether it agrees with others."""
    found: dict[Any, tuple[Query, bool]] = {
        one.name: (one.query, True) for planned in question.planned for one in planned.tables
    }
    if isinstance(question, MixedBatchQuestion):
        found |= {name: (query, False) for name, (query, _) in question.mixed.open.items()}
    return [found[name] for name in question.names]


def _listed(schema: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": name, "type": str(kind)} for name, kind in schema.items()]


def _free(names: Iterable[str]) -> str:
    """The name of the column that says which table a row is of."""
    found = TABLE
    while found in names:
        found += "_"
    return found


@dataclass(frozen=True)
class TablesAsOne:
    """The tables of a batch, one below the other, with what formats and pages ask of a release."""

    batch: BatchRelease

    @property
    def receipt(self) -> Any:
        """That of the batch."""
        return self.batch.receipt

    @property
    def groups(self) -> tuple[str, ...]:
        """The column that names the table, and the keys of all tables."""
        values = {f"{name}{end}" for name in self.columns for end in ("", "_low", "_high")}
        return tuple(name for name in self.to_pyarrow().column_names if name not in values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the aggregates of all tables."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(one.columns for one in self.batch.tables)))

    def to_pyarrow(self) -> pa.Table:
        """All rows."""
        return self.batch.to_pyarrow()

    def intervals(self, confidence: float) -> pa.Table:
        """All rows at another confidence, for nothing."""
        return self.batch._as_one(self.batch.intervals(confidence))  # noqa: SLF001 (what to_pyarrow does)


def as_one(answer: Any) -> Release | TablesAsOne | AppliedAnswer:
    """An answer as one table: the bins of ranges, of all groups; all tables of a batch; all levels of a path."""
    if (applied := applied_answer(answer)) is not None:
        return applied
    if isinstance(answer, BatchRelease):
        return TablesAsOne(answer)
    return answer.table if isinstance(answer, RangesRelease | GroupedRangesRelease) else answer

"""Steps whose exact totals the curator keeps: a release reads the rows of later steps, and of no others.

Claim
    In all points that are published with kept steps, the totals of a step are one value x_s: what was found when it was
    read for its record, whatever happened to its rows since. Where tables grow as `active_steps` requires, these are
    the totals that a release without kept steps finds. In neighboring histories x differs in at most `max_steps` steps,
    any two `apart` or more, in each within the limits of a question.
Requires
    As `active_steps`, but for rows that stay: those of a kept step may change, or go. Where each row is a unit, none
    comes to another step. A unit that is told from others by its text (`TOLD_APART`).
Relies on
    `kept_step_files`: one sequence of records, whoever was killed and whoever was first. `active_steps`,
    `engines.contribution_weights` for the limits in one step. Joins on equal texts and integers.
Proof
    *One value.* `totals` gives what records hold, and a record stays. A step that is in none is read, and the record is
    written before the ledger has a point that was drawn from it; who was slower takes the record that is there. So a
    process that is killed before the ledger's record leaves one from which the same x is taken later. A point has the
    mark of the record of its last step (`Point.kept`), and a draw that comes behind it is thrown away or is from
    records that have this mark: an older copy of the folder, one that went on from other rows, or a mixture of several
    is refused. If the last point was drawn from all rows, steps may be read once more, which the claim does not cover.
    *The same as without.* By induction over records: with a unit has been kept in how many steps it counts so far, and
    which is the last. `counted` continues its chain step after step: of steps in which it has rows, the next one that
    is `apart` or more behind the last one, up to `max_steps`. This is the chain that `active_steps` finds in all rows.
    Of later steps, the rows of these pairs of a unit and a step alone come to the engine, which finds all of them in
    its chain once more. Units are known by their texts; where these become others with the type of a column, so does
    the folder (`_notations`).
    *Neighbors.* Whether a pair counts follows from the unit's own rows at the looks. Rows that came between the look at
    the pairs and that at the totals are joined with the pairs: in a step in which a unit does not count, it has none.
    So over all records one unit is in at most `max_steps` steps; in each of them the engine bounds what it adds, and
    the totals of everybody else are what they are without it.
    *Which rows are left out unread.* `since` leaves out rows of which the raw column is below the first moment of the
    first step that is missing. Behind the barrier a date, a moment or a whole number is itself, the nearer bound or
    the nearer end of what a column holds; where it has bounds, nothing is left out. Dates that are read of texts are in
    the order of these. The steps of what is read are compared once more. No such row makes the comparison fail: it is
    of two values of one type, where moments are in microseconds.
Rounding
    None here.
Source
    As `active_steps`; a materialized view that is maintained step by step.
Mutant
    units-forgotten: no unit counted in earlier steps; killed by test_a_unit_counts_in_its_first_steps.
    rows-between-looks: rows of units that do not count in a step are let through; killed by
    test_rows_between_two_looks_count_for_nobody_new.
    first-step-unread: a step too many is left out unread; killed by test_a_unit_counts_in_its_first_steps.
    bounds-unasked: rows are left out whatever the bounds of their column; killed by test_dates_that_bounds_move.
    records-of-older-rows: the version of the rows is compared with the first records alone; killed by
    test_older_rows_are_not_kept_once_another_process_was_quicker.
    moments-of-any-scale: moments in seconds are compared with one in microseconds; killed by
    test_far_moments_in_a_column_of_steps.
    any-copy-goes-on: a copy of the folder that was not published of goes on; killed by
    test_another_copy_of_the_folder_is_refused.
    refusals-with-frames: what is refused has the frames in which it was read; killed by
    test_no_kept_total_is_in_reach_of_a_failure.
    ledger-runs-ahead: records that were lost are read again; killed by test_steps_that_were_lost_are_refused.
    units-of-any-notation: a UUID may come as text later; killed by test_a_unit_is_not_written_in_another_way_later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.curator.protected_table import Protected
from discreet.curator.release_key import hashed
from discreet.engines.exact_totals import totals
from discreet.engines.multi_table_engine import TablePart, several_tables
from discreet.engines.relational_operations import joined, selected, sides
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery, expected
from discreet.language.binning import try_cast
from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.input_barrier import kind_of, scan_name
from discreet.planning.contribution_bounding import units
from discreet.privacy.declaration import Declaration
from discreet.series.active_steps import STEP, one_step_units
from discreet.series.kept_step_files import CURE, StepFiles, StepRecord
from discreet.series.participation import Participation
from discreet.series.series_plan import SeriesPlan, published_totals
from discreet.series.series_record import Point, check_version

if TYPE_CHECKING:
    from discreet.series.series_question import SeriesQuestion

TOLD_APART = (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN)
"""Of units of these kinds, texts are equal where values are, on every engine and in every version of it, as long as
what is a UUID stays one (`input_barrier.one_notation`).
"""
MICROSECONDS = 6
"""The digits of a second in moments that are compared as they are: of coarser ones DuckDB fails on some."""
TIMES, LAST = "times", "last"
"""In how many steps a unit counts, and which is the last of them."""


def check_keeping(source: Protected, question: SeriesQuestion) -> None:
    """Refuses steps that cannot be kept, before they are charged, where the curator keeps some."""
    if source.keep_steps is not None:
        KeptSteps(source, question)


def kept_totals(
    source: Protected,
    question: SeriesQuestion,
    opened: tuple[str, bytes],
    points: list[Point],
    plan: SeriesPlan,
    *,
    last: int,
) -> tuple[list[NDArray[Any]], str] | DiscreetError:
    """The exact totals of a series that was opened, from what is kept and the rows of later steps, and the mark of the
    record of the last one. Where something was lost, or is of another copy, the refusal: who raises it has none of the
    frames here, which hold totals.
    """
    try:
        kept = KeptSteps(source, question)
        files = kept.files(*opened, points)
    except (InvalidParameter, InvalidQuery) as refused:
        return type(refused)(str(refused))
    return kept.totals(files, plan, last), files.mark_of(last)


class KeptSteps:
    """The exact totals of a series, from the folder of the curator as far as they are there."""

    def __init__(self, source: Protected, question: SeriesQuestion) -> None:
        """Refuses what cannot be kept, before anything is charged; no row is read, and the folder is made."""
        self._source, self._terms = source, question._terms  # noqa: SLF001 (a question of this room)
        self._asked = question._question._query.relation  # noqa: SLF001 (as above)
        self._rows = self._terms.steps._relation  # noqa: SLF001 (a verb of this table, in another room)
        terms = self._terms
        folder = Path(str(source.keep_steps))
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            cure = "name a folder that this user may write to."
            raise InvalidParameter(expected("a folder for steps", "keep_steps", folder.name, cure)) from None
        self._hidden = [] if one_step_units(terms.table, self._moment) else units(self._rows)
        types = {name: source.schema[name] for name in source.declaration.unit if self._hidden}
        wrong = next((name for name, dtype in types.items() if kind_of(dtype) not in TOLD_APART), None)
        if wrong is not None:
            cure = "cast it to text before it is protected; or leave keep_steps out, and all rows are read each time."
            raise InvalidQuery(expected("a unit of whole numbers or texts, to keep steps", "unit", wrong, cure))
        # A UUID that comes as text later may have capital letters: it would be another unit, with steps of its own.
        self._notations = {name: "uuid" if one.is_uuid() else str(kind_of(one)) for name, one in types.items()}
        self._engine(0, self._pairs_schema.empty_table() if self._hidden else None)

    @property
    def _moment(self) -> str:
        """The column that says in which step a row counts."""
        return self._terms.late[0] if "count" in self._terms.late[1:] else self._terms.by

    @property
    def _pairs_schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self._hidden] + [(STEP, pa.int64())])

    def files(self, key: str, opening: bytes, points: list[Point]) -> StepFiles:
        """What is kept of a series; refuses what was lost or changed, other copies, and an older version."""
        known = hashed(["kept steps", key, sha256(opening).hexdigest(), self._notations])
        files = StepFiles(Path(str(self._source.keep_steps)), known)
        records = self._records(files)
        with suppress(FileNotFoundError):  # somebody is ahead
            files.units()
        end = records[-1].totals.end if records else 0
        if points and points[-1].kept and files.mark_of(points[-1].end - 1) != points[-1].kept:
            what = f"the {points[-1].end:,} steps that were published of kept totals"
            got = f"{end:,} in the folder" if end < points[-1].end else "others, of another copy of the folder"
            raise InvalidParameter(expected(what, "keep_steps", got, CURE))
        return files

    def _records(self, files: StepFiles) -> list[StepRecord]:
        """All records, none of newer rows than these: another process may have read some meanwhile."""
        records = files.records()
        check_version([record.totals for record in records], self._source.declaration.version)
        return records

    def totals(self, files: StepFiles, plan: SeriesPlan, last: int) -> list[NDArray[Any]]:
        """Of each block the exact totals of every step up to `last`, a row a step; those that are missing are read,
        and kept before anybody sees what is made of them.
        """
        while True:
            records = self._records(files)
            first = records[-1].totals.end if records else 0
            if first > last:
                blocks = zip(*(record.totals.noisy for record in records), strict=True)
                return [np.concatenate(block)[: last + 1] for block in blocks]
            try:
                before = files.units()
            except FileNotFoundError:  # somebody was faster
                continue
            files.add(len(records) + 1, *self._looked(plan, (first, last), before))
            if len(files.records()) == len(records):
                raise RuntimeError(first)

    def _looked(
        self, plan: SeriesPlan, span: tuple[int, int], before: pa.Table | None
    ) -> tuple[Point, pa.Table | None]:
        """The totals of some steps that were not read yet, and the units of all steps so far."""
        first, last = span
        rows = self._rows
        own = rows.filter(rows[STEP] >= first, rows[STEP] <= last)
        pairs, after = None, None
        if self._hidden:
            pairs, after = counted(before, self._pairs(own, first), self._terms.participation)
            own = with_pairs(own, self._hidden, scan_name(1))
        engine = self._engine(first, pairs)
        step_plan = plan.step_plan(self._asked, last + 1, first)
        whole = totals(step_plan)
        if rows.op() not in whole.op().find(ops.Relation):
            raise TypeError(rows)
        statement = engine.compiled(whole.op().replace({rows.op(): own.op()}).to_expr())
        exact = published_totals(plan, engine.totals(step_plan, statement))
        return Point(first, self._source.declaration.version, private=False, noisy=exact), after

    def _pairs(self, own: ir.Table, first: int) -> pa.Table:
        """Which unit has rows in which step."""
        active = selected(own, {name: cast(own[name], Kind.TEXT) for name in self._hidden} | {STEP: own[STEP]})
        every = active.aggregate(active.count().name(TIMES), by=[*self._hidden, STEP])
        engine = self._engine(first, None)
        found = engine.run_statement(self._source.declaration, engine.compiled(every))
        return found.select(self._pairs_schema.names).cast(self._pairs_schema)

    def _engine(self, first: int, pairs: pa.Table | None) -> Any:
        """The table from a step on, with the pairs beside it."""
        engine: Any = self._source.desk.engine
        column = scanned_column(self._terms.table._relation, self._moment)  # noqa: SLF001 (as above)
        declared, begin = self._source.declaration, self._terms.calendar.begin(first)
        if column is not None and column not in declared.bounds:
            dtype = self._source.schema[column]
            if in_order(dtype):
                engine = engine.since(column, begin)
            elif dtype.is_string() and getattr(engine, "own_connection", None) is not None:  # where texts are bytes
                engine = engine.since(column, begin.isoformat())
        if pairs is None:
            return engine
        beside = TablePart(Declaration(name="kept steps", unit=()), rows=pairs, secret=True)
        return several_tables((TablePart(declared, engine), beside))


def in_order(dtype: dt.DataType) -> bool:
    """Whether values of a type are what the barrier makes of them, in the same order."""
    if dtype.is_timestamp():
        return dtype.timezone is None and dtype.scale in (None, MICROSECONDS)
    return bool(dtype.is_date() or dtype.is_signed_integer())


def scanned_column(relation: ir.Table, name: str) -> str | None:
    """The raw column that a column is, or of whose texts it has the dates; None where it is computed."""
    op = relation.op()
    while not isinstance(op, ops.UnboundTable):
        if isinstance(op, ops.Filter):
            op = op.parent
            continue
        value = op.values[name] if isinstance(op, ops.Project) else None
        if not isinstance(value, ops.Field):
            value = next((one for one in value.find(ops.Field) if _dates(one) == value), None) if value else None
        if value is None:
            return None
        name, op = value.name, value.rel
    return name


def _dates(field: ops.Field) -> ops.Node | None:
    """What a column of texts is as dates: NULL but for the days as ISO 8601 writes them, whose order theirs is."""
    if not field.dtype.is_string():
        return None
    text = Value(field.to_expr(), Kind.TEXT, None, nullable=True)
    return try_cast(ops.TryCast(field, dt.date), lambda _: text).expr.op()


def with_pairs(own: ir.Table, hidden: Sequence[str], place: str) -> ir.Table:
    """The rows of which the unit and the step are among the pairs, each of which is there once."""
    left, right = sides(own, ibis.table({**dict.fromkeys(hidden, "string"), STEP: "int64"}, name=place))
    same = [cast(left[name], Kind.TEXT) == right[name] for name in hidden]
    return joined(left, right, [*same, left[STEP] == right[STEP]], {name: left[name] for name in own.columns})


def counted(before: pa.Table | None, pairs: pa.Table, taken: Participation) -> tuple[pa.Table, pa.Table]:
    """The pairs of a unit and a step in which it counts; and of every unit so far how often it does, and when last.

    >>> pairs = pa.table({"unit": ["a", "a", "b", "a"], "step": [4, 5, 5, 9]})
    >>> kept, after = counted(None, pairs, Participation(steps=2, apart=2))
    >>> kept.to_pylist()
    [{'unit': 'a', 'step': 4}, {'unit': 'b', 'step': 5}, {'unit': 'a', 'step': 9}]
    >>> after.to_pylist()
    [{'unit': 'a', 'times': 2, 'last': 9}, {'unit': 'b', 'times': 1, 'last': 5}]
    >>> counted(after, pa.table({"unit": ["a", "b"], "step": [20, 20]}), Participation(steps=2))[0].to_pylist()
    [{'unit': 'b', 'step': 20}]
    """
    hidden = [name for name in pairs.column_names if name != STEP]
    known = 0 if before is None else before.num_rows
    named = [pairs.select(hidden)] if before is None else [before.select(hidden), pairs.select(hidden)]
    every = pa.concat_tables(named)
    first, codes = _codes(every)
    times, last = np.zeros(len(first), dtype=np.int64), np.full(len(first), -taken.apart, dtype=np.int64)
    if before is not None:
        times[codes[:known]], last[codes[:known]] = before[TIMES].to_numpy(), before[LAST].to_numpy()
    whose, steps = codes[known:], pairs[STEP].to_numpy()
    order = np.lexsort((whose, steps))
    order = order[(np.diff(steps[order], prepend=-1) != 0) | (np.diff(whose[order], prepend=-1) != 0)]  # each pair once
    found = []
    for places in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1):
        own = whose[places]
        takes = (times[own] < taken.steps) & (steps[places] - last[own] >= taken.apart)
        found.append(places[takes])
        times[own[takes]] += 1
        last[own[takes]] = steps[places[takes]]
    after = every.take(first).append_column(TIMES, pa.array(times)).append_column(LAST, pa.array(last))
    return pairs.take(np.sort(np.concatenate(found))), after


def _codes(named: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each unit, and of each row which unit it is."""
    codes = np.zeros(named.num_rows, dtype=np.int64)
    for column in named.columns:
        told = column.combine_chunks().dictionary_encode()
        codes = codes * max(1, len(told.dictionary)) + told.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(codes, return_inverse=True)[1]
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return first, codes

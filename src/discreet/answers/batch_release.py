"""The answer to a batch: tables that agree with each other, and any sum of their cells with its interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.answers.cell_sums import CellSums, row_weights
from discreet.answers.count_constraints import possible_counts
from discreet.answers.linear_combination import Combination
from discreet.answers.receipt import Receipt
from discreet.answers.release import Release
from discreet.answers.table_exports import TableExports
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name, printable
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import TABLES, ReleasedNames
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.plan import Query
from discreet.planning.planner import level
from discreet.planning.table_names import Name, label, table_named

TABLE = "table"
"""The column that says which table a row of all tables together is of."""


class BatchRelease(CellSums, TableExports, ReleasedNames, Mapping[Name, Release]):
    """Tables that were released together, by name; those of a cube by their attributes, in any order.

    Each is a ``Release``. Tables agree: the cells of one add up to those of
    another wherever they speak of the same people, since all are computed from the same noisy sums. So counts are not
    whole numbers.

    >>> from discreet.testing import people
    >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
    >>> answer = cube.release(epsilon=1)
    >>> list(answer)
    [(), ('plan',)]
    >>> bool(abs(answer["plan"]["n"].sum() - answer[()]["n"][0]) < 1e-6)
    True
    """

    _ask: ClassVar[str] = "ask for one of its tables, answer['by_plan'], or for their number, len(answer)."
    _instead = TABLES

    def __init__(
        self,
        plan: BatchPlan | None,
        noisy: Sequence[NDArray[Any]],
        facts: Mapping[str, Any],
        confidence: float,
        *,
        apart: Mapping[str, Release] | None = None,
        names: Sequence[Name] | None = None,
    ) -> None:
        self._together, self._noisy, self._receipt, self._confidence = plan, noisy, Receipt(facts), confidence
        self._totals = [] if plan is None else plan.totals(noisy)
        found: dict[Name, Release] = {}
        found.update(apart or {})
        if plan is not None:
            for name, own, totals in zip(plan.query.names, plan.tables, self._totals, strict=True):
                found[name] = Release(own, totals, facts, confidence)
        self._tables = {name: found[name] for name in (found if names is None else names)}

    @property
    def _plan(self) -> BatchPlan:
        """That of the tables which were planned together."""
        if self._together is None:
            cure = "ask each answer for its own cells and intervals, answer['by_age']."
            raise InvalidQuery(expected("tables that were planned together", "batch", "none", cure))
        return self._together

    @property
    def receipt(self) -> Receipt:
        """What was promised and how it was kept, for all tables together. A copy, ready for JSON."""
        return Receipt.of(self._receipt)

    @property
    def tables(self) -> tuple[Release, ...]:
        """All tables as such: of ranges, the bins."""
        return tuple(self._tables.values())

    def _name(self, name: object) -> Name:
        found = table_named(name, self._tables)
        if found is None:
            known = nearest_name(name, [str(own) for own in self._tables])
            raise InvalidParameter(expected("a table of the batch", "name", name, known))
        return found

    def __getitem__(self, name: Any) -> Release:
        return self._tables[self._name(name)]

    def __contains__(self, name: object) -> bool:
        return table_named(name, self._tables) is not None

    def __iter__(self) -> Iterator[Name]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @with_usage_hint(".weighted('by_plan', 'n', weights)")
    def weighted(self, table: Any, column: str, weights: ArrayLike) -> Combination:
        """The sum of a column over the cells of a table, each times its weight, a number for each row; errors as of
        `sum`.
        """
        name = self._planned(table)
        place = self._plan.query.names.index(name)
        release = self._tables[name]
        weights = row_weights(weights, len(release))
        if not isinstance(column, str) or column not in release.columns:
            raise InvalidParameter(
                expected("a column of the table", "column", column, nearest_name(column, release.columns))
            )
        found = self._plan.column(place, column)
        if found is None:
            cure = "add up counts and sums; .intervals() has those of the others."
            raise InvalidQuery(expected("a column of counts or sums", "column", column, cure))
        form = self._plan.form(place, weights)
        forms = {
            (block, component): tuple(weight * part for part in form)
            for block, own in zip(found.blocks, found.coefficients, strict=True)
            for component, weight in enumerate(own)
        }
        value, size = (
            math.fsum(own.tolist()) for own in (release[column] * weights, np.abs(release[column] * weights))
        )
        return Combination(self._plan, value, forms, self._confidence, size)

    def _planned(self, table: object) -> Name:
        """The name of a table that was planned with others."""
        name = self._name(table)
        if self._together is None or name not in self._together.query.names:
            cure = f"answer[{name!r}] has its cells, each with noise of its own."
            raise InvalidQuery(expected("a table that was planned with others", "table", name, cure))
        return name

    def _rows(self, table: Any) -> tuple[pa.Table, tuple[str, ...]]:
        """The rows of a table, and the columns that name its cells."""
        release = self._tables[self._planned(table)]
        return release.to_pyarrow(), release.groups

    @with_usage_hint(".intervals(confidence=0.9)")
    def intervals(self, confidence: float = 0.95, *, simultaneous: bool = False) -> dict[Name, pa.Table]:
        """Values and ends of each table at another confidence, for nothing: per cell, or with `simultaneous` for all
        cells, columns and tables at once (Bonferroni).
        """
        wanted = level(confidence)
        if flag("simultaneous", simultaneous):
            every = sum(max(1, len(one)) * len(one.columns) for one in self._tables.values())
            wanted = 1 - (1 - wanted) / max(1, every)
        return {name: one.intervals(wanted) for name, one in self._tables.items()}

    def counts(self, *, nonnegative: bool = True, integers: bool = False) -> dict[Name, pa.Table]:
        """The counts of all tables as counts can be: none below 0, or whole numbers; they still agree.

        They are those of the cells that fit the noisy tables best, table by table by the inverse of its variance. Ends
        are those of the answer, at 0 where they were below; a value may lie beside them. This has a price: where many
        cells are empty their noise is no longer as often below as above, so that they are too large on average, and
        full ones too small. Sums of many cells are better taken from the answer, whose estimates are unbiased.

        Args:
            nonnegative: whether no cell is below 0.
            integers: whether all are whole numbers.

        Raises:
            InvalidQuery: there is no count, or there are too many cells.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> counts = cube.release(epsilon=1).counts(integers=True)
        >>> sum(counts["plan",]["n"].to_pylist()) == counts[()]["n"][0].as_py()
        True
        """
        kinds = {"nonnegative": flag("nonnegative", nonnegative), "integers": flag("integers", integers)}
        return possible_counts(self._plan, self._tables, **kinds)

    def stacked(self, query: Query) -> Release:
        """All tables as one answer to a question whose groups are those of the tables, one after the other."""
        plan = self._plan.stacked(query)
        totals = [np.concatenate(parts) for parts in zip(*self._totals, strict=True)]
        return Release(plan, totals, self._receipt, self._confidence)

    def to_pyarrow(self) -> pa.Table:
        """All tables, one below the other, as SQL gives them: a key that a table does not have is NULL, and the column
        ``table`` (``table_`` where there is one of this name) names the table.
        """
        return self._as_one({one: own.to_pyarrow() for one, own in self._tables.items()})

    def _as_one(self, held: Mapping[Name, pa.Table]) -> pa.Table:
        keys = list(dict.fromkeys(itertools.chain.from_iterable(one.groups for one in self._tables.values())))
        table = TABLE
        while any(table in own.column_names for own in held.values()):
            table += "_"
        parts = []
        for name, own in held.items():
            parts.append(own.add_column(0, table, pa.array([label(name)] * own.num_rows, pa.string())))
        whole = pa.concat_tables(parts, promote_options="permissive")  # whole numbers beside others
        values = [name for name in whole.column_names if name not in {table, *keys}]
        return whole.select([table, *keys, *values])

    def __repr__(self) -> str:
        return "\n".join(f"{printable(label(name))}\n{one!r}" for name, one in self._tables.items())

    def _repr_html_(self) -> str:
        from html import escape

        parts = [f"<h4>{escape(printable(label(name)))}</h4>{one._repr_html_()}" for name, one in self._tables.items()]
        return "".join(parts)

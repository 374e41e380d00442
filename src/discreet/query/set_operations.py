"""Set operations on the rows of two tables: union, intersection and difference.

Claim
    Each row of the result belongs to one unit, and the rows of a unit are a function of that unit's own rows in both
    tables; where each row is a unit, one has at most a row for each table that was united, each time that it was.
Requires
    Two tables that protect the same unit, under the same neighbors and the same budget.
Relies on
    `Source.beside`, which refuses all others, and adds up how many rows one unit has: `Declaration.rows_changed`.
Proof
    The hidden columns of the unit take part like all others. A union of rows keeps each row's unit. Rows that are in
    both tables, or in the first alone, are compared with their unit, so a unit's rows meet its own rows only. So adding
    or removing one unit changes its rows in the result and no others, and limits are enforced after this step. Where
    each row is a unit, no limit follows: one unit has a row in each table of D at most, and so a + b rows in the union
    of tables in which it has a and b. That holds for any two tables, also for one that is united with itself, with its
    copy or with another version. No other verb is accepted for such tables.
Rounding
    None here.
Source
    Union, Intersect and Except of McSherry, "Privacy integrated queries" (2009), there at twice the charge.
Mutant
    whose-rows: rows are compared without their unit, so that one unit's row hides another's; killed by
    test_a_row_of_one_unit_hides_no_other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Self

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected
from discreet.language.barrier import place_of, scan_name
from discreet.language.checked_expressions import Measure, Value
from discreet.planning.contribution_bounding import units
from discreet.query.source import Beside
from discreet.query.steps import Chain
from discreet.sensitivity.intervals import hull


class TablePair(NamedTuple):
    """Two tables in one plan."""

    beside: Beside
    left: ir.Table
    right: ir.Table


def paired(first: Chain, second: Any, verb: str) -> TablePair:
    """Two protected tables in one plan, with units of one type."""
    if not isinstance(second, Chain):
        cure = f"protect both tables, and write people.{verb}(others)."
        raise InvalidQuery(expected("a protected table", "other", type(second).__name__, cure))
    beside = first._source.beside(second._source)
    op = second._relation.op()
    moved = {
        table: ibis.table(table.schema, name=scan_name(beside.places[place_of(table.name)])).op()
        for table in op.find(ops.UnboundTable)
    }
    left, right = first._relation, op.replace(moved).to_expr()
    for name in units(left):
        kinds = left[name].type(), right[name].type()
        if kinds[0].copy(nullable=True) == kinds[1].copy(nullable=True):
            continue
        wide = {name: dt.int64}  # `beside` lets no others pass than signed integers of two widths
        left, right = left.cast(wide), right.cast(wide)
    return TablePair(beside, left, right)


def written_size(*values: Value) -> Measure:
    """How large a column of several tables is when it is written out."""
    return Measure(max(v.measure.depth for v in values) + 3, sum(v.measure.size for v in values) + 3)


class SetVerbs(Chain):
    """Verbs that take the rows of two tables with the same columns."""

    def union(self, other: Any) -> Self:
        """All rows of both tables, which have the same columns; a row that is in both counts twice.

        A unit's rows come from both tables and are bounded afterwards, by the limits of this one. Where each row is a
        unit, one may have a row in each table: k tables have k times the noise of one.

        >>> from discreet.testing import people
        >>> table = people()
        >>> table.filter(lambda t: t.age < 18).union(table.filter(lambda t: t.age > 64)).count()
        <question about 'people': count>
        """
        pair = self._paired(other, "union")
        columns = {name: _both_ranges(value, other._columns[name]) for name, value in self._columns.items()}
        both = (self._most_rows, other._most_rows)
        most = None if None in both else sum(n for n in both if n is not None)
        keys = {n: known for n, known in self._keys.items() if other._keys.get(n) == known}
        made = self._combined(pair, other, columns, ibis.union, keys=keys, most=most)
        return made._recorded(self, "union", other=other)

    def intersect(self, other: Any) -> Self:
        """The distinct rows that a unit has in both tables, which have the same columns.

        >>> from discreet.testing import people
        >>> table = people().select("plan", "age")
        >>> table.intersect(table.filter(lambda t: t.age > 50)).columns
        ('plan', 'age')
        """
        pair = self._own_rows(other, "intersect")
        made = self._combined(pair, other, self._columns, ibis.intersect, keys=self._keys, most=self._most_rows)
        return made._recorded(self, "intersect", other=other)

    def difference(self, other: Any) -> Self:
        """The distinct rows that a unit has in this table and not in the other, which has the same columns.

        >>> from discreet.testing import people
        >>> table = people().select("plan", "age")
        >>> table.difference(table.filter(lambda t: t.age > 50)).columns
        ('plan', 'age')
        """
        pair = self._own_rows(other, "difference")
        made = self._combined(pair, other, self._columns, ibis.difference, keys=self._keys, most=self._most_rows)
        return made._recorded(self, "difference", other=other)

    def _own_rows(self, other: Any, verb: str) -> TablePair:
        self._unit_of_columns("each row is a unit of its own, and has no others to be compared with.")
        return self._paired(other, verb)

    def _paired(self, other: Any, verb: str) -> TablePair:
        pair = paired(self, other, verb)
        mine, others = ({n: v.kind.value for n, v in table._columns.items()} for table in (self, other))
        if mine != others:
            what = sorted({n for n in {**mine, **others} if mine.get(n) != others.get(n)})
            cure = "bring both to the same columns of the same kinds with .select, .rename and .cast."
            raise InvalidQuery(expected("tables with the same columns", "different", what, cure))
        return pair

    def _combined(
        self, pair: TablePair, other: Chain, columns: Any, made: Callable[..., ir.Table], *, keys: Any, most: int | None
    ) -> Self:
        names = [*self._columns, *units(pair.left)]
        left, right = pair.left.select(names), pair.right.select(names)
        relation = made(left, right, distinct=made is not ibis.union)
        known = {n: replace(v, measure=written_size(v, other._columns[n])) for n, v in columns.items()}
        table = self._with(relation, known, self._columns, conditions=1 + other._steps, keys=keys)
        return replace(table, _source=pair.beside.source, _most_rows=most)


def _both_ranges(one: Value, other: Value) -> Value:
    """What is known of a column of both tables' rows."""
    if one.interval is None or other.interval is None:
        ends = [value.span for value in (one, other) if value.span is not None]
        span = (min(e[0] for e in ends), max(e[1] for e in ends)) if len(ends) == 2 else None
        return replace(one, span=span, nullable=one.nullable or other.nullable)
    narrow = None if one.narrow is None or other.narrow is None else hull(one.narrow, other.narrow)
    interval = hull(one.interval, other.interval)
    return replace(one, interval=interval, narrow=narrow, nullable=one.nullable or other.nullable)

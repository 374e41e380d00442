"""Set operations on the rows of two tables: union, intersection and difference.

Claim
    Each row of the result belongs to one unit, and the rows of a unit are a function of that unit's own rows in both
    tables. Where each row is a unit that has a and b of the two tables' rows, what `union` and `intersect` make with it
    is what they make without it, and at most a + b rows more; what `difference` makes differs in at most a + b rows.
    `distinct` of a rows is what it is without them, and at most a rows more.
Requires
    Two tables that protect the same unit, under the same neighbors and the same budget.
Relies on
    `Source.beside`, which refuses all others, and adds up how many rows one unit has: `Declaration.rows_changed`.
Proof
    The hidden columns of the unit take part like all others. A union of rows keeps each row's unit. Rows that are in
    both tables, or in the first alone, are compared with their unit, so a unit's rows meet its own rows only. So adding
    or removing one unit changes its rows in the result and no others, and limits are enforced after this step. A unit
    with at most a rows in a group of one table and b in that of the other has at most a + b in the union, and is in at
    most as many groups as in both together: with limits that add up, nothing of it is weighted down.
    *Rows as units.* No limit follows. One unit has a row in each table of D at most. Let A and B be two tables without
    it, and A+ and B+ those with its a and b rows; the claim has to hold of them again after each verb. The union has
    these rows more. A row in both A+ and B+ that is not in both A and B is one of the a or one of the b, and what is in
    both A and B stays: the intersection has at most a + b rows more. A row is in A+ but not in B+, or in A but not in
    B, and not both: then it is one of the a (it came) or one of the b (it went), so at most a + b come or go, some this
    way and some that, as in a join of different units, whose source `difference` therefore takes. Distinct rows of A+
    are those of A, and some of the a. All this holds for any two tables, also for one with itself, with its copy or
    with another version; and for replaced units, which leave in one step and enter in another. -0.0 equals 0.0 and is
    made that first, so that it does not show which of several equal rows was there.
Rounding
    None here.
Source
    Union, Intersect and Except of McSherry, "Privacy integrated queries" (2009), there at twice the charge.
Mutant
    differences-move-one-way: rows of a difference come as they go, all at once; killed by
    test_what_comes_and_goes_is_asked_for_totals_alone.
    larger-limit-of-two: the limits of a union are those of the table that has the larger ones; killed by
    test_limits_of_both_add_up.
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
from discreet.exact.given_values import flag
from discreet.language.checked_expressions import Measure, Value
from discreet.language.input_barrier import place_of, scan_name
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.contribution_bounding import units
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Neighbors
from discreet.query.query_steps import Chain, without_signs
from discreet.query.source import Beside
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

    def union(self, other: Any, *, raise_limits: bool = False) -> Self:
        """All rows of both tables, which have the same columns; a row that is in both counts twice.

        A unit's rows come from both tables and are bounded afterwards, by the limits of this one, or, with
        `raise_limits`, by the limits of both added up: then no row that counts in its own table is weighted down. Where
        each row is a unit, one may have a row in each table: k tables have k times the noise of one.

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
        if flag("raise_limits", raise_limits):
            self._unit_of_columns("leave raise_limits out: there are no limits to raise, and every row is paid for.")
            limits = _added_limits(self._source.declaration, other._source.declaration)
            made = replace(made, _source=made._source.restated(**limits))
        return made._recorded(self, "union", other=other, raise_limits=raise_limits)

    def intersect(self, other: Any) -> Self:
        """The distinct rows that a unit has in both tables, which have the same columns.

        Where each row is a unit, these are the distinct rows that are in both, and the noise is that of both tables.

        >>> from discreet.testing import people
        >>> table = people().select("plan", "age")
        >>> table.intersect(table.filter(lambda t: t.age > 50)).columns
        ('plan', 'age')
        """
        pair = self._paired(other, "intersect")
        made = self._combined(pair, other, self._columns, ibis.intersect, keys=self._keys, most=self._most_rows)
        return made._recorded(self, "intersect", other=other)

    def difference(self, other: Any) -> Self:
        """The distinct rows that a unit has in this table and not in the other, which has the same columns.

        Where each row is a unit, these are the distinct rows that are here and not there, with the noise of both
        tables, for add-remove neighbors. One unit's row makes some come and others go, so that counts, sums, means and
        variances by public keys can be asked of them, as after a join on other keys.

        >>> from discreet.testing import people
        >>> table = people().select("plan", "age")
        >>> table.difference(table.filter(lambda t: t.age > 50)).columns
        ('plan', 'age')
        """
        pair = self._paired(other, "difference")
        declared = self._source.declaration
        if not declared.unit and declared.neighbors is not Neighbors.ADD_REMOVE:
            cure = "compare the rows before they are protected, or protect persons, unit='person'."
            raise InvalidQuery(expected("add-remove neighbors, or a unit of columns", "neighbors", "replace-one", cure))
        made = self._combined(pair, other, self._columns, ibis.difference, keys=self._keys, most=self._most_rows)
        if not declared.unit:
            made = replace(made, _source=made._source.rowwise(made._source.declaration.rows_changed))
        return made._recorded(self, "difference", other=other)

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
        # Selecting what is there in this order already would be an operation that Ibis does not always leave out.
        left, right = (one if list(one.columns) == names else one.select(names) for one in (pair.left, pair.right))
        if made is not ibis.union and not self._source.declaration.unit:
            left, right = without_signs(left), without_signs(right)
        relation = made(left, right, distinct=made is not ibis.union)
        known = {n: replace(v, measure=written_size(v, other._columns[n])) for n, v in columns.items()}
        table = self._with(relation, known, self._columns, conditions=1 + other._steps, keys=keys)
        conditions = (*self._conditions, *other._conditions)
        return replace(table, _source=pair.beside.source, _most_rows=most, _conditions=conditions)


def _added_limits(first: Declaration, second: Declaration) -> dict[str, int]:
    """The limits of two tables together, of those that both have; a unit within each of them is within these."""
    found = {}
    for name in ("max_groups", "max_rows"):
        both = (getattr(first, name), getattr(second, name))
        if None not in both and name not in first.auto_limits | second.auto_limits:
            found[name] = min(ROW_CAP, sum(both))
    return found


def _both_ranges(one: Value, other: Value) -> Value:
    """What is known of a column of both tables' rows."""
    if one.interval is None or other.interval is None:
        ends = [value.span for value in (one, other) if value.span is not None]
        span = (min(e[0] for e in ends), max(e[1] for e in ends)) if len(ends) == 2 else None
        return replace(one, span=span, nullable=one.nullable or other.nullable)
    narrow = None if one.narrow is None or other.narrow is None else hull(one.narrow, other.narrow)
    interval, capped = hull(one.interval, other.interval), one.capped or other.capped
    return replace(one, interval=interval, narrow=narrow, nullable=one.nullable or other.nullable, capped=capped)

"""Features of a unit: aggregates of its own rows, independent of their order, before any private aggregate.

Claim
    Each row of `per_unit(...)` belongs to one unit and is a function of the set of that unit's rows (with repetitions,
    without order); there is at most one for each unit; its values lie in the intervals that it states, and no row makes
    it raise.
Requires
    Checked expressions with their intervals.
Relies on
    Sums of integers of 128 bits; the lattice of `planning.column_lattice`; IEEE division.
Proof
    Rows are grouped by the unit's hidden columns, so groups are units. Counts, distinct counts, minima, maxima, any and
    all do not depend on the order of rows. A sum is one of integers of 128 bits: of the values, clipped to 62 bits
    before it is cast, or of what the lattice makes of them, cast to a double and clipped; the sum of integers does not
    depend on order either, and what is made of it (a product with a power of two, a quotient by the number of values,
    clipped to the values' interval) is one operation on the same numbers. So neighbors differ in the one row of one
    unit, and the limits of a query about the features bound it as they bound any row.
Rounding
    A real value is rounded to the nearest of 2**51 steps or more of its range before it is added.
Source
    PINQ's GroupBy: McSherry, "Privacy integrated queries" (2009), section 3; sums on a lattice: Casacuberta et al.,
    "Widespread underestimation of sensitivity" (2022).
Mutant
    whoever-is-seen: rows are not grouped by the unit's hidden columns; killed by
    test_a_unit_out_of_sight_is_still_one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Never, Self

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected
from discreet.language.allow_list import Tables, checked
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind, Measure, Value, cast, integer
from discreet.language.literals import constant
from discreet.planning.column_lattice import MOST_BITS, ROW_CAP, ColumnLattice, centered
from discreet.planning.contribution_bounding import units
from discreet.query.aggregate_checks import condition_of
from discreet.query.query_steps import Chain
from discreet.sensitivity.intervals import Interval

ALLOWED = "count, nunique, sum, mean, min, max, any or all"
LARGEST_SUM = 2**62
REAL_BITS = 52
"""Of the lattice on which real values are added: doubles are exact there, and sums of 2**75 rows have 128 bits."""
DEEPER = 6
"""Operations that a feature adds to those of its expression."""


@dataclass(frozen=True, eq=False)
class Feature:
    """One aggregate of a unit's rows."""

    of: Value
    """What it is of, with the rows that do not count as NULL."""
    made: Callable[[ir.Value], ir.Value]
    """The aggregate of the column that holds this."""
    value: Value
    """What is known of the result; its expression is given later."""


class UnitFeatures(Chain):
    """The verb that makes one row of each unit's rows."""

    def per_unit(self, /, *unnamed: Never, **aggregates: Any) -> Self:
        """One row for each unit: aggregates of its own rows, computed before anything private is made of them.

        Allowed is what does not depend on the order of rows: ``_.count()``, and of an expression ``count``,
        ``nunique``, ``sum``, ``mean``, ``min``, ``max``, ``any`` and ``all``, each with ``where=``. A sum needs bounds
        for what is added, and has none itself, since a unit may have any number of rows: clip it. One row a unit means
        that no `max_rows` and `max_groups` are needed any more. A sum over no values is 0; other aggregates of none are
        NULL.

        >>> from discreet.testing import people
        >>> totals = people().per_unit(years=lambda t: t.count(), visits=lambda t: t.visits.sum())
        >>> totals.agg(mean_total=lambda t: t.visits.clip(0, 60).mean())
        <question about 'people': mean_total>
        """
        self._unit_of_columns("each row is a unit of its own: use .mutate(...).")
        if unnamed:
            raise InvalidQuery("Expected a name for each feature, got none.\nHint: write .per_unit(n=_.count()).")
        if not aggregates:
            raise InvalidQuery(expected("features", "aggregates", {}, "write .per_unit(total=_.spending.sum())."))
        shown = self._untouched_unit()
        features = {name: _least(self._columns[name]) for name in shown}
        bound: dict[str, Any] = {}
        for name, written in aggregates.items():
            self._check_new(name, aggregates)
            bound[name] = self._bound(written)
            features[name] = feature(bound[name], self._tables())
        hidden = units(self._relation)
        columns = {f"f{i}": one.of.expr for i, one in enumerate(features.values())}
        rows = self._relation.select(*hidden, **columns)
        made = {name: one.made(rows[f"f{i}"]) for i, (name, one) in enumerate(features.items())}
        relation = rows.aggregate([value.name(name) for name, value in made.items()], by=hidden)
        known = {name: one.value for name, one in features.items()}
        table = replace(self._with(relation, known, shown, conditions=1), _most_rows=1)
        return table._recorded(self, "per_unit", aggregates=bound)


def feature(bound: ir.Value, tables: Tables) -> Feature:
    """The checked form of one aggregate of a unit's rows."""
    op: Any = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    maker = MAKERS.get(type(op))
    if maker is None or (isinstance(op, ops.CountStar) and op.arg not in tables):
        raise InvalidQuery(
            f"Expected {ALLOWED} of this table's rows, got {name_of(op)}.\n"
            "Hint: a feature may not depend on the order of rows; for the first or last of something, use .min() or "
            ".max(); calculate with features in .mutate(...)."
        )
    counted = constant(1) if isinstance(op, ops.CountStar) else checked(op.arg.to_expr(), tables)
    if counted.kind is Kind.BOOLEAN and isinstance(op, ops.Sum | ops.Mean):
        counted = replace(integer(counted), narrow=Interval(Fraction(0), Fraction(1), integer=True))
    made = maker(op, counted)
    where = condition_of(op, tables)
    if where is None:
        return made
    some = replace(made.value, nullable=type(op) not in NEVER_NULL)
    if type(op) in (ops.Count, ops.CountStar) and some.interval is not None:
        some = _counted(some, least=0)
    return replace(made, of=replace(made.of, expr=ibis.cases((where.expr, made.of.expr))), value=some)


NEVER_NULL = (ops.Count, ops.CountStar, ops.CountDistinct, ops.Sum)


def _result(of: Value, kind: Kind, interval: Interval | None, *, nullable: bool) -> Value:
    """What is known of a feature: like its expression, where that had no bounds, and for a sum or count never."""
    measure = Measure(of.measure.depth + DEEPER, of.measure.size + DEEPER)
    narrow = interval if not of.unbounded else None
    return replace(of, kind=kind, interval=interval, narrow=narrow, nullable=nullable, measure=measure)


def _counted(of: Value, *, least: int) -> Value:
    """A number of rows: no more than a table may have, which says nothing, so it is taken for no bound."""
    interval = Interval(Fraction(least), Fraction(ROW_CAP), integer=True)
    found = _result(replace(of, narrow=of.interval), Kind.INTEGER, interval, nullable=False)
    return replace(found, narrow=Interval(Fraction(least), Fraction(ROW_CAP // 2), integer=True))


def _count(op: Any, of: Value) -> Feature:
    least = 0 if of.nullable or isinstance(op, ops.CountDistinct) else 1
    if isinstance(op, ops.CountDistinct):
        return Feature(signless(of), lambda c: cast(c.nunique(), Kind.INTEGER), _counted(of, least=0))
    return Feature(of, lambda c: cast(c.count(), Kind.INTEGER), _counted(of, least=least))


def signless(of: Value) -> Value:
    """A real without the sign of its zero, which would tell which of several zeros came first."""
    return of if of.kind is not Kind.REAL else replace(of, expr=of.expr + cast(ibis.literal(0.0), Kind.REAL))


def _extreme(op: Any, of: Value) -> Feature:
    if of.kind is Kind.BOOLEAN:
        raise InvalidQuery(f"Expected numbers, text or dates, got {name_of(op)}.\nHint: use .any() or .all().")
    chosen = "min" if isinstance(op, ops.Min) else "max"
    known = _result(of, of.kind, of.interval, nullable=of.nullable)
    return Feature(signless(of), lambda c: getattr(c, chosen)(), replace(known, narrow=of.narrow, capped=of.capped))


def _least(of: Value) -> Feature:
    """The unit's own column, which is the same in all its rows."""
    known = _result(of, of.kind, of.interval, nullable=of.nullable)
    return Feature(of, lambda c: c.min(), replace(known, narrow=of.narrow, capped=of.capped))


def _quantified(op: Any, of: Value) -> Feature:
    if of.kind is not Kind.BOOLEAN:
        raise InvalidQuery(f"Expected truth values, got {name_of(op)}.\nHint: compare it with something.")
    chosen = "any" if isinstance(op, ops.Any) else "all"
    known = _result(of, Kind.BOOLEAN, None, nullable=of.nullable)
    return Feature(of, lambda c: getattr(c, chosen)(), known)


def _added(op: Any, of: Value) -> tuple[ColumnLattice, Value]:
    """The lattice on which values are added, and their integers."""
    interval = of.interval
    if interval is None:
        raise InvalidQuery(f"Expected numbers, got {name_of(op)} of {of.kind.said}.\nHint: take a number out of it.")
    if of.unbounded:
        raise InvalidQuery(
            f"Expected bounds for {name_of(op.arg)}, got none.\n"
            "Hint: state what is publicly known in dp.protect(bounds=...), or write .clip(low, high)."
        )
    lattice = centered(interval, MOST_BITS, weighted=False)
    if lattice.exact and of.kind is Kind.INTEGER:
        return lattice, of
    lattice = centered(replace(interval, integer=False), REAL_BITS, weighted=False)
    x = cast(of.expr, Kind.REAL) * cast(ibis.literal(float(2.0**lattice.exponent)), Kind.REAL)
    steps = cast(ops.Floor(ops.Add(x, cast(ibis.literal(0.5), Kind.REAL))).to_expr(), Kind.INTEGER)
    low, high = (constant(end).expr for end in (lattice.low, lattice.high))
    return lattice, replace(of, expr=ibis.cases((steps < low, low), (steps > high, high), (steps <= high, steps)))


def _total(column: ir.Value, lattice: ColumnLattice) -> ir.Value:
    """An exact sum of values or steps, 0 for none: a whole number of 62 bits, or a real one."""
    added, (low, high) = column.sum().coalesce(0), _ends(lattice)
    if lattice.exact:
        return cast(ibis.least(ibis.greatest(added, constant(low).expr), constant(high).expr), Kind.INTEGER)
    first, last = (cast(ibis.literal(float(end)), Kind.REAL) for end in (low, high))
    total = ibis.least(ibis.greatest(cast(added, Kind.REAL), first), last)
    return total * cast(ibis.literal(float(lattice.step)), Kind.REAL)


def _ends(lattice: ColumnLattice) -> tuple[int, int]:
    """Of a sum, in steps: as many rows as a table may have, which says nothing, so that it is taken for no bound."""
    low, high = (end * ROW_CAP for end in (min(0, lattice.low), max(0, lattice.high)))
    return (max(-LARGEST_SUM, low), min(high, LARGEST_SUM)) if lattice.exact else (low, high)


def _sum(op: Any, of: Value) -> Feature:
    lattice, steps = _added(op, of)
    low, high = _ends(lattice)
    whole = Interval(low * lattice.step, high * lattice.step, integer=lattice.exact)
    half = Interval(whole.low / 2, whole.high / 2, integer=lattice.exact)
    kind = Kind.INTEGER if lattice.exact else Kind.REAL
    known = replace(_result(of, kind, whole, nullable=False), narrow=half)
    return Feature(steps, lambda column: _total(column, lattice), known)


def _mean(op: Any, of: Value) -> Feature:
    lattice, steps = _added(op, of)
    low, high = (Fraction(float(lattice.step * q)) for q in (lattice.low, lattice.high))
    known = replace(_result(of, Kind.REAL, Interval(low, high), nullable=True), narrow=Interval(low, high))

    def made(column: ir.Value) -> ir.Value:
        number = ops.NullIf(cast(column.count(), Kind.INTEGER), constant(0).expr).to_expr()
        mean = cast(_total(column, lattice), Kind.REAL) / cast(number, Kind.REAL)
        first, last = (cast(ibis.literal(float(end)), Kind.REAL) for end in (low, high))
        return ibis.cases((mean < first, first), (mean > last, last), (mean.notnull(), mean))

    return Feature(steps, made, known)


MAKERS: dict[type[ops.Node], Callable[[Any, Value], Feature]] = {
    **dict.fromkeys((ops.Count, ops.CountStar, ops.CountDistinct), _count),
    **dict.fromkeys((ops.Min, ops.Max), _extreme),
    **dict.fromkeys((ops.Any, ops.All), _quantified),
    ops.Sum: _sum,
    ops.Mean: _mean,
}

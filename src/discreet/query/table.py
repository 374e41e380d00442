"""The verbs: a protected table, its groups, and a question that is ready to be released."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest
from discreet.query.aggregates import Aggregate, Statistic, aggregate
from discreet.query.keys import Keys, grouping
from discreet.query.language.arithmetic import name_of
from discreet.query.language.check import bind, checked, column
from discreet.query.language.literals import written as writable
from discreet.query.language.values import DTYPES, Kind, Value
from discreet.query.lattice import ROW_CAP
from discreet.query.plan import Query, StatedLimits, check_limits
from discreet.query.question import Question
from discreet.query.scan import UNIT, scan
from discreet.query.source import Source
from discreet.query.unreleased import Unreleased

__all__ = ["PrivateGroups", "PrivateTable", "Question", "UnknownColumn", "whole"]

_numbers = itertools.count(1)

MOST_STEPS = 100
"""Verbs in a chain, and conditions in its filters: each is a level of the statement that the engine parses."""

ENDS = ("", "_low", "_high")
"""What a column of an answer adds to its name for its values and its interval."""


class UnknownColumn(InvalidQuery, AttributeError):
    """A column that the table does not have; an AttributeError too, so that hasattr() works."""


@dataclass(frozen=True, eq=False, repr=False)
class PrivateTable(Unreleased):
    """A table about people that answers aggregate questions only; made by ``dp.protect``.

    `filter`, `mutate`, `select`, `group_by` and `agg` take Ibis expressions (``_.age >= 18``, lambdas, ``people.age``).
    Nothing runs and nothing is spent before ``.release(epsilon=...)``.

    >>> from discreet.testing import people
    >>> people().filter(lambda t: t.age >= 18).agg(visits=lambda t: t.visits.mean())
    <question about 'people': visits>
    """

    _source: Source
    _relation: ir.Table
    """The rows so far, over the scanned table."""
    _columns: Mapping[str, Value]
    _visible: ir.Table
    """What expressions are written over."""
    _ancestors: tuple[tuple[ops.Relation, frozenset[str]], ...]
    """Earlier tables of this chain, with the columns that are still what they were there."""
    _filtered: bool = False
    """Whether rows may have been dropped, so that a public size no longer holds."""
    _steps: int = 0
    """Verbs and conditions so far."""

    @classmethod
    def of(cls, source: Source) -> PrivateTable:
        """All rows of a source."""
        declared = source.declaration
        table, columns = scan(source.schema, declared.unit, declared.bounds)
        return cls(source, table, columns, _visible(columns), ())

    # -- expressions ------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def budget(self) -> Any:
        """The budget that its releases are charged to."""
        return self._source.budget  # type: ignore[attr-defined]  # the curator's source has one; the query layer never looks at it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns:
            raise UnknownColumn(expected("a known column", "column", name, nearest(name, self._columns)))
        return self._visible[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __repr__(self) -> str:
        unit = ", ".join(self._source.declaration.unit) or "each row"
        columns = ", ".join(f"{name}: {value.kind.value}" for name, value in self._columns.items())
        return f"<private table {self._source.declaration.name!r}, protecting {unit}: {columns}>"

    def _tables(self) -> dict[ops.Relation, Mapping[str, Value]]:
        tables: dict[ops.Relation, Mapping[str, Value]] = {self._visible.op(): self._columns}
        for op, names in self._ancestors:
            tables[op] = {name: self._columns[name] for name in names}
        return tables

    def _check(self, written: Any) -> Value:
        return checked(bind(self._visible, written), self._tables())

    def _with(self, relation: ir.Table, columns: Mapping[str, Value], kept: Iterable[str], conditions: int = 0) -> Self:
        """This chain with one more step; `kept` names the columns that are still what they were."""
        steps = self._steps + max(1, conditions)
        if steps > MOST_STEPS:
            raise InvalidQuery(
                f"Expected at most {MOST_STEPS} steps and conditions, got more.\n"
                "Hint: make several columns by one .mutate(), and replace long chains of conditions by .isin(...)."
            )
        fresh = {name: replace(value, expr=relation[name]) for name, value in columns.items()}
        still = frozenset(kept)
        older = [(self._visible.op(), frozenset(self._columns)), *self._ancestors]
        ancestors = tuple((op, names & still) for op, names in older)
        return replace(
            self,
            _relation=relation,
            _columns=fresh,
            _visible=_visible(fresh),
            _ancestors=ancestors,
            _filtered=self._filtered or conditions > 0,
            _steps=steps,
        )

    def _untouched_unit(self) -> tuple[str, ...]:
        """The unit's columns, where they still hold the unit."""
        return tuple(name for name in self._source.declaration.unit if name in self._columns)

    # -- verbs ------------------------------------------------------------------------------------------------------

    def filter(self, *conditions: Any) -> PrivateTable:
        """The rows for which every condition is true (not false, not NULL).

        >>> from discreet.testing import people
        >>> people().filter(lambda t: t.age >= 18).columns
        ('person', 'plan', 'age', 'visits')
        """
        if not conditions:
            raise InvalidQuery("Expected a condition, got none.\nHint: write .filter(_.age >= 18).")
        values = [self._condition(written).expr for written in conditions]
        relation = self._relation.filter(values)
        return self._with(relation, self._columns, self._columns, conditions=len(values))

    def _condition(self, written: Any) -> Value:
        value = None if isinstance(written, bool) else self._check(written)
        if value is None or value.kind is not Kind.BOOLEAN or not value.expr.op().find(ops.Field, filter=ops.Value):
            got = repr(written) if value is None else f"{value.text}, a {value.kind.value}"
            raise InvalidQuery(
                f"Expected a condition on columns, got {got}.\n"
                "Hint: write .filter(_.age >= 18); join conditions by & and |."
            )
        return value

    def mutate(self, **expressions: Any) -> PrivateTable:
        """New columns, or old ones rewritten; a rewritten column keeps nothing that was known of the old one.

        >>> from discreet.testing import people
        >>> people().mutate(monthly=lambda t: t.visits / 12).columns
        ('person', 'plan', 'age', 'visits', 'monthly')
        """
        unit = {name.casefold() for name in self._source.declaration.unit}
        for name in expressions:
            if name.casefold() in unit:
                cure = "give the new column another name."
                raise InvalidQuery(expected("columns other than the privacy unit", "column", name, cure))
            _check_name(name, [*self._columns, *expressions])
        made = {name: self._check(written) for name, written in expressions.items()}
        relation = self._relation.mutate(**{name: value.expr for name, value in made.items()})
        return self._with(relation, {**self._columns, **made}, self._columns.keys() - made.keys())

    def select(self, *names: Any) -> PrivateTable:
        """Some of the columns, in this order; the privacy unit goes along unseen.

        >>> from discreet.testing import people
        >>> people().select("plan", "age").columns
        ('plan', 'age')
        """
        chosen = [self._name(written) for written in names]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InvalidQuery(expected("distinct columns", "names", chosen, "name each column once."))
        hidden = [name for name in self._relation.columns if name.startswith(UNIT)]
        relation = self._relation.select(*chosen, *hidden)
        return self._with(relation, {name: self._columns[name] for name in chosen}, chosen)

    def _name(self, written: Any) -> str:
        """The column that an expression names."""
        if isinstance(written, str):
            if written not in self._columns:
                raise InvalidQuery(expected("a known column", "column", written, nearest(written, self._columns)))
            return written
        op = bind(self._visible, written).op()
        if not isinstance(op, ops.Field):
            raise InvalidQuery(
                f"Expected a column, got {name_of(op)}.\nHint: name it, as in .group_by(name=...) or .mutate(name=...)."
            )
        value = column(op, self._tables())
        return next(name for name, own in self._columns.items() if own is value)

    def group_by(
        self,
        *names: Any,
        keys: object = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
        **expressions: Any,
    ) -> PrivateGroups:
        """Groups by columns or named expressions, over public `keys`, with limits on what one unit contributes.

        `keys`: a dict of lists (their cross product) or a table of exact tuples. Every key is in the answer, in the
        stated order, present in the data or not; rows with other keys are left out, NULL among them unless None is
        listed. `max_groups`: groups that one unit counts in; `max_rows`: rows that it counts in each. A unit with more
        is weighted down, never dropped.

        >>> from discreet.testing import people
        >>> people().group_by("plan", max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        <question about 'people': n by plan>
        """
        table = self.mutate(**expressions) if expressions else self
        chosen = [*(table._name(written) for written in names), *expressions]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InvalidQuery(
                expected(
                    "distinct columns to group by",
                    "names",
                    chosen,
                    "name each column once; for no groups, use .agg(...).",
                )
            )
        declared = self._source.declaration
        kept = {name: keys for name, keys in declared.keys.items() if table._is_declared(name)}
        found = grouping({name: table._columns[name].kind for name in chosen}, kept, keys)
        limits = StatedLimits(
            max_groups=_limit("max_groups", max_groups, declared.max_groups, by_row=not declared.unit),
            max_rows=_limit("max_rows", max_rows, declared.max_rows, by_row=not declared.unit),
        )
        return PrivateGroups(table, found, limits)

    def _is_declared(self, name: str) -> bool:
        """Whether a column is still the one that the curator declared under this name."""
        return not self._ancestors or name in self._ancestors[-1][1]

    def agg(self, **aggregates: Any) -> Question:
        """A question about all rows: one value for each named aggregate.

        >>> from discreet.testing import people
        >>> people().agg(n=lambda t: t.count(), mean_age=lambda t: t.age.mean())
        <question about 'people': n, mean_age>
        """
        return self._question(None, self._ungrouped(), self._aggregates(aggregates, ()))

    def _ungrouped(self) -> StatedLimits:
        return StatedLimits(max_groups=1, max_rows=self._source.declaration.max_rows)

    def count(self, where: Any = None) -> Question:
        """How many rows there are.

        >>> from discreet.testing import people
        >>> people().count()
        <question about 'people': count>
        """
        return self._single("count", Statistic.COUNT, where)

    def nunique(self, where: Any = None) -> Question:
        """How many units there are.

        >>> from discreet.testing import people
        >>> people().nunique()
        <question about 'people': nunique>
        """
        if not self._source.declaration.unit:
            raise InvalidQuery(
                "Expected a unit of columns, got dp.ROW.\nHint: each row is a unit of its own: use .count()."
            )
        return self._single("nunique", Statistic.UNITS, where)

    def _single(self, name: str, statistic: Statistic, where: Any) -> Question:
        held = None if where is None else self._condition(where)
        return self._question(None, self._ungrouped(), [Aggregate(name=name, statistic=statistic, where=held)])

    def _aggregates(self, written: Mapping[str, Any], keys: Iterable[str]) -> list[Aggregate]:
        """The checked aggregates, whose names and ends are their own."""
        if not written:
            raise InvalidQuery("Expected an aggregate, got none.\nHint: write .agg(n=_.count(), mean=_.age.mean()).")
        taken = set(keys)
        for name in written:
            _check_name(name, ())
            names = {f"{name}{end}" for end in ENDS}
            if names & taken:
                cure = "its interval takes the names x_low and x_high, and the groups take theirs."
                raise InvalidQuery(expected("a name of its own for each column", "name", name, cure))
            taken |= names
        tables, unit = self._tables(), self._untouched_unit()
        return [aggregate(name, bind(self._visible, w), tables, unit=unit) for name, w in written.items()]

    def _question(self, keys: Keys | None, limits: StatedLimits, aggregates: Iterable[Aggregate]) -> Question:
        query = Query(
            declaration=self._source.declaration,
            relation=self._relation,
            groups={name: self._columns[name].expr for name in keys.names} if keys else {},
            keys=keys,
            limits=limits,
            aggregates=tuple(aggregates),
            filtered=self._filtered,
        )
        check_limits(query)
        return Question(self._source, query)


def _visible(columns: Mapping[str, Value]) -> ir.Table:
    """A table of its own for each step, so that a field says which step it was written over."""
    return ibis.table({name: DTYPES[value.kind] for name, value in columns.items()}, name=f"people_{next(_numbers)}")


def _check_name(name: str, known: Iterable[str]) -> None:
    """Refuses a name that engines, which do not tell cases apart, could take for another column's, or not hold."""
    if not writable(name):
        raise InvalidQuery("Expected a name, got ''.\nHint: name the column.")
    if name.casefold().startswith("__discreet"):
        raise InvalidQuery(expected("another name", "column", name, "names that begin with __discreet are taken."))
    alike = next((other for other in known if other != name and other.casefold() == name.casefold()), None)
    if alike is not None:
        cure = f"engines do not tell it from {alike!r}: use that name, or another."
        raise InvalidQuery(expected("a name that differs by more than case", "column", name, cure))


def _limit(name: str, given: int | None, declared: int | None, *, by_row: bool) -> int | None:
    if given is None:
        return declared
    if by_row:
        raise InvalidParameter(
            f"Expected no {name} where each row is a unit of its own, got {name}={given!r}.\nHint: leave it out."
        )
    return whole(name, given)


def whole(name: str, value: object) -> int:
    """A limit or size as a whole number of 1 or more, no larger than any table may be."""
    number = 0 if isinstance(value, bool) or not isinstance(value, numbers.Integral) else int(value)
    if number < 1:
        raise InvalidParameter(expected("a whole number of 1 or more", name, value, f"write {name}=5."))
    if number > ROW_CAP:
        raise InvalidParameter(f"Expected {name} of at most {ROW_CAP:,}, got more.\nHint: no table has so many rows.")
    return number


@dataclass(frozen=True, eq=False, repr=False)
class PrivateGroups(Unreleased):
    """Groups of a private table, waiting for `.agg`."""

    _table: PrivateTable
    _keys: Keys
    _limits: StatedLimits

    def __repr__(self) -> str:
        return f"<groups of {self._table!r} by {', '.join(self._keys.names)}: {len(self._keys.rows):,} public keys>"

    def agg(self, **aggregates: Any) -> Question:
        """A question: one value for each named aggregate in each group.

        >>> from discreet.testing import people
        >>> people().group_by("plan", max_groups=1, max_rows=5).agg(visits=lambda t: t.visits.mean())
        <question about 'people': visits by plan>
        """
        table, keys = self._table, self._keys
        return table._question(keys, self._limits, table._aggregates(aggregates, keys.names))

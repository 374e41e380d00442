"""The verbs: a protected table, its groups, and a question that is ready to be released."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest
from discreet.query.aggregates import Aggregate, aggregate
from discreet.query.cheapest import cheapest
from discreet.query.explain import Explanation, explain
from discreet.query.keys import Keys, grouping
from discreet.query.language.arithmetic import name_of
from discreet.query.language.check import bind, checked, column
from discreet.query.language.values import DTYPES, Kind, Value
from discreet.query.plan import Query, StatedLimits, check_limits
from discreet.query.price import level, price
from discreet.query.scan import UNIT, scan
from discreet.query.source import Source

_numbers = itertools.count(1)

REFUSED = (
    "execute",
    "head",
    "limit",
    "preview",
    "to_pandas",
    "to_polars",
    "to_pyarrow",
    "to_parquet",
    "to_csv",
    "compile",
    "sample",
    "show",
)


class UnknownColumn(InvalidQuery, AttributeError):
    """A column that the table does not have; an AttributeError too, so that hasattr() works."""


def _unreleased(what: str) -> NoReturn:
    raise InvalidQuery(
        f"Expected a release before rows or answers are looked at, got {what}.\n"
        "Hint: end with .release(epsilon=...); .explain(epsilon=...) shows the error beforehand, for free."
    )


class Unreleased:
    """What every unreleased query refuses: to show rows."""

    def __len__(self) -> int:
        _unreleased("len()")

    def __iter__(self) -> NoReturn:
        _unreleased("a loop over it")

    def __bool__(self) -> bool:
        return True


def _refusal(name: str) -> Callable[..., NoReturn]:
    def method(self: object, *args: object, **kwargs: object) -> NoReturn:
        del self, args, kwargs
        _unreleased(f".{name}()")

    method.__name__ = name
    method.__doc__ = "Refused: end with ``.release(epsilon=...)``."
    return method


for _name in REFUSED:
    setattr(Unreleased, _name, _refusal(_name))


@dataclass(frozen=True, eq=False, repr=False)
class PrivateTable(Unreleased):
    """A table about people that answers aggregate questions only; made by ``dp.protect``.

    `filter`, `mutate`, `select`, `group_by` and `agg` take Ibis expressions (``_.age >= 18``, lambdas, ``people.age``).
    Nothing runs and nothing is spent before ``.release(epsilon=...)``.
    """

    _source: Source
    _relation: ir.Table
    """The rows so far, over the scanned table."""
    _columns: Mapping[str, Value]
    _visible: ir.Table
    """What expressions are written over."""
    _ancestors: tuple[tuple[ops.Relation, Mapping[str, str]], ...]
    """Earlier tables of this chain, with the names that their columns have now."""
    _filtered: bool = False
    """Whether rows may have been dropped, so that a public size no longer holds."""

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
            tables[op] = {old: self._columns[new] for old, new in names.items()}
        return tables

    def _check(self, written: Any) -> Value:
        return checked(bind(self._visible, written), self._tables())

    def _with(
        self, relation: ir.Table, columns: Mapping[str, Value], *, kept: Mapping[str, str], filtered: bool
    ) -> PrivateTable:
        """This chain with one more step; `kept` maps the columns that are still what they were to their new names."""
        fresh = {name: replace(value, expr=relation[name]) for name, value in columns.items()}
        older = [(self._visible.op(), {name: name for name in self._columns}), *self._ancestors]
        ancestors = tuple((op, {old: kept[new] for old, new in names.items() if new in kept}) for op, names in older)
        return replace(
            self, _relation=relation, _columns=fresh, _visible=_visible(fresh), _ancestors=ancestors, _filtered=filtered
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
        values = []
        for condition in conditions:
            if isinstance(condition, bool):
                raise InvalidQuery(
                    expected(
                        "a condition on columns",
                        "condition",
                        condition,
                        "write .filter(_.age >= 18); join conditions by & and |.",
                    )
                )
            value = self._check(condition)
            if value.kind is not Kind.BOOLEAN or not value.expr.op().find(ops.Field):
                raise InvalidQuery(
                    f"Expected a condition on columns, got a {value.kind.value}.\nHint: write .filter(_.age >= 18)."
                )
            values.append(value.expr)
        relation = self._relation.filter(values)
        return self._with(relation, self._columns, kept={name: name for name in self._columns}, filtered=True)

    def mutate(self, **expressions: Any) -> PrivateTable:
        """New columns, or old ones rewritten; a rewritten column keeps nothing that was known of the old one.

        >>> from discreet.testing import people
        >>> people().mutate(monthly=lambda t: t.visits / 12).columns
        ('person', 'plan', 'age', 'visits', 'monthly')
        """
        unit = self._source.declaration.unit
        for name in expressions:
            if name in unit:
                raise InvalidQuery(
                    expected("columns other than the privacy unit", "column", name, "give the new column another name.")
                )
            _check_name(name, [*self._columns, *expressions])
        made = {name: self._check(written) for name, written in expressions.items()}
        relation = self._relation.mutate(**{name: value.expr for name, value in made.items()})
        kept = {name: name for name in self._columns if name not in made}
        return self._with(relation, {**self._columns, **made}, kept=kept, filtered=self._filtered)

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
        return self._with(
            relation,
            {name: self._columns[name] for name in chosen},
            kept={name: name for name in chosen},
            filtered=self._filtered,
        )

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
        first = self._ancestors[-1][1] if self._ancestors else {name: name}
        return first.get(name) == name

    def agg(self, **aggregates: Any) -> Question:
        """A question about all rows: one value for each named aggregate.

        >>> from discreet.testing import people
        >>> people().agg(n=lambda t: t.count(), mean_age=lambda t: t.age.mean())
        <question about 'people': n, mean_age>
        """
        declared = self._source.declaration
        return Question.of(self, None, StatedLimits(max_groups=1, max_rows=declared.max_rows), aggregates)

    def count(self, where: Any = None) -> Question:
        """How many rows there are.

        >>> from discreet.testing import people
        >>> people().count()
        <question about 'people': count>
        """
        return self.agg(count=lambda t: t.count() if where is None else t.count(where=bind(t, where)))

    def nunique(self, where: Any = None) -> Question:
        """How many units there are.

        >>> from discreet.testing import people
        >>> people().nunique()
        <question about 'people': nunique>
        """
        unit = self._untouched_unit()
        if len(unit) != 1:
            raise InvalidQuery(
                "Expected a unit that is one column, got dp.ROW or several columns.\nHint: use .count() where each row is a unit."
            )
        return self.agg(nunique=lambda t: t[unit[0]].nunique(where=None if where is None else bind(t, where)))


def _visible(columns: Mapping[str, Value]) -> ir.Table:
    """A table of its own for each step, so that a field says which step it was written over."""
    return ibis.table({name: DTYPES[value.kind] for name, value in columns.items()}, name=f"people_{next(_numbers)}")


def _check_name(name: str, known: Iterable[str]) -> None:
    """Refuses a name that engines, which do not tell cases apart, could take for another column's."""
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
    """A limit as a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(expected("a whole number of 1 or more", name, value, f"write {name}=5."))
    return value


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
        return Question.of(self._table, self._keys, self._limits, aggregates)


@dataclass(frozen=True, eq=False, repr=False)
class Question(Unreleased):
    """A complete question. `explain` prices it without reading a row; `release` charges it and answers."""

    _source: Source
    _query: Query

    @classmethod
    def of(cls, table: PrivateTable, keys: Keys | None, limits: StatedLimits, written: Mapping[str, Any]) -> Question:
        """The checked question."""
        if not written:
            raise InvalidQuery("Expected an aggregate, got none.\nHint: write .agg(n=_.count(), mean=_.age.mean()).")
        taken = set(keys.names) if keys else set()
        aggregates: list[Aggregate] = []
        for name, expression in written.items():
            if name in taken or any(f"{other}{end}" in written for other in [name] for end in ("_low", "_high")):
                raise InvalidQuery(
                    expected(
                        "a name of its own for each column",
                        "name",
                        name,
                        "its interval takes the names x_low and x_high.",
                    )
                )
            bound = bind(table._visible, expression)
            aggregates.append(aggregate(name, bound, table._tables(), unit=table._untouched_unit()))
        columns = {name: table._columns[name].expr for name in keys.names} if keys else {}
        query = Query(
            declaration=table._source.declaration,
            relation=table._relation,
            groups=columns,
            keys=keys,
            limits=limits,
            aggregates=tuple(aggregates),
            filtered=table._filtered,
        )
        check_limits(query)
        return cls(table._source, query)

    def __repr__(self) -> str:
        by = f" by {', '.join(self._query.keys.names)}" if self._query.keys else ""
        return f"<question about {self._source.declaration.name!r}: {', '.join(a.name for a in self._query.aggregates)}{by}>"

    def explain(
        self,
        *,
        epsilon: object,
        weights: Mapping[str, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
    ) -> Explanation:
        """Mechanism, sensitivity, noise, error bars and cost of a release, from public facts alone: no row is read,
        nothing is spent.

        `assume={"rows": n}` gives figures where the error depends on how many rows there are.

        >>> from discreet.testing import people
        >>> people().count().explain(epsilon=1)["columns"][0]["plus_minus"]
        '15'
        """
        priced = price(self._query, epsilon=epsilon, weights=weights)
        return explain(priced, self._source.statement(priced), confidence=level(confidence), assume=assume)

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        within: Mapping[str, object] | None = None,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
        fresh: bool = False,
    ) -> Any:
        """The noisy answer, charged before a row is read.

        `epsilon` is the total for the call; the division over its columns minimizes the sum of (noise sd / public
        range)², scaled by `weights`. `within={"people": 25}` takes the cheapest epsilon instead for which that column
        is off by at most 25 with the given confidence. The same release again returns the stored answer for nothing;
        `fresh=True` draws anew and pays.

        Returns a ``Release``. Raises BudgetExceeded (nothing spent), InvalidParameter, InvalidQuery, EngineError
        (spent).
        """
        wanted = level(confidence)
        if within is not None:
            if epsilon is not None:
                raise InvalidParameter("Expected epsilon or within, got both.\nHint: `within` finds the epsilon.")
            epsilon = cheapest(self._query, within, confidence=wanted, weights=weights)
        priced = price(self._query, epsilon=epsilon, delta=delta, weights=weights)
        return self._source.release(priced, fresh=fresh, confidence=wanted)

"""The chain of steps behind a protected table: its columns, and the steps that expressions may be written over."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.deferred import Deferred

from discreet.errors import InvalidQuery, UnknownName, expected, printable, shown
from discreet.guesses.column_words import of_columns, over_rows
from discreet.guesses.table_words import TABLE, table_line
from discreet.language.allow_list import bind, checked, column
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import DTYPES, Value
from discreet.language.column_names import check_name
from discreet.language.input_barrier import scan
from discreet.language.protected_columns import protected_column, protected_table
from discreet.language.unsupported_columns import no_column, unsupported
from discreet.ledger.budget import Budget
from discreet.privacy.declaration import Declaration, Key
from discreet.query.recorded_verbs import RecordedVerb
from discreet.query.source import Source
from discreet.query.unreleased_methods import REFUSED, Unreleased

_numbers = itertools.count(1)

MOST_STEPS = 50
"""Verbs in a chain, and conditions in its filters: each is a level of the statement that the engine parses."""


if TYPE_CHECKING:

    class ColumnExpression:
        """A column as type checkers see it: any operator and any method of Ibis, but no call, so that a verb that is
        written wrong is found.
        """

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, part: Any) -> Any: ...
        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def __hash__(self) -> int: ...

        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __mod__: Any
        __pow__: Any
        __and__: Any
        __or__: Any
        __xor__: Any
        __neg__: Any
        __abs__: Any
        __invert__: Any


class UnknownColumn(UnknownName):
    """A column that the table does not have; an AttributeError too, so that hasattr() works."""


@dataclass(frozen=True, eq=False, repr=False)
class Chain(Unreleased):
    """A source, the rows so far, and what is known of their columns."""

    _source: Source
    _relation: ir.Table
    """The rows so far, over the scanned table."""
    _columns: Mapping[str, Value]
    _visible: ir.Table
    """What expressions are written over."""
    _ancestors: tuple[tuple[ops.Relation, frozenset[str]], ...]
    """Earlier tables of this chain, with the columns that are still what they were there."""
    _keys: Mapping[str, tuple[Key, ...]]
    """The public keys of columns that have some: declared, or made by .cut()."""
    _filtered: bool = False
    """Whether rows may have been dropped, so that a public size no longer holds."""
    _steps: int = 0
    """Verbs and conditions so far."""
    _most_rows: int | None = None
    """How many rows a unit can have at most, where a verb has seen to that."""
    _most_cells: int | None = None
    """Groups times columns that an answer may have; where nothing is stated, what memory holds."""
    _closed: Mapping[str, str] = field(default_factory=dict)
    """The columns of its tables that are not read, and their types."""
    _conditions: tuple[str, ...] = ()
    """The conditions of its filters, as they were written."""
    _verbs: tuple[RecordedVerb, ...] = ()
    """What was done so far, after a `table` was taken; empty for the table itself."""

    @classmethod
    def of(cls, source: Source) -> Self:
        """All rows of a source."""
        declared = source.declaration
        table, columns = scan(source.schema, declared.unit, declared.bounds, declared.auto_bounds)
        closed = unsupported(source.schema)
        return cls(source, table, columns, visible(columns), (), declared.keys, _closed=closed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def declaration(self) -> Declaration:
        """What was stated of the table as it was protected: all of it public."""
        return self._source.declaration

    @property
    def budget(self) -> Budget:
        """The budget that its releases are charged to."""
        budget: Budget = self._source.budget
        return budget

    def with_budget(self, budget: Budget) -> Self:
        """The same table, whose releases are charged to a level in its budget, and so to all levels around that.

        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> table = people()
        >>> mine = table.with_budget(dp.Budget(parent=table.budget, epsilon=0.3, name="alice"))
        >>> answer = mine.count().release(epsilon=0.1)
        >>> mine.budget.remaining, table.budget.spent
        (Guarantee(epsilon=0.2), Guarantee(epsilon=0.1))
        """
        return replace(self, _source=self._source.with_budget(budget))

    def __getattr__(self, name: str) -> ColumnExpression:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._columns and name not in self._source.schema:
            verbs = [one for one in dir(type(self)) if one not in REFUSED]
            cure = table_line(name, [*self._columns, *verbs])
            if name in of_columns() and cure not in TABLE.values():
                cure = f"it is of a column: write _.column.{name}(...) in .agg(...), .mutate(...) or .filter(...)."
            if cure.startswith("there are"):
                cure = f"the columns are {', '.join(map(repr, self._columns))}; discreet docs verbs has the verbs."
            if cure not in {f"did you mean {one!r}?" for one in self._columns}:
                raise UnknownColumn(f"Expected a column or a verb of the table, got .{name}.\nHint: {cure}")
        return self[name]  # type: ignore[no-any-return]  # an expression of Ibis, which has no types

    def __getitem__(self, name: str) -> Any:
        if isinstance(name, str) and name in self._columns:
            return protected_column(self._visible[name])
        if isinstance(name, str):
            raise UnknownColumn(no_column(name, self._columns, self._closed))
        said = f"Expected the name of a column in brackets, got {shown(name)}."
        raise InvalidQuery(f"{said}\nHint: {self._in_brackets(name)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __repr__(self) -> str:
        said = self._source.declaration.protects
        unit = said if isinstance(said, str) else ", ".join(said)
        columns = ", ".join(f"{name}: {value.kind.value}" for name, value in self._columns.items())
        return printable(f"<private table {self._source.declaration.title!r}, protecting {unit}: {columns}>")

    def _in_brackets(self, written: Any) -> str:
        """What to write for what other libraries take in brackets: names, a condition, rows by their places."""
        if isinstance(written, list | tuple) and written and all(isinstance(one, str) for one in written):
            return f"write .select({', '.join(map(repr, written))})."
        if isinstance(written, ir.Value | Deferred) or callable(written):
            text = over_rows(name_of(self._bound(written).op()), self._columns)
            return f"write .filter({text}), for the rows for which a condition is true."
        return "rows have no places here: write .filter(_.age >= 18) for rows, and .select('age') for columns."

    def _tables(self) -> dict[ops.Relation, Mapping[str, Value]]:
        tables: dict[ops.Relation, Mapping[str, Value]] = {self._visible.op(): self._columns}
        for op, names in self._ancestors:
            tables[op] = {name: self._columns[name] for name in names}
        return tables

    def _bound(self, written: Any) -> ir.Value:
        return bind(self._visible, written, self._closed)

    def _check(self, written: Any) -> Value:
        return checked(self._bound(written), self._tables())

    def _with(
        self,
        relation: ir.Table,
        columns: Mapping[str, Value],
        kept: Iterable[str],
        *,
        conditions: int = 0,
        keys: Mapping[str, tuple[Key, ...]] | None = None,
    ) -> Self:
        """This chain with one more step; `kept` names the columns that are still what they were; `keys` has all public
        keys where they are not those of the columns kept.
        """
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
            _visible=visible(fresh),
            _ancestors=ancestors,
            _keys={name: known for name, known in self._keys.items() if name in still} if keys is None else keys,
            _filtered=self._filtered or conditions > 0,
            _steps=steps,
        )

    def _recorded(self, before: Chain, verb: str, **stated: Any) -> Self:
        """This chain, as one verb made it of an earlier one."""
        return replace(self, _verbs=(*before._taken, RecordedVerb(verb, stated)))

    @property
    def _taken(self) -> tuple[RecordedVerb, ...]:
        """Which table was taken, and what was done with it."""
        return self._verbs or (RecordedVerb("table", {"name": None, "origin": self._source}),)

    def _called(self, name: str) -> Self:
        """The same table, as what documents know by a name."""
        return replace(self, _verbs=(RecordedVerb("table", {"name": name, "origin": self}),))

    def _unit_of_columns(self, cure: str) -> tuple[str, ...]:
        """The columns of the unit; refuses a table whose rows are units of their own."""
        if not self._source.declaration.unit:
            raise InvalidQuery(f"Expected a unit of columns, got dp.ROW.\nHint: {cure}")
        return self._source.declaration.unit

    def _rows_of_a_unit(self) -> int | None:
        """How many rows of a unit there are, or are kept, at most; None where nobody said."""
        declared = self._source.declaration
        if not declared.unit:
            return declared.rows_changed
        stated = None if "max_rows" in declared.auto_limits else declared.max_rows
        return min((most for most in (self._most_rows, stated) if most is not None), default=None)

    def _check_new(self, name: str, others: Iterable[str]) -> None:
        """Refuses a name for a new column that the unit has, or that no column can have."""
        if name.casefold() in {one.casefold() for one in self._source.declaration.unit}:
            cure = "give the new column another name."
            raise InvalidQuery(expected("columns other than the privacy unit", "column", name, cure))
        check_name(name, others)

    def _untouched_unit(self) -> tuple[str, ...]:
        """The unit's columns, where they still hold the unit."""
        return tuple(name for name in self._source.declaration.unit if name in self._columns)

    def _name(self, written: Any) -> str:
        """The column that an expression names."""
        if isinstance(written, str):
            if (name := str.__str__(written)) not in self._columns:
                raise InvalidQuery(no_column(name, self._columns, self._closed))
            return name
        op = self._bound(written).op()
        if not isinstance(op, ops.Field):
            raise InvalidQuery(
                f"Expected a column, got {name_of(op)}.\nHint: name it, as in .group_by(name=...) or .mutate(name=...)."
            )
        value = column(op, self._tables())
        return next(name for name, own in self._columns.items() if own is value)


def visible(columns: Mapping[str, Value]) -> ir.Table:
    """A table of its own for each step, so that a field says which step it was written over."""
    return protected_table({n: DTYPES[value.kind] for n, value in columns.items()}, name=f"people_{next(_numbers)}")


def without_signs(table: ir.Table) -> ir.Table:
    """The same rows, whose real numbers have no negative zero: of equal rows, nothing tells which one came first."""
    reals = [name for name in table.columns if table[name].type().is_floating()]
    zero = ibis.literal(0.0).cast("float64")
    return table.mutate([(table[name] + zero).name(name) for name in reals]) if reals else table


def flattened(names: Iterable[Any]) -> list[Any]:
    """Columns as they were written, one by one or in lists, as Ibis takes them.

    >>> flattened(["plan", ["age", "year"]])
    ['plan', 'age', 'year']
    """
    return [one for written in names for one in (written if isinstance(written, list | tuple) else [written])]

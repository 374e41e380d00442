"""Columns of a protected table: expressions of Ibis that no backend runs, and that say what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NoReturn

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, UnknownName
from discreet.guesses.column_words import NO_VALUES, method_line


class NothingRuns(InvalidQuery):
    """An expression of a protected table was to be run."""


class NoBackend:
    """What a protected table's expressions are bound to: whoever has one run is told to ask a question."""

    name = "protected"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        said = "Expected a release before rows or answers are looked at, got an expression of columns to run."
        raise NothingRuns(f"{said}\nHint: {NO_VALUES}")

    def __reduce__(self) -> str:
        return "NOTHING_RUNS"


NOTHING_RUNS = NoBackend()


def protected_table(schema: Mapping[str, Any], name: str) -> ir.Table:
    """A table to write expressions over, of which nothing can be run.

    >>> protected_table({"age": "int64"}, "people").age.mean().execute()
    Traceback (most recent call last):
    discreet.language.protected_columns.NothingRuns: Expected a release before ... got an expression of columns to run.
    Hint: no value of a protected column is shown: write people.agg(m=_.age.mean()).release(epsilon=0.1).
    """
    return ops.DatabaseTable(name=name, schema=ibis.schema(schema), source=NOTHING_RUNS).to_expr()


class ProtectedColumn:
    """A column whose methods are those of Ibis, but for those that make no expression of a row."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        raise _no_method(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return protected_column, (self.op().to_expr(),)


def _no_method(column: Any, name: str) -> UnknownName:
    said = f"Expected a method that a column of type {column.type()} has, got .{name}."
    return UnknownName(f"{said}\nHint: {method_line(name, dir(type(column)))}")


def _refusal(name: str) -> Callable[..., NoReturn]:
    def method(self: object, *_: object, **__: object) -> NoReturn:
        raise _no_method(self, name)

    method.__name__ = name
    method.__doc__ = "Refused: a column is aggregated, and released, by the table that has it."
    return method


TABLES = ("value_counts", "topk", "as_table", "as_scalar", "preview", "to_sql", "compile", "visualize", "get_backend")
"""Methods that would make a table of a column, or run it."""

for _name in TABLES:
    setattr(ProtectedColumn, _name, _refusal(_name))


@cache
def _class_of(column: Any) -> Any:
    return type(column)(column.__name__, (ProtectedColumn, column), {"__slots__": ()})


def protected_column(column: ir.Column) -> ir.Column:
    """The same expression, which says what to write where Ibis has no such method, or a table of its own.

    >>> protected_column(protected_table({"plan": "string"}, "people").plan).value_counts()
    Traceback (most recent call last):
    discreet.errors.UnknownName: Expected a method that a column of type string has, got .value_counts.
    Hint: group by it and count: people.group_by('plan', max_groups=1).agg(n=_.count()).release(epsilon=0.1).
    """
    kind: Any = type(column)
    made: ir.Column = _class_of(kind)(column.op())
    return made

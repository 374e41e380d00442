"""The path from a table to the unit of its rows, as the curator states it: checked against names and types alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ibis.expr.schema as sch

from discreet.curator.stated_facts import check_columns, kind_in, stated_unit
from discreet.engines.connected_engine import Connected
from discreet.engines.engine import Engine
from discreet.engines.engine_selection import opened
from discreet.engines.foreign_key_units import PathStep
from discreet.errors import InvalidParameter, expected
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import one_notation
from discreet.privacy.definitions import ROW

EXAMPLE = "write via=[(orders, {'l_orderkey': 'o_orderkey'})], the tables in order, the one with the unit last."


class StatedStep(NamedTuple):
    """A table on the way to the unit, and how the one before refers to it."""

    data: Any
    """As `dp.protect` takes it."""
    on: Mapping[str, str]
    """Columns of the table before, and the column of this one that each names."""


def stated_path(via: object) -> tuple[StatedStep, ...]:
    """The steps of a path: one pair of a table and its columns, or several of them in order; none where none is stated.

    >>> [dict(step.on) for step in stated_path([("orders.parquet", {"l_orderkey": "o_orderkey"})])]
    [{'l_orderkey': 'o_orderkey'}]
    """
    if via is None:
        return ()
    pairs: Any = [via] if _is_step(via) else via
    if not isinstance(pairs, list | tuple) or not pairs or not all(map(_is_step, pairs)):
        what = "tables on the way to the unit, each with the columns that refer to it"
        raise InvalidParameter(expected(what, "via", type(via).__name__, EXAMPLE))
    return tuple(StatedStep(data, dict(on)) for data, on in pairs)


def opened_along(
    data: Any, schema: Mapping[str, str] | None, via: object, unit: Any
) -> tuple[Engine, tuple[tuple[tuple[str, str], ...], ...]]:
    """The engine of a table, with the unit at the end of the stated path if there is one; and the path's columns."""
    steps = stated_path(via)
    engine = opened(data, schema)
    check_columns(engine.schema)
    return (with_owner(engine, steps, unit) if steps else engine), columns_of(steps)


def columns_of(steps: Sequence[StatedStep]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The columns of each step and those that they refer to, which everybody may know."""
    return tuple(tuple(step.on.items()) for step in steps)


def with_owner(engine: Engine, steps: Sequence[StatedStep], unit: Any) -> Engine:
    """The table of an engine, whose unit is named in the last table of a path; refuses what no row can be found by."""
    if unit is ROW:
        cure = "name the column of the last table that tells people apart, as unit='o_custkey'."
        raise InvalidParameter(expected("a unit that is a column, at the end of a path", "unit", "each row", cure))
    first = last = _of_connection(engine)
    path = []
    for step in steps:
        last = _next(first, last, step)
        path.append(PathStep(table=last, foreign=tuple(step.on), referenced=tuple(step.on.values())))
    whose = stated_unit(unit, last.schema)
    for name in whose:
        _check_exact(name, last.schema, "unit")
        if any(name.casefold() == own.casefold() for own in engine.schema):
            cure = "rename it in one of them; where it names the unit of a row, leave out via=."
            raise InvalidParameter(expected("a unit that is no column of the table itself", "unit", name, cure))
    return first.along(path, whose)


def _is_step(stated: Any) -> bool:
    return (
        isinstance(stated, tuple | list)
        and len(stated) == 2
        and isinstance(stated[1], Mapping)
        and len(stated[1]) > 0
        and all(isinstance(name, str) for pair in stated[1].items() for name in pair)
    )


def _next(first: Connected, before: Connected, step: StatedStep) -> Connected:
    """The next table of a path, if the one before can refer to it by these columns."""
    engine = _of_connection(opened(step.data, None, first))
    check_columns(engine.schema)
    if not engine.shares_connection(first):
        cure = "make all with the same Ibis connection, connection.table(name), or give files or frames for all."
        raise InvalidParameter(expected("tables of one connection", "via", type(step.data).__name__, cure))
    for foreign, referenced in step.on.items():
        for name, schema in ((foreign, before.schema), (referenced, engine.schema)):
            kind_in(name, schema, "a known column", "via")
            _check_exact(name, schema, "via")
        kinds = before.schema[foreign], engine.schema[referenced]
        if not one_notation(*kinds):
            cure = "cast one of them before they are protected, in a view or in the frame."
            what = f"keys {foreign!r} and {referenced!r} of the same type"
            raise InvalidParameter(expected(what, "types", f"{kinds[0]} and {kinds[1]}", cure))
    return engine


def _check_exact(name: str, schema: sch.Schema, label: str) -> None:
    """Refuses columns that are no names of anything: truth values, and floats, which are not compared exactly."""
    if kind_in(name, schema, "a known column", label) is Kind.BOOLEAN or schema[name].is_floating():
        cure = "name columns of whole numbers, texts, decimals, dates or times."
        raise InvalidParameter(expected("keys that are compared exactly", label, f"{name}: {schema[name]}", cure))


def _of_connection(engine: Any) -> Connected:
    if not isinstance(engine, Connected):
        raise TypeError(engine)
    return engine

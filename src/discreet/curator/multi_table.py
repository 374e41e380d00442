"""Several tables under one budget, in one plan and for one charge that names all of them.

Claim
    Neighbors differ by one unit's rows, in all tables of D at once. Where each row is a unit, these are at most
    `rows_changed` rows of a table that verbs made of several: removed, added or, where neighbors replace, one for the
    other.
Requires
    Verbs that make at most one row of each row of such a table (`query.set_operations`, `query.joins`), or at most k,
    and say so (`query.row_expansion`).
Relies on
    Nothing that is known of the tables: not their names, nor where they lie, nor whether they are one.
Proof
    By induction over the verbs that combine two tables. One unit has at most one row in each table of D: rows_changed
    is 1. What has a and b of its rows on its sides has a + b at most in all, whatever tables stand on both sides, and
    so do neighbors in which that unit is removed, or replaced. What makes at most k rows of each has k times as many.
    Public rows are the same for all neighbors. Where the unit is named by columns, its rows are bounded after all
    verbs, and nothing is counted here; it has one name in all tables, since types that write one value in two ways do
    not meet (`check_units`).
Rounding
    None: integers.
Source
    McSherry, "Privacy integrated queries" (2009), section 3: the stability of a union.
Mutant
    united-rows-count-once: a unit has as many rows in a union as in its first table; killed by
    test_a_unit_in_all_tables_moves_no_total_further_than_claimed.
    one-person-two-names: decimals of any scale meet as units; killed by test_units_have_one_notation_in_all_tables.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import replace

from discreet.engines.connected_engine import Connected
from discreet.engines.engine import Engine
from discreet.engines.multi_table_engine import TableEngine, TablePart
from discreet.errors import InvalidQuery, expected
from discreet.language.input_barrier import one_notation
from discreet.planning.contribution_limits import check_moved, check_one_owner
from discreet.privacy.declaration import Declaration
from discreet.query.public_table import PublicTable


def parts_of(engine: Engine, declaration: Declaration) -> tuple[TablePart, ...]:
    """The tables behind an engine."""
    if not isinstance(engine, Connected):
        cure = "protect tables of DuckDB, PostgreSQL or Spark."
        raise InvalidQuery(expected("tables of a connection", "engine", type(engine).__name__, cure))
    return engine.parts or (TablePart(declaration, engine),)


def public_part(table: PublicTable) -> TablePart:
    """A public table as one of several."""
    return TablePart(Declaration(name="public", version=table.digest), rows=table.rows)


def matching(first: Declaration, second: Declaration) -> None:
    """Refuses tables that do not protect the same unit in the same way."""
    for one in (first, second):
        check_moved(one, "table")
        check_one_owner(one, "table")
    for what in ("unit", "neighbors", "size"):
        mine, other = getattr(first, what), getattr(second, what)
        if mine != other and (what != "size" or first.unit):
            cure = "protect both tables with the same unit= and the same neighbors=."
            raise InvalidQuery(expected(f"tables with the same {what}", what, f"{mine} and {other}", cure))


def check_units(mine: tuple[TablePart, ...], others: tuple[TablePart, ...]) -> None:
    """Refuses tables in which one unit may be written in two ways, and so be taken for two."""
    for (declared, one), (_, other) in itertools.product(_protected(mine), _protected(others)):
        for name in declared.unit:
            kinds = one.schema[name], other.schema[name]
            if not one_notation(*kinds):
                cure = "cast it in one of the tables before they are protected."
                raise InvalidQuery(expected("units of the same type", "types", f"{kinds[0]} and {kinds[1]}", cure))


def _protected(parts: tuple[TablePart, ...]) -> list[tuple[Declaration, TableEngine]]:
    return [(part.declaration, part.engine) for part in parts if part.engine is not None]


def joined(mine: tuple[TablePart, ...], others: tuple[TablePart, ...]) -> tuple[tuple[TablePart, ...], tuple[int, ...]]:
    """All tables of both, each once, and where those of the second stand."""
    every = list(mine)
    places = []
    for part in others:
        same = (i for i, known in enumerate(every) if _is_same(known, part))
        place = next(same, None)
        if place is None:
            place = len(every)
            every.append(part)
        places.append(place)
    return tuple(every), tuple(places)


def _is_same(one: TablePart, other: TablePart) -> bool:
    return one.rows is other.rows if one.engine is None else one.engine is other.engine


def united(first: Declaration, second: Declaration) -> Declaration:
    """What is stated of the rows of both, where each row is a unit: one has those that it has in the first and those
    that it has in the second, since nothing tells whether two tables are about the same people, or are the same table.
    """
    return replace(first, rows_changed=first.rows_changed + second.rows_changed, size=None)


def combined_declaration(first: Declaration, parts: tuple[TablePart, ...]) -> Declaration:
    """What is stated of several tables: as of the first, under the names of all that are protected, and with a version
    that changes with any of them.
    """
    own = [declared for declared, _ in _protected(parts)]
    names = list(dict.fromkeys(declared.name for declared in own))
    facts = [_facts(part.declaration, None if part.engine is None else part.engine.schema) for part in parts]
    version = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    return replace(first, name=", ".join(names), version=version, parts=tuple(own))


def _facts(declared: Declaration, schema: Mapping[str, object] | None) -> list[object]:
    bounds = {name: [str(low), str(high)] for name, (low, high) in declared.bounds.items()}
    types = None if schema is None else {name: str(kind) for name, kind in schema.items()}
    path = [declared.via] if declared.via else []
    return [declared.name, declared.version, bounds, types, *path]

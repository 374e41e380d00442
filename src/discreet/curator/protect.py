"""What the curator states, checked before anything is read: who is protected, what is publicly known, what may be
spent.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.curator.protected_table import Protected
from discreet.curator.protection_warnings import warn_of_reused_name
from discreet.curator.stated_facts import (
    by_column,
    stated_bounds,
    stated_folder,
    stated_keys,
    stated_name,
    stated_neighbors,
    stated_unit,
    stated_version,
)
from discreet.curator.unit_paths import opened_along, stated_path
from discreet.engines.engine import Engine
from discreet.errors import InvalidParameter, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.input_barrier import one_of_each
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.noise.entropy import random_key
from discreet.planning.contribution_limits import stated_limits
from discreet.planning.unspecified import auto_columns
from discreet.privacy.declaration import Declaration, Key
from discreet.privacy.definitions import ROW, Row
from discreet.query.shared_table import protected_table
from discreet.query.table import PrivateTable

_numbers = itertools.count(1)


@with_usage_hint("dp.protect({}, unit='person', budget=dp.Budget(epsilon=1))")
def protect(
    data: Any,
    *,
    unit: str | Iterable[str] | Row | None = None,
    budget: Budget | None = None,
    via: object = None,
    bounds: Mapping[str, tuple[object, object] | str] | None = None,
    keys: Mapping[str, Iterable[Key]] | None = None,
    max_groups: int | str | None = None,
    max_rows: int | str | None = None,
    neighbors: str = "add-remove",
    rows: int | None = None,
    units: int | None = None,
    schema: Mapping[str, str] | None = None,
    name: str | None = None,
    version: str | int = "",
    keep_steps: str | os.PathLike[str] | None = None,
) -> PrivateTable:
    """A table about people that from now on answers aggregate questions only.

    Args:
        data: a path (Parquet, or CSV with `schema`), a pandas, polars or Arrow table, or an Ibis table of a connection
            to DuckDB, PostgreSQL or Spark.
        unit: who is protected: a column, several columns, or ``dp.ROW`` where no two rows belong to the same person.
            All rows of a unit are protected together; rows whose unit is NULL are left out. Where a row belongs to two
            people each, see `dp.protect_shared`.
        budget: what may be spent; one Budget may serve several tables.
        via: where the unit is a column of another table, the tables on the way to it, each with the columns that refer
            to it: ``[(orders, {"l_orderkey": "o_orderkey"})]``. The last one has the unit. Each is given as `data` is,
            and is as private. Rows that lead to no unit, or to several, are left out.
        bounds: (low, high) of numbers and dates, from public knowledge. Values outside count as the nearest bound,
            everywhere. "auto" has each release choose the bounds of a column of numbers, at a part of its epsilon.
        keys: the public categories of columns, for grouping.
        max_groups: in how many groups one unit counts; a unit in more is weighted down. Holds for every query that
            does not say otherwise in ``group_by``.
        max_rows: with how many rows one unit counts in each group (or in all, without groups). Either limit can be
            "auto", and is then chosen by each release, at a part of its epsilon.
        neighbors: ``"add-remove"``, or ``"replace-one"``, which needs the public number of `rows` or `units`.
        rows: the public number of rows, for replace-one neighbors where each row is a unit.
        units: the public number of units, for replace-one neighbors where the unit is a column.
        schema: the columns of a CSV file and their types; what does not fit is NULL.
        name: what the ledger calls the source; a path stands for itself.
        version: the declared version of the source. The same question of the same version is answered once; declare a
            new one when rows change, here or by ``.refreshed(...)``. All versions have one unit and one relation of
            neighbors, and what is spent on each counts for all.
        keep_steps: a folder for the exact totals of the steps of `.series`, as private as the rows: with it, a step is
            published by reading the rows of that step alone. Without, nothing is kept, and those of all steps are read.

    Raises:
        InvalidParameter: something is missing or not usable; nothing has been read.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> visits = pa.table({"person": [1, 1, 2], "visits": [3, 5, 4]})
    >>> dp.protect(
    ...     visits, unit="person", bounds={"visits": (0, 50)}, max_rows=2, budget=dp.Budget(epsilon=1), name="visits"
    ... )
    <private table 'visits', protecting person: person: integer, visits: integer>
    """
    if unit is None:
        raise InvalidParameter(
            "Expected a privacy unit, got none.\n"
            "Hint: unit='person' names the column that tells people apart; unit=dp.ROW says that each row is a person."
        )
    budget = budgeted(budget)
    by_row = unit is ROW
    related, size = stated_neighbors(neighbors, rows=rows, units=units, by_row=by_row)
    known = Declaration(name="", unit=() if by_row else ("unit",))
    limits = stated_limits(known, max_groups=max_groups, max_rows=max_rows)
    engine, path = opened_along(data, schema, via, unit)
    declaration = Declaration(
        name=source_name(data, name),
        version=stated_version(version),
        unit=() if by_row else stated_unit(unit, engine.schema),
        via=path,
        neighbors=related,
        size=size,
        bounds=stated_bounds(by_column("bounds", bounds, (0, 100)), engine.schema, unit),
        keys=stated_keys(by_column("keys", keys, ["a", "b"]), engine.schema),
        max_groups=limits.max_groups,
        max_rows=limits.max_rows,
        auto_limits=limits.auto,
        auto_bounds=auto_columns(bounds),
    )
    table: PrivateTable = protected(engine, declaration, budget, stated_folder(keep_steps))
    if name is not None or is_path(data):
        warn_of_reused_name(DeclaredSource.of(declaration), data, budget, (step.data for step in stated_path(via)))
    return table


def budgeted(budget: Budget | None) -> Budget:
    """A budget; refuses anything else."""
    if not isinstance(budget, Budget):
        cure = "say what may be spent in total: budget=dp.Budget(epsilon=1)."
        raise InvalidParameter(expected("a budget", "budget", budget, cure))
    return budget


def protected(engine: Engine, declaration: Declaration, budget: Budget, keep_steps: str | None = None) -> Any:
    """The table of a declaration that was checked; refuses one that cannot be scanned, or that the ledger knows
    otherwise.
    """
    engine.barrier(declaration, one_of_each(engine.schema, declaration.bounds))  # before a question about it is charged
    budget.check(DeclaredSource.of(declaration))
    return protected_table(Protected(engine, declaration, budget, keep_steps=keep_steps))


def source_name(data: Any, name: object = None) -> str:
    """What the ledger calls a source: its stated name, its absolute path, or a name that no other table has, of any
    process: in two containers, numbers of processes and moments may be the same.
    """
    if name is not None:
        return stated_name(name)
    if is_path(data):
        return str(Path(data).resolve())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return f"table {next(_numbers)} of process {os.getpid()} at {now}/{random_key()[:8].hex()}"


def is_path(data: Any) -> bool:
    """Whether a table is handed over as the path of its file."""
    return isinstance(data, str | os.PathLike)

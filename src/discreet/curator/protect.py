"""What the curator states, checked before anything is read: who is protected, what is publicly known, what may be
spent.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis.expr.schema as sch

from discreet.curator.protected_table import Protected
from discreet.curator.protection_warnings import noticed
from discreet.engines.engine_selection import opened
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction
from discreet.exact.given_values import in_memory
from discreet.language.barrier import kind_of, one_of_each
from discreet.language.checked_expressions import Kind
from discreet.language.unsupported_columns import READ, cast_first, no_column, unsupported
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.planning.contribution_limits import stated_limits, whole
from discreet.planning.group_keys import grouping, listed
from discreet.planning.unspecified import WIDEST, auto_columns, is_auto
from discreet.privacy.declaration import Bound, Declaration, Key
from discreet.privacy.definitions import ROW, Neighbors, Row
from discreet.query.table import PrivateTable

_numbers = itertools.count(1)


def protect(
    data: Any,
    *,
    unit: str | Iterable[str] | Row | None = None,
    budget: Budget | None = None,
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
) -> PrivateTable:
    """A table about people that from now on answers aggregate questions only.

    Args:
        data: a path (Parquet, or CSV with `schema`), a pandas, polars or Arrow table, or an Ibis table of a connection
            to DuckDB, PostgreSQL or Spark.
        unit: who is protected: a column, several columns, or ``dp.ROW`` where no two rows belong to the same person.
            All rows of a unit are protected together; rows whose unit is NULL are left out.
        budget: what may be spent; one Budget may serve several tables.
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
    if not isinstance(budget, Budget):
        raise InvalidParameter(
            expected("a budget", "budget", budget, "say what may be spent in total: budget=dp.Budget(epsilon=1).")
        )
    by_row = unit is ROW
    related, size = _neighbors(neighbors, rows=rows, units=units, by_row=by_row)
    known = Declaration(name="", unit=() if by_row else ("unit",))
    limits = stated_limits(known, max_groups=max_groups, max_rows=max_rows)
    engine = opened(data, schema)
    _check_columns(engine.schema)
    declaration = Declaration(
        name=_name(data) if name is None else _stated_name(name),
        version=_version(version),
        unit=() if by_row else _unit(unit, engine.schema),
        neighbors=related,
        size=size,
        bounds=_bounds(_by_column("bounds", bounds, (0, 100)), engine.schema, unit),
        keys=_keys(_by_column("keys", keys, ["a", "b"]), engine.schema),
        max_groups=limits.max_groups,
        max_rows=limits.max_rows,
        auto_limits=limits.auto,
        auto_bounds=auto_columns(bounds),
    )
    engine.barrier(declaration, one_of_each(engine.schema, declaration.bounds))  # before a question about it is charged
    budget.check(DeclaredSource.of(declaration))
    if name is not None or _is_path(data):
        noticed(DeclaredSource.of(declaration), data, budget)
    return PrivateTable.of(Protected(engine, declaration, budget))


def _check_columns(schema: sch.Schema) -> None:
    for name in schema.names:
        if name.casefold().startswith("__discreet"):
            raise InvalidParameter(expected("other column names", "column", name, "rename it: __discreet is taken."))
    closed = unsupported(schema)
    if schema and len(closed) == len(schema):
        name, kind = next(iter(closed.items()))
        raise InvalidParameter(expected(READ, "columns", sorted(closed), cast_first(name, kind)))


def _name(data: Any) -> str:
    """What the ledger calls a source that was not named: its absolute path, or a name that no other table of this
    process has.
    """
    if _is_path(data):
        return str(Path(data).resolve())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return f"table {next(_numbers)} of process {os.getpid()} at {now}"


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def _stated_name(name: object) -> str:
    if isinstance(name, str) and name.strip() and name.isprintable():
        return name
    raise InvalidParameter(expected("a name", "name", name, "write it as text, as name='visits'."))


def _version(version: object) -> str:
    """A version as text: 2 and "2" are the same one."""
    if isinstance(version, str | int) and not isinstance(version, bool) and (not version or str(version).isprintable()):
        return str(version)
    raise InvalidParameter(expected("a version", "version", version, "write version=2, or version='2026-02'."))


def _neighbors(stated: object, *, rows: int | None, units: int | None, by_row: bool) -> tuple[Neighbors, int | None]:
    known = {relation.value: relation for relation in Neighbors}
    if not isinstance(stated, str) or stated not in known:
        raise InvalidParameter(
            expected(
                "'add-remove' or 'replace-one'",
                "neighbors",
                stated,
                "'add-remove' protects whether a person is in the table at all.",
            )
        )
    wanted, other = ("rows", "units") if by_row else ("units", "rows")
    given = {"rows": rows, "units": units}
    if known[stated] is Neighbors.ADD_REMOVE:
        for name, size in given.items():
            if size is not None:
                raise InvalidParameter(
                    expected(
                        "no public size with add-remove neighbors",
                        name,
                        size,
                        "leave it out, or state neighbors='replace-one'.",
                    )
                )
        return Neighbors.ADD_REMOVE, None
    if given[other] is not None or given[wanted] is None:
        raise InvalidParameter(
            expected(
                f"the public number of {wanted}",
                wanted,
                given[wanted],
                f"replace-one neighbors have the same, public size: {wanted}=1000.",
            )
        )
    return Neighbors.REPLACE_ONE, whole(wanted, given[wanted])


def _unit(unit: Any, schema: sch.Schema) -> tuple[str, ...]:
    names = (unit,) if isinstance(unit, str) else tuple(unit) if in_memory(unit) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameter(
            expected(
                "a column, several columns or dp.ROW",
                "unit",
                unit,
                "unit='person' names the column that tells people apart.",
            )
        )
    for name in names:
        _kind(name, schema, "a known column", "unit")
    return names


def _by_column(name: str, stated: Any, example: object) -> Mapping[str, Any]:
    """What was stated of some columns: a mapping, empty where nothing was."""
    if stated is None or isinstance(stated, Mapping):
        return stated or {}
    raise InvalidParameter(expected("a dict by column", name, stated, f"write {name}={{'column': {example!r}}}."))


def _kind(name: Any, schema: sch.Schema, what: str, label: str) -> Kind:
    """What a column is read as; refuses those that are not there, or not read."""
    kind = kind_of(schema[name]) if isinstance(name, str) and name in schema else None
    if kind is None:
        closed = unsupported(schema)
        known = [one for one in schema if one not in closed]
        raise InvalidParameter(no_column(name, known, closed, what=what, label=label))
    return kind


def _bounds(
    stated: Mapping[str, tuple[object, object] | str], schema: sch.Schema, unit: Any
) -> dict[str, tuple[Bound, Bound]]:
    units = (unit,) if isinstance(unit, str) else () if unit is ROW else tuple(unit)
    bounds: dict[str, tuple[Bound, Bound]] = {}
    for name, pair in stated.items():
        kind = _kind(name, schema, "known columns", "bounds")
        if name in units:
            raise InvalidParameter(
                expected("columns other than the privacy unit", "bounds", name, "the unit needs no bounds.")
            )
        if kind in (Kind.BOOLEAN, Kind.TEXT):
            raise InvalidParameter(
                expected(
                    "bounds of numbers and dates",
                    "bounds",
                    f"{name}: {kind.value}",
                    "leave it out; list its public categories in keys=.",
                )
            )
        if is_auto(pair) and kind.numeric:
            bounds[name] = (-WIDEST, WIDEST)
            continue
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidParameter(
                expected(
                    "a pair (low, high)",
                    f"bounds[{name!r}]",
                    pair,
                    f"write bounds={{{name!r}: (0, 100)}}; for numbers, 'auto' has each release choose them.",
                )
            )
        low, high = (_bound(name, kind, end) for end in pair)
        if kind is Kind.INTEGER:
            low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))  # type: ignore[arg-type]  # numbers, by their kind
        if low >= high:  # type: ignore[operator]  # both are of one kind
            raise InvalidParameter(
                expected("low < high", f"bounds[{name!r}]", pair, "write the lower bound first; they may not be equal.")
            )
        bounds[name] = (low, high)
    return bounds


def _bound(name: str, kind: Kind, end: object) -> Bound:
    if kind.numeric:
        number = _finite(name, end)
        limit = Fraction(2) ** (63 if kind is Kind.INTEGER else 1023)
        if not -limit <= number < limit:
            raise InvalidParameter(
                expected(
                    f"bounds that a {kind.value} can have",
                    f"bounds[{name!r}]",
                    end,
                    "state what is publicly known of the column.",
                )
            )
        return number if kind is Kind.INTEGER else Fraction(float(number))
    try:
        moment = datetime.fromisoformat(end) if isinstance(end, str) else end
    except ValueError:
        moment = None
    if isinstance(moment, date) and moment == moment:  # noqa: PLR0124 (pandas' NaT is a date that differs from itself)
        if kind is Kind.DATE:
            return date(moment.year, moment.month, moment.day)
        if not isinstance(moment, datetime):
            return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 (naive means UTC here)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    raise InvalidParameter(
        expected(f"a {kind.value}", f"bounds[{name!r}]", end, "write it year-month-day, '2020-01-31'.")
    )


def _finite(name: str, end: object) -> Fraction:
    """One end of a numeric column's bounds."""
    try:
        return fraction("bounds", end)
    except InvalidParameter:
        cure = f"give both ends as numbers, bounds={{{name!r}: (0, 100)}}. What lies beyond counts as the nearer end."
        raise InvalidParameter(expected("two finite numbers", f"bounds[{name!r}]", end, cure)) from None


def _keys(stated: Mapping[str, Iterable[Key]], schema: sch.Schema) -> dict[str, tuple[Key, ...]]:
    found = {}
    for name, values in stated.items():
        kind = _kind(name, schema, "known columns", "keys")
        found[name] = listed(name, values)
        grouping({name: kind}, found, None)
    return found

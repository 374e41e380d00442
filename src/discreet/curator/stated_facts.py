"""What was stated of a table, checked against its schema, fact by fact: no row is read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import ibis.expr.schema as sch

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction
from discreet.exact.given_values import in_memory, path_of
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import kind_of
from discreet.language.unsupported_columns import READ, cast_first, no_column, unsupported
from discreet.planning.contribution_limits import checked_limit
from discreet.planning.group_keys import checked_keys, grouping
from discreet.planning.unspecified import WIDEST, is_auto
from discreet.privacy.declaration import Bound, Key
from discreet.privacy.definitions import ROW, Neighbors


def check_columns(schema: sch.Schema) -> None:
    """Refuses a table that has a column of ours, or none that is read."""
    for name in schema.names:
        if name.casefold().startswith("__discreet"):
            raise InvalidParameter(expected("other column names", "column", name, "rename it: __discreet is taken."))
    closed = unsupported(schema)
    if schema and len(closed) == len(schema):
        name, kind = next(iter(closed.items()))
        raise InvalidParameter(expected(READ, "columns", sorted(closed), cast_first(name, kind)))


def stated_name(name: object) -> str:
    """A name for the ledger, in characters that can be seen."""
    if isinstance(name, str) and name.strip() and name.isprintable():
        return name
    raise InvalidParameter(expected("a name", "name", name, "write it as text, as name='visits'."))


def stated_folder(folder: object) -> str | None:
    """The one name of the folder in which steps are kept; it need not be there yet."""
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        cure = "write keep_steps='steps', a folder for what is as private as the rows; or leave it out."
        raise InvalidParameter(expected("the path of a folder", "keep_steps", folder, cure))
    named = path_of("keep_steps", folder)
    if named.exists() and not named.is_dir():
        cure = "name a folder of its own, beside the rows: what is in it is as private as they are."
        raise InvalidParameter(expected("a folder", "keep_steps", str(named), cure))
    return str(named.resolve())


LONGEST = 10**100
"""A version is no longer number."""


def stated_version(version: object) -> str:
    """A version as text: 2 and "2" are the same one."""
    number = isinstance(version, int) and not isinstance(version, bool) and abs(version) < LONGEST
    if number or (isinstance(version, str) and (not version or version.isprintable())):
        return str(version)
    raise InvalidParameter(expected("a version", "version", version, "write version=2, or version='2026-02'."))


def stated_neighbors(
    stated: object, *, rows: int | None, units: int | None, by_row: bool
) -> tuple[Neighbors, int | None]:
    """The relation of neighbors, and the public size where it needs one."""
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
    return Neighbors.REPLACE_ONE, checked_limit(wanted, given[wanted])


def stated_unit(unit: Any, schema: sch.Schema, label: str = "unit") -> tuple[str, ...]:
    """The columns that name the privacy unit, each of them there and read."""
    names = (unit,) if isinstance(unit, str) else tuple(unit) if in_memory(unit) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameter(
            expected(
                "a column, several columns or dp.ROW",
                label,
                unit,
                "unit='person' names the column that tells people apart.",
            )
        )
    for name in names:
        kind_in(name, schema, "a known column", label)
    return names


def by_column(name: str, stated: Any, example: object) -> Mapping[str, Any]:
    """What was stated of some columns: a mapping, empty where nothing was."""
    if stated is None or isinstance(stated, Mapping):
        return stated or {}
    raise InvalidParameter(expected("a dict by column", name, stated, f"write {name}={{'column': {example!r}}}."))


def kind_in(name: Any, schema: sch.Schema, what: str, label: str) -> Kind:
    """What a column is read as; refuses those that are not there, or not read."""
    kind = kind_of(schema[name]) if isinstance(name, str) and name in schema else None
    if kind is None:
        closed = unsupported(schema)
        known = [one for one in schema if one not in closed]
        raise InvalidParameter(no_column(name, known, closed, what=what, label=label))
    return kind


def stated_bounds(
    stated: Mapping[str, tuple[object, object] | str], schema: sch.Schema, unit: Any
) -> dict[str, tuple[Bound, Bound]]:
    """The bounds of columns of numbers and dates, in the kind of each."""
    units = (unit,) if isinstance(unit, str) else () if unit is ROW else tuple(unit)
    bounds: dict[str, tuple[Bound, Bound]] = {}
    for name, pair in stated.items():
        kind = kind_in(name, schema, "known columns", "bounds")
        if name in units:
            raise InvalidParameter(
                expected("columns other than the privacy unit", "bounds", name, "the unit needs no bounds.")
            )
        if kind in (Kind.BOOLEAN, Kind.TEXT):
            cure = "leave it out; list its public categories in keys=."
            if kind is Kind.BOOLEAN:
                cure = f"leave it out: a truth value has no bounds; count it by .agg(n=_.count(where=_.{name}))."
            raise InvalidParameter(expected("bounds of numbers and dates", "bounds", f"{name}: {kind.value}", cure))
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
                    f"bounds that {kind.said} can have",
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
        with suppress(OverflowError):  # UTC has no such year
            return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    raise InvalidParameter(expected(f"{kind.said}", f"bounds[{name!r}]", end, "write it year-month-day, '2020-01-31'."))


def _finite(name: str, end: object) -> Fraction:
    """One end of a numeric column's bounds."""
    try:
        return fraction("bounds", end)
    except InvalidParameter:
        cure = f"give both ends as numbers, bounds={{{name!r}: (0, 100)}}. What lies beyond counts as the nearer end."
        raise InvalidParameter(expected("two finite numbers", f"bounds[{name!r}]", end, cure)) from None


def stated_keys(stated: Mapping[str, Iterable[Key]], schema: sch.Schema) -> dict[str, tuple[Key, ...]]:
    """The public keys of columns, each of a type that its column has."""
    found = {}
    for name, values in stated.items():
        kind = kind_in(name, schema, "known columns", "keys")
        found[name] = checked_keys(name, values)
        grouping({name: kind}, found, None)
    return found

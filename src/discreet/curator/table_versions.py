"""A table that grows: new rows under what was stated of the old ones, and under the same budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.curator.protect import protect
from discreet.curator.protected_table import Protected
from discreet.curator.stated_facts import stated_version
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.ledger.budget import Budget
from discreet.planning.unspecified import AUTO
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of

RESTATED = ("bounds", "keys", "max_groups", "max_rows", "rows", "units", "schema", "via")
"""What may be stated anew of a version; name, unit, neighbors and budget are those of all."""


def refreshed(people: PrivateTable, data: Any, *, version: str | int, **stated: Any) -> PrivateTable:
    """A new version of a protected table; see `PrivateTable.refreshed`."""
    parts = view_of(people)
    source = parts.source
    budget = source.budget if isinstance(source, Protected) and not source.declaration.parts else None
    if not isinstance(source, Protected) or not isinstance(budget, Budget) or people._steps:  # noqa: SLF001 (the curator's own table)
        raise InvalidQuery(
            "Expected a table as dp.protect gave it, got one after some verbs.\n"
            "Hint: refresh the protected table first, and filter or join the new one."
        )
    for name in stated:
        if name not in RESTATED:
            raise InvalidParameter(
                expected("what a new version may change", "stated", name, nearest_name(name, RESTATED))
            )
    known = source.declaration
    if stated_version(version) in ("", known.version):
        cure = "say which one it is, in words of your own: version='2026-02'. It is never read off the rows."
        raise InvalidParameter(expected("a new version", "version", version, cure))
    if known.via and stated.get("via") is None:
        cure = "give the tables on the way to the unit as well, as they are now: via=[(orders, {...})]."
        raise InvalidParameter(expected("the path to the unit of the new rows", "via", None, cure))
    facts = _facts(known) | {name: value for name, value in stated.items() if name not in ("bounds", "keys")}
    for name in ("bounds", "keys"):
        facts[name] = {**facts[name], **(stated.get(name) or {})}
    table = protect(data, budget=budget, name=known.name, version=version, keep_steps=source.keep_steps, **facts)
    fresh: Any = table._source  # noqa: SLF001 (as above)
    fresh.declaration = replace(fresh.declaration, description=known.description, descriptions=dict(known.descriptions))
    fresh._words = source._words  # noqa: SLF001 (chance for a table whose noise can be foreseen)
    return table


def _facts(known: Declaration) -> dict[str, Any]:
    """What was stated of a table, as `protect` takes it; a public size is of one version and has to be stated anew."""
    automatic = dict.fromkeys(known.auto_bounds, AUTO)
    return {
        "unit": known.unit or ROW,
        "neighbors": known.neighbors.value,
        "bounds": {**known.bounds, **automatic},
        "keys": dict(known.keys),
        "max_groups": AUTO if "max_groups" in known.auto_limits else known.max_groups,
        "max_rows": AUTO if "max_rows" in known.auto_limits else known.max_rows,
    }

"""What everybody may know of a protected table, ready for JSON: its declaration, and the types of its columns."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

from discreet.exact.amounts import decimal_text
from discreet.privacy.declaration import Bound, Declaration, Key
from discreet.query.query_steps import Chain


def public_facts(table: Chain) -> dict[str, Any]:
    """The name, the unit, the limits and the columns of a table as it was declared: no row and no place.

    Amounts are decimal text, dates are ISO text. `bounds` is "auto" where each release chooses them; a limit of "auto"
    likewise; null where nothing was stated. `each_of` is there, and true, where each column of the unit names one.
    `via` has the steps to the table that names the unit, in order, where it is another one: the columns of each, and
    those that they refer to.

    >>> from discreet.testing import people
    >>> public_facts(people())["columns"][1]["keys"]
    ['free', '25%', '50%']
    """
    stated = table.declaration
    limits = {"max_groups": stated.max_groups, "max_rows": stated.max_rows}
    return {
        "name": stated.name,
        "version": stated.version,
        "description": stated.description,
        "unit": list(stated.unit) or "row",
        **({"each_of": True} if stated.each_of else {}),
        "via": [dict(step) for step in stated.via],
        "neighbors": stated.neighbors.value,
        "size": stated.size,
        "limits": {name: "auto" if name in stated.auto_limits else limit for name, limit in limits.items()},
        "columns": [
            {
                "name": name,
                "type": value.kind.value,
                "unit": name in stated.unit,
                "bounds": _bounds(stated, name),
                "keys": None if name not in stated.keys else [_key(key) for key in stated.keys[name]],
                "description": stated.descriptions.get(name, ""),
            }
            for name, value in table._columns.items()  # noqa: SLF001 (the public side of the same class)
        ],
    }


def _bounds(stated: Declaration, name: str) -> list[str] | str | None:
    if name in stated.auto_bounds:
        return "auto"
    return [_end(end) for end in stated.bounds[name]] if name in stated.bounds else None


def _end(end: Bound) -> str:
    return decimal_text(end) if isinstance(end, Fraction) else end.isoformat()


def _key(key: Key) -> str | int | bool | None:
    return key.isoformat() if isinstance(key, date) else key

"""The declaration of a data set as its service states it, checked as a curator's own declaration is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import ibis
import ibis.expr.schema as sch

from discreet.client.service_bodies import mapping, reading
from discreet.curator.stated_facts import stated_bounds, stated_keys, stated_neighbors, stated_unit
from discreet.exact.amounts import whole
from discreet.exact.written_amounts import stored_amount
from discreet.language.barrier import kind_of
from discreet.language.checked_expressions import Kind
from discreet.planning.unspecified import AUTO, WIDEST
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import ROW, Neighbors

LIMITS = ("max_groups", "max_rows")
DECLARED: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "version", "neighbors"), str),
    "unit": (str, list),
    "size": (int, type(None)),
    "limits": dict,
    "columns": list,
}
"""What is read of the declaration of a data set."""


def declared(facts: Mapping[str, Any]) -> tuple[Declaration, sch.Schema]:
    """The declaration of a data set, as its service states it."""
    with reading("the declaration of a data set"):
        found, schema = _declared(mapping("the declaration of a data set", facts, **DECLARED))
        # What is stated here is checked as a curator's own declaration is.
        unit: Any = found.unit or ROW
        if found.unit and stated_unit(unit, schema) != found.unit:
            raise ValueError(unit)
        stated_neighbors(
            facts["neighbors"],
            rows=None if found.unit else found.size,
            units=found.size if found.unit else None,
            by_row=not found.unit,
        )
        bounds = {name: pair for name, pair in found.bounds.items() if name not in found.auto_bounds}
        stated_bounds(bounds, schema, unit)
        stated_keys(found.keys, schema)
        if any(limit is not None and whole("limit", limit) < 1 for limit in (found.max_groups, found.max_rows)):
            raise ValueError(facts["limits"])
        if not all(isinstance(name, str) for step in found.via for pair in step for name in pair):
            raise ValueError(found.via)
    return found, schema


def _declared(facts: Mapping[str, Any]) -> tuple[Declaration, sch.Schema]:
    schema = ibis.schema({column["name"]: column["type"] for column in facts["columns"]})
    limits = {name: facts["limits"][name] for name in LIMITS}
    bounds: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for column in facts["columns"]:
        name, kind = column["name"], kind_of(schema[column["name"]])
        if column["bounds"] is not None:
            is_auto = column["bounds"] == AUTO
            bounds[name] = (-WIDEST, WIDEST) if is_auto else tuple(_value(kind, end) for end in column["bounds"])
        if column["keys"] is not None:
            keys[name] = tuple(_key(kind, key) for key in column["keys"])
    found = Declaration(
        name=facts["name"],
        version=facts["version"],
        unit=() if isinstance(facts["unit"], str) else tuple(facts["unit"]),
        via=tuple(tuple(step.items()) for step in facts.get("via", ())),
        neighbors=Neighbors(facts["neighbors"]),
        size=facts["size"],
        bounds=bounds,
        keys=keys,
        max_groups=1 if limits["max_groups"] == AUTO else limits["max_groups"],
        max_rows=1 if limits["max_rows"] == AUTO else limits["max_rows"],
        auto_limits=frozenset(name for name, limit in limits.items() if limit == AUTO),
        auto_bounds=frozenset(one["name"] for one in facts["columns"] if one["bounds"] == AUTO),
    )
    return found, schema


def _key(kind: Kind | None, key: Any) -> Any:
    return key if not isinstance(key, str) or kind not in (Kind.DATE, Kind.TIMESTAMP) else _value(kind, key)


def _value(kind: Kind | None, text: str) -> Any:
    if kind is Kind.DATE:
        return date.fromisoformat(text)
    return datetime.fromisoformat(text) if kind is Kind.TIMESTAMP else stored_amount(text)

"""What the release of a batch beside questions with something open would do and cost, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.query.explain import explain, promise
from discreet.query.explain_batch import explain_batch, label
from discreet.query.explain_preliminary import told
from discreet.query.explanation import Explanation

LISTED = "listed tables"


def explain_mixed_batch(
    plan: MixedBatchPlan, statement: str, *, confidence: float, assume: Mapping[str, int] | None
) -> Explanation:
    """All that is known of it before it is released."""
    accounts = _accounts(plan, confidence, assume)
    listed, tables = accounts[None], [label(name) for name in plan.names]
    columns = [
        {**column, "name": column["name"] if name is None else f"{name}: {column['name']}"}
        for name, own in accounts.items()
        for column in _scaled(own["columns"], plan.shares[name])
    ]
    order = {name: place for place, name in enumerate(tables)}
    return Explanation(
        {
            **promise(plan.tables[0]),
            "groups": {name or LISTED: own["groups"] for name, own in accounts.items()},
            "limits": {name or LISTED: _limits(own["limits"]) for name, own in accounts.items()},
            "charge": plan.charge,
            "tables": tables,
            "parts": {name or LISTED: plan.shares[name] for name in accounts},
            "strategy": listed["strategy"],
            "bound": listed["bound"],
            "columns": sorted(columns, key=lambda column: order[column["name"].rsplit(": ", 1)[0]]),
            "totals": [one for name, own in accounts.items() for one in _scaled(own["totals"], plan.shares[name])],
            "first looks": [
                {**look, "what": f"{look['what']} ({name})"}
                for name, own in accounts.items()
                for look in own.get("first looks", ())
            ],
            "confidence": confidence,
            "intervals": listed["intervals"],
            "rounding": "; ".join(dict.fromkeys(own["rounding"] for own in accounts.values())),
            "also priced": [],
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def _accounts(
    plan: MixedBatchPlan, confidence: float, assume: Mapping[str, int] | None
) -> dict[str | None, Mapping[str, Any]]:
    """Those of the listed tables, under None, and of each other question."""
    listed = explain_batch(replace(plan.listed, runners_up=()), "", confidence=confidence, assume=assume).facts
    found: dict[str | None, Mapping[str, Any]] = {None: listed}
    for name, part in plan.open.items():
        own = explain(part.placeholder_plan, "", confidence=confidence, assume=assume).facts
        found[name] = {**own, **told(part)}
    return found


def _scaled(facts: list[dict[str, Any]], share: Fraction) -> list[dict[str, Any]]:
    return [{**one, "share": one["share"] * share} for one in facts]


def _limits(limits: object) -> str:
    if isinstance(limits, Mapping):
        return ", ".join(f"{name}={value}" for name, value in limits.items()) or "none needed"
    return str(limits)

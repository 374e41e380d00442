"""What the release of a batch with ranges, or questions with something open, would do and cost; from public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.planning.batch_planner import BatchPlan
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.strategy_families import RANGES
from discreet.planning.table_names import label
from discreet.query.explain import assumed_rows, explain, promise
from discreet.query.explain_batch import INTERVALS, WORST, WORST_OF, cell_errors, explain_batch, range_errors
from discreet.query.explain_first_looks import first_look_facts
from discreet.query.explanation import Explanation

LISTED = "listed tables"


def explain_mixed_batch(
    plan: MixedBatchPlan, statement: str, *, confidence: float, assume: Mapping[str, int] | None
) -> Explanation:
    """All that is known of it before it is released."""
    accounts = _accounts(plan, confidence, assume)
    tables = [label(name) for name in plan.names]
    columns = [
        {**column, "name": f"{name}: {column['name']}" if name in plan.open else column["name"]}
        for name, own in accounts.items()
        for column in _scaled(own["columns"], plan.shares[name])
    ]

    def place(column: Mapping[str, Any]) -> int:
        """That of its table, whose name it begins with: either may have colons of its own."""
        return tables.index(max((one for one in tables if column["name"].startswith(f"{one}: ")), key=len))

    return Explanation(
        {
            **promise(plan.tables[0]),
            "groups": {name or LISTED: own["groups"] for name, own in accounts.items()},
            "limits": {name or LISTED: _limits(own["limits"]) for name, own in accounts.items()},
            "charge": plan.charge,
            "tables": tables,
            "parts": {name or LISTED: plan.shares[name] for name in accounts},
            **{fact: _of_parts(accounts, plan, fact) for fact in ("strategy", "bound") if plan.planned},
            **({"ranges": {name: accounts[name]["ranges"] for name in plan.ranges}} if plan.ranges else {}),
            "columns": sorted(columns, key=place),
            "totals": [one for name, own in accounts.items() for one in _scaled(own["totals"], plan.shares[name])],
            "first looks": [
                {**look, "what": f"{look['what']} ({name})"}
                for name, own in accounts.items()
                for look in own.get("first looks", ())
            ],
            "confidence": confidence,
            "intervals": INTERVALS,
            "rounding": "; ".join(dict.fromkeys(own["rounding"] for own in accounts.values())),
            "also priced": [],
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def runners_up(plan: MixedBatchPlan, *, confidence: float, assume: Mapping[str, int] | None) -> list[dict[str, Any]]:
    """What else was priced for the listed tables, and for each question about ranges, with its errors."""
    rows = assumed_rows(assume)
    return [
        {
            "mechanism": f"{name or LISTED}: {other.law.value} on {other.strategy.family}",
            "charge": other.charge,
            "plus_minus": {f"{name}: {_worst_of(other)}": range_errors(other, confidence)[WORST]}
            if other.query.ranges
            else cell_errors(other, confidence, rows),
        }
        for name, one in plan.planned.items()
        for other in one.runners_up
    ]


def _accounts(
    plan: MixedBatchPlan, confidence: float, assume: Mapping[str, int] | None
) -> dict[str | None, Mapping[str, Any]]:
    """Those of the listed tables, under None, and of each other question."""
    found: dict[str | None, Mapping[str, Any]] = {
        name: explain_batch(replace(one, runners_up=()), "", confidence=confidence, assume=assume).facts
        for name, one in plan.planned.items()
    }
    for name, one in plan.ranges.items():
        errors = range_errors(one, confidence)
        worst = {**found[name]["columns"][0], "name": f"{name}: {_worst_of(one)}", "plus_minus": errors[WORST]}
        found[name] = {**found[name], "columns": [*found[name]["columns"], worst], "ranges": errors}
    for name, part in plan.open.items():
        own = explain(part.placeholder_plan, "", confidence=confidence, assume=assume).facts
        found[name] = {**own, **first_look_facts(part)}
    return found


def _worst_of(ranges: BatchPlan) -> str:
    return WORST_OF[ranges.query.ranges or RANGES]


def _of_parts(accounts: Mapping[str | None, Mapping[str, Any]], plan: MixedBatchPlan, fact: str) -> Any:
    """What holds of listed tables, where nothing else is planned beforehand; otherwise of each part that is."""
    found = {name or LISTED: accounts[name][fact] for name in plan.planned}
    return found[LISTED] if list(found) == [LISTED] else found


def _scaled(facts: list[dict[str, Any]], share: Fraction) -> list[dict[str, Any]]:
    return [{**one, "share": one["share"] * share} for one in facts]


def _limits(limits: object) -> str:
    if isinstance(limits, Mapping):
        return ", ".join(f"{name}={value}" for name, value in limits.items()) or "none needed"
    return str(limits)

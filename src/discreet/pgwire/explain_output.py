"""The account of a release before it is made, as EXPLAIN shows it: price, error bars and deadline; or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.type_codes import JSON, TEXT, ColumnType

HIDDEN = ("source", "sql")
"""Facts of an explanation that no analyst is shown: they may name places."""


def plan_of(explained: Mapping[str, Any], remaining: str, *, as_json: bool = False) -> StatementResult:
    """The result of EXPLAIN: one row for each line, or one with JSON."""
    facts = {name: value for name, value in explained.items() if name not in HIDDEN}
    if as_json:
        text = json.dumps([{"Plan": facts, "remaining": remaining}], default=str)
        return _explained([ColumnType("QUERY PLAN", JSON)], [(text,)])
    return _explained([ColumnType("QUERY PLAN", TEXT)], [(line,) for line in _lines(facts, remaining)])


def _explained(columns: Sequence[ColumnType], rows: Sequence[tuple[Any, ...]]) -> StatementResult:
    return StatementResult(tag="EXPLAIN", columns=tuple(columns), rows=tuple(rows))


def _lines(facts: Mapping[str, Any], remaining: str) -> list[str]:
    groups = str(facts.get("groups") or "one group").replace(" by ", " groups by ", 1)
    lines = [
        f"Release of {groups}",
        f"  Price: {_amounts(facts.get('charge', {}))}; nothing is charged by EXPLAIN",
        f"  Budget: {remaining}",
    ]
    limits = {name: value for name, value in (facts.get("limits") or {}).items() if value is not None}
    unit = facts.get("unit")
    shown = unit if isinstance(unit, str) else ", ".join(unit or ())
    shown += "".join(f" by {path}" for path in facts.get("via", ()))
    lines.append(f"  Protects: {shown}{f' ({_amounts(limits)})' if limits else ''}, {facts.get('neighbors', '')}")
    confidence = float(facts.get("confidence", 0.95))
    lines.extend(
        f"  ->  {column['name']}: {column['statistic']} ± {column['plus_minus']} ({100 * confidence:g}%)"
        for column in facts.get("columns", ())
    )
    if any("/n" in str(column.get("plus_minus")) for column in facts.get("columns", ())):
        lines.append("      n is the number of rows in a group")
    if "seconds" in facts:
        lines.append(f"  Ready after: {facts['seconds']:g} s")
    return lines


def _amounts(amounts: Mapping[str, Any] | str) -> str:
    if isinstance(amounts, str):
        return amounts
    return ", ".join(f"{name}={amount}" for name, amount in amounts.items() if str(amount) != "0")

"""The name of a release: equal for equal questions, made from public facts alone."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from discreet.query.plan import Plan

FORMAT = 1
"""Raised whenever the meaning of a stored answer changes, so that older ones are not given for newer questions."""


def digest(plan: Plan, statement: str) -> str:
    """SHA-256 of all that determines the law of an answer: source, version, promise, statement, keys, noise and
    columns.
    """
    declared = plan.query.declaration
    keys = plan.query.keys
    facts: dict[str, Any] = {
        "format": FORMAT,
        "source": [declared.name, declared.version],
        "unit": declared.unit,
        "neighbors": [declared.neighbors.value, declared.size],
        "bounds": {name: [str(low), str(high)] for name, (low, high) in declared.bounds.items()},
        "sql": statement,
        "keys": None
        if keys is None
        else [keys.names, [[type(key).__name__, str(key)] for row in keys.rows for key in row]],
        "noise": [[block.steps, block.sensitivity, str(block.noise.epsilon)] for block in plan.blocks],
        "columns": [
            [c.aggregate.name, c.aggregate.statistic.value, c.aggregate.sample, c.blocks, c.coefficients, c.offset]
            for c in plan.columns
        ],
        "charge": [str(plan.charge.epsilon), str(plan.charge.delta)],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def described(plan: Plan) -> str:
    """One line for the ledger: the columns and the groups of a question."""
    columns = ", ".join(f"{c.aggregate.name} ({c.aggregate.statistic.value})" for c in plan.columns)
    return f"{columns} by {', '.join(plan.query.keys.names)}" if plan.query.keys else columns

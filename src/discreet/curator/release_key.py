"""The name of a release: equal for equal questions, made from public facts alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from discreet.errors import printable
from discreet.exact.amounts import decimal_text
from discreet.mechanisms.staircase import Staircase
from discreet.planning.aggregates import Aggregate
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.noise_laws import Noise
from discreet.planning.plan import Plan, Query
from discreet.planning.table_names import label
from discreet.privacy.declaration import Declaration

FORMAT = 1
"""Raised whenever the meaning of a stored answer changes, so that older ones are not given for newer questions."""

LONGEST_LINE = 300


def digest(plan: Plan, statement: str, schema: Mapping[str, object]) -> str:
    """SHA-256 of all that determines the law of an answer: source, version, types, promise, statement, keys, noise and
    columns.
    """
    keys = plan.query.keys
    facts = stated(plan.query.declaration, statement, schema) | {
        "keys": None if keys is None else keys.facts,
        "noise": [plan.law.value, [[b.steps, str(b.sensitivity), _noise(b.noise)] for b in plan.blocks]],
        "columns": [
            [
                *(
                    c.aggregate.name,
                    c.aggregate.statistic.name,
                    c.aggregate.sample,
                    c.blocks,
                    c.coefficients,
                    c.offset,
                ),
                *((c.aggregate.place,) if c.aggregate.place else ()),
            ]
            for c in plan.columns
        ],
        "charge": [str(plan.charge.epsilon), str(plan.charge.delta)],
    }
    if plan.charge.rho is not None:
        facts["charge"] = [f"rho={plan.charge.rho}"]
    if plan.joint is not None:
        facts["joint"] = [plan.joint.contributions, str(plan.joint.epsilon)]
    if plan.ranks:
        facts["cuts"] = [[repr(one.cuts), one.steps, one.places] for one in plan.ranks]
        facts["ranks"] = [[c.ranks, c.place, str(c.aggregate.share), str(c.aggregate.moment)] for c in plan.columns]
    if plan.values:
        facts["values"] = [repr(one.noise) for one in plan.values]
    return hashed(facts)


def stated(declared: Declaration, statement: str, schema: Mapping[str, object]) -> dict[str, Any]:
    """What the name of any release says of its table, and of what is asked of it; ready for JSON."""
    path = {"via": declared.via} if declared.via else {}
    each_of = {"each_of": True} if declared.each_of else {}
    return (
        path
        | each_of
        | {
            "format": FORMAT,
            "source": [declared.name, declared.version],
            "types": {name: str(dtype) for name, dtype in schema.items()},
            "unit": declared.unit,
            "neighbors": [declared.neighbors.value, declared.size],
            "bounds": {name: [str(low), str(high)] for name, (low, high) in declared.bounds.items()},
            "sql": statement,
        }
    )


def hashed(facts: object) -> str:
    """SHA-256 of what is ready for JSON; the order of names makes no difference."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _noise(noise: Noise) -> str:
    """What tells a law from all others of the same sensitivity."""
    return f"stairs of {noise.epsilon}" if isinstance(noise, Staircase) else str(noise.scale)


def described(plan: Plan) -> str:
    """One line for the ledger: the columns, the groups and the conditions of a question."""
    return described_query(plan.query)


def described_query(query: Query) -> str:
    """The same of a question before its price."""
    columns = ", ".join(f"{a.name} ({_asked(a)})" for a in query.aggregates)
    by = f" by {', '.join(query.keys.names)}" if query.keys else ""
    stated = [f"({one})" if " | " in one and query.conditions[1:] else one for one in query.conditions]
    return one_line(f"{columns}{by}" + (f" where {' and '.join(stated)}" if stated else ""))


def described_batch(plan: BatchPlan) -> str:
    """The same of several tables: the columns, and what the tables are called."""
    columns = ", ".join(dict.fromkeys(a.statistic.name for a in plan.cells.query.aggregates))
    names = "; ".join(label(name) for name in plan.query.names)
    return one_line(f"{columns} in {len(plan.query.tables)} tables: {names}")


def described_mixed_batch(plan: MixedBatchPlan) -> str:
    """The same of tables beside ranges, and of such as have keys, limits or bounds to be found."""
    listed = [] if plan.listed is None else [described_batch(plan.listed)]
    ranges = (f"{name}: {one.query.ranges} of {described_query(one.query.cells)}" for name, one in plan.ranges.items())
    others = (f"{name}: {described(part.placeholder_plan)}" for name, part in plan.open.items())
    return one_line("; ".join([*listed, *ranges, *others]))


def one_line(text: str) -> str:
    """A question as the ledger shows it."""
    line = printable(text)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."


def _asked(a: Aggregate) -> str:
    of = f" of {', '.join(value.text for value in a.values)}" if a.values else ""
    where = "" if a.where is None else f" where {a.where.text}"
    share = "" if a.share is None else f" {decimal_text(a.share)}"
    return f"{a.statistic.name}{share}{of}{where}"

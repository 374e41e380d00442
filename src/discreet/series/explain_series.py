"""What a series would cost, and how good each of its windows would be, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.noise_laws import Law
from discreet.query.explain import block_facts, error_of, promise, rows_below_noise
from discreet.query.explanation import Explanation, as_text
from discreet.series.series_plan import SeriesPlan

INTERVALS = "noise only, for the bounded and weighted population, per number; the widest of each window"


def account(plan: SeriesPlan, terms: Mapping[str, Any], statement: str, confidence: float) -> Explanation:
    """The account of a series before it is opened."""
    year = plan.calendar.year
    open_ended = {f", in {many} year{'s' * (many > 1)}": many * year for many in (1, 10)}
    ends = open_ended if plan.calendar.open_ended else {"": plan.calendar.steps}
    return Explanation(
        {
            **_promised(plan, terms),
            "columns": [one for told, end in ends.items() for one in _columns(plan, told, end, confidence)],
            "totals": [block_facts(block) for block in _measured(plan)],
            "confidence": confidence,
            "intervals": INTERVALS,
            "rounding": rows_below_noise(plan.plan),
            "also priced": [],
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def _columns(plan: SeriesPlan, told: str, end: int, confidence: float) -> list[dict[str, Any]]:
    """The widest number of each window among the steps up to an end."""
    columns = []
    for window in plan.strategy.windows.first:
        worst = plan.strategy.deviations[window][: len(plan.strategy.windows.full(window, end))]
        if not len(worst):
            continue
        kind = plan.kind(window, int(np.argmax(worst)))
        own = replace(plan.plan, blocks=plan.blocks(window, kind), reconciled=True)
        columns += [
            {
                "name": f"{column.aggregate.name}, window {window}{told}",
                "statistic": column.aggregate.statistic.name,
                "plus_minus": error_of(own, column, confidence),
                "share": sum(own.blocks[i].share for i in column.blocks),
            }
            for column in own.columns
        ]
    return columns


def series_receipt(plan: SeriesPlan, terms: Mapping[str, Any]) -> dict[str, Any]:
    """What the receipt of every release of a series says."""
    facts: dict[str, Any] = as_text(account(plan, terms, "", 0.95).facts)
    del facts["sql"], facts["also priced"]
    whole = f"{plan.charge.promise} for {facts['neighbors']} neighbors, over all {terms['steps']:,} steps"
    return {"guarantee": whole, **facts}


def _promised(plan: SeriesPlan, terms: Mapping[str, Any]) -> dict[str, Any]:
    facts = promise(replace(plan.plan, charge=plan.charge))
    limits = facts["limits"] if isinstance(facts["limits"], dict) else {}
    own = {} if plan.plan.query.by_row else {"max_steps": terms["max_steps"]}
    if own and terms["apart"] > 1:
        own["apart"] = terms["apart"]
    strategy = plan.strategy
    moved = math.sqrt(strategy.moved) if plan.offer.law is Law.GAUSSIAN else strategy.absolute
    told = f"{strategy.family}; over all windows and steps {moved * strategy.spread:.4g} times the noise of one step"
    return {**facts, "limits": {**limits, **own} or "none needed", "series": dict(terms), "strategy": told}


def _measured(plan: SeriesPlan) -> list[Any]:
    """The blocks with the noise of what is measured."""
    pairs = zip(plan.plan.blocks, plan.noises, strict=True)
    return [replace(block, noise=noise, sensitivity=noise.sensitivity) for block, noise in pairs]

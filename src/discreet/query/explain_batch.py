"""What the release of a batch would do and cost, and how good each table would be, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.noise.weighted_sums import LAPLACE, NORMAL, cached_quantile
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.joint_batch import JointBatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.noise_laws import Law
from discreet.planning.plan import PricedBlock
from discreet.planning.range_errors import bin_forms
from discreet.planning.strategy_families import PREFIXES, RANGES
from discreet.planning.table_names import Name, label
from discreet.query.explain import assumed_rows, block_facts, error_of, promise, rows_below_noise
from discreet.query.explanation import Accuracy, Explanation

WORST = "worst"
WORST_OF = {RANGES: "worst range", PREFIXES: "worst prefix"}
"""The error of the worst of all ranges, which `within` speaks of."""
INTERVALS = "noise only, for the bounded and weighted population, per cell; here of the worst cell of each table"


def explain_batch(
    plan: BatchPlan, statement: str, *, confidence: float, assume: Mapping[str, int] | None
) -> Explanation:
    """All that is known of a batch before it is released."""
    rows = assumed_rows(assume)
    cells = replace(plan.cells, charge=plan.charge)
    return Explanation(
        {
            **promise(cells),
            "groups": f"{cells.query.cells:,} common cells of {len(plan.query.sizes)} attributes",
            "tables": [label(name) for name in plan.query.names],
            "strategy": plan.strategy.family,
            "bound": _bound(plan),
            "columns": [
                {
                    "name": f"{label(asked.name)}: {column.aggregate.name}",
                    "statistic": column.aggregate.statistic.name,
                    "plus_minus": error_of(own, column, confidence, rows),
                    "share": sum(own.blocks[i].share for i in column.blocks),
                }
                for asked, own in zip(plan.query.tables, plan.tables, strict=True)
                for column in own.columns
            ],
            "totals": [block_facts(one) for one in _measured(plan)],
            "confidence": confidence,
            "intervals": INTERVALS,
            "rounding": rows_below_noise(plan.cells),
            "also priced": [
                {
                    "mechanism": f"{other.law.value} on {other.strategy.family}",
                    "charge": other.charge,
                    "plus_minus": cell_errors(other, confidence, rows),
                }
                for other in plan.runners_up
            ],
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def _bound(plan: BatchPlan) -> str:
    """How near the error is to the least that there can be."""
    if plan.over_bound is None:
        return "none is known"
    return f"{plan.over_bound:.3f} times the least error that any Gaussian mechanism can have, for units in one cell"


def _measured(plan: BatchPlan) -> Sequence[PricedBlock]:
    """What is measured: each part of each block as a block, or the blocks with their one mechanism."""
    if isinstance(plan, JointBatchPlan):
        return plan.cells.blocks
    parts = range(len(plan.strategy.parts))
    return [_part(block, plan, i, j) for i, block in enumerate(plan.cells.blocks) for j in parts]


def _part(block: PricedBlock, plan: BatchPlan, i: int, j: int) -> PricedBlock:
    """One part of what is measured of a block, as a block."""
    noise, part = plan.mechanisms[i][j], plan.strategy.parts[j]
    return replace(
        block,
        noise=noise,
        sensitivity=noise.sensitivity,
        share=block.share * part.share,
        steps=block.steps * plan.fine[i],
    )


def range_errors(plan: BatchPlan, confidence: float) -> dict[str, Accuracy]:
    """By how much sums of neighboring bins may be off: the root of the mean square over all that are asked for, as the
    half-width of an interval, and the worst; with groups, of each of them.
    """
    (noise,), fine = plan.mechanisms[0], plan.fine[0] * plan.cells.blocks[0].steps
    prefixes = np.cumsum(bin_forms(plan), axis=0) * (float(noise.scale) / fine)
    whole = np.concatenate([np.zeros((1, prefixes.shape[1])), prefixes])
    if plan.query.ranges == PREFIXES:
        squares = (prefixes**2).sum(axis=1)
        first, last = 0, int(np.argmax(squares)) + 1
    else:
        gram = whole @ whole.T
        every = np.diag(gram)[:, None] + np.diag(gram)[None, :] - 2 * gram
        squares = every[np.triu_indices(len(every), 1)]
        first, last = sorted(int(place) for place in np.unravel_index(int(np.argmax(every)), every.shape))
    worst = np.abs(whole[last] - whole[first])
    law = NORMAL if plan.law is Law.GAUSSIAN else LAPLACE
    far = cached_quantile(law, tuple(worst[worst > 0].tolist()), confidence, 0.0)
    ratio = math.sqrt(float(squares.mean()) / float(squares.max()))
    return {"on average": Accuracy(far * ratio), WORST: Accuracy(far)}


def table_errors(plan: BatchPlan | MixedBatchPlan, confidence: float, rows: int | None) -> dict[Name, float]:
    """By how much the worst cell of each table may be off, in its worst column; of ranges, the worst range."""
    found = {
        name: max(error_of(own, column, confidence, rows).amount for column in own.columns)
        for name, own in zip(plan.names, plan.tables, strict=True)
    }
    if isinstance(plan, MixedBatchPlan):
        found |= {name: range_errors(one, confidence)[WORST].amount for name, one in plan.ranges.items()}
    return found


def cell_errors(plan: BatchPlan, confidence: float, rows: int | None) -> dict[str, Accuracy]:
    """By how much the worst cell of each column of each table may be off."""
    return {
        f"{label(asked.name)}: {column.aggregate.name}": error_of(own, column, confidence, rows)
        for asked, own in zip(plan.query.tables, plan.tables, strict=True)
        for column in own.columns
    }

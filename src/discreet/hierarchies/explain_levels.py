"""What a release of all levels would cost, and how good it would be on each, from public facts alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.hierarchies.level_plan import LevelPlan
from discreet.mechanisms.gaussian import Gaussian
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.noise_laws import width_of
from discreet.query.explain import largest_value, promise
from discreet.query.explanation import Accuracy, Explanation

INTERVALS = "noise only, for the bounded and weighted population, per row; the widest of each level"


def account(plan: LevelPlan, statement: str, confidence: float) -> Explanation:
    """The account of a release before it is made: columns and totals by level."""
    places = plan.places
    cells = f" x {places.number_of_cells:,} cells" if places.cells.num_columns else ""
    sizes = ", ".join(f"{size:,} {name}" for name, size in zip(places.levels, places.tree.sizes, strict=True))
    return Explanation(
        {
            **promise(replace(plan.plan, charge=plan.charge)),
            "groups": f"{sizes}{cells}",
            "places": places.digest,
            "columns": _columns(plan, confidence),
            "totals": _totals(plan),
            "confidence": confidence,
            "intervals": INTERVALS,
            "rounding": _rounding(plan),
            "also priced": [],
            "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
            "sql": statement,
        }
    )


def _columns(plan: LevelPlan, confidence: float) -> list[dict[str, Any]]:
    found = []
    for column in plan.plan.columns:
        widest = plan.largest(column, confidence)
        for level, name in enumerate(plan.places.levels):
            share = sum(plan.plan.blocks[i].share * plan.shares[i][level] for i in column.blocks)
            found.append(
                {
                    "name": f"{column.aggregate.name} by {name}",
                    "statistic": column.aggregate.statistic.name,
                    "plus_minus": Accuracy(float(widest[level])),
                    "share": Fraction(share),
                }
            )
    return found


def _totals(plan: LevelPlan) -> list[dict[str, Any]]:
    found = []
    for i, block in enumerate(plan.plan.blocks):
        largest, units = largest_value(block)
        for name, noise, share in zip(plan.places.levels, plan.noises[i], plan.shares[i], strict=True):
            if noise is None:
                continue
            own = block.share * share
            cost = {"rho": noise.rho} if isinstance(noise, Gaussian) else {"epsilon": noise.epsilon}
            found.append(
                {
                    "statistic": f"{block.block.form.label}, by {name}",
                    "of": ", ".join(value.text for value in block.block.values) or None,
                    "where": None if block.block.where is None else block.block.where.text,
                    "range": None,
                    "mechanism": plan.offer.law.value,
                    "sensitivity": noise.sensitivity,
                    "norm": plan.offer.law.norm,
                    "steps": block.steps,
                    "scale": width_of(noise),
                    "in": units,
                    "moves": Fraction(noise.sensitivity) / block.steps * largest,
                    "noise": Fraction(width_of(noise)) / block.steps * largest,
                    **cost,
                    "share": own,
                    "rounding": "none" if not block.rounding else f"{block.rounding:.3g}",
                }
            )
    return found


def _rounding(plan: LevelPlan) -> str:
    if not plan.integers:
        return "none: estimates are unbiased, and no whole numbers"
    return "to whole numbers that add up; what it moves a row by at most is in its interval, and it may bias it by that"

"""What a release would do and cost, and how good it would be, from public facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import decimal_text
from discreet.inference.estimate import half_width_for
from discreet.language.checked_expressions import float_text
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.planning import forms
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Column, Plan, PricedBlock, PricedValues
from discreet.planning.quantile_measurements import PricedRanks, rank_error, rows_beyond
from discreet.privacy.declaration import Declaration
from discreet.query.alternative_noise import alternatives
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.selection.rank_exponential import UNIT

INTERVALS = "noise only, for the bounded and weighted population, per cell"
FROM_BELOW = f"{INTERVALS}; of values that nobody listed, a bound from below"
GIVEN = "noise only, per cell, given that it is shown: low ends near the threshold are 1"


def explain(plan: Plan, statement: str, *, confidence: float, assume: Mapping[str, int] | None) -> Explanation:
    """All that is known of a release before it is made."""
    rows = assumed_rows(assume)
    return Explanation(
        {**plan_facts(plan, confidence, rows), "also priced": _others(plan, confidence, rows), "sql": statement}
    )


def plan_facts(plan: Plan, confidence: float, rows: int | None) -> dict[str, Any]:
    """What a plan promises, of what, and with which errors: the part of the account that a receipt has as well."""
    return {
        **promise(plan),
        "columns": [_column(plan, column, confidence, rows) for column in plan.columns],
        "totals": [*map(block_facts, plan.blocks), *map(_ranks, plan.ranks), *map(_values, plan.values)],
        "confidence": confidence,
        "intervals": GIVEN if plan.shown else FROM_BELOW if plan.values else INTERVALS,
        "rounding": rows_below_noise(plan),
        "row cap": f"totals of fewer than 2**{ROW_CAP.bit_length() - 1} rows cannot overflow",
    }


def promise(plan: Plan) -> dict[str, Any]:
    """Who is protected, and what of: the part that a receipt repeats."""
    declared = plan.query.declaration
    limits: dict[str, int] = {}
    if not plan.query.by_row:
        if plan.query.keys:
            limits["max_groups"] = plan.limits.max_groups
        if plan.limits_rows:
            limits["max_rows"] = plan.limits.max_rows
    elif declared.rows_changed > 1:
        limits["rows that one unit changes" if declared.joins_units else "rows that one unit has"] = (
            declared.rows_changed
        )
    return {
        "source": declared.label,
        **protected_unit(declared),
        "neighbors": declared.neighbors.value,
        "groups": f"{plan.query.cells} by {', '.join(plan.query.keys.names)}" if plan.query.keys else "none",
        "limits": limits or "none needed",
        "charge": plan.charge,
    }


def protected_unit(declared: Declaration) -> dict[str, Any]:
    """Whose rows are protected, and how they are found where another table names the unit."""
    unit: dict[str, Any] = {"unit": declared.protects}
    return unit | ({"via": list(declared.paths)} if declared.paths else {})


def _others(plan: Plan, confidence: float, rows: int | None) -> list[dict[str, Any]]:
    """The runners-up: other noise for the whole question, and other ways to some columns at the same charge."""
    told = [_runner_up(other, confidence, rows) for other in plan.runners_up]
    for words, errors in alternatives(plan, confidence, rows):
        told.append({"mechanism": words, "charge": plan.charge, "plus_minus": errors})
    return told


def _runner_up(plan: Plan, confidence: float, rows: int | None) -> dict[str, Any]:
    """What the same question would have been with other noise."""
    return {
        "mechanism": plan.law.value,
        "charge": plan.charge,
        "plus_minus": {column.aggregate.name: error_of(plan, column, confidence, rows) for column in plan.columns},
    }


def assumed_rows(assume: object) -> int | None:
    """The number of rows that figures are for, checked."""
    if assume is None:
        return None
    rows = assume.get("rows") if isinstance(assume, Mapping) and set(assume) == {"rows"} else None
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        what = "assume={'rows': n} with a whole n of 1 or more"
        raise InvalidParameter(expected(what, "assume", assume, "write assume={'rows': 20_000}."))
    return rows


def block_facts(block: PricedBlock) -> dict[str, Any]:
    """One mechanism: what it takes, its noise, and the rounding that the noise drowns."""
    values, where = block.block.values, block.block.where
    ranges = [float_text(value.interval) for value in values if value.interval is not None]
    return {
        "statistic": block.block.form.label,
        "of": _of_columns(block) or None,
        "range": " x ".join(ranges) or None,
        "where": None if where is None else where.text,
        "components": block.block.components,
        "mechanism": _law(block).value,
        "steps": block.steps,
        "sensitivity": int(block.sensitivity) if block.sensitivity.denominator == 1 else block.sensitivity,
        "norm": _law(block).norm,
        "scale": _scale(block),
        "in": largest_value(block)[1],
        "moves": block.sensitivity / block.steps * largest_value(block)[0],
        "noise": Fraction(_scale(block)) / block.steps * largest_value(block)[0],
        **_price(block),
        "share": block.share,
        "rounding": _rounding(block),
    }


def _of_columns(block: PricedBlock) -> str:
    """What is summed; of signed products, the two products, where a column stands for its values from -1 to 1."""
    names = [value.text for value in block.block.values]
    if not block.block.powers:
        return ", ".join(names)
    return ", ".join(" x ".join(names[place] for place in one) or "1" for one in block.block.powers)


LAWS: dict[type, Law] = {Gaussian: Law.GAUSSIAN, Laplace: Law.LAPLACE, Staircase: Law.STAIRCASE}


def _law(block: PricedBlock) -> Law:
    return LAWS[type(block.noise)] if block.part is None else Law.JOINT


def _scale(block: PricedBlock) -> Fraction:
    """The scale, exactly; that of staircase and K-norm noise is one to compare with, of four digits."""
    if block.part is not None or isinstance(block.noise, Staircase):
        return Fraction(decimal_text(block.width, digits=4))
    return block.noise.scale


def largest_value(block: PricedBlock) -> tuple[Fraction, str]:
    """What the largest value adds to a total, and in which units: those of the column for a sum, rows for all else."""
    form, value = block.block.form, block.block.value
    if not form.centered or value is None:
        return Fraction(1), "units" if form is forms.UNITS else "rows"
    return block.steps * block.lattice.step / block.lattice.fine, value.text


def _price(block: PricedBlock) -> dict[str, Fraction]:
    """What one mechanism costs, in the terms in which its law composes: epsilons add up, and so do rhos. Of one for all
    totals each has an even part.
    """
    if isinstance(block.noise, Gaussian):
        return {"rho": block.noise.rho}
    return {"epsilon": block.noise.epsilon}


def _ranks(one: PricedRanks) -> dict[str, Any]:
    """One mechanism that cuts: what it takes, and by how many rows it may miss the rank."""
    value, where, noise = one.block.value, one.block.where, one.cuts.noise
    several = f"{len(one.places)} quantiles" if len(one.places) > 1 else "a quantile"
    statistic = f"{several} by rank" if one.block.shares else "an end by rank"
    return {
        "statistic": statistic,
        "of": value.text,
        "range": None if value.interval is None else float_text(value.interval),
        "where": None if where is None else where.text,
        "components": one.cuts.size + one.cuts.masses,
        "mechanism": "exponential on ranks" + ("" if noise is None else ", discrete Laplace on the rows between"),
        "stages": len(one.cuts.stages),
        "steps": one.steps,
        "sensitivity": one.cuts.mass,
        "norm": "L1",
        "scale": "ranks" if noise is None else noise.scale / UNIT,
        "in": "rows",
        "moves": Fraction(one.cuts.mass, one.steps),
        "noise": "ranks" if noise is None else noise.scale / UNIT / one.steps,
        "epsilon": one.cuts.epsilon,
        "share": one.share,
        "rounding": "none" if one.lattice.exact else f"{float(one.lattice.step) / 2:.2g}",
    }


def _values(one: PricedValues) -> dict[str, Any]:
    """The mechanism of a number of values: its limits, and the noise at the smallest of them."""
    counting = one.noise.counting(0)
    return {
        "statistic": "distinct values, at least",
        "of": one.value.text,
        "range": None,
        "where": None if one.where is None else one.where.text,
        "components": 1,
        "mechanism": "discrete Laplace noise in a largest assignment of values to units",
        "limits": list(one.noise.limits),
        "limit chosen by": None if one.noise.choice is None else "permute-and-flip of penalized counts",
        "sensitivity": int(counting.sensitivity),
        "norm": "L1",
        "scale": counting.scale,
        "in": "values",
        "moves": Fraction(counting.sensitivity),
        "noise": counting.scale,
        "epsilon": one.noise.epsilon,
        "share": one.share,
        "rounding": "none",
    }


def _rounding(block: PricedBlock) -> str:
    """How far the rounding of one row is off, in the units of what is summed."""
    if not block.rounding:
        return "none"
    if block.block.form.split:
        return f"{block.rounding:.2g} of the {'ranges' if block.factors else 'squared range'}"
    return f"{block.rounding * block.steps * float(block.lattice.step):.2g}"


def rows_below_noise(plan: Plan) -> str:
    """Up to how many rows, all rounded in one direction, rounding stays below one standard deviation of the noise."""
    rows = min((b.scale / b.rounding for b in plan.blocks if b.rounding), default=None)
    return "none: integers as they are" if rows is None else f"less than the noise for fewer than {rows:.1g} rows"


def _column(plan: Plan, column: Column, confidence: float, rows: int | None) -> dict[str, Any]:
    return {
        "name": column.aggregate.name,
        "statistic": column.aggregate.statistic.name,
        "plus_minus": error_of(plan, column, confidence, rows),
        "share": sum((plan.blocks[i].share for i in column.blocks), start=_ranked_share(plan, column)),
        **_from(plan, column),
    }


def _ranked_share(plan: Plan, column: Column) -> Fraction:
    if column.values is not None:
        return plan.values[column.values].share
    return Fraction(0) if column.ranks is None else plan.ranks[column.ranks].share


def _from(plan: Plan, column: Column) -> dict[str, Fraction]:
    """The epsilon of the totals that a column is computed from, where epsilons add up."""
    if column.ranks is not None:
        return {"epsilon": plan.ranks[column.ranks].cuts.epsilon}
    if column.values is not None:
        return {"epsilon": plan.values[column.values].noise.epsilon}
    noises = [plan.blocks[i].noise for i in column.blocks]
    spent = [noise.epsilon for noise in noises if not isinstance(noise, Gaussian)]
    return {"epsilon": sum(spent, start=Fraction(0))} if len(spent) == len(noises) else {}


def error_of(plan: Plan, column: Column, confidence: float, rows: int | None = None) -> Accuracy:
    """Half the width of a column's interval, or what makes it a function of the rows n of a group."""
    if column.ranks is not None:
        one = plan.ranks[column.ranks]
        if not one.block.shares:
            return _end_error(rows_beyond(one), rows)
        likely, most = rank_error(one, plan.query.cells, confidence)
        return Accuracy(likely, ErrorOf.RANK, None if one.is_recounted else most)
    if column.values is not None:
        return _too_large(plan.values[column.values], confidence)
    if column.linear:
        return Accuracy(half_width(plan, column, confidence))
    if rows is not None:
        return Accuracy(half_width_for(plan, column, rows, confidence))
    many = max(1.0, plan.blocks[column.blocks[0]].scale) * 1e9  # so many that the error is inversely proportional
    return Accuracy(half_width_for(plan, column, many, confidence) * many, ErrorOf.VALUE_TIMES_ROWS)


def _too_large(one: PricedValues, confidence: float) -> Accuracy:
    """By how much a number of values may be above the true one: at the smallest limit, and at the largest."""
    least, *_, most = (float(one.noise.margin(place, confidence)) for place in (0, len(one.noise.limits) - 1))
    return Accuracy(least, ErrorOf.TOO_LARGE, most if most > least else None)


def _end_error(most: float, rows: int | None) -> Accuracy:
    """How many rows lie beyond a released end; fewer than that do not show where they are."""
    if rows is None:
        return Accuracy(most / 2, ErrorOf.ROWS_BEYOND_OF_MORE)
    return Accuracy(most / 2, ErrorOf.RANGE if rows < most else ErrorOf.ROWS_BEYOND)

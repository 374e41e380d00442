"""What else could have been drawn in place of a plan's own mechanisms, at the same price, and how good it would be.

These are the textbook's ways: sums and counts apart, each with its part of the price, in place of the pair and triple
forms; each quantile by a mechanism of its own in place of cuts that share theirs. And what another question would be
off by: a sum whose NULLs were filled before. `explain` shows them, so that the difference can be seen; none of them is
ever drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from discreet.inference.estimators import EVEN_STD
from discreet.noise.weighted_sums import LAPLACE, NORMAL
from discreet.planning import forms
from discreet.planning.aggregates import STD
from discreet.planning.forms import Form
from discreet.planning.linear_error import half_width
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Column, Plan, PricedBlock
from discreet.planning.quantile_measurements import PricedRanks, of_quantiles, rank_error
from discreet.query.explanation import Accuracy, ErrorOf

FILLED = "sums after .fill_null, of as many values as there are rows"


class Alternative(NamedTuple):
    """Another way to the same columns, at the same price."""

    words: str
    plus_minus: dict[str, Accuracy]


CENTERED = {forms.PAIR: (0.5, 0.5), forms.TRIPLE: (0.25, 0.5, 0.25)}
"""What the noise in separate sums does to a mean, and to a variance, times the rows and over the range: of values
around the middle of the range, at the worst mean. A value moves its sum by at most 1/2, its square by 1/4."""


def alternatives(plan: Plan, confidence: float, rows: int | None) -> list[Alternative]:
    """The ways that the columns of a plan could have been answered in."""
    ways: tuple[tuple[str, Callable[[Column], Accuracy | None]], ...] = (
        ("sums and counts apart", lambda column: _apart(plan, column, confidence, rows)),
        ("each quantile alone", lambda column: _alone(plan, column, confidence)),
        (FILLED, lambda column: _filled(plan, column, confidence)),
    )
    found = []
    for words, way in ways:
        errors = {column.aggregate.name: way(column) for column in plan.columns}
        known = {name: error for name, error in errors.items() if error is not None}
        found += [Alternative(words, known)] if known else []
    return found


def _apart(plan: Plan, column: Column, confidence: float, rows: int | None) -> Accuracy | None:
    """The error of a mean, a variance or a standard deviation from sums that are each paid for, to first order."""
    statistic = column.aggregate.statistic
    if column.linear or statistic.form not in CENTERED:
        return None
    block = plan.blocks[column.blocks[0]]
    width = float(block.lattice.high * block.lattice.step)
    error = _reach(plan, block, statistic.form, confidence) * (width if statistic.form is forms.PAIR else width**2)
    if statistic is STD:
        error /= 2 * EVEN_STD * width
    return Accuracy(error, ErrorOf.VALUE_TIMES_ROWS) if rows is None else Accuracy(error / rows)


def _reach(plan: Plan, block: PricedBlock, degree: Form, confidence: float) -> float:
    """What the noise in separate sums stays within, in rows: each has its part of what the block has."""
    weights, sums = CENTERED[degree], len(CENTERED[block.block.form])
    is_normal = plan.law is Law.GAUSSIAN
    scale = block.scale * (sums**0.5 if is_normal else sums)
    law = NORMAL if is_normal else LAPLACE
    return float(law.quantile([weight * scale for weight in weights], confidence))


def _alone(plan: Plan, column: Column, confidence: float) -> Accuracy | None:
    """By how many rows of rank a quantile would be off, if each of a block's quantiles had its part of epsilon."""
    if column.ranks is None or len(plan.ranks[column.ranks].places) < 2:
        return None
    likely, _ = rank_error(_single(plan.ranks[column.ranks], column.place), plan.query.cells, confidence)
    return Accuracy(likely, ErrorOf.RANK)


def _filled(plan: Plan, column: Column, confidence: float) -> Accuracy | None:
    """The error of a sum if no value were NULL, where the number of rows is public: a row that is replaced moves it by
    the width of the bounds then, and not from one end to 0.
    """
    asked = column.aggregate
    if asked.statistic.form is not forms.SUM or plan.query.public_size is None or asked.where is not None:
        return None
    block = plan.blocks[column.blocks[0]]
    interval = None if asked.value is None else asked.value.interval
    if interval is None or block.block.form is not forms.SUM or interval.low <= 0 <= interval.high:
        return None
    saved = interval.width / max(abs(interval.low), abs(interval.high))
    return Accuracy(half_width(plan, column, confidence) * float(saved))


def _single(one: PricedRanks, place: int) -> PricedRanks:
    shares = (one.block.shares[place],)
    like = replace(one.cuts, stages=())
    cuts, places = of_quantiles(shares, like, one.cuts.epsilon / len(one.places))
    return replace(one, block=replace(one.block, shares=shares), cuts=cuts, places=places)

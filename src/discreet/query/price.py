"""From a question to a plan: lattices, sensitivities, and the division of epsilon.

Claim
    The plan's mechanisms together are `charge`-differentially private for the declared neighbors.
Requires
    An engine that computes the totals as `Plan` says.
Relies on
    `sensitivity.contributions` for each block, `mechanisms.laplace` for its noise, sequential composition.
Proof
    Block i has L1 sensitivity s_i over all its groups and components together, and noise of scale s_i / e_i, so it is
    e_i-private; the shares e_i are positive fractions whose sum is exactly epsilon.
Rounding
    Shares are whole millionths of epsilon, the first block taking what is left; scales are exact fractions.
Source
    Dwork et al. (2006); the cube-root rule minimizes sum c_i / e_i**2 for a given sum of e_i (Lagrange).
Mutant
    every-block-at-full-epsilon: the shares are not shares; killed by test_shares_add_up_to_epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest
from discreet.exact.amounts import fraction, positive
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.definitions import Guarantee
from discreet.query.aggregates import Statistic
from discreet.query.blocks import gather, weights
from discreet.query.estimate import half_width
from discreet.query.lattice import Lattice, bits_for, centered, counting, spanning
from discreet.query.plan import Block, Column, Form, Plan, PricedBlock, Query
from discreet.sensitivity.contributions import Limits, sensitivity

MILLION = 10**6
LARGEST_EPSILON = Fraction(2**20)
MIDDLE = {Form.PAIR: (0.5, -0.5), Form.TRIPLE: (0.5, -0.5, 0.0)}
"""Coefficients of the noise in a mean, times the number of rows, at the middle of the range."""
SPREAD = {Form.TRIPLE: (1 / 4 - 1 / 12, 1 / 4 - 1 / 12, -1 / 4 - 1 / 12)}
"""The same for the variance of values spread evenly over the range."""


def level(confidence: object) -> float:
    """A confidence strictly between 0 and 1."""
    value = float(fraction("confidence", confidence))
    if not 0 < value < 1:
        raise InvalidParameter(
            expected("a confidence between 0 and 1", "confidence", confidence, "write confidence=0.95.")
        )
    return value


def price(query: Query, *, epsilon: object, delta: object = 0, weights: Mapping[str, object] | None = None) -> Plan:
    """The plan of a question at a total epsilon; reads nothing and spends nothing."""
    if epsilon is None:
        raise InvalidParameter(
            "Expected an epsilon, got none.\nHint: say what the answer may cost, epsilon=0.1, or how good it has to be, within={...}."
        )
    total = positive("epsilon", epsilon)
    if not 0 <= fraction("delta", delta) < 1:
        raise InvalidParameter(
            expected("a delta from 0 to below 1", "delta", delta, "the noise here needs none: leave it out.")
        )
    blocks, columns = gather(query)
    limits = query.effective
    shares = divide(query, blocks, columns, limits, _stated(query, weights))
    priced = [_priced(query, block, limits, total, share) for block, share in zip(blocks, shares, strict=True)]
    return Plan(
        query=query,
        limits=limits,
        blocks=tuple(priced),
        columns=tuple(_column(query, column, priced) for column in columns),
        charge=Guarantee(epsilon=total),
    )


def _stated(query: Query, weights: Mapping[str, object] | None) -> dict[str, float]:
    names = [a.name for a in query.aggregates]
    stated = dict.fromkeys(names, 1.0)
    for name, weight in (weights or {}).items():
        if name not in stated:
            raise InvalidParameter(expected("weights of columns of the answer", "weights", name, nearest(name, names)))
        stated[name] = float(positive(f"weights[{name!r}]", weight))
    return stated


def rows_moved(query: Query, block: Block, limits: Limits) -> int:
    """The sensitivity of a block in rows: what `steps = 1` gives."""
    own = limits if block.form is not Form.UNITS else Limits(max_groups=limits.max_groups)
    return sensitivity(1, own, query.declaration.neighbors, lone=query.cells * block.components == 1)


def divide(
    query: Query, blocks: tuple[Block, ...], columns: tuple[Column, ...], limits: Limits, stated: Mapping[str, float]
) -> list[Fraction]:
    """The shares of epsilon that minimize the sum of weight * (noise sd / public range)**2: in proportion to the cube
    root of each cost."""
    costs = [0.0] * len(blocks)
    for column in columns:
        for i in column.blocks:
            moved = rows_moved(query, blocks[i], limits)
            spread = sum(c * c for c in _reference(column, blocks[i])) / len(column.blocks) ** 2
            costs[i] += stated[column.aggregate.name] * spread * moved**2
    roots = [max(cost, 1e-12) ** (1 / 3) for cost in costs]
    parts = [max(1, math.floor(MILLION * root / sum(roots))) for root in roots]
    parts[0] += MILLION - sum(parts)
    if parts[0] < 1:
        raise InvalidQuery(
            "Expected weights within a factor of a million, got a column that would be left without epsilon.\nHint: bring the weights closer."
        )
    return [Fraction(part, MILLION) for part in parts]


def _reference(column: Column, block: Block) -> tuple[float, ...]:
    """Coefficients of a column's noise over its public range, in rows, at a reference point where they depend on the
    data."""
    statistic = column.aggregate.statistic
    if block.fixed and block.form is Form.SUM:
        return (1.0,)
    if statistic is Statistic.MEAN:
        return MIDDLE[block.form]
    if statistic in (Statistic.VARIANCE, Statistic.STD):
        return SPREAD[block.form]
    if statistic is Statistic.SUM and block.value is not None and block.value.interval is not None:
        interval = block.value.interval
        width = interval.width or Fraction(1)
        if block.form is Form.SUM:
            return (float(max(abs(interval.low), abs(interval.high)) / width),)
        return weights(block, interval.low / width, interval.high / width).total
    return (1.0,) * block.components


def _priced(query: Query, block: Block, limits: Limits, epsilon: Fraction, share: Fraction) -> PricedBlock:
    own = limits if block.form is not Form.UNITS else Limits(max_groups=limits.max_groups)
    moved = rows_moved(query, block, limits)
    bits = bits_for(own.max_groups * own.max_rows, max(moved, 1) / (epsilon * share) * 2)
    lattice = _lattice(query, block, limits, bits)
    steps = 2**bits if block.form is Form.TRIPLE else lattice.steps
    lone = query.cells * block.components == 1
    moved_steps = sensitivity(steps, own, query.declaration.neighbors, lone=lone, signed=lattice.low < 0 < lattice.high)
    return PricedBlock(
        block=block,
        lattice=lattice,
        steps=steps,
        sensitivity=moved_steps,
        share=share,
        noise=Laplace(sensitivity=moved_steps, epsilon=epsilon * share),
    )


def _lattice(query: Query, block: Block, limits: Limits, bits: int) -> Lattice:
    if block.value is None or block.value.interval is None:
        return counting(bits, weighted=not query.by_row and limits.max_groups < query.cells)
    if block.form is Form.SUM and not block.fixed:
        return centered(block.value.interval, bits, weighted=not query.by_row)
    lattice = spanning(block.value.interval, bits)
    return replace(lattice, fine=1) if block.form is Form.TRIPLE else lattice  # its squares have a lattice of their own


def _column(query: Query, column: Column, blocks: list[PricedBlock]) -> Column:
    """A column with its coefficients, where it is a linear form of the totals."""
    statistic = column.aggregate.statistic
    first = blocks[column.blocks[0]]
    low, high = (first.lattice.value(Fraction(q)) for q in (0, first.lattice.high))
    if first.block.fixed and first.block.form is Form.SUM and statistic in (Statistic.SUM, Statistic.MEAN):
        size = query.public_size or 1
        divisor = 1 if statistic is Statistic.SUM else size
        return replace(column, coefficients=((float((high - low) / divisor),),), offset=float(low * size / divisor))
    if statistic is Statistic.SUM and first.block.form is Form.SUM:
        return replace(column, coefficients=((float(first.lattice.step * first.steps / first.lattice.fine),),))
    if statistic is Statistic.SUM:
        return replace(column, coefficients=(weights(first.block, low, high).total,))
    if statistic is Statistic.COUNT and column.aggregate.value is not None:
        return replace(column, coefficients=(weights(first.block, low, high).values,))
    if statistic in (Statistic.COUNT, Statistic.UNITS):
        return replace(column, coefficients=_pooled([blocks[i] for i in column.blocks]))
    return column


def _pooled(blocks: list[PricedBlock]) -> tuple[tuple[float, ...], ...]:
    """The count of rows from several blocks that each hold it, weighted by precision."""
    precision = [1 / (block.block.components * block.scale**2) for block in blocks]
    return tuple((p / sum(precision),) * block.block.components for p, block in zip(precision, blocks, strict=True))


def cheapest(
    query: Query, within: Mapping[str, object], *, confidence: float, weights: Mapping[str, object] | None
) -> Fraction:
    """The smallest epsilon, to four digits, at which every named column is off by at most its target with this
    confidence."""
    targets = {name: float(positive(f"within[{name!r}]", target)) for name, target in within.items()}
    names = [a.name for a in query.aggregates]
    if not targets:
        raise InvalidParameter("Expected a wanted error, got within={}.\nHint: write within={'column': 25}.")
    for name in targets:
        if name not in names:
            raise InvalidParameter(expected("columns of the answer", "within", name, nearest(name, names)))

    def meets(epsilon: Fraction) -> bool:
        plan = price(query, epsilon=epsilon, weights=weights)
        by_name = {column.aggregate.name: column for column in plan.columns}
        return all(half_width(plan, by_name[name], confidence) <= target for name, target in targets.items())

    for column in price(query, epsilon=1, weights=weights).columns:
        if column.aggregate.name in targets and not column.linear:
            raise InvalidQuery(
                f"Expected a column whose error is known beforehand, got {column.aggregate.name!r}: the error of a {column.aggregate.statistic.value} depends on "
                "the private number of rows.\nHint: ask for a count or a sum within a target, or give epsilon and look at .explain(assume={'rows': n})."
            )
    return _smallest(meets)


def _smallest(meets: Callable[[Fraction], bool]) -> Fraction:
    """The smallest number of four significant digits for which a monotone test holds."""
    high = Fraction(1)
    while not meets(high):
        high *= 2
        if high > LARGEST_EPSILON:
            raise InvalidParameter(
                f"Expected an error that some epsilon reaches, got one that needs more than {LARGEST_EPSILON}.\nHint: allow a larger error."
            )
    low = high / 2
    while meets(low):
        high, low = low, low / 2
        if low < 1 / LARGEST_EPSILON:
            return low
    places = 3 - math.floor(math.log10(float(high)))
    grid = Fraction(10) ** -places
    below, above = math.floor(low / grid), math.ceil(high / grid)
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if meets(middle * grid) else (middle, above)
    return above * grid

"""Products of the Bernstein polynomials of several columns, in integers.

Claim
    `multiplied` gives for each row of a product block the parts that `plan.PricedBlock` describes: integers >= 0 that
    sum to at most `steps`; all of them are NULL where one of the values is, or where the row does not count.
Requires
    The first value's lattice integer, clipped, and NULL where the row does not count; those of the others, unclipped.
Relies on
    Integer arithmetic of the engine below 2**53; CASE for the clips.
Proof
    Of each column the polynomials of degree 1 are T - p and p, those of degree 2 are r, T - p - r and p, for integers p
    in [0, T] and r in [0, T - p], whatever arithmetic made them: integers >= 0 that sum to T, the column's steps. The
    product of these sums is the sum of all products, so they are >= 0 and sum to the product of the T, `steps`. All but
    the last are the parts. Each is NULL where one of its factors is, and all factors of a column are NULL together.
Rounding
    Each polynomial to the nearest of its column's steps, the middle one to the rest.
Source
    As `planning.bernstein_polynomials`.
Mutant
    second-column-unclipped: the second column's integers are not clipped after the lattice; killed by
    test_every_column_of_a_product_is_clipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import ibis.expr.types as ir

from discreet.engines.generated_columns import Columns
from discreet.language.checked_expressions import Kind, cast
from discreet.language.exact_arithmetic import at_most, clipped, double, integer, rounded_half_up
from discreet.planning.plan import PricedBlock


def multiplied(rows: ir.Table, blocks: Mapping[int, PricedBlock]) -> ir.Table:
    """The rows with the parts of each product block; each stage is a projection of its own."""
    own = {i: Columns(i) for i in blocks}
    places = [(i, k) for i, block in blocks.items() for k in range(len(block.factors))]
    steps = {(i, k): integer(blocks[i].factors[k]) for i, k in places}
    squared = [(i, k) for i, k in places if blocks[i].block.degrees[k] == 2]
    rows = rows.mutate(**{own[i].share(k): _share(rows, blocks[i], i, k) for i, k in places})

    def polynomial(i: int, k: int, of: ir.Value) -> ir.Value:
        power = of * of if (i, k) in squared else of
        return rounded_half_up(power * double(blocks[i].factors[k]))

    high = {(i, k): polynomial(i, k, rows[own[i].share(k)]) for i, k in places}
    rows = rows.mutate(**{own[i].high(k): at_most(high[i, k], steps[i, k]) for i, k in places})
    rest = {(i, k): steps[i, k] - rows[own[i].high(k)] for i, k in places}
    low = {(i, k): polynomial(i, k, double(1.0) - rows[own[i].share(k)]) for i, k in squared}
    low = {place: at_most(low[place], rest[place]) if place in low else rest[place] for place in places}
    rows = rows.mutate(**{own[i].low(k): low[i, k] for i, k in places})
    middles = {own[i].middle(k): steps[i, k] - rows[own[i].high(k)] - rows[own[i].low(k)] for i, k in squared}
    rows = rows.mutate(**middles) if middles else rows
    return rows.mutate(**{name: part for i, block in blocks.items() for name, part in _parts(rows, i, block).items()})


def _share(rows: ir.Table, block: PricedBlock, i: int, k: int) -> ir.Value:
    """Where in its range a column's value lies, from 0 to 1."""
    if not k:
        return cast(rows[Columns(i).part(0)], Kind.REAL) / double(block.lattice.high)
    lattice = block.others[k - 1]
    held = clipped(rows[Columns(i).value(k)], integer(lattice.low), integer(lattice.high))
    return cast(held, Kind.REAL) / double(lattice.high)


def _parts(rows: ir.Table, i: int, block: PricedBlock) -> dict[str, ir.Value]:
    """All products but the last."""
    own = Columns(i)
    factors = [
        [rows[name(k)] for name in ((own.low, own.high) if degree == 1 else (own.low, own.middle, own.high))]
        for k, degree in enumerate(block.block.degrees)
    ]
    result = {}
    for j, chosen in enumerate(itertools.product(*factors)):
        part = chosen[0]
        for factor in chosen[1:]:
            part = part * factor
        result[own.part(j)] = part
    del result[own.part(block.block.parts)]
    return result

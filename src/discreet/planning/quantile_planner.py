"""The blocks of quantiles and ends of a question, and their price.

Claim
    `price_ranks` returns blocks whose mechanisms together cost exactly the epsilon given, and a column for each ranked
    aggregate of the query, computed from one of them.
Requires
    An engine that makes histograms as `engines.rank_histogram` does: one unit has a mass of at most max_groups *
    max_rows * steps.
Relies on
    `quantile_measurements`: the cuts of a block cost what they are given. Sequential composition.
Proof
    Quantiles of one value over the same rows share their cuts; each end has a cut of its own. The parts of the blocks
    are positive fractions that add up to 1.
Rounding
    None.
Source
    Dwork, McSherry, Nissim and Smith (2006), for composition.
Mutant
    unit-has-one-row: the limits on a unit do not enter its mass; killed by test_the_mass_of_a_unit_is_limited.
    any-price-for-ranks: targets beyond 64 bits are paid for; killed by
    test_a_price_is_refused_or_good_for_every_table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import root_below
from discreet.planning.aggregates import MAX, Aggregate
from discreet.planning.column_lattice import spanning
from discreet.planning.noise_laws import Price
from discreet.planning.plan import Column, Query
from discreet.planning.quantile_measurements import END_BITS, PricedRanks, RankBlock, of_end, of_quantiles, rank_bits
from discreet.privacy.definitions import Neighbors
from discreet.selection.quantiles import QuantileCuts
from discreet.selection.rank_exponential import FARTHEST, UNIT

ROW_BITS = 20
"""A row of a unit that has several weighs so many bits, as it may have to be divided among them."""

THOUSANDTHS = 1000
MOST_ROWS = 2**32

MOST_MASS = 2 * FARTHEST // UNIT
"""How far from an end of its line a cut may be wanted: in 64 bits, whatever lies there."""

LEAST_PRICE = 2**60
"""One over the least epsilon for each mass that a unit has: far below what `MOST_MASS` leaves."""


def rank_weights(query: Query, stated: Mapping[str, float]) -> list[float]:
    """How much of epsilon each block of ranks asks for, beside 1 for a linear one of weight 1."""
    return [max(stated[a.name] for a in members) ** (1 / 3) for members in _gathered(query).values()]


def _gathered(query: Query) -> dict[Any, list[Aggregate]]:
    """The ranked aggregates by what they can share."""
    gathered: dict[Any, list[Aggregate]] = {}
    for a in query.aggregates:
        if a.statistic.ranked and a.value is not None:
            rows = None if a.where is None else a.where.expr.op()
            gathered.setdefault((rows, a.value.expr.op(), a.statistic), []).append(a)
    return gathered


def price_ranks(query: Query, parts: list[Fraction], epsilon: Fraction) -> tuple[list[PricedRanks], dict[str, Column]]:
    """The priced blocks of ranks, given their parts of epsilon, and the columns by name."""
    blocks, columns = list[PricedRanks](), dict[str, Column]()
    for part, members in zip(parts, _gathered(query).values(), strict=True):
        shares = sorted({a.share for a in members if a.share is not None})
        for a in members:
            place = shares.index(a.share) if a.share is not None else 0
            columns[a.name] = Column(aggregate=a, blocks=(), ranks=len(blocks), place=place)
        blocks.append(_priced(query, members[0], tuple(shares), epsilon, part))
    return blocks, columns


def ranks_at(query: Query, parts: list[Fraction], offer: Price) -> tuple[list[PricedRanks], dict[str, Column]]:
    """The blocks of ranks for their parts of a price: of rho, each at the epsilon whose own event costs that much."""
    if offer.rho is None:
        return price_ranks(query, parts, offer.epsilon)
    tried, _ = price_ranks(query, parts, Fraction(1))  # its rho grows with the square of epsilon
    rhos = [zcdp_of_event(one.cuts.event)[0] for one in tried]
    epsilons = [part * root_below(offer.rho * part / rho) for part, rho in zip(parts, rhos, strict=True)]
    found, columns = price_ranks(query, epsilons, Fraction(1))
    return [replace(one, share=part) for one, part in zip(found, parts, strict=True)], columns


def _priced(
    query: Query, first: Aggregate, shares: tuple[Fraction, ...], epsilon: Fraction, part: Fraction
) -> PricedRanks:
    value = first.value
    if value is None or value.interval is None:
        raise TypeError(first)
    bits = rank_bits(query.cells)
    lattice = spanning(value.interval, bits if shares else min(bits, END_BITS))
    limits = query.effective
    rows = limits.max_groups * limits.max_rows
    if rows > MOST_ROWS:
        cure = "lower them: ranks cannot tell so many rows of one unit apart."
        raise InvalidParameter(expected(f"max_groups * max_rows of at most {MOST_ROWS:,}", "product", rows, cure))
    steps = 1 if query.by_row else 2 ** max(1, ROW_BITS - max(0, rows.bit_length() - ROW_BITS // 2))
    like = QuantileCuts(
        stages=(),
        cells=lattice.high + 1,
        mass=rows * steps,
        replaced=query.declaration.neighbors is Neighbors.REPLACE_ONE,
    )
    if epsilon * part * LEAST_PRICE < like.mass:
        raise _too_little()
    top = first.statistic is MAX
    block = RankBlock(value=value, where=first.where, shares=shares, top=top)
    if shares:
        cuts, places = of_quantiles(shares, like, epsilon * part)
    else:
        cuts, places = of_end(like, epsilon * part, query.cells, top=top, row=steps), (0,)
    if not all(-MOST_MASS <= cut.mass <= MOST_MASS for stage in cuts.stages for cut in stage.cuts):
        raise _too_little()
    return PricedRanks(block=block, lattice=lattice, steps=steps, cuts=cuts, places=places, share=part)


def _too_little() -> InvalidParameter:
    """The refusal of a price at which an order statistic would be off by more rows than 64 bits count."""
    cure = "give it more, or lower max_groups and max_rows: at so little it would be off by billions of rows."
    return InvalidParameter(
        expected("an epsilon or a rho that an order statistic can use", "price", "too little", cure)
    )


def split_epsilon(linear: int, ranks: list[float]) -> tuple[Fraction, list[Fraction]]:
    """The part of epsilon for so many linear blocks together, and that of each block of ranks."""
    if not ranks:
        return Fraction(1), []
    whole = linear + sum(ranks)
    parts = [
        max(Fraction(1, THOUSANDTHS**2), Fraction(round(THOUSANDTHS**2 * w / whole), THOUSANDTHS**2)) for w in ranks
    ]
    rest = 1 - sum(parts, start=Fraction(0))
    if linear:
        return rest, parts
    return Fraction(0), [parts[0] + rest, *parts[1:]]

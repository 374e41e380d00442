"""From a question to a plan: lattices, sensitivities, the law of the noise, and the division of what it may cost.

Claim
    The plan's mechanisms together are `charge`-differentially private for the declared neighbors.
Requires
    An engine that computes the totals as `Plan` says.
Relies on
    `sensitivity.contributions` for each block, `planning.noise_laws` for its noise and the composition of all.
Proof
    Block i has its sensitivity over all its groups and components together, in L1 norm for Laplace and in L2 norm for
    Gaussian noise; the shares are positive fractions whose sum is exactly 1. All laws that there are for the question
    are priced, and the one of the smallest sum is taken: a choice made from public facts alone. Staircase noise is for
    blocks of which one unit changes one total: a single total, or a total for each group where each row is a unit of
    its own, which is added or removed; not where a unit is weighted down in several groups, nor replaced by one in
    another.
    The shares are chosen to minimize the sum over the columns of weight * (noise sd / public range)**2 / rows of a
    unit, which are constants beside the noise. A column that is a fixed linear form of the blocks adds c_i / e_i**p to
    it for each of them, p = 2 for Laplace and 1 for Gaussian noise, and shares in proportion to the (p+1)-th roots of
    c_i are best (Lagrange). A count that several blocks hold is taken from them by precision; choosing its form for
    given shares and the shares for a given form, in turn, lowers the sum at every step.
Rounding
    Shares are whole millionths, the first block taking what is left; scales are exact fractions, sigmas rounded up.
Source
    Dwork, McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis" (2006).
Mutant
    every-block-at-full-epsilon: the shares are not shares; killed by test_shares_add_up_to_epsilon.
    listed-values-of-one-group: the rows of a unit in united tables are no more than the values that are told apart in
    one group; killed by test_a_unit_in_all_tables_moves_no_total_further_than_claimed.
    stairs-in-all-groups: totals of units that are in several groups get staircase noise; killed by
    test_only_lone_totals_get_stairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import above_zero, decimal_text, fraction, positive
from discreet.mechanisms.staircase import Staircase
from discreet.planning.column_lattice import MOST_BITS, ColumnLattice, bits_for, centered, counting, spanning
from discreet.planning.forms import Block
from discreet.planning.joint_plan import LEAST_GAIN, MOST_TOTALS, has_joint_totals, joined
from discreet.planning.measurements import gather, gather_apart
from discreet.planning.noise_laws import Law, Price, gain, noise_event
from discreet.planning.plan import Column, Plan, PricedBlock, Query
from discreet.planning.quantile_planner import rank_weights, ranks_at, split_epsilon
from discreet.planning.unlisted_values import price_values, value_weights
from discreet.privacy.events import composed
from discreet.sensitivity.contributions import Limits

MILLION = 10**6
LARGEST_PRODUCT = Fraction(10) ** 150
"""Of ranges: squares and products of two columns' ranges are floats far from their ends."""
LARGEST_EPSILON = Fraction(2**20)
"""Beyond it noise is zero for all that anyone will see, and a promise means nothing."""
FLAT = 2
"""Up to this epsilon staircase noise is not worth a look."""
LEAST_WEIGHT = 1e-15
"""Beside 1; less would not leave a column one part in a hundred thousand of epsilon."""
LEAST_STEP = Fraction(1, 2**18)
"""More than both ends of a lattice can be off by, over the larger of them: there are 2**19 steps to that at least."""
TURNS = 30
"""Of choosing shares and forms in turn; each brings them several times closer."""


def level(confidence: object) -> float:
    """A confidence strictly between 0 and 1."""
    stated = fraction("confidence", confidence)
    value = float(stated) if 0 < stated < 1 else 0.0
    if not 0 < value < 1:
        cure = "write confidence=0.95."
        raise InvalidParameter(expected("a confidence between 0 and 1", "confidence", confidence, cure))
    return value


def stated_epsilon(epsilon: object) -> Fraction:
    """The epsilon of a release as an exact number."""
    if epsilon is None:
        raise InvalidParameter(
            "Expected an epsilon, got none.\n"
            "Hint: say what the answer may cost, epsilon=0.1 or rho=0.005, or how good it has to be, within={...}."
        )
    total = positive("epsilon", epsilon)
    if total > LARGEST_EPSILON:
        cure = "one of 10 already hides little."
        raise InvalidParameter(expected(f"an epsilon of at most {LARGEST_EPSILON}", "epsilon", epsilon, cure))
    return total


def stated_delta(delta: object) -> Fraction:
    """The delta of a release as an exact number."""
    extra = fraction("delta", delta)
    if not 0 <= extra < 1:
        cure = "write a delta far below one over the number of people, delta=1e-6, or leave it out."
        raise InvalidParameter(expected("a delta from 0 to below 1", "delta", delta, cure))
    return extra


def stated_price(*, epsilon: object = None, delta: object = 0, rho: object = None) -> Price:
    """The price of a call as exact numbers: an epsilon or a rho, and a delta beside it."""
    if rho is None:
        return Price(law=Law.LAPLACE, epsilon=stated_epsilon(epsilon), delta=stated_delta(delta))
    if epsilon is not None:
        raise InvalidParameter("Expected epsilon or rho, got both.\nHint: leave one of them out.")
    total, most = positive("rho", rho), LARGEST_EPSILON**2 / 2
    if total > most:
        raise InvalidParameter(expected(f"a rho of at most {most}", "rho", rho, "one of 50 already hides little."))
    return replace(Price.concentrated(Law.LAPLACE, total), delta=stated_delta(delta))


def price(
    query: Query,
    *,
    epsilon: object = None,
    delta: object = 0,
    rho: object = None,
    weights: Mapping[str, object] | None = None,
    stairs: bool = True,
) -> Plan:
    """The plan of a question at a total epsilon or rho, the best of those that there are; reads and spends nothing.

    Laplace noise, with a delta or at a rho Gaussian noise, and unless `stairs` is False staircase noise for lone totals
    at a large epsilon, and one mechanism for all totals of a group where they are counts and sums.
    """
    stated = stated_weights(query, weights)
    offers = offers_of(stated_price(epsilon=epsilon, delta=delta, rho=rho))
    plans = [plan_of(query, offer, stated) for offer in offers]
    for law, part in ((Law.STAIRCASE, math.inf), (Law.JOINT, LEAST_GAIN)) if stairs and rho is None else ():
        other = plan_with(query, law, offers[0], stated)
        plans += [other] if other and other.cost < part * min(plan.cost for plan in plans) else []
    plans.sort(key=lambda plan: plan.cost)
    return replace(plans[0], runners_up=tuple(plans[1:]))


def plan_with(query: Query, law: Law, offer: Price, stated: Mapping[str, float]) -> Plan | None:
    """The plan with noise of one law at an offer; None where there is none."""
    if law is Law.JOINT:
        return _together(query, offer, stated)
    if law is Law.STAIRCASE and offer.epsilon <= FLAT:
        return None
    plan = plan_of(query, replace(offer, law=law), stated)
    is_its = law is not Law.STAIRCASE or any(isinstance(block.noise, Staircase) for block in plan.blocks)
    return plan if is_its else None


def _together(query: Query, offer: Price, stated: Mapping[str, float]) -> Plan | None:
    """The plan with one mechanism for all totals, where there is one."""
    if not has_joint_totals(query):
        return None
    blocks, columns = gather_apart(query)
    if not 1 < len(blocks) <= MOST_TOTALS:
        return None
    try:
        priced = [_priced(query, block, offer, Fraction(1, len(blocks)), Fraction(1)) for block in blocks]
    except (InvalidParameter, InvalidQuery):  # so little epsilon, or so wide a range, that the others say it
        return None
    if any(block.block.parts and block.lattice.ends == (0, 0) for block in priced):
        return None
    made, own = joined(query, priced, offer.epsilon)
    cost = 0.0
    for column in columns:
        [place], asked = column.blocks, column.aggregate
        rows = made.parts()[place].variance / own[place].steps ** 2
        size = _size(query, blocks[place])
        cost += stated[asked.name] * asked.statistic.variance(asked, blocks[place], 0) * rows / size
    return Plan(
        query=query,
        limits=query.effective,
        blocks=tuple(own),
        columns=tuple(_column(column, own) for column in columns),
        event=made.event,
        charge=offer.charge(made.event),
        law=Law.JOINT,
        cost=cost,
        joint=made,
    )


def offers_of(stated: Price) -> list[Price]:
    """Laplace noise, and with a delta or at a rho Gaussian noise."""
    if stated.rho is None:
        gaussian = [replace(stated, law=Law.GAUSSIAN)] if stated.delta else []
        return [replace(stated, delta=Fraction(0)), *gaussian]
    if stated.delta:
        cure = "leave delta out: noise that is priced in rho needs none."
        raise InvalidParameter(expected("no delta beside rho", "delta", decimal_text(stated.delta), cure))
    return [replace(stated, law=law) for law in (Law.LAPLACE, Law.GAUSSIAN)]


def plan_of(query: Query, offer: Price, stated: Mapping[str, float], *, spread: Fraction = Fraction(1)) -> Plan:
    """The plan with noise of one law; its lattices leave room for noise at a share that is smaller by `spread`."""
    blocks, columns = gather(query)
    of_ranks = rank_weights(query, stated)
    linear, others = split_epsilon(len(blocks), [*of_ranks, *value_weights(query, stated)])
    ranks, by_name = ranks_at(query, others[: len(of_ranks)], offer)
    values, more = price_values(query, others[len(of_ranks) :], offer)
    rest = offer.part(linear) if blocks else offer
    shares = divide(query, blocks, columns, stated, law=offer.law) if blocks else []
    priced = [_priced(query, block, rest, share, spread) for block, share in zip(blocks, shares, strict=True)]
    by_name |= more | {column.aggregate.name: _column(column, priced) for column in columns}
    variances = _variances(query, blocks, columns, stated, offer.law)
    beside = (*(one.cuts.event for one in ranks), *(one.noise.event for one in values))
    event = composed(*(noise_event(block.noise) for block in priced), *beside)
    return Plan(
        query=query,
        limits=query.effective,
        blocks=tuple(replace(block, share=linear * block.share) for block in priced),
        columns=tuple(by_name[a.name] for a in query.aggregates),
        event=event,
        charge=offer.charge(event),
        law=offer.law,
        cost=sum(
            _pooled(c, [rest.variance(own**0.5, float(shares[i])) * gain(priced[i].noise) for i, own in s.items()])
            for c, s in zip(columns, variances, strict=True)
        ),
        ranks=tuple(ranks),
        values=tuple(values),
    )


def stated_weights(query: Query, weights: object) -> dict[str, float]:
    """The weight of each column over the largest; 1 counts where none was stated."""
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidParameter(expected("a dict of weights", "weights", weights, "write weights={'column': 2}."))
    names = [a.name for a in query.aggregates]
    stated = dict.fromkeys(names, Fraction(1))
    for name, weight in (weights or {}).items():
        if name not in stated:
            cure = nearest_name(name, names)
            raise InvalidParameter(expected("weights of columns of the answer", "weights", name, cure))
        stated[name] = above_zero(f"weights[{name!r}]", weight)
    largest = max(stated.values())
    return {name: max(float(weight / largest), LEAST_WEIGHT) for name, weight in stated.items()}


def own_limits(query: Query, block: Block) -> Limits:
    """In how many groups a unit counts in a block, and with how many rows in each."""
    limits = query.effective
    if query.by_row:  # the rows of one unit, which may be in different groups
        return limits
    return Limits(max_groups=limits.max_groups, max_rows=block.form.rows(block, limits.max_rows))


def _sensitivity(query: Query, block: Block, law: Law) -> Fraction:
    """The sensitivity of a block in rows, in the norm of a law."""
    interval = None if block.value is None else block.value.interval
    back = Fraction(block.form.rotated)
    if block.form.centered and interval is not None and interval.low < 0 < interval.high:
        ratio = min(-interval.low, interval.high) / max(-interval.low, interval.high)
        back = min(ratio + LEAST_STEP, Fraction(1))
    neighbors = query.declaration.neighbors
    return law.sensitivity_of(1, own_limits(query, block), neighbors, back=back, totals=_totals(query, block))[0]


def _totals(query: Query, block: Block) -> int | None:
    """How many totals a block has, where each group has one."""
    return query.cells if block.components == 1 else None


def divide(
    query: Query,
    blocks: tuple[Block, ...],
    columns: tuple[Column, ...],
    stated: Mapping[str, float],
    *,
    law: Law = Law.LAPLACE,
) -> list[Fraction]:
    """The shares that minimize the sum of weight * (noise sd / public range)**2 / rows of a unit, see `_size`."""
    variances = _variances(query, blocks, columns, stated, law)
    parts = [1.0] * len(blocks)
    for _ in range(TURNS if any(len(c.blocks) > 1 for c in columns) else 1):
        costs = [0.0] * len(blocks)
        for column, own in zip(columns, variances, strict=True):
            if not column.aggregate.statistic.counts:
                for i, variance in own.items():
                    costs[i] += variance
                continue
            precision = {i: parts[i] ** law.power / variance for i, variance in own.items()}
            for i, variance in own.items():
                costs[i] += (precision[i] / sum(precision.values())) ** 2 * variance
        roots = [cost ** (1 / (law.power + 1)) for cost in costs]
        if not 0 < sum(roots) < math.inf:
            cure = "leave infinities out of public tables, and state narrower bounds."
            raise InvalidQuery(expected("columns whose ranges have squares", "ranges", "wider ones", cure))
        parts = [root / sum(roots) for root in roots]
    whole = [max(1, math.floor(MILLION * part)) for part in parts]
    whole[0] += MILLION - sum(whole)
    if whole[0] < 1:
        raise InvalidQuery(
            "Expected weights within a factor of a million, got a column that would be left without epsilon.\n"
            "Hint: bring the weights closer."
        )
    return [Fraction(part, MILLION) for part in whole]


def _variances(
    query: Query, blocks: tuple[Block, ...], columns: tuple[Column, ...], stated: Mapping[str, float], law: Law
) -> list[dict[int, float]]:
    """For each column, what each of its blocks would add to the sum at a share of 1, and at a cost of 1."""
    variances = []
    for column in columns:
        own = [
            _variance(query, column, blocks[i], law, place) / _size(query, blocks[i])
            for place, i in enumerate(column.blocks)
        ]
        weight = stated[column.aggregate.name]
        variances.append({i: weight * one for i, one in zip(column.blocks, own, strict=True)})
    return variances


def _size(query: Query, block: Block) -> int:
    """What squares of errors are measured against: the rows that a unit may have in a group, 1 for counts of units.

    Rows are as many as units at least, and at most so many times as many. The root of that is between the two, and of
    the powers that were tried on ten tables it leaves the least relative errors (docs/planner.md).
    """
    return 1 if query.by_row else own_limits(query, block).max_rows


def _pooled(column: Column, variances: list[float]) -> float:
    """The variance of a column from those of its blocks: a line needs them all, a count is in each of its own."""
    return sum(variances) if not column.aggregate.statistic.counts else 1 / sum(1 / one for one in variances)


def _variance(query: Query, column: Column, block: Block, law: Law = Law.LAPLACE, place: int = 0) -> float:
    """The variance of a column over its range squared, taken from one block, for noise of scale 1 a row moved."""
    own = column.aggregate.statistic.variance(column.aggregate, block, place)
    return own * float(_sensitivity(query, block, law)) ** 2


def _priced(query: Query, block: Block, offer: Price, share: Fraction, spread: Fraction) -> PricedBlock:
    own = own_limits(query, block)
    rows = offer.scale_of(_sensitivity(query, block, offer.law), share * spread)
    bits = bits_for(own.max_groups * own.max_rows, rows, most=block.form.most_bits)
    lattice = lattice_of(query, block, min(bits, MOST_BITS))
    others = tuple(spanning(v.interval, min(bits, MOST_BITS)) for v in block.others if v.interval is not None)
    steps, factors = block.form.split(block, bits) if block.form.split else (lattice.steps, ())
    totals = _totals(query, block)
    _check_products(block, (lattice, *others))
    back = steps if block.form.rotated else lattice.back
    sensitivity = offer.law.sensitivity_of(steps, own, query.declaration.neighbors, back=back, totals=totals)
    by_row = query.by_row and query.units_changed == 1
    alone = totals == 1 or (by_row and block.components == 1)
    alone = alone and not block.form.rotated  # whose totals are added up
    return PricedBlock(
        block=block,
        lattice=lattice,
        others=others,
        factors=factors,
        steps=steps,
        sensitivity=sensitivity[0],
        share=share,
        noise=offer.noise(sensitivity, share, alone=alone),
    )


def _check_products(block: Block, lattices: tuple[ColumnLattice, ...]) -> None:
    """Refuses values whose squares, products or quotients would leave the floats."""
    if block.parts < 2 and not block.others:  # a sum alone
        return
    ranges = [lattice.high * lattice.step for lattice in lattices]
    sizes = sorted(max(one, 1 / one) for one in ranges)
    if math.prod(sizes[-2:]) > LARGEST_PRODUCT:
        cure = "state narrower bounds, or scale the column: .mutate(x=_.x / 1e100)."
        what = "ranges, and products of two of them, between 1e-150 and 1e150"
        raise InvalidQuery(expected(what, "ranges", ", ".join(f"{float(one):.3g}" for one in ranges), cure))


def lattice_of(query: Query, block: Block, bits: int) -> ColumnLattice:
    """The integers for the values of a block, or for what it counts."""
    own = query.effective
    interval = None if block.value is None else block.value.interval
    if not block.parts or interval is None:
        few = own.max_groups < query.cells or own.max_rows < len(block.listed)
        return counting(bits, weighted=not query.by_row and few)
    if block.form.centered:
        return centered(interval, bits, weighted=not query.by_row)
    lattice = spanning(interval, bits)
    return replace(lattice, fine=1) if block.form.split else lattice  # polynomials have steps of their own


def _column(column: Column, blocks: list[PricedBlock]) -> Column:
    """A column with its coefficients, where it is a linear form of the totals; a count that several blocks hold is
    weighted by their precision.
    """
    asked, own = column.aggregate, [blocks[i] for i in column.blocks]
    precision = [1 / (block.block.components * block.scale**2) for block in own]
    coefficients, offset = [], 0.0
    for block, p in zip(own, precision, strict=True):
        low, high = (block.lattice.value(Fraction(q)) for q in (block.lattice.low, block.lattice.high))
        found = asked.statistic.linear(asked, block.block, low, high)
        if found is None:
            return column
        coefficients.append(tuple(p / sum(precision) * c for c in found[0]))
        offset = found[1]
    return replace(column, coefficients=tuple(coefficients), offset=offset)

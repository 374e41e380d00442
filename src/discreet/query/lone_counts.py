"""A lone count by keys that nobody listed: one look at all of epsilon that finds the keys and counts under them.

Claim
    Where ``found_by(query, left, guarantee)`` gives a mechanism, its release of `engines.surveys.key_totals`, with its
    `max_groups` and steps of 1, keeps the guarantee for the declared neighbors; and these totals are the counts that
    were asked for, each unit in at most `max_groups` keys.
Requires
    Of the engine: totals to which a unit adds 1 in at most `max_groups` keys, and a row for those keys alone that some
    unit has (`engines.surveys` owes both).
Relies on
    `mechanisms.threshold`: (a, b)-privacy under add-remove of the keys shown and of their noisy counts together.
Proof
    *Counts.* The totals count the pairs of unit and key that are kept. That is the count of units. It is the count of
    rows too where each row is a unit, or where a unit counts with one row in each group. A count under a condition, of
    values, or with more rows of one unit is something else: there is no mechanism then.
    *Neighbors.* Replacing a unit is a removal and an addition: what is (a, b)-private under add-remove is
    (2a, (1 + e^a) b)-private then. So it is made with half of epsilon, and delta / (1 + e^a).
Rounding
    delta / (1 + e^a) down.
Source
    Group privacy: lemma 2.2 of Vadhan (2017).
Mutant
    several-rows-as-one: several rows of a unit in a key are counted as one; killed by
    test_only_plain_counts_of_lone_units_take_one_look.
    replaced-for-one: replacing a unit is taken for adding one; killed by test_replacing_a_unit_costs_twice.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.threshold import Threshold
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import ApproximateEvent
from discreet.query.aggregates import Statistic
from discreet.query.lattice import counting
from discreet.query.noises import Law
from discreet.query.plan import Plan, Query
from discreet.query.unknown import MOST_UNKNOWN_GROUPS, Open


def under_adding(neighbors: Neighbors, guarantee: Guarantee) -> Guarantee:
    """What a mechanism must keep where a unit is added or removed, so that it keeps this for the declared neighbors."""
    if neighbors is Neighbors.ADD_REMOVE:
        return guarantee
    half = guarantee.epsilon / 2
    rest = 1 + Fraction(math.exp(min(float(half), 700.0))) * (1 + Fraction(1, 2**40))
    return Guarantee(epsilon=half, delta=guarantee.delta / rest)


def found_by(query: Query, left: Open, guarantee: Guarantee) -> Threshold | None:
    """The mechanism that would show keys together with what was asked of them; None where there is more to ask."""
    if not left.keys or left.limits or left.report or len(query.aggregates) > 1:
        return None
    asked, limits = query.aggregates[0], query.effective
    plain = asked.value is None and asked.where is None
    once = asked.statistic is Statistic.UNITS or (asked.statistic is Statistic.COUNT and limits.max_rows == 1)
    if not (plain and once) or query.declaration.moved > 1:
        return None
    kept = under_adding(query.declaration.neighbors, guarantee)
    most = min(query.limits.max_groups or 1, MOST_UNKNOWN_GROUPS)
    return Threshold(epsilon=kept.epsilon, delta=kept.delta, max_groups=most)


def one_look(plan: Plan, rule: Threshold, charge: Guarantee) -> Plan:
    """The plan of the same count with the noise of the mechanism that finds its keys."""
    [block] = plan.blocks
    noise = Laplace(sensitivity=rule.scale * charge.epsilon, epsilon=charge.epsilon)
    lattice = counting(0, weighted=False)
    priced = replace(block, lattice=lattice, steps=1, sensitivity=noise.sensitivity, share=Fraction(1), noise=noise)
    event = ApproximateEvent(epsilon=charge.epsilon, delta=charge.delta)
    cost = 2 * float(noise.scale) ** 2
    return replace(
        plan, blocks=(priced,), charge=charge, event=event, law=Law.LAPLACE, cost=cost, runners_up=(), shown=rule
    )

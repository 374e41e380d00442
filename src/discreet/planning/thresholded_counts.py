"""A single count by unknown keys: one mechanism, at all of epsilon, that finds the keys and counts under them.

Claim
    Where ``threshold_for(query, left, guarantee)`` gives a mechanism, its release of
    `engines.first_looks.key_totals`, with its max_groups and max_rows and steps of 1, keeps the guarantee for
    the declared neighbors; and these totals are the counts that were asked for, of units in at most max_groups keys,
    and of at most max_rows of their rows in each.
Requires
    Of the engine: totals to which a unit adds max_rows at most in at most max_groups keys, and a row for those that
    some unit has
    (`engines.first_looks` owes both).
Relies on
    `mechanisms.threshold`: (a, b)-privacy under add-remove of the keys shown and of their noisy counts together.
Proof
    *Counts.* Where each row is a unit, or a unit has one row at most by what made the table, a unit has at most one key
    and is left out of no other; its rows are as many as it is, and the totals count either. In united tables each row
    is counted for itself. Where a unit may have several keys, one look has to leave it out of those beyond a stated
    limit before it is known which are shown, whereas the second of two looks weighs it down in those that are; so one
    look is made if it was asked for (`UnknownKeys.by_count`), or if the limit is no less than the rows that a unit has
    by what made the table (`most_rows`), so that none is left out of any. The totals are numbers of units, or of their
    rows, up to max_rows of each unit in each key, as two looks count them. A count under a condition or of values is of
    other rows than those that have the key; then there is no mechanism.
    *Neighbors.* Replacing a unit is a removal and an addition, and one that is m rows comes or goes in m steps: what
    is (a, b)-private for each of n steps is (na, (1 + e^a + ... + e^((n-1)a)) b)-private for all of them. So it is made
    with epsilon / n, and delta over that sum. An epsilon at which no float holds e^((n-1)a) is refused.
Rounding
    delta over the sum of powers down.
Source
    Group privacy: lemma 2.2 of Vadhan (2017).
Mutant
    rows-as-units: rows of units are counted with the noise and the threshold of units; killed by
    test_one_look_at_rows_has_the_law_of_its_mechanism.
    several-keys-as-one: units that may have several keys are counted in one of them; killed by
    test_only_plain_counts_of_units_with_one_row_take_one_look.
    limit-for-free: a unit in several keys costs as much as one in one; killed by
    test_one_look_at_several_keys_of_a_unit_has_the_law_of_its_mechanism.
    replaced-for-one: replacing a unit is taken for adding one; killed by test_replacing_a_unit_costs_twice.
    power-of-a-float: e^a is taken for the largest float; killed by
    test_a_price_whose_power_no_float_holds_is_refused.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.threshold import Threshold
from discreet.planning.aggregates import COUNT, UNITS
from discreet.planning.column_lattice import counting
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Plan, Query
from discreet.planning.unspecified import Unspecified
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import ApproximateEvent

NOT_ALONE = (
    "Expected one number of units or of rows, and nothing beside it, for keys=dp.UNKNOWN_BY_COUNT, got another "
    "question.\n"
    "Hint: ask for .agg(n=_.person.nunique()) of your unit, or for .agg(n=_.count()), with stated limits and without a "
    "report; put a condition before it, .filter(...); or write keys=dp.UNKNOWN, for two looks."
)
MOST = 700
"""The power of e beyond which delta / (1 + e^a) is as good as no delta."""


def under_adding(steps: int, guarantee: Guarantee) -> Guarantee:
    """What a mechanism must keep where a unit is added or removed, so that it keeps this for so many such steps."""
    each = guarantee.epsilon / steps
    if (steps - 1) * each > MOST:
        cure = "ask at a lower price, which hides somebody; or list the keys."
        most = Fraction(MOST * steps, steps - 1)
        what = f"an epsilon of at most {math.floor(most)} for unknown keys, where {steps} units change"
        raise InvalidParameter(expected(what, "epsilon", guarantee.epsilon, cure))
    powers = sum((Fraction(math.exp(float(i * each))) for i in range(1, steps)), start=Fraction(0))
    return Guarantee(epsilon=each, delta=guarantee.delta / (1 + powers * (1 + Fraction(1, 2**40))))


def threshold_for(query: Query, left: Unspecified, guarantee: Guarantee) -> Threshold | None:
    """The mechanism that would release the keys together with their counts; None where the question asks for more."""
    if not left.keys:
        return None
    asked = query.aggregates[0]
    alone = len(query.aggregates) == 1 and not left.limits and not left.report
    plain = asked.value is None and asked.where is None and asked.statistic in (UNITS, COUNT)
    if not (alone and plain):
        if left.keys.by_count:
            raise InvalidQuery(NOT_ALONE)
        return None
    kept = under_adding(query.units_changed, guarantee)
    if query.by_row or query.most_rows == 1:
        return Threshold(epsilon=kept.epsilon, delta=kept.delta)
    most = query.limits.max_groups or 1
    if not (left.keys.by_count or (query.most_rows is not None and query.most_rows <= most)):
        return None
    rows = query.limits.max_rows or 1 if asked.statistic is COUNT else 1
    return Threshold(epsilon=kept.epsilon, delta=kept.delta, max_groups=most, max_rows=rows)


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

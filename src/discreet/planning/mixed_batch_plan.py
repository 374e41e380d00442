"""Tables of listed keys that are planned together, and questions with noise of their own: one price for all.

Those are questions about all ranges of bins, and those in which something is open. Any of the three may be missing.

Claim
    The mechanisms of all parts of a `MixedBatchPlan` are together `charge`-differentially private for the declared
    neighbors; at a price in rho they are together rho-zCDP, up to an event whose probability is the delta that finds
    keys.
Requires
    Questions about one declared table, whose neighbors are those of every part.
Relies on
    `planning.batch_planner` for the listed tables and for ranges, `planning.open_question_plan` for each question with
    something open; sequential composition. `planning.noise_laws` for what Gaussian noise of several parts costs
    together.
Proof
    The shares of the parts are positive fractions whose sum is 1. Each part is priced at its share of epsilon, or of
    rho, and of delta, and is private at that price; what one finds is not used by another. Epsilons add up, and deltas
    do; and so do rhos, with the probabilities of the events that each part leaves out. With a delta, parts of which
    all noise is Gaussian may be priced together: independent parts at rho_i are, as Gaussian mechanisms, no more than
    mu^2 = 2 sum of rho_i together, which is what their epsilon and delta allow. At a stated price rho_i are parts of
    what it allows; for wanted errors each is what its part needs, and the price is the least that allows their sum.
    What has Laplace noise then adds its epsilons.
Rounding
    Shares are fractions near the roots of the weights; their sum is exact. Of a sum of rho, mu and epsilon are rounded
    up, epsilon to four digits.
Source
    Dwork and Roth (2014), theorem 3.16; Bun and Steinke (2016), lemma 2.3; Dong, Roth and Su (2022), corollary 3.3.
Mutant
    parts-at-the-whole-price: each part is made at the price of all; killed by
    test_parts_of_a_mixed_batch_add_up_to_its_price.
    ranges-at-the-price-of-all: only ranges are made at the price of all; killed by
    test_ranges_have_a_part_of_the_price.
    ranges-uncharged: the charge leaves ranges out; killed by test_ranges_have_a_part_of_the_price.
    ranges-unrecorded: the event of a batch leaves ranges out; killed by test_ranges_have_a_part_of_the_price.
    joint-noise-for-each: each part that is priced with others has all that they may cost; killed by
    test_gaussian_noise_of_all_parts_is_priced_together.
    one-part-forgotten: the price of wanted errors leaves a part with Gaussian noise out; killed by
    test_the_joint_price_of_wanted_errors_is_that_of_the_accountant.
    laplace-beside-it-is-free: nor does it have parts with Laplace noise; killed by
    test_laplace_noise_beside_gaussian_noise_is_paid_for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, TypeVar

from discreet.accounting.gaussian_profile import epsilon_above
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import decimal_text, root_above
from discreet.mechanisms.calibrate_epsilon import smallest_epsilon
from discreet.planning.batch_planner import BatchPlan, BatchQuery, price_batch, weights_of_tables
from discreet.planning.first_look_budget import NOTHING_TO_FIND, stated_part
from discreet.planning.joint_batch import price_together
from discreet.planning.noise_laws import Law, Price
from discreet.planning.open_question_plan import OpenQuestionPlan, plan_open_question
from discreet.planning.plan import Plan, Query
from discreet.planning.planner import LARGEST_EPSILON, stated_price
from discreet.planning.table_names import Name
from discreet.planning.unspecified import Unspecified, open_values
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import Event, composed

Part = TypeVar("Part", BatchQuery, BatchPlan)

FINEST_SHARE = 10**6
LARGEST_RATIO = 10**12
"""Of two weights: beyond it, a part would have a price that is next to nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedBatchQuery:
    """Questions about one table that are asked together: tables of listed keys, all ranges of bins, and questions with
    something open.
    """

    names: tuple[Name, ...]
    """Of all tables, in the order of the answer."""
    listed: BatchQuery | None
    """None where there is none."""
    open: Mapping[str, tuple[Query, Unspecified]]
    ranges: Mapping[str, BatchQuery] = field(default_factory=dict)
    """Each with one table, of its own name: the bins."""

    @property
    def planned(self) -> dict[str | None, BatchQuery]:
        """What is planned before anything is found: the listed tables under None, each question about ranges."""
        return _planned(self.listed, self.ranges)


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedBatchPlan:
    """Priced parts of a mixed batch."""

    names: tuple[Name, ...]
    listed: BatchPlan | None
    open: Mapping[str, OpenQuestionPlan]
    ranges: Mapping[str, BatchPlan] = field(default_factory=dict)
    shares: Mapping[str | None, Fraction]
    """Of the price: of the listed tables together under None, of each other question under its name."""
    together: Guarantee | None = None
    """What Gaussian noise of listed tables and ranges costs, where it was priced together."""

    @property
    def planned(self) -> dict[str | None, BatchPlan]:
        """The listed tables under None, if there are any, and then each question about ranges."""
        return _planned(self.listed, self.ranges)

    @property
    def parts(self) -> list[BatchPlan | OpenQuestionPlan]:
        """The listed tables, ranges, and then the others."""
        return [*self.planned.values(), *self.open.values()]

    @property
    def charge(self) -> Guarantee:
        """What all parts cost together."""
        if self.together is None:
            whole = reduce(add, (part.charge for part in self.parts))
        else:
            beside = (part.charge for part in self.planned.values() if part.law is not Law.GAUSSIAN)
            whole = reduce(add, (*beside, *(part.charge for part in self.open.values())), self.together)
        return Guarantee(epsilon=min(whole.epsilon, UNBOUNDED), delta=whole.delta, rho=whole.rho)

    @property
    def event(self) -> Event:
        """What a ledger records for all parts."""
        return composed(*(part.event for part in self.parts))

    @property
    def tables(self) -> tuple[Plan, ...]:
        """Each table as a plan of its own, in the order of the names; stand-ins for what is open."""
        own: dict[Name, Plan] = {name: part.placeholder_plan for name, part in self.open.items()}
        for planned in self.planned.values():
            own.update(zip(planned.names, planned.tables, strict=True))
        return tuple(own[name] for name in self.names)


def _planned(listed: Part | None, ranges: Mapping[str, Part]) -> dict[str | None, Part]:
    found: dict[str | None, Part] = {} if listed is None else {None: listed}
    found.update(ranges)
    return found


def price_mixed_batch(
    asked: MixedBatchQuery,
    *,
    epsilon: object = None,
    delta: object = 0,
    rho: object = None,
    weights: Mapping[Any, object] | None = None,
    first_look: object = None,
) -> MixedBatchPlan:
    """The plan at a total price; reads and spends nothing. `first_look` is a part of the share of each question that
    has limits or bounds to find, as of a question by itself.

    The price is divided so that the weighted sum of the squared errors would be smallest if all questions were alike:
    by the cube roots of the weights, or at a price in rho by their square roots. With a delta, listed tables and ranges
    are priced with Gaussian noise together as well: mu^2 is divided by the square roots, and what is better is taken.
    """
    offer = stated_price(epsilon=epsilon, delta=delta, rho=rho)
    own, looks = _weights(asked, weights), stated_part(first_look)
    if looks is not None and not any(_finds_limits(query, left) for query, left in asked.open.values()):
        raise InvalidQuery(NOTHING_TO_FIND)
    if offer.rho is not None and offer.delta and not any(left.keys for _, left in asked.open.values()):
        cure = "leave delta out: without unknown keys, nothing that is priced in rho needs one."
        raise InvalidParameter(expected("no delta beside rho", "delta", decimal_text(offer.delta), cure))
    shares = _shares(asked, own, 3 if offer.rho is None else 2)
    finding = sum((shares[name] for name, (_, left) in asked.open.items() if left.keys), start=Fraction(0))
    planned = {
        part: price_together(
            query, weights={name: own[name] for name in query.names}, **_part(offer, shares[part], Fraction(0))
        )
        for part, query in asked.planned.items()
    }
    found = {}
    for name, (query, left) in asked.open.items():
        delta_share = shares[name] / finding if left.keys else Fraction(0)
        own_left = replace(left, share=looks if _finds_limits(query, left) else None)
        found[name] = plan_open_question(query, own_left, **_part(offer, shares[name], delta_share))
    apart = _made(asked, planned, found, shares)
    if offer.rho is not None or not offer.delta or len(planned) < 2:
        return apart
    part = sum((shares[name] for name in planned), start=Fraction(0))
    whole = Price(law=Law.GAUSSIAN, epsilon=offer.epsilon * part, delta=offer.delta * part)
    own_shares, joint = _together(asked, own, whole.strength / 2)
    matter = {name: float(sum(own[table] for table in query.names)) for name, query in asked.planned.items()}
    if sum(matter[name] * math.log(joint[name].cost / one.cost) for name, one in planned.items()) >= 0:
        return apart
    shares = {**shares, **{name: share * part for name, share in own_shares.items()}}
    cost = Guarantee(epsilon=whole.epsilon, delta=whole.delta)
    return replace(_made(asked, joint, found, shares), together=cost)


def _finds_limits(query: Query, left: Unspecified) -> bool:
    """Whether a question has more to find than keys."""
    return bool(left.limits or open_values(query))


def plan_within(
    asked: MixedBatchQuery, parts: Mapping[str | None, BatchPlan], together: Guarantee | None = None
) -> MixedBatchPlan:
    """The plan of parts that cost what they need, with what their Gaussian noise costs if it is priced together."""
    made = replace(_made(asked, parts, {}, {}), together=together)
    whole = made.charge.epsilon
    if together is None:
        return replace(made, shares={name: part.charge.epsilon / whole for name, part in parts.items()})
    rho = _rho(parts.values())
    own = {name: together.epsilon * (part.charge.rho or 0) / rho for name, part in parts.items()}
    beside = {name: part.charge.epsilon for name, part in parts.items() if part.law is not Law.GAUSSIAN}
    return replace(made, shares={name: epsilon / whole for name, epsilon in (own | beside).items()})


def plans_together(
    asked: MixedBatchQuery,
    gaussian: Mapping[str | None, BatchPlan],
    laplace: Mapping[str | None, BatchPlan],
    delta: Fraction,
) -> list[MixedBatchPlan]:
    """Plans whose Gaussian noise is priced together, from all parts with it to those alone that have no other.

    What of it costs the least in rho beside its own epsilon is kept the longest: where epsilon is a concave function of
    rho, as it nearly is, the cheapest of all mixtures is among these.
    """

    def saved(name: str | None) -> float:
        return float(laplace[name].charge.epsilon) / float(_rho([gaussian[name]]))

    first = sorted(laplace, key=saved)
    mixtures = [dict(gaussian) | {name: laplace[name] for name in first[:count]} for count in range(len(first) + 1)]
    return [
        plan_within(asked, parts, joint_price(parts.values(), delta))
        for parts in mixtures
        if any(part.law is Law.GAUSSIAN for part in parts.values())
    ]


def joint_price(parts: Iterable[BatchPlan], delta: Fraction) -> Guarantee:
    """The least epsilon, to four digits, at which all Gaussian noise together is private with this delta."""
    least = Fraction(epsilon_above(root_above(2 * _rho(parts)), delta))
    epsilon = smallest_epsilon(lambda epsilon: epsilon >= least, "a joint price", largest=max(least, LARGEST_EPSILON))
    return Guarantee(epsilon=epsilon, delta=delta)


def _rho(parts: Iterable[BatchPlan]) -> Fraction:
    """What Gaussian noise costs in all, of parts that were priced in rho."""
    return sum((part.charge.rho or Fraction(0) for part in parts if part.law is Law.GAUSSIAN), start=Fraction(0))


def _together(
    asked: MixedBatchQuery, weights: Mapping[Name, Fraction], rho: Fraction
) -> tuple[dict[str | None, Fraction], dict[str | None, BatchPlan]]:
    """Parts of a rho by the square roots of the weights, and what is planned at them with Gaussian noise."""
    tables = {name for query in asked.planned.values() for name in query.names}
    found = _shares(asked, {name: weight for name, weight in weights.items() if name in tables}, 2)
    return found, {
        part: price_batch(
            query, rho=rho * found[part], weights={name: weights[name] for name in query.names}, gaussian=True
        )
        for part, query in asked.planned.items()
    }


def _made(
    asked: MixedBatchQuery,
    planned: Mapping[str | None, BatchPlan],
    found: Mapping[str, OpenQuestionPlan],
    shares: Mapping[str | None, Fraction],
) -> MixedBatchPlan:
    return MixedBatchPlan(
        names=asked.names,
        listed=planned.get(None),
        open=found,
        ranges={name: planned[name] for name in asked.ranges},
        shares=shares,
    )


def _part(offer: Price, share: Fraction, delta_share: Fraction) -> dict[str, Any]:
    """A share of a price: of delta the same share, or, at a price in rho, which needs it for keys alone, another."""
    if offer.rho is None:
        return {"epsilon": offer.epsilon * share, "delta": offer.delta * share}
    return {"rho": offer.rho * share, "delta": offer.delta * delta_share}


def _weights(asked: MixedBatchQuery, weights: object) -> dict[Name, Fraction]:
    found = weights_of_tables(asked.names, weights)
    if max(found.values()) > LARGEST_RATIO * min(found.values()):
        cure = "leave the question out that matters so little."
        raise InvalidParameter(
            expected(f"weights that differ by at most {LARGEST_RATIO:,} times", "weights", weights, cure)
        )
    return found


def _shares(asked: MixedBatchQuery, weights: Mapping[Name, Fraction], root: int) -> dict[str | None, Fraction]:
    """The part of the price that each part has: the listed tables that of all of them."""
    largest = max(weights.values())
    roots = {
        name: Fraction(float(weight / largest) ** (1 / root)).limit_denominator(FINEST_SHARE)
        for name, weight in weights.items()
    }
    whole = sum(roots.values())
    found: dict[str | None, Fraction] = {name: roots[name] / whole for name in asked.open if name in roots}
    for part, query in asked.planned.items():
        found[part] = sum((roots[name] for name in query.names), start=Fraction(0)) / whole
    return found

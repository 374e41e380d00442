"""The composition theorems of the textbook, as functions.

Claim
    Each function returns a guarantee that its theorem promises for the stated releases: in sequence, on parts of the
    data, after post-processing, for groups, and under advanced and optimal composition.
Requires
    That the releases have the stated guarantees, chosen adaptively or not, with parameters fixed in advance.
Relies on
    Exact fractions; `composed_profile` through `privacy_loss` for the optimal theorems.
Proof
    *Parallel*, add-remove: a unit is in at most G parts, so the others see no change; the sum of the G largest charges.
    Replace-one: the unit may leave G parts and enter G others: 2G. *Group*: a chain of g neighbors gives g epsilon and
    delta (1 + e^epsilon + ... + e^((g-1) epsilon)). *Optimal*: the worst mechanism of a given (epsilon, delta) is
    randomized response that reveals all with probability delta, for equal and for different parameters alike; its
    composition is the product of the pairs.
Rounding
    Up; sums of fractions are exact.
Source
    Dwork and Roth (2014), Theorems 3.16 and 3.20, Proposition 2.1; McSherry (2009): parallel; Vadhan (2017), Lemma 2.2:
    groups; Kairouz, Oh and Viswanath (2017), Theorem 3.3; Murtagh and Vadhan (2016): different parameters.
Mutant
    replace-one-as-add-remove: a replaced unit is counted in G parts; killed by test_parallel.
    linear-advanced: advanced composition forgets k epsilon (e^epsilon - 1); killed by test_advanced_is_the_reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.accounting.conversions import Amount
from discreet.accounting.event_losses import approximate_loss, composed
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, delta_or_zero, positive, proper_delta
from discreet.exact.bisection import float_down, float_up
from discreet.privacy.definitions import Guarantee, Neighbors

ROUNDING = 2.0**-48


def guarantee(epsilon: Amount, delta: Amount = 0) -> Guarantee:
    """A checked guarantee: epsilon above 0, delta in [0, 1).

    >>> guarantee(0.1, 1e-9)
    Guarantee(epsilon=0.1, delta=0.000000001)
    """
    return Guarantee(epsilon=positive("epsilon", epsilon), delta=delta_or_zero(delta))


def sequential_composition(charges: Iterable[Guarantee]) -> Guarantee:
    """All releases on the same data: the sums.

    >>> sequential_composition([guarantee(0.1), guarantee(0.2, 1e-9)])
    Guarantee(epsilon=0.3, delta=0.000000001)
    """
    return sum(_guarantees(charges), start=Guarantee(epsilon=Fraction(0)))


def parallel_composition(charges: Sequence[Guarantee], *, parts_per_unit: int, neighbors: Neighbors) -> Guarantee:
    """Releases on parts of the data: the sum of the most expensive parts that one change can touch.

    >>> parallel_composition([guarantee(0.1), guarantee(0.3)], parts_per_unit=1, neighbors=Neighbors.REPLACE_ONE)
    Guarantee(epsilon=0.4)
    """
    cure = "state in how many parts one unit can be; 1 where that is enforced."
    parts = at_least_one("parts_per_unit", parts_per_unit, cure)
    if not isinstance(neighbors, Neighbors):
        cure = "write Neighbors.ADD_REMOVE or Neighbors.REPLACE_ONE."
        raise InvalidParameter(expected("a kind of neighbors", "neighbors", neighbors, cure))
    stated = _guarantees(charges)
    touched = parts if neighbors is Neighbors.ADD_REMOVE else 2 * parts
    epsilons = sorted((charge.epsilon for charge in stated), reverse=True)[:touched]
    deltas = sorted((charge.delta for charge in stated), reverse=True)[:touched]
    return Guarantee(epsilon=sum(epsilons, start=Fraction(0)), delta=sum(deltas, start=Fraction(0)))


def group_privacy(charge: Guarantee, size: int) -> Guarantee:
    """What the guarantee means for `size` units that change together.

    >>> group_privacy(guarantee(0.1), 5)
    Guarantee(epsilon=0.5)
    """
    units = at_least_one("size", size, "state how many units change together.")
    if not charge.delta or units == 1:
        return Guarantee(epsilon=units * charge.epsilon, delta=charge.delta)
    if units * charge.epsilon > 700:
        return Guarantee(epsilon=units * charge.epsilon, delta=Fraction(1))
    if not (each := float_up(charge.epsilon)):
        return Guarantee(epsilon=charge.epsilon, delta=min(units * charge.delta, Fraction(1)))
    times = Fraction(math.expm1(units * each) / math.expm1(each) * (1.0 + ROUNDING * (1.0 + units * each)))
    return Guarantee(epsilon=units * charge.epsilon, delta=min(charge.delta * times, Fraction(1)))


def advanced_composition(epsilon: Amount, times: int, delta: Amount) -> float:
    """Advanced composition of Dwork, Rothblum and Vadhan: the epsilon of so many epsilon-DP releases at `delta`.

    >>> round(advanced_composition(0.1, 100, 1e-6), 3)
    6.308
    """
    each, number = float_up(positive("epsilon", epsilon)), at_least_one("times", times)
    small = float_down(proper_delta(delta))
    growth = math.expm1(each) if each < 700.0 else math.inf
    found = each * math.sqrt(2.0 * number * -math.log(small)) + number * each * growth
    return found * (1.0 + ROUNDING)


def optimal_composition(charges: Sequence[Guarantee], delta: Amount) -> float:
    """The least epsilon that holds for every set of releases with these guarantees, at `delta`, rounded up.

    >>> 0.593950 < optimal_composition([guarantee(0.1), guarantee(0.2), guarantee(0.3)], 1e-3) < 0.593952
    True
    """
    if not charges:
        raise InvalidParameter(expected("at least one charge", "charges", charges, "list what was released."))
    losses = (approximate_loss(one.epsilon, one.delta) for one in _guarantees(charges))
    return composed(losses).epsilon(proper_delta(delta))


def optimal_homogeneous_composition(epsilon: Amount, times: int, delta: Amount) -> float:
    """The same for so many epsilon-DP releases: Theorem 3.3 of Kairouz, Oh and Viswanath.

    >>> round(optimal_homogeneous_composition(0.1, 100, 1e-6), 3)
    4.775
    """
    return (at_least_one("times", times) * approximate_loss(epsilon, 0)).epsilon(proper_delta(delta))


def _guarantees(charges: Iterable[Guarantee]) -> list[Guarantee]:
    """`charges`, each a guarantee."""
    result = list(charges)
    if wrong := [one for one in result if not isinstance(one, Guarantee)]:
        raise InvalidParameter(
            expected("guarantees", "charges", wrong[0], "write guarantee(0.1), guarantee(0.1, 1e-9).")
        )
    return result

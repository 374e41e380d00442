"""The probability that any of many losses is infinite.

Claim
    `infinite_loss_probability` returns two fractions that enclose 1 - prod (1 - infinite_i)^count_i: the lower one
    without the parts of `infinite` that were only cut off from a table, the upper one with them. They are equal, and
    exact, where nothing was cut off and no fraction was too long.
Requires
    Pairs with 0 <= cut, 0 <= infinite <= 1; whole counts above zero.
Relies on
    Exact fractions; `short_up` and `short_down` for their length.
Proof
    Independent losses are all finite with the product of the probabilities, which grows with each factor; factors lie
    in [0, 1], so rounding one up never lowers the product. Equal factors are counted together.
Rounding
    The lower end down, the upper end up, at `PLACES` decimal places, where a denominator is longer.
Source
    Ours.
Mutant
    cut-is-certain: the lower end trusts mass that was only cut off; killed by test_what_was_cut_off_may_be_finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.accounting.dominating_pairs import DominatingPair
from discreet.exact.amounts import short_down, short_up


def infinite_loss_probability(parts: Sequence[tuple[DominatingPair, int]]) -> tuple[Fraction, Fraction]:
    """Bounds below and above the probability that any loss is infinite.

    The lower one leaves out what was only cut off. Both are the same fraction where nothing was cut off and no fraction
    was too long (`short_up`).
    """
    masses: dict[tuple[Fraction, Fraction], int] = {}
    for pair, count in parts:
        if pair.infinite:
            key = pair.infinite, pair.cut
            masses[key] = masses.get(key, 0) + count
    none, fewest = Fraction(1), Fraction(1)
    for (infinite, cut), count in masses.items():
        none = short_up(none * _power(1 - max(infinite - cut, Fraction(0)), count, short_up))
        fewest = short_down(fewest * _power(1 - infinite, count, short_down))
    return 1 - none, 1 - fewest


def _power(base: Fraction, times: int, short: Callable[[Fraction], Fraction]) -> Fraction:
    """base ** times, shortened as it grows."""
    power, square = Fraction(1), base
    while times:
        power = short(power * square) if times & 1 else power
        times >>= 1
        square = short(square * square) if times else square
    return power

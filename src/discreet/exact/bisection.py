"""Thresholds of monotone conditions, returned on the side where the condition holds.

Not left to SciPy, whose root finders return a point on either side.

Claim
    `least` and `greatest` return a float at which `holds` itself answered yes; and another one, nearer to the wanted
    side by at most `relative` of itself, answered no (or was the end of the range). `least_whole` does so for whole
    numbers, next to each other. `first_power` returns a number at which `holds` answered yes. `falling` returns a float
    at which its function was found to be at most 0, or infinity. `float_up` and `float_down` return the float next to a
    fraction, never below and never above it.
Requires
    `holds` answers for every float between the two ends, and yes at the end that is the safe one. That it is monotone
    is needed for the result to be the threshold, not for `holds` to be true of it.
Relies on
    Exact comparison of floats with fractions (Python); `math.nextafter`.
Proof
    The safe end is asked before the search begins; each step replaces an end by a point strictly between both, the
    safe end only by a point that answered yes, the other only by one that answered no. The safe end is returned. Every
    step halves the distance (in logarithms where the ends are far apart), and a search among floats ends after `STEPS`
    of them in any case, so it cannot hang.
Rounding
    Toward the side where `holds` is true.
Source
    Bisection.
Mutant
    unsafe-side: the end where the condition failed is returned; killed by test_the_condition_holds_at_the_result.
    whole-number-below: the whole number before the least is returned; killed by test_the_least_whole_number_is_found.
    nearest-float-passes: a fraction is rounded to the nearest float; killed by test_floats_next_to_a_fraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import LEAST_FLOAT

Number = TypeVar("Number", float, Fraction)

STEPS = 400
"""Enough to get from the whole range of floats to two neighbors."""

RELATIVE = 2.0**-46

SECANTS = 40
SETTLED = 2.0**-36
"""A search by secants ends at steps below this part of the result."""


def float_up(amount: Fraction) -> float:
    """The least float that is not below `amount`.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    try:
        nearest = float(amount)
    except OverflowError:
        return math.inf if amount > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if nearest >= amount else math.nextafter(nearest, math.inf)


def float_down(amount: Fraction) -> float:
    """The greatest float that is not above `amount`."""
    return -float_up(-amount)


def least(holds: Callable[[float], bool], low: float, high: float, *, relative: float = RELATIVE) -> float:
    """A float at which `holds`, at most `relative` above one at which it does not; `holds` must be true at `high`.

    >>> least(lambda x: x * x >= 2.0, 0.0, 2.0) ** 2 >= 2.0
    True
    """
    return _border(holds, low, high, relative)


def greatest(holds: Callable[[float], bool], low: float, high: float, *, relative: float = RELATIVE) -> float:
    """A float at which `holds`, at most `relative` below one at which it does not; `holds` must be true at `low`."""
    return _border(holds, high, low, relative)


def least_whole(holds: Callable[[int], bool], above: int, first: int) -> int:
    """The least whole number over `above` at which `holds`; those tried are `first`, its doubles, then between them.

    `holds` must be true from some number on, and `first` above 0 unless it is true there.

    >>> least_whole(lambda n: n * n >= 50, 0, 1)
    8
    """
    low, high = above, first
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def first_power(holds: Callable[[Number], bool], start: Number, factor: Number) -> Number:
    """The first of start, start * factor, start * factor^2, ... at which `holds`, which must be true of one of them.

    >>> first_power(lambda x: x > 10.0, 1.0, 2.0)
    16.0
    """
    while not holds(start):
        start *= factor
    return start


def falling(excess: Callable[[float], float], start: float, *, slope: float) -> float:
    """A float at which a smooth falling `excess` is at most 0, found from `start` by secants, then by small steps
    outward.

    `slope`, below 0, is a guess at its derivative. Where no such float is found, infinity.

    >>> -1e-9 < falling(lambda x: 1.0 - x, 0.0, slope=-3.0) - 1.0 < 1e-9
    True
    """
    place, value = start, excess(start)
    over, under = -math.inf, math.inf  # excess above 0 was seen at `over`, at most 0 at `under`
    for _ in range(SECANTS):
        over, under = (max(over, place), under) if value > 0.0 else (over, min(under, place))
        following = place - value / slope
        if not over < following < under:
            following = (over + under) / 2.0
        close = abs(following - place) <= SETTLED * abs(place)
        if close or not math.isfinite(following):
            break
        before, at = value, place
        place, value = following, excess(following)
        if math.isfinite(before) and math.isfinite(value) and (value - before) * (place - at) < 0.0:
            slope = (value - before) / (place - at)
    step = SETTLED * max(abs(place), abs(under) if math.isfinite(under) else 0.0) or SETTLED  # never none
    for _ in range(STEPS):
        if value <= 0.0:
            return place
        if place >= under or math.isinf(place):
            break
        place, step = min(place + step, under), 2.0 * step
        value = excess(place)
    return under


def _border(holds: Callable[[float], bool], outside: float, inside: float, relative: float) -> float:
    """The point next to `outside` at which `holds`, found from `inside`."""
    if not holds(inside):
        cure = "widen the range of the search."
        raise InvalidParameter(expected("a range with a point that satisfies the condition", "end", inside, cure))
    for _ in range(STEPS):
        middle = _between(outside, inside)
        if middle in (outside, inside) or abs(outside - inside) <= relative * abs(inside):
            break
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside


def _between(one: float, other: float) -> float:
    """A float between two: their geometric mean where they differ much, otherwise their mean."""
    small, large = sorted((one, other))
    if small >= 0.0 and large > 4.0 * small:
        return math.sqrt(max(small, large * 2.0**-60, LEAST_FLOAT)) * math.sqrt(large)
    return small + (large - small) / 2.0

"""Which part of the price goes to the first looks that find limits and bounds.

Claim
    `parts` gives positive fractions, less than 1 in all, that are a function of the question, of what was stated and of
    the public number of units.
Requires
    A `size` that was declared, where neighbors replace one unit: it is public there, and nowhere else.
Relies on
    `planning.auto_bounds.filled_threshold`.
Proof
    By reading. A stated part lies between 0 and `MOST`. Otherwise it is a twentieth for each limit and a tenth for
    bounds, or with a public number of units the first of some larger ones at which half of the units, in four bins next
    to each other, would show; the usual one, where they would at none. `planning.open_question_plan` divides the
    price by them.
Rounding
    None.
Source
    discreet's own; `benchmarks/clipping.py` compares it. Google's approximate bounds take half of epsilon, always.
Mutant
    few-units-are-many: the part does not grow for few units; killed by
    test_few_units_whose_number_is_public_have_a_larger_first_look.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.planning.auto_bounds import COUNTS, SIZES, filled_threshold

LIMIT_PART = Fraction(1, 20)
"""Of epsilon or rho, for each limit that is to be chosen."""
BOUNDS_PART = Fraction(1, 10)
"""Of epsilon or rho, for all bounds together."""
LARGER = (Fraction(1, 5), Fraction(3, 10), Fraction(2, 5), Fraction(1, 2))
MOST = Fraction(9, 10)
TOGETHER = 4
NOTHING_TO_FIND = (
    "Expected a limit or bounds that are to be found, got first_look without any.\n"
    "Hint: leave first_look out; keys are found with half of epsilon."
)


def stated_part(part: object) -> Fraction | None:
    """The part of the price for the first looks, as a caller states it; none where nobody does.

    >>> stated_part(0.3), stated_part(None)
    (Fraction(3, 10), None)
    """
    if part is None:
        return None
    found = fraction("first_look", part)
    if not 0 < found <= MOST:
        cure = "write first_look=0.5 for half of epsilon; leave it out for a tenth for bounds, a twentieth for a limit."
        raise InvalidParameter(expected("a part of the price above 0 and of at most 0.9", "first_look", part, cure))
    return found


def parts(
    limits: int, values: int, stated: Fraction | None, units: int | None, scale: Fraction
) -> tuple[Fraction, Fraction]:
    """The part for each limit, and that for all bounds; `scale` is that of noise which all of the price would buy."""
    usual = LIMIT_PART * limits + (BOUNDS_PART if values else 0)
    if not usual:
        if stated is not None:
            raise InvalidQuery(NOTHING_TO_FIND)
        return LIMIT_PART, BOUNDS_PART
    whole = stated or usual
    if stated is None and units is not None:
        bins, each = (2 * SIZES + 1, BOUNDS_PART / values) if values else (COUNTS, LIMIT_PART)
        shown = (
            part for part in (usual, *LARGER) if part >= usual and _shows(units, scale / (each * part / usual), bins)
        )
        whole = next(shown, usual)  # where nothing would show at any, nothing is paid for it
    return LIMIT_PART * whole / usual, BOUNDS_PART * whole / usual


def _shows(units: int, scale: Fraction, bins: int) -> bool:
    """Whether half of the units would show in four bins."""
    return filled_threshold(scale, bins, TOGETHER) <= units / 2

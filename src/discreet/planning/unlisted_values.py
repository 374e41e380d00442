"""How many different values a column has that nobody listed, as a column of an answer: its mechanism and its price.

Claim
    The mechanisms of `price_values` are together (sum of parts) * epsilon-differentially private for the declared
    neighbors, whatever values a unit has, and however many. With its confidence, the lower end of the column is no more
    than the number of values that occur.
Requires
    For each, the counts that `sensitivity.capped_matching` makes of the pairs of `engines.unit_value_pairs`.
Relies on
    `sensitivity.capped_matching`: adding a unit raises each count by 0 to its limit, replacing one moves it by at most
    that either way, and none is above the number of values. `mechanisms.contribution_limit_selection`. Sequential
    composition.
Proof
    The pairs are the distinct ones of a unit and a value that is not NULL, each by its place among those that occur, so
    that the number of values that can be assigned under a limit is that of the units and values themselves. A condition
    on rows is one on pairs: who fulfills it with no row of a value does not have it.
    *Rows as units.* A row has one value, so under a limit of 1 all values are counted, each by a row of its own. One
    unit is m rows, and m steps move that number by at most m, all one way where rows are added.
    *Limits.* They are public: those stated; or powers of two up to the number of rows with which a unit counts, which
    was declared or follows from what made the table, or else up to `MOST`. For rows as units it is 1.
    *Lower end.* The margin is kept for the count that was chosen, which is no more than the number of values. An end
    below 0 is raised to 0, and the number of values is not below that either. There is no upper end: values that only
    units with many others have are not counted.
    *Groups.* None: a unit that is in many groups would move the count of each by its limit, and the noise be as many
    times as large. Weighting it down, as sums are, has no meaning for a value that is counted once or not.
Rounding
    None.
Source
    Knop and Steinke, "Counting distinct elements under person-level differential privacy" (NeurIPS 2023).
Mutant
    replaced-counts-as-added: where units are replaced, counts are taken to move one way; killed by
    test_what_the_noise_is_for.
    rows-of-a-unit-forgotten: a unit in two united tables of rows moves the count by one; killed by
    test_what_the_noise_is_for.
    values-at-the-whole-price: each number of values has all of epsilon; killed by test_parts_add_up_to_the_price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.language.checked_expressions import Value
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.planning.aggregates import AT_LEAST, Aggregate
from discreet.planning.noise_laws import Price
from discreet.planning.plan import Column, PricedValues, Query
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Neighbors

MOST = 4096
"""The largest limit that is tried: a few more would cost next to nothing, and hide next to nobody."""


def tried_limits(rows: int | None) -> list[int]:
    """The limits among which one is chosen, up to the number of rows with which a unit counts, where it is known.

    >>> tried_limits(12), len(tried_limits(None))
    ([1, 2, 4, 8, 12], 13)
    """
    most = MOST if rows is None else min(MOST, rows)
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def assignment_noise(declared: Declaration, limits: Sequence[int], epsilon: object) -> CountsUnderLimits:
    """What chooses a limit, and adds noise to its count, for the declared neighbors."""
    return CountsUnderLimits(
        limits=limits,
        epsilon=epsilon,
        units=declared.rows_changed,
        both_ways=declared.neighbors is not Neighbors.ADD_REMOVE,
    )


def _asked(query: Query) -> list[tuple[Aggregate, Value]]:
    return [(a, a.value) for a in query.aggregates if a.statistic is AT_LEAST and a.value is not None]


def value_weights(query: Query, stated: Mapping[str, float]) -> list[float]:
    """How much of epsilon each number of values asks for, beside 1 for a linear block of weight 1."""
    return [stated[a.name] ** (1 / 3) for a, _ in _asked(query)]


def price_values(query: Query, parts: Sequence[Fraction], offer: Price) -> tuple[list[PricedValues], dict[str, Column]]:
    """The priced numbers of values, given their parts of a price, and the columns by name."""
    found, columns = list[PricedValues](), dict[str, Column]()
    limits = [1] if query.by_row else tried_limits(_rows_of_a_unit(query))
    for part, (a, value) in zip(parts, _asked(query), strict=True):
        noise = assignment_noise(query.declaration, limits, offer.part(part).epsilon)
        columns[a.name] = Column(aggregate=a, blocks=(), values=len(found))
        found.append(PricedValues(value=value, where=a.where, noise=noise, share=part))
    return found, columns


def _rows_of_a_unit(query: Query) -> int | None:
    """How many rows of a unit there are, or count, at most; None where nobody said."""
    known = (query.most_rows, query.declaration.max_rows, query.limits.max_rows)
    return min((most for most in known if most is not None), default=None)

"""Counts and sums of the same rows with one mechanism: noise of the shape of what a row adds to all of them.

Claim
    The mechanism of `joined` is private at its epsilon for the totals of the blocks that it is made for, where
    `has_joint_totals` holds.
Requires
    Blocks of counts of rows and sums, one total each, whose totals an engine computes as their plan says.
Relies on
    `mechanisms.joint_totals`; the lattice, whose integers are clipped to its ends.
Proof
    Each row is a unit, and neighbors differ by one row, which is in one group. It adds its steps to a count of all
    rows, those or 0 to a count of some, and to a sum an integer between the ends of its lattice, 0 among them. What it
    adds to all totals together lies in the product of these intervals, which is the hull of its corners.
Rounding
    None: integers.
Source
    Awan and Slavkovic, "Structure and sensitivity in differential privacy" (2021).
Mutant
    sums-of-one-sign: a row is taken to add nothing below 0 to a sum; killed by test_rows_are_within_the_body.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.mechanisms.joint_totals import JointTotals
from discreet.planning import forms
from discreet.planning.plan import PricedBlock, Query

MOST_TOTALS = 4
MOST_GROUPS = 10**5
"""Noise for more of them may be added where the totals are, total by total."""
LEAST_GAIN = 0.7
"""One mechanism for all totals is taken from this part of the error of other noise on. A count and a sum are taken from
two totals without it, and little is gained.
"""


def has_joint_totals(query: Query) -> bool:
    """Whether one row, in one group, is all that neighbors differ in, and counts of rows and sums all that is asked."""
    return (
        query.by_row
        and query.units_changed == 1
        and query.public_size is None
        and query.cells <= MOST_GROUPS
        and all(a.statistic.form in (forms.COUNT, forms.SUM) and not a.statistic.ranked for a in query.aggregates)
        and all(a.statistic.form is forms.COUNT or a.value is not None for a in query.aggregates)
    )


def joined(blocks: Sequence[PricedBlock], epsilon: Fraction) -> tuple[JointTotals, list[PricedBlock]]:
    """One mechanism for all blocks, and the blocks with their noise."""
    corners = tuple(itertools.product(*map(_ends, blocks)))
    made = JointTotals(contributions=corners, epsilon=epsilon)
    return made, [replace(block, part=part) for block, part in zip(blocks, made.parts(), strict=True)]


def _ends(block: PricedBlock) -> tuple[int, ...]:
    """What one row adds to a total, at least and at most."""
    if block.block.form is forms.COUNT:
        return (block.steps,) if block.block.where is None else (0, block.steps)
    return block.lattice.ends

"""Counts and sums of the same rows with one mechanism: noise of the shape of what a row adds to all of them.

Claim
    The mechanism of `joined` is private at its epsilon for the totals of the blocks that it is made for, where
    `has_joint_totals` holds.
Requires
    Blocks of counts of rows and sums, one total each, whose totals an engine computes as their plan says; of a unit in
    more groups than it may count in, an entry of a sum that is nearer to zero by `rounding_slack` of it.
Relies on
    `mechanisms.joint_totals`; the lattice, whose integers are clipped to its ends; `engines.contribution_weights`.
Proof
    *One row* adds its steps to a count of all rows, those or 0 to a count of some, and to a sum an integer between the
    ends of its lattice, 0 among them. What it adds to all totals together lies in the product P of these intervals,
    which is the hull of its corners. With K the hull of P and -P, its K-norm is 1 at most.
    *Rows that are units* each add such a vector to one group: n of them have norms that sum to n at most, over all
    groups. A replaced one is one less and one more.
    *A unit in one group* has n rows, of which m = min(n, k) count. It adds m steps to the count of all, 0 to m steps to
    a count of some, and a sum between m times its ends: a vector in m P, of norm m <= k at most.
    *In g > G groups* all is scaled by G/g, and rounded toward zero. Where nothing counts all rows, P is a box that
    holds 0, in which rounding toward zero keeps a vector of m G/g P. Where something does, with steps of S, it has
    c = floor(m S G/g) > m S G/g - 1. A count of some has the same steps and at most m rows, so c at most. A sum of end
    h is at most m h G/g < (c + 1) h/S before it comes nearer to zero by ceil(h/S), and c h/S at most after that: a
    vector in c/S P. Norms are m G/g at most, and over g groups k G together. In G groups or fewer nothing is scaled.
    Corners are multiplied by how many rows there are at most, which divides norms by it.
Rounding
    None: integers.
Source
    Awan and Slavkovic, "Structure and sensitivity in differential privacy" (2021).
Mutant
    sums-of-one-sign: a row is taken to add nothing below 0 to a sum; killed by test_rows_are_within_the_body.
    one-row-of-a-person: a unit is taken to have one row; killed by test_persons_are_within_the_body.
    no-room-for-rounding: a sum that is scaled by its unit's groups may be beyond what its count allows; killed by
    test_what_is_rounded_is_within_the_body.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.mechanisms.joint_totals import JointTotals
from discreet.planning import forms
from discreet.planning.plan import Plan, PricedBlock, Query
from discreet.sensitivity.contributions import sensitivity

MOST_TOTALS = 4
MOST_GROUPS = 10**5
"""Noise for more of them may be added where the totals are, total by total."""
LEAST_GAIN = 0.7
"""One mechanism for all totals is taken from this part of the error of other noise on. A count and a sum are taken from
two totals without it, and little is gained.
"""


def has_joint_totals(query: Query) -> bool:
    """Whether counts of rows and sums are all that is asked, in few groups."""
    return (
        query.public_size is None
        and query.cells <= MOST_GROUPS
        and all(a.statistic.form in (forms.COUNT, forms.SUM) and not a.statistic.apart for a in query.aggregates)
        and all(a.statistic.form is forms.COUNT or a.value is not None for a in query.aggregates)
    )


def joined(query: Query, blocks: Sequence[PricedBlock], epsilon: Fraction) -> tuple[JointTotals, list[PricedBlock]]:
    """One mechanism for all blocks, and the blocks with their noise."""
    rows = int(sensitivity(1, query.effective, query.declaration.neighbors))
    corners = tuple(itertools.product(*([rows * end for end in _ends(block)] for block in blocks)))
    made = JointTotals(contributions=corners, epsilon=epsilon)
    return made, [replace(block, part=part) for block, part in zip(blocks, made.parts(), strict=True)]


def rounding_slack(plan: Plan, block: PricedBlock) -> int:
    """By how much a sum comes nearer to zero where its unit is scaled down by its groups."""
    whole = [b.steps for b in plan.blocks if plan.joint and b.block.form is forms.COUNT and b.block.where is None]
    return -(-block.steps // whole[0]) if whole else 0


def _ends(block: PricedBlock) -> tuple[int, ...]:
    """What one row adds to a total, at least and at most."""
    if block.block.form is forms.COUNT:
        return (block.steps,) if block.block.where is None else (0, block.steps)
    return block.lattice.ends

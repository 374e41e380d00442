"""Counts and sums as scores: exact totals of which nothing is shown, and how far one unit moves two of them apart.

Claim
    For neighbors D and D', the scores of `ExactScores` satisfy max_c (s'_c - s_c) - min_c (s'_c - s_c) <= `spread`.
Requires
    Counts of rows and sums alone, with limits that are stated; an engine that computes the totals as their plan says.
Relies on
    `engines.exact_totals`: of a unit each total has an integer between the ends of its lattice, 0 among them, times the
    rows with which the unit may count.
Proof
    Let the change of the scores be v, and its width max_c v_c - min_c v_c. What one unit has in the scores, v_c, lies
    between low_c and high_c, its ends times the rows with which it may count, in the units of the values. Adding or
    removing it changes them by v or -v, of a width of at most W = max_c high_c - min_c low_c. The width of a sum is at
    most the sum of the widths, and a neighbor is `units_changed` such steps away: two where one replaces another, and
    as many for each row where rows are units and neighbors differ in several. A value of an integer column stands for
    itself; one of a real column for the nearest step of its lattice, whichever table it is in.
Rounding
    Of real values, to the nearest of 2^40 steps or so; then none: fractions.
Source
    Dong, Durfee, Rogers, Optimal Differential Privacy Composition for Exponential Mechanisms (ICML 2020): the range of
    the change of scores in place of twice the largest one.
Mutant
    scores-move-alone: the spread is that of the widest score; killed by
    test_no_unit_moves_two_scores_further_apart_than_claimed.
    scores-replaced-once: a unit that is replaced moves them as one that is added; killed by
    test_no_unit_moves_two_scores_further_apart_than_claimed.
    scores-without-limits: a unit counts with one row, whatever its limit; killed by
    test_no_unit_moves_two_scores_further_apart_than_claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.laplace import Laplace
from discreet.planning.column_lattice import MOST_BITS, bits_for
from discreet.planning.forms import Block
from discreet.planning.measurements import gather_apart
from discreet.planning.plan import Plan, PricedBlock, Query
from discreet.planning.planner import lattice_of, own_limits
from discreet.privacy.definitions import Guarantee


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactScores:
    """The totals that are scores of candidates, one total for each score that differs from the others."""

    plan: Plan
    """What an engine computes; no noise of it is drawn."""
    places: tuple[int, ...]
    """For each candidate, the block of its score."""
    spread: Fraction
    """The most by which one unit moves two scores apart."""

    def of(self, totals: list[NDArray[Any]]) -> NDArray[Any]:
        """The score of each candidate, exact, from the totals of the blocks."""
        scores = [int(own[0, 0]) * unit_of(block) for own, block in zip(totals, self.plan.blocks, strict=True)]
        made = np.empty(len(self.places), dtype=object)
        made[:] = [scores[place] for place in self.places]
        return made


def exact_scores_of(query: Query, charge: Guarantee) -> ExactScores:
    """The scores that the aggregates of an ungrouped question are."""
    blocks, columns = gather_apart(query)
    priced = tuple(_unpriced(query, block) for block in blocks)
    ends = [_ends(query, block) for block in priced]
    width = max(high for _, high in ends) - min(low for low, _ in ends)
    plan = Plan(query=query, limits=query.effective, blocks=priced, columns=(), charge=charge)
    return ExactScores(
        plan=plan, places=tuple(column.blocks[0] for column in columns), spread=width * query.units_changed
    )


def unit_of(block: PricedBlock) -> Fraction:
    """What 1 in a total stands for, in rows or in the units of the values."""
    return block.lattice.step / block.lattice.fine


def _unpriced(query: Query, block: Block) -> PricedBlock:
    """A block with the finest lattice that its limits leave; its noise is there for the form's sake."""
    own = own_limits(query, block)
    bits = bits_for(own.max_groups * own.max_rows, Fraction(0))
    lattice = lattice_of(query, block, min(bits, MOST_BITS))
    return PricedBlock(
        block=block,
        lattice=lattice,
        steps=lattice.steps,
        sensitivity=Fraction(lattice.steps * own.max_rows),
        share=Fraction(1),
        noise=Laplace(sensitivity=1, epsilon=1),
    )


def _ends(query: Query, block: PricedBlock) -> tuple[Fraction, Fraction]:
    """What one unit adds to a score, at least and at most."""
    rows = 1 if query.by_row else own_limits(query, block.block).max_rows
    most = rows * unit_of(block)
    low, high = block.lattice.ends
    return low * most, high * most

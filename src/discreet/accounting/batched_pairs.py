"""Pairs of one kind, prepared for evaluation at any number of frequencies.

Claim
    `Stack.log_moments(z)` is the sum of counts times log E_P[e^(zL); L finite] that `DominatingPair.log_moments` of its
    kind promises, within the same errors.
Requires
    Pairs of that kind alone; whole counts above zero.
Relies on
    `table_log_moments` for short tables; `pairwise_summation.gathered`.
Proof
    Short tables of one size lie in one array, a row for each, which is made once; rows are treated in blocks whose sums
    are gathered, as `Atoms.log_moments` does it. All else is left to the kind.
Rounding
    That of `dominating_pairs`: a term passes the additions of its block and those over the blocks.
Source
    Ours.
Mutant
    rows-keep-their-place: a thinned stack has the counts of some pairs and the tables of others; killed by
        test_stacks_are_their_pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.dominating_pairs import Atoms, Complexes, DominatingPair, Reals
from discreet.accounting.pairwise_summation import gathered
from discreet.accounting.table_log_moments import SHORT, rows_at_once, tabulated


@dataclass(frozen=True, slots=True)
class Stack:
    """The pairs of one kind, and how often each is used."""

    kind: type[DominatingPair]
    pairs: tuple[DominatingPair, ...]
    counts: Reals
    columns: tuple[Reals, Reals] | None
    """Losses and masses of short tables of one size, one row for each."""

    @classmethod
    def of(cls, kind: type[DominatingPair], parts: Sequence[tuple[DominatingPair, int]]) -> Stack:
        """All of one kind, ordered by how far they reach so that a spread of them is a fair sample."""
        mine = sorted(((pair, count) for pair, count in parts if type(pair) is kind), key=lambda part: part[0].reach)
        tables = [pair for pair, _ in mine if isinstance(pair, Atoms)]
        alike = {table.size for table in tables}
        short = len(alike) == 1 and 0 < max(alike) <= SHORT
        columns = (np.stack([t.losses for t in tables]), np.stack([t.first for t in tables])) if short else None
        return cls(kind, tuple(pair for pair, _ in mine), np.array([float(count) for _, count in mine]), columns)

    def log_moments(self, z: Complexes) -> Complexes:
        """Their part of log M(z)."""
        if self.columns is None:
            return self.kind.log_moments(self.pairs, self.counts, z)
        losses, first = self.columns
        step = rows_at_once(losses.shape[1], z)
        places = (slice(start, start + step) for start in range(0, len(losses), step))
        return gathered((tabulated(losses[at], first[at], self.counts[at], z) for at in places), np.zeros_like(z))

    def thinned(self, number: int) -> Stack:
        """So many of them, spread evenly."""
        places = np.unique(np.linspace(0, len(self.pairs) - 1, number).astype(int))
        columns = (self.columns[0][places], self.columns[1][places]) if self.columns else None
        return Stack(self.kind, tuple(self.pairs[i] for i in places), self.counts[places], columns)

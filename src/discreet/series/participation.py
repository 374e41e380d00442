"""In how many steps of a series one unit counts, and how far that moves what is measured at all steps together.

Claim
    Let one unit add v_s to what is counted in step s, v_s = 0 but in `steps` of the steps, any two of them `apart` or
    more; no v_s is longer than 1, in L2 norm. Then A v, for a matrix A with a column for each step, has a squared L2
    norm of at most `squared(A^T A)`; for v_s no longer than 1 in L1 norm it has an L1 norm of at most `absolute` of the
    L1 norms of the columns. `absolute` is attained always, by v_s that are all 1; `squared` for one step, and for A^T A
    without negative entries that fall with the distance of their places where the places that are best for its second
    bound are as near to each other as they may be.
Requires
    Limits that were enforced on what one unit adds. Entries of A^T A below 2**38, which is checked.
Relies on
    Nothing further.
Proof
    |A v|^2 is the sum over pairs s, t in S of G_st <v_s, v_t>, G = A^T A, which is at most the sum of |G_st|; S has
    `steps` places, `apart` or more between two. Two bounds of that sum are found, and the smaller one is taken.
    *By partners.* For each s, the sum over t in S is at most r_s: |G_ss| and the largest sum of |G_st| over so many
    places but one, none of them nearer to s than `apart`. The sum of r_s over S is at most the largest over all such S.
    Both maxima run over sets of places with gaps, one row after another: `_spaced` finds them exactly, the best of the
    first j places with m of them being that without j, or j and the best of those up to j - apart with m - 1. For one
    step r_s is G_ss, and the largest is attained.
    *By ranks.* Let s be the i-th of k places. The d-th place before it is at s - d `apart` or before, and |G_st| there
    at most the largest of its row up to that place; so the sum over t in S is at most f_i(s), |G_ss| and these largest
    entries for d < i before it and d <= k - i behind it. The sum of f_i(s_i) over places with gaps is largest where
    `_by_ranks` finds it, rank after rank; fewer places than k are the last ranks, with more before them than they have.
    Where entries fall with the distance, f_i is attained by places that are as near to each other as they may be.
    *In L1 norm*, |A v| is at most the sum over S of |A_s|, with equality where nothing cancels.
Rounding
    None: integers of at most 2**62, since there are at most 2**24 pairs of 4,096 steps.
Source
    Choquette-Choo, McMahan, Rush and Thakurta, "Multi-epoch matrix factorization mechanisms for private machine
    learning" (2023); Choquette-Choo et al., "(Amplified) banded matrix factorization" (2023), for steps apart.
Mutant
    steps-do-not-add-up: the pairs of different steps are left out; killed by
    test_no_unit_moves_the_measurements_further.
    ranks-of-one-side: what comes behind a place is left out; killed by test_no_unit_moves_the_measurements_further.
    one-gap-too-few: steps may be nearer to each other by one than is stated, in the way that counts for less; killed by
    test_gaps_are_exact.
    sums-that-wrap: products of any size are added up; killed by test_products_that_could_wrap_are_refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one

Integers = NDArray[np.int64]

MOST = 4096
LARGEST = 2**38


@dataclass(frozen=True, slots=True)
class Participation:
    """A unit counts in at most so many steps, of which any two are so far apart.

    >>> Participation(steps=30).squared(np.eye(365, dtype=np.int64))
    30
    """

    steps: int = 1
    apart: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "apart"):
            if at_least_one(name, getattr(self, name)) > MOST:
                cure = f"state {MOST:,} or less."
                raise InvalidParameter(expected(f"{name} of at most {MOST:,}", name, getattr(self, name), cure))

    def within(self, number: int) -> int:
        """In how many of so many steps a unit counts at most."""
        return min(self.steps, -(-number // self.apart))

    def squared(self, gram: Integers, *, ranked: bool = True) -> int:
        """The square of the L2 norm by which one unit moves what is measured, at most; `gram` is A^T A.

        Without `ranked`, by partners alone, as series of before were priced.
        """
        sizes = np.abs(gram)
        if sizes.max(initial=0) >= LARGEST or sizes.min(initial=0) < 0:  # the least integer has no size of its own
            cure = "measure with smaller integers: 2**16 in the longest column is enough."
            raise InvalidParameter(expected("products of columns below 2**38", "gram", "larger ones", cure))
        own = np.diag(sizes).copy()
        most = self.within(len(sizes)) - 1
        if not most:
            return int(own.max())
        by_ranks = self._by_ranks(sizes, most + 1) if ranked else None
        places = np.arange(len(sizes))
        sizes[np.abs(places[:, None] - places[None, :]) < self.apart] = 0
        by_partners = int(self._spaced((own + self._spaced(sizes, most))[None, :], most + 1)[0])
        return by_partners if by_ranks is None else min(by_ranks, by_partners)

    def absolute(self, norms: Integers) -> int:
        """The L1 norm by which one unit moves what is measured; `norms` are those of the columns of A."""
        return int(self._spaced(np.asarray(norms)[None, :], self.within(len(norms)))[0])

    def _by_ranks(self, sizes: Integers, most: int) -> int:
        """What the pairs of so many places add up to at most, each place bounded by which of them it is."""
        number = len(sizes)
        up_to = np.maximum.accumulate(sizes, axis=1)
        from_on = np.maximum.accumulate(sizes[:, ::-1], axis=1)[:, ::-1]
        before, behind = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
        for rank in range(1, most):
            gap = rank * self.apart
            behind[: max(0, number - gap)] += np.diagonal(from_on, gap)
        best, places = np.zeros(number + 1, dtype=np.int64), np.arange(number)
        for rank in range(most):
            if rank:
                gap, last = rank * self.apart, (most - rank) * self.apart
                before[gap:] += np.diagonal(up_to, -gap)
                behind[: max(0, number - last)] -= np.diagonal(from_on, last)
            held = np.diag(sizes) + before + behind + best[np.maximum(0, places + 1 - self.apart)]
            best[1:] = np.maximum.accumulate(held)
        return int(best[-1])

    def _spaced(self, rows: Integers, most: int) -> Integers:
        """For each row of numbers of 0 or more the largest sum of so many of them, any two of them apart enough."""
        number = rows.shape[1]
        if self.apart == 1:
            return np.asarray(np.sort(rows, axis=1)[:, max(0, number - most) :].sum(axis=1), dtype=np.int64)
        best = np.zeros((number + 1, len(rows)), dtype=np.int64)
        for _ in range(most):
            after = np.zeros_like(best)
            for place in range(number):
                before = best[max(0, place + 1 - self.apart)]
                after[place + 1] = np.maximum(after[place], before + rows[:, place])
            best = after
        return np.asarray(best[-1], dtype=np.int64)

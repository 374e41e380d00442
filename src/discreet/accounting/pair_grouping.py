"""Groups losses that are nearly the same, so that they are counted together.

Claim
    The product of the pairs in `Nearby.below` is dominated by the product of the given ones, and that of the pairs in
    `Nearby.above` dominates it: at each epsilon their deltas lie on both sides of the wanted one.
Requires
    What `dominating_pairs` requires.
Relies on
    Of a pair with a larger epsilon of the same kind: that it dominates. The product of dominating pairs dominates the
    product of what they dominate (Zhu, Dong and Wang 2022, Theorem 10).
Proof
    *Laplace*: a smaller shift is a post-processing of a larger one. *BoundedRange*: the pair is the worst of all whose
    log-ratios span at most epsilon, and these are among those that span more. Each pair of a group has an epsilon from
    the least to the largest of the group. Counts are whole numbers and are added up exactly; all other pairs are kept.
Rounding
    None: both ends of a group are epsilons of members.
Source
    Ours.
Mutant
    nearby-rounds-down: a group has its least epsilon on both sides; killed by test_nearby_losses_are_enclosed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from discreet.accounting.dominating_pairs import BoundedRange, DominatingPair, LaplacePair

MOST_KINDS = 1 << 14
"""Different epsilons of one kind that are told apart: enough for a thousandth, whatever their range."""

Parts = list[tuple[DominatingPair, int]]
Kind = type[LaplacePair] | type[BoundedRange]


class Nearby(NamedTuple):
    """Fewer pairs on both sides of many."""

    below: Parts
    above: Parts

    @classmethod
    def of(cls, parts: Parts) -> Nearby | None:
        """Those pairs of a kind that are nearly the same together; none where they are few."""
        result = cls([], [])
        kinds: dict[type[DominatingPair], dict[float, int]] = {
            LaplacePair: defaultdict(int),
            BoundedRange: defaultdict(int),
        }
        for pair, count in parts:
            if isinstance(pair, LaplacePair | BoundedRange):
                kinds[type(pair)][pair.epsilon] += count
            else:
                result.below.append((pair, count))
                result.above.append((pair, count))
        if all(len(counts) <= MOST_KINDS for counts in kinds.values()):
            return None
        for kind, counts in ((LaplacePair, kinds[LaplacePair]), (BoundedRange, kinds[BoundedRange])):
            for low, high, count in _groups(counts):
                result.below.append((kind(low), count))
                result.above.append((kind(high), count))
        return result


def _groups(counts: dict[float, int]) -> Iterable[tuple[float, float, int]]:
    """The least and the largest of each group, and their number: epsilons within one step on a logarithmic scale."""
    if not counts:
        return
    start = math.log(min(counts))
    step = max((math.log(max(counts)) - start) / (MOST_KINDS - 1), 2.0**-40)
    groups: dict[int, list[float]] = defaultdict(list)
    for epsilon in counts:
        groups[int((math.log(epsilon) - start) / step)].append(epsilon)
    for members in groups.values():
        yield min(members), max(members), sum(counts[epsilon] for epsilon in members)

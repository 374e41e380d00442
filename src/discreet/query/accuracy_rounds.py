"""Rounds of ever less noise, up to a cap, until an answer is as good as was asked for.

Claim
    `Rounds.met` depends on noisy totals and public facts alone. If it holds, and all intervals of the round hold what
    they are of, each named column is off by at most its target: in its own units, or, relative, as a part of the exact
    answer. With the stated confidence, each interval holds in all rounds at once.
Requires
    The noisy totals of each round; `inference.estimate`.
Relies on
    `inference.estimate`: intervals hold with their confidence, for each round on its own.
Proof
    Let the exact answer t and the estimate v lie in [l, h]. Then |v - t| <= max(v - l, h - v), which is at most the
    target; relative, it is at most the target times min(|l|, |h|) with l and h of one sign, and |t| is no less than
    that minimum. Each of k rounds misses with probability at most (1 - c) / k, so that at any round, whatever it was
    chosen by, a miss has probability 1 - c at most.
Rounding
    That of the intervals.
Source
    Ligett, Neel, Roth, Waggoner and Wu, "Accuracy first" (2017).
Mutant
    relative-to-the-far-end: the error is compared with the end that is farther from zero; killed by
    test_relative_targets_look_at_the_near_end.
    rounds-with-stairs: a round has staircase noise, of which nothing can be taken away; killed by
    test_rounds_have_laplace_noise_at_any_cap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import decimal_text, positive
from discreet.inference.estimate import estimates
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noise_reduction import Refinement
from discreet.planning.noise_laws import width_of
from discreet.planning.plan import Plan, Query
from discreet.planning.planner import price
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import composed
from discreet.query.epsilon_for_accuracy import targets_of
from discreet.query.explain import error_of

ROUNDS = 12
"""The first costs the cap over 86; one that has to go on pays at most half as much again for the next."""
STEP = Fraction(3, 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """A question with its plan in each round, the cheapest first; the totals and their lattice are the same in all."""

    plans: tuple[Plan, ...]
    targets: Mapping[str, Fraction]
    relative: bool
    confidence: float

    @property
    def most(self) -> Plan:
        """The last round: what the cap pays for."""
        return self.plans[-1]

    @property
    def mechanisms(self) -> tuple[Refinement, ...]:
        """For each block of totals, the mechanism that draws all of its rounds."""
        return tuple(
            Refinement(
                sensitivity=block.sensitivity, scales=tuple(width_of(plan.blocks[i].noise) for plan in self.plans)
            )
            for i, block in enumerate(self.most.blocks)
        )

    def explain(self) -> list[dict[str, Any]]:
        """What each round would have cost in all, and half the width of the intervals of its named columns."""
        level = 1 - (1 - self.confidence) / len(self.plans)
        return [
            {
                "round": number,
                "epsilon": decimal_text(plan.charge.epsilon, digits=4),
                "plus_minus": {
                    c.aggregate.name: str(error_of(plan, c, level))
                    for c in plan.columns
                    if c.aggregate.name in self.targets
                },
            }
            for number, plan in enumerate(self.plans, start=1)
        ]

    def met(self, number: int, totals: Sequence[NDArray[Any]]) -> bool:
        """Whether the noisy totals of a round (the first is 0) are good enough in all cells."""
        found = estimates(self.plans[number], totals, self.confidence)
        return all(
            self._within(*(found[name].values, found[name].low, found[name].high), name) for name in self.targets
        )

    def _within(self, values: NDArray[Any], low: NDArray[Any], high: NDArray[Any], name: str) -> bool:
        off, target = np.maximum(values - low, high - values), float(self.targets[name])
        if not self.relative:
            return bool((off <= target).all())
        near = np.where(np.sign(low) == np.sign(high), np.minimum(np.abs(low), np.abs(high)), 0)
        return bool(((off <= target * near) & (near > 0)).all())


def rounds_of(
    query: Query,
    within: object,
    *,
    up_to: object,
    relative: bool,
    confidence: float,
    weights: Mapping[str, object] | None = None,
) -> Rounds:
    """The rounds up to a cap in epsilon; reads and spends nothing."""
    targets = targets_of(query, within)
    if not isinstance(relative, bool):
        cure = "relative=True for targets that are parts of the answer."
        raise InvalidParameter(expected("True or False", "relative", relative, cure))
    cap = positive("up_to", up_to)
    last = price(query, epsilon=cap, weights=weights, stairs=False)
    if last.ranks or last.values:
        name = next(a.name for a in query.aggregates if a.statistic.apart)
        raise InvalidQuery(
            f"Expected counts, sums, means or variances in rounds, got {name!r}, which has a mechanism of its own.\n"
            "Hint: ask for quantiles, ends and numbers of unlisted values by epsilon, in a question of their own."
        )
    plans = tuple(_at(last, STEP**-n) for n in reversed(range(ROUNDS)))
    return Rounds(plans=plans, targets=targets, relative=relative, confidence=confidence)


def _at(plan: Plan, part: Fraction) -> Plan:
    """The plan on the same lattice for a part of its epsilon."""
    blocks = tuple(
        replace(block, noise=Laplace(sensitivity=block.sensitivity, epsilon=block.noise.epsilon * part))
        for block in plan.blocks
        if isinstance(block.noise, Laplace)
    )
    return replace(
        plan,
        blocks=blocks,
        charge=Guarantee(epsilon=plan.charge.epsilon * part),
        event=composed(*(block.noise.event for block in blocks)),
        rounds=ROUNDS,
    )

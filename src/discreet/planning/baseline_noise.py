"""The noise of one group of an answer, were a unit in one group with one row: what limits and bounds multiply."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.planning.noise_laws import Law
from discreet.planning.plan import Plan


def baseline_noise(plan: Plan, epsilon: Fraction) -> float:
    """The standard deviation of the noise in a total of amounts up to 1, with limits of 1: the mean of all totals.

    Where several totals share the price, each has as much more noise, while a limit takes from each what it takes from
    one. A plan without totals, of quantiles alone, has that of one total at `epsilon`.
    """
    noise = 1.0 if plan.law is Law.GAUSSIAN else 2**0.5
    if not plan.blocks:
        return noise / float(epsilon)
    each = math.fsum(block.scale for block in plan.blocks) / len(plan.blocks)
    if plan.query.by_row:
        return noise * each / plan.query.declaration.rows_changed
    groups = plan.limits.max_groups**0.5 if plan.law is Law.GAUSSIAN else plan.limits.max_groups
    return noise * each / (plan.limits.max_rows * groups)

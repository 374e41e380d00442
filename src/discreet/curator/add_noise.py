"""Noise for the totals of a plan: added here, or, where there are many groups, beside the rows if the engine can."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Engine
from discreet.engines.unit_value_pairs import UNIT, VALUE, pairs_of
from discreet.mechanisms.distributed_noise import DistributedNoise
from discreet.noise.entropy import RandomWords
from discreet.planning.plan import Plan
from discreet.sensitivity.capped_matching import assigned

MOST_HERE = 10**6
"""The totals of more groups than this stay where they are until they have noise."""

SECRET_WORDS = 4
"""32 bytes."""


def distributed_noise_of(plan: Plan, words: RandomWords) -> DistributedNoise:
    """The noise of one release, under a secret of its own."""
    return DistributedNoise(words(SECRET_WORDS).tobytes(), tuple(block.noise for block in plan.blocks))


def noisy_totals_of(engine: Engine, plan: Plan, statement: str, words: RandomWords) -> list[NDArray[Any]]:
    """For each block its noisy totals, of shape (groups, components). The charge must have been booked."""
    if plan.query.cells > MOST_HERE and plan.blocks and plan.joint is None:
        noisy = engine.noisy_totals(plan, statement, distributed_noise_of(plan, words).add_noise)
        if noisy is not None:
            return noisy
    return with_noise(plan, engine.totals(plan, statement), words)


def with_noise(plan: Plan, exact: list[NDArray[Any]], words: RandomWords) -> list[NDArray[Any]]:
    """For each block its exact totals with the noise of the plan: of each block, or of all together."""
    if plan.joint is not None:
        together = plan.joint.add_noise(np.concatenate(exact, axis=1), words)
        return [together[:, [place]] for place in range(together.shape[1])]
    return [block.noise.add_noise(totals, words) for block, totals in zip(plan.blocks, exact, strict=True)]


def chosen_quantiles(engine: Engine, plan: Plan, words: RandomWords) -> list[NDArray[Any]]:
    """For each block of ranks the values that its mechanism chose. The charge must have been booked."""
    masses = engine.histograms(plan)
    return [one.cuts.made(mass, plan.query.cells, words) for one, mass in zip(plan.ranks, masses, strict=True)]


def value_statements(engine: Engine, plan: Plan) -> list[str]:
    """The SQL of the pairs of units and values that a plan counts."""
    return [engine.compiled(pairs_of(plan.query, one)) for one in plan.values]


def counted_values(engine: Engine, plan: Plan, words: RandomWords) -> list[NDArray[Any]]:
    """For each number of values the place of the limit that its mechanism chose, and the noisy number, of shape (1, 2).
    The charge must have been booked.
    """
    found = list[NDArray[Any]]()
    for one, statement in zip(plan.values, value_statements(engine, plan), strict=True):
        pairs = engine.run_statement(plan.query.declaration, statement)
        units, values = (np.asarray(pairs[name].to_numpy(), dtype=np.int64) for name in (UNIT, VALUE))
        chosen = one.noise.release(assigned(units, values, one.noise.limits), words=words)
        found.append(np.array([[chosen.place, chosen.noisy]], dtype=object))
    return found

"""Noise for the totals of a plan: added here, or, where there are many groups, beside the rows if the engine can."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from discreet.engines.engine import Engine
from discreet.mechanisms.scattered import Scattered
from discreet.noise.entropy import Words
from discreet.query.plan import Plan

MOST_HERE = 10**6
"""The totals of more groups than this stay where they are until they have noise."""

SECRET_WORDS = 4
"""32 bytes."""


def scattered(plan: Plan, words: Words) -> Scattered:
    """The noise of one release, under a secret of its own."""
    return Scattered(words(SECRET_WORDS).tobytes(), tuple(block.noise for block in plan.blocks))


def blurred_totals(engine: Engine, plan: Plan, statement: str, words: Words) -> list[NDArray[Any]]:
    """For each block its noisy totals, of shape (groups, components). The charge must have been booked."""
    if plan.query.cells > MOST_HERE and plan.blocks:
        noisy = engine.blurred(plan, statement, scattered(plan, words).blurred)
        if noisy is not None:
            return noisy
    exact = engine.totals(plan, statement)
    return [block.noise.blurred(totals, words) for block, totals in zip(plan.blocks, exact, strict=True)]


def blurred_ranks(engine: Engine, plan: Plan, words: Words) -> list[NDArray[Any]]:
    """For each block of ranks the values that its mechanism chose. The charge must have been booked."""
    masses = engine.histograms(plan)
    return [one.cuts.made(mass, plan.query.cells, words) for one, mass in zip(plan.ranks, masses, strict=True)]

"""How levels of a path and series are attacked: neighbors of their counts, and a question on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.mechanisms.gaussian import Gaussian
from discreet.query.table import PrivateTable
from discreet.series.noisy_stream import NoisyStream
from discreet.series.participation import Participation
from discreet.series.step_windows import StepWindows
from discreet.series.stream_strategy import StreamStrategy
from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.hierarchy_release import LevelNoise

TREE = Hierarchy.of([0, 0], [0, 0, 1])


def _released(shares: list[int] | None) -> Callable[[float], Callable[[Any], Any]]:
    def noisy(epsilon: float) -> Callable[[Any], Any]:
        noise = LevelNoise.of(TREE, epsilon=epsilon, shares=shares)
        return lambda counts: [float(one) for level in noise.release(counts).values for one in level]

    return noisy


def levels(attack: Callable[..., Any]) -> list[Any]:
    """Of counts of which one unit changes one leaf; `attack` makes one."""
    ways: dict[str, list[int] | None] = {"one leaf": None, "one leaf, and the top": [1, 0, 1]}
    stated: dict[str, Any] = {"first": [1, 0, 0], "second": [0, 0, 0], "tight": False, "cost": 4}
    return [
        attack(mechanism="LevelNoise", words=words, make=_released(shares), **stated) for words, shares in ways.items()
    ]


DELTA = 1e-3
STEPS = StreamStrategy.best(StepWindows.of(5, (1, 3, "all")), Participation(2))


def _published(epsilon: float) -> Callable[[Any], Any]:
    rho = Gaussian(sensitivity=1, epsilon=epsilon, delta=DELTA).rho

    def noisy(counts: Any) -> list[int]:
        stream = NoisyStream(STEPS, rho=rho)
        for end in (2, 5):
            stream.publish(counts[:end])
        return [number for row in stream.published for number in row]

    return noisy


def steps(attack: Callable[..., Any]) -> list[Any]:
    """Of counts of which one unit changes two steps, published in two parts."""
    stated: dict[str, Any] = {"second": [0, 0, 0, 0, 0], "delta": DELTA, "tight": False, "cost": 10}
    ways = {"neighboring steps": [0, 0, 1, 1, 0], "the first and the last": [1, 0, 0, 0, 1]}
    return [
        attack(mechanism="NoisyStream", words=words, make=_published, first=first, **stated)
        for words, first in ways.items()
    ]


def all_levels(table: PrivateTable) -> Any:
    """An answer on two levels."""
    keys = dp.public_keys(pa.table({"plan": ["a", "b", None]}))
    question = table.hierarchy(["plan"], keys=keys).agg(a=lambda t: t.count(), b=lambda t: t.cost.sum())
    return question.release(epsilon=1)


def all_steps(table: PrivateTable) -> Any:
    """A series of five steps, published in two parts."""
    series = table.filter(table.cost > -9).series(
        by="age", start=0, every=22, until=109, windows=(1, 3, "all"), max_steps=2
    )
    asked = series.group_by("plan").agg(a=lambda t: t.count(), b=lambda t: t.cost.mean())
    asked.release(through=43, epsilon=1, delta=1e-7)
    return asked.release(through=109)

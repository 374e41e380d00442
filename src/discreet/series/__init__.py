"""Numbers that go on step by step, such as day by day: what to measure, and the verb over a protected table.

Objects that work on arrays, without tables and budgets; each states its error beside the least there can be.

- `StepWindows`: what is wanted at each step: the step itself, sums of the last 7 or 28, the total so far.
- `Participation`: in how many steps one unit may count, and how far apart these are.
- `StreamStrategy`: what to measure at each step, from what came before it alone, with Gaussian noise.
- `OpenEndedStrategy`: the same for a series whose end nobody knows.
- `NoisyStream`: noisy whole numbers that go on, step by step, and the estimates from them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.series.noisy_stream import NoisyStream as NoisyStream
    from discreet.series.open_ended_strategy import OpenEndedStrategy as OpenEndedStrategy
    from discreet.series.participation import Participation as Participation
    from discreet.series.step_windows import StepWindows as StepWindows
    from discreet.series.stream_strategy import StreamStrategy as StreamStrategy

_HOMES = {
    "NoisyStream": "discreet.series.noisy_stream",
    "OpenEndedStrategy": "discreet.series.open_ended_strategy",
    "Participation": "discreet.series.participation",
    "StepWindows": "discreet.series.step_windows",
    "StreamStrategy": "discreet.series.stream_strategy",
}
"""Where each name lives; loaded when it is first used (PEP 562)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.series' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value

"""Numbers that go on step by step, such as day by day: what to measure, and the verb over a protected table.

Objects that work on arrays, without tables and budgets; each states its error beside the least there can be.

- `StepWindows`: what is wanted at each step: the step itself, sums of the last 7 or 28, the total so far.
- `Participation`: in how many steps one unit may count, and how far apart these are.
- `StreamStrategy`: what to measure at each step, from what came before it alone, with Gaussian noise.
- `OpenEndedStrategy`: the same for a series whose end nobody knows.
- `NoisyStream`: noisy whole numbers that go on, step by step, and the estimates from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.public_names import loading

if TYPE_CHECKING:
    from discreet.series.noisy_stream import NoisyStream as NoisyStream
    from discreet.series.open_ended_strategy import OpenEndedStrategy as OpenEndedStrategy
    from discreet.series.participation import Participation as Participation
    from discreet.series.step_windows import StepWindows as StepWindows
    from discreet.series.stream_strategy import StreamStrategy as StreamStrategy

_NAMES = {
    "discreet.series.noisy_stream": ("NoisyStream",),
    "discreet.series.open_ended_strategy": ("OpenEndedStrategy",),
    "discreet.series.participation": ("Participation",),
    "discreet.series.step_windows": ("StepWindows",),
    "discreet.series.stream_strategy": ("StreamStrategy",),
}
"""The names of each module; loaded when they are first used."""

__getattr__, __dir__, __all__ = loading(__name__, _NAMES)

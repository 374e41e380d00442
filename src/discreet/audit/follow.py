"""Finds the line where something already noisy meets the rows again, as in ``noisy_total / len(rows)``.

Three runs are traced: on a table, on its neighbor with the same chance, and on the table with other chance. The first
variable that differs between the first two, and between the first and the third, is made of both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from discreet.audit.places import Place, is_foreign

LARGEST = 1000
Step = tuple[Place, int]
"""A line, and the how-manieth time it ran."""


class Trace:
    """The values that each line of the user's code made, as text."""

    def __init__(self) -> None:
        self.made: dict[Step, dict[str, str]] = {}
        self._times: dict[Place, int] = {}
        self._before: dict[FrameType, tuple[Place, dict[str, str]]] = {}

    @contextmanager
    def on(self) -> Iterator[None]:
        """Traces this thread."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        del event, arg
        if is_foreign(frame.f_code.co_filename):
            return None
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        values = {name: small(value) for name, value in dict(frame.f_locals).items() if not name.startswith("__")}
        if frame in self._before:
            place, old = self._before[frame]
            changed = {name: text for name, text in values.items() if old.get(name) != text}
            if event == "return":
                changed["return"] = small(arg)
            if changed:
                times = self._times[place] = self._times.get(place, 0) + 1
                self.made[place, times] = changed
        if event == "return":
            self._before.pop(frame, None)
        else:
            self._before[frame] = Place(frame.f_code.co_filename, frame.f_lineno), values
        return self._step


def small(value: Any) -> str:
    """The text of a value that could be an answer; of anything large only its type."""
    if isinstance(value, bool | int | float | str | np.generic) or value is None:
        return repr(value)[:LARGEST]
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= LARGEST else type(value).__name__
    if isinstance(value, list | tuple):
        return repr([small(one) for one in value]) if len(value) <= LARGEST else type(value).__name__
    if isinstance(value, dict):
        return repr({repr(key): small(one) for key, one in value.items()}) if len(value) <= LARGEST else "dict"
    if type(value).__module__.startswith("pandas") and getattr(value, "size", LARGEST + 1) <= LARGEST:
        return repr(getattr(value, "to_dict", lambda: value)())
    return type(value).__name__


def meeting(first: Trace, second: Trace, other_chance: Trace) -> Place | None:
    """The first line that made something of both noise and rows."""
    for step, changed in first.made.items():
        on_neighbor, with_others = second.made.get(step), other_chance.made.get(step)
        if on_neighbor is None or with_others is None:
            continue
        for name, text in changed.items():
            if text not in (on_neighbor.get(name, text), with_others.get(name, text)):
                return step[0]
    return None

"""Traces what each line of the user's code made in a run, which way it went, and what it gave to discreet.

Runs are traced only after something was found, to name the line where it came about: `fault_origins` compares the
traces.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from discreet.audit.code_locations import PACKAGE, Place, at, is_foreign
from discreet.audit.recording import CallRecorder, Diverged
from discreet.guesses.misfit_calls import with_usage_hint

LARGEST = 1000
FORWARDS = with_usage_hint.__code__.co_filename
"""Calls go through it to the functions that they name, and are given nothing there."""
LONGEST = 200_000
"""Steps of a run that are kept."""
QUESTIONS = tuple(str(Path(PACKAGE, room)) for room in ("curator", "query", "statements"))
"""Rooms whose functions are given public facts, beside tables."""
TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch")
Step = tuple[Place, int]
"""A line, and the how-manieth time it ran."""


@dataclass(frozen=True, slots=True)
class TracedValue:
    """What can be compared of a value: what it holds, as text, and how many entries, if it holds entries."""

    text: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Argument:
    """A fact given to discreet, by the line and the name that it was given by."""

    place: Place
    function: str
    name: str
    value: TracedValue


@cache
def is_discreet(file: str) -> bool:
    """Whether a file is of the rooms that are given public facts."""
    return file.startswith(QUESTIONS)


class Trace:
    """What each line of the user's code made, until more than so many calls of chance, or facts given, were met."""

    def __init__(self, until: int | None = None, facts: int | None = None) -> None:
        self.made: dict[Step, dict[str, str]] = {}
        self.last: dict[tuple[Place, str], tuple[TracedValue, int]] = {}
        """What a line made last, by name, and how often it did."""
        self.path: list[tuple[Step, int]] = []
        """The lines in the order in which they ran, each with the number of its frame."""
        self.parents: dict[int, int] = {}
        self.arguments: list[Argument] = []
        self._until, self._facts = until, facts
        self._recorder: CallRecorder | None = None
        self._ended = False
        self._runs: dict[Place, int] = {}
        self._times: dict[Place, int] = {}
        self._frames: dict[FrameType, int] = {}
        self._before: dict[FrameType, tuple[Place, dict[str, str]]] = {}

    @contextmanager
    def on(self, recorder: CallRecorder) -> Iterator[None]:
        """Traces this thread."""
        before, self._recorder = sys.gettrace(), recorder
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)
            self._frames.clear()
            self._before.clear()

    @property
    def _is_over(self) -> bool:
        past = self._recorder is not None and self._until is not None and len(self._recorder.calls) > self._until
        given = self._facts is not None and len(self.arguments) > self._facts
        return self._ended or past or given or len(self.path) >= LONGEST

    def _called(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        del event, arg
        file = frame.f_code.co_filename
        if is_discreet(file):
            self._asked(frame)
        if is_foreign(file):
            if self._is_over:
                sys.settrace(None)  # what comes is not looked at, and need not be slow
            return None
        number = self._frames[frame] = len(self.parents) + 1
        parent = frame.f_back
        while parent is not None and parent not in self._frames:
            parent = parent.f_back
        self.parents[number] = self._frames[parent] if parent is not None else 0
        return self._step

    def _asked(self, frame: FrameType) -> None:
        """Keeps what the user's code gives to a function of discreet."""
        if frame.f_code.co_filename == FORWARDS:
            return
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename == FORWARDS:
            caller = caller.f_back
        if caller is None or is_foreign(caller.f_code.co_filename) or self._is_over:
            return
        place, function = at(caller.f_code.co_filename, caller.f_lineno), frame.f_code.co_name
        for name, given in dict(frame.f_locals).items():
            if name not in {"self", "data"}:
                held = given if name in {"kwargs", "facts", "stated"} and isinstance(given, Mapping) else {name: given}
                self.arguments += [
                    Argument(place, function, str(key), value) for key, one in held.items() for value in leaves(one)
                ]

    def _step(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "exception" and isinstance(arg[0], type) and issubclass(arg[0], Diverged):
            self._ended = True
        if self._is_over:
            return self._step
        if event == "line":
            here = at(frame.f_code.co_filename, frame.f_lineno)
            self._runs[here] = self._runs.get(here, 0) + 1
            self.path.append(((here, self._runs[here]), self._frames.get(frame, 0)))
        self._compared(frame, event, arg)
        return self._step

    def _compared(self, frame: FrameType, event: str, arg: Any) -> None:
        """Ascribes what has changed among a frame's variables to the line that ran last in it."""
        held = {name: value for name, value in dict(frame.f_locals).items() if not name.startswith(("__", "."))}
        values = {name: small(value) for name, value in held.items()}
        if frame in self._before:
            place, old = self._before[frame]
            changed = {name: text for name, text in values.items() if old.get(name) != text}
            for name in changed:
                times = self.last.get((place, name), (None, 0))[1]
                self.last[place, name] = content(held[name]), times + 1
            if event == "return":
                changed["return"] = small(arg)
            if changed:
                times = self._times[place] = self._times.get(place, 0) + 1
                self.made[place, times] = changed
        if event == "return":
            self._before.pop(frame, None)
            self._frames.pop(frame, None)
        else:
            self._before[frame] = at(frame.f_code.co_filename, frame.f_lineno), values


def small(value: Any) -> str:
    """The text of a value that could be an answer; of anything large only its type, and how long it is."""
    if isinstance(value, bool | int | float | str | np.generic) or value is None:
        return repr(value)[:LARGEST]
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= LARGEST else type(value).__name__
    if isinstance(value, list | tuple):
        return repr([small(one) for one in value]) if len(value) <= LARGEST else type(value).__name__
    if isinstance(value, dict):
        return repr({repr(key): small(one) for key, one in value.items()}) if len(value) <= LARGEST else "dict"
    size = getattr(value, "size", None) if type(value).__module__.startswith("pandas") else None
    if isinstance(size, int) and size <= LARGEST:
        return repr(getattr(value, "to_dict", lambda: value)())
    return type(value).__name__


def count(value: Any) -> int | None:
    """How many entries a list, a set, a column or a grouping has; none of what is no such thing, as a table.

    >>> count({"a", "b"}), count("ab"), count(np.zeros((2, 2)))
    (2, None, None)
    """
    kind = type(value)
    if kind.__name__.endswith("GroupBy"):
        return getattr(value, "ngroups", None)
    if isinstance(value, list | tuple | dict | set | frozenset):
        return len(value)
    others = kind.__module__.split(".")[0] in {"numpy", "pandas", "polars", "pyarrow"}
    is_column = others and kind.__name__ not in TABLES and getattr(value, "ndim", 1) == 1 and hasattr(value, "__len__")
    return len(value) if is_column else None


def content(value: Any) -> TracedValue:
    """What a value holds, the same for a list, an array and a column of the same entries.

    >>> content(np.array([1, 2])) == content([1, 2.0]), content(600.0).text
    (True, '600')
    """
    size = count(value)
    if size is None or isinstance(value, dict):
        return TracedValue(_entry(value), size)
    if size > LARGEST or type(value).__name__.endswith("GroupBy"):
        return TracedValue(type(value).__name__, size)
    entries = value.tolist() if hasattr(value, "tolist") else list(value)
    texts = sorted(map(_entry, entries)) if isinstance(value, set | frozenset) else list(map(_entry, entries))
    return TracedValue(f"[{', '.join(texts)}]"[:LARGEST], size)


def _entry(value: Any) -> str:
    """A number by its amount, whatever its type; anything else as `small` has it."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < float("inf"):
        return str(Fraction(number))
    return small(number)


def leaves(value: Any) -> Iterator[TracedValue]:
    """What is given, taken apart: the entries of dicts and of pairs, down to lists and numbers; no table."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, tuple) and len(value) == 2:
        for one in value:
            yield from leaves(one)
    elif type(value).__name__ not in TABLES:
        yield content(value)

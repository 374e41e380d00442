"""Records the random draws of a run, and replays them for the same run on other rows."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from discreet.audit.code_locations import Place, user_place


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """What telling two inputs of one call apart costs: pure loss or the mu of Gaussian noise, and delta beside it."""

    epsilon: float = 0.0
    mu: float = 0.0
    delta: float = 0.0


class InputMetric(Protocol):
    """What a mechanism promises of two inputs."""

    @property
    def declared(self) -> float | None:
        """How far apart they may be, if that was stated."""

    def distance(self, first: Any, second: Any) -> float:
        """How far apart they are; infinite where no distance holds."""

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """What the two cost, by the noise that was really asked for."""


class FreeMetric:
    """What costs nothing: it is public, or it was paid for elsewhere."""

    declared = None

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """Nothing."""
        del first, second
        return RecordedCost()


@dataclass(frozen=True, kw_only=True)
class Call:
    """One use of chance by the pipeline."""

    name: str
    place: Place
    value: Any
    """The input: what must not be seen."""
    stated: Mapping[str, str]
    """Parameters, which must not depend on rows."""
    metric: InputMetric
    output: Any = None
    after: Mapping[str, Any] = field(default_factory=dict)
    """What the mechanism remembers after the call, for those that remember."""

    @property
    def asked(self) -> tuple[object, ...]:
        """What must be the same for an answer to fit: who asked, where, and for how many numbers."""
        return self.name, self.place, self.shape, self.stated.get("size")

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the input."""
        return tuple(np.shape(self.value))


class Diverged(BaseException):  # a pipeline's own "except Exception" must not swallow it
    """The run asked for something else than the recorded one at the same point, so nothing can be given to it."""

    def __init__(self, recorded: Call | None, met: Call | None) -> None:
        super().__init__("another call than the recorded one")
        self.recorded = recorded
        self.met = met


class CallRecorder:
    """The calls of one run: recorded, or, where `recorded` has those of an earlier run, answered as then."""

    def __init__(self, recorded: Sequence[Call] | None = None) -> None:
        self.calls: list[Call] = []
        self.seeded: list[Place] = []
        """Where noise came out of a generator with a seed."""
        self.reused: list[Place] = []
        """Where one draw of noise blurred a second value."""
        self._recorded = recorded
        self._local = threading.local()
        self._lock = threading.Lock()

    def answer(self, call: Call, draw: Callable[[], Any], owner: object = None) -> Any:
        """The answer to a call: drawn, or the recorded one."""
        with self._lock:
            if self._recorded is None:
                with self.inside():
                    output = draw()
                after: Mapping[str, Any] = state(owner)
            else:
                output, after = self._answered(call)
                for name, value in after.items():
                    setattr(owner, name, value)
            done = Call(
                name=call.name, place=call.place, value=copy.deepcopy(call.value), stated=call.stated,
                metric=call.metric, output=copied(output), after=after,
            )  # fmt: skip
            self.calls.append(done)
            return output

    def _answered(self, call: Call) -> tuple[Any, Mapping[str, Any]]:
        position = len(self.calls)
        known = self._recorded[position] if self._recorded and position < len(self._recorded) else None
        if known is None or known.asked != call.asked:
            raise Diverged(known, call)
        return copied(known.output), known.after

    def finish(self) -> None:
        """Sees that the run made all recorded calls."""
        if self._recorded is not None and len(self.calls) < len(self._recorded):
            raise Diverged(self._recorded[len(self.calls)], None)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Ignores the calls that a mechanism makes to others."""
        self._local.inside = True
        try:
            yield
        finally:
            self._local.inside = False

    @property
    def is_inside(self) -> bool:
        """Whether a mechanism is running in this thread."""
        return getattr(self._local, "inside", False)


def copied(output: Any) -> Any:
    """A copy of an output, which the pipeline may change without changing the recording."""
    return output if isinstance(output, int | float | bool | str | None) else copy.deepcopy(output)


def state(owner: object) -> dict[str, Any]:
    """The public attributes of a mechanism with state; none for a frozen one."""
    names = [name for kind in type(owner).__mro__ for name in getattr(kind, "__slots__", ())]
    if owner is None or getattr(type(owner), "__dataclass_params__", None) is not None:
        return {}
    return {name: getattr(owner, name) for name in names if not name.startswith("_") and isinstance(name, str)}


def here() -> Place:
    """The line of the user's code that made the call."""
    return user_place(2)

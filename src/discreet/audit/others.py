"""Watches the mechanisms of two other libraries, where they are installed: diffprivlib and OpenDP."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.audit.judges import l1
from discreet.audit.tape import Call, Cost, Tape, here


@dataclass(frozen=True)
class Stated:
    """A mechanism with attributes epsilon and sensitivity, as those of diffprivlib have."""

    mechanism: Any

    norm = "L1"

    @property
    def declared(self) -> float | None:
        """Its sensitivity."""
        stated = getattr(self.mechanism, "sensitivity", None)
        return None if stated is None else float(stated)

    def apart(self, first: Any, second: Any) -> float:
        """L1."""
        return l1(first, second)

    def cost(self, first: Any, second: Any) -> Cost:
        """Its epsilon, in proportion to the distance."""
        distance, allowed = self.apart(first, second), self.declared
        if not distance:
            return Cost()
        if allowed is None:
            return Cost(epsilon=float(self.mechanism.epsilon))
        return Cost(epsilon=float(self.mechanism.epsilon) * distance / allowed if allowed else float("inf"))


@dataclass(frozen=True)
class Mapped:
    """A measurement of OpenDP, whose map says what a distance costs."""

    measurement: Any

    norm = "L1"
    declared = None

    def apart(self, first: Any, second: Any) -> float:
        """L1."""
        return l1(first, second)

    def cost(self, first: Any, second: Any) -> Cost:
        """What the map says; a pair (epsilon, delta) counts with its epsilon."""
        distance = self.apart(first, second)
        if not distance:
            return Cost()
        kind = int if all(isinstance(one, int | np.integer) for one in np.array(first, dtype=object).flat) else float
        paid = self.measurement.map(kind(distance))
        return Cost(epsilon=float(paid[0] if isinstance(paid, tuple) else paid))


def _watched(plain: Callable[..., Any], tape: Tape, judge: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def watched(self: Any, value: Any) -> Any:
        if tape.is_inside:
            return plain(self, value)
        stated = {name: repr(fact) for name, fact in vars(self).items() if name in {"epsilon", "delta", "sensitivity"}}
        name = f"{type(self).__module__.split('.')[0]}: {type(self).__name__}"
        call = Call(name=name, place=here(), value=np.array(value), stated=stated, judge=judge(self))
        return tape.meet(call, lambda: plain(self, value))

    return watched


def _found(module: str) -> Any:
    library, _, _ = module.partition(".")
    return sys.modules.get(module) or (import_module(module) if find_spec(library) else None)


@contextmanager
def others_watched(tape: Tape) -> Iterator[None]:
    """Watches what of the two is installed for as long as a run takes."""
    with ExitStack() as stack:
        if (library := _found("diffprivlib.mechanisms")) is not None:
            for kind in vars(library).values():
                if inspect.isclass(kind) and inspect.isfunction(vars(kind).get("randomise")):
                    stack.enter_context(
                        patch.object(kind, "randomise", _watched(vars(kind)["randomise"], tape, Stated))
                    )
        if (library := _found("opendp.mod")) is not None:
            kind = library.Measurement
            stack.enter_context(patch.object(kind, "__call__", _watched(kind.__call__, tape, Mapped)))
        yield

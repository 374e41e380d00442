"""Watches the mechanisms of two other libraries, where they are installed: diffprivlib and OpenDP."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.audit.adjacency import flat, l1, l2, largest
from discreet.audit.recording import Call, CallRecorder, FreeMetric, RecordedCost, here


@dataclass(frozen=True)
class DiffprivlibMetric:
    """A mechanism with attributes epsilon and sensitivity, as those of diffprivlib have."""

    mechanism: Any

    norm = "L1"

    @property
    def declared(self) -> float | None:
        """Its sensitivity."""
        stated = getattr(self.mechanism, "sensitivity", None)
        return None if stated is None else float(stated)

    def distance(self, first: Any, second: Any) -> float:
        """L1."""
        return l1(first, second)

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """Its epsilon, in proportion to the distance, and its delta."""
        distance, allowed = self.distance(first, second), self.declared
        if not distance:
            return RecordedCost()
        share = 1.0 if allowed is None else distance / allowed if allowed else math.inf
        return RecordedCost(
            epsilon=float(self.mechanism.epsilon) * share, delta=float(getattr(self.mechanism, "delta", 0))
        )


@dataclass(frozen=True)
class OpenDPMetric:
    """A measurement of OpenDP, whose map says what a distance costs."""

    measurement: Any

    declared = None

    @property
    def norm(self) -> str:
        """The name of the metric of its input."""
        return str(getattr(self.measurement, "input_metric", "L1Distance")).split("(")[0]

    def distance(self, first: Any, second: Any) -> float:
        """The distance of that metric; of tables, how many rows came and went."""
        if self.norm in NORMS:
            return NORMS[self.norm](first, second)
        one, other = (Counter(map(repr, rows(value))) for value in (first, second))
        gone, come = (one - other).total(), (other - one).total()
        if self.norm in EXCHANGED:
            return float(come) if gone == come else float("inf")
        return float(gone + come)

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """What the map says, in the currency of the measurement."""
        distance = self.distance(first, second)
        if not distance:
            return RecordedCost()
        if not math.isfinite(distance):
            return RecordedCost(epsilon=distance)
        whole = self.norm not in NORMS or all(isinstance(one, int | np.integer) for one in flat(first))
        return paid(self.measurement.map(int(distance) if whole else distance), str(self._measure))

    @property
    def _measure(self) -> Any:
        return getattr(self.measurement, "output_measure", "MaxDivergence")


NORMS: Mapping[str, Callable[[Any, Any], float]] = {
    "L1Distance": l1, "AbsoluteDistance": l1, "L2Distance": l2, "LInfDistance": largest,
}  # fmt: skip
"""Metrics of OpenDP between numbers; all others are between tables."""

EXCHANGED = ("ChangeOneDistance", "HammingDistance", "ChangeOneIdDistance")
"""Those under which rows are exchanged, and their number stays."""

LEAST_DELTA = 1e-9
"""Where a whole curve is promised, the one point of it that is taken."""


def paid(price: Any, measure: str) -> RecordedCost:
    """What a map of OpenDP returned, as a cost: epsilon, a pair, a curve, or rho, which Gaussian noise has.

    >>> paid(0.5, "ZeroConcentratedDivergence"), paid((1.0, 1e-6), "Approximate(MaxDivergence)")
    (RecordedCost(epsilon=0.0, mu=1.0, delta=0.0), RecordedCost(epsilon=1.0, mu=0.0, delta=1e-06))
    """
    if isinstance(price, tuple):
        first, delta = price
        return replace(paid(first, measure), delta=float(delta))
    if hasattr(price, "epsilon"):
        return RecordedCost(epsilon=float(price.epsilon(LEAST_DELTA)), delta=LEAST_DELTA)
    if "ZeroConcentrated" in measure:
        return RecordedCost(mu=math.sqrt(2 * float(price)))
    return RecordedCost(epsilon=float(price))


def rows(value: Any) -> list[Any]:
    """The rows of a table, of whatever kind it is."""
    whole = value.item() if isinstance(value, np.ndarray) and not value.shape else value
    if hasattr(whole, "collect"):
        whole = whole.collect()
    if hasattr(whole, "rows"):
        return list(whole.rows())
    if hasattr(whole, "to_dict") and hasattr(whole, "to_numpy"):
        return [tuple(row) for row in whole.to_numpy().reshape(len(whole), -1)]
    return list(whole) if isinstance(whole, list | tuple | np.ndarray) else [whole]


class Live(Enum):
    """Stands on a recording for what can be neither copied nor frozen, and is itself asked later on."""

    QUERYABLE = "a queryable"


def _met(recorder: CallRecorder, call: Call, draw: Callable[[], Any]) -> Any:
    """The answer to a call; a queryable is made anew in each run, and its answers are frozen instead."""
    made: list[Any] = []

    def drawn() -> Any:
        made.append(draw())
        return Live.QUERYABLE if "Queryable" in type(made[0]).__name__ else made[0]

    output = recorder.answer(call, drawn)
    if output is not Live.QUERYABLE:
        return output
    if made:
        return made[0]
    with recorder.inside():
        return draw()


def _whole(value: Any) -> Any:
    """A table as one thing: how many rows it has is nobody's business."""
    whole = np.empty((), dtype=object)
    whole[()] = value
    return whole


def _watched(plain: Callable[..., Any], recorder: CallRecorder, metric: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def watched(self: Any, value: Any) -> Any:
        if recorder.is_inside:
            return plain(self, value)
        stated = {name: repr(fact) for name, fact in vars(self).items() if name in {"epsilon", "delta", "sensitivity"}}
        name = f"{type(self).__module__.split('.')[0]}: {type(self).__name__}"
        made = metric(self)
        is_data = isinstance(made, OpenDPMetric) and made.norm not in NORMS
        kept = _whole(value) if is_data else np.array(value)
        call = Call(name=name, place=here(), value=kept, stated=stated, metric=made)
        return _met(recorder, call, lambda: plain(self, value))

    return watched


@dataclass(frozen=True)
class QueryableMetric(FreeMetric):
    """A question to a queryable, which was paid for when that was made."""

    norm = "none"

    def distance(self, first: Any, second: Any) -> float:
        """Nothing: a question is public."""
        del first, second
        return 0.0


def _asked(plain: Callable[..., Any], recorder: CallRecorder) -> Callable[..., Any]:
    @functools.wraps(plain)
    def asked(self: Any, query: Any) -> Any:
        if recorder.is_inside:
            return plain(self, query)
        call = Call(name="opendp: Queryable", place=here(), value=0, stated={}, metric=QueryableMetric())
        return _met(recorder, call, lambda: plain(self, query))

    return asked


def _found(module: str) -> Any:
    """The module, where it is installed and can be loaded; what cannot be loaded, no pipeline uses."""
    library, _, _ = module.partition(".")
    if module not in sys.modules and find_spec(library) is None:
        return None
    with suppress(Exception):
        return sys.modules.get(module) or import_module(module)
    return None


@contextmanager
def others_watched(recorder: CallRecorder) -> Iterator[None]:
    """Watches what of the two is installed for as long as a run takes."""
    with ExitStack() as stack:
        if (library := _found("diffprivlib.mechanisms")) is not None:
            for kind in vars(library).values():
                if inspect.isclass(kind) and inspect.isfunction(vars(kind).get("randomise")):
                    stack.enter_context(
                        patch.object(kind, "randomise", _watched(vars(kind)["randomise"], recorder, DiffprivlibMetric))
                    )
        if (library := _found("opendp.mod")) is not None:
            for kind, watch in ((library.Measurement, OpenDPMetric), (getattr(library, "Queryable", None), None)):
                for method in ("__call__", "invoke"):
                    plain = getattr(kind, method, None)
                    if plain is not None:
                        made = _watched(plain, recorder, watch) if watch else _asked(plain, recorder)
                        stack.enter_context(patch.object(kind, method, made))
        yield

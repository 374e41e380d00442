"""Watches every mechanism of discreet: each class that releases, reports or adds noise, and has a price."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.audit.adjacency import MechanismMetric
from discreet.audit.code_locations import PACKAGE
from discreet.audit.recording import Call, CallRecorder, FreeMetric, here
from discreet.mechanisms.distributed_noise import DistributedNoise
from discreet.noise.entropy import _ACCESS, Stream
from discreet.noise.keyed_streams import ReleaseKey
from discreet.selection.rank_exponential import Histogram

METHODS = ("release", "report", "add_noise", "made")
UNWATCHED = ("audit", "cli", "data", "testing")
"""Rooms without mechanisms, or above them."""
QUIET = {"words"}
"""Parameters that are chance itself."""


@functools.cache
def mechanisms() -> tuple[tuple[type, str], ...]:
    """Every class of discreet with a price and a method that meets chance, and the name of that method.

    >>> sorted({kind.__name__ for kind, _ in mechanisms()})[:3]
    ['CountsUnderLimits', 'DiscreteGaussian', 'FrequencyOracle']
    """
    found: dict[tuple[type, str], None] = {}
    for module in pkgutil.walk_packages([PACKAGE], "discreet."):
        if module.name.split(".")[1] in UNWATCHED or module.name.endswith("__main__"):
            continue
        for kind in vars(import_module(module.name)).values():
            if not inspect.isclass(kind) or not hasattr(kind, "event") or not kind.__module__.startswith("discreet."):
                continue
            found |= {(kind, method): None for method in METHODS if inspect.isfunction(vars(kind).get(method))}
    return tuple(sorted(found, key=lambda pair: (pair[0].__module__, pair[0].__qualname__, pair[1])))


def parameters(mechanism: object) -> dict[str, str]:
    """What was stated of a mechanism, as text; not what it remembers of earlier calls."""
    names = getattr(type(mechanism), "__dataclass_fields__", None) or [
        name for name in getattr(type(mechanism), "__slots__", ()) if not name.startswith("_") and name != "remaining"
    ]
    return {name: parameter_text(getattr(mechanism, name, None)) for name in names}


def parameter_text(value: object) -> str:
    """A parameter as text: a fraction as it is written."""
    return str(value) if isinstance(value, Fraction) else repr(value)


def _watched(kind: type, method: str, recorder: CallRecorder) -> Callable[..., Any]:
    plain: Callable[..., Any] = getattr(kind, method)
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def watched(self: Any, *given: Any, **options: Any) -> Any:
        if recorder.is_inside:
            return plain(self, *given, **options)
        _, value, *rest = signature.bind(self, *given, **options).arguments.items()
        stated = parameters(self) | {name: parameter_text(other) for name, other in rest if name not in QUIET}
        call = Call(
            name=f"{type(self).__name__}.{method}", place=here(), value=_array(value[1]), stated=stated,
            metric=MechanismMetric(self),
        )  # fmt: skip
        return recorder.answer(call, lambda: plain(self, *given, **options), owner=self)

    return watched


def _array(value: Any) -> Any:
    """The input as an array, so that its shape is known; Python integers of any size stay what they are.

    A table is one thing, whose size is private: which items a log has is what its release hides. So is a histogram.
    """
    if isinstance(value, pa.Table | Histogram):
        whole = np.empty((), dtype=object)
        whole[()] = value
        return whole
    try:
        found = np.array(value)
    except (TypeError, ValueError, OverflowError):
        return np.array(value, dtype=object)
    is_cut = found.dtype.kind == "f" and any(isinstance(one, int) for one in np.array(value, dtype=object).reshape(-1))
    return np.array(value, dtype=object) if is_cut else found


class RandomWordsMetric(FreeMetric):
    """Random words that no mechanism asked for: a first guess, an order. They are free, and must not tell of rows."""

    norm = "number of words"

    def distance(self, first: Any, second: Any) -> float:
        """How many words more."""
        return float(abs(first - second))


def _coins(recorder: CallRecorder) -> Callable[..., Any]:
    plain = Stream.words

    def words(self: Stream, n: int) -> NDArray[np.uint64]:
        if recorder.is_inside:
            return plain(self, n)
        call = Call(name="random words", place=here(), value=n, stated={"size": repr(n)}, metric=RandomWordsMetric())
        drawn: NDArray[np.uint64] = recorder.answer(call, lambda: plain(self, n))
        return drawn

    return words


def _at_once(self: DistributedNoise, places: NDArray[np.int64], totals: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Noise for scattered groups, of the same law, by mechanisms that are shown the totals: so they can be watched."""
    words = ReleaseKey(self.secret).cell(str(places[:1].tolist()))
    return [noise.add_noise(exact, words) for noise, exact in zip(self.noises, totals, strict=True)]


@contextmanager
def mechanisms_watched(recorder: CallRecorder) -> Iterator[None]:
    """Watches all mechanisms of discreet, and what it draws beside them, for as long as a run takes."""
    with ExitStack() as stack:
        coins = _coins(recorder)
        _ACCESS.add(coins)  # the words are the operating system's, or those that it gave before
        stack.callback(_ACCESS.discard, coins)
        stack.enter_context(patch.object(Stream, "words", coins))
        stack.enter_context(patch.object(DistributedNoise, "add_noise", _at_once))
        for kind, method in mechanisms():
            stack.enter_context(patch.object(kind, method, _watched(kind, method, recorder)))
        yield

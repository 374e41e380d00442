"""Replaces the random generators that a pipeline uses directly, NumPy's and Python's, during an audit.

Additive noise is recorded with what it is added to. All other draws come from a stream that is the same in every run,
so that two runs differ by their rows alone. Nothing here makes noise for a release.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import BuiltinMethodType, MethodType
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.audit.adjacency import flat
from discreet.audit.code_locations import Place, is_foreign, user_place
from discreet.audit.custom_noise import CustomNoise, Draw, NoiseArray
from discreet.audit.recording import Call, CallRecorder, RecordedCost

NOISES = {"laplace": "laplace", "normal": "normal", "logistic": "logistic"}
STANDARD = {"standard_normal": "normal", "randn": "normal"}
COINS = 20_261_121
"""The seed of all draws except noise, the same in every run of an audit."""

RANDOM = np.random  # the pipeline's own source of noise, which is watched here and never used for a release
GENERATOR = RANDOM.Generator


class Weighted:
    """The guarantee of a choice with stated probabilities, given by their largest log-ratio."""

    declared = None
    norm = "of log probabilities"

    def distance(self, first: Any, second: Any) -> float:
        """The largest change of a log probability."""
        with np.errstate(divide="ignore", invalid="ignore"):
            one, other = (np.asarray(flat(p), dtype=np.float64) for p in (first, second))
            if one.size != other.size:
                return float("inf")
            ratios = np.abs(np.log(one / one.sum()) - np.log(other / other.sum()))
        return float(np.nan_to_num(ratios, nan=0.0, posinf=np.inf).max(initial=0.0))

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """Pure loss of as much."""
        return RecordedCost(epsilon=self.distance(first, second))


class Watcher:
    """Answers the pipeline's calls to its own generators in one run."""

    def __init__(self, recorder: CallRecorder) -> None:
        self.recorder = recorder
        self._numbers = itertools.count()

    def stream(self) -> Any:
        """A generator for everything but noise: one for each call, so that calls do not shift each other."""
        return RANDOM.default_rng([COINS, next(self._numbers)])

    def noise(self, law: str, real: Callable[..., Any], given: tuple[Any, Any, Any], *, seeded: bool) -> Any:
        """Noise of a law around `loc`, drawn by `real(loc, scale, size)`; on the recording with its place as input."""
        loc, scale, size = given
        place = user_place()
        if seeded:
            self.recorder.seeded.append(place)
        metric = Drawn(law, scale)
        call = Call(
            name=f"noise drawn: {law}", place=place, value=np.array(loc, dtype=np.float64),
            metric=metric, stated={"scale": repr(np.asarray(scale).tolist()), "size": repr(size)},
        )  # fmt: skip
        value = self.recorder.answer(call, lambda: real(loc, scale, size))
        if np.ndim(scale):
            return value
        draw = Draw(self.recorder, law, float(scale), place, set())
        return NoiseArray.of(value, draw) if np.ndim(value) else CustomNoise.of(float(value), draw)

    def choice(self, real: Callable[[], Any], weights: Any, stated: Mapping[str, str]) -> Any:
        """A choice with probabilities, which are its input."""
        call = Call(
            name="weighted choice", place=user_place(), value=np.array(weights, dtype=np.float64),
            metric=Weighted(), stated=stated,
        )  # fmt: skip
        return self.recorder.answer(call, real)


class Drawn:
    """The guarantee of noise added to a value: the loss is the value's distance divided by the scale."""

    declared = None

    def __init__(self, law: str, scale: Any) -> None:
        self._law, self._scale = law, np.asarray(scale, dtype=np.float64)
        self.norm = "L2" if law == "normal" else "L1"

    def distance(self, first: Any, second: Any) -> float:
        """L1, or L2 for normal noise."""
        difference = np.abs(np.asarray(first) - np.asarray(second))
        total = np.sqrt((difference**2).sum()) if self._law == "normal" else difference.sum()
        return float(np.nan_to_num(total, nan=np.inf))

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """The loss for a distance: divided by the scale."""
        if np.array_equal(first, second, equal_nan=True):
            return RecordedCost()
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.nan_to_num(np.abs(np.asarray(first) - np.asarray(second)) / self._scale, nan=np.inf)
        if self._law == "normal":
            return RecordedCost(mu=float(np.sqrt((shares**2).sum())))
        return RecordedCost(epsilon=float(shares.sum()))


def called_by_user() -> bool:
    """Whether the line that called the watched function is the pipeline's own."""
    return not is_foreign(sys._getframe(2).f_code.co_filename)  # noqa: SLF001 (the documented way to a frame)


class Watched(GENERATOR):
    """A NumPy generator that behaves like the pipeline's own."""

    watcher: Watcher
    seeded: bool

    @classmethod
    def of(cls, watcher: Watcher, inner: np.random.Generator, *, seeded: bool) -> Watched:
        """One in the place of `inner`."""
        made = cls(inner.bit_generator)
        made.watcher, made.seeded = watcher, seeded
        return made


def _watched_noise(name: str, law: str, *, standard: bool) -> Callable[..., Any]:
    plain: Callable[..., Any] = getattr(GENERATOR, "standard_normal" if standard else name)

    def around(self: Watched, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        def real(loc: Any, scale: Any, size: Any) -> Any:
            return plain(self, loc, scale, size)

        return self.watcher.noise(law, real, (loc, scale, size), seeded=self.seeded)

    def standardized(self: Watched, size: Any = None, **_: Any) -> Any:
        return self.watcher.noise(
            law, lambda _loc, _scale, size: plain(self, size), (0.0, 1.0, size), seeded=self.seeded
        )

    return standardized if standard else around


def _watched_coin(name: str) -> Callable[..., Any]:
    def coin(self: Watched, *given: Any, **options: Any) -> Any:
        return getattr(self.watcher.stream(), name)(*given, **options)

    return coin


def _watched_choice(self: Watched, a: Any, size: Any = None, replace: bool = True, p: Any = None, **rest: Any) -> Any:  # noqa: FBT001, FBT002 (NumPy's own signature)
    if p is None:
        return self.watcher.stream().choice(a, size=size, replace=replace, **rest)
    stream = self.watcher.stream()
    return self.watcher.choice(
        lambda: stream.choice(a, size=size, replace=replace, p=p, **rest), p, {"candidates": repr(a)[:200]}
    )


for _name, _law in NOISES.items():
    setattr(Watched, _name, _watched_noise(_name, _law, standard=False))
setattr(Watched, "standard_normal", _watched_noise("standard_normal", "normal", standard=True))  # noqa: B010 (as below)
for _name in ("random", "integers", "uniform", "permutation", "permuted", "shuffle", "binomial", "poisson", "geometric",
              "exponential", "standard_exponential", "gumbel", "beta", "gamma", "multinomial", "bytes"):  # fmt: skip
    setattr(Watched, _name, _watched_coin(_name))
setattr(Watched, "choice", _watched_choice)  # noqa: B010 (overloaded: a type checker would refuse the assignment)


def numpy_functions(watcher: Watcher) -> dict[str, Callable[..., Any]]:
    """The functions of numpy.random that are replaced while an audit runs, for calls from the pipeline's own lines."""
    quiet = Watched.of(watcher, RANDOM.default_rng(), seeded=False)
    original: dict[str, Any] = {
        name: getattr(RANDOM, name) for name in (*NOISES, *STANDARD, "choice", "default_rng", "seed")
    }
    seeds: list[Place] = []

    def noise(name: str) -> Callable[..., Any]:
        def watched(*given: Any, **options: Any) -> Any:
            if not called_by_user() or watcher.recorder.is_inside:
                return original[name](*given, **options)
            quiet.seeded = bool(seeds)
            if name == "randn":
                return quiet.standard_normal(given or None)
            return getattr(quiet, name)(*given, **options)

        return watched

    def default_rng(seed: Any = None) -> Any:
        inner = original["default_rng"](seed)
        if not called_by_user() or watcher.recorder.is_inside:
            return inner
        return Watched.of(watcher, inner, seeded=seed is not None and not isinstance(seed, GENERATOR))

    def seed(*given: Any, **options: Any) -> None:
        if called_by_user():
            seeds.append(user_place())
        original["seed"](*given, **options)

    return {name: noise(name) for name in (*NOISES, *STANDARD, "choice")} | {"default_rng": default_rng, "seed": seed}


def python_functions(watcher: Watcher) -> dict[str, Callable[..., Any]]:
    """Those of Python's random module."""
    quiet = Watched.of(watcher, RANDOM.default_rng(), seeded=False)
    original = {name: getattr(random, name) for name in ("gauss", "normalvariate", "choices")}

    def gauss(name: str) -> Callable[..., Any]:
        def watched(mu: float = 0.0, sigma: float = 1.0) -> Any:
            return quiet.normal(mu, sigma) if called_by_user() else original[name](mu, sigma)

        return watched

    def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        if weights is None or not called_by_user():
            return original["choices"](population, weights, cum_weights=cum_weights, k=k)
        stated = {"candidates": repr(population)[:200], "k": repr(k)}
        return watcher.choice(lambda: original["choices"](population, weights, k=k), weights, stated)

    return {"gauss": gauss("gauss"), "normalvariate": gauss("normalvariate"), "choices": choices}


def _swapped(names: dict[str, Any], watcher: Watcher, functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """What a module's names become: generators that it made, and functions that it imported, watched."""
    result: dict[str, Any] = {}
    known = {id(getattr(RANDOM, name)): function for name, function in functions.items()}
    for name, value in names.items():
        if isinstance(value, GENERATOR) and not isinstance(value, Watched):
            result[name] = Watched.of(watcher, value, seeded=False)
        elif isinstance(value, BuiltinMethodType | MethodType) or callable(value):
            replacement = known.get(id(value))
            if replacement is not None:
                result[name] = replacement
    return result


@contextmanager
def generators(recorder: CallRecorder, names: dict[str, Any] | None = None) -> Iterator[None]:
    """Watches NumPy's and Python's generators during a run.

    Args:
        recorder: what is recorded.
        names: the globals of a pipeline that is a function: what it made and imported before is watched as well.
    """
    watcher = Watcher(recorder)
    functions = numpy_functions(watcher)
    before = RANDOM.get_state(), random.getstate()
    RANDOM.seed(COINS)
    random.seed(COINS)
    with ExitStack() as stack:
        if names is not None:
            stack.enter_context(patch.dict(names, _swapped(names, watcher, functions)))
        for name, function in functions.items():
            stack.enter_context(patch.object(RANDOM, name, function))
        for name, function in python_functions(watcher).items():
            stack.enter_context(patch.object(random, name, function))
        try:
            yield
        finally:
            RANDOM.set_state(before[0])
            random.setstate(before[1])

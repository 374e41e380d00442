"""Noise that a pipeline makes for itself: numbers that record what they are added to.

In ``total + rng.laplace(scale=4)`` the generator never meets the total. So what it returns, while an audit watches, is
a number like any other, but one that tells the recording what it is added to or taken from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.adjacency import signed_differences
from discreet.audit.code_locations import Place
from discreet.audit.recording import Call, CallRecorder, RecordedCost, here

WIDTH: Mapping[str, float] = {"laplace": 1.0, "logistic": 1.0, "normal": 0.0}
"""The laws that can be followed. Of Laplace and logistic noise, a shift by d costs at most d / scale."""


@dataclass(frozen=True)
class CustomNoiseMetric:
    """A law, and its scale for each entry; `sources` says which draw each entry got."""

    law: str
    scale: NDArray[np.float64]
    sources: NDArray[np.int64]

    declared = None
    norm = "L1"

    def distance(self, first: Any, second: Any) -> float:
        """The L1 distance, or the L2 distance for normal noise; infinite where one draw blurs what differs."""
        moved = self._moved(first, second)
        return float(np.abs(moved).sum()) if self.law != "normal" else float(np.sqrt((moved**2).sum()))

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """What the two inputs cost under this noise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = self._moved(first, second)
            shares = np.where(moved == 0, 0.0, np.abs(moved) / self._scales())
        if self.law == "normal":
            return RecordedCost(mu=float(np.sqrt((shares**2).sum())))
        return RecordedCost(epsilon=float(shares.sum()))

    def _scales(self) -> NDArray[np.float64]:
        return np.array([self.scale.reshape(-1)[i % self.scale.size] for i in np.unique(self.sources)])

    def _moved(self, first: Any, second: Any) -> NDArray[np.float64]:
        """One difference for each draw: infinite where it blurs entries that differ by different amounts."""
        differences = signed_differences(first, second)
        if differences.size != self.sources.size:
            return np.array([math.inf])
        sources = self.sources.reshape(-1)
        groups = [differences[sources == source] for source in np.unique(sources)]
        return np.array([group[0] if np.all(group == group[0]) else math.inf for group in groups])


@dataclass(frozen=True)
class Draw:
    """One request for noise: its law, where it was asked for, and the recording that follows it."""

    recorder: CallRecorder
    law: str
    scale: float
    place: Place
    uses: set[int]
    """Which of its numbers have blurred something."""

    def times(self, factor: float) -> Draw:
        """The same draw, multiplied."""
        return replace(self, scale=self.scale * abs(factor))

    def add_to(self, value: Any, noise: Any, sources: NDArray[np.int64], sign: float) -> Any:
        """value + sign * noise, as a call on the recording."""
        plain = np.asarray(noise, dtype=np.float64)
        shape = np.broadcast_shapes(np.shape(value), plain.shape)
        spread = np.broadcast_to(sources, shape)
        place = here()
        used = {int(source) for source in sources.reshape(-1)}
        if self.uses & used:
            self.recorder.reused.append(place)
        self.uses.update(used)
        metric = CustomNoiseMetric(self.law, np.array([self.scale]), np.array(spread))
        call = Call(
            name=f"noise added: {self.law}", place=place, value=np.array(value), metric=metric,
            stated={"scale": repr(self.scale)},
        )  # fmt: skip
        return self.recorder.answer(call, lambda: np.asarray(value) + sign * plain)


def is_value(other: object) -> bool:
    """Whether noise can be added to it here; pandas and polars add column by column and come back."""
    return isinstance(other, int | float | np.ndarray | np.number | list) and not isinstance(other, bool)


class CustomNoise(float):
    """One number of noise."""

    draw: Draw
    source: int

    @classmethod
    def of(cls, value: float, draw: Draw, source: int = 0) -> CustomNoise:
        """A number that remembers its draw."""
        made = cls(value)
        made.draw, made.source = draw, source
        return made

    def _added(self, other: Any, sign: float) -> Any:
        if not is_value(other) or isinstance(other, CustomNoise):
            return NotImplemented if not isinstance(other, CustomNoise) else float(other) + sign * float(self)
        total = self.draw.add_to(other, float(self), np.array(self.source), sign)
        return total if np.ndim(other) else np.float64(total).item() if not isinstance(other, np.generic) else total

    def __add__(self, other: Any) -> Any:
        return self._added(other, 1.0)

    __radd__ = __add__

    def __rsub__(self, other: Any) -> Any:
        return self._added(other, -1.0)

    def __sub__(self, other: Any) -> Any:
        return self._added(-np.asarray(other) if np.ndim(other) else -other, 1.0) if is_value(other) else NotImplemented

    def __neg__(self) -> CustomNoise:
        return CustomNoise.of(-float(self), self.draw, self.source)

    def __mul__(self, factor: Any) -> Any:
        if isinstance(factor, CustomNoise) or not isinstance(factor, int | float | np.number):
            return NotImplemented if not isinstance(factor, CustomNoise) else float(self) * float(factor)
        return CustomNoise.of(float(self) * float(factor), self.draw.times(float(factor)), self.source)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if not isinstance(divisor, int | float | np.number) or not divisor:
            return float(self) / divisor
        return CustomNoise.of(float(self) / float(divisor), self.draw.times(1 / float(divisor)), self.source)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return applied(ufunc, method, inputs, options)


class NoiseArray(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of noise."""

    draw: Draw | None = None
    sources: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, values: Any, draw: Draw, sources: NDArray[np.int64] | None = None) -> NoiseArray:
        """An array that remembers its draw."""
        made = np.asarray(values, dtype=np.float64).view(cls)
        made.draw = draw
        made.sources = np.arange(made.size).reshape(made.shape) if sources is None else sources
        return made

    def __getitem__(self, key: Any) -> Any:
        plain = np.asarray(self)[key]
        if self.draw is None or self.sources is None:
            return plain
        sources = self.sources[key]
        if np.ndim(plain) == 0:
            return CustomNoise.of(float(plain), self.draw, int(sources))
        return NoiseArray.of(plain, self.draw, np.asarray(sources))

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> Any:
        """Numbers of noise, in lists."""
        return [one.tolist() if isinstance(one, NoiseArray) else one for one in self]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return applied(ufunc, method, inputs, options)


def plain_value(value: Any) -> Any:
    """The number or array without its memory."""
    if isinstance(value, NoiseArray):
        return np.asarray(value)
    return float(value) if isinstance(value, CustomNoise) else value


def applied(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What NumPy calls for a function of noise: sums and multiples are followed, all else is computed as ever."""
    noises = [i for i, value in enumerate(inputs) if isinstance(value, CustomNoise | NoiseArray)]
    out = options.pop("out", None)
    result: Any = None
    if method == "__call__" and len(noises) == 1 and len(inputs) == 2:
        result = _followed(ufunc, inputs[noises[0]], inputs[1 - noises[0]], noise_first=noises[0] == 0)
    if result is None:
        result = getattr(ufunc, method)(*map(plain_value, inputs), **options)
    if out is None:
        return result
    target = plain_value(out[0])
    target[...] = plain_value(result)
    return target


def _followed(ufunc: np.ufunc, noise: Any, other: Any, *, noise_first: bool) -> Any:
    draw = noise.draw
    sources = np.array(noise.source) if isinstance(noise, CustomNoise) else noise.sources
    if draw is None:
        return None
    if ufunc is np.add:
        return _numpy(draw.add_to(other, plain_value(noise), sources, 1.0))
    if ufunc is np.subtract:
        value, sign = (-np.asarray(other), 1.0) if noise_first else (other, -1.0)
        return _numpy(draw.add_to(value, plain_value(noise), sources, sign))
    divides = ufunc is np.divide and noise_first
    if (ufunc is np.multiply or divides) and np.ndim(other) == 0 and float(other):
        factor = 1 / float(other) if divides else float(other)
        scaled = np.asarray(plain_value(noise)) * factor
        if isinstance(noise, CustomNoise):
            return CustomNoise.of(float(scaled), draw.times(factor), noise.source)
        return NoiseArray.of(scaled, draw.times(factor), sources)
    return None


def _numpy(total: Any) -> Any:
    return total if np.ndim(total) else np.float64(total)

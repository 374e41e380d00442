"""Sums, differences and multiples of the cells of a batch, with the interval that follows from their common noise.

Claim
    ``Combination.interval(confidence)`` holds the exact combination with at least this confidence.
Requires
    Noise of the law and the scales that the plan states.
Relies on
    `workloads` for a cell as a linear form of what is measured; `noise.weighted_sums` for the law of a sum of noises.
Proof
    A cell is its exact value and a fixed linear form of independent noises, one for each measured sum. A combination of
    cells is the combination of the exact values, and of these forms: its coefficients are added, with their signs,
    before the law of their sum is taken. So noise that two cells have in common counts once, with what is left of it.
    What is less than `CANCELLED` of the largest coefficient is what rounding left of 0.
Rounding
    Coefficients are floats. Measured sums are integers: rounding of each noise to one is added.
Source
    None: linear algebra.
Mutant
    squares-beyond-floats: coefficients are squared as they are; killed by test_intervals_scale_with_their_weights.
    noise-of-separate-cells: noise that two sums have in common is added up, whatever its sign; killed by
    test_noise_that_cancels_leaves_no_width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from discreet.errors import InvalidParameter, NoTruth, expected
from discreet.guesses.answer_words import COMBINATION
from discreet.guesses.near_names import NearNames
from discreet.noise.weighted_sums import LAPLACE, NORMAL, cached_quantile
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.joint_batch import Forms, JointBatchPlan
from discreet.planning.noise_laws import Law
from discreet.planning.planner import level

CANCELLED = 1e-9
"""Coefficients below this part of the largest are what is left of noise that cancels."""

LARGEST_FACTOR = 1e100
DIGITS = 2.0**-40
"""Of what was added up: more than the rounding of its estimates and of their sum."""
DROWNED = 2.0**-20
"""Noise that reaches so much of what was added up is hardly ever within its rounding."""

Parts = Mapping[tuple[int, int], tuple[Any, ...]]
"""Linear forms, whose parts can be added, and multiplied by numbers."""


class LinearNoise(Protocol):
    """What is measured, of an answer that is no batch."""

    def half_width(self, forms: Parts, confidence: float) -> float:
        """What a combination is off by at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Combination(NearNames, NoTruth):
    """A linear combination of the cells of an answer; made by ``.sum`` of a batch or a hierarchy."""

    _ask: ClassVar[str] = "ask for its ends, combination.low > 0."
    _instead: ClassVar[Mapping[str, str]] = COMBINATION

    plan: BatchPlan | LinearNoise
    """What says how large the noise is of all that may be added."""
    value: float
    """Unbiased."""
    forms: Parts
    """For a block and a component the coefficients of the noise in each measured part."""
    confidence: float
    """That of `low` and `high`."""
    size: float = 0.0
    """What was added up, without signs: rounding is in proportion to it, also where all noise cancels."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends that hold the exact answer with this confidence."""
        scale = self._scale()
        forms = {key: tuple(1 / scale * part for part in own) for key, own in self.forms.items()}
        half = scale * replace(self, forms=forms)._half_width(level(confidence))  # noqa: SLF001 (its own class)
        half += DIGITS * self.size if half < DROWNED * self.size else 0.0
        return self.value - half, self.value + half

    @property
    def low(self) -> float:
        """The lower end, with the confidence of the release."""
        return self.interval(self.confidence)[0]

    @property
    def high(self) -> float:
        """The upper end, with the confidence of the release."""
        return self.interval(self.confidence)[1]

    def _scale(self) -> float:
        """A power of two near the largest coefficient: squares of very small or large ones are beyond floats."""
        found: list[Any] = [getattr(part, "weights", part) for own in self.forms.values() for part in own]
        largest = max((float(np.abs(one).max(initial=0.0)) for one in found), default=0.0)
        return 2.0 ** max(-1000, min(math.frexp(largest)[1], 1000))

    def _half_width(self, confidence: float) -> float:
        if not isinstance(self.plan, BatchPlan):
            return self.plan.half_width(self.forms, confidence)
        if isinstance(self.plan, JointBatchPlan):
            return self.plan.half_width(self._without_rest(), confidence)
        terms, rounding = [], 0.0
        largest = max((float(np.abs(part).max(initial=0.0)) for own in self.forms.values() for part in own), default=0)
        for (place, _), own in self.forms.items():
            block, fine = self.plan.cells.blocks[place], self.plan.fine[place]
            for part, noise in zip(own, self.plan.mechanisms[place], strict=True):
                sizes = np.abs(part[np.abs(part) > CANCELLED * largest]) / (fine * block.steps)
                rounding += float(sizes.sum())
                terms.append(sizes * float(noise.scale))
        every = np.concatenate(terms) if terms else np.zeros(0)
        if not every.size:
            return 0.0
        is_normal = self.plan.law is Law.GAUSSIAN
        shown = (math.sqrt(float(every @ every)),) if is_normal else tuple((-np.sort(-every)).tolist())
        return cached_quantile(NORMAL if is_normal else LAPLACE, shown, confidence, rounding / sum(shown))

    def _without_rest(self) -> Forms:
        """The coefficients without what rounding left of 0."""
        largest = max((float(np.abs(part).max(initial=0.0)) for own in self.forms.values() for part in own), default=0)
        return {
            key: tuple(np.where(np.abs(part) > CANCELLED * largest, part, 0.0) for part in own)
            for key, own in self.forms.items()
        }

    def __add__(self, other: object) -> Combination:
        if isinstance(other, int | float):
            other = _finite(other)
            return replace(self, value=self.value + other, size=self.size + abs(other))
        if not isinstance(other, Combination):
            return NotImplemented
        if other.plan is not self.plan:
            cure = "take both from one answer; two answers have noise of their own, also where they are alike."
            raise InvalidParameter(expected("sums of one release", "other", other, cure))
        forms = dict(self.forms)
        for key, own in other.forms.items():
            forms[key] = tuple(a + b for a, b in zip(forms[key], own, strict=True)) if key in forms else own
        confidence = max(self.confidence, other.confidence)
        value, size = self.value + other.value, self.size + other.size
        return replace(self, value=value, forms=forms, confidence=confidence, size=size)

    __radd__ = __add__

    def __neg__(self) -> Combination:
        return -1.0 * self

    def __sub__(self, other: object) -> Combination:
        return self + -other if isinstance(other, int | float | Combination) else NotImplemented

    def __rsub__(self, other: object) -> Combination:
        return -self + other

    def __mul__(self, factor: object) -> Combination:
        if not isinstance(factor, int | float):
            return NotImplemented
        factor = _finite(factor)
        forms = {key: tuple(factor * part for part in own) for key, own in self.forms.items()}
        return replace(self, value=factor * self.value, forms=forms, size=abs(factor) * self.size)

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> Combination:
        if not isinstance(divisor, int | float):
            return NotImplemented
        if not divisor:
            raise InvalidParameter(expected("a number other than 0", "divisor", divisor, "divide by another one."))
        return self * (1.0 / _finite(divisor))

    def __repr__(self) -> str:
        return f"{self.value:,.6g} [{self.low:,.6g}, {self.high:,.6g}]"


def _finite(number: float) -> float:
    """A factor as a double, refused where it would leave nothing to say."""
    if not abs(number) <= LARGEST_FACTOR:
        raise InvalidParameter(expected(f"a number up to {LARGEST_FACTOR:g}", "factor", number, "scale it down."))
    return float(number)

"""What every strategy of a series has: a row of whole numbers for each step, and the errors that follow from them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import positive
from discreet.exact.cached_property import cached_property
from discreet.series.participation import Integers, Participation
from discreet.series.step_windows import StepWindows, Window

Reals = NDArray[np.float64]


def square_root_column(steps: int) -> Reals:
    """The first column of the square root of running totals: 1, 1/2, 3/8, 5/16, ..., down its steps."""
    places = np.arange(1, steps)
    return np.concatenate([[1.0], np.cumprod((2 * places - 1) / (2 * places))])


class SeriesStrategy(ABC):
    """Integer sums to measure, one for each step, of it and of those before it."""

    windows: StepWindows
    participation: Participation
    family: str
    _bound: float = 0.0
    """The mean of the squared errors at rho = 1/2, below which none is."""

    @abstractmethod
    def row(self, step: int) -> Integers:
        """The coefficients of the steps up to this one in what is measured at it; the last one is above 0."""

    @abstractmethod
    def _moved(self) -> int: ...

    @abstractmethod
    def _absolute(self) -> int: ...

    @abstractmethod
    def _errors(self) -> tuple[dict[Window, Reals], dict[Window, Reals]]:
        """`deviations` and `roundings`."""

    @cached_property
    def moved(self) -> int:
        """The square of the L2 norm by which one unit moves all measurements, where it adds 1 to each of its steps."""
        return self._moved()

    @cached_property
    def absolute(self) -> int:
        """The L1 norm by which one unit moves all measurements, where it adds 1 to each of its steps."""
        return self._absolute()

    @cached_property
    def _both(self) -> tuple[dict[Window, Reals], dict[Window, Reals]]:
        return self._errors()

    @cached_property
    def deviations(self) -> Mapping[Window, Reals]:
        """The standard deviation of each sum, for noise of standard deviation 1."""
        return self._both[0]

    @cached_property
    def roundings(self) -> Mapping[Window, Reals]:
        """By how much each sum moves at most where each measurement moves by 1."""
        return self._both[1]

    @cached_property
    def spread(self) -> float:
        """The root of the mean square of `deviations`."""
        return math.sqrt(sum(float(own @ own) for own in self.deviations.values()) / self.windows.number)

    @property
    def mean_square(self) -> float:
        """The mean of the squared errors of all sums, at rho = 1/2."""
        return self.spread**2 * self.moved

    def laplace_rmse(self, *, epsilon: object) -> float:
        """The root of the mean squared error of all sums with Laplace noise at a pure epsilon."""
        return math.sqrt(2) * self.absolute * self.spread / float(positive("epsilon", epsilon))

    def rmse(self, *, rho: object) -> float:
        """The root of the mean squared error of all sums, for units that add 1 to each of their steps."""
        return math.sqrt(self.mean_square / (2 * float(positive("rho", rho))))

    def largest(self, *, rho: object) -> float:
        """The largest standard deviation of a sum, likewise."""
        worst = max(float(own.max()) for own in self.deviations.values() if len(own))
        return worst * math.sqrt(self.moved / (2 * float(positive("rho", rho))))

    def bound(self, *, rho: object) -> float:
        """What the root of the mean squared error cannot be below."""
        if not self._bound:
            cure = "StreamStrategy.best(windows) has it."
            raise InvalidParameter(expected("a strategy with a bound", "strategy", self.family, cure))
        return math.sqrt(self._bound / (2 * float(positive("rho", rho))))

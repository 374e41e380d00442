"""What is wanted at each step of a series: sums of the last steps, of all so far, or of those since a date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, is_whole
from discreet.exact.given_values import in_memory
from discreet.workloads.ordered_queries import MOST_CELLS, OrderedQueries

MOST_OPEN = 2**20
"""So many steps has a series whose end is open: 2,870 years of days, 119 of hours."""
ALL = "all"
"""The window that holds everything so far."""

Window = int | str
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepWindows:
    """For each window and step the first step that it holds; -1 where so many have not passed yet.

    >>> StepWindows.of(4, (1, 3, "all")).number
    10
    """

    steps: int
    first: Mapping[Window, Places]

    @classmethod
    def of(cls, steps: int, windows: Sequence[Window] = (1,), begins: Mapping[str, ArrayLike] | None = None) -> Self:
        """Windows over so many steps.

        Args:
            steps: how many there are in all, up to 4,096.
            windows: the numbers of steps that are summed; "all" for everything so far; or a name of `begins`.
            begins: of windows with a calendar, such as the month so far: for each step the first that it holds.

        Raises:
            InvalidParameter: no windows, one that is none, or one that is wider than all steps.
        """
        number = at_least_one("steps", steps)
        if number > MOST_CELLS:
            cure = "take longer steps, or leave the end open."
            raise InvalidParameter(expected(f"at most {MOST_CELLS:,} steps", "steps", steps, cure))
        return cls._of(number, windows, begins)

    @classmethod
    def open_ended(
        cls, windows: Sequence[Window] = (1,), begins: Mapping[str, ArrayLike] | None = None, steps: int = MOST_OPEN
    ) -> Self:
        """Windows over as many steps as anybody will ever want, or as a calendar has."""
        return cls._of(min(at_least_one("steps", steps), MOST_OPEN), windows, begins)

    @classmethod
    def _of(cls, number: int, windows: Sequence[Window], begins: Mapping[str, ArrayLike] | None) -> Self:
        named = dict(begins or {})
        listed = list(windows) if not isinstance(windows, str) and in_memory(windows) else []
        known = ["whole numbers of steps", repr(ALL), *map(repr, named)]
        cure = f"windows=(1, 7, 28, {ALL!r}) has the last step, the last 7, the last 28, and all so far."
        if not listed or len(set(map(str, listed))) < len(listed):
            raise InvalidParameter(expected("windows, each once", "windows", windows, cure))
        places, first = np.arange(number, dtype=np.int64), dict[Window, Places]()
        for window in listed:
            if window == ALL:
                first[ALL] = np.zeros(number, dtype=np.int64)
            elif isinstance(window, str) and window in named:
                first[window] = np.asarray(named[window], dtype=np.int64)
            elif is_whole(window) and 1 <= window <= number:
                first[int(window)] = np.where(places >= window - 1, places - window + 1, -1)
            else:
                what = f"{', '.join(known[:-1])} or {known[-1]}, up to {number:,} steps"
                raise InvalidParameter(expected(what, "windows", window, cure))
        return cls(number, first)

    @property
    def number(self) -> int:
        """How many sums there are in all."""
        return sum(int(np.count_nonzero(own >= 0)) for own in self.first.values())

    def queries(self) -> OrderedQueries:
        """All sums as linear queries on the steps."""
        begun = np.zeros((self.steps, self.steps))
        for own in self.first.values():
            ends = np.flatnonzero(own >= 0)
            np.add.at(begun, (own[ends], ends), 1.0)
        # How many sums hold both of two steps: those that begin no later than the first and end no sooner than the last
        held = np.cumsum(np.cumsum(begun, axis=0)[:, ::-1], axis=1)[:, ::-1]
        return OrderedQueries(self.steps, self.number, np.triu(held) + np.triu(held, 1).T)

    def sums(self, values: NDArray[Any], window: Window) -> NDArray[Any]:
        """The sums of a window over the first steps, along the first axis, for the steps at which it is full."""
        so_far = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
        own = self.first[window][: len(values)]
        ends = np.flatnonzero(own >= 0)
        found: NDArray[Any] = so_far[ends + 1] - so_far[own[ends]]
        return found

    def full(self, window: Window, steps: int | None = None) -> NDArray[np.intp]:
        """The steps at which a window is full, among the first ones or all."""
        return np.flatnonzero(self.first[window][:steps] >= 0)

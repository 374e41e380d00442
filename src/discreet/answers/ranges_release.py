"""A histogram from which every sum of neighboring bins, the cumulative distribution and the quantiles follow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.answers.batch_release import BatchRelease
from discreet.answers.linear_combination import Combination
from discreet.answers.range_statistics import RangeStatistics, checked_range, checked_share, confidence_at_edges
from discreet.answers.receipt import Receipt
from discreet.answers.release import Release
from discreet.errors import InvalidParameter, expected
from discreet.guesses.answer_words import RANGES, ReleasedNames
from discreet.planning.planner import level
from discreet.workloads.cell_tables import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class QuantileInterval(NamedTuple):
    """A quantile from noisy bins: a value within a bin, and the edges that it lies between."""

    value: float
    low: Any
    high: Any


class NoisyBins(ReleasedNames):
    """An answer that follows from noisy bins."""

    def __init__(self, batch: BatchRelease, edges: Sequence[Any], confidence: float) -> None:
        self._batch, self._confidence = batch, confidence
        self.edges: tuple[Any, ...] = tuple(edges)
        """Those of the bins; a bin holds its lower edge, the last one its upper edge too."""

    @property
    def table(self) -> Release:
        """The bins themselves, unbiased; where there are groups, those of all."""
        (bins,) = self._batch.values()
        return bins

    @property
    def receipt(self) -> Receipt:
        """What was promised and how it was kept."""
        return self._batch.receipt


class RangesRelease(NoisyBins):
    """The noisy bins of a column, and all that follows from sums of neighboring ones.

    >>> from discreet.testing import people
    >>> question = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    >>> ages = question.release(epsilon=1)
    >>> adults = ages.between(20, 70)
    >>> adults.low <= adults.value <= adults.high
    True
    """

    _ask: ClassVar[str] = "ask for a range, answer.between(18, 65), or for answer.table."
    _instead = RANGES

    def __init__(self, batch: BatchRelease, edges: Sequence[Any], confidence: float, *, group: int = 0) -> None:
        super().__init__(batch, edges, confidence)
        self._group = group

    @property
    def _figures(self) -> RangeStatistics:
        return RangeStatistics(np.asarray(self.table["count"])[None, :], self.edges, self._combination)

    def _combination(self, weights: Reals) -> Combination:
        """The bins, each times its weight; its noise is that of this group alone."""
        (bins,) = self._batch
        found = self._batch.weighted(bins, "count", weights)
        forms = {(block, component + self._group): form for (block, component), form in found.forms.items()}
        return replace(found, forms=forms)

    def between(self, low: Any, high: Any) -> Combination:
        """The rows from one edge to below another; to a value that is no edge, of no range that was asked for.

        Raises:
            InvalidParameter: an end is no edge, or they are not in rising order.
        """
        return self._combination(checked_range(self.edges, low, high))

    def difference(self, first: Sequence[Any], second: Sequence[Any], /) -> Combination:
        """The rows of one range less those of another; what both have in common, bins or noise, is in neither its value
        nor its interval.

        Args:
            first: the range to count, as two edges, of which ``between`` would take both.
            second: the range to take away.

        >>> from discreet.testing import people
        >>> ages = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5).release(epsilon=1)
        >>> gap = ages.difference((20, 40), (40, 70))
        >>> gap.low <= gap.value <= gap.high
        True

        Raises:
            InvalidParameter: something else than two edges in rising order.
        """
        wanted = [checked_range(self.edges, *_ends(name, one)) for name, one in (("first", first), ("second", second))]
        return self._combination(wanted[0] - wanted[1])

    def cdf(self, confidence: float | None = None) -> pa.Table:
        """The share of the rows below each edge, with its interval, for each edge by itself.

        Returns:
            Columns ``edge``, ``share``, ``share_low``, ``share_high``; shares never fall from one edge to the next.
        """
        wanted = self._confidence if confidence is None else confidence_at_edges(self.edges, confidence)
        found = self._figures.shares(wanted)
        names = ("share", "share_low", "share_high")
        return pa.table({"edge": list(self.edges)} | {name: one[0] for name, one in zip(names, found, strict=True)})

    def quantile(self, share: object, confidence: float | None = None) -> QuantileInterval:
        """The value below which a share of the rows lies: within its bin as if rows were spread evenly there; and the
        edges that hold it with the stated confidence.

        >>> from discreet.testing import people
        >>> ages = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5).release(epsilon=8)
        >>> found = ages.quantile(0.5)
        >>> found.low <= found.high
        True
        """
        wanted = self._confidence if confidence is None else level(confidence)
        return QuantileInterval(*(one[0] for one in self._figures.quantiles(checked_share(share), wanted)))

    def plot(self, *, ax: object = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """The bins as bars with their error bars; `ax` draws in axes of yours, `path` saves the figure."""
        return self.table.plot("count", kind="bars", ax=ax, path=path)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _ends(name: str, given: Sequence[Any]) -> tuple[Any, Any]:
    """The two edges of a range, refused where there are not two."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != 2:
        raise InvalidParameter(expected("two edges", name, given, "write .difference((20, 45), (45, 70))."))
    return given[0], given[1]

"""A histogram from which every sum of neighboring bins, the cumulative distribution and the quantiles follow.

Claim
    `between` and `cdf` hold the exact figures, and `quantile` an edge interval that holds the quantile of the rows in
    the bins, each with the stated confidence.
Requires
    Noise of the law that the plan states. For `quantile`, a row in some bin.
Relies on
    `answers.combination` for the interval of a linear combination of bins.
Proof
    *Share below an edge.* F rows of N: F and N are in their intervals, each at half of the miss probability, so with
    the stated confidence in both; and F / N is between the quotients of their ends.
    *Quantile.* It lies in a bin for which at most q N rows are below the lower edge, and at least q N up to the upper
    one. The bins that are kept are those whose lower edge may have F - q N <= 0 and whose upper edge may have
    F - q N >= 0, each by the end of an interval that misses on that side with at most half of the miss probability;
    noise is symmetric. The bin of the quantile is left out with at most the sum of both.
Rounding
    As of the combinations.
Source
    Thompson, "On confidence ranges for the median and other expectation distributions for populations of unknown
    distribution form" (1936), for rows; here for noise.
Mutant
    lower-edges-alone: a bin is kept for its lower edge alone; killed by test_quantiles_of_ranges_are_held.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.answers.batch_release import BatchRelease
from discreet.answers.combination import Combination
from discreet.answers.receipt import Receipt
from discreet.answers.release import Release
from discreet.errors import InvalidParameter, NoTruth, expected
from discreet.exact.amounts import confidence_level
from discreet.planning.planner import level

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class QuantileInterval(NamedTuple):
    """A quantile from noisy bins: a value within a bin, and the edges that it lies between."""

    value: float
    low: Any
    high: Any


class RangesRelease(NoTruth):
    """The noisy bins of a column, and all that follows from sums of neighboring ones.

    >>> from discreet.testing import people
    >>> question = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    >>> ages = question.release(epsilon=1)
    >>> adults = ages.between(20, 70)
    >>> adults.low <= adults.value <= adults.high
    True
    """

    _ask: ClassVar[str] = "ask for a range, answer.between(18, 65), or for answer.table."

    def __init__(self, batch: BatchRelease, edges: Sequence[Any], confidence: float) -> None:
        self._batch, self._confidence = batch, confidence
        self.edges: tuple[Any, ...] = tuple(edges)
        """Those of the bins; a bin holds its lower edge, the last one its upper edge too."""

    @property
    def table(self) -> Release:
        """The bins themselves, unbiased."""
        return self._batch["bins"]

    @property
    def receipt(self) -> Receipt:
        """What was promised and how it was kept."""
        return self._batch.receipt

    def between(self, low: Any, high: Any) -> Combination:
        """The rows from one edge to below another; to a value that is no edge, of no range that was asked for.

        Raises:
            InvalidParameter: an end is no edge, or they are not in rising order.
        """
        places = []
        for name, end in (("low", low), ("high", high)):
            if np.ndim(end) or end not in self.edges:
                at = bisect.bisect_left(self.edges, end) if type(end) is type(self.edges[0]) else 0
                near = [str(one) for one in self.edges[max(0, at - 1) : at + 1]]
                cure = f"bins are not cut: write {' or '.join(near)}."
                raise InvalidParameter(expected("an edge of the bins", name, end, cure))
            places.append(self.edges.index(end))
        if places[0] >= places[1]:
            raise InvalidParameter(expected("low below high", "low, high", (low, high), "write the smaller end first."))
        return self._sum(*places)

    def _sum(self, first: int, last: int) -> Combination:
        chosen = np.zeros(len(self.edges) - 1)
        chosen[first:last] = 1.0
        return self._batch.weighted("bins", "count", chosen)

    def cdf(self, confidence: float | None = None) -> pa.Table:
        """The share of the rows below each edge, with its interval, for each edge by itself.

        Returns:
            Columns ``edge``, ``share``, ``share_low``, ``share_high``; shares never fall from one edge to the next.
        """
        wanted = self._confidence if confidence is None else level(confidence)
        half = 1 - (1 - wanted) / 2
        bins = len(self.edges) - 1
        below = self._rising()
        least, most = self._sum(0, bins).interval(half)
        shares, lows, highs = [0.0], [0.0], [0.0]
        for last in range(1, bins):
            low, high = self._sum(0, last).interval(half)
            shares.append(float(below[last] / below[-1]) if below[-1] > 0 else 0.0)
            lows.append(min(1.0, max(0.0, low / most)) if most > 0 else 0.0)
            highs.append(min(1.0, max(0.0, high / least)) if least > 0 else 1.0)
        names = ("edge", "share", "share_low", "share_high")
        return pa.table(dict(zip(names, (list(self.edges), [*shares, 1.0], [*lows, 1.0], [*highs, 1.0]), strict=True)))

    def _rising(self) -> Any:
        """The rows below each edge by least squares among all counts that never fall."""
        from scipy.optimize import isotonic_regression

        sums = np.concatenate([[0.0], np.cumsum(self.table["count"])])
        return np.maximum(isotonic_regression(sums).x, 0.0)

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
        part = float(confidence_level(share))
        bins = len(self.edges) - 1
        whole = self._sum(0, bins)
        ends = [(-part * whole).interval(wanted)]
        ends += [(self._sum(0, last) - part * whole).interval(wanted) for last in range(1, bins)]
        ends += [((1 - part) * whole).interval(wanted)]
        kept = [place for place in range(bins) if ends[place][0] <= 0.0 <= ends[place + 1][1]]
        low, high = (self.edges[kept[0]], self.edges[kept[-1] + 1]) if kept else (self.edges[0], self.edges[-1])
        below = self._rising()
        at = part * below[-1]
        place = min(int(np.searchsorted(below, at, side="right")) - 1, bins - 1) if below[-1] > 0 else 0
        rows = below[place + 1] - below[place]
        inside = float((at - below[place]) / rows) if rows > 0 else 0.5
        start, end = self.edges[place], self.edges[place + 1]
        finite = all(isinstance(one, int | float) and np.isfinite(one) for one in (start, end))
        value = start + inside * (end - start) if finite or not isinstance(start, int | float) else start
        return QuantileInterval(value, low, high)

    def plot(self, *, ax: object = None, path: Any = None) -> Figure:
        """The bins as bars with their error bars; `ax` draws in axes of yours, `path` saves the figure."""
        return self.table.plot("count", kind="bars", ax=ax, path=path)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

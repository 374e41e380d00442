"""What follows from noisy bins that were measured for sums of neighboring ones: shares below each edge, and quantiles.

Claim
    `shares` hold the exact figures, and `quantiles` an edge interval that holds the quantile of the rows in the bins,
    each with the stated confidence, in each group by itself.
Requires
    Noise of the law that the plan states, and in each group of the same law. For `quantiles`, a row in some bin.
Relies on
    `answers.linear_combination` for the interval of a linear combination of bins.
Proof
    *Share below an edge.* F rows of N: F and N are in their intervals, each at half of the miss probability, so with
    the stated confidence in both; and F / N is between the quotients of their ends.
    *Quantile.* It lies in a bin for which at most q N rows are below the lower edge, and at least q N up to the upper
    one. The bins that are kept are those whose lower edge may have F - q N <= 0 and whose upper edge may have
    F - q N >= 0, each by the end of an interval that misses on that side with at most half of the miss probability;
    noise is symmetric. The bin of the quantile is left out with at most the sum of both.
    *Values* fit all counts together, ends those at one edge: an end beyond which its value lies is moved to it.
    *Groups.* How far a combination may be off depends on its coefficients alone, which are those of each group.
Rounding
    As of the combinations.
Source
    Thompson, "On confidence ranges for the median and other expectation distributions for populations of unknown
    distribution form" (1936), for rows; here for noise.
Mutant
    values-beyond-their-ends: the ends need not hold the value; killed by test_quantiles_lie_between_their_ends.
    lower-edges-alone: a bin is kept for its lower edge alone; killed by test_quantiles_of_ranges_are_held.
    share-of-the-first-group: shares are of the rows of the first group; killed by
    test_groups_have_the_figures_of_each_by_itself.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.answers.linear_combination import Combination
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction
from discreet.planning.planner import level
from discreet.workloads.cell_tables import Reals


class Shares(NamedTuple):
    """Shares of the rows below each edge, and the ends of their intervals: arrays of shape (groups, edges)."""

    values: Reals
    low: Reals
    high: Reals


class Quantiles(NamedTuple):
    """For each group a value, and the edges that the quantile lies between."""

    values: list[Any]
    low: list[Any]
    high: list[Any]


def checked_share(share: object) -> float:
    """A share of the rows strictly between 0 and 1."""
    stated = fraction("share", share)
    if not (0 < stated < 1 and 0 < float(stated) < 1):
        cure = "write .quantile(0.5) for the median; .between(low, high) counts the rows between two edges."
        raise InvalidParameter(expected("a share of the rows between 0 and 1", "share", share, cure))
    return float(stated)


def confidence_at_edges(edges: Sequence[Any], confidence: object) -> float:
    """The confidence of the shares at all edges, in place of which one of them may have been meant."""
    try:
        return level(confidence)
    except InvalidParameter:
        cure = f".cdf() has all edges; for the rows below one of them write .between({edges[0]}, edge)."
        raise InvalidParameter(expected("a confidence between 0 and 1", "confidence", confidence, cure)) from None


def checked_range(edges: Sequence[Any], low: Any, high: Any) -> Reals:
    """1 for the bins from one edge to below another, 0 for all others; refuses ends that are no edges."""
    places = []
    for name, end in (("low", low), ("high", high)):
        if not isinstance(end, Number | str | date | np.generic) or end not in edges:
            at = bisect.bisect_left(edges, end) if type(end) is type(edges[0]) else 0
            near = [str(one) for one in edges[max(0, at - 1) : at + 1]]
            cure = f"bins are not cut: write {' or '.join(near)}."
            raise InvalidParameter(expected("an edge of the bins", name, end, cure))
        places.append(edges.index(end))
    if places[0] >= places[1]:
        raise InvalidParameter(expected("low below high", "low, high", (low, high), "write the smaller end first."))
    return chosen(edges, *places)


def chosen(edges: Sequence[Any], first: int, last: int) -> Reals:
    """1 for the bins from one place to below another, 0 for all others."""
    found = np.zeros(len(edges) - 1)
    found[first:last] = 1.0
    return found


@dataclass(frozen=True, eq=False)
class RangeStatistics:
    """The noisy bins of some groups, a row each, and the noise of any combination of those of one."""

    counts: Reals
    edges: Sequence[Any]
    combination: Callable[[Reals], Combination]
    """Of the bins of one group, by their weights."""

    def _reach(self, weights: Reals, confidence: float) -> float:
        """By how much a combination may be off."""
        found = self.combination(weights)
        return found.interval(confidence)[1] - found.value

    def _below(self) -> Reals:
        """The rows below each edge."""
        return np.concatenate([np.zeros((len(self.counts), 1)), np.cumsum(self.counts, axis=1)], axis=1)

    def _rising(self) -> Reals:
        """The same by least squares among all counts that never fall."""
        from scipy.optimize import isotonic_regression

        return np.maximum([isotonic_regression(one).x for one in self._below()], 0.0)

    def shares(self, confidence: float) -> Shares:
        """The share of the rows below each edge, which never falls from one to the next."""
        half, bins = 1 - (1 - confidence) / 2, len(self.edges) - 1
        rising, below = self._rising(), self._below()
        reach = np.array([self._reach(chosen(self.edges, 0, last), half) for last in range(1, bins + 1)])
        least, most = below[:, -1:] - reach[-1], below[:, -1:] + reach[-1]
        low, high = below[:, 1:-1] - reach[:-1], below[:, 1:-1] + reach[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(rising[:, -1:] > 0, rising[:, 1:-1] / rising[:, -1:], 0.0)
            inner = (
                value,
                np.minimum(value, np.where(most > 0, np.clip(low / most, 0.0, 1.0), 0.0)),
                np.maximum(value, np.where(least > 0, np.clip(high / least, 0.0, 1.0), 1.0)),
            )
        ends = np.zeros((len(below), 1)), np.ones((len(below), 1))
        return Shares(*(np.concatenate([ends[0], one, ends[1]], axis=1) for one in inner))

    def quantiles(self, part: float, confidence: float) -> Quantiles:
        """The value below which a part of the rows lies, within its bin as if rows were spread evenly there."""
        bins = len(self.edges) - 1
        weights = np.concatenate([np.zeros((1, bins)), np.tri(bins)]) - part
        reach = np.array([self._reach(one, confidence) for one in weights])
        beyond = self._below() - part * self.counts.sum(axis=1, keepdims=True)
        kept = (beyond[:, :-1] <= reach[:-1]) & (beyond[:, 1:] >= -reach[1:])
        known = kept.any(axis=1)
        values, places = self._within(part)
        first = np.minimum(places, np.where(known, kept.argmax(axis=1), 0))
        last = np.maximum(places, np.where(known, bins - 1 - kept[:, ::-1].argmax(axis=1), bins - 1))
        return Quantiles(values, [self.edges[i] for i in first], [self.edges[i + 1] for i in last])

    def _within(self, part: float) -> tuple[list[Any], NDArray[np.intp]]:
        """The quantiles of rows that are spread evenly in each bin, and the bins that they are in."""
        rising, bins = self._rising(), len(self.edges) - 1
        wanted = part * rising[:, -1:]
        places = np.minimum((rising <= wanted).sum(axis=1) - 1, bins - 1)
        places = np.where(rising[:, -1] > 0, places, 0)
        each = np.arange(len(rising))
        start, rows = rising[each, places], rising[each, places + 1] - rising[each, places]
        inside = np.where(rows > 0, (wanted[:, 0] - start) / np.where(rows > 0, rows, 1.0), 0.5)
        values = [self._between(int(place), float(one)) for place, one in zip(places, inside, strict=True)]
        return values, places

    def _between(self, place: int, inside: float) -> Any:
        start, end = self.edges[place], self.edges[place + 1]
        finite = all(isinstance(one, int | float) and np.isfinite(one) for one in (start, end))
        return start + inside * (end - start) if finite or not isinstance(start, int | float) else start

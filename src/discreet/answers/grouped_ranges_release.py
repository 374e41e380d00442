"""Histograms of some groups, from which every sum of neighboring bins follows, of all groups at once or of one.

Claim
    What is said of a group, and of all groups, has the intervals that the noise in its bins gives, and sums of bins of
    different groups those of independent noise.
Requires
    The noise of the plan.
Relies on
    `workloads.grouped_matrix`: what is measured in one group has nothing to do with that in another, and is the same
    matrix of its bins. `planning.batch_planner` for the intervals of a table that is a linear form of what is measured.
Proof
    *One group* is the plan of one: the same matrix and noise, and its part of the noisy sums. *Combinations* keep the
    coefficients of each group apart, as those of noise that nothing else has. *A range of all groups* is a table of the
    plan, whose cells are sums of bins: their coefficients are the sums of those of the bins.
Rounding
    As of the tables and combinations.
Source
    None: linear algebra.
Mutant
    noise-of-one-group: sums of two groups are taken to have the noise of one; killed by
    test_differences_of_groups_have_the_noise_of_both.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.batch_release import BatchRelease
from discreet.answers.linear_combination import Combination
from discreet.answers.range_statistics import RangeStatistics, checked_range, checked_share, confidence_at_edges
from discreet.answers.ranges_release import NoisyBins, RangesRelease
from discreet.answers.release import Release
from discreet.answers.table_exports import TableExports
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import GROUPED_RANGES
from discreet.planning.batch_planner import BatchPlan, BatchTable
from discreet.planning.group_keys import Keys
from discreet.planning.planner import level
from discreet.plots.error_bars import Panel, as_floats, bars_figure
from discreet.workloads.cell_tables import CellTable, Reals
from discreet.workloads.grouped_matrix import GroupedMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6
RANGE = "range"


def ranges_answer(bins: BatchRelease, confidence: float) -> RangesRelease | GroupedRangesRelease:
    """What follows from noisy bins, of all rows or in each of some groups, as their plan says."""
    asked = bins._plan.query  # noqa: SLF001 (of this room)
    made = GroupedRangesRelease if len(asked.sizes) > 1 else RangesRelease
    return made(bins, asked.edges, confidence)


class GroupedRangesRelease(NoisyBins, TableExports, Mapping[Any, RangesRelease]):
    """The noisy bins of a column in each of some groups, by key, and all that follows from sums of neighboring ones.

    >>> from discreet.testing import people
    >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
    >>> ages = groups.histogram("age", bins=11, ranges=True).release(epsilon=1)
    >>> ages.between(20, 70).to_pyarrow().column_names
    ['plan', 'count', 'count_low', 'count_high']
    >>> gap = ages["free"].between(20, 70) - ages["50%"].between(20, 70)
    >>> gap.low <= gap.value <= gap.high
    True
    """

    _ask: ClassVar[str] = "ask for a range of all groups, answer.between(18, 65), or for a group, answer['a']."
    _instead = GROUPED_RANGES

    @property
    def _plan(self) -> BatchPlan:
        return self._batch._plan  # noqa: SLF001 (of this room)

    @property
    def _noisy(self) -> Sequence[NDArray[Any]]:
        return self._batch._noisy  # noqa: SLF001 (of this room)

    @cached_property
    def _keys(self) -> Keys:
        """Those of the groups."""
        every, bins = self._plan.query.tables[0].query.keys, len(self.edges) - 1
        if every is None:
            raise TypeError(every)
        return Keys(every.names[:-1], every.kinds[:-1], tuple(row[:-1] for row in every.rows[::bins]))

    @cached_property
    def _places(self) -> dict[Any, int]:
        """Where each group stands, by its key or tuple of keys."""
        return {row[0] if len(row) == 1 else row: place for place, row in enumerate(self._keys.rows)}

    @cached_property
    def _one(self) -> BatchPlan:
        """The plan of one group."""
        (asked,), bins = self._plan.query.tables, len(self.edges) - 1
        every = asked.query.keys
        if every is None or not isinstance(self._plan.strategy, GroupedMatrix):
            raise TypeError(asked)
        keys = Keys(every.names[-1:], every.kinds[-1:], tuple(row[-1:] for row in every.rows[:bins]))
        query = replace(asked.query, keys=keys, groups={name: asked.query.groups[name] for name in keys.names})
        own = replace(asked, query=query, table=CellTable((0,), (None,)))
        whole = replace(self._plan.query, sizes=(bins,), tables=(own,))
        return replace(self._plan, query=whole, strategy=self._plan.strategy.each, runners_up=())

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the keys."""
        return self._keys.names

    def to_pyarrow(self) -> pa.Table:
        """The bins of all groups as an Arrow table."""
        return self.table.to_pyarrow()

    def __getitem__(self, key: Any) -> RangesRelease:
        try:
            place = self._places[key]
        except (KeyError, TypeError):
            cure = nearest_name(key, [str(one) for one in self._places])
            raise InvalidParameter(expected("a key of the groups", "key", key, cure)) from None
        own = [part.reshape(len(self._places), -1, part.shape[-1])[place] for part in self._noisy]
        found = BatchRelease(self._one, own, self.receipt, self._confidence)
        return RangesRelease(found, self.edges, self._confidence, group=place)

    def __contains__(self, key: object) -> bool:
        try:
            return key in self._places
        except TypeError:  # no key is a list
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def between(self, low: Any, high: Any) -> Release:
        """The rows of each group from one edge to below another: an answer like any other, with a row for each group.

        Its column is ``count``; ``.intervals(simultaneous=True)`` holds all groups at once.

        >>> from discreet.testing import people
        >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
        >>> ages = groups.histogram("age", bins=11, ranges=True).release(epsilon=1)
        >>> ages.between(20, 70).intervals(0.9, simultaneous=True)["plan"].to_pylist()
        ['free', '25%', '50%']

        Raises:
            InvalidParameter: an end is no edge, or they are not in rising order.
        """
        rows, plan = checked_range(self.edges, low, high)[None, :], self._plan
        (asked,) = plan.query.tables
        if not isinstance(plan.strategy, GroupedMatrix):
            raise TypeError(plan.strategy)
        groups = {name: asked.query.groups[name] for name in self.groups}
        query = replace(asked.query, keys=self._keys, groups=groups)
        own = BatchTable(name=RANGE, query=query, table=CellTable((0, 1), (None, rows.astype(np.int64))), places=(0,))
        strategy = GroupedMatrix(plan.query.sizes[:-1], plan.strategy.each.adding(rows))
        summed = replace(plan, query=replace(plan.query, tables=(own,)), strategy=strategy, runners_up=())
        return BatchRelease(summed, self._noisy, self.receipt, self._confidence)[RANGE]

    def difference(self, first: Any, second: Any, low: Any, high: Any, /) -> Combination:
        """The rows of one group from one edge to below another, less those of another group.

        Args:
            first: the key, or tuple of keys, of the group to count.
            second: that of the group to take away.
            low: the lower edge.
            high: the upper edge.

        >>> from discreet.testing import people
        >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
        >>> ages = groups.histogram("age", bins=11, ranges=True).release(epsilon=1)
        >>> gap = ages.difference("free", "50%", 20, 70)
        >>> gap.low <= gap.value <= gap.high
        True

        Raises:
            InvalidParameter: an unknown group, or an end is no edge, or they are not in rising order.
        """
        return self[first].between(low, high) - self[second].between(low, high)

    @property
    def _figures(self) -> RangeStatistics:
        """Of all groups; what is off by how much is the same in each."""
        first = next(iter(self.values()))
        counts: Reals = np.asarray(self.table["count"]).reshape(len(self._places), -1)
        return RangeStatistics(counts, self.edges, first._combination)  # noqa: SLF001 (of this room)

    def _level(self, confidence: float | None, simultaneous: object, figures: int) -> float:
        """The confidence of each of so many figures."""
        wanted = self._confidence if confidence is None else level(confidence)
        return 1 - (1 - wanted) / figures if flag("simultaneous", simultaneous) else wanted

    def cdf(self, confidence: float | None = None, *, simultaneous: bool = False) -> pa.Table:
        """The share of the rows of each group below each edge, with its interval: each by itself, or with
        `simultaneous` all edges and groups at once (Bonferroni).

        Returns:
            The keys, ``edge``, ``share``, ``share_low``, ``share_high``; in each group shares never fall.
        """
        stated = None if confidence is None else confidence_at_edges(self.edges, confidence)
        wanted = self._level(stated, simultaneous, len(self._places) * max(1, len(self.edges) - 2))
        found, edges = self._figures.shares(wanted), len(self.edges)
        keys = self._keys.to_arrow().take(np.repeat(np.arange(len(self._places)), edges))
        table = keys.append_column(self._free("edge"), pa.array(list(self.edges) * len(self._places)))
        for name, one in zip(("share", "share_low", "share_high"), found, strict=True):
            table = table.append_column(self._free(name), pa.array(one.reshape(-1)))
        return table

    def quantile(self, share: object, confidence: float | None = None, *, simultaneous: bool = False) -> pa.Table:
        """The value below which a share of the rows of each group lies, within its bin as if rows were spread evenly
        there; and the edges that hold it with the stated confidence: each group by itself, or all at once.

        Returns:
            The keys, ``value``, ``low``, ``high``.

        >>> from discreet.testing import people
        >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
        >>> ages = groups.histogram("age", bins=11, ranges=True).release(epsilon=8)
        >>> ages.quantile(0.5).column_names
        ['plan', 'value', 'low', 'high']
        """
        wanted = self._level(confidence, simultaneous, len(self._places))
        found, table = self._figures.quantiles(checked_share(share), wanted), self._keys.to_arrow()
        for name, column in zip(("value", "low", "high"), found, strict=True):
            table = table.append_column(self._free(name), pa.array(column))
        return table

    def _free(self, name: str) -> str:
        """A name that no key has."""
        return next(one for one in itertools.accumulate(itertools.repeat("_"), initial=name) if one not in self.groups)

    def plot(self, *keys: Any, ax: object = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """The bins of some groups, or of all, as bars with their error bars, a panel for each group; `ax` draws in axes
        of yours, as many as groups, `path` saves the figure.
        """
        if unknown := [key for key in keys if key not in self]:
            raise InvalidParameter(
                expected("keys of the groups", "keys", unknown[0], nearest_name(unknown[0], list(map(str, self))))
            )
        shown = keys or tuple(self)
        if len(shown) > MOST_PANELS:
            cure = "name those that you want, answer.plot('a', 'b')."
            raise InvalidParameter(expected(f"at most {MOST_PANELS} groups in a picture", "keys", len(shown), cure))
        table, bins = self.table.to_pyarrow(), len(self.edges) - 1
        panels = []
        for key in shown:
            own = table.slice(self._places[key] * bins, bins)
            title = " · ".join(map(str, key)) if isinstance(key, tuple) else str(key)
            values = (as_floats(own[f"count{end}"].to_pylist()) for end in ("", "_low", "_high"))
            panels.append(Panel(title, *values))
        by = table.column_names[len(self.groups)]
        names = table[by].to_pylist()[:bins]
        caption = self.table._caption()  # noqa: SLF001 (of this room)
        return bars_figure(names, panels, caption=caption, by=by, ax=ax, path=path)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

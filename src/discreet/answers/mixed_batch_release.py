"""The answer to a batch beside questions with noise of their own: tables, ranges, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from discreet.answers.batch_release import BatchRelease
from discreet.answers.grouped_ranges_release import GroupedRangesRelease
from discreet.answers.ranges_release import RangesRelease
from discreet.answers.release import Release
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.table_names import Name


class MixedBatchRelease(BatchRelease):
    """Tables that were released for one charge, by name; in place of a table, all that a question about ranges gives.

    Listed tables agree with each other, as those of any batch. What stands beside them has noise of its own.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> table = people()
    >>> ages = table.histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    >>> answer = dp.batch(by_age=ages, everybody=table.count(), max_groups=1, max_rows=5).release(epsilon=2)
    >>> answer["by_age"].between(20, 70).high > answer["by_age"].between(20, 70).low
    True
    >>> len(answer["everybody"]), answer.to_pyarrow().num_rows
    (1, 12)
    """

    def __init__(
        self,
        plan: MixedBatchPlan,
        noisy: Sequence[NDArray[Any]],
        facts: Mapping[str, Any],
        confidence: float,
        *,
        found: Mapping[str, Release],
        ranges: Mapping[str, RangesRelease | GroupedRangesRelease],
    ) -> None:
        apart = {**found, **{name: one.table for name, one in ranges.items()}}
        super().__init__(plan.listed, noisy, facts, confidence, apart=apart, names=plan.names)
        self._ranges: dict[Name, Any] = {}
        self._ranges.update(ranges)

    def __getitem__(self, name: Any) -> Any:
        own = self._name(name)
        return self._ranges[own] if own in self._ranges else self._tables[own]

"""A target for the accuracy of released counts, as a test of them: the share of the largest group of each place.

It compares with exact counts, so it is for whoever has them: the curator before a release is published, or anybody
where the counts are public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one


@dataclass(frozen=True)
class TargetReport:
    """How many places there are of a size, and the part of them that is near enough."""

    places: int
    met: int
    wanted: float

    @property
    def share(self) -> float:
        """The part of the places whose largest group has nearly its share; 1 where there is no such place."""
        return self.met / self.places if self.places else 1.0

    @property
    def ok(self) -> bool:
        """Whether that is as many as wanted."""
        return self.share >= self.wanted


def largest_group_target(
    exact: pa.Table,
    released: pa.Table,
    *,
    group: str,
    count: str = "n",
    least: int = 500,
    points: float = 5.0,
) -> TargetReport:
    """Whether the largest group of 95 of 100 places of so many people has its share within so many percentage points:
    the target that the United States Census Bureau set for its files of 2020.

    Args:
        exact: a row for each place and group: the columns that name the place, the group, the exact count.
        released: the same of a release, as `pyarrow.parquet.read_table` gives a file of a hierarchy; further columns
            are left out.
        group: the column that names the group.
        count: the column of counts.
        least: the people that a place has at least to be looked at.
        points: by how many percentage points the share may be off.

    Raises:
        InvalidParameter: there are other places or groups in one table than in the other, or a column is missing.

    >>> exact = pa.table({"county": [1, 1, 2, 2], "sex": ["f", "m"] * 2, "n": [600, 400, 900, 100]})
    >>> released = exact.set_column(2, "n", pa.array([601, 397, 840, 160]))
    >>> report = largest_group_target(exact, released, group="sex")
    >>> report.places, report.met, report.ok
    (2, 1, False)
    """
    at_least_one("least", least)
    names = [name for name in exact.column_names if name not in (group, count)]
    for table, title in ((exact, "exact"), (released, "released")):
        if missing := [name for name in (*names, group, count) if name not in table.column_names]:
            raise InvalidParameter(expected("places, groups and counts", title, missing[0], "add that column."))
    order = [(name, "ascending") for name in (*names, group)]
    truth, found = (table.select([*names, group, count]).sort_by(order) for table in (exact, released))
    if truth.drop_columns([count]).to_pydict() != found.drop_columns([count]).to_pydict():
        raise InvalidParameter(expected("the places and groups of the other", "released", "others", "compare levels."))
    groups = len(set(truth[group].to_pylist()))
    if not groups or truth.num_rows % groups:
        cure = "add those of 0 people."
        raise InvalidParameter(expected("all groups in each place", "exact", f"{truth.num_rows:,} rows", cure))
    one, other = (np.asarray(table[count].to_numpy(), dtype=np.float64).reshape(-1, groups) for table in (truth, found))
    people, rank = one.sum(axis=1), np.arange(len(one))
    largest = one.argmax(axis=1)
    shares = one[rank, largest] / np.maximum(people, 1), other[rank, largest] / np.maximum(other.sum(axis=1), 1)
    looked_at = people >= least
    met = looked_at & (100 * np.abs(shares[0] - shares[1]) < points)
    return TargetReport(places=int(looked_at.sum()), met=int(met.sum()), wanted=0.95)

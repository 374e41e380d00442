"""The columns that statements generate for one block of a plan, by what they hold; no name means two things."""

from __future__ import annotations


class Columns:
    """The names of the i-th block's columns. Those of several are functions of a place from 0."""

    def __init__(self, i: int) -> None:
        # Of a row.
        self.counted = f"counted_{i}"
        """Whether the row counts: the block's condition."""
        self.value = f"value_{i}_{{}}".format
        """A column's lattice integer, before it is clipped."""
        self.share = f"share_{i}_{{}}".format
        """Where in its range a column's value lies, from 0 to 1."""
        self.high = f"high_{i}_{{}}".format
        """The Bernstein polynomial of a column that is largest at the top of its range, in steps."""
        self.middle = f"middle_{i}_{{}}".format
        """That of degree 2 that is largest between."""
        self.low = f"low_{i}_{{}}".format
        """That which is largest at the bottom."""
        self.part = f"part_{i}_{{}}".format
        """What the row adds to a total: an integer within its ends; NULL where the row does not count."""
        # Of a unit's rows in a group, as the engine finds them.
        self.rows = f"rows_{i}"
        """The number of rows that count."""
        self.held = f"held_{i}"
        """The number of those that have a value."""
        self.sum = f"sum_{i}_{{}}".format
        """The sum of a part."""
        self.packed = f"packed_{i}"
        """Rows, held and the first sum in the digits of one number."""
        # Of a unit's rows in a group, within the unit's limits.
        self.rows_kept = f"rows_kept_{i}"
        """The number of rows that count, at most the limit."""
        self.least, self.most = f"least_{i}", f"most_{i}"
        """The ends of what these can add."""
        self.scaled = f"scaled_{i}_{{}}".format
        """A sum, scaled down to the rows kept."""
        self.entry = f"entry_{i}_{{}}".format
        """What the unit adds to a part."""
        self.whole = f"whole_{i}"
        """What its entries and the complement add up to."""
        # Of a group.
        self.total = f"total_{i}_{{}}".format
        """A component: the sum over all units, or rows, of the answer."""

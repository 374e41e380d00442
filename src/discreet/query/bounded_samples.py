"""The first rows of a table by a public order, and all others: how many of them one unit changes.

Claim
    Let a unit have at most k rows. Adding it or removing it changes at most 2 k rows of `take`, those that go and those
    that come; `skip` makes with it what it makes without it, and at most k rows more.
Requires
    Nothing of the rows, nor of how they are stored.
Relies on
    `planning.contribution_bounding.in_order`, which compares two rows by what they hold, and `keep`, by the unit.
    Whoever asks about the result pays for that many rows: `Declaration.rows_changed`.
Proof
    Where units are columns, each keeps k rows, chosen by a hash of its own rows; where rows are units, one has k
    (`Declaration.rows_changed`). Let A be the rows with a unit and B those without its k rows. All stand in one order,
    in which two rows are compared by themselves alone; equal rows are one row to all that follows. A row of B has at
    most as many rows before it in B as in A. So what `take` has of A and not of B is of the unit, k rows at most; the
    rest of what it has of A it has of B, and what it has of B besides fills no more places than these: k. What `skip`
    has of B it has of A, where no row stands further to the front. What it has of A besides is one of the k rows, or
    has been moved behind the n-th place by one of those that are not: k together. Each row taken adds at most `steps`
    in L1 norm to a block of linear totals, whichever way it goes, and what asks more of a unit than that is refused.
    Of rows that are units, the rows of `skip` come or go all at once, as a unit's own do.
Rounding
    None here.
Source
    Take and Skip of LINQ, which the download of McSherry, "Privacy integrated queries" (2009), has in the order of the
    source, at the charge of one record each. A hash in its place is public and looks at one row; the row that moves up
    is the second one that `take` is charged for.
Mutant
    next-row-forgotten: the row that takes the place of another is not counted; killed by
    test_a_unit_changes_no_more_rows_than_is_claimed.
    one-row-too-many: one row more is taken than was asked for; killed by test_so_many_rows_are_taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import ibis

from discreet.errors import InvalidQuery, expected
from discreet.planning.contribution_bounding import RANK, in_order, keep, units
from discreet.planning.contribution_limits import check_moved, checked_limit
from discreet.privacy.definitions import Neighbors
from discreet.query.query_steps import Chain, without_signs


class BoundedSamples(Chain):
    """The verbs that take so many rows, or all others."""

    def take(self, rows: int) -> Self:
        """At most so many rows of the whole table: the first by a hash of what they hold, never by how they are stored.

        One unit's row takes the place of another's, so that it changes twice as many rows as it has: `max_rows`, which
        is enforced first, or one where each row is a unit. As after a join on other keys, counts, sums, means and
        variances by public keys can be asked of the result. Needs add-remove neighbors.

        >>> from discreet.testing import people
        >>> people().take(1000).agg(visits=lambda t: t.visits.mean())
        <question about 'people': visits>
        """
        return self._sampled("take", rows)

    def skip(self, rows: int) -> Self:
        """All rows but those that ``.take(rows)`` has; where each row is a unit, one changes no more than one of them.

        >>> from discreet.testing import people
        >>> people().skip(1000).agg(visits=lambda t: t.visits.mean())
        <question about 'people': visits>
        """
        return self._sampled("skip", rows)

    def _sampled(self, verb: str, stated: object) -> Self:
        number, declared = checked_limit("rows", stated), self._source.declaration
        check_moved(declared, "table")
        if declared.neighbors is not Neighbors.ADD_REMOVE and (verb == "take" or declared.unit):
            cure = "leave it out, or take rows before the table is protected."
            raise InvalidQuery(expected("add-remove neighbors", "neighbors", declared.neighbors.value, cure))
        most, hidden = self._most_of_a_unit(), units(self._relation)
        rows = without_signs(self._relation)
        if hidden:
            rows = keep(rows, unit=hidden, key=list(self._columns), limit=most).drop(RANK)
        ranked = rows.mutate(ibis.row_number().over(order_by=in_order(rows, list(self._columns))).name(RANK))
        kept = ranked[RANK] < number if verb == "take" else ranked[RANK] >= number
        shown = {name: value for name, value in self._columns.items() if name not in declared.unit}
        relation = ranked.filter(kept).select(*shown)
        table = self._with(relation, shown, shown, conditions=1)
        if declared.unit or verb == "take":
            table = replace(table, _source=self._source.rowwise(most * (2 if verb == "take" else 1)), _most_rows=None)
        return table._recorded(self, verb, rows=number)

    def _most_of_a_unit(self) -> int:
        """How many rows of a unit there are, or are kept."""
        known = self._rows_of_a_unit()
        if known is None:
            cure = "give max_rows=... to dp.protect: how many rows of one unit are kept. It is enforced, not assumed."
            raise InvalidQuery(expected("max_rows of the table", "max_rows", None, cure))
        return known

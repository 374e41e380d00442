"""Parts of a table by a public key, whose releases share one charge.

Claim
    Two neighbors differ in at most `most` of the parts: max_parts of them where a unit is added or removed, twice as
    many where it is replaced. Where each row is a unit, max_parts is how many rows one has: 1, unless tables were
    united.
Requires
    Nothing of the rows: a unit in more parts counts in those alone where it has the most rows.
Relies on
    `planning.contribution_bounding.keep`; the equality of exact keys. `Source.parts` charges the sum of
    the `most` dearest parts.
Proof
    Keys are distinct and compared exactly, so a row is in one part at most, and m rows are in m parts. In which parts a
    unit counts is decided by the numbers of its own rows under each key, ties by the key: the same whatever other units
    have. So a unit has rows in at most max_parts parts, and a part without them is the same table with that unit and
    without it. Adding or removing one unit changes its own parts; replacing one changes those of the old and those of
    the new one. Steps that follow look at the rows of one part: its source stands beside itself and public tables
    alone.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009), section 4, Theorem 4, where a record has one part.
Mutant
    any-number-of-parts: the parts of a unit are not limited; killed by test_a_unit_moves_no_more_parts_than_it_may.
    one-part-replaced: a replaced unit counts as one that was removed; killed by test_a_replaced_unit_leaves_and_enters.
    parts-of-one-row: a unit in several united tables is in one part; killed by
    test_a_unit_is_in_as_many_parts_as_it_has_rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import ibis
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.arithmetic import name_of
from discreet.language.literals import constant
from discreet.planning.contribution_bounding import keep, units
from discreet.planning.contribution_limits import check_moved, checked_limit
from discreet.planning.group_keys import grouping
from discreet.privacy.declaration import Key
from discreet.privacy.definitions import Neighbors
from discreet.query.query_steps import Chain
from discreet.query.source import Source

MOST_PARTS = 1000
OTHER, NUMBER = "__discreet_part_", "__discreet_number"


class Partitions(Chain):
    """The verb that makes parts."""

    def partition(self, column: Any, *, keys: object = None, max_parts: int | None = None) -> dict[Key, Self]:
        """The parts of this table by the public keys of a column: a protected table for each key, in their order.

        All releases of all parts share one charge. It is the sum of what was spent on the `max_parts` dearest parts
        (twice as many with replace-one neighbors): the same question asked of each part costs as much as asked of
        `max_parts` of them. What is charged is what this sum grows by. Rows with other keys are in no part. A unit in
        more than `max_parts` parts keeps its rows in those where it has the most, ties by the key.

        Parts can be joined to public tables, and not to other protected ones. The record of what each part spent ends
        with this process; what was charged stays charged.

        Args:
            column: the column whose keys make the parts.
            keys: its public keys, where the table was not protected with them.
            max_parts: in how many parts one unit counts. Where each row is a unit, it is left out: one is in as many as
                there are tables that were united.

        >>> from discreet.testing import people
        >>> table = people()
        >>> parts = table.partition("plan", max_parts=1)
        >>> [len(part.count().release(epsilon=1)) for part in parts.values()]
        [1, 1, 1]
        >>> print(table.budget.spent.epsilon)
        1
        """
        check_moved(self._source.declaration, "table")
        name = self._name(column)
        kinds = {name: self._columns[name].kind}
        rows = grouping(kinds, self._keys, None if keys is None else {name: keys}).rows
        listed: list[Key] = [row[0] for row in rows]
        if len(listed) > MOST_PARTS:
            cure = "use .group_by, which answers all groups at once."
            raise InvalidQuery(expected(f"at most {MOST_PARTS:,} parts", "keys", f"{len(listed):,} of them", cure))
        most = min(self._most_parts(max_parts, len(listed)), len(listed))
        replaced = self._source.declaration.neighbors is Neighbors.REPLACE_ONE
        sources = self._source.parts(len(listed), min(2 * most if replaced else most, len(listed)))
        part = self._limited(name, listed, most)._part  # noqa: SLF001 (of this class)
        return {key: part(name, key, source) for key, source in zip(listed, sources, strict=True)}

    def _most_parts(self, stated: int | None, parts: int) -> int:
        """In how many parts one unit can count."""
        unit = self._source.declaration.unit
        if not unit:
            if stated is not None:
                what = "no max_parts where each row is a unit"
                raise InvalidParameter(expected(what, "max_parts", stated, "leave it out."))
            return self._source.declaration.rows_changed
        if stated is None and self._most_rows is None:
            raise InvalidQuery(
                "Expected max_parts, got none.\n"
                f"Hint: say in how many of the {parts:,} parts one {', '.join(unit)} counts: max_parts=1 costs least, "
                f"and max_parts={parts} keeps all rows. It is enforced, not assumed."
            )
        limits = [self._most_rows, None if stated is None else checked_limit("max_parts", stated)]
        return min(limit for limit in limits if limit is not None)

    def _limited(self, name: str, keys: Sequence[Key], most: int) -> Self:
        """The rows that a unit has in at most so many parts."""
        hidden = units(self._relation)
        if not hidden or most >= len(keys) or (self._most_rows or most + 1) <= most:
            return self
        key = self._relation[name]
        known = key.isin([constant(value).expr for value in keys if value is not None])
        rows = self._relation.filter(known | key.isnull() if None in keys else known)
        counted = rows.group_by([*hidden, name]).agg(rows.count().name(NUMBER))
        order = [ibis.desc(counted[NUMBER]), ibis.asc(counted[name], nulls_first=False)]
        kept = keep(counted, unit=hidden, order=order, limit=most).select(*hidden, name)
        kept = kept.rename({f"{OTHER}{column}": column for column in kept.columns})
        same = [rows[column] == kept[f"{OTHER}{column}"] for column in hidden]
        relation = rows.semi_join(kept, [*same, rows[name].identical_to(kept[f"{OTHER}{name}"])])
        return self._with(relation, self._columns, self._columns, conditions=1, keys=self._keys)

    def _part(self, name: str, key: Key, source: Source) -> Self:
        """The rows with one key, under the source that charges for them."""
        column: ir.Value = self._relation[name]
        kept = column.isnull() if key is None else column == constant(key).expr
        made = self._with(self._relation.filter(kept), self._columns, self._columns, conditions=1, keys=self._keys)
        conditions = (*self._conditions, name_of(kept.op()))
        return replace(made, _source=source, _conditions=conditions)._recorded(self, "partition")  # noqa: SLF001 (of this class)

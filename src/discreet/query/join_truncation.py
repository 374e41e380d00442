"""Rows of different units that meet: how many rows of a join on any key one unit can change.

Claim
    Let each side have at most `rows` rows of a unit and keep `matches` rows of a key, as `truncated` does. Adding a
    unit or removing it, in both tables at once, changes at most f_1 rows_1 matches_2 + f_2 rows_2 matches_1 rows of the
    inner join, those that come and those that go together: f is 2, or 1 of a side that keeps the rows of unique keys
    alone.
Requires
    Nothing of the rows.
Relies on
    `planning.contribution_bounding.keep`, by the unit and by the key. Whoever asks about the result pays for that many
    rows, each of which may count once: `Declaration.rows_changed`.
Proof
    Where units are columns, at most `rows` rows of each are kept; where rows are units, one has no more
    (`Declaration.rows_changed`). Which rows of a unit are kept depends on its own rows alone, so before keys are looked
    at neighbors differ in the kept rows of the one unit, at most `rows` on each side. All rows of a key are put in an
    order that compares two rows by themselves alone, and the first `matches` are kept; equal rows are the same row for
    all that follows. Taking j rows of a key away takes at most j of those that were kept, and lets as many others in:
    at most 2 j change. A side that keeps unique keys alone has, of each key, its one row or none: taking j > 0 rows of
    the key away lets the one that is left in, or takes the only one, so at most one row changes. So the kept sides A, B
    and A', B' of the two tables differ, over all keys, in at most f_1 rows_1 and f_2 rows_2 rows. Under one key, A x B
    and A' x B' differ in no more than (A and A' differ) x B and A' x (B and B' differ), where |B| <= matches_2 and
    |A'| <= matches_1. The sum over keys is the claim. Each row of the result adds at most `steps` in L1 norm to a block
    of linear totals, and as much in L2 norm, so M rows move it by M steps in either, whichever way each of them goes.
    What asks more of a unit than that (order statistics, keys to find, limits, units to count, clusters, logs) is
    refused.
Rounding
    None here.
Source
    Truncation of both sides, and the factor of two: Tumult Analytics, "truncation strategies" of private joins
    (DropExcess, DropNonUnique); Kotsogiannis et al., "PrivateSQL" (2019), section 5; McSherry (2009), section 3.
Mutant
    excess-leaves-alone: the rows that take the place of others are not counted; killed by
    test_one_unit_changes_no_more_rows_than_is_claimed.
    united-rows-meet-as-one: a unit has one row in each table, also where tables were united; killed by
    test_neighbors_are_no_further_apart_than_claimed.
    two-of-a-key-are-unique: of a key with two rows both are kept, where none may be; killed by
    test_one_unit_changes_no_more_rows_than_is_claimed.
    keys-unlimited: a key keeps all of its rows; killed by test_one_unit_changes_no_more_rows_than_is_claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import InvalidQuery, expected
from discreet.language.exact_arithmetic import integer
from discreet.planning.contribution_bounding import RANK, keep, units
from discreet.planning.contribution_limits import checked_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ibis.expr.types as ir

    from discreet.query.query_steps import Chain


UNIQUE = "unique"
"""In place of a number of rows of a key: no row of a key that has several."""


class Side(NamedTuple):
    """What one of two tables keeps."""

    rows: int
    """Of a unit."""
    matches: int
    """Of a key."""
    unique: bool = False
    """Whether it keeps no row of a key that has several."""


def sides(first: Chain, second: Chain, matches: object) -> tuple[Side, Side]:
    """What two tables keep; refuses limits that nobody stated."""
    pair = matches if isinstance(matches, tuple) and len(matches) == 2 else (matches, matches)
    one, other = (_side(_rows(table), most) for table, most in zip((first, second), pair, strict=True))
    return one, other


def _side(rows: int, most: object) -> Side:
    unique = isinstance(most, str) and most == UNIQUE
    return Side(rows, 1 if unique else checked_limit("max_matches", most), unique)


def _rows(table: Chain) -> int:
    """How many rows of a unit a table keeps."""
    known = table._rows_of_a_unit()  # noqa: SLF001 (the chain it is about)
    if known is None:
        cure = "give max_rows=... to dp.protect of both tables: with how many rows one unit can meet others."
        raise InvalidQuery(expected("max_rows of both tables of such a join", "max_rows", None, cure))
    return known


def rows_changed(one: Side, other: Side) -> int:
    """How many rows of the join one unit can change.

    >>> rows_changed(Side(rows=1, matches=2), Side(rows=3, matches=4))
    20
    >>> rows_changed(Side(rows=1, matches=1, unique=True), Side(rows=1, matches=1, unique=True))
    2
    """
    moved, others = (side.rows if side.unique else 2 * side.rows for side in (one, other))
    return moved * other.matches + others * one.matches


def truncated(table: ir.Table, on: Sequence[str], side: Side) -> ir.Table:
    """The rows that a side keeps: of each unit, then of each key; those without a key meet nothing."""
    rows = table.filter([table[name].notnull() for name in on])
    limits = [(units(table), side.rows)] if units(table) else []
    for unit, limit in (*limits, *([] if side.unique else [(list(on), side.matches)])):
        key = [name for name in table.columns if name not in unit]
        rows = keep(rows, unit=unit, key=key, limit=limit).drop(RANK)
    return _of_unique_keys(rows, on) if side.unique else rows


def _of_unique_keys(rows: ir.Table, on: Sequence[str]) -> ir.Table:
    """The rows of keys that one row has."""
    counted = rows.mutate(rows.count().over(group_by=[rows[name] for name in on]).name(RANK))
    return counted.filter(counted[RANK] == integer(1)).drop(RANK)

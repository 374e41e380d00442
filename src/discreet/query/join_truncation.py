"""Rows of different units that meet: how many rows of a join on any key one unit can change.

Claim
    Let each side have at most `rows` rows of a unit and keep `matches` rows of a key, as `truncated` does. Adding a
    unit or removing it, in both tables at once, changes at most 2 (rows_1 matches_2 + rows_2 matches_1) rows of the
    inner join, those that come and those that go together.
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
    at most 2 j change. So the kept sides A, B and A', B' of the two tables differ, over all keys, in at most 2 rows_1
    and 2 rows_2 rows. Under one key, A x B and A' x B' differ in no more than (A and A' differ) x B and A' x (B and B'
    differ), where |B| <= matches_2 and |A'| <= matches_1. The sum over keys is the claim. Each row of the result adds
    at most `steps` in L1 norm to a block of linear totals, and as much in L2 norm, so M rows move it by M steps in
    either, whichever way each of them goes. What asks more of a unit than that (order statistics, keys to find, limits,
    units to count, clusters, logs) is refused.
Rounding
    None here.
Source
    Truncation of both sides, and the factor of two: Tumult Analytics, "truncation strategies" of private joins
    (DropExcess); Kotsogiannis et al., "PrivateSQL" (2019), section 5; McSherry (2009), section 3.
Mutant
    excess-leaves-alone: the rows that take the place of others are not counted; killed by
    test_one_unit_changes_no_more_rows_than_is_claimed.
    united-rows-meet-as-one: a unit has one row in each table, also where tables were united; killed by
    test_neighbors_are_no_further_apart_than_claimed.
    keys-unlimited: a key keeps all of its rows; killed by test_one_unit_changes_no_more_rows_than_is_claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import InvalidQuery, expected
from discreet.planning.contribution_bounding import RANK, keep, units
from discreet.planning.contribution_limits import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ibis.expr.types as ir

    from discreet.query.steps import Chain


class Side(NamedTuple):
    """What one of two tables keeps."""

    rows: int
    """Of a unit."""
    matches: int
    """Of a key."""


def sides(first: Chain, second: Chain, matches: object) -> tuple[Side, Side]:
    """What two tables keep; refuses limits that nobody stated."""
    pair = matches if isinstance(matches, tuple) and len(matches) == 2 else (matches, matches)
    one, other = (whole("max_matches", most) for most in pair)
    return Side(_rows(first), one), Side(_rows(second), other)


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
    """
    return 2 * (one.rows * other.matches + other.rows * one.matches)


def truncated(table: ir.Table, on: Sequence[str], side: Side) -> ir.Table:
    """The rows that a side keeps: of each unit, then of each key; those without a key meet nothing."""
    rows = table.filter([table[name].notnull() for name in on])
    limits = [(units(table), side.rows)] if units(table) else []
    for unit, limit in (*limits, (list(on), side.matches)):
        key = [name for name in table.columns if name not in unit]
        rows = keep(rows, unit=unit, key=key, limit=limit).drop(RANK)
    return rows

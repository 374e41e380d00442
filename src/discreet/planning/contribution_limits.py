"""The limits on one unit: what was stated of them, and what is to be chosen."""

from __future__ import annotations

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import is_whole
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.plan import StatedLimits
from discreet.planning.unspecified import is_auto
from discreet.privacy.declaration import Declaration


def stated_limits(declared: Declaration, **given: int | str | None) -> StatedLimits:
    """The limits of a group_by, given with it or declared with the table."""
    found: dict[str, int | None] = {"max_groups": declared.max_groups, "max_rows": declared.max_rows}
    auto = set(declared.auto_limits)
    for name, value in given.items():
        if value is None:
            continue
        if not declared.unit:
            raise InvalidParameter(
                expected(f"no {name} where each row is a unit of its own", name, value, "leave it out.")
            )
        auto = auto | {name} if is_auto(value) else auto - {name}
        found[name] = 1 if name in auto else checked_limit(name, value)
    return StatedLimits(max_groups=found["max_groups"], max_rows=found["max_rows"], auto=frozenset(auto))


def capped_limits(limits: StatedLimits, most: int | None) -> StatedLimits:
    """Limits no larger than the rows that a unit can have, where that is known; then nothing is left to choose."""
    if most is None:
        return limits
    groups, rows = (
        most if name in limits.auto else min(limit or most, most)
        for name, limit in (("max_groups", limits.max_groups), ("max_rows", limits.max_rows))
    )
    return StatedLimits(max_groups=groups, max_rows=rows)


def checked_limit(name: str, value: object) -> int:
    """A limit or size as a whole number of 1 or more, no larger than any table may be."""
    number = int(value) if is_whole(value) else 0
    if number < 1:
        raise InvalidParameter(expected("a whole number of 1 or more", name, value, f"write {name}=5."))
    if number > ROW_CAP:
        raise InvalidParameter(f"Expected {name} of at most {ROW_CAP:,}, got more.\nHint: no table has so many rows.")
    return number


def check_moved(declaration: Declaration, what: str) -> None:
    """Refuses what needs units, or more of a row than a place in linear totals, after such a join."""
    if declaration.joins_units:
        cure = "ask for counts, sums, means and variances by public keys; or join on the unit, whose rows stay its own."
        raise InvalidQuery(
            expected("a table whose rows belong to one unit each", what, "rows made of several units", cure)
        )


def check_one_owner(declaration: Declaration, what: str) -> None:
    """Refuses tables whose rows belong to several units as they were protected."""
    if declaration.each_of:
        cure = "ask for .truncated_total(...), or discreet truncated-total, whose noise is for both."
        raise InvalidQuery(expected("a table whose rows belong to one unit each", what, declaration.protects, cure))

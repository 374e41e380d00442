"""Which budget an analyst's releases are charged to: the innermost of data set, group and analyst."""

from __future__ import annotations

from typing import NamedTuple

from discreet.ledger.budget import Budget

DATA_SET, GROUP, ANALYST = "data set", "group", "analyst"


class Level(NamedTuple):
    """One allowance that a charge has to fit into."""

    kind: str
    """data set, group or analyst."""
    name: str
    budget: Budget

    def opened(self, kind: str, name: str) -> Level | None:
        """The level of a group or an analyst in this one, if it was opened."""
        inside = level_name(kind, name)
        return next((Level(kind, name, one) for one in self.budget.children if one.name == inside), None)


def level_name(kind: str, name: str) -> str:
    """What the ledger calls a level: groups have a word before their names, so that no analyst is taken for one."""
    return f"{GROUP} {name}" if kind == GROUP else name


def levels(name: str, budget: Budget, who: str, group: str | None) -> list[Level]:
    """The allowances of one analyst of a data set, the outermost first; the last is charged, and with it all others."""
    asked = {level_name(kind, one): (kind, one) for kind, one in ((GROUP, group), (ANALYST, who)) if one}
    opened = budget._opened(*asked)  # noqa: SLF001 (one look at the ledger for all of them)
    return [Level(DATA_SET, name, budget), *(Level(*asked[inside], level) for inside, level in opened)]

"""Which budget an analyst's releases are charged to: the innermost of data set, group and analyst."""

from __future__ import annotations

from typing import NamedTuple

from discreet.errors import BudgetExceeded
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.nested_levels import Balances

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


class AnalystBudget(NamedTuple):
    """The allowances that an analyst's charges have to fit into, and how all of the ledger stood at one moment."""

    levels: tuple[Level, ...]
    """The outermost first; the last is charged."""
    balances: Balances

    def refuses(self, charge: Charge) -> Level | None:
        """The outermost level that would not have let a charge in; none, where all would have."""
        return next((level for level in self.levels if not self._fits(level, charge)), None)

    def lacks(self, level: Level, charge: Charge) -> str | None:
        """The amount that a charge has and that a level allows nothing of."""
        return self.balances.at(level.budget.path).allowance.lacks(charge.cost)

    def _fits(self, level: Level, charge: Charge) -> bool:
        try:
            self.balances.charged(level.budget.path, charge.cost)
        except BudgetExceeded:
            return False
        return True


def level_name(kind: str, name: str) -> str:
    """What the ledger calls a level: groups have a word before their names, so that no analyst is taken for one."""
    return f"{GROUP} {name}" if kind == GROUP else name


def levels(name: str, budget: Budget, who: str, group: str | None) -> list[Level]:
    """The allowances of one analyst of a data set, the outermost first; the last is charged, and with it all others."""
    return list(analyst_budget(name, budget, who, group).levels)


def analyst_budget(name: str, budget: Budget, who: str, group: str | None) -> AnalystBudget:
    """The same levels, with how they stand, by one look at the ledger."""
    asked = {level_name(kind, one): (kind, one) for kind, one in ((GROUP, group), (ANALYST, who)) if one}
    balances, opened = budget._opened(*asked)  # noqa: SLF001 (one look at the ledger for all of them)
    inner = (Level(*asked[inside], level) for inside, level in opened)
    return AnalystBudget((Level(DATA_SET, name, budget), *inner), balances)

"""Who may do what: one table of roles and actions, which everything else asks."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum

from discreet.service.service_errors import forbidden


class Role(StrEnum):
    """What somebody is for a data set; the operator is one for the whole service."""

    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    OPERATOR = "operator"


class Action(StrEnum):
    """What can be done."""

    DESCRIBE = "see the declaration of a data set"
    SERIES = "see the published series of a data set"
    BUDGET = "see allowances and what is left of them"
    EXPLAIN = "price a question"
    RELEASE = "pay for an answer"
    OWN_QUESTIONS = "see the own questions"
    ALL_QUESTIONS = "see everybody's questions"
    REQUEST = "request more budget"
    DECIDE = "decide requests"
    ADMIT = "admit analysts and groups, and set allowances"
    AUDIT = "read and verify the ledger"
    CHANGES = "read who changed which policy"
    REFUSALS = "read who was refused what"
    TOKENS = "issue and revoke tokens"
    METRICS = "see health in detail, and metrics"


ALLOWED: Mapping[Role, frozenset[Action]] = {
    Role.CURATOR: frozenset(
        {
            Action.DESCRIBE,
            Action.SERIES,
            Action.BUDGET,
            Action.EXPLAIN,
            Action.ALL_QUESTIONS,
            Action.DECIDE,
            Action.ADMIT,
            Action.CHANGES,
            Action.REFUSALS,
        }
    ),
    Role.ANALYST: frozenset(
        {
            Action.DESCRIBE,
            Action.SERIES,
            Action.BUDGET,
            Action.EXPLAIN,
            Action.RELEASE,
            Action.OWN_QUESTIONS,
            Action.REQUEST,
        }
    ),
    Role.AUDITOR: frozenset(
        {
            Action.DESCRIBE,
            Action.SERIES,
            Action.BUDGET,
            Action.ALL_QUESTIONS,
            Action.AUDIT,
            Action.CHANGES,
            Action.REFUSALS,
        }
    ),
    Role.OPERATOR: frozenset({Action.TOKENS, Action.METRICS}),
}
"""The one table of rights. A role without an action here cannot do it, whichever face it comes through."""


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Somebody who is signed in, with roles for data sets.

    >>> somebody = Principal(name="ada", roles={"people": {Role.ANALYST}})
    >>> somebody.may(Action.RELEASE, "people"), somebody.may(Action.AUDIT, "people"), somebody.may(Action.RELEASE, "x")
    (True, False, False)
    """

    name: str
    roles: Mapping[str, AbstractSet[Role]] = field(default_factory=dict)
    """By data set."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The group of an analyst, by data set, where there is one."""
    operator: bool = False

    def may(self, action: Action, dataset: str | None = None) -> bool:
        """Whether one of the roles for this data set, or that of the operator where none is named, has this right."""
        if dataset is None:
            return self.operator and action in ALLOWED[Role.OPERATOR]
        return any(action in ALLOWED[role] for role in self.roles.get(dataset, ()))

    def check(self, action: Action, dataset: str | None = None) -> None:
        """Refuses what the table does not allow, with the bytes of what does not exist."""
        if not self.may(action, dataset):
            raise forbidden()

    def datasets(self, action: Action) -> list[str]:
        """The data sets for which this is allowed."""
        return sorted(name for name in self.roles if self.may(action, name))

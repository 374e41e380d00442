"""A data set of the service: its protected table, its budget, and the policies that its curator chose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import pyarrow as pa

from discreet.curator.stated_facts import kind_in
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import decimal_text
from discreet.language.checked_expressions import Kind
from discreet.ledger.budget import Budget
from discreet.planning.group_keys import ARROW_TYPES
from discreet.privacy.declaration import Declaration, Key
from discreet.query.public_facts import public_facts
from discreet.query.public_keys import PublicKeys
from discreet.query.shared_table import SharedTable
from discreet.query.table import PrivateTable
from discreet.service.answer_timing import Pace
from discreet.service.job_budgets import asked_in_jobs
from discreet.service.published_series import PublishedSeries

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


MOST_CELLS = 200_000
"""Where the service file states no other: some 200 MB, and ten seconds of a processor."""


class Seen(StrEnum):
    """Who is shown what the analysts of a data set do."""

    OWN = "own"
    """Each analyst what is theirs; curators and auditors everything."""
    ALL = "all"
    """Analysts also what others do."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What the curator chose; none of it changes what the ledger lets in."""

    default_epsilon: Fraction = Fraction(1, 10)
    """For asks without a price."""
    largest_epsilon: Fraction | None = None
    """Of one release, and of the epsilon that one with rho is worth."""
    cache: Seen = Seen.ALL
    """Whose stored answers are free: with `ALL`, that one is free tells that somebody asked the same before."""
    questions: Seen = Seen.OWN
    """Whose questions an analyst is shown."""
    spending: Seen = Seen.ALL
    """Whether an analyst is shown what is left of the allowances above the own one."""
    previews: bool = True
    """Whether public keys are shown: in the declaration, and by themselves."""


@dataclass(frozen=True)
class ColumnKeys:
    """The public keys that a curator declared of a column, in their order."""

    column: str
    kind: Kind
    values: tuple[Key, ...]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.values)

    def page(self, after: int, most: int) -> pa.Table:
        """The keys behind the first `after`, so many at most, as a table of one column."""
        return pa.table({self.column: pa.array(self.values[after : after + most], ARROW_TYPES[self.kind])})


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """One protected table that the service answers questions about."""

    name: str
    table: PrivateTable | SharedTable
    budget: Budget
    description: str = ""
    """In place of that of the declaration."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """Of columns, in place of those of the declaration."""
    policy: Policy = field(default_factory=Policy)
    pace: Pace = field(default_factory=Pace)
    series: Mapping[str, PublishedSeries] = field(default_factory=dict)
    """What is published of it at public moments, by name."""
    public_keys: Mapping[str, PublicKeys] = field(default_factory=dict)
    """Public tuples, such as all places of a country, by the names that documents have for them."""
    most_cells: int = MOST_CELLS
    """Groups times columns of one answer: each takes memory, and time to be written."""
    asked: PrivateTable | SharedTable = field(init=False)
    """The table that jobs ask."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            cure = "use small letters, digits and _, at most 60, a letter first: it is the table's name in SQL."
            raise InvalidParameter(expected("a name for a data set", "name", self.name, cure))
        object.__setattr__(self, "asked", replace(asked_in_jobs(self.table), _most_cells=self.most_cells))

    @property
    def declaration(self) -> Declaration:
        """What the curator stated."""
        source: Any = self.table._source  # noqa: SLF001 (stands in for the curator here)
        found: Declaration = source.declaration
        return found

    def facts(self) -> dict[str, Any]:
        """The public declaration, ready for JSON: none of it comes from rows."""
        stated = public_facts(self.table)
        return {
            **stated,
            "name": self.name,
            "description": self.about,
            "columns": [self._column(column) for column in stated["columns"]],
            "public_keys": {
                name: {"columns": list(one.names), "tuples": one.size} for name, one in self.public_keys.items()
            },
            "most_cells": self.most_cells,
            "policy": {
                "default_epsilon": decimal_text(self.policy.default_epsilon),
                "largest_epsilon": _text(self.policy.largest_epsilon),
                "cache": self.policy.cache.value,
                "questions": self.policy.questions.value,
                "spending": self.policy.spending.value,
            },
        }

    @property
    def about(self) -> str:
        """What it is, for people."""
        return self.description or self.declaration.description

    def shown_keys(self, column: str) -> ColumnKeys | None:
        """The declared keys of a column; none where there are none, or the policy shows none."""
        source: Any = self.table._source  # noqa: SLF001 (as above)
        if (values := self.declaration.keys.get(column)) is None or not self.policy.previews:
            return None
        return ColumnKeys(column, kind_in(column, source.schema, "known columns", "keys"), values)

    def shown_tuples(self, name: str) -> PublicKeys | None:
        """The public tuples of this name; none where there are none, or the policy shows none."""
        return self.public_keys.get(name) if self.policy.previews else None

    def _column(self, stated: dict[str, Any]) -> dict[str, Any]:
        name = stated["name"]
        source: Any = self.table._source  # noqa: SLF001 (as above)
        found = {
            **stated,
            "kind": stated["type"],
            "type": str(source.schema[name]),
            "is_unit": stated["unit"],
            "description": self.descriptions.get(name) or stated["description"],
        }
        return found if self.policy.previews else {**found, "keys": None}


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else decimal_text(amount)

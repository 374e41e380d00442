"""A SELECT statement in the terms of the verbs: a filtered table, its groups by name, and its aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import ibis.expr.types as ir
from sqlglot import exp

from discreet.errors import InvalidQuery, expected
from discreet.language.checked_expressions import Kind
from discreet.language.input_barrier import kind_of
from discreet.planning.contribution_limits import check_one_owner
from discreet.privacy.declaration import Key
from discreet.query.grouping_sets_question import stacked
from discreet.query.table import PrivateTable, Question
from discreet.statements.aggregate_functions import AggregateFunction
from discreet.statements.answer_clauses import After
from discreet.statements.statement_text import Text, located


@dataclass(frozen=True, kw_only=True)
class Group:
    """One group of a statement."""

    name: str
    value: ir.Value
    node: exp.Expression
    column: str | None
    """The column that it is, if it is a plain column."""


@dataclass(frozen=True, kw_only=True)
class SelectStatement:
    """A SELECT statement before its keys and limits are known; `question` asks it."""

    text: Text
    table: PrivateTable
    """With its computed groups as columns."""
    groups: tuple[Group, ...]
    aggregates: tuple[AggregateFunction, ...]
    after: After = field(default_factory=After)
    sets: tuple[tuple[str, ...], ...] | None = None
    """The groups of each grouping, where there are several."""
    markers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that say which grouping a row is of, by name."""

    @property
    def kinds(self) -> dict[str, Kind | None]:
        """What the keys of each group are."""
        return {group.name: kind_of(self.table[group.name].type()) for group in self.groups}

    def question(self, *, keys: object = None, max_groups: int | None = None, max_rows: int | None = None) -> Question:
        """The question, with the keys and limits of the table where none are given."""
        check_one_owner(self.table.declaration, "FROM")
        if not self.groups:
            for name, value in {"keys": keys, "max_groups": max_groups, "max_rows": max_rows}.items():
                if value is not None:
                    cure = "leave it out or group by something; max_rows of a whole table is stated in dp.protect(...)."
                    raise InvalidQuery(expected(f"no {name} without GROUP BY", name, value, cure))
            return self._ask(self.table.agg)
        if keys is None or isinstance(keys, Mapping):
            keys = {**self._renamed(), **(keys or {})}
        names = [group.name for group in self.groups]
        if self.sets is not None:
            several = self.table.group_by(*names, keys=keys, sets=self.sets, max_groups=max_groups, max_rows=max_rows)
            return self._ask(lambda **written: stacked(several.agg(**written), tuple(names), self.markers))
        grouped = self.table.group_by(*names, keys=keys, max_groups=max_groups, max_rows=max_rows)
        return self._ask(grouped.agg)

    def _renamed(self) -> dict[str, tuple[Key, ...]]:
        """The public keys of columns that have another name in this answer."""
        known = self.table._keys  # noqa: SLF001 - what is known of a column has no public name
        return {
            group.name: known[group.column]
            for group in self.groups
            if group.column is not None and group.column != group.name and group.column in known
        }

    def _ask(self, agg: Callable[..., Question]) -> Question:
        try:
            return self.after.applied(agg(**{one.name: one.written for one in self.aggregates}), self.text)
        except InvalidQuery:
            for one in self.aggregates:
                with located(self.text, one.node):
                    agg(**{one.name: one.written})
            raise


def with_limits_hint(problem: InvalidQuery, limits: str) -> InvalidQuery:
    """The same refusal, with a hint where to state keys and limits if these are missing."""
    text = str(problem)
    return (
        InvalidQuery(f"{text}\n{limits}") if text.startswith(("Expected max_", "Expected the public keys")) else problem
    )

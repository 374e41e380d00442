"""The verb that leaves out rows, and arguments that would be taken for columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Never, Self

import ibis.expr.operations as ops

from discreet.errors import InvalidQuery, expected, shown
from discreet.language.checked_expressions import Kind, Value
from discreet.query.query_steps import Chain, flattened


class RowFilters(Chain):
    """What leaves out rows and keeps the columns."""

    def filter(self, /, *conditions: Any, **named: Never) -> Self:
        """The rows for which every condition is true (not false, not NULL).

        >>> from discreet.testing import people
        >>> people().filter(lambda t: t.age >= 18).columns
        ('person', 'plan', 'age', 'visits')
        """
        value: object  # never one for a type checker, which refuses it first
        for name, value in named.items():
            cure = f"write .filter(_.{name} == {shown(value)})."
            raise InvalidQuery(expected("conditions without names", name, value, cure))
        if not conditions:
            raise InvalidQuery("Expected a condition, got none.\nHint: write .filter(_.age >= 18).")
        bound = [one if isinstance(one, bool) else self._bound(one) for one in flattened(conditions)]
        made = [self._condition(one) for one in bound]
        relation = self._relation.filter([one.expr for one in made])
        table = self._with(relation, self._columns, self._columns, conditions=len(bound))
        table = replace(table, _conditions=(*self._conditions, *(one.text for one in made)))
        return table._recorded(self, "filter", conditions=bound)  # noqa: SLF001 (a table like this one)

    def _condition(self, written: Any) -> Value:
        value = None if isinstance(written, bool) else self._check(written)
        if value is None or value.kind is not Kind.BOOLEAN or not value.expr.op().find(ops.Field, filter=ops.Value):
            got = shown(written) if value is None else f"{value.text}, {value.kind.said}"
            raise InvalidQuery(
                f"Expected a condition on columns, got {got}.\n"
                "Hint: write .filter(_.age >= 18); join conditions by & and |."
            )
        return value


def check_renamed(expressions: Mapping[str, Any]) -> None:
    """Refuses what other libraries call the columns and the limits, which would be new columns here."""
    for name, written in expressions.items():
        if name in ("by", "columns") and isinstance(written, str | list | tuple):
            listed = [written] if isinstance(written, str) else list(written)
            cure = f"write .group_by({', '.join(map(shown, listed))})."
            raise InvalidQuery(expected("columns without a name for all of them", name, written, cure))
        if isinstance(written, int) and not isinstance(written, bool) and name.startswith("max_"):
            cure = "write max_groups=..., the groups that a unit counts in, or max_rows=..., its rows in each."
            raise InvalidQuery(expected("max_groups or max_rows as limits", name, written, cure))

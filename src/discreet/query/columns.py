"""Verbs that make, rename and leave out columns."""

from __future__ import annotations

from typing import Any, Self

from discreet.errors import InvalidQuery, expected
from discreet.query.chain import Chain, check_name
from discreet.query.scan import UNIT


class ColumnVerbs(Chain):
    """What changes the columns of a table and keeps its rows."""

    def mutate(self, **expressions: Any) -> Self:
        """New columns, or old ones rewritten; a rewritten column keeps nothing that was known of the old one.

        >>> from discreet.testing import people
        >>> people().mutate(monthly=lambda t: t.visits / 12).columns
        ('person', 'plan', 'age', 'visits', 'monthly')
        """
        unit = {name.casefold() for name in self._source.declaration.unit}
        for name in expressions:
            if name.casefold() in unit:
                cure = "give the new column another name."
                raise InvalidQuery(expected("columns other than the privacy unit", "column", name, cure))
            check_name(name, [*self._columns, *expressions])
        made = {name: self._check(written) for name, written in expressions.items()}
        relation = self._relation.mutate(**{name: value.expr for name, value in made.items()})
        return self._with(relation, {**self._columns, **made}, self._columns.keys() - made.keys())

    def select(self, *names: Any) -> Self:
        """Some of the columns, in this order; the privacy unit goes along unseen.

        >>> from discreet.testing import people
        >>> people().select("plan", "age").columns
        ('plan', 'age')
        """
        chosen = [self._name(written) for written in names]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InvalidQuery(expected("distinct columns", "names", chosen, "name each column once."))
        hidden = [name for name in self._relation.columns if name.startswith(UNIT)]
        relation = self._relation.select(*chosen, *hidden)
        return self._with(relation, {name: self._columns[name] for name in chosen}, chosen)

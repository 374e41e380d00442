"""The clauses that apply to the answer, after the noise: arithmetic of aggregates, HAVING, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ibis.expr.types as ir
from sqlglot import exp

from discreet.query.question import Question
from discreet.statements.aggregate_functions import AggregateFunction, aggregate, column_for, over_columns, sql_of
from discreet.statements.answer_windows import sort_key
from discreet.statements.constants import number_of
from discreet.statements.expressions import row_wise
from discreet.statements.scope import Scope
from discreet.statements.statement_text import Text, located

Take = Callable[[exp.Expression], exp.Expression]
"""Translates an expression over aggregates into one over the columns of the answer."""


@dataclass(frozen=True, kw_only=True)
class After:
    """The steps of a statement after the noise; their nodes use the columns of the answer."""

    computed: tuple[tuple[str, exp.Expression], ...] = ()
    having: exp.Expression | None = None
    windows: tuple[tuple[str, exp.Expression], ...] = ()
    """What is computed of the rows that HAVING leaves, by looking at several of them."""
    qualify: exp.Expression | None = None
    order: tuple[exp.Ordered, ...] = ()
    limit: int | None = None
    offset: int = 0
    shown: tuple[str, ...] = ()
    """The columns that are selected, where others were needed too."""
    qualifier: exp.Identifier | None = None
    """What columns may be qualified by."""

    def applied(self, question: Question, text: Text) -> Question:
        """The question with these steps."""
        for computed, condition in ((self.computed, self.having), (self.windows, self.qualify)):
            for name, node in computed:
                with located(text, node):
                    question = question.mutate(**{name: self._over(node, text)})
            if condition is not None:
                with located(text, condition):
                    question = question.having(self._over(condition, text))
        if self.order:
            question = question.order_by(*(self._sorted(node, text) for node in self.order))
        if self.limit is not None or self.offset:
            question = question.limit(2**62 if self.limit is None else self.limit, offset=self.offset)
        return question.select(*self.shown) if self.shown else question

    def _over(self, node: exp.Expression, text: Text) -> Callable[[Any], ir.Value]:
        return lambda answer: row_wise(node, Scope(text=text, table=answer, qualifier=self.qualifier))

    def _sorted(self, node: exp.Ordered, text: Text) -> Callable[[Any], ir.Value]:
        value = self._over(node.this, text)
        return lambda answer: sort_key(node, value(answer))


@dataclass(kw_only=True)
class AnswerClauses:
    """The aggregates of a statement, each computed once, under unique names."""

    scope: Scope
    taken: set[str]
    """Names of groups and aliases, in one case."""
    found: list[AggregateFunction] = field(default_factory=list)
    _known: dict[str, str] = field(default_factory=dict)

    def add(self, node: exp.Expression, name: str) -> AggregateFunction:
        """Adds an aggregate under its alias, or under a name made from its text."""
        one = aggregate(node, name, self.scope)
        if one.name.casefold() in self.taken:
            raise self.scope.text.refusal(
                f"a name that is not taken, not {one.name!r}", node, "write AS and another name."
            )
        if _may_be_whole(node, self.scope):
            self.scope.text.unclear.add(one.name.casefold())
        self.taken.add(one.name.casefold())
        self.found.append(one)
        self._known.setdefault(sql_of(node), one.name)
        return one

    def over(self, node: exp.Expression) -> exp.Expression:
        """A calculation with aggregates, over the columns of the answer; adds those that are not selected."""
        return over_columns(node, self._column)

    def _column(self, node: exp.Expression) -> exp.Column:
        sql = sql_of(node)
        if sql not in self._known:
            first = aggregate(node, "", self.scope).name
            names = (first, *(f"{first}_{i}" for i in range(2, 2 + len(self.taken))))
            self.add(node, next(name for name in names if name.casefold() not in self.taken))
        return column_for(node, self._known[sql])


def _may_be_whole(node: exp.Expression, scope: Scope) -> bool:
    """Whether an aggregate is a whole number in some dialects, but a real number when it is released."""
    inner = node.this if isinstance(node, exp.Filter) else node
    return isinstance(inner, exp.Sum | exp.Min | exp.Max) and row_wise(inner.this, scope).type().is_integer()


def order_entries(clause: exp.Order | None, items: Iterable[str], take: Take, text: Text) -> Iterator[exp.Ordered]:
    """The entries of ORDER BY over the columns of the answer; `items` names what is selected, in its order."""
    names = tuple(items)
    for entry in clause.expressions if clause else ():
        place = number_of(entry.this)
        if isinstance(entry.this, exp.Literal) and place is None:
            raise text.refusal("a column or an expression", entry, "a text orders nothing; a name has double quotes.")
        # An alias comes before a column there, where it stands by itself.
        is_name = isinstance(entry.this, exp.Column) and not entry.this.table
        inner = entry.this if is_name else take(entry.this)
        if place is not None:
            if not isinstance(place, int) or not 1 <= place <= len(names):
                raise text.refusal(f"a number from 1 to {len(names)}", entry, "it counts the selected expressions.")
            inner = exp.column(exp.to_identifier(names[place - 1], quoted=True))
        if entry.args.get("with_fill"):
            raise text.refusal("ORDER BY without WITH FILL", entry, "leave it out.")
        yield exp.Ordered(this=inner, desc=entry.args.get("desc"), nulls_first=entry.args.get("nulls_first"))


def row_count(clause: exp.Expression | None, text: Text) -> int | None:
    """The number of LIMIT or OFFSET."""
    if clause is None:
        return None
    node = clause.args.get("expression")
    value = None if node is None else number_of(node)
    extra = [part for part, held in clause.args.items() if held and part != "expression"]
    if extra or not isinstance(value, int) or value < 0:
        raise text.refusal(f"a whole number of rows after {clause.key.upper()}", clause, "write LIMIT 10 OFFSET 20.")
    return value

"""One row becomes several: listed expressions, columns as rows, the parts of a text.

Claim
    Each row of the result was made of one row of the table, at most k of each, and belongs to its unit. Where each row
    is a unit, one that had m rows has at most k m.
Requires
    Checked expressions, each of them total and of one row (`language.allow_list`); k is public.
Relies on
    `Source.restated`, whose rows_changed is k times what it was; `language.text_parts`.
Proof
    A row is written k times, with the numbers from 0 to k - 1, which are the same for all rows; every new column is a
    function of the row and of that number, and so is whether the copy is kept: a part of a text is, if there are so
    many. A unit's rows in the result are therefore made of its own rows alone, k m of them at most. Adding or removing
    a unit adds or removes these; replacing it replaces them. Where the unit is named by columns, they are bounded
    afterwards, by the limits of the table or by k times its rows; where rows are units, nothing bounds them later, and
    neighbors are k m rows apart.
Rounding
    None here.
Source
    SelectMany of McSherry, "Privacy integrated queries" (2009), section 3, there with a bound k on what a record makes.
Mutant
    copies-count-once: neighbors are as many rows apart as before; killed by
    test_a_row_that_becomes_several_is_charged_for_all.
    one-part-more: a text has one part more than was stated; killed by test_no_more_parts_than_stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Never, Self

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.given_values import flag
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.checked_expressions import Kind, Value
from discreet.language.literals import constant
from discreet.language.possible_values import possible_results
from discreet.language.text_parts import has_part, part_of, split_of
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.contribution_bounding import units
from discreet.planning.contribution_limits import check_moved, checked_limit
from discreet.privacy.declaration import Key
from discreet.query.columns import ColumnVerbs
from discreet.query.query_steps import flattened
from discreet.sensitivity.intervals import Interval

MOST_ITEMS = 1000
"""Rows that one row may become: the statement lists their numbers, and of expressions each of them."""
PLACE = "__discreet_item"
"""The number of a copy, under a name that no verb takes."""
TEXT = "__discreet_text"
LISTED = "write .unnest(code=[_.first, _.second]); or .unnest(word=_.text.split(','), max_items=5)."


class RowExpansion(ColumnVerbs):
    """The verbs that make several rows of one."""

    @with_usage_hint("people.unnest(code=['first', 'second'])")
    def unnest(
        self, /, *unnamed: Never, max_items: int | None = None, raise_limits: bool = False, **lists: Any
    ) -> Self:
        """Each row as several: one for each of the listed expressions, or for each part of a text.

        A list is of columns and expressions of one kind, ``code=[_.first, _.second]`` or
        ``ibis.array([_.first, _.second])``, and makes as many rows as it is long, NULL among them. Several lists of one
        length stand side by side. ``word=_.text.split(",")`` makes a row of each part, of the first `max_items` of
        them: what is behind is left out. The empty text has one part, the empty one; NULL has none. All other columns
        are the same in all of these rows.

        Where each row is a unit, k rows for one have k times the noise. Otherwise the limits of the table bound what a
        unit has afterwards; `raise_limits` makes its `max_rows` k times what it was.

        >>> from discreet.testing import people
        >>> ages = people().unnest(years=lambda t: ibis.array([t.age, t.age + 1]))
        >>> ages.columns
        ('person', 'plan', 'age', 'visits', 'years')
        """
        if unnamed or not lists:
            got = "one without" if unnamed else "none"
            raise InvalidQuery(f"Expected a name for each list, got {got}.\nHint: {LISTED}")
        return self._unnested(lists, max_items=max_items, raise_limits=raise_limits)

    @with_usage_hint("people.pivot_longer(['first', 'second'], names_to='which', values_to='code')")
    def pivot_longer(
        self, columns: Any, *, names_to: str = "name", values_to: str = "value", raise_limits: bool = False
    ) -> Self:
        """Columns of one kind as rows: one for each of them, with its name, which is a public key, and its value.

        The columns themselves go; all others are the same in all of these rows. `raise_limits` as for ``.unnest``.

        >>> from discreet.testing import people
        >>> long = people().pivot_longer(["age", "visits"], names_to="what", values_to="amount")
        >>> long.columns
        ('person', 'plan', 'what', 'amount')
        >>> long.group_by("what", max_groups=2, max_rows=5).agg(mean=lambda t: t.amount.mean())
        <question about 'people': mean by what>
        """
        chosen = [self._name(written) for written in flattened([columns])]
        if not chosen or len(set(chosen)) < len(chosen):
            cure = "write .pivot_longer(['first', 'second'])."
            raise InvalidQuery(expected("distinct columns", "columns", chosen, cure))
        given = {"names_to": names_to, "values_to": values_to}
        wrong = [what for what, name in given.items() if not isinstance(name, str)]
        if wrong or names_to == values_to:
            what = wrong[0] if wrong else "values_to"
            cure = "write names_to='which', values_to='code'."
            raise InvalidQuery(expected("two names of new columns", what, given[what], cure))
        lists: dict[str, Any] = {
            names_to: [ibis.literal(name) for name in chosen],
            values_to: [self[name] for name in chosen],
        }
        clash = {name.casefold() for name in chosen} & {names_to.casefold(), values_to.casefold()}
        if clash:
            cure = "give the new columns names that none of the old ones has."
            raise InvalidQuery(expected("names of new columns", "names", sorted(clash), cure))
        longer = self._unnested(lists, raise_limits=raise_limits)
        return longer.select(*(name for name in longer._columns if name not in chosen))

    def _unnested(self, lists: Mapping[str, Any], *, max_items: object = None, raise_limits: bool = False) -> Self:
        """The same of columns of any names."""
        check_moved(self._source.declaration, "table")
        for name in lists:
            self._check_new(name, [*self._columns, *lists])
        bound = {name: self._listed(name, written) for name, written in lists.items()}
        split = next((one for one in bound.values() if isinstance(one, ir.Value)), None)
        if split is not None:
            most = self._most_items(bound, max_items)
            made = self._parts(next(iter(bound)), split, most, raise_limits=raise_limits)
            return made._recorded(self, "unnest", lists=bound, max_items=most, raise_limits=raise_limits)
        if max_items is not None:
            cure = "leave it out: a list has as many items as it names."
            raise InvalidParameter(expected("no max_items beside lists", "max_items", max_items, cure))
        listed = {name: one for name, one in bound.items() if not isinstance(one, ir.Value)}
        made = self._items(listed, raise_limits=raise_limits)
        return made._recorded(self, "unnest", lists=bound, max_items=None, raise_limits=raise_limits)

    def _listed(self, name: str, written: Any) -> list[ir.Value] | ir.Value:
        """The bound expressions of a list, or the text that is split."""
        if isinstance(written, list | tuple):
            found = [self._bound(one) for one in written]
        else:
            bound = self._bound(written)
            op: Any = bound.op()
            if isinstance(op, ops.StringSplit):
                return bound
            if not isinstance(op, ops.Array):
                raise InvalidQuery(expected("a list of expressions, or a split text", name, bound, LISTED))
            found = [one.to_expr() for one in op.exprs]
        if not 1 <= len(found) <= MOST_ITEMS:
            raise InvalidQuery(expected(f"a list of 1 to {MOST_ITEMS:,} expressions", name, len(found), LISTED))
        return found

    def _most_items(self, lists: Mapping[str, Any], stated: object) -> int:
        """How many parts of a text count."""
        if len(lists) > 1:
            cure = "take one step after the other: .unnest(word=...).unnest(code=[...])."
            raise InvalidQuery(expected("a split text by itself", "lists", sorted(lists), cure))
        if stated is None:
            raise InvalidQuery(
                "Expected max_items beside a split text, got none.\n"
                "Hint: say how many parts of a text count, max_items=5: the first ones. It is enforced, not assumed."
            )
        number = checked_limit("max_items", stated)
        if number > MOST_ITEMS:
            cure = "state how many parts the question needs."
            raise InvalidParameter(expected(f"max_items of at most {MOST_ITEMS:,}", "max_items", number, cure))
        return number

    def _items(self, lists: Mapping[str, Sequence[ir.Value]], *, raise_limits: bool) -> Self:
        """A row for each place of the lists."""
        lengths = {len(items) for items in lists.values()}
        if len(lengths) > 1:
            cure = "add ibis.null() to the shorter ones, or take one step after the other."
            raise InvalidQuery(expected("lists of one length", "lengths", sorted(lengths), cure))
        longer = self._copied(lengths.pop(), raise_limits=raise_limits)
        place: Any = longer._visible[PLACE]
        made = {}
        for name, items in lists.items():
            cases = [(place == i, item) for i, item in enumerate(items[:-1])]
            chosen = longer._bound(lambda _, c=cases, last=items[-1]: ibis.cases(*c, else_=last) if c else last)
            made[name] = longer._check(chosen)
        keys = {n: known for n, items in lists.items() if (known := self._keys_of(items, made[n]))}
        relation = longer._relation.mutate([value.expr.name(name) for name, value in made.items()])
        return longer._without_place(relation, made, keys)

    def _parts(self, name: str, split: ir.Value, most: int, *, raise_limits: bool) -> Self:
        """A row for each part of a text."""
        text, delimiter = split_of(split.op(), self._tables())
        before = self._with(self._relation.mutate(text.expr.name(TEXT)), {**self._columns, TEXT: text}, self._columns)
        longer = before._copied(most, raise_limits=raise_limits)
        relation = longer._relation
        relation = relation.filter(has_part(relation[TEXT], delimiter, relation[PLACE]))
        relation = relation.mutate(part_of(relation[TEXT], delimiter, relation[PLACE]).name(name))
        made = replace(text, expr=relation[name], nullable=False, span=None, text=name)
        return longer._without_place(relation, {name: made}, {})

    def _copied(self, number: int, *, raise_limits: bool) -> Self:
        """Each row so many times, with the number of the copy."""
        declared = self._source.declaration
        source = self._source
        if not declared.unit:
            if flag("raise_limits", raise_limits):
                cure = "leave it out: there are no limits to raise, and every copy is paid for."
                raise InvalidParameter(
                    expected("no raise_limits where each row is a unit", "raise_limits", raise_limits, cure)
                )
            changed = declared.rows_changed * number
            checked_limit("max_items", changed)
            source = source.restated(rows_changed=changed)
        elif flag("raise_limits", raise_limits) and declared.max_rows and "max_rows" not in declared.auto_limits:
            source = source.restated(max_rows=min(ROW_CAP, declared.max_rows * number))
        numbers = ops.Unnest(ops.Array(tuple(constant(i).expr.op() for i in range(number)))).to_expr()
        own = [*self._columns, *units(self._relation)]
        relation = self._relation.select(*own, numbers.name(PLACE))
        interval = Interval(Fraction(0), Fraction(number - 1), integer=True)
        place = Value(relation[PLACE], Kind.INTEGER, interval, nullable=False, narrow=interval)
        table = self._with(relation, {**self._columns, PLACE: place}, self._columns, conditions=1, keys=self._keys)
        most = None if self._most_rows is None else self._most_rows * number
        return replace(table, _source=source, _most_rows=most)

    def _without_place(
        self, relation: ir.Table, made: Mapping[str, Value], keys: Mapping[str, tuple[Key, ...]]
    ) -> Self:
        own = {name: value for name, value in self._columns.items() if name not in (PLACE, TEXT)}
        columns = {**own, **made}  # one that is replaced stays where it was
        kept = relation.select(*columns, *units(relation))
        known = {name: one for name, one in self._keys.items() if name not in made}
        unchanged = {name: value for name, value in own.items() if name not in made}
        return self._with(kept, columns, unchanged, keys={**known, **keys})

    def _keys_of(self, items: Sequence[ir.Value], value: Value) -> tuple[Key, ...]:
        """The public keys of a column of listed values, where all of them have some; in their order."""
        found: dict[Key, None] = {}
        for item in items:
            op: Any = item.op()
            while isinstance(op, ops.Alias):
                op = op.arg
            known: tuple[Key, ...]
            if isinstance(op, ops.Literal) and (op.value is None or value.kind in (Kind.TEXT, Kind.INTEGER)):
                known = () if op.value is None else (op.value,)
            elif isinstance(op, ops.Field):
                known = self._keys.get(op.name, ())
            else:
                known = possible_results(op, self._check(item))
            if not known and not (isinstance(op, ops.Literal) and op.value is None):
                return ()
            found |= dict.fromkeys(known)
        return tuple(found)

"""Verbs that make, rename, bin and leave out columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never, Self

import ibis
import ibis.expr.types as ir
from ibis.common.deferred import Deferred

from discreet.errors import AS_WRITTEN, InvalidQuery, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.column_names import check_name
from discreet.language.possible_values import possible_results
from discreet.language.public_bins import bins
from discreet.planning.contribution_bounding import units
from discreet.planning.contribution_limits import check_moved
from discreet.query.query_steps import Chain, flattened, without_signs


class ColumnVerbs(Chain):
    """What changes the columns of a table and keeps its rows."""

    def mutate(self, /, *unnamed: Never, **expressions: Any) -> Self:
        """New columns, or old ones rewritten; a rewritten column keeps nothing that was known of the old one.

        Where an expression says what it can give, these are its public keys: the constants of a CASE, the twelve months
        of ``_.day.month()``, the bins of ``_.age.bucket([0, 18, 65])``.

        >>> from discreet.testing import people
        >>> people().mutate(monthly=lambda t: t.visits / 12).columns
        ('person', 'plan', 'age', 'visits', 'monthly')
        """
        if unnamed:
            raise InvalidQuery(
                "Expected a name for each column, got one without.\nHint: write .mutate(years=_.age / 12)."
            )
        for name in expressions:
            self._check_new(name, [*self._columns, *expressions])
        bound = {name: self._bound(written) for name, written in expressions.items()}
        made = {name: self._check(expr) for name, expr in bound.items()}
        relation = self._relation.mutate([value.expr.name(name) for name, value in made.items()])
        keys = {name: known for name, known in self._keys.items() if name not in made}
        keys |= {name: known for name, value in made.items() if (known := possible_results(bound[name].op(), value))}
        table = self._with(relation, {**self._columns, **made}, self._columns.keys() - made.keys(), keys=keys)
        return table._recorded(self, "mutate", expressions=bound)

    def select(self, *names: Any) -> Self:
        """Some of the columns, in this order; the privacy unit goes along unseen.

        >>> from discreet.testing import people
        >>> people().select("plan", "age").columns
        ('plan', 'age')
        """
        chosen = [self._name(written) for written in flattened(names)]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InvalidQuery(expected("distinct columns", "names", chosen, "name each column once."))
        relation = self._relation.select(*chosen, *units(self._relation))
        table = self._with(relation, {name: self._columns[name] for name in chosen}, chosen)
        return table._recorded(self, "select", names=chosen)

    @with_usage_hint(".rename(years='age')")
    def rename(self, /, names: Mapping[str, str] | None = None, **more: str) -> Self:
        """Columns under new names, written new="old" or {"new": "old"}, as in Ibis; they stay what they were.

        >>> from discreet.testing import people
        >>> people().rename(years="age").columns
        ('person', 'plan', 'years', 'visits')
        """
        wanted: dict[str, Any] = {**_mapping("rename", names, {"years": "age"}), **more}
        if wanted and all(new in self._columns and old not in self._columns for new, old in wanted.items()):
            turned = {old: new for new, old in wanted.items()}
            raise InvalidQuery(expected("new names first", "rename", wanted, f"write .rename({turned})."))
        new_names = {self._name(old): new for new, old in wanted.items()}
        if not wanted or len(new_names) < len(wanted):
            raise InvalidQuery(expected("each column once", "names", wanted, "write .rename(new='old')."))
        unit = {name.casefold() for name in self._source.declaration.unit}
        columns = {new_names.get(name, name): value for name, value in self._columns.items()}
        for old, new in new_names.items():
            if {old.casefold(), new.casefold()} & unit:
                cure = "the privacy unit keeps its name."
                raise InvalidQuery(expected("columns other than the privacy unit", "column", f"{old} as {new}", cure))
            check_name(new, columns)
        if len(columns) < len(self._columns):
            cure = "each new name has to be one that no other column has."
            raise InvalidQuery(expected("new names", "names", sorted(wanted), cure))
        relation = self._relation.rename({new: old for old, new in new_names.items()})
        kept = [name for name in self._columns if name not in new_names and name not in wanted]
        keys = {new_names.get(name, name): known for name, known in self._keys.items()}
        return self._with(relation, columns, kept, keys=keys)._recorded(self, "rename", names=new_names)

    @with_usage_hint(".drop('age')")
    def drop(self, *names: Any) -> Self:
        """All columns but these; the privacy unit goes along unseen where it is one of them.

        >>> from discreet.testing import people
        >>> people().drop("age", "visits").columns
        ('person', 'plan')
        """
        left_out = {self._name(written) for written in flattened(names)}
        if not left_out or left_out == set(self._columns):
            cure = "leave at least one column, .drop('age')."
            raise InvalidQuery(expected("some of the columns", "names", sorted(left_out), cure))
        return self.select(*(name for name in self._columns if name not in left_out))

    @with_usage_hint(".cast({'age': 'float64'})")
    def cast(self, types: Mapping[str, Any], *, failed: object = ...) -> Self:
        """Columns as other types. A cast that can fail needs a value for failures: `failed=None` makes them NULL.

        Without `failed`, only casts that cannot fail are accepted (see the page on the language). With it, text is read
        as "int64", "float64", "date" or "timestamp", and whole numbers as narrower types.

        >>> from discreet.testing import people
        >>> people().cast({"age": "float64"})
        <private table 'people', protecting person: person: integer, plan: text, age: real number, visits: real number>
        """
        made: dict[str, Any] = {}
        for name, target in _mapping("cast", types, {"age": "float64"}).items():
            own = self._name(name)
            made[own] = self._bound(lambda t, own=own, target=target: _cast(t[own], target, failed))
        if not made:
            raise InvalidQuery(expected("columns to cast", "types", {}, "write .cast({'age': 'float64'})."))
        return self.mutate(**made)

    @with_usage_hint(".fill_null({'age': 0})")
    def fill_null(self, values: Mapping[str, Any]) -> Self:
        """Columns with a constant, or an expression, in place of NULL.

        >>> from discreet.testing import people
        >>> people().fill_null({"age": 0}).columns
        ('person', 'plan', 'age', 'visits')
        """
        filled = _mapping("fill_null", values, {"age": 0})
        if not filled:
            raise InvalidQuery(expected("columns to fill", "values", {}, "write .fill_null({'age': 0})."))
        own = {self._name(name): value for name, value in filled.items()}
        return self.mutate(**{name: lambda t, name=name: t[name].fill_null(own[name]) for name in own})

    @with_usage_hint(".cut('age', [0, 18, 65])")
    def cut(self, column: Any, edges: Any, *, name: str | None = None, labels: Any = None) -> Self:
        """A new column with the public bin that a number or date falls into, and whose keys are public at once.

        Bins hold their lower edge and not the upper one, but for the last, which holds both; `float("inf")` may be an
        edge at either end. What lies outside of all bins, and NULL, is NULL. `labels` names the bins; `name` the column
        (by default, the old name and "_bin").

        >>> from discreet.testing import people
        >>> table = people().cut("age", [0, 18, 65, 110])
        >>> table.group_by("age_bin").agg(n=lambda t: t.count()).release(epsilon=1).to_pyarrow()["age_bin"].to_pylist()
        ['[0, 18)', '[18, 65)', '[65, 110]']
        """
        old = self._name(column)
        new = f"{old}_bin" if name is None else name
        if not isinstance(new, str):
            raise InvalidQuery(expected("the name of the new column", "name", name, "write name='age_group'."))
        found = bins(edges, labels)
        return self.mutate(**{new: lambda t: found.of(t[old])})

    def distinct(self, *names: Any) -> Self:
        """The distinct rows that each unit has in some columns (in all, where none are named), and only these columns.

        Duplicates among the rows of one unit go; the same values of two units stay two rows. That is a function of each
        unit's own rows. For one row a unit, see `per_unit`. Where each row is a unit, equal rows of all of them become
        one; the noise stays what it is.

        >>> from discreet.testing import people
        >>> people().distinct("plan").columns
        ('plan',)
        """
        check_moved(self._source.declaration, "table")
        table = self.select(*(names or self._columns))
        relation = table._relation if self._source.declaration.unit else without_signs(table._relation)
        rows = table._with(relation.distinct(), table._columns, table._columns, conditions=1)
        return rows._recorded(self, "distinct", names=list(table._columns))


def _cast(column: Any, target: Any, failed: object) -> Any:
    if failed is ...:
        return column.cast(target)
    if not isinstance(failed, AS_WRITTEN) and not isinstance(failed, ir.Value | Deferred):
        cure = "failed=None gives NULL where text is no number; failed=0 gives 0."
        raise InvalidQuery(expected("a value for what cannot be cast", "failed", failed, cure))
    attempt = column.try_cast(target)
    return attempt if failed is None else ibis.ifelse(column.notnull() & attempt.isnull(), failed, attempt)


def _mapping(verb: str, stated: object, example: Mapping[str, object]) -> dict[str, Any]:
    """What was stated of some columns by name."""
    if stated is None:
        return {}
    if not isinstance(stated, Mapping) or not all(isinstance(name, str) for name in stated):
        raise InvalidQuery(expected("a dict by column", verb, stated, f"write .{verb}({example})."))
    return dict(stated)

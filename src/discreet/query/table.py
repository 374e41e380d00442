"""The verbs: a protected table, its groups, and a question that is ready to be released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from discreet.errors import InvalidQuery, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.column_names import check_name
from discreet.planning.aggregates import AT_LEAST, COUNT, DISTINCT, UNITS, Aggregate, Statistic
from discreet.planning.contribution_limits import capped_limits, check_moved, stated_limits
from discreet.planning.group_keys import Keys, Unknown, check_cells, grouping, key_lists
from discreet.planning.plan import Query, StatedLimits, check_limits
from discreet.planning.product_keys import ProductKeys
from discreet.planning.unspecified import UnknownKeys, Unspecified, limits_of_unknown, open_values
from discreet.query.aggregate_checks import Known, aggregates
from discreet.query.application_verbs import Applications
from discreet.query.batch_question import BatchQuestion
from discreet.query.bounded_samples import BoundedSamples
from discreet.query.columns import ColumnVerbs
from discreet.query.grouping_sets import GroupingSets, sets_of, ways_of
from discreet.query.joins import Joins
from discreet.query.key_features import KeyFeatures
from discreet.query.lower_bound_verbs import LowerBounds, TruncatedTotals
from discreet.query.partition import Partitions
from discreet.query.private_groups import PrivateGroups, check_named
from discreet.query.public_keys import PublicKeys
from discreet.query.query_steps import MOST_STEPS, UnknownColumn, flattened
from discreet.query.question import Question
from discreet.query.ranges import RangesQuestion, bins_of, kind_of, ranges_of
from discreet.query.recorded_verbs import RecordedGroups, RecordedQuestion, RecordedRanges, counted, given_limits, kept
from discreet.query.regression import line_of
from discreet.query.row_expansion import RowExpansion
from discreet.query.row_filters import RowFilters, check_renamed
from discreet.query.set_operations import SetVerbs

__all__ = ["MOST_STEPS", "PrivateGroups", "PrivateTable", "Question", "UnknownColumn"]

ENDS = ("", "_low", "_high")
"""What a column of an answer adds to its name for its values and its interval."""


class PrivateTable(
    RowExpansion,
    ColumnVerbs,
    RowFilters,
    KeyFeatures,
    BoundedSamples,
    SetVerbs,
    Joins,
    Partitions,
    Applications,
    LowerBounds,
    TruncatedTotals,
):
    """A table about people that answers aggregate questions only; made by ``dp.protect``.

    `filter`, `mutate`, `select`, `group_by` and `agg` take Ibis expressions (``_.age >= 18``, lambdas, ``people.age``).
    Nothing runs and nothing is spent before ``.release(epsilon=...)``.

    >>> from discreet.testing import people
    >>> people().filter(lambda t: t.age >= 18).agg(visits=lambda t: t.visits.mean())
    <question about 'people': visits>
    """

    @overload
    def group_by(self, /, *names: Any, cube: Literal[True], **stated: Any) -> GroupingSets: ...
    @overload
    def group_by(self, /, *names: Any, rollup: Literal[True], **stated: Any) -> GroupingSets: ...
    @overload
    def group_by(self, /, *names: Any, sets: Sequence[Sequence[str]], **stated: Any) -> GroupingSets: ...
    @overload
    def group_by(
        self,
        /,
        *names: Any,
        keys: object = None,
        max_groups: int | str | None = None,
        max_rows: int | str | None = None,
        **expressions: Any,
    ) -> PrivateGroups: ...

    def group_by(
        self,
        /,
        *names: Any,
        keys: object = None,
        max_groups: int | str | None = None,
        max_rows: int | str | None = None,
        cube: bool = False,
        rollup: bool = False,
        sets: Sequence[Sequence[str]] | None = None,
        **expressions: Any,
    ) -> PrivateGroups | GroupingSets:
        """Groups by columns or named expressions, over public `keys`, with limits on what one unit contributes.

        `keys`: a dict of lists (their cross product), or exact tuples that the curator marked, ``dp.public_keys(...)``,
        of which there may be more than fit in memory. Every key is in the answer, in the stated order, present in the
        data or not; rows with other keys are left out, NULL among them unless None is listed. `max_groups`: groups that
        one unit counts in; `max_rows`: rows that it counts in each. A unit with more is weighted down, never dropped.
        ``keys=dp.UNKNOWN`` finds the keys that enough units have, for a release with a delta;
        ``keys=dp.UNKNOWN_BY_COUNT`` does so by the numbers of units or rows that are asked for; a limit of "auto" is
        chosen when the answer is released, at a part of its epsilon.

        Several groupings at once are one question with one charge, whose tables agree with each other: `cube` asks for
        every set of the names, `rollup` for the first of them, the first two, and so on, `sets` for those listed; the
        empty set is the total. They need keys that are lists; `max_groups` speaks of groups by all names together.

        >>> from discreet.testing import people
        >>> people().group_by("plan", max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        <question about 'people': n by plan>
        """
        check_renamed(expressions)
        table = self.mutate(**expressions) if expressions else self
        chosen = [*(table._name(written) for written in flattened(names)), *expressions]
        if not chosen or len(set(chosen)) < len(chosen):
            cure = "name each column once; for no groups, use .agg(...)."
            raise InvalidQuery(expected("distinct columns to group by", "names", chosen, cure))
        declared = self._source.declaration
        kinds = {name: table._columns[name].kind for name in chosen}
        wanted = sets_of(chosen, cube=cube, rollup=rollup, sets=sets)
        if isinstance(keys, PublicKeys):
            found = keys.of(kinds)
        elif isinstance(keys, Unknown):
            found = UnknownKeys.of(kinds, keys)
        elif wanted is None:
            found = grouping(kinds, table._keys, keys, table._most_cells)
        else:  # whose combinations may be far too many
            found = ProductKeys.of(chosen, list(kinds.values()), key_lists(kinds, table._keys, keys))
        limits = stated_limits(declared, max_groups=max_groups, max_rows=max_rows)
        asked = RecordedGroups(tuple(chosen), kept(keys), given_limits(max_groups, max_rows), wanted)
        groups = PrivateGroups(table, found, capped_limits(limits, table._most_rows), asked)
        return groups if wanted is None else GroupingSets(groups, wanted)

    @with_usage_hint("people.crosstabs('plan', 'sex', ways=2)")
    def crosstabs(
        self,
        *names: Any,
        ways: int,
        keys: Mapping[str, Any] | None = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
    ) -> BatchQuestion:
        """Counts by each set of `ways` columns, with their margins and the total: one charge, tables that agree.

        >>> from discreet.testing import people
        >>> table = people().cut("age", [0, 18, 65, 110])
        >>> table.crosstabs("plan", "age_bin", ways=1, max_groups=1, max_rows=5).explain(epsilon=1)["tables"]
        ['all', 'plan', 'age_bin']
        """
        chosen = [self._name(written) for written in flattened(names)]
        if isinstance(ways, bool) or not isinstance(ways, int) or not 0 < ways <= len(chosen):
            cure = "ways=2 asks for all pairs of columns."
            raise InvalidQuery(expected(f"a number of columns from 1 to {len(chosen)}", "ways", ways, cure))
        wanted = [list(one) for one in ways_of(chosen, range(ways + 1))]
        groups = self.group_by(chosen, keys=keys, max_groups=max_groups, max_rows=max_rows, sets=wanted)
        return groups.agg(count=lambda t: t.count())

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> Question:
        """A question about all rows: one value for each named aggregate.

        >>> from discreet.testing import people
        >>> people().agg(n=lambda t: t.count(), mean_age=lambda t: t.age.mean())
        <question about 'people': n, mean_age>
        """
        check_named(unnamed)
        bound = {name: self._bound(written) for name, written in aggregates.items()}
        return self._question(None, self._ungrouped(), self._aggregates(bound, ()), RecordedQuestion(self, bound))

    @with_usage_hint("people.regress('visits', 'age')")
    def regress(self, outcome: Any, predictor: Any, where: Any = None) -> Question:
        """The least-squares line of one column over another: ``slope``, and ``intercept``, its height at 0.

        With a list of up to 16, ``["age", "income"]``, that over all together: ``slope_age``, ``slope_income``.

        >>> from discreet.testing import people
        >>> people().regress("visits", "age")
        <question about 'people': slope, intercept>
        """
        return self.agg(**line_of(self, outcome, predictor, where))

    def _ungrouped(self) -> StatedLimits:
        declared = self._source.declaration
        limits = StatedLimits(max_groups=1, max_rows=declared.max_rows, auto=declared.auto_limits - {"max_groups"})
        return capped_limits(limits, self._most_rows)

    @with_usage_hint("people.count().release(epsilon=0.1)")
    def count(self, where: Any = None) -> Question:
        """How many rows there are.

        >>> from discreet.testing import people
        >>> people().count()
        <question about 'people': count>
        """
        return self._single("count", COUNT, where)

    @with_usage_hint("people.nunique().release(epsilon=0.1)")
    def nunique(self, where: Any = None) -> Question:
        """How many units there are.

        >>> from discreet.testing import people
        >>> people().nunique()
        <question about 'people': nunique>
        """
        self._unit_of_columns("each row is a unit of its own: use .count().")
        return self._single("nunique", UNITS, where)

    @overload
    def histogram(
        self,
        column: Any,
        bins: Any = 10,
        *,
        max_groups: int | str | None = None,
        max_rows: int | str | None = None,
        ranges: Literal[False] = False,
    ) -> Question: ...

    @overload
    def histogram(
        self,
        column: Any,
        bins: Any = 10,
        *,
        max_groups: int | None = None,
        max_rows: int | None = None,
        ranges: Literal[True, "prefixes"],
    ) -> RangesQuestion: ...

    @with_usage_hint("people.histogram('age', bins=10)")
    def histogram(
        self,
        column: Any,
        bins: Any = 10,
        *,
        max_groups: int | str | None = None,
        max_rows: int | str | None = None,
        ranges: bool | str = False,
    ) -> Question | RangesQuestion:
        """How many rows there are in each bin of a column, from edges, or so many bins of one width over its bounds.

        It is ``.cut(column, edges)``, grouped and counted: the bins are public, and the rows of one bin cost no more
        than those of all. Where the unit is a column, the limits of `group_by` say in how many bins it counts.

        With `ranges`, all sums of neighboring bins are asked for, and the answer has ``.between(low, high)``,
        ``.cdf()`` and ``.quantile(share)``, for one charge and with far less noise than sums of separate bins; with
        ``ranges="prefixes"`` what is measured is the best for those from the first bin on, and so for ``.cdf()``.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=4, max_groups=1, max_rows=5)
        >>> question
        <question about 'people': count by age_bin>
        >>> question.release(epsilon=1).to_pyarrow()["age_bin"].to_pylist()
        ['[0, 27.5)', '[27.5, 55)', '[55, 82.5)', '[82.5, 110]']
        """
        name, edges = bins_of(self, column, bins)
        groups = self.cut(name, edges).group_by(f"{name}_bin", max_groups=max_groups, max_rows=max_rows)
        question, wanted = groups.agg(count=lambda t: t.count()), kind_of(ranges)
        if wanted is None:
            return question
        asked = RecordedRanges(self, name, tuple(edges), given_limits(max_groups, max_rows), sums=wanted)
        return ranges_of(question, asked)

    def _single(self, name: str, statistic: Statistic, where: Any) -> Question:
        bound = where if where is None or isinstance(where, bool) else self._bound(where)
        held = None if bound is None else self._condition(bound)
        unit = self._untouched_unit() if len(self._source.declaration.unit) == 1 else ()
        asked = RecordedQuestion(self, {name: counted(self._visible, unit, statistic, bound)}, where=bound)
        return self._question(None, self._ungrouped(), [Aggregate(name=name, statistic=statistic, where=held)], asked)

    def _aggregates(self, written: Mapping[str, Any], keys: Iterable[str]) -> list[Aggregate]:
        """The checked aggregates, whose names and ends are their own."""
        if not written:
            raise InvalidQuery("Expected an aggregate, got none.\nHint: write .agg(n=_.count(), mean=_.age.mean()).")
        tables, unit = self._tables(), self._untouched_unit()
        known = Known(
            unit=unit if unit == self._source.declaration.unit else (),  # a part of it names nobody
            auto=self._source.declaration.auto_bounds,
            keys={self._columns[name].expr.op(): keys for name, keys in self._keys.items() if name in self._columns},
        )
        found = [a for name, w in written.items() for a in aggregates(name, self._bound(w), tables, known)]
        taken = set(keys)
        for name in (a.name for a in found):
            check_name(name, ())
            names = {f"{name}{end}" for end in ENDS}
            if names & taken:
                cure = "its interval takes the names x_low and x_high, and the groups take theirs."
                raise InvalidQuery(expected("a name of its own for each column", "name", name, cure))
            taken |= names
        return found

    def _question(
        self, keys: Keys | None, limits: StatedLimits, aggregates: Iterable[Aggregate], asked: RecordedQuestion
    ) -> Question:
        unknown = keys if isinstance(keys, UnknownKeys) else None
        if isinstance(keys, UnknownKeys):
            limits = limits_of_unknown(limits, self._source.declaration)
            keys = keys.stand_in(limits)
        listed = tuple(aggregates)
        if unknown is None and keys is not None and not isinstance(keys, ProductKeys):
            check_cells(keys.size * len(listed), self._most_cells)
        query = Query(
            declaration=self._source.declaration,
            relation=self._relation,
            groups={name: self._columns[name].expr for name in keys.names} if keys else {},
            keys=keys,
            limits=limits,
            aggregates=listed,
            filtered=self._filtered,
            most_rows=self._most_rows,
            conditions=self._conditions,
        )
        if keys is not None:
            _check_values_of_all(query)
        check_limits(query)
        is_open = unknown is not None or limits.auto or open_values(query)
        if is_open or any(a.statistic.apart or a.statistic is DISTINCT for a in query.aggregates):
            check_moved(query.declaration, "table")
        if is_open and any(a.statistic.apart for a in query.aggregates):
            raise InvalidQuery(
                "Expected stated keys and limits beside a quantile, an end or a number of unlisted values, got some to "
                "find.\n"
                "Hint: find them by a question of their own, and state them in this one."
            )
        return Question(self._source, query, Unspecified(unknown, limits.auto), _asked=asked)


def _check_values_of_all(query: Query) -> None:
    """Refuses, in groups, numbers of values that nobody listed: one unit would move that of each group by its limit."""
    found = next((a for a in query.aggregates if a.statistic is AT_LEAST and a.value is not None), None)
    if found is not None and found.value is not None:
        text = found.value.text
        cure = f"list the values, keys={{{text!r}: [...]}}; or ask for one group at a time, "
        cure += f".filter(_.group == 1).agg({found.name}=_.{text}.nunique()): a unit in several would move all of them."
        raise InvalidQuery(expected("nunique() of listed values in groups", found.name, text, cure))

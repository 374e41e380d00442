"""The groups of a protected table, waiting for what is asked of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from discreet.errors import InvalidQuery, expected, printable
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.guesses.near_names import line_for
from discreet.guesses.table_words import GROUPS_WORDS
from discreet.planning.group_keys import Keys
from discreet.planning.plan import StatedLimits
from discreet.planning.unspecified import UnknownKeys
from discreet.query.query_steps import UnknownColumn
from discreet.query.question import Question
from discreet.query.ranges import GroupedRangesQuestion, bins_of, grouped_ranges_of, kind_of, with_bins
from discreet.query.recorded_verbs import RecordedGroups, RecordedQuestion, RecordedRanges
from discreet.query.regression import line_of
from discreet.query.unreleased_methods import Unreleased

if TYPE_CHECKING:
    from discreet.query.table import PrivateTable


def check_named(unnamed: tuple[Any, ...]) -> None:
    """Refuses aggregates without a name, for which Ibis would invent one."""
    if unnamed:
        raise InvalidQuery("Expected a name for each aggregate, got one without.\nHint: write .agg(n=_.count()).")


@dataclass(frozen=True, eq=False, repr=False)
class PrivateGroups(Unreleased):
    """Groups of a private table, waiting for `.agg`."""

    _table: PrivateTable
    _keys: Keys
    _limits: StatedLimits
    _asked: RecordedGroups

    @property
    def keys(self) -> Keys:
        """The public keys, or that they are unknown."""
        return self._keys

    if not TYPE_CHECKING:  # for a type checker, which finds a verb that is written wrong by itself

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            cure = line_for(name, dir(type(self)), GROUPS_WORDS)
            cure = "write .agg(n=_.count(), mean=_.column.mean()), and release that." if cure[:5] == "there" else cure
            raise UnknownColumn(expected(".agg(...) or .regress(...) of groups", "method", name, cure))

    def __getitem__(self, name: object) -> NoReturn:
        cure = "write .agg(m=_.visits.mean()): an aggregate of a column for each column of the answer."
        raise InvalidQuery(expected(".agg(...) of groups", "columns", name, cure))

    def __repr__(self) -> str:
        known = "unknown keys" if isinstance(self._keys, UnknownKeys) else f"{self._keys.size:,} public keys"
        return printable(f"<groups of {self._table!r} by {', '.join(self._keys.names)}: {known}>")

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> Question:
        """A question: one value for each named aggregate in each group.

        >>> from discreet.testing import people
        >>> people().group_by("plan", max_groups=1, max_rows=5).agg(visits=lambda t: t.visits.mean())
        <question about 'people': visits by plan>
        """
        check_named(unnamed)
        table, keys = self._table, self._keys
        bound = {name: table._bound(written) for name, written in aggregates.items()}
        asked = RecordedQuestion(table, bound, self._asked)
        return table._question(keys, self._limits, table._aggregates(bound, keys.names), asked)

    @overload
    def histogram(self, column: Any, bins: Any = 10, *, ranges: Literal[False] = False) -> Question: ...

    @overload
    def histogram(self, column: Any, bins: Any = 10, *, ranges: Literal[True, "prefixes"]) -> GroupedRangesQuestion: ...

    @with_usage_hint("people.group_by('plan').histogram('age', bins=10)")
    def histogram(self, column: Any, bins: Any = 10, *, ranges: bool | str = False) -> Question | GroupedRangesQuestion:
        """How many rows there are in each bin of a column, in each group; arguments as of `PrivateTable.histogram`.

        The limits of `group_by` speak of pairs of a group and a bin, as of ``.group_by("plan", "age_bin")``. With
        `ranges`, the answer has ``.between(low, high)``, ``.cdf()`` and ``.quantile(share)`` of all groups at once, and
        all that follows from the bins of one of them under its key.

        >>> from discreet.testing import people
        >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
        >>> groups.histogram("age", [0, 18, 65, 110])
        <question about 'people': count by plan, age_bin>
        >>> groups.histogram("age", [0, 18, 65, 110], ranges=True)
        <all ranges of 3 bins by plan, about 'people'>

        Raises:
            InvalidQuery: keys that are not listed, or more than 1,048,576 pairs.
        """
        table, wanted = self._table, kind_of(ranges)
        name, edges = bins_of(table, column, bins)
        cut, new = table.cut(name, edges), f"{name}_bin"
        if wanted is None:
            groups = cut.group_by([*self._keys.names, new], keys=self._asked.keys, **self._asked.limits)
            question: Question = groups.agg(count=lambda t: t.count())
            return question
        keys = with_bins(self._keys, new, cut._keys[new])
        count = {"count": cut._bound(lambda t: t.count())}
        counted = RecordedQuestion(cut, count, self._asked)
        question = cut._question(keys, self._limits, cut._aggregates(count, keys.names), counted)
        return grouped_ranges_of(question, RecordedRanges(table, name, tuple(edges), {}, by=self._asked, sums=wanted))

    def regress(self, outcome: Any, predictor: Any, where: Any = None) -> Question:
        """The same line as `PrivateTable.regress`, in each group.

        >>> from discreet.testing import people
        >>> people().group_by("plan", max_groups=1, max_rows=5).regress("visits", "age")
        <question about 'people': slope, intercept by plan>
        """
        return self.agg(**line_of(self._table, outcome, predictor, where))

"""Several groupings of the same rows at once: cubes, rollups, stated sets, cross-tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from discreet.errors import InvalidQuery, expected, nearest_name
from discreet.exact.given_values import flag
from discreet.guesses.near_names import line_for
from discreet.guesses.table_words import GROUPS_WORDS
from discreet.planning.batch_planner import BatchQuery, BatchTable
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Query
from discreet.planning.product_keys import ProductKeys
from discreet.privacy.declaration import Key
from discreet.query.batch_cells import coded_groups
from discreet.query.batch_question import check_cells
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.query_steps import UnknownColumn
from discreet.query.question import Question
from discreet.query.unreleased_methods import Unreleased
from discreet.workloads.cell_tables import MOST_CELLS, CellTable

MOST_CUBED = 10
"""Attributes of a cube: it has two to the power of that many tables."""
MOST_TABLES = 5000
OF_EACH = (
    "ask for those of each grouping together, dp.batch(all=people.histogram('age', ranges=True), "
    "by_plan=people.group_by('plan').histogram('age', ranges=True)): one charge pays."
)

Sets = tuple[tuple[str, ...], ...]


def sets_of(names: Sequence[str], *, cube: object, rollup: object, sets: object) -> Sets | None:
    """The groupings that are asked for by name; None for the one by all names."""
    given = {"cube": flag("cube", cube), "rollup": flag("rollup", rollup), "sets": sets is not None}
    stated = [name for name, is_stated in given.items() if is_stated]
    if not stated:
        return None
    if len(stated) > 1:
        cure = 'write cube=True, or rollup=True, or sets=[["state"], ["state", "county"], []].'
        raise InvalidQuery(expected("one of cube, rollup and sets", "stated", ", ".join(stated), cure))
    if cube:
        if len(names) > MOST_CUBED:
            cure = ".crosstabs(..., ways=2) has all pairs; sets=[...] those that you need."
            raise InvalidQuery(expected(f"at most {MOST_CUBED} attributes in a cube", "names", len(names), cure))
        return ways_of(names, range(len(names) + 1))
    if rollup:
        return tuple(tuple(names[:k]) for k in range(len(names) + 1))
    return _stated(names, sets)


def ways_of(names: Sequence[str], ways: Iterable[int]) -> Sets:
    """All sets of so many names."""
    return tuple(one for k in ways for one in itertools.combinations(names, k))


def _stated(names: Sequence[str], sets: object) -> Sets:
    cure = 'write sets=[["state"], ["state", "county"], []]; the empty one is the total.'
    if isinstance(sets, str) or not isinstance(sets, list | tuple) or not sets:
        raise InvalidQuery(expected("a list of lists of names", "sets", sets, cure))
    found = []
    for one in sets:
        own = [one] if isinstance(one, str) else one
        if not isinstance(own, list | tuple) or len(set(own)) < len(own):
            raise InvalidQuery(expected("lists of distinct names", "sets", one, cure))
        if unknown := [name for name in own if name not in names]:
            raise InvalidQuery(
                expected("names that are grouped by", "sets", unknown[0], nearest_name(unknown[0], names))
            )
        found.append(tuple(name for name in names if name in own))
    if twice := [one for one, times in Counter(found).items() if times > 1]:
        raise InvalidQuery(
            expected("each set once", "sets", ", ".join(twice[0]) or "()", "leave the repeated one out.")
        )
    if len(found) > MOST_TABLES:
        raise InvalidQuery(expected(f"at most {MOST_TABLES:,} sets", "sets", f"{len(found):,}", "ask for fewer."))
    if unused := [name for name in names if not any(name in one for one in found)]:
        raise InvalidQuery(expected("each name in a set", "names", unused[0], "leave out what no set has."))
    return tuple(found)


def grouped_batch(query: Query, sets: Sets) -> BatchQuery:
    """The tables of some sets of the groups of a question about all of them."""
    keys = query.keys
    if keys is None:
        raise TypeError(query)
    lists = _lists(keys)
    sizes, axes_of = tuple(map(len, lists)), [tuple(keys.names.index(name) for name in one) for one in sets]
    check_cells(query, sizes, axes_of)
    if keys.size > MOST_CELLS:
        cells = coded_groups(query, lists)
    else:
        cells = replace(query, keys=keys.written_out()) if isinstance(keys, ProductKeys) else query
    tables = []
    for one, axes in zip(sets, axes_of, strict=True):
        own = Keys(one, tuple(keys.kinds[axis] for axis in axes), tuple(itertools.product(*(lists[a] for a in axes))))
        asked = replace(query, keys=own if one else None, groups={name: query.groups[name] for name in one})
        table = CellTable(axes, (None,) * len(axes))
        tables.append(BatchTable(name=one, query=asked, table=table, places=tuple(range(len(query.aggregates)))))
    return BatchQuery(cells=cells, sizes=sizes, tables=tuple(tables))


def _lists(keys: Keys) -> list[tuple[Key, ...]]:
    """The lists whose combinations the keys are."""
    if isinstance(keys, ProductKeys):
        return [tuple(own) for own in keys.lists]
    lists = [tuple(dict.fromkeys(row[i] for row in keys.rows)) for i in range(len(keys.names))]
    if keys.rows != tuple(itertools.product(*lists)):
        cure = "list the keys of each column by itself, keys={'state': [...], 'plan': [...]}."
        raise InvalidQuery(expected("all combinations of the keys", "keys", "some tuples", cure))
    return lists


class Groups(Protocol):
    """The groups of a table that `group_by` gave."""

    @property
    def keys(self) -> Keys:
        """The public keys, or that they are unknown."""

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> Question:
        """A question: one value for each named aggregate in each group."""

    def regress(self, outcome: Any, predictor: Any, where: Any = None) -> Question:
        """The line of one column over another in each group."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupingSets(Unreleased):
    """Several groupings of a private table, waiting for `.agg`."""

    _groups: Groups
    _sets: Sets

    if not TYPE_CHECKING:  # for a type checker, which finds a verb that is written wrong by itself

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            cure = OF_EACH if name == "histogram" else line_for(name, dir(type(self)), GROUPS_WORDS)
            cure = "write .agg(n=_.count(), s=_.column.sum()), and release that." if cure[:5] == "there" else cure
            raise UnknownColumn(expected(".agg(...) or .regress(...) of several groupings", "method", name, cure))

    def __repr__(self) -> str:
        return f"{self._groups!r}"[:-1] + f", {len(self._sets)} sets of them>"

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> ListedBatchQuestion:
        """A batch: one value for each named aggregate in each group of each set.

        >>> from discreet.testing import people
        >>> people().group_by("plan", rollup=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        <batch about 'people': 2 tables, n>
        """
        return self._batch(self._groups.agg(*unnamed, **aggregates))

    def regress(self, outcome: Any, predictor: Any, where: Any = None) -> ListedBatchQuestion:
        """The line of ``PrivateTable.regress`` in each group of each set.

        >>> from discreet.testing import people
        >>> people().group_by("plan", rollup=True, max_groups=1, max_rows=5).regress("visits", "age")
        <batch about 'people': 2 tables, slope, intercept>
        """
        return self._batch(self._groups.regress(outcome, predictor, where))

    def _batch(self, question: Question) -> ListedBatchQuestion:
        if type(self._groups.keys) not in (Keys, ProductKeys):
            cure = "list them, keys={'plan': [...]}; unknown keys and tuples of keys are for one grouping at a time."
            raise InvalidQuery(expected("keys that are lists", "keys", "others", cure))
        return ListedBatchQuestion(question._source, question._asked, grouped_batch(question._query, self._sets))

"""The verb: counts and sums of a protected table on all levels of a path, ready to be explained or released."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.given_values import flag, in_memory
from discreet.hierarchies.explain_levels import account
from discreet.hierarchies.level_files import LevelFiles, write_levels
from discreet.hierarchies.level_plan import LevelPlan, level_plan, plan_within, stated_weights_of
from discreet.hierarchies.measured_levels import CONFIDENCE, HierarchyRelease, release_levels, stored_levels
from discreet.hierarchies.place_keys import TOTAL, MarkedPlaces, PlaceKeys, Places
from discreet.planning.group_keys import Keys, checked_keys, grouping
from discreet.planning.plan import Query
from discreet.planning.planner import level
from discreet.query.explanation import Explanation
from discreet.query.expression_documents import expression_document
from discreet.query.file_output import check_held
from discreet.query.public_keys import PublicKeys
from discreet.query.question_documents import document_of, key_part, limits_part, public_name
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateGroups, PrivateTable
from discreet.query.unreleased_methods import Unreleased


@dataclass(frozen=True, eq=False, repr=False)
class PathGroups(Unreleased):
    """The levels of a path, waiting for `.agg`."""

    _table: PrivateTable
    _places: Places
    _limits: Mapping[str, int | str | None]
    _levels: tuple[str, ...]
    _keys: PublicKeys
    _cells: Mapping[str, Any]
    """As they were given."""

    def __repr__(self) -> str:
        return printable(f"<levels of {self._table!r}: {_sizes(self._places)}>")

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> HierarchyQuestion:
        """A question: one value for each named aggregate, a count or a sum, on each level.

        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> keys = dp.public_keys(pa.table({"plan": ["free", "25%"]}))
        >>> people().hierarchy(["plan"], keys=keys, max_groups=1).agg(n=lambda t: t.count())
        <question about 'people': n on 1 total, 2 plan>
        """
        if unnamed:
            raise InvalidQuery("Expected a name for each aggregate, got one without.\nHint: write .agg(n=_.count()).")
        query = asked_of(self._table, self._places.groups(), self._limits, aggregates)
        bound = {name: self._table._bound(value) for name, value in aggregates.items()}  # noqa: SLF001 (a verb of this table)

        def stated() -> dict[str, Any]:
            made = [[name, expression_document(value.op())] for name, value in bound.items()]
            return {**self._parts(), "aggregates": made}

        asked = RecordedApplication(self._table, "hierarchy", stated)
        return HierarchyQuestion(self._table, self._places, self._limits, aggregates, query, asked)

    def _parts(self) -> dict[str, Any]:
        """The levels and their keys as a document has them."""
        part: dict[str, Any] = {"levels": list(self._levels), "keys": public_name(self._keys.name, "public_keys")}
        if self._cells:
            part["cells"] = [
                [name, None if keys is None else [key_part(key) for key in checked_keys(name, keys)]]
                for name, keys in self._cells.items()
            ]
        return {**part, **limits_part({name: limit for name, limit in self._limits.items() if limit is not None})}


def asked_of(
    table: PrivateTable, groups: PlaceKeys, limits: Mapping[str, int | str | None], aggregates: Mapping[str, Any]
) -> Query:
    """The ordinary question about some leaves of a table."""
    question = _groups(table, groups, limits).agg(**aggregates)
    if question._is_open:  # noqa: SLF001 (a question is its query and what is open)
        cure = "state the limits and bounds; .agg of a group_by finds some."
        raise InvalidQuery(expected("limits and bounds that are stated", "aggregates", "some to find", cure))
    return question._query  # noqa: SLF001 (as above)


def _groups(table: PrivateTable, groups: PlaceKeys, limits: Mapping[str, int | str | None]) -> PrivateGroups:
    return table.group_by(*groups.names, keys=MarkedPlaces(groups.names, _groups=groups), **limits)


@dataclass(frozen=True, eq=False, repr=False)
class HierarchyQuestion(Unreleased):
    """A complete question about all levels. `explain` prices it without reading a row; `release` answers it."""

    _table: PrivateTable
    _places: Places
    _limits: Mapping[str, int | str | None]
    _aggregates: Mapping[str, Any]
    _query: Query
    _asked: RecordedApplication

    def __repr__(self) -> str:
        names = ", ".join(a.name for a in self._query.aggregates)
        return printable(f"<question about {self._source.declaration.name!r}: {names} on {_sizes(self._places)}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON; see ``Question.document``. The public keys need a name.

        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> keys = dp.public_keys(pa.table({"plan": ["free", "25%"]}), name="plans")
        >>> question = people().hierarchy(["plan"], keys=keys, max_groups=1).agg(n=lambda t: t.count())
        >>> question.document()["hierarchy"]["keys"]
        'plans'
        """
        return document_of(self._asked)

    @property
    def _source(self) -> Any:
        return self._table._source  # noqa: SLF001 (what a question is asked of)

    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        shares: Sequence[object] | None = None,
        weights: Mapping[str, object] | Sequence[object] | None = None,
        integers: bool = False,
        confidence: float = 0.95,
    ) -> Explanation:
        """The noise and the error of each level, and what a release would cost; nothing is read or spent.

        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> keys = dp.public_keys(pa.table({"plan": ["free", "25%"]}))
        >>> question = people().hierarchy(["plan"], keys=keys, max_groups=1).agg(n=lambda t: t.count())
        >>> list(question.explain(epsilon=1).accuracy)
        ['n by total', 'n by plan']
        """
        wanted = level(confidence)
        plan = self._plan((epsilon, delta, rho), within, (shares, weights), integers=integers, confidence=wanted)
        return account(plan, self._source.statement(plan.plan), wanted)

    @overload
    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        shares: Sequence[object] | None = None,
        weights: Mapping[str, object] | Sequence[object] | None = None,
        integers: bool = False,
        confidence: float = 0.95,
        fresh: bool = False,
        to: None = None,
    ) -> HierarchyRelease: ...

    @overload
    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        shares: Sequence[object] | None = None,
        weights: Mapping[str, object] | Sequence[object] | None = None,
        integers: bool = False,
        confidence: float = 0.95,
        fresh: bool = False,
        to: str | os.PathLike[str],
    ) -> LevelFiles: ...

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        shares: Sequence[object] | None = None,
        weights: Mapping[str, object] | Sequence[object] | None = None,
        integers: bool = False,
        confidence: float = 0.95,
        fresh: bool = False,
        to: str | os.PathLike[str] | None = None,
    ) -> HierarchyRelease | LevelFiles:
        """The noisy tables of all levels, which add up along the path, charged before a row is read.

        Args:
            epsilon: what all levels cost together, with Laplace noise; with a delta, or Gaussian noise if it is better.
            delta: beside epsilon.
            rho: of zero-concentrated differential privacy instead, with Gaussian noise.
            within: half widths by level, ``{"county": 20}``: the smallest epsilon at which the intervals of a single
                column are no wider.
            shares: of the price, one for each level, the total first, in proportion to each other; 0 for a level that
                is not measured. Without, those with the least sum of the levels' mean variances,
            weights: weighted by these, in the same order or by level, ``{"county": 4}``, 1 for those that are left out.
            integers: whether counts are rounded to whole numbers that still add up. Estimates are unbiased without.
            confidence: of the intervals.
            fresh: draws anew, and pays again, where the same was asked before.
            to: a folder for one Parquet file a level, which is made: tables that do not fit in memory are written part
                by part.

        Raises:
            InvalidParameter, InvalidQuery, BudgetExceeded: nothing has been read or spent.
            EngineError: something failed after the charge, which stays spent.
        """
        wanted = level(confidence)
        flag("fresh", fresh)
        if to is None:
            check_held(self._query)
        plan = self._plan((epsilon, delta, rho), within, (shares, weights), integers=integers, confidence=wanted)
        if hasattr(self._source, "fetched"):  # the table is elsewhere
            call = self._call(plan, (epsilon, delta, rho), within, (shares, weights, integers, to))
            found: HierarchyRelease = self._source.fetched(
                call,
                lambda stored: HierarchyRelease(*stored_levels(plan, stored), wanted),
                fresh=fresh,
                confidence=wanted,
            )
            return found
        if to is None:
            return release_levels(self._source, plan, fresh=fresh, confidence=wanted)
        return write_levels(self._source, plan, self._part, to=to, fresh=fresh, confidence=wanted)

    def _call(
        self,
        plan: LevelPlan,
        price: tuple[object, object, object],
        within: Mapping[str, object] | None,
        ways: tuple[Any, Any, bool, object],
    ) -> ReleaseCall:
        """The call as it is sent to where the table is; refuses what cannot be sent."""
        shares, weights, integers, to = ways
        for name, given in (("shares", shares), ("integers", integers or None), ("to", to)):
            if given is not None:
                cure = "leave it out, or weight the levels: weights=[1, 1, 4]; an answer is held, and then written."
                raise InvalidQuery(expected("what a service takes of a hierarchy", name, given, cure))
        epsilon, delta, rho = price
        named = None if weights is None else stated_weights_of(weights, self._places.levels)
        return ReleaseCall(
            document=self.document,
            price={"epsilon": epsilon, "delta": delta, "rho": rho, "within": within},
            weights=named,
            account=partial(account, plan, "", CONFIDENCE),
        )

    def _plan(
        self,
        price: tuple[object, object, object],
        within: Mapping[str, object] | None,
        division: tuple[object, object],
        *,
        integers: bool,
        confidence: float,
    ) -> LevelPlan:
        flag("integers", integers)
        epsilon, delta, rho = price
        shares, weights = division
        if shares is not None and weights is not None:
            cure = "shares say what each level costs; weights have that chosen."
            raise InvalidParameter(expected("shares or weights", "shares, weights", "both", cure))
        if within is None:
            prices = {"epsilon": epsilon, "delta": delta, "rho": rho}
            return level_plan(self._query, self._places, prices, shares=shares, weights=weights, integers=integers)
        if (epsilon, delta, rho, shares, weights) != (None, 0, None, None, None):
            cure = "within finds epsilon and the shares of levels."
            raise InvalidParameter(expected("within alone", "price", "another beside it", cure))
        return plan_within(self._query, self._places, within, confidence=confidence, integers=integers)

    def _part(self, first: int, end: int) -> Query:
        """The same question about some neighboring leaves, and no other rows."""
        table, places = self._table, self._places
        for name in places.path.column_names:
            values = places.path[name].slice(first, end - first).unique()
            if len(values) <= MOST_NAMED and not values.null_count:
                table = table.filter(table[name].isin(values.to_pylist()))
        return asked_of(table, places.groups(first, end), self._limits, self._aggregates)


MOST_NAMED = 1000
"""Values of a column by which rows of a part are found; with more of them, all rows are looked at."""


def hierarchy(
    table: PrivateTable,
    levels: Sequence[str],
    *,
    keys: PublicKeys,
    cells: Mapping[str, object] | Sequence[str] = (),
    max_groups: int | str | None = None,
    max_rows: int | str | None = None,
) -> PathGroups:
    """The levels of a path of columns, from the top down; see `PrivateTable.hierarchy`.

    Raises:
        InvalidParameter, InvalidQuery: something is not usable, or not public. Nothing has been read or spent.
    """
    if not isinstance(table, PrivateTable):
        cure = "protect it first: dp.protect(data, unit=..., budget=...)."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    if not isinstance(keys, PublicKeys):
        cure = "the curator marks the places of the last level: keys=dp.public_keys(...)."
        raise InvalidParameter(expected("public keys", "keys", keys, cure))
    names = _names("levels", levels)
    given = dict(cells) if isinstance(cells, Mapping) else dict.fromkeys(_names("cells", cells, least=0))
    if set(names) & set(given) or TOTAL in {*names, *given}:
        cure = f"a column is of the path or of the cells, and none is called {TOTAL!r}: .rename(...) the table."
        raise InvalidQuery(expected("columns of different names", "levels, cells", [*names, *given], cure))
    columns = table.select(*names, *given)._columns  # noqa: SLF001 (what is known of a column is public)
    kinds = {name: columns[name].kind for name in (*names, *given)}
    places = Places.of(names, keys, {name: kinds[name] for name in names}, _cells(table, given, kinds))
    limits = {"max_groups": max_groups, "max_rows": max_rows}
    _groups(table, places.groups(), limits)  # which refuses limits that are none
    return PathGroups(
        table,
        places,
        limits,
        tuple(names),
        keys,
        _kept(given),
    )


def _cells(table: PrivateTable, given: Mapping[str, object], kinds: Mapping[str, Any]) -> Keys | None:
    """All tuples of the values of the cells' columns."""
    if not given:
        return None
    stated = {name: values for name, values in given.items() if values is not None}
    return grouping({name: kinds[name] for name in given}, table._keys, stated)  # noqa: SLF001 (public keys)


def _kept(given: Mapping[str, Any]) -> dict[str, tuple[Any, ...] | None]:
    """Values as they were given, in lists of their own."""
    return {name: None if values is None else tuple(values) for name, values in given.items()}


def _names(name: str, given: object, *, least: int = 1) -> list[str]:
    """Names of columns, each once."""
    found = list(given) if not isinstance(given, str) and in_memory(given) else [None]
    if len(found) < least or not all(isinstance(one, str) for one in found) or len(set(found)) < len(found):
        cure = 'write people.hierarchy(["state", "county"], keys=...).'
        raise InvalidQuery(expected("a list of columns, each once", name, given, cure))
    return [str(one) for one in found]


def _sizes(places: Places) -> str:
    return ", ".join(f"{size:,} {name}" for name, size in zip(places.levels, places.tree.sizes, strict=True))

"""Verbs of rooms above this one, by name: this room knows where they are, as the package root does, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, overload

from discreet.guesses.misfit_calls import with_usage_hint

if TYPE_CHECKING:  # what they return, for a type checker alone
    from discreet.choices.choose_candidate import Choice
    from discreet.clustering.table_kmeans import Clusters
    from discreet.hierarchies.hierarchy_question import HierarchyQuestion as HierarchyQuestion  # noqa: PLC0414 (a name)
    from discreet.hierarchies.hierarchy_question import PathGroups
    from discreet.logs.top_keys import Top
    from discreet.query.unpriced_question import UnpricedQuestion
    from discreet.series.series_question import SeriesTable

APPLICATIONS: Mapping[str, str] = {
    "kmeans": "discreet.clustering.table_kmeans",
    "top": "discreet.logs.top_keys",
    "choose": "discreet.choices.choose_candidate",
    "count_distinct": "discreet.distinct_values.count_distinct",
    "truncated_total": "discreet.truncation.truncated_total",
    "hierarchy": "discreet.hierarchies.hierarchy_question",
    "series": "discreet.series.series_question",
    "refreshed": "discreet.curator.table_versions",
}
"""Where the function of this name lives that takes a protected table first; loaded when it is called."""


def application(name: str, *, priced: bool = True) -> Any:
    """The function of this name, or the one that asks the same without a price."""
    return getattr(import_module(APPLICATIONS[name]), name if priced else f"{name}_question")


def ask_application(name: str, of: tuple[Any, ...], options: Mapping[str, Any], price: Mapping[str, Any]) -> Any:
    """The answer at a price; the question, where nothing is said of one."""
    if (
        price["epsilon"] is None
        and price.get("rho") is None
        and price["fresh"] is False
        and price.get("delta") in (None, 0)
    ):
        return application(name, priced=False)(*of, **options)
    return application(name)(*of, **options, **price)


class Applications:
    """What can be done with a protected table beyond asking it one question."""

    @overload
    def kmeans(
        self,
        columns: Sequence[str],
        *,
        n_clusters: int,
        epsilon: None = None,
        rho: None = None,
        algorithm: str = "best",
        rounds: int = 5,
        max_groups: int | None = None,
        max_rows: int | None = None,
    ) -> UnpricedQuestion[Clusters]: ...

    @overload
    def kmeans(
        self,
        columns: Sequence[str],
        *,
        n_clusters: int,
        epsilon: object = None,
        rho: object = None,
        algorithm: str = "best",
        rounds: int = 5,
        max_groups: int | None = None,
        max_rows: int | None = None,
        fresh: bool = False,
    ) -> Clusters: ...

    @with_usage_hint(".kmeans(['age', 'visits'], n_clusters=3, epsilon=1)")
    def kmeans(
        self,
        columns: Sequence[str],
        *,
        n_clusters: int,
        epsilon: object = None,
        rho: object = None,
        algorithm: str = "best",
        rounds: int = 5,
        max_groups: int | None = None,
        max_rows: int | None = None,
        fresh: bool = False,
    ) -> Clusters | UnpricedQuestion[Clusters]:
        """Private cluster centers of some columns, for one charge of epsilon or rho; see ``dp.kmeans`` for the options.

        Without a price it is the question, with ``.explain(...)``, ``.document()`` and ``.release(epsilon=8)``.

        >>> from discreet.testing import people
        >>> people().kmeans(["age", "visits"], n_clusters=2, epsilon=8).columns
        ('age', 'visits')
        """
        limits = {"max_groups": max_groups, "max_rows": max_rows}
        options = {"n_clusters": n_clusters, "algorithm": algorithm, "rounds": rounds, **limits}
        price = {"epsilon": epsilon, "rho": rho, "fresh": fresh}
        found: Clusters | UnpricedQuestion[Clusters] = ask_application("kmeans", (self, columns), options, price)
        return found

    @overload
    def top(
        self,
        column: str,
        *,
        epsilon: None = None,
        rho: None = None,
        k: int = 1,
        keys: object = None,
        order: bool = True,
    ) -> UnpricedQuestion[Top]: ...

    @overload
    def top(
        self,
        column: str,
        *,
        epsilon: object = None,
        rho: object = None,
        k: int = 1,
        keys: object = None,
        delta: object = 0,
        order: bool = True,
        fresh: bool = False,
    ) -> Top: ...

    @with_usage_hint(".top('plan', k=3, epsilon=0.1)")
    def top(
        self,
        column: str,
        *,
        epsilon: object = None,
        rho: object = None,
        k: int = 1,
        keys: object = None,
        delta: object = 0,
        order: bool = True,
        fresh: bool = False,
    ) -> Top | UnpricedQuestion[Top]:
        """The k public values of a column that most units have, best first, for one charge; k=1 is the mode.

        A unit may have any number of values: each of them moves one score by one, all the same way, so there is no
        limit to state, and the noise does not grow with it. The values are those of ``keys``, declared or given here; a
        ``delta`` is used where there is one, beside epsilon. With ``order=False`` they are a set, in the order of the
        list: it is drawn at once where its error for any data is smaller than that of k choices for some, and the
        receipt compares both. The result has ``values`` and ``receipt``, and no counts: those are an answer of their
        own, ``.group_by(column).agg(...)``. Without a price it is the question, with ``.explain(...)``,
        ``.document()`` and ``.release(epsilon=0.1)``.

        >>> from discreet.testing import people
        >>> len(people().top("plan", k=2, epsilon=5).values)
        2
        """
        options = {"k": k, "keys": keys, "order": order}
        price = {"epsilon": epsilon, "rho": rho, "delta": delta, "fresh": fresh}
        found: Top | UnpricedQuestion[Top] = ask_application("top", (self, column), options, price)
        return found

    @overload
    def choose(
        self,
        candidates: Sequence[Any],
        *,
        score: Callable[[Any], Any],
        epsilon: None = None,
        rho: None = None,
        max_rows: int | None = None,
    ) -> UnpricedQuestion[Choice]: ...

    @overload
    def choose(
        self,
        candidates: Sequence[Any],
        *,
        score: Callable[[Any], Any],
        epsilon: object = None,
        rho: object = None,
        max_rows: int | None = None,
        fresh: bool = False,
    ) -> Choice: ...

    @with_usage_hint(".choose([17, 18, 21], score=lambda c: _.age == c, epsilon=0.1)")
    def choose(
        self,
        candidates: Sequence[Any],
        *,
        score: Callable[[Any], Any],
        epsilon: object = None,
        rho: object = None,
        max_rows: int | None = None,
        fresh: bool = False,
    ) -> Choice | UnpricedQuestion[Choice]:
        """One of your own candidates, by a score that you write: the exponential mechanism, by permute-and-flip.

        ``score`` is a function of a candidate. Where it gives a condition, the score is the number of rows for which it
        is true; where it gives a number with bounds, the sum over the rows. The candidate with the highest score is the
        likeliest; by how much the choice may fall short of it is in the receipt, in the units of the scores. How far
        one unit can move two scores apart is derived: 1 for conditions where a unit has one row. The result has
        ``value``, the chosen candidate, and ``receipt``; no score. Without a price it is the question, with
        ``.explain(...)``, ``.document()`` and ``.release(epsilon=0.1)``.

        Args:
            candidates: a list of 2 to 1,000, of any kind; public, as all that you write.
            score: from a candidate to an expression of a row: ``lambda c: _.age == c``.
            epsilon: what it costs, or instead
            rho: of zero-concentrated differential privacy.
            max_rows: with how many rows a unit counts in each score, where that is not declared.
            fresh: whether to draw anew and pay anew where the same was asked before.

        >>> from ibis import _
        >>> from discreet.testing import people
        >>> people().choose([10, 40, 70], score=lambda c: (_.age - c).abs() < 15, epsilon=5).value in (10, 40, 70)
        True
        """
        options = {"score": score, "max_rows": max_rows}
        price = {"epsilon": epsilon, "rho": rho, "fresh": fresh}
        found: Choice | UnpricedQuestion[Choice] = ask_application("choose", (self, candidates), options, price)
        return found

    @with_usage_hint(".hierarchy(['state', 'county'], keys=dp.public_keys(...))")
    def hierarchy(
        self,
        levels: Sequence[str],
        *,
        keys: Any,
        cells: Mapping[str, object] | Sequence[str] = (),
        max_groups: int | str | None = None,
        max_rows: int | str | None = None,
    ) -> PathGroups:
        """Counts and sums on all levels of a path, such as state, county and block, that add up; then ``.agg(...)``.

        Each level is measured with the noise that is best for all of them together, and least squares makes them agree,
        which costs nothing: a county is better than one that was released alone, or added up from its blocks. ``keys``
        are the places of the last level with all columns of the path, as the curator marked them,
        ``dp.public_keys(...)``. ``cells`` has further columns, such as race and age, and the public values of each, or
        the names of those whose keys are declared. The limits are those of `group_by`, for the last level.

        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> keys = dp.public_keys(pa.table({"plan": ["free", "25%"]}))
        >>> answer = people().hierarchy(["plan"], keys=keys, max_groups=1).agg(n=lambda t: t.count()).release(epsilon=1)
        >>> answer["plan"]["plan"].to_pylist()
        ['free', '25%']
        """
        limits = {"max_groups": max_groups, "max_rows": max_rows}
        found: PathGroups = application("hierarchy")(self, levels, keys=keys, cells=cells, **limits)
        return found

    @with_usage_hint(".series(by='day', start='2026-01-01')")
    def series(
        self,
        by: str,
        *,
        start: object,
        every: object = "1 day",
        until: object = None,
        windows: Sequence[int | str] = (1,),
        max_steps: int | None = None,
        apart: int = 1,
        name: str = "series",
        arrives: str | None = None,
        late: str | None = None,
        settled: str | None = None,
    ) -> SeriesTable:
        """Numbers that go on, step by step, for one charge: ``.group_by(...).agg(...).release(through=...)``.

        `by` is the column of dates, timestamps or whole numbers that says to which step a row belongs; steps have the
        length `every`, such as "1 day", "1 week", "1 month" or "6 hours", from `start` on; `until` is the last day of
        the series, a year after its start if it is left out, or "open" where nobody knows. `windows` are the sums that
        are wanted at each step: of the last 1, 7 or 28 steps, of all so far ("all"), or of the "week", "month",
        "quarter" or "year" so far.

        A unit counts in its first `max_steps` active steps, in each of them within the limits of `group_by`; with
        `apart`, in its first one, in the first that is so many steps behind it or more, and so on, which costs less. A
        series is known in the ledger by the table and its `name`. Rows of a step have to be there when it is published,
        and stay as they are; where some come late, `arrives` names the column that says when, and `late` whether they
        "count" in the step they arrive in, or are left out ("drop"). A step is published when it is over by this
        machine's clock, and, where rows take a while, when `settled`, such as "2 days", has passed since.

        >>> import datetime, discreet as dp, pyarrow as pa
        >>> rows = pa.table({"person": [1, 2], "day": [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]})
        >>> table = dp.protect(rows, unit="person", max_rows=2, budget=dp.Budget(rho=1), name="admissions")
        >>> daily = table.series(by="day", start="2026-01-01", windows=(1, 7, "all"), max_steps=5)
        >>> answer = daily.agg(n=lambda t: t.count()).release(through="2026-01-01", rho=0.5)
        >>> later = daily.agg(n=lambda t: t.count()).release(through="2026-01-02")
        >>> len(answer), len(later), table.budget.spent
        (2, 4, Guarantee(rho=0.5))
        """
        options = {"until": until, "windows": windows, "max_steps": max_steps, "apart": apart}
        late_rows = {"name": name, "arrives": arrives, "late": late, "settled": settled}
        found: SeriesTable = application("series")(self, by, start=start, every=every, **options, **late_rows)
        return found

    @with_usage_hint(".refreshed(data, version=2)")
    def refreshed(self, data: Any, *, version: str | int, **stated: Any) -> Self:
        """A new version of this table, with the rows of `data`, under the same name, unit, neighbors and budget.

        What was stated of the table holds for it; ``bounds=``, ``keys=``, ``max_groups=`` and ``max_rows=`` state some
        of it anew, and ``rows=`` or ``units=`` its public size where neighbors replace one. Nothing is taken from the
        rows, not even that they changed: `version` says so. Answers of older versions are kept, and are not given for
        the new one. What was spent stays spent, since the people of one version may be in the next.

        >>> import pyarrow as pa
        >>> import discreet as dp
        >>> june, july = pa.table({"person": [1, 2, 2]}), pa.table({"person": [1, 2, 2, 2, 3]})
        >>> visits = dp.protect(june, unit="person", max_rows=4, budget=dp.Budget(epsilon=1), name="visits", version=6)
        >>> first = visits.count().release(epsilon=0.3)
        >>> later = visits.refreshed(july, version=7)
        >>> second = later.count().release(epsilon=0.3)
        >>> later.budget.spent.epsilon
        Fraction(3, 5)
        """
        later: Self = application("refreshed")(self, data, version=version, **stated)
        return later

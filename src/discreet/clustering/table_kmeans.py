"""k-means of a protected table of any size: the rounds are questions, paid for together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from discreet.answers.receipt import Receipt
from discreet.answers.table_exports import TableExports
from discreet.clustering.argument_checks import Method, axes_of, clusters_of, method, readable
from discreet.clustering.cluster_pictures import centers_figure, survival_figure
from discreet.clustering.cluster_receipts import steps
from discreet.clustering.explain_clusters import SIZES, clusters_account, steps_of
from discreet.clustering.point_oracle import Reals
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.table_points import TablePoints
from discreet.clustering.weighted_kmeans import squared_distances
from discreet.curator.composite_release import Work, together
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag, in_memory
from discreet.guesses.answer_words import ReleasedNames
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.ledger.ledger import stated_guarantee
from discreet.noise.entropy import RandomWords
from discreet.planning.contribution_limits import checked_limit
from discreet.planning.planner import price
from discreet.privacy.definitions import Guarantee
from discreet.query.explanation import Explanation
from discreet.query.question_documents import document_of, limits_part
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateTable
from discreet.query.unpriced_question import UnpricedQuestion

LEAST_PART = 1000
"""No question of the best algorithm has less than epsilon over this: a fifth of what a round has."""
CONFIDENCE = 0.95
PROMISED = ("unit", "neighbors", "limits", "charge")
"""What a receipt repeats of an account: how the charge was divided depends on what was found."""

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure


class Clusters(TableExports, ReleasedNames):
    """The private centers of a table, and the receipt of what paid for them.

    `centers`, shape (clusters, columns); `sizes`, the noisy numbers of rows around them; `columns`, their names.

    >>> from discreet.testing import people
    >>> people().kmeans(["age", "visits"], n_clusters=2, epsilon=8).to_pyarrow().column_names
    ['age', 'visits', 'cluster_size']
    """

    _ask: ClassVar[str] = "ask for .centers or .sizes."

    def __init__(self, columns: Sequence[str], found: dict[str, Any]) -> None:
        self.columns = tuple(columns)
        self.centers: Reals = np.array(found["answer"]["centers"], dtype=np.float64)
        self.sizes: Reals = np.array(found["answer"]["sizes"], dtype=np.float64)
        self._receipt = Receipt({**found["receipt"], **found["answer"]["account"]})

    @property
    def receipt(self) -> Receipt:
        """What was promised, and how each part of epsilon was spent. A copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def predict(self, rows: ArrayLike) -> NDArray[np.int32]:
        """The index of the nearest center of each row of yours, an array with the columns in their order."""
        labels = squared_distances(readable(rows, len(self.columns), None), self.centers).argmin(axis=1)
        nearest: NDArray[np.int32] = labels.astype(np.int32)
        return nearest

    def to_pyarrow(self) -> pa.Table:
        """One row a cluster: its center, and ``cluster_size``."""
        columns = {name: self.centers[:, j] for j, name in enumerate(self.columns)}
        return pa.table({**columns, SIZES: self.sizes})

    def plot(
        self,
        rows: ArrayLike | None = None,
        *,
        columns: Sequence[int] | None = None,
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """The centers, as large as their clusters, over one or two columns. Of a public table, `rows` may be given:
        then with the rows and their exact centers beside, and which of those survive. `ax` draws in axes of yours, two
        where rows are given; `path` saves the figure.
        """
        axes = axes_of(columns, len(self.columns))
        cost = self._caption()
        if rows is not None:
            shown = readable(rows, len(self.columns), None)
            return survival_figure(shown, self.centers, axes=axes, caption=cost, ax=ax, path=path)
        columns_drawn = {axis: self.columns[axis] for axis in axes}
        return centers_figure(self.centers, self.sizes, columns=columns_drawn, caption=cost, ax=ax, path=path)

    def __repr__(self) -> str:
        frame = self.to_pandas().round(3).rename(columns=printable).to_string(index=False)
        return f"{frame}\n{self._caption()}"

    def _caption(self) -> str:
        return f"{self._receipt.cost}, {self._receipt['algorithm']}"


@with_usage_hint("dp.kmeans(people, ['age', 'visits'], n_clusters=3, epsilon=1)")
def kmeans(
    table: PrivateTable,
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
) -> Clusters:
    """Private cluster centers of some columns of a protected table, for one charge of epsilon.

    Every step is a question to the engine: counts on a grid, sizes and sums by the nearest center. Units with many rows
    are bounded as in every question. Rows with a NULL in one of the columns are left out.

    Args:
        table: a protected table, or a chain of steps on one.
        columns: names of numeric columns with bounds.
        n_clusters: how many centers.
        epsilon: what they may cost, all together; or instead
        rho: of zero-concentrated differential privacy, at an epsilon of the root of 2 rho.
        algorithm: "best" or "lloyd", as in ``dp.KMeans``; here no step is cut to a radius.
        rounds: of "lloyd".
        max_groups: in how many clusters (or cells of a grid) one unit counts, where units have several rows.
        max_rows: with how many rows it counts in each.
        fresh: whether to draw anew and pay anew where the same was asked before.

    Raises:
        InvalidParameter, InvalidQuery: something is missing or not usable. Nothing is spent.
        BudgetExceeded: it does not fit. Nothing is spent.

    >>> from discreet.testing import people
    >>> found = kmeans(people().filter(lambda t: t.age >= 0), ["age", "visits"], n_clusters=2, epsilon=8)
    >>> found.centers.shape, found.receipt["charge"]["epsilon"]
    ((2, 2), '8')
    """
    if not isinstance(table, PrivateTable):
        cure = "make one with dp.protect(...); for an array there is dp.KMeans."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    flag("fresh", fresh)
    asked = Clustering.of(
        table, columns, (n_clusters, algorithm, rounds), {"max_groups": max_groups, "max_rows": max_rows}
    )
    cost = stated_guarantee(epsilon, rho=rho)
    work = asked.work(cost)
    fetched: Any = getattr(table._source, "fetched", None)  # noqa: SLF001 (a verb of this table, in another room)
    if fetched is not None:  # it is elsewhere, and so are its rows
        document, account = partial(document_of, asked.recorded), partial(asked.account, cost, CONFIDENCE)
        call = ReleaseCall(document=document, price={"epsilon": epsilon, "rho": rho}, account=account)
        found: Clusters = fetched(call, asked.sent, fresh=fresh, compared=PROMISED)
        return found

    def run(own: PrivateTable, words: RandomWords) -> dict[str, Any]:
        points = TablePoints(own, asked.names, asked.span, asked.limits)
        return _run(points, asked.chosen, (asked.clusters, cost.epsilon), words)

    return Clusters(asked.names, together(table, work, price=cost, run=run, fresh=fresh))


@dataclass(frozen=True, kw_only=True, eq=False)
class Clustering:
    """What is asked, checked."""

    table: PrivateTable
    names: list[str]
    clusters: int
    algorithm: str
    rounds: int
    limits: dict[str, int]
    span: tuple[Reals, Reals]
    chosen: Method

    @classmethod
    def of(
        cls,
        table: PrivateTable,
        columns: Sequence[str],
        way: tuple[object, object, object],
        stated: Mapping[str, int | None],
    ) -> Clustering:
        """Of the columns of a table, by a number of clusters, an algorithm and its rounds; limits as stated."""
        number, algorithm, rounds = way
        names, clusters, chosen = _names(columns), clusters_of(number, None), method(algorithm, rounds)
        limits = {name: checked_limit(name, value) for name, value in stated.items() if value is not None}
        return cls(
            table=table,
            names=names,
            clusters=clusters,
            algorithm=chosen.name,
            rounds=int(str(rounds)),
            limits=limits,
            span=_span(table, names),
            chosen=chosen,
        )

    def sent(self, stored: bytes) -> Clusters:
        """The answer that a service sent; a ValueError or KeyError, where it is none to this question."""
        found = Clusters(self.names, json.loads(stored))
        whole = found.centers.shape == (self.clusters, len(self.names)) and found.sizes.shape == (self.clusters,)
        if not whole or not np.isfinite(found.centers).all() or not np.isfinite(found.sizes).all():
            raise ValueError(found.centers.shape)
        found._caption()  # noqa: SLF001 (its own: what it shows of the receipt is there)
        return found

    @property
    def recorded(self) -> RecordedApplication:
        """The same as a document has it."""

        def parts() -> dict[str, Any]:
            own = {"rounds": self.rounds} if self.algorithm == "lloyd" else {}
            found = {"columns": self.names, "n_clusters": self.clusters, "algorithm": self.algorithm}
            return {**found, **own, **limits_part(self.limits)}

        return RecordedApplication(self.table, "kmeans", parts)

    @cached_property
    def points(self) -> tuple[TablePoints, Reals]:
        """Its questions, and centers that stand for any."""
        return TablePoints(self.table, self.names, self.span, self.limits), _any_centers(self.span, self.clusters)

    def work(self, cost: Guarantee) -> Work:
        """What is done; refuses before it costs what is too large, or what the engine has no words for."""
        points, centers = self.points
        question, shares = points.summed(centers)
        least = cost.epsilon / (2 * self.rounds if self.algorithm == "lloyd" else LEAST_PART)
        question.explain(epsilon=least, weights=shares)
        for each in points.examples(centers):
            each.explain(epsilon=least)
        limits = {name: self.limits.get(name) for name in ("max_groups", "max_rows")}
        parameters = {"columns": self.names, "n_clusters": self.clusters, "algorithm": self.algorithm, **limits}
        if self.algorithm == "lloyd":
            parameters["rounds"] = self.rounds
        what = f"{self.clusters} centers of {', '.join(self.names)} (k-means)"[:300]
        example = price(question._query, epsilon=cost.epsilon, weights=shares)  # noqa: SLF001 (a question is its query and a source)
        return Work(what=what, parameters=parameters, example=example)

    def account(self, cost: Guarantee, confidence: float) -> Explanation:
        """What a release would be, and how its charge is divided."""
        steps = steps_of(*self.points, self.algorithm, self.rounds)
        told = {"columns": self.names, "n_clusters": self.clusters, "algorithm": self.algorithm, "rounds": self.rounds}
        return clusters_account(self.work(cost).example, steps, charge=cost, confidence=confidence, told=told)


def kmeans_question(
    table: PrivateTable,
    columns: Sequence[str],
    *,
    n_clusters: int,
    algorithm: str = "best",
    rounds: int = 5,
    **stated: int | None,
) -> UnpricedQuestion[Clusters]:
    """The same question without a price, with `max_groups` and `max_rows` as stated; checked, and nothing is read."""
    asked = Clustering.of(table, columns, (n_clusters, algorithm, rounds), stated)
    options: dict[str, Any] = {"n_clusters": asked.clusters, "algorithm": algorithm, "rounds": rounds, **asked.limits}
    what = f"{asked.clusters} centers of {', '.join(asked.names)}"
    answer = partial(kmeans, table, asked.names, **options)
    shape = pa.schema(dict.fromkeys([*asked.names, SIZES], pa.float64()))
    return UnpricedQuestion(asked.recorded, what, answer, asked.account, lambda: shape)


def _run(points: TablePoints, chosen: Method, wanted: tuple[int, Fraction], words: RandomWords) -> dict[str, Any]:
    found = chosen.run(points, *wanted, RandomFloats(words))
    centers = np.clip(found.centers + points.low + points.half, points.low, points.high)
    account = {"algorithm": found.method, "steps": steps(points.recorded), "not released": "the labels of the rows"}
    return {"centers": centers.tolist(), "sizes": found.sizes.tolist(), "account": account}


def _names(columns: Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns) if in_memory(columns) else []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        cure = "name each once, people.kmeans(['age', 'visits'], ...); make computed ones with .mutate(...)."
        raise InvalidQuery(expected("names of columns", "columns", columns, cure))
    return names


def _span(table: PrivateTable, names: list[str]) -> tuple[Reals, Reals]:
    """The bounds of each column, which must be stated."""
    ends = []
    for name in names:
        value = table.select(name)._columns[name]  # noqa: SLF001 (what is known of a column is public)
        if not value.kind.numeric or value.interval is None:
            raise InvalidQuery(
                expected("columns of numbers", "columns", f"{name}: {value.kind.value}", "leave it out.")
            )
        if value.unbounded or value.interval.low >= value.interval.high:
            raise InvalidQuery(
                f"Expected bounds for {name!r}, got none.\nHint: state what is publicly known, "
                f"dp.protect(bounds={{{name!r}: (low, high)}}), or write .mutate({name}=_.{name}.clip(low, high))."
            )
        ends.append((float(value.interval.low), float(value.interval.high)))
    low, high = np.array(ends).T
    return low, high


def _any_centers(span: tuple[Reals, Reals], clusters: int) -> Reals:
    low, high = span
    places = (np.arange(clusters)[:, None] + 1) / (clusters + 1) - 0.5
    return (high - low) * (places + 0.01 / np.arange(1, len(low) + 1))

"""The points of a protected table: each step of an algorithm is one ordinary question to the engine."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ibis
import numpy as np

from discreet.clustering.point_oracle import ClusterSums, PointGrid, Reals, RecordedStep
from discreet.language.allow_list import LARGEST_EXPRESSION
from discreet.privacy.definitions import Neighbors
from discreet.query.question import Question
from discreet.query.table import PrivateGroups, PrivateTable

COLUMN = "kmeans_{}"
CONFIDENCE = 0.95
"""The confidence of the intervals from which the noise of sums is computed."""


class TablePoints:
    """Rows of a protected table in centered coordinates, seen only through questions.

    Rows with a NULL in one of the columns are left out. Sums are of whole rows, not cut to a radius: what the language
    enforces is a bound for each column.
    """

    def __init__(
        self, table: PrivateTable, columns: list[str], span: tuple[Reals, Reals], limits: dict[str, Any]
    ) -> None:
        self.low, self.high = span
        self.half = (self.high - self.low) / 2
        self.weights = np.ones_like(self.half)
        self.recorded: list[RecordedStep] = []
        declared = table._source.declaration  # noqa: SLF001 (what is declared of a table is public)
        fewer = table._filtered or any(table._columns[name].nullable for name in columns)  # noqa: SLF001 (public as well)
        self.size = None if declared.unit or fewer else declared.size
        self._limits = {name: value for name, value in limits.items() if value is not None}
        given = {name: self._limits.get(name) or getattr(declared, name) or 1 for name in ("max_groups", "max_rows")}
        units = given["max_groups"] * given["max_rows"] if declared.unit else declared.rows_changed
        self.count_sensitivity = units * (2 if declared.neighbors is Neighbors.REPLACE_ONE else 1)
        middles = (self.low + self.half).tolist()
        held = table.select(*columns).filter(*(_there(name) for name in columns))
        made = {COLUMN.format(j): _minus(name, middles[j]) for j, name in enumerate(columns)}
        self._rows = held.mutate(**made).select(*made)
        self._names = list(made)
        self._last: tuple[Reals, Reals] | None = None

    @property
    def largest_norm(self) -> float:
        """The largest L1 norm of a row."""
        return float(self.half.sum())

    @property
    def most_centers(self) -> int:
        """How many centers may be asked about at once, with a question of half the size that the language allows."""
        return math.isqrt(LARGEST_EXPRESSION // (10 * len(self.half)))

    # -- what may be asked ------------------------------------------------------------------------------------------

    def count(self, epsilon: Fraction) -> float:
        """How many rows there are."""
        return float(self._counts("size", lambda t: t[self._names[0]].isnull(), [False], epsilon)[0])

    def cells(self, grid: PointGrid, epsilon: Fraction) -> Reals:
        """How many rows are in each cell of a grid."""
        return self._counts("cells", self._cell(grid), list(range(grid.cells)), epsilon)

    def _cell(self, grid: PointGrid) -> Any:
        """The cell of a row."""

        def cell(t: Any) -> Any:
            index: Any = None
            for direction, origin, width, number in zip(*grid.axes, strict=True):
                place = (self._form(t, direction / width) - origin / width).clip(0.0, number - 1.0).floor()
                index = place if index is None else index * number + place
            return index

        return cell

    def distances(self, center: Reals, edges: Reals, epsilon: Fraction) -> Reals:
        """How many rows have an L1 distance from `center` between each two edges, which are evenly spaced."""
        return self._counts("distances", self._bin(center, edges), list(range(len(edges) - 1)), epsilon)

    def _bin(self, center: Reals, edges: Reals) -> Any:
        """Between which edges the distance of a row lies."""
        bins, width = len(edges) - 1, float(edges[1] - edges[0])

        def place(t: Any) -> Any:
            parts = [(t[name] - at).abs() for name, at in zip(self._names, center.tolist(), strict=True)]
            return (_sum(parts) / width).clip(0.0, bins - 1.0).floor()

        return place

    def sizes(self, centers: Reals, epsilon: Fraction) -> Reals:
        """How many rows are nearest to each center."""
        found = self._release("sizes", self.nearest(centers).agg(n=lambda t: t.count()), epsilon, {})
        sizes: Reals = found["n"].astype(np.float64)
        self._last = centers.copy(), sizes
        return sizes

    def sums(self, centers: Reals, epsilon: Fraction, *, radius: float | None) -> ClusterSums:
        """For each center the sum of (row - center) over the rows nearest to it, by the sizes that were asked last;
        without a radius, or before there are sizes, the sum of the rows.
        """
        question, shares = self.summed(centers)
        answer = self._release("sums", question, epsilon, shares)
        ends = answer.intervals(CONFIDENCE)
        values = np.stack([answer[name] for name in self._names], axis=1).astype(np.float64)
        wide = [ends[f"{name}_high"].to_numpy() - ends[f"{name}_low"].to_numpy() for name in self._names]
        scales = np.array([float(w[0]) / 2 / math.log(1 / (1 - CONFIDENCE)) for w in wide])
        if radius is not None and self._last is not None and np.array_equal(self._last[0], centers):
            values = values - self._last[1][:, None] * centers
        return ClusterSums(values, 2 * scales**2)

    # -- questions --------------------------------------------------------------------------------------------------

    def nearest(self, centers: Reals) -> Any:
        """The rows in groups by the nearest center."""
        if len(centers) == 1:
            return self._rows.group_by(
                cluster=lambda t: t[self._names[0]].isnull(), keys={"cluster": [False]}, **self._limits
            )
        ways = [f"kmeans_to_{i}" for i in range(len(centers))]
        forms = {way: self._score(center) for way, center in zip(ways, centers, strict=True)}
        table = self._rows.mutate(**forms).mutate(kmeans_least=lambda t: ibis.least(*(t[way] for way in ways)))
        return table.group_by(
            cluster=lambda t: ibis.cases(
                *((t[way] <= t["kmeans_least"], i) for i, way in enumerate(ways[:-1])), else_=len(ways) - 1
            ),
            keys={"cluster": list(range(len(centers)))},
            **self._limits,
        )

    def summed(self, centers: Reals) -> tuple[Question, dict[str, float]]:
        """The sums of each column, and weights for which all have the same noise: |dom| over epsilon."""
        sums = {name: (lambda t, name=name: t[name].sum()) for name in self._names}
        return self.nearest(centers).agg(**sums), dict(
            zip(self._names, ((self.half / self.half.max()) ** 3).tolist(), strict=True)
        )

    def examples(self, centers: Reals) -> list[Question]:
        """A question of each kind that is asked beside sums."""
        half = self.half
        grid = PointGrid(directions=np.eye(len(half))[:1], origins=-half[:1], widths=2 * half[:1], shape=(1,))
        cells = self._placed(self._cell(grid), [0])
        distances = self._placed(self._bin(centers[0], np.array([0.0, self.largest_norm])), [0])
        return [cells, distances, self.nearest(centers).agg(n=lambda t: t.count())]

    def _score(self, center: Reals) -> Any:
        """The squared distance from a center, up to a term that all centers share."""
        constant = float(np.sum(center**2))
        return lambda t: self._form(t, -2 * center) + constant

    def _form(self, t: Any, factors: Reals) -> Any:
        """A linear form of the columns."""
        used = [(name, float(factor)) for name, factor in zip(self._names, factors, strict=True) if factor]
        return _sum([t[name] * factor for name, factor in used or [(self._names[0], 0.0)]])

    def _counts(self, what: str, group: Any, keys: list[Any], epsilon: Fraction) -> Reals:
        counts: Reals = self._release(what, self._placed(group, keys), epsilon, {})["n"].astype(np.float64)
        return counts

    def _placed(self, group: Any, keys: list[Any]) -> Question:
        groups: PrivateGroups = self._rows.group_by(place=group, keys={"place": keys}, **self._limits)
        return groups.agg(n=lambda t: t.count())

    def _release(self, what: str, question: Question, epsilon: Fraction, weights: dict[str, float]) -> Any:
        answer = question.release(epsilon=epsilon, weights=weights or None)
        scale = sum(float(Fraction(block["scale"])) / block["steps"] for block in answer.receipt["totals"])
        answers = len(answer) * len(answer.columns)
        self.recorded.append(RecordedStep(what=what, epsilon=epsilon, scale=scale, answers=answers))
        return answer


def _there(name: str) -> Any:
    return lambda t: t[name].notnull()


def _minus(name: str, middle: float) -> Any:
    return lambda t: t[name] - middle


def _sum(parts: list[Any]) -> Any:
    """A sum as a balanced tree, so that long ones stay shallow."""
    while len(parts) > 1:
        parts = [parts[i] + parts[i + 1] if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]

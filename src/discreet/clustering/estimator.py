"""Differentially private k-means of an array, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.answers.receipt import Receipt
from discreet.clustering.argument_checks import (
    Method,
    axes_of,
    clusters_of,
    method,
    names_of,
    readable,
    rows_as_doubles,
    span,
)
from discreet.clustering.cluster_pictures import survival_figure
from discreet.clustering.cluster_receipts import receipt
from discreet.clustering.pipeline_steps import warn_of_scalers
from discreet.clustering.point_oracle import Reals
from discreet.clustering.points import Points
from discreet.clustering.random_floats import RandomFloats
from discreet.clustering.scikit_learn_parameters import Estimator, NotFitted
from discreet.clustering.weighted_kmeans import squared_distances
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import positive
from discreet.noise.entropy import fresh_words
from discreet.privacy.definitions import Neighbors

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure


class KMeans(Estimator):  # type: ignore[misc]  # which one depends on what is installed
    """Cluster centers that hardly depend on any one row: epsilon-differentially private k-means.

    An estimator as scikit-learn knows them (`fit`, `predict`, `get_params`, `set_params`, `clone`). Each row is a
    person; for several rows a person, and for tables in a database, use ``dp.kmeans``.

    Args:
        n_clusters: how many centers.
        epsilon: what the centers may cost, all together.
        bounds: (low, high) of the columns, from public knowledge: two numbers, or two arrays with one for each column.
            What lies beyond counts as the nearer bound.
        algorithm: "best", a noisy synopsis and rounds of bounded reach, chosen by the number of columns and the noisy
            number of rows; or "lloyd", that of the lecture notes.
        rounds: of "lloyd".
        neighbors: "add-remove", or "replace-one", where the number of rows is public.

    Attributes:
        cluster_centers_: the centers, shape (n_clusters, n_features_in_).
        cluster_sizes_: the noisy numbers of rows around them.
        receipt_: what was promised, and how each part of epsilon was spent.
        n_features_in_: the number of columns.
        feature_names_in_: their names, where the rows came in a frame whose columns all have text for names.

    The labels of the training rows are not released, so there is no ``labels_``; noise has no seed, so there is no
    ``random_state``. Rows with a NaN, or with an entry that is no number, are left out, and nothing is said of them.

    >>> import numpy as np
    >>> rows = np.repeat([[1.0, 1.0], [9.0, 9.0]], 5000, axis=0)
    >>> found = KMeans(n_clusters=2, epsilon=1, bounds=(0, 10)).fit(rows)
    >>> np.sort(found.cluster_centers_, axis=0).round().tolist(), found.receipt_["guarantee"]
    ([[1.0, 1.0], [9.0, 9.0]], '1-differential privacy for add-remove neighbors')
    """

    cluster_centers_: Reals
    cluster_sizes_: Reals
    receipt_: Receipt
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float | Fraction | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        algorithm: str = "best",
        rounds: int = 5,
        neighbors: str = "add-remove",
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.bounds = bounds
        self.algorithm = algorithm
        self.rounds = rounds
        self.neighbors = neighbors

    @np.errstate(all="ignore")  # the program around may have NumPy raise, and one row's underflow would tell of it
    def fit(self, X: ArrayLike, y: object = None) -> KMeans:  # noqa: N803 (the name that scikit-learn gives it)
        """Finds the centers of the rows of `X`, an array or a frame of shape (rows, columns), at a cost of epsilon; `y`
        is not looked at.

        Raises:
            InvalidParameter: a parameter is missing or unusable, or `X` has another type or shape. Of what is in it,
                nothing makes a difference.
        """
        del y
        warn_of_scalers()
        chosen, epsilon, neighbors = self._stated()
        rows = rows_as_doubles(X)
        low, high = span(self.bounds, rows.shape[1])
        replaces = neighbors is Neighbors.REPLACE_ONE
        clusters = clusters_of(self.n_clusters, len(rows) if replaces else None)
        words = fresh_words()
        points = Points.of(
            rows,
            low,
            high,
            weighted=chosen.name == "best",
            allowance=epsilon,
            replaces=replaces,
            size=len(rows) if replaces else None,
            words=words,
        )
        found = chosen.run(points, clusters, epsilon, RandomFloats(fresh_words()))
        middle = low + points.half
        self.cluster_centers_ = np.clip(found.centers + middle, low, high)
        self.cluster_sizes_ = found.sizes
        self.n_features_in_ = rows.shape[1]
        self._named(X)
        self.receipt_ = Receipt(receipt(found, points, epsilon=epsilon, neighbors=neighbors, words=words))
        return self

    def _stated(self) -> tuple[Method, Fraction, Neighbors]:
        if self.epsilon is None:
            raise InvalidParameter("Expected an epsilon, got none.\nHint: say what the centers may cost, epsilon=1.")
        known = {relation.value: relation for relation in Neighbors}
        if self.neighbors not in known:
            cure = "'add-remove' protects whether a row is there at all."
            raise InvalidParameter(expected("'add-remove' or 'replace-one'", "neighbors", self.neighbors, cure))
        return method(self.algorithm, self.rounds), positive("epsilon", self.epsilon), known[self.neighbors]

    def _named(self, given: object) -> None:
        names = names_of(given)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:  # noqa: N803 (as above)
        """The index of the nearest center of each row: yours to keep, since it tells of that row."""
        centers = self._fitted("predict")
        rows = readable(X, len(centers[0]), getattr(self, "feature_names_in_", None))
        labels: NDArray[np.int32] = squared_distances(rows, centers).argmin(axis=1).astype(np.int32)
        return labels

    def plot(
        self,
        rows: ArrayLike,
        *,
        columns: Sequence[int] | None = None,
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """The clusters of public rows beside the private ones, and which of them survive, over one or two columns. `ax`
        has two axes of yours to draw in; `path` saves the figure.

        It shows the rows themselves and their exact centers: for rows that are public or made up.
        """
        centers = self._fitted("plot")
        shown = readable(rows, len(centers[0]), None)
        cost = f"{self.receipt_.cost}, {self.receipt_['algorithm']}"
        axes = axes_of(columns, len(centers[0]))
        return survival_figure(shown, centers, axes=axes, caption=cost, ax=ax, path=path)

    def _fitted(self, what: str) -> Reals:
        if not hasattr(self, "cluster_centers_"):
            raise NotFitted(f"Expected .fit(X) before .{what}(...), got none.\nHint: fit it first.")
        return self.cluster_centers_

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Refused: the labels of the training rows would reveal them."""
        raise AttributeError(LABELS)

    @property
    def fit_predict(self) -> NoReturn:
        """Refused, as `labels_`."""
        raise AttributeError(LABELS)


LABELS = (
    "Expected centers alone, got a request for labels, which would reveal each row.\n"
    "Hint: .predict(rows) labels rows that are yours; do not publish the labels of the training rows."
)

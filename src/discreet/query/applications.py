"""Verbs of rooms above this one, by name: this room knows where they are, as the package root does, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

APPLICATIONS: Mapping[str, str] = {"kmeans": "discreet.clustering.table"}
"""Where the function of this name lives that takes a protected table first; loaded when it is called."""


def application(name: str) -> Any:
    """The function of this name."""
    return getattr(import_module(APPLICATIONS[name]), name)


class Applications:
    """What can be done with a protected table beyond asking it one question."""

    def kmeans(self, columns: Sequence[str], *, n_clusters: int, epsilon: object, **options: Any) -> Any:
        """Private cluster centers of some columns, for one charge of epsilon; see ``dp.kmeans`` for the options.

        >>> from discreet.testing import people
        >>> people().kmeans(["age", "visits"], n_clusters=2, epsilon=8).columns
        ('age', 'visits')
        """
        return application("kmeans")(self, columns, n_clusters=n_clusters, epsilon=epsilon, **options)

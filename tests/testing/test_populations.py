"""The made-up counties are as many as the real ones, and as uneven."""

from __future__ import annotations

import numpy as np

from discreet.testing import counties


def test_there_are_as_many() -> None:
    found = counties()
    assert len(found.names) == len(set(found.names)) == len(found.population) == len(found.state_of) == 3143
    assert len(found.states) == 51
    assert all(name.startswith(found.states[s]) for name, s in zip(found.names, found.state_of, strict=True))


def test_they_are_uneven() -> None:
    population = counties().population
    assert 100 < population.min() < 200
    assert 25_000 < np.median(population) < 27_000
    assert 5_000_000 < population.max() < 7_000_000


def test_they_are_shuffled() -> None:
    assert len(np.unique(counties().population)) > 3000
    assert abs(np.corrcoef(np.arange(3143), np.log(counties().population))[0, 1]) < 0.1

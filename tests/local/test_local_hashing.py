"""Local hashing: fair collisions, the law of the reports, the transform against plain look-ups.

Samples have 300,000 reports; each test fails by chance at most once in 10**6 times (once, in fact: words are fixed).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.local.local_hashing import LocalHashing
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

SIZE = 300_000
RARE = 1e-8

# The best number of hashes, where that is a prime power, and n times the variance at share 0; from independent code.
VARIANCES = {0.5: (3, 15.81740027684224), 1.0: (4, 3.691654617456689), 2.0: (8, 0.7245913890681452)}


@pytest.mark.parametrize("hashes", [2, 3, 4, 5, 8, 9])
def test_collisions_are_exactly_fair(hashes: int) -> None:
    """Over all functions, the hashes of any two categories are each pair equally often."""
    oracle = LocalHashing(epsilon=1, categories=40, hashes=hashes)
    hashed = oracle.hash(np.arange(40)[:, None], np.arange(oracle.functions))
    for u in range(40):
        pairs = hashed[u] * hashes + hashed[u + 1 :]
        for row in pairs:
            assert set(np.bincount(row, minlength=hashes**2)) == {oracle.functions // hashes**2}


@pytest.mark.parametrize(("epsilon", "size"), [(0.3, 50), (1, 22), (1, 300), (2, 73), (3, 100)])
def test_supports_are_what_looking_up_finds(epsilon: float, size: int) -> None:
    oracle, functions = LocalHashing(epsilon=epsilon, categories=size), None
    tally = np.arange(oracle.functions * oracle.hashes) ** 2 % 101
    functions = np.arange(oracle.functions)
    looked_up = [
        int(tally[functions * oracle.hashes + oracle.hash(np.array([v]), functions)].sum()) for v in range(size)
    ]
    assert oracle.supports(tally).tolist() == looked_up


def test_reports_follow_the_law() -> None:
    """A function is uniform; the hash is right with the stated chance, for the first, the last and any person."""
    oracle = LocalHashing(epsilon=1, categories=100)
    reports = oracle.report(np.full(SIZE, 99), words=splitmix(4))
    functions, said = reports // oracle.hashes, reports % oracle.hashes
    assert (
        binomial_p(int((functions < oracle.functions // 3).sum()), SIZE, oracle.functions // 3 / oracle.functions)
        > RARE
    )
    right = oracle.hash(np.array([99]), functions)
    assert binomial_p(int((said == right).sum()), SIZE, math.e / (math.e + 3)) > RARE
    for lie in range(1, 4):
        hits = int(((said - right) % 4 == lie).sum())
        assert binomial_p(hits, SIZE, 1 / (math.e + 3)) > RARE


def test_a_wrong_law_is_seen() -> None:
    reports = LocalHashing(epsilon=1.04, categories=100, hashes=4).report(np.zeros(SIZE, int), words=splitmix(4))
    oracle = LocalHashing(epsilon=1, categories=100)
    right = oracle.hash(np.array([0]), reports // 4)
    assert binomial_p(int((reports % 4 == right).sum()), SIZE, math.e / (math.e + 3)) < RARE


@pytest.mark.parametrize("epsilon", VARIANCES)
def test_the_variance_is_exact(epsilon: float) -> None:
    oracle = LocalHashing(epsilon=epsilon, categories=1000)
    hashes, variance = VARIANCES[epsilon]
    assert oracle.hashes == hashes
    assert float(oracle.variance(people=1)) == pytest.approx(variance, rel=1e-12)


def test_a_hundred_thousand_categories_fit() -> None:
    oracle = LocalHashing(epsilon=1, categories=100_000)
    reports = oracle.report(np.full(2000, 99_999), words=splitmix(1))
    assert int(np.argmax(oracle.estimate(reports))) == 99_999


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LocalHashing(epsilon=1, categories=10, hashes=6), "a number of hashes"),
        (lambda: LocalHashing(epsilon=1, categories=10**9), "HadamardResponse"),
        (lambda: LocalHashing(epsilon=0, categories=10), "above 0"),
        (lambda: LocalHashing(epsilon=1, categories=10).estimate([10**9]), "report"),
        (lambda: LocalHashing(epsilon=1, categories=10).report([[1, 2]]), "one value a person"),
    ],
)
def test_refusals_name_the_cure(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message) as refusal:
        call()
    assert "Hint: " in str(refusal.value)

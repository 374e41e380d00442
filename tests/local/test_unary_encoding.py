"""Unary encoding: every bit of its reports, in samples of 100,000 (false alarms below 10**-6)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.local import unary_encoding
from discreet.local.unary_encoding import UnaryResponse, columns
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

SIZE = 100_000
RARE = 1e-8

# n times the variance at share 0: optimized, symmetric; from independent code.
VARIANCES = {0.5: (15.67079235613106, 15.91692643886865), 1.0: (3.682694376831169, 3.917698089032764)}


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("value", [0, 9])
def test_every_bit_follows_the_law(value: int, *, optimized: bool) -> None:
    oracle = UnaryResponse(epsilon=1, categories=10, optimized=optimized)
    bits = np.unpackbits(oracle.report(np.full(SIZE, value), words=splitmix(value)), axis=1, count=10)
    p, q = (0.5, 1 / (1 + math.e)) if optimized else (1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(0.5)))
    for place, hits in enumerate(bits.sum(axis=0, dtype=int).tolist()):
        assert binomial_p(hits, SIZE, p if place == value else q) > RARE
    both = int((bits[:, 1] & bits[:, 2]).sum())
    assert binomial_p(both, SIZE, q * q) > RARE


def test_a_wrong_law_is_seen() -> None:
    bits = np.unpackbits(
        UnaryResponse(epsilon=1.05, categories=2).report(np.zeros(SIZE, int), words=splitmix(1)), axis=1
    )
    assert binomial_p(int(bits[:, 1].sum()), SIZE, 1 / (1 + math.e)) < RARE


@pytest.mark.parametrize("epsilon", VARIANCES)
def test_the_variance_is_exact(epsilon: float) -> None:
    for optimized, variance in zip((True, False), VARIANCES[epsilon], strict=True):
        oracle = UnaryResponse(epsilon=epsilon, categories=100, optimized=optimized)
        assert float(oracle.variance(people=1)) == pytest.approx(variance, rel=1e-12)


def test_estimates_and_tallies() -> None:
    oracle = UnaryResponse(epsilon=2, categories=13)
    people = np.arange(SIZE) % 4
    reports = oracle.report(people, words=splitmix(3))
    shares, truth = oracle.estimate(reports), np.repeat([0.25, 0.0], [4, 9])
    assert np.all(np.abs(shares - truth) < 6 * np.sqrt(oracle.variance(truth, people=SIZE)))
    halves = oracle.tally(reports[:10]) + oracle.tally(reports[10:])
    assert oracle.estimate_tally(halves, people=SIZE).tolist() == shares.tolist()


@pytest.mark.parametrize("people", [*range(12), 26, 27, 28, 1000, 3**7 + 1])
def test_columns_are_counted(people: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By carrying bits as by adding them, all of one kind too, and in pieces."""
    packed = splitmix(people)(2 * people).view(np.uint8).reshape(people, 16)
    for rows in (packed, np.full_like(packed, 255), np.zeros_like(packed)):
        assert columns(rows).tolist() == np.unpackbits(rows, axis=1).sum(axis=0, dtype=int).tolist()
    monkeypatch.setattr(unary_encoding, "BYTES_AT_ONCE", 100)
    tally = UnaryResponse(epsilon=1, categories=125).tally(packed)
    assert tally.tolist() == np.unpackbits(packed, axis=1, count=125).sum(axis=0, dtype=int).tolist()


def test_foreign_reports_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="packed reports"):
        UnaryResponse(epsilon=1, categories=20).estimate(np.zeros((5, 2), dtype=np.uint8))

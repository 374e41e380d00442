"""Hadamard response: its law by exact counting and by samples of 300,000 (false alarms below 10**-6)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.local.hadamard_response import HadamardResponse, odd, walsh
from discreet.privacy.events import PureEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import Survival, binomial_p, chi_square_p

SIZE = 300_000
RARE = 1e-8


def survival_of(chances: NDArray[np.float64]) -> Survival:
    tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
    return lambda k: tails[np.clip(k, 0, tails.size - 1)]


def test_the_transform_is_a_product_with_signs() -> None:
    counts, numbers = np.arange(16) ** 2, np.arange(16)
    signs = 1 - 2 * odd(numbers[:, None] & numbers)
    assert walsh(counts).tolist() == (signs @ counts).tolist()


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_reports_follow_the_law(size: int) -> None:
    """Columns with a plus in the own row share e/(e+1) evenly, the others 1/(e+1): as chi-square sees it."""
    oracle = HadamardResponse(epsilon=1, categories=size)
    for value in (0, size - 1):
        reports = oracle.report(np.full(SIZE, value), words=splitmix(value))
        plus = ~odd((value + 1) & np.arange(oracle.columns))
        assert plus.sum() == oracle.columns // 2
        chances = np.where(plus, math.e, 1.0) / (math.e + 1) * 2 / oracle.columns
        assert chi_square_p(reports, survival_of(chances)) > RARE
        hits = int(np.isin(reports, np.flatnonzero(plus)).sum())
        assert binomial_p(hits, SIZE, math.e / (math.e + 1)) > RARE


def test_a_wrong_law_is_seen() -> None:
    reports = HadamardResponse(epsilon=1.04, categories=8).report(np.zeros(SIZE, int), words=splitmix(2))
    assert binomial_p(int((~odd(1 & reports)).sum()), SIZE, math.e / (math.e + 1)) < RARE


def test_strangers_are_supported_by_half() -> None:
    """Exactly: of the columns with a plus in one row, half have a plus in any other row."""
    columns = np.arange(16)
    for u in range(1, 16):
        for v in range(1, 16):
            both = (~odd(u & columns) & ~odd(v & columns)).sum()
            assert both == (8 if u == v else 4)


def test_estimates() -> None:
    oracle = HadamardResponse(epsilon=2, categories=["a", "b", "c"])
    people = ["a"] * 50_000 + ["c"] * 150_000
    reports = oracle.report(people, words=splitmix(7))
    shares = oracle.estimate(reports)
    sds = np.sqrt(oracle.variance([0.25, 0, 0.75], people=200_000))
    assert np.all(np.abs(shares - [0.25, 0, 0.75]) < 6 * sds)
    assert oracle.estimate(reports, simplex=True).sum() == pytest.approx(1)
    assert np.ndim(oracle.report("b")) == 0


def test_what_a_report_costs() -> None:
    oracle = HadamardResponse(epsilon=2, categories=5)
    assert oracle.event == PureEvent(epsilon=oracle.epsilon)
    assert oracle.loss.epsilon(delta=0) == pytest.approx(2)


def test_too_few_people_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="no useful information"):
        HadamardResponse(epsilon=0.01, categories=3).estimate([0, 1])


def test_foreign_reports_are_refused() -> None:
    oracle = HadamardResponse(epsilon=1, categories=3)
    for reports in ([4], [-1], [0.5], [[0]], []):
        with pytest.raises(InvalidParameter, match="Hint: "):
            oracle.estimate(reports)

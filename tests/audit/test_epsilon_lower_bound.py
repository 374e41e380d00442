"""The lower bound on epsilon: true claims are kept, false ones are seen, and outcomes that are no numbers count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit import sampled
from discreet.audit.epsilon_lower_bound import power

RNG = np.random.default_rng(20_261_121)


def laplace(value: float) -> int:
    """Cheap discrete noise of scale 1: the difference of two geometric draws is discrete Laplace."""
    p = 1 - math.exp(-1)
    return int(value) + int(RNG.geometric(p)) - int(RNG.geometric(p))


def test_true_claims_are_kept() -> None:
    """Epsilon is exactly 1 here: a false alarm has a chance of one in a million."""
    report = sampled(laplace, 0, 1, epsilon=1, runs=20_000)
    assert report.ok
    assert 0.8 < report.rows[0]["epsilon at least"] <= 1


def test_a_claim_ten_percent_too_small_is_seen() -> None:
    report = sampled(laplace, 0, 1, epsilon=0.7, runs=30_000)
    assert not report.ok
    assert "epsilon is at least" in report.findings[0].message
    assert report.to_dict()["violations"] == 1


def test_power_is_that_of_the_table() -> None:
    """For p = 1/2 and a claim of 1: 55,686 runs on each for 1.05, by the published formula at a looser level."""
    assert 1.05 < power(1, 200_000) < 1.12
    assert power(0.1, 1000) > 0.5


def seen(first: Any, second: Any) -> bool:
    """Whether two deterministic outcomes are told apart at epsilon = 2."""
    return not sampled(
        lambda outcome: outcome() if callable(outcome) else outcome, first, second, epsilon=2, runs=1000
    ).ok


def fails() -> None:
    raise KeyError("row 17")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, math.nan), (0.0, None), (1, 1.0), (0.0, -0.0), (math.inf, 1e300), ("a", "b"), (fails, 0.0),
        ([1, 2], [2, 1]), ({"a": 1, "b": 1}, {"b": 1, "a": 1}), (pa.table({"a": [1]}), pa.table({"a": [1.0]})),
        (np.arange(2), np.arange(3)), (True, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_everything_that_can_be_seen_is_an_outcome(first: Any, second: Any) -> None:
    assert seen(first, second)
    assert not seen(first, first)


def test_low_digits_give_noise_in_floating_point_away() -> None:
    """Mironov's attack: sums of a double and textbook noise have digits that tell what was added."""
    report = sampled(lambda value: value + RNG.laplace(), 0.0, 1.0, epsilon=1, runs=20_000)
    assert not report.ok
    assert "multiple of" in report.findings[0].message


def test_a_broken_report_of_few_runs_is_seen() -> None:
    """Once in a hundred runs all is told: far from every quantile, and seen as an outcome of its own."""
    report = sampled(lambda v: f"secret {v}" if RNG.random() < 0.01 else laplace(v), 0, 1, epsilon=1, runs=20_000)
    assert not report.ok


def test_a_mechanism_of_ours_passes() -> None:
    run = dp.RandomizedResponse(epsilon=1, categories=["no", "yes"]).release
    report = sampled(run, "no", "yes", epsilon=1, runs=4000)
    assert report.ok
    assert report.rows[0]["epsilon at least"] > 0.5


def test_refusals() -> None:
    with pytest.raises(dp.InvalidParameter, match="1000 runs"):
        sampled(laplace, 0, 1, epsilon=1, runs=10)
    with pytest.raises(dp.InvalidParameter):
        sampled(laplace, 0, 1, epsilon=0)

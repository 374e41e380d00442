"""Sizes in the two models, and how they grow."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtri

from discreet.errors import InvalidParameter
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sample_sizes import sample_size


def test_sizes_are_enough() -> None:
    sizes = sample_size(within=0.02, epsilon=1, confidence=0.9)
    q, reach = math.exp(-1), math.floor(sizes.laplace * 0.02)  # P(|Z| > reach) of discrete noise of scale 1
    assert 2 * q ** (reach + 1) / (1 + q) <= 0.1 < 2 * q**reach / (1 + q)
    assert RandomizedResponse(epsilon=1).bound(people=sizes.response, confidence=0.9) <= 0.02
    halved = sample_size(within=0.01, epsilon=1, confidence=0.9)
    assert halved.laplace / sizes.laplace == pytest.approx(2, rel=0.01)
    assert halved.response / sizes.response == pytest.approx(4, rel=0.01)


def test_root_mean_squares() -> None:
    sizes = sample_size(rms=0.01, epsilon=0.5)
    assert sizes.laplace == math.ceil(math.sqrt(Laplace(sensitivity=1, epsilon=0.5).variance) / 0.01)
    assert sizes.response == math.ceil(RandomizedResponse(epsilon=0.5).variance(people=1) / 0.01**2)
    assert sizes.laplace == pytest.approx(math.sqrt(2) / (0.01 * 0.5), rel=0.02)  # that of continuous noise


def test_a_workload_takes_its_square_in_the_local_model() -> None:
    """k questions: about k log k times the people with Laplace noise, k^2 log k times with randomized response."""
    one, ten = sample_size(within=0.01, epsilon=0.5), sample_size(within=0.01, epsilon=0.5, queries=10)
    each = 1 - 0.95**0.1
    assert ten.laplace == pytest.approx(10 * math.log(each) / math.log(0.05) * one.laplace, rel=0.01)
    assert ten.response == pytest.approx(100 * (ndtri(each / 2) / ndtri(0.025)) ** 2 * one.response, rel=0.05)
    for changed in ({"within": 0.01, "epsilon": 0.25}, {"within": 0.005, "epsilon": 0.5}):
        sizes = sample_size(**changed, queries=10)
        assert sizes.laplace == pytest.approx(2 * ten.laplace, rel=0.01)
        assert sizes.response == pytest.approx(4 * ten.response, rel=0.02)


@pytest.mark.parametrize(
    "stated", [{"within": 0}, {"within": 0.1, "confidence": 1}, {"within": 0.1, "queries": 0}, {}, {"rms": -1}]
)
def test_improper_plans_are_refused(stated: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        sample_size(epsilon=1, **stated)  # type: ignore[arg-type]  # the refusal is the test

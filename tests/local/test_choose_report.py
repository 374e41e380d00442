"""Which local report is recommended, and that the rule of thumb is where it should be."""

from __future__ import annotations

import math

import pytest

from discreet.errors import InvalidParameter
from discreet.local.choose_report import choose_report, report_error_figure
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.local_hashing import LocalHashing
from discreet.mechanisms.randomized_response import RandomizedResponse


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_rule_of_thumb(epsilon: float) -> None:
    """Randomized response has the smaller variance than unary encoding for fewer than 3 e^epsilon + 2 categories."""
    turn = 3 * math.exp(epsilon) + 2
    for size, direct_is_better in ((math.floor(turn), True), (math.ceil(turn), False)):
        variances = {option.name: option.variance for option in choose_report(epsilon=epsilon, categories=size).options}
        assert (variances["RandomizedResponse"] < variances["UnaryResponse"]) is direct_is_better


@pytest.mark.long
def test_recommendations() -> None:
    assert isinstance(choose_report(epsilon=1, categories=2).oracle, RandomizedResponse)
    assert isinstance(choose_report(epsilon=1, categories=1000).oracle, LocalHashing)
    assert isinstance(choose_report(epsilon=0.05, categories=10**6).oracle, HadamardResponse)
    best = min(option.variance for option in choose_report(epsilon=3, categories=["a", "b", "c"]).options)
    assert choose_report(epsilon=3, categories=["a", "b", "c"]).options[0].variance <= 1.05 * best


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="above 0"):
        choose_report(epsilon=0, categories=3)


def test_the_picture_has_a_curve_for_each_kind() -> None:
    figure = report_error_figure(categories=50, epsilons=(0.5, 1, 2))
    assert len(figure.axes[0].lines) == 4
    assert figure.axes[0].get_ylabel() == "n · variance of a share"

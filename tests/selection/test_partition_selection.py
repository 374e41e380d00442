"""One interface for the laws: which is chosen, what is refused, and what comes out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.privacy.events import ApproximateEvent
from discreet.selection.gaussian_partition_selection import STEPS
from discreet.selection.partition_selection import KeySelection
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p


def test_the_goals_are_met() -> None:
    """Users for an even chance, where each has as many keys as may be."""
    goals = {1: 12, 3: 33, 10: 61, 30: 110, 100: 208}
    for groups, goal in goals.items():
        assert KeySelection(epsilon=1, delta=1e-5, max_groups=groups).users() <= goal


def test_the_better_law_is_chosen() -> None:
    methods = [KeySelection(epsilon=1, delta=1e-5, max_groups=groups).method for groups in (1, 2, 3)]
    assert methods == ["optimal", "optimal", "weighted"]
    assert KeySelection(epsilon=1e-4, delta=1e-6, max_groups=10).method == "weighted"  # no table would hold the other


@pytest.mark.parametrize("method", ["optimal", "gaussian", "weighted"])
def test_many_keys_of_one_unit_stay_hidden(method: str) -> None:
    """Ten keys that one person alone has: hardly ever is one of them shown. 10,000 people, one in 10**6."""
    delta, groups, people = 0.01, 10, 10_000
    rule = KeySelection(epsilon=1, delta=delta, max_groups=groups, method=method)
    shown = rule.release(np.full(people * groups, rule.weight(groups)), words=splitmix(7))
    given_away = np.unique(shown // groups).size
    assert given_away <= people * delta or binomial_p(given_away, people, delta) > 1e-6
    assert given_away > 0.2 * people * delta  # and delta is used


def test_places_ascend_and_large_counts_are_found() -> None:
    for method in ("optimal", "gaussian", "weighted"):
        rule = KeySelection(epsilon=1, delta=1e-5, max_groups=2, method=method)
        totals = np.array([0, 10**6, 1, 10**6, 0, 10**6]) * rule.steps
        assert rule.release(totals).tolist() == [1, 3, 5]
        assert rule.release([]).size == 0


def test_what_a_person_weighs() -> None:
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=9)
    assert (rule.steps, rule.weight(1), rule.weight(4)) == (STEPS, STEPS, STEPS // 2)
    assert KeySelection(epsilon=1, delta=1e-5, max_groups=9, method="gaussian").weight(4) == 1
    assert KeySelection(epsilon=1, delta=1e-5).threshold == 23
    assert rule.threshold == pytest.approx(18.0, abs=0.1)


def test_chances() -> None:
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=4)
    assert rule.probability(0) == 0.0
    assert rule.probability(20, groups=1) > rule.probability(20)
    assert rule.users(0.9) > rule.users(0.5) > rule.users(0.5, groups=1)
    table = KeySelection(epsilon=1, delta=1e-5)
    assert table.probability(1) == pytest.approx(1e-5)
    assert table.users(0.1) == 10


def test_accounts() -> None:
    rule = KeySelection(epsilon=0.5, delta=1e-6)
    assert rule.event == ApproximateEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
    assert rule.loss.delta(0.5) == pytest.approx(1e-6)
    assert rule.loss.epsilon(1e-6) == 0.5


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0, "delta": 0.1}, "above 0"),
    ({"epsilon": 5000, "delta": 0.1}, "epsilon of at most"),
    ({"epsilon": 1, "delta": 0}, "list the keys"),
    ({"epsilon": 1, "delta": 1}, "between 0 and 1"),
    ({"epsilon": 1, "delta": 1e-60}, "delta of at least"),
    ({"epsilon": 1, "delta": 0.1, "max_groups": 0}, "1 or more"),
    ({"epsilon": 1, "delta": 0.1, "max_groups": 2**40}, "2\\*\\*30"),
    ({"epsilon": 1, "delta": 0.1, "method": "laplace"}, 'method="optimal"'),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED)
def test_refusals(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        KeySelection(**parameters)


def test_refused_questions() -> None:
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=3)
    with pytest.raises(InvalidParameter, match="at most 3 keys"):
        rule.weight(4)
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        rule.users(1)
    for totals in ([-1], [0.5], [2**62], ["a"]):
        with pytest.raises(InvalidParameter):
            rule.release(totals)

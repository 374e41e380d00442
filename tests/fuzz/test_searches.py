"""Promises are searched for parameters that break them; faults that show at few parameters are planted and found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import discreet.planning.noise_laws as pricing
from attacked_questions import PEOPLE, STATED
from attacks import attacks
from discreet.audit import Report, search
from discreet.audit.own_mechanisms import mechanisms
from discreet.mechanisms import laplace, selection_probabilities
from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.contributions import sensitivity
from neighbor_bench import Bench
from searches import ASKS, SEARCHES

RUNS = 2000
TRIES = {"aggregates and verbs": 36, "every mechanism": 8, "Staircase": 6, "KMeans": 20}
"""`make audit` makes many times as many."""


def searched(name: str, **narrowed: Any) -> Report:
    make, space = SEARCHES[name]
    return search(make(RUNS), {**space, **narrowed}, tries=TRIES.get(name, 40))


@pytest.mark.long
@pytest.mark.parametrize("name", SEARCHES)
def test_no_parameters_break_a_promise(name: str) -> None:
    """With false alarms in less than one of a hundred thousand runs of all these tests."""
    report = searched(name)
    assert report.ok, str(report)
    assert report.strain > 0.4


def test_every_mechanism_is_searched() -> None:
    """Those that are attacked at all are, at several epsilons; slow ones in the long audit alone, of which a threshold
    is slow only where it answers a question.
    """
    slow, quick = ({one.mechanism for one in attacks() if (one.cost >= 10) is long} for long in (True, False))
    assert slow == {"FrequencyOracle", "KMeans", "NoisyStream", "Threshold"}
    assert "Threshold" in quick
    assert {kind.__name__ for kind, _ in mechanisms()} - {one.mechanism for one in attacks()} <= {
        "Selector",
        "TableKeys",
    }
    assert len(ASKS) > 20


@pytest.mark.long
@pytest.mark.parametrize("name", ASKS)
def test_what_is_searched_has_a_plan(name: str) -> None:
    bench = Bench()
    question = ASKS[name](bench.protect(PEOPLE, **STATED))
    assert bench.plan(question, epsilon=1).columns


# -- planted faults -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_noise_too_small_at_one_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a lattice are counted with too few bits, which a sensitivity of 1000 alone meets."""
    plain = laplace.noisy

    def narrow(totals: Any, scale: Fraction, words: Any) -> Any:
        return plain(totals, scale / 4 if scale > 10**8 else scale, words)

    monkeypatch.setattr(laplace, "noisy", narrow)
    [found, *_] = searched("Laplace").findings
    assert found.kind == "epsilon"


def test_a_price_that_forgets_monotonic_laws_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three laws with three kinds of noise, one combination pays half."""
    plain = vars(selection_probabilities.Selector)["scale"].fget

    def scale(self: Any) -> Fraction:
        half = type(self).__name__ == "NoisyMax" and self.noise == "laplace"
        return Fraction(plain(self)) / (2 if half else 1)

    monkeypatch.setattr(selection_probabilities.Selector, "scale", property(scale))
    [found, *_] = searched("Exponential, PermuteAndFlip, NoisyMax").findings
    assert "law=NoisyMax, noise=laplace" in found.neighbor


Claimed = Callable[..., int]


def halved(limits: Any, neighbors: Neighbors) -> bool:
    """Where a unit is replaced that may be in four groups."""
    return neighbors is Neighbors.REPLACE_ONE and limits.max_groups == 4


@pytest.mark.long
def test_a_sensitivity_wrong_for_few_declarations_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim is half of what is true under one kind of neighbors and one limit, out of six."""

    def claimed(steps: int, limits: Any, neighbors: Neighbors, **more: Any) -> int:
        return sensitivity(steps, limits, neighbors, **more) // (2 if halved(limits, neighbors) else 1)

    monkeypatch.setattr(pricing, "sensitivity", claimed)
    few = {"unit": ("person",), "delta": (0,), "epsilon": (1,), "value": ("high", "low")}
    report = searched("aggregates and verbs", ask=("aggregate mean", "aggregate count"), **few)
    assert not report.ok
    assert "neighbors=replace-one" in report.findings[0].neighbor
    assert "max_groups=4" in report.findings[0].neighbor

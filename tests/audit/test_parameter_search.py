"""A search meets every two values of two parameters, goes on from the worst, and reports what it finds twice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit import Finding, Report, drawn, exact, sampled, search
from discreet.audit.parameter_search import covering, pairs_met
from discreet.testing import splitmix

SIZES = [5, 3, 4, 2, 6]
SPACE = {f"p{i}": range(size) for i, size in enumerate(SIZES)}


def held(strain: float) -> Report:
    found = (Finding(kind="promise", message="broken", size=strain),) if strain > 1 else ()
    return Report(title="an attack", findings=found, tried={}, blind=(), strain=strain)


def test_every_two_values_meet_in_few_points() -> None:
    points = list(covering(SIZES, splitmix(0)))
    met, every = pairs_met(points, SIZES)
    assert met == every == 155
    assert len(points) <= 50


@pytest.mark.parametrize("pair", list(itertools.combinations(SPACE, 2)), ids="-".join)
def test_a_fault_of_two_parameters_is_found(pair: tuple[str, str]) -> None:
    """Whatever the two are, and though nothing hints at it."""
    wrong = {name: len(SPACE[name]) - 1 for name in pair}

    def attack(**parameters: int) -> Report:
        return held(2.0 if all(parameters[name] == value for name, value in wrong.items()) else 0.5)

    report = search(attack, SPACE, tries=50)
    assert not report.ok
    assert all(f"{name}={value}" in report.findings[0].neighbor for name, value in wrong.items())


def test_three_parameters_are_climbed_to() -> None:
    """One point of 720, which is worse the nearer it is."""

    def attack(**parameters: int) -> Report:
        near = sum(parameters[name] == value for name, value in {"p0": 4, "p2": 3, "p4": 5}.items())
        return held(0.2 + 0.3 * near)

    report = search(attack, SPACE, tries=120)
    assert report.findings[0].neighbor.startswith("with p0=4, ")
    assert report.strain == pytest.approx(1.1)


def test_what_is_refused_is_met_elsewhere() -> None:
    """Half of all points are refused; every pair that can be had is had all the same."""

    def attack(**parameters: int) -> Report | None:
        if sum(parameters.values()) % 2:
            return None
        if parameters["p3"] and parameters["p1"] == 2:
            raise dp.InvalidParameter("never together")
        return held(0.1)

    report = search(attack, SPACE, tries=200)
    assert report.tried["pairs of values met"] == "154 of 155"  # one of them cannot be had
    assert report.tried["refused"] > 20


def test_the_same_points_every_time() -> None:
    met: list[list[Any]] = [[], []]
    for seen in met:
        search(lambda seen=seen, **parameters: seen.append(parameters) or held(0.1), SPACE, tries=60)
    assert met[0] == met[1]
    assert len(met[0]) == 63  # the worst three once more


def test_what_was_luck_is_no_finding() -> None:
    """The first attack on each point shows a violation, the second none."""
    met = set()

    def attack(**parameters: int) -> Report:
        point = tuple(parameters.values())
        lucky = point not in met
        met.add(point)
        return held(1.5 if lucky else 0.9)

    report = search(attack, SPACE, tries=60)
    assert (report.ok, report.strain) == (True, 0.9)


def test_one_parameter_is_a_list() -> None:
    def attack(*, epsilon: float) -> Report:
        rule = dp.Laplace(sensitivity=1, epsilon=1.5 * epsilon if epsilon == 2 else epsilon)
        return drawn(rule.release(np.zeros(20_000)), rule.release(np.ones(20_000)), epsilon=epsilon)

    report = search(attack, {"epsilon": [0.5, 1, 2, 3]}, tries=10)
    assert [finding.neighbor for finding in report.findings] == ["with epsilon=2"]
    assert search(attack, {"epsilon": [0.5, 1, 3]}, tries=10).ok


def test_refusals() -> None:
    for space, tries in (({}, 10), ({"a": []}, 10), ({"a": [1]}, 0)):
        with pytest.raises(dp.InvalidParameter):
            search(lambda **_: held(0), space, tries=tries)


@pytest.mark.long
def test_strain_is_the_part_of_the_promise_that_is_used() -> None:
    assert exact([0.7, 0.3], [0.3, 0.7], epsilon=1).strain == pytest.approx(np.log(7 / 3), abs=1e-6)
    assert exact([0.7, 0.3], [0.3, 0.7], epsilon=0.1, delta=0.5).strain == pytest.approx(2 * (0.7 - 0.3 * np.exp(0.1)))
    assert exact([0.9, 0.1], [0.1, 0.9], epsilon=1).strain > 1
    rule = dp.Laplace(sensitivity=1, epsilon=1)
    assert 0.7 < sampled(rule.release, 0, 1, epsilon=1, runs=10_000).strain < 1


@pytest.mark.parametrize("kind", ["float64", "int64", "object"])
def test_samples_in_arrays_are_judged_like_runs(kind: str) -> None:
    one, two = (np.full((1000, 2), value).astype(kind) for value in (3, 3))
    assert drawn(one, two, epsilon=1).strain == 0
    two[:, 1] += 2**41
    assert not drawn(one, two, epsilon=1).ok
    assert not drawn(two, one, epsilon=1).ok


def test_odd_values_in_arrays_are_symbols() -> None:
    plain = np.zeros(1000)
    for odd in (np.nan, np.inf, -np.inf):
        assert not drawn(plain, np.full(1000, odd), epsilon=1).ok
    assert not drawn(np.full(1000, np.inf), np.full(1000, -np.inf), epsilon=1).ok
    with pytest.raises(dp.InvalidParameter, match="1000 runs"):
        drawn(plain, plain[:999], epsilon=1)

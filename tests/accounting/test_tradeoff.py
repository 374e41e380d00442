"""Bounds on the errors of tests, from profiles that are known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from discreet.accounting import event_losses as losses
from discreet.accounting.composed_profile import Composition
from discreet.accounting.contour_integral import Bounds, ContourIntegral
from discreet.accounting.tradeoff import least_error, least_errors
from discreet.noise.certified_comparison import real


def nothing(t: float) -> Bounds:
    """The profile of equal laws."""
    delta = max(-math.expm1(t), 0.0)
    return Bounds(delta, delta)


def test_equal_laws_are_not_told_apart() -> None:
    for level in (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)):
        assert float(1 - level) - 1e-8 <= least_error(nothing, level) <= 1 - level


def test_errors_are_rounded_down() -> None:
    """Gaussian noise, whose top is so flat that nothing but rounding is left: the best slope has a closed form."""
    loss = losses.gaussian_loss(1)
    with ctx.workprec(200):

        def tail(x: arb) -> arb:
            return (x / arb(2).sqrt()).erfc() / 2

        for t in (k / 16 - 1.5 for k in range(48)):
            level = Fraction(float(tail(arb(t) + arb(0.5)).mid()))
            delta = tail(arb(t) - arb(0.5)) - arb(t).exp() * tail(arb(t) + arb(0.5))
            truth = 1 - delta - arb(t).exp() * real(level)  # off by the square of a float's rounding
            found = loss.tradeoff(level)
            assert bool(arb(found) < truth)
            assert found >= float(truth.mid()) - 1e-13


def test_levels_of_a_response() -> None:
    """Randomized response: 1 - level e^epsilon, or e^-epsilon (1 - level)."""
    for epsilon, level in ((0.3, 0.1), (1.0, 0.25), (2.0, 0.7), (0.01, 0.5)):
        truth = max(1 - level * math.exp(epsilon), (1 - level) * math.exp(-epsilon))
        many = least_errors(np.array([epsilon]), np.zeros(1), np.array([level]))
        assert losses.pure_loss(epsilon).tradeoff(level) == pytest.approx(truth, abs=1e-8)
        assert truth - 1e-14 <= many[0] <= truth


def test_a_profile_bounds_both_directions() -> None:
    """All tests on one output of three, in both directions, err at least as much; the best reach the bound."""
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.5, 0.3])
    places = np.linspace(0.0, 3.0, 301)
    loss = losses.finite_loss(list(map(Fraction, ("0.7", "0.2", "0.1"))), list(map(Fraction, ("0.2", "0.5", "0.3"))))
    deltas = np.array([loss.delta(float(place)) for place in places])
    for law, other in ((first, second), (second, first)):
        for rejected in ([], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
            level, error = other[rejected].sum(), 1.0 - law[rejected].sum()
            bound = least_errors(places, deltas, np.array([min(level, 1.0)]))[0]
            assert bound <= error + 1e-12
    assert least_errors(places, deltas, np.array([0.2]))[0] == pytest.approx(0.3, abs=1e-2)


def test_many_levels_are_as_good_as_one_by_one() -> None:
    loss = losses.gaussian_loss(1)
    places, levels = np.linspace(0.0, 6.0, 65), np.linspace(0.0, 1.0, 33)
    found = least_errors(places, np.array([loss.delta(float(place)) for place in places]), levels)
    alone = np.array([loss.tradeoff(float(level)) for level in levels])
    assert (found <= alone + 1e-7).all()
    assert np.abs(found - alone).max() < 2e-3


def test_slopes_beyond_floats_bound_nothing() -> None:
    assert least_errors(np.array([0.0, 1e5]), np.array([1.0, 0.0]), np.array([0.0, 0.5, 1.0])).tolist() == [0.0] * 3
    assert least_errors(np.array([1e5]), np.array([0.0]), np.array([0.5])).tolist() == [0.0]


@pytest.mark.long
def test_a_plot_asks_each_place_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both curves are drawn from one profile, and neighbors of a place share its contour."""
    asked: list[float] = []
    built: list[float] = []
    delta, contour = Composition.delta, Composition._contour

    def counted(self: Composition, place: float) -> Bounds:
        asked.append(place)
        return delta(self, place)

    def noted(self: Composition, theta: float, low: float, high: float) -> ContourIntegral:
        built.append(theta)
        return contour(self, theta, low, high)

    monkeypatch.setattr(Composition, "delta", counted)
    monkeypatch.setattr(Composition, "_contour", noted)
    for loss in (3 * losses.laplace_loss(1), 20 * losses.randomized_response_loss(1), losses.gaussian_loss(1)):
        asked.clear()
        built.clear()
        loss.plot()
        assert len(asked) == len(set(asked)) <= 97
        assert len(built) == len(set(built)) <= 98  # one of them is that of epsilon at 1e-6

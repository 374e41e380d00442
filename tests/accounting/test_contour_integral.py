from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import event_losses as losses
from discreet.accounting import tabulated_pairs
from discreet.accounting.composed_profile import Composition
from discreet.accounting.contour_integral import ContourIntegral, Values
from discreet.accounting.dominating_pairs import GaussianPair


def test_no_release_at_all_is_the_identity() -> None:
    nothing = losses.composed([])
    assert nothing.epsilon_bounds(1e-6) == nothing.epsilon_bounds(0) == (0.0, 0.0)
    assert (nothing.delta(0), nothing.delta(1), nothing.rho, nothing.mean, nothing.mu, nothing.renyi(2)) == (0,) * 6
    assert nothing.delta(-1) == pytest.approx(-math.expm1(-1), rel=1e-12)
    assert (nothing.tail(-0.5), nothing.tail(0), nothing.label) == (1.0, 0.0, "exact")
    for place in (0.0, 0.5):
        assert (nothing + losses.laplace_loss(1)).delta(place) == losses.laplace_loss(1).delta(place)


def test_certain_losses_beside_any_other() -> None:
    """Where nothing finite is left, all is told."""
    certain = losses.finite_loss([1, 0], [0, 1])
    for other in (losses.gaussian_loss(1), losses.laplace_loss(1), losses.bounded_range_loss(3), certain):
        both = other + 2 * certain
        for epsilon in (1, -1):
            lower, upper = both.delta_bounds(epsilon)
            assert 1 - 1e-12 <= lower <= upper == 1.0
        assert (both.tail(5), both.epsilon(0.5), both.rho) == (1.0, math.inf, math.inf)


def test_what_no_float_can_compose_is_not_called_small() -> None:
    """10^90 releases at 1/1000 differ by 10^90/2,000,000 nats on average: no epsilon of 10^6 holds."""
    many = 10**90 * losses.laplace_loss(1e-3)
    assert many.delta_bounds(1e6) == (0.0, 1.0)
    assert many.epsilon(1e-6) >= many.mean
    # At least one half of each law is at its top: 2^-k of k of them, and no float holds that of 4,000.
    assert (100 * losses.laplace_loss(1)).delta(Fraction(99999999, 10**6)) == pytest.approx(1e-6 * 2.0**-100, rel=1e-5)
    assert 0 < (4000 * losses.laplace_loss(1)).delta(Fraction(3999999999, 10**6)) < 1e-300


def test_the_error_of_an_exponent_may_be_a_factor() -> None:
    """A moment of 1 that was computed as 3 is off by 2, and by log 3 in its exponent."""
    values = Values(
        z=np.array([1.0 + 0.0j]),
        weights=np.array([1.0]),
        moments=np.array([3.0 + 0.0j]),
        errors=np.array([math.log(3) * (1 + 1e-15)]),
        missing=0.0,
    )
    found, error = ContourIntegral(values, (0.0, 0.0), mollifier=0.0, period=1.0)._delta.at(0.0)
    assert found - error <= 1 / 2 <= found + error  # 1/(z(z+1)) at z = 1


def test_wide_ranges_have_tails() -> None:
    assert losses.bounded_range_loss(1500).tail(-1000) == 1.0
    pair = losses.bounded_range_loss(3).parts[0].pair
    for t in (-2.0, 0.0, 2.0):  # Q(L > t) by integration of its density e^((t - 3)/2)/(2 (1 - e^-3)) e^-t
        wanted = (math.exp(-(3 + t) / 2) - math.exp(-3)) / -math.expm1(-3)
        assert pair.tails(t)[1] == pytest.approx(wanted, rel=1e-12)


def test_places_beyond_floats() -> None:
    for loss in (losses.gaussian_loss(1), losses.laplace_loss(1), 3 * losses.pure_loss(1) + losses.gaussian_loss(1)):
        assert loss.delta(-(10**400)) == loss.tail(-(10**400)) == 1.0
        assert loss.delta(10**400) <= 1e-300
        assert loss.tail(10**400) <= 1e-300


def test_a_line_far_from_its_place_says_less_not_wrong() -> None:
    """Its aliases are beyond every float there; two responses beside Gaussian noise have a closed form."""
    mu2, epsilon = Fraction("0.0004"), 0.005
    whole = Composition([(tabulated_pairs.response(epsilon, 2), 1), (GaussianPair(mu2), 1)])
    noise, truth = GaussianPair(mu2), 1.0 / (1.0 + math.exp(-epsilon))
    for made_at in (0.8, 0.3, -0.3):
        line = whole._contour(2000.0 if made_at > 0 else 1.0, made_at, made_at)
        for place in (0.01, 0.1, -0.2, -1.0, -30.0):
            near, far = (noise.delta_bounds(place - loss)[1] for loss in (epsilon, -epsilon))
            delta = truth * near + (1.0 - truth) * far
            found = line.delta(place)
            assert found.lower <= delta * (1 + 1e-12)
            assert delta * (1 - 1e-12) <= found.upper

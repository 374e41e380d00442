from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.accounting import gaussian_profile
from discreet.exact.amounts import LEAST_FLOAT
from discreet.noise.certified_comparison import real

# Computed with 60 digits by an independent program from Theorem 8 of Balle and Wang.
GAUSSIAN_DELTAS = [
    ("0.5", "0", "0.6826894921370859"),
    ("0.5", "1", "0.5098616600546702"),
    ("1", "0", "0.3829249225480262"),
    ("1", "1", "0.1269367375066439"),
    ("2", "0", "0.1974126513658474"),
    ("2", "1", "0.006829594983114575"),
    ("4", "0", "0.09947644966022579"),
    ("4", "1", "2.924272104856407e-6"),
    ("10", "0", "0.03987761167674492"),
    ("10", "1", "1.230835983642704e-25"),
]
GAUSSIAN_EPSILONS = [
    ("0.5", "1e-3", "7.581279924570114"),
    ("0.5", "1e-10", "14.27408964507801"),
    ("1", "1e-6", "4.886554117462212"),
    ("2", "1e-5", "1.99309140441512"),
    ("4", "1e-3", "0.5920067183621291"),
    ("4", "1e-10", "1.492026856985376"),
    ("10", "1e-6", "0.3968573776440836"),
    ("100", "1e-5", "0.02721941981457714"),
]


@pytest.mark.parametrize(("sigma", "epsilon", "delta"), GAUSSIAN_DELTAS)
def test_profile_is_the_reference(sigma: str, epsilon: str, delta: str) -> None:
    mu, place, wanted = 1 / Fraction(sigma), Fraction(epsilon), float(delta)
    above = gaussian_profile.delta_above(mu, place)
    assert wanted * (1 - 1e-14) <= above <= wanted * (1 + 1e-13)


@pytest.mark.parametrize(("sigma", "delta", "epsilon"), GAUSSIAN_EPSILONS)
def test_epsilon_is_the_reference(sigma: str, delta: str, epsilon: str) -> None:
    mu, small, wanted = 1 / Fraction(sigma), Fraction(delta), float(epsilon)
    above = gaussian_profile.epsilon_above(mu, small)
    assert wanted * (1 - 1e-14) <= above <= wanted * (1 + 1e-11)


@given(st.fractions(Fraction(1, 10**6), 1000), st.fractions(Fraction(1, 10**12), Fraction(1, 2)))
@example(Fraction(27162391, 13341875000), Fraction(27162391, 13341875000000000))
def test_mu_is_on_the_private_side(epsilon: Fraction, delta: Fraction) -> None:
    mu = gaussian_profile.mu_below(epsilon, delta)
    with ctx.workprec(gaussian_profile.PRECISION):  # at fewer bits an upper end is a number above it
        assert gaussian_profile.profile(Fraction(mu), epsilon).upper() <= float(delta) * (1 + 2**-52)
        assert gaussian_profile.profile(Fraction(mu), epsilon).upper() <= real(delta)
        assert gaussian_profile.profile(Fraction(mu) * (1 + Fraction(1, 10**10)), epsilon) > real(delta)


@pytest.mark.parametrize("bits", [2, 20, 1000])
def test_calibrations_do_not_depend_on_the_working_precision(bits: int) -> None:
    """Of whoever else uses Arb in the process: with few bits, noise was wider than its price."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    with ctx.workprec(bits):
        mu = gaussian_profile.mu_below.__wrapped__(epsilon, delta)
        above = gaussian_profile.epsilon_above.__wrapped__(epsilon, delta)
    assert mu == gaussian_profile.mu_below(epsilon, delta)
    assert above == gaussian_profile.epsilon_above(epsilon, delta)


def test_negative_epsilon_and_tiny_delta() -> None:
    assert 0.6 < gaussian_profile.delta_above(Fraction(1), Fraction(-1)) < 0.7
    assert gaussian_profile.delta_above(Fraction(1, 10), Fraction(1000)) == LEAST_FLOAT
    assert gaussian_profile.epsilon_above(Fraction(1, 10**6), Fraction(1, 2)) == 0.0


@pytest.mark.parametrize(
    ("mu", "epsilon", "bits"), [(44721, 10**9, 1 << 13), (447213, 10**11, 1 << 14), (10**4, 49_990_000, 1 << 12)]
)
def test_far_out_the_profile_is_that_of_the_theorem(mu: int, epsilon: int, bits: int) -> None:
    """Against the formula as it stands, at enough bits for Arb's erfc of a ball."""
    with ctx.workprec(bits):
        half, ratio, root = arb(mu) / 2, arb(epsilon) / mu, arb(2).sqrt()
        wanted = (((ratio - half) / root).erfc() - arb(epsilon).exp() * ((ratio + half) / root).erfc()) / 2
        assert gaussian_profile.profile(Fraction(mu), Fraction(epsilon)).overlaps(wanted)
        assert (
            0 < gaussian_profile.delta_above(Fraction(mu), Fraction(epsilon)) / float(wanted) - 1 < 1e-12
            or wanted.rad() > 0
        )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**100), Fraction(10**13), Fraction(10**100)])
@pytest.mark.parametrize("delta", [Fraction("5e-324"), Fraction(1, 10**6)])
def test_the_ends_of_the_rule_are_calibrated(epsilon: Fraction, delta: Fraction) -> None:
    mu = Fraction(gaussian_profile.mu_below(epsilon, delta))
    assert gaussian_profile.profile(mu, epsilon).upper() <= real(delta)
    assert gaussian_profile.profile(mu * (1 + Fraction(1, 10**9)), epsilon).lower() > real(delta) or epsilon == 10**100
    assert gaussian_profile.profile(
        Fraction(10**50), Fraction(gaussian_profile.epsilon_above(Fraction(10**50), delta))
    ) <= real(delta)

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import calibration as least
from discreet.accounting import gaussian_profile
from discreet.accounting.event_losses import gaussian_loss, laplace_loss
from discreet.errors import InvalidParameter
from discreet.exact.amounts import LEAST_MISS, root_above
from discreet.noise.certified_comparison import real

SIGMAS = [
    ("0.01", "1e-3", "93.907419839851578"),
    ("0.1", "1e-3", "17.404396203031167"),
    ("0.25", "1e-3", "8.2291261654747418"),
    ("0.5", "1e-3", "4.6101279507281402"),
    ("1", "1e-3", "2.5746570186372061"),
    ("1.5", "1e-3", "1.8344313592499111"),
    ("2", "1e-3", "1.4452391609297835"),
    ("3", "1e-3", "1.0372517184874801"),
    ("5", "1e-3", "0.68984232700035757"),
    ("8", "1e-3", "0.48001375248011045"),
    ("10", "1e-3", "0.40605955802413852"),
    ("20", "1e-3", "0.24672179738433923"),
]
CLASSICAL_VIOLATIONS = [
    ("8", "1e-3", "0.47205994158238087"),
    ("10", "1e-5", "0.48448052626053894"),
    ("10", "1e-10", "0.68189433904754872"),
    ("20", "1e-5", "0.24224026313026947"),
    ("20", "1e-10", "0.34094716952377436"),
]


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), SIGMAS)
def test_sigma_is_the_reference(epsilon: str, delta: str, sigma: str) -> None:
    found = least.gaussian_sigma(1, Fraction(epsilon), Fraction(delta))
    assert Fraction(sigma) * (1 - Fraction(1, 10**16)) <= found <= Fraction(sigma) * (1 + Fraction(1, 10**9))


@given(st.floats(-6.0, 3.0), st.floats(-300.0, -0.31), st.fractions(Fraction(1, 1000), 1000))
@settings(deadline=None)
def test_sigma_is_on_the_private_side(log_epsilon: float, log_delta: float, sensitivity: Fraction) -> None:
    epsilon, delta = Fraction(10.0**log_epsilon), Fraction(10.0**log_delta)
    sigma = least.gaussian_sigma(sensitivity, epsilon, delta)
    assert gaussian_profile.profile(sensitivity / sigma, epsilon).upper() <= real(delta)
    assert gaussian_profile.profile(sensitivity / (sigma * (1 - Fraction(1, 10**9))), epsilon) > real(delta)


def test_uses_share_the_guarantee() -> None:
    one, many = least.gaussian_sigma(1, 1, 1e-6), least.gaussian_sigma(1, 1, 1e-6, uses=100)
    assert 10 <= many / one <= 10 * (1 + Fraction(1, 10**12))
    assert least.gaussian_variance(1, Fraction(1, 2), uses=7) == 7


def test_last_digit_is_rounded_up() -> None:
    assert least.rounded_up(Fraction(2, 3)) == Fraction(6666666666666667, 10**16)
    assert least.rounded_up(Fraction(10**30 + 1)) == Fraction(1000000000000001 * 10**15)
    assert least.rounded_up(Fraction(5)) == 5


@pytest.mark.parametrize("calibration", ["classical", "lecture_notes", "note"])
def test_textbook_formulas_need_more_noise(calibration: least.Calibration) -> None:
    exact = least.gaussian_sigma(3, 0.5, 1e-6)
    assert exact < least.gaussian_sigma(3, 0.5, 1e-6, calibration=calibration)


def test_textbook_formulas_are_those_of_the_books() -> None:
    sigma = least.gaussian_sigma(1, 0.1, 1e-3, calibration="classical")
    assert math.isclose(sigma, 37.764795326590469, rel_tol=1e-12)
    sigma = least.gaussian_sigma(1, 1, 1e-3, calibration="lecture_notes")
    assert math.isclose(sigma, math.sqrt(2 * math.log(2000)), rel_tol=1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), CLASSICAL_VIOLATIONS)
def test_classical_is_refused_where_it_fails(epsilon: str, delta: str, sigma: str) -> None:
    assert gaussian_profile.profile(1 / Fraction(sigma), Fraction(epsilon)) > float(delta)
    with pytest.raises(InvalidParameter, match="epsilon below 1"):
        least.gaussian_sigma(1, Fraction(epsilon), Fraction(delta), calibration="classical")


@pytest.mark.parametrize(
    ("epsilon", "delta", "calibration"),
    [
        (1.1, 1e-6, "lecture_notes"),
        (1, 0.6, "lecture_notes"),
        (1, 0.9, "note"),
        (2, 1e-6, "note"),
        (1, 1e-6, "classical"),
    ],
)
def test_textbook_formulas_are_refused_elsewhere(epsilon: float, delta: float, calibration: least.Calibration) -> None:
    with pytest.raises(InvalidParameter, match="leave calibration"):
        least.gaussian_sigma(1, epsilon, delta, calibration=calibration)
    with pytest.raises(InvalidParameter, match="one use"):
        least.gaussian_sigma(1, 0.1, 1e-6, calibration=calibration, uses=2)


@pytest.mark.parametrize(
    "arguments",
    [(0, 1, 1e-6), (1, 0, 1e-6), (1, 1, 0), (1, 1, 1), (1, 1, -1), (1, -1, 0.1), (float("nan"), 1, 0.1)],
)
def test_improper_parameters_are_refused(arguments: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidParameter):
        least.gaussian_sigma(*arguments)


def test_unknown_calibration_and_no_use_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="a calibration"):
        least.gaussian_sigma(1, 1, 1e-6, calibration="guess")  # type: ignore[arg-type]  # the refusal is the test
    with pytest.raises(InvalidParameter, match="1 or more, got uses="):
        least.gaussian_sigma(1, 1, 1e-6, uses=0)


def test_laplace_scale_is_private_and_tight() -> None:
    assert least.laplace_scale(2, 0.5, uses=3) == 12
    scale = least.laplace_scale(1, 1, 1e-6, uses=100)
    assert (100 * laplace_loss(1 / scale)).delta(1) <= 1e-6
    assert float(scale) * math.sqrt(2) == pytest.approx(58.7, rel=1e-3)
    assert least.laplace_scale(1, 1, 1e-6) <= 1


@given(st.floats(-6.0, 3.0), st.floats(-300.0, -0.31), st.integers(1, 10**6))
@settings(deadline=None, max_examples=60)
def test_many_uses_are_private_together(log_epsilon: float, log_delta: float, uses: int) -> None:
    epsilon, delta = Fraction(10.0**log_epsilon), Fraction(10.0**log_delta)
    sigma = least.gaussian_sigma(3, epsilon, delta, uses=uses)
    assert (uses * gaussian_loss(3 / sigma)).delta_bounds(epsilon).lower <= delta
    assert gaussian_profile.profile(root_above(uses * (3 / sigma) ** 2), epsilon).lower() <= real(delta)
    assert gaussian_profile.profile(root_above(uses * (3 / (sigma * (1 - Fraction(1, 10**9)))) ** 2), epsilon) > real(
        delta
    )


EXTREMES = [
    *((1e-6, 1e-300, 1), (1e-6, 1e-9, 1000), (1e-6, 0.5, 10**6), (1, 1e-300, 10**6)),
    *((1, 0.5, 1), (30, 1e-300, 3), (1e3, 1e-300, 1000), (1e3, 1e-9, 1), (1e3, 0.5, 10**6)),
]


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta", "uses"), EXTREMES)
def test_laplace_scale_at_the_extremes(epsilon: float, delta: float, uses: int) -> None:
    """Recomputed with all uses composed: private, and with a thousandth less noise no longer."""
    scale = least.laplace_scale(2, epsilon, delta, uses=uses)
    place = Fraction(str(epsilon))
    assert (uses * laplace_loss(2 / scale)).delta(place) <= delta
    assert (uses * laplace_loss(2 / (scale * Fraction(999, 1000)))).delta_bounds(place).upper > delta
    assert least.laplace_scale(2, epsilon, uses=uses) == 2 * uses / place


@pytest.mark.parametrize("uses", [1, 10**6])
@pytest.mark.parametrize("rho", [1e-12, 0.5, 1e6])
def test_variance_is_that_of_rho(rho: float, uses: int) -> None:
    variance = least.gaussian_variance(3, rho, uses=uses)
    assert uses * Fraction(9) / (2 * variance) == Fraction(str(rho))


@pytest.mark.parametrize("confidence", [1e-50, 1e-9, 0.3, 0.5, 0.95, 1 - 1e-12, 1 - LEAST_MISS])
def test_noise_for_an_error_at_the_extremes(confidence: float | Fraction) -> None:
    sure = Fraction(str(confidence))
    sigma, scale = least.gaussian_sigma_for_error(7, confidence), least.laplace_scale_for_error(7, confidence)

    def inside(noise: Fraction, *, normal: bool) -> arb:
        x = real(7 / noise)
        return (x / arb(2).sqrt()).erf() if normal else -(-x).expm1()

    more = 1 + Fraction(1, 10**9)
    with ctx.workprec(2000):
        assert inside(sigma, normal=True) >= real(sure) > inside(sigma * more, normal=True)
        assert inside(scale, normal=False) >= real(sure) > inside(scale * more, normal=False)


def test_noise_for_an_error() -> None:
    sigma = least.gaussian_sigma_for_error(1.96, 0.95)
    assert float(sigma) == pytest.approx(1.0, abs=1e-4)
    assert math.erfc(1.96 / float(sigma) / math.sqrt(2)) <= 0.05
    assert float(least.laplace_scale_for_error(1, 0.95)) == pytest.approx(1 / math.log(20))
    with pytest.raises(InvalidParameter):
        least.laplace_scale_for_error(1, 1)
    with pytest.raises(InvalidParameter):
        least.gaussian_sigma_for_error(1, 1)


@pytest.mark.parametrize(("rho", "uses"), [("1/2", 1), ("2", 1), ("1/1000", 3), ("1e-12", 10), ("30", 1), ("1e6", 7)])
def test_laplace_noise_for_a_rho(rho: str, uses: int) -> None:
    wanted = Fraction(rho) if "/" in rho else Fraction(float(rho))
    scale = least.laplace_scale_for_rho(3, wanted, uses=uses)
    epsilon = 3 / scale
    plain = min(epsilon**2 / 2, epsilon)
    assert uses * min(Fraction(laplace_loss(epsilon).rho), plain) <= wanted
    if wanted / uses in (Fraction(1, 2), Fraction(2), Fraction(30)):
        assert uses * laplace_loss(epsilon * Fraction(1001, 1000)).rho > wanted
    assert epsilon >= (1 - Fraction(1, 10**9)) * max(Fraction(math.sqrt(2 * wanted / uses)), wanted / uses)


@pytest.mark.parametrize(
    ("rho", "uses"), [(Fraction(1, 10**100), 1), (Fraction(1, 10**90), 10**40), (Fraction(10**99), 3)]
)
def test_the_scale_for_a_rho_at_the_ends_of_the_rule(rho: float, uses: int) -> None:
    """rho is at least the mean loss, e^-epsilon - 1 + epsilon >= epsilon^2/2 - epsilon^3/6, and epsilon where large."""
    each, epsilon = Fraction(str(rho)) / uses, 1 / least.laplace_scale_for_rho(1, rho, uses=uses)
    near = 1 - Fraction(1, 10**5)
    if rho < 1:
        assert epsilon**2 / 2 - epsilon**3 / 6 <= each
        assert epsilon**2 >= 2 * each * near**2
    else:
        assert near * each <= epsilon <= each
    with pytest.raises(InvalidParameter, match="from 1e-100 to 1e100, got rho=1e-317"):
        least.laplace_scale_for_rho(1, 1e-317)
    assert float(least.gaussian_sigma(1, 1e13, 1e-6)) == pytest.approx(1 / math.sqrt(2e13), rel=1e-5)

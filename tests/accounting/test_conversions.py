from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import conversions as to
from discreet.errors import InvalidParameter
from discreet.exact.amounts import root_above
from discreet.noise.certified_comparison import real

ZCDP = [
    ("0.001", "1e-5", "0.1573353931612155", "0.2155966026289347"),
    ("0.005", "1e-6", "0.4299414688369493", "0.5306521769756932"),
    ("0.01", "1e-9", "0.8101744678675342", "0.9204562776310878"),
    ("0.05", "1e-10", "2.000276047522277", "2.195966026289347"),
    ("0.1", "1e-15", "3.600896129469062", "3.816922188849838"),
    ("0.5", "1e-5", "4.728386984943314", "5.298525912188081"),
    ("1", "1e-6", "7.766216625311721", "8.433844377699677"),
    ("2", "1e-9", "14.1501475538746", "14.87579615773608"),
    ("2.63", "1e-10", "17.43058448734511", "18.19380261321036"),
    ("5", "1e-15", "30.46522157010301", "31.28260884878466"),
]
ZCDP_DELTA = [
    ("0.01", "0.25", "0.006151291009042692"),
    ("0.01", "4", "2.59486844328433e-176"),
    ("0.05", "1", "0.0003857091637444122"),
    ("0.1", "0.25", "0.158146469658555"),
    ("0.1", "4", "5.597458702961308e-19"),
    ("0.5", "1", "0.2468463307829445"),
    ("1", "0.25", "0.677885357305476"),
    ("1", "4", "0.01848867947021631"),
    ("5e-30", "1e-13", "2.6196763297297097e-234"),
]
ZCDP_RHO = [
    ("0.1", "1e-5", "0.0004329937294018095"),
    ("0.5", "1e-5", "0.008505530591181911"),
    ("1", "1e-5", "0.03055659519763957"),
    ("2", "1e-5", "0.1082563638230573"),
    ("4", "1e-5", "0.3731439827693287"),
    ("8", "1e-5", "1.229714525761431"),
    ("17.14", "1e-5", "4.241696834651357"),
]
RENYI = [
    (2, "0.5", "1e-5", "12.01292546497023", "10.62663110385034"),
    (5, "0.5", "1e-5", "3.378231366242557", "2.752728336819822"),
    (10, "1", "1e-6", "2.535056728662697", "2.173853424894421"),
    (32, "0.8", "1e-6", "1.245661630902073", "1.102115000239115"),
    (64, "0.1", "1e-9", "0.428940727570578", "0.3471783534062535"),
]
GAUSSIAN_FOLDS = [
    ("1", 1, "1e-5", "4.377178095681225"),
    ("5", 10, "1e-5", "2.594383380527607"),
    ("10", 100, "1e-5", "4.377178095681225"),
    ("20", 100, "1e-5", "1.99309140441512"),
    ("50", 1000, "1e-5", "2.594383380527607"),
    ("100", 10000, "1e-5", "4.377178095681225"),
]


@pytest.mark.parametrize(("rho", "delta", "tight", "textbook"), ZCDP)
def test_zcdp_conversions_are_the_references(rho: str, delta: str, tight: str, textbook: str) -> None:
    found = to.zcdp_epsilon(Fraction(rho), Fraction(delta))
    assert float(tight) * (1 - 1e-14) <= found <= float(tight) * (1 + 1e-10)
    simple = to.zcdp_epsilon(Fraction(rho), Fraction(delta), textbook=True)
    assert float(textbook) * (1 - 1e-14) <= simple <= float(textbook) * (1 + 1e-12)


@pytest.mark.parametrize(("rho", "epsilon", "delta"), ZCDP_DELTA)
def test_zcdp_delta_is_the_reference(rho: str, epsilon: str, delta: str) -> None:
    found = to.zcdp_delta(Fraction(rho), Fraction(epsilon))
    assert float(delta) * (1 - 1e-12) <= found <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "rho"), ZCDP_RHO)
def test_rho_is_on_the_private_side(epsilon: str, delta: str, rho: str) -> None:
    found = to.zcdp_rho(Fraction(epsilon), Fraction(delta))
    assert float(rho) * (1 - 1e-9) <= found <= float(rho) * (1 + 1e-14)
    assert to.zcdp_delta(Fraction(found), Fraction(epsilon)) <= float(delta) * (1 + 1e-15)


@given(st.floats(1e-6, 50.0), st.floats(1e-6, 100.0), st.floats(1.0001, 1e6))
@settings(deadline=None)
def test_no_order_does_better(rho: float, epsilon: float, alpha: float) -> None:
    at_alpha = to.renyi_epsilon(alpha, alpha * rho, 1e-6)
    assert to.zcdp_epsilon(rho, 1e-6) <= at_alpha * (1 + 1e-9) + 1e-9
    assert 0.0 < to.zcdp_delta(rho, epsilon) <= 1.0


@pytest.mark.parametrize(("alpha", "divergence", "delta", "textbook", "improved"), RENYI)
def test_renyi_conversions_are_the_references(
    alpha: int, divergence: str, delta: str, textbook: str, improved: str
) -> None:
    args = alpha, Fraction(divergence), Fraction(delta)
    assert to.renyi_epsilon(*args) == pytest.approx(float(improved), rel=1e-11)
    assert to.renyi_epsilon(*args) >= float(improved) * (1 - 1e-15)
    assert to.renyi_epsilon(*args, textbook=True) == pytest.approx(float(textbook), rel=1e-11)


def test_no_delta_is_above_one() -> None:
    """Where the best order is beyond every float."""
    assert to.zcdp_delta(1e100, 1e-300) == 1.0
    assert to.zcdp_delta(1e100, 1e99) == 1.0


def test_an_order_next_to_one_is_no_bargain() -> None:
    assert to.renyi_epsilon(1 + 1e-8, 1e-9, 1e-5) > 1e8


@pytest.mark.parametrize(("sigma", "times", "delta", "epsilon"), GAUSSIAN_FOLDS)
def test_gaussian_folds(sigma: str, times: int, delta: str, epsilon: str) -> None:
    mu = root_above(times / Fraction(sigma) ** 2)
    assert to.gdp_epsilon(mu, Fraction(delta)) == pytest.approx(float(epsilon), rel=1e-11)
    assert to.gdp_delta(mu, Fraction(epsilon)) == pytest.approx(float(delta), rel=1e-9)


@pytest.mark.parametrize("delta", [0, 1, -0.1, float("nan"), 2])
def test_improper_deltas_are_refused(delta: float) -> None:
    with pytest.raises(InvalidParameter):
        to.zcdp_epsilon(1, delta)


@pytest.mark.parametrize("alpha", [1, 0.5, float("nan")])
def test_improper_orders_are_refused(alpha: float) -> None:
    with pytest.raises(InvalidParameter):
        to.renyi_epsilon(alpha, 1, 1e-6)


def test_renyi_orders_near_one_and_beyond_floats() -> None:
    """What divides is the order less 1, which no float of the order itself holds."""
    near = Fraction(1.000000000000001)
    price = -math.log(1e-5) / float(near - 1)
    for textbook in (False, True):
        assert price <= to.renyi_epsilon(near, 1, 1e-5, textbook=textbook) <= price * (1 + 1e-9)
    assert to.renyi_epsilon(1 + Fraction(1, 10**20), 1, 1e-5) >= 1.15129e21
    assert 1 <= to.renyi_epsilon(Fraction(10**100), 1, 1e-5) <= 1 + 1e-9
    with pytest.raises(InvalidParameter, match="from 1e-100 to 1e100, got alpha - 1=1e-400"):
        to.renyi_epsilon(1 + Fraction(1, 10**400), 1, 1e-5)


def test_a_delta_near_one_is_no_less_than_it_is() -> None:
    """The infimum over all orders, computed to 60 digits."""
    assert 0.99987677243886845 <= to.zcdp_delta(12, 3) <= 0.99987677243886845 * (1 + 1e-9)


EXPONENTS = range(-6, 5)


@pytest.mark.long
@pytest.mark.parametrize("power", EXPONENTS)
def test_no_delta_is_below_its_conversion(power: int) -> None:
    """Also near 1, where the exponent is smaller than the rounding of what is above it; enclosed in 300 bits."""
    chance = random.Random(power)  # noqa: S311 - examples, not noise
    with ctx.workprec(300):
        for _ in range(60):
            rho = Fraction(f"{10 ** chance.uniform(power, power + 1):.6g}")
            epsilon = rho * Fraction(f"{chance.choice([1e-4, 1e-2, 0.3, 1.0, 1.9, 20.0]) * chance.uniform(0.5, 2):.6g}")
            truth = least_delta(rho, epsilon)
            found = to.zcdp_delta(rho, epsilon)
            assert not bool(arb(found) < truth), (rho, epsilon)
            assert bool(arb(found) <= truth * (1 + arb(1e-9)) + arb("1e-320")), (rho, epsilon)
            if not 1e-300 < found < 1:
                continue
            assert not bool(least_delta(rho, Fraction(to.zcdp_epsilon(rho, found))) > arb(found)), (rho, found)
            assert not bool(least_delta(Fraction(to.zcdp_rho(epsilon, found)), epsilon) > arb(found)), (epsilon, found)


def least_delta(rho: Fraction, epsilon: Fraction) -> arb:
    """The same bound at its best order, found by halving the interval of the derivative's root in 300 bits."""
    loss, place = real(rho), real(epsilon)

    def slope(above: arb) -> arb:
        return (2 * above + 1) * loss - place + (above / (1 + above)).log()

    low, high = arb(-900), arb(900)
    for _ in range(340):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if bool(slope(middle.exp()) < 0) else (low, middle)
    above = high.exp().mid()
    found = (above * ((1 + above) * loss - place) + (1 + above) * (above / (1 + above)).log() - above.log()).exp()
    return found if bool(found < 1) else arb(1)

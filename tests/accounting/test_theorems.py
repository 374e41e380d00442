from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx

from discreet.accounting import theorems
from discreet.accounting.event_losses import laplace_loss
from discreet.accounting.theorems import guarantee
from discreet.errors import InvalidParameter
from discreet.exact.bisection import float_up
from discreet.noise.certified_comparison import floors, real
from discreet.privacy.definitions import Guarantee, Neighbors

GROUP = [
    ("0.1", "1e-6", 2, "0.2", "2.105170918075648e-6"),
    ("0.1", "1e-6", 5, "0.5", "6.168257181453091e-6"),
    ("0.1", "1e-6", 10, "1.0", "1.633799399966362e-5"),
    ("1", "1e-8", 2, "2.0", "3.718281828459045e-8"),
    ("1", "1e-8", 5, "5.0", "8.57910248837216e-7"),
    ("1", "1e-8", 10, "10.0", "0.000128183080505246"),
]
KOV = [
    ("0.1", 10, "1e-3", "0.753573154879054", "1.280564918314047"),
    ("0.1", 10, "1e-6", "0.9993709057217587", "1.767429054344758"),
    ("0.1", 30, "1e-3", "1.481143980539907", "2.351354881551476"),
    ("0.1", 30, "1e-6", "2.345887693008037", "3.194628301539792"),
    ("0.1", 100, "1e-3", "3.115559460797176", "4.768631369606315"),
    ("0.1", 100, "1e-6", "4.774567588107986", "6.308230950513408"),
    ("0.01", 1000, "1e-3", "0.7823639631455071", "1.27589567108008"),
    ("0.01", 1000, "1e-6", "1.365446709993756", "1.762759807110791"),
    ("0.5", 10, "1e-3", "4.878371958463821", "9.12057635469264"),
    ("0.5", 10, "1e-6", "4.999885471109986", "11.55489703484619"),
    ("0.5", 30, "1e-3", "10.78915079433893", "19.91002969712459"),
    ("0.5", 30, "1e-6", "13.95200753947441", "24.12639679706617"),
    ("1", 5, "1e-3", "4.995199559436825", "16.90269982364078"),
    ("1", 5, "1e-6", "4.99999521105167", "20.34534914467922"),
    ("1", 20, "1e-3", "19.25352690069455", "50.988217931872"),
    ("1", 20, "1e-6", "19.99947389711616", "57.8735165739489"),
]
MIXED = [
    (("1", "0.5", "0.25", "0.125"), "1e-6", "1e-3", "1.867643759674205"),
    (("1", "0.5", "0.25", "0.125"), "1e-6", "1e-5", "1.874955846876473"),
    (("0.1", "0.2", "0.3"), "0", "1e-5", "0.5999396895118159"),
    (("0.1",) * 6 + ("1",), "0", "1e-3", "1.532424944268902"),
    (("0.3",) * 10, "1e-7", "1e-5", "2.997697088878455"),
]


def test_sequential_and_post_processing() -> None:
    total = theorems.sequential_composition([guarantee(0.1), guarantee(0.2, 1e-9), guarantee(0.3, 1e-9)])
    assert total == guarantee(0.6, 2e-9)


def test_parallel() -> None:
    charges = [guarantee(0.1, 1e-9), guarantee(0.4), guarantee(0.2), guarantee(0.3)]
    for parts, neighbors, epsilon in (
        (1, Neighbors.ADD_REMOVE, 0.4),
        (2, Neighbors.ADD_REMOVE, 0.7),
        (1, Neighbors.REPLACE_ONE, 0.7),
        (2, Neighbors.REPLACE_ONE, 1.0),
        (9, Neighbors.REPLACE_ONE, 1.0),
    ):
        found = theorems.parallel_composition(charges, parts_per_unit=parts, neighbors=neighbors)
        assert found == guarantee(epsilon, 1e-9)
    with pytest.raises(InvalidParameter, match="1 or more, got parts_per_unit="):
        theorems.parallel_composition(charges, parts_per_unit=0, neighbors=Neighbors.ADD_REMOVE)


@pytest.mark.parametrize(("epsilon", "delta", "size", "epsilon_of_all", "delta_of_all"), GROUP)
def test_groups_are_the_reference(epsilon: str, delta: str, size: int, epsilon_of_all: str, delta_of_all: str) -> None:
    found = theorems.group_privacy(guarantee(Fraction(epsilon), Fraction(delta)), size)
    assert found.epsilon == Fraction(epsilon_of_all)
    assert float(delta_of_all) * (1 - 1e-14) <= found.delta <= float(delta_of_all) * (1 + 1e-12)


def test_large_groups_have_no_guarantee() -> None:
    assert theorems.group_privacy(guarantee(1, 1e-9), 5000).delta == 1
    assert theorems.group_privacy(guarantee(1), 3) == guarantee(3)


@pytest.mark.parametrize(("epsilon", "times", "delta", "optimal", "advanced"), KOV)
def test_advanced_is_the_reference(epsilon: str, times: int, delta: str, optimal: str, advanced: str) -> None:
    found = theorems.advanced_composition(Fraction(epsilon), times, Fraction(delta))
    assert float(advanced) <= found <= float(advanced) * (1 + 1e-12)
    assert theorems.optimal_homogeneous_composition(Fraction(epsilon), times, Fraction(delta)) == pytest.approx(
        float(optimal), rel=1e-4
    )


@pytest.mark.parametrize(("epsilons", "each", "delta", "wanted"), MIXED)
def test_optimal_of_different_parameters(epsilons: tuple[str, ...], each: str, delta: str, wanted: str) -> None:
    charges = [guarantee(Fraction(epsilon), Fraction(each)) for epsilon in epsilons]
    found = theorems.optimal_composition(charges, Fraction(delta))
    assert float(wanted) * (1 - 1e-12) <= found <= float(wanted) * (1 + 1e-4)


def test_nothing_is_refused() -> None:
    for call in (
        lambda: theorems.optimal_composition([], 1e-6),
        lambda: theorems.advanced_composition(0.1, 0, 1e-6),
        lambda: theorems.group_privacy(guarantee(1), 0),
        lambda: guarantee(1, 1),
        lambda: guarantee(0),
        lambda: theorems.advanced_composition(0.1, 1, 0),
        lambda: theorems.sequential_composition([0.1, 0.2]),  # type: ignore[list-item]  # the refusal is the test
        lambda: theorems.optimal_composition([1], 1e-6),  # type: ignore[list-item]  # the refusal is the test
        lambda: theorems.parallel_composition([guarantee(1)], parts_per_unit=1, neighbors="both"),  # type: ignore[arg-type]  # as above
    ):
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()
    assert math.isfinite(theorems.advanced_composition(0.1, 10, 1e-6))
    assert theorems.advanced_composition(1e3, 10, 1e-6) == math.inf


def test_optimal_at_the_exact_delta_of_all() -> None:
    charges = [guarantee(1, 1e-3)] * 2
    whole = 1 - (1 - Fraction(1, 1000)) ** 2
    assert theorems.optimal_composition(charges, whole) == 2.0
    assert theorems.optimal_composition(charges, whole - Fraction(1, 10**40)) == math.inf
    assert theorems.optimal_composition(charges, 0.001999) == 2.0
    assert theorems.optimal_composition(charges, math.nextafter(0.001999, 0.0)) == math.inf
    assert 1.99 < theorems.optimal_composition(charges, math.nextafter(0.001999, 1.0)) <= 2.0
    # The sum of the deltas leaves 10**-6, more than composition needs.
    assert 1.99 < theorems.optimal_composition(charges, theorems.sequential_composition(charges).delta) < 2.0
    mixed = [guarantee(0.3, 0.25), guarantee(0.5), guarantee(0.2, Fraction(1, 7))]
    assert theorems.optimal_composition(mixed, 1 - Fraction(3, 4) * Fraction(6, 7)) == 1.0


@pytest.mark.parametrize(("epsilon", "times", "places"), [(Fraction(1, 1000), 60, 1), (Fraction(1, 10), 40, 2)])
def test_optimal_just_above_the_exact_delta(epsilon: Fraction, times: int, places: int) -> None:
    """Theorem 3.3 of Kairouz, Oh and Viswanath in 400 bits, where next to nothing is left above 1 - (1 - delta)^k."""
    each = Fraction(1, 1000)
    with ctx.workprec(400):
        e = real(epsilon)
        rest = (
            sum(
                (math.comb(times, n) * (((times - n) * e).exp() - ((times - 2 * places + n) * e).exp()))
                for n in range(places)
            )
            / (1 + e.exp()) ** times
        )
        exact = 1 - (1 - real(each)) ** times * (1 - rest)
        delta = Fraction(floors(exact * arb(2) ** 200)[0], 2**200)
    whole = 1 - (1 - each) ** times
    assert 0 < delta - whole < Fraction(1, 10**9)
    wanted = float((times - 2 * places) * epsilon)
    found = theorems.optimal_composition([guarantee(epsilon, each)] * times, delta)
    assert wanted <= found <= wanted * (1 + 1e-2)
    assert theorems.optimal_composition([guarantee(epsilon, each)] * times, whole) == float_up(times * epsilon)


def test_groups_of_what_has_no_epsilon() -> None:
    """delta (1 + e^epsilon + ...) is delta times their number at epsilon 0."""
    free = Guarantee(epsilon=Fraction(0), delta=Fraction(1, 10))
    assert theorems.group_privacy(free, 3) == Guarantee(epsilon=Fraction(0), delta=Fraction(3, 10))
    assert theorems.group_privacy(free, 11).delta == 1
    assert theorems.group_privacy(Guarantee(epsilon=Fraction(10**400), delta=Fraction(1, 10)), 3).delta == 1
    tiny = theorems.group_privacy(Guarantee(epsilon=Fraction(1, 10**400), delta=Fraction(1, 10)), 3)
    assert Fraction(3, 10) <= tiny.delta < Fraction(3, 10) + Fraction(1, 10**9)


def test_uses_without_number_are_refused() -> None:
    for call in (
        lambda: theorems.advanced_composition(0.1, 10**400, 1e-6),
        lambda: theorems.optimal_homogeneous_composition(0.1, 10**101, 1e-6),
        lambda: 10**60 * (10**60 * laplace_loss(1)),
    ):
        with pytest.raises(InvalidParameter, match="from 1e-100 to 1e100, got times="):
            call()

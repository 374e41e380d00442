from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import event_losses as losses
from discreet.accounting.composed_profile import Composition
from discreet.accounting.conversions import zcdp_epsilon
from discreet.accounting.privacy_loss import Loss
from discreet.errors import InvalidParameter
from discreet.exact.bisection import float_down, float_up

LAPLACE_RENYI = [
    ("0.5", "1.5", "1.4368091584146"),
    ("0.5", "16", "1.955906767850309"),
    ("1", "2", "0.6191236299985929"),
    ("1", "64", "0.9891221586809695"),
    ("2", "4", "0.3209265301787175"),
    ("10", "1.5", "0.007247485389328534"),
    ("10", "16", "0.05866450975741901"),
]
RESPONSE_RENYI = [
    ("0.1", "1.5", "0.00748441861604189"),
    ("0.1", "4", "0.01959646293729567"),
    ("0.1", "64", "0.08977153001662432"),
    ("1", "2", "0.7353256640555192"),
    ("1", "16", "0.9791158874987874"),
    ("3", "1.5", "2.907776667127977"),
    ("3", "4", "2.983804216394838"),
    ("3", "64", "2.999228772197242"),
]

# Half the support on which noise of density exp(-epsilon |x|) is (epsilon, delta)-private: Geng, Ding, Guo and Kumar.
TRUNCATED_LAPLACE = [
    ("0.1", "1e-5", "85.67799971925705"),
    ("0.1", "1e-8", "154.7536529251495"),
    ("0.5", "1e-6", "25.37922866164111"),
    ("1", "1e-5", "11.3611147784896"),
    ("1", "1e-8", "18.26885842964487"),
    ("2", "1e-6", "7.488475116285353"),
]
# The epsilon of an epsilon-private release that sees each person with probability q only.
SUBSAMPLED_PURE = [
    ("0.5", "0.001", "0.000648510942014811"),
    ("0.5", "0.5", "0.2809298036201614"),
    ("1", "0.01", "0.01703686323617655"),
    ("1", "0.1", "0.1585650787404291"),
    ("4", "0.1", "1.849999289399802"),
    ("4", "0.5", "3.325002747357864"),
]
SUBSAMPLED_GAUSSIAN_RENYI = [
    ("0.01", "1", 2, "0.0001718134220745479"),
    ("0.01", "1", 8, "0.0008936439076060318"),
    ("0.01", "1", 16, "3.087850783696245"),
    ("0.01", "1", 32, "11.24627593704807"),
    ("0.01", "2", 16, "0.0002376240196404602"),
    ("0.1", "4", 4, "0.001304895449924312"),
    ("0.1", "4", 32, "0.01272022344692974"),
    ("0.5", "1", 4, "1.150709787308726"),
    ("0.5", "1", 32, "15.28449323297041"),
]

ALL = {
    "laplace": losses.laplace_loss(1),
    "discrete_laplace": losses.discrete_laplace_loss(3, 2),
    "gaussian": losses.gaussian_loss(Fraction(3, 4)),
    "discrete_gaussian": losses.discrete_gaussian_loss(4, 1),
    "finite": losses.finite_loss([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]),
    "response": losses.randomized_response_loss(1, 5),
    "staircase": losses.staircase_loss(1, 2, 0.25),
    "pure": losses.pure_loss(0.8),
    "bounded_range": losses.bounded_range_loss(1.2),
    "sum": 3 * losses.laplace_loss(0.25) + losses.gaussian_loss(0.5),
}


@pytest.mark.parametrize("name", ALL)
def test_delta_falls_and_epsilon_inverts_it(name: str) -> None:
    loss = ALL[name]
    places = [0.0, 0.1, 0.25, 0.4]
    deltas = [loss.delta(place) for place in places]
    assert deltas == sorted(deltas, reverse=True)
    for delta in (0.3, 0.01, 1e-5):
        lower, upper = loss.epsilon_bounds(delta)
        assert lower <= upper
        assert loss.delta_bounds(upper).lower <= delta
        assert loss.delta_bounds(upper * (1 + 1e-6) + 1e-9).upper <= delta * (1 + 1e-4)


@pytest.mark.parametrize("name", ALL)
def test_draws_agree_with_the_law(name: str) -> None:
    """40,000 draws, forward; a mean of values in [0, 1] misses by 0.015 with probability below 3e-8."""
    loss, draws = Composition([(part.pair, part.times) for part in ALL[name].parts]), ALL[name].sample(40_000)
    assert abs(np.mean(np.maximum(1 - np.exp(0.21 - draws), 0)) - loss.delta(0.21).upper) < 0.015
    assert abs(np.mean(draws > 0.1234) - loss.tail(0.1234).upper) < 0.015
    assert ALL[name].cdf(0.1234) == 1 - ALL[name].tail(0.1234)


@pytest.mark.parametrize("name", ALL)
def test_moments_are_ordered(name: str) -> None:
    """Rényi divergences grow with the order, from the mean to pure epsilon, and stay below alpha rho."""
    loss = ALL[name]
    # A declared rho may be below what the mean of a merely dominating pair allows.
    mean = 0.0 if name == "bounded_range" else loss.mean * (1 - 1e-9)
    found = [mean, *(loss.renyi(alpha) for alpha in (1.01, 2, 8, 64)), loss.epsilon(0)]
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(found))
    assert all(loss.renyi(alpha) <= alpha * loss.rho * (1 + 1e-9) for alpha in (1.01, 2, 8, 64))


@pytest.mark.parametrize("name", ALL)
def test_tradeoff_is_a_lower_bound(name: str) -> None:
    loss = ALL[name]
    errors = [loss.tradeoff(level) for level in (0.0, 0.05, 0.3, 0.9, 1.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] <= 1e-9
    for level, error in zip((0.05, 0.3), errors[1:3], strict=True):
        assert error <= 1 - level
        assert error >= 1 - loss.delta(0.3) - math.exp(0.3) * level - 1e-6


def test_gaussian_tradeoff_is_the_closed_form() -> None:
    from scipy.special import ndtr, ndtri

    loss = losses.gaussian_loss(1)
    for level in (0.01, 0.2, 0.5):
        assert loss.tradeoff(level) == pytest.approx(float(ndtr(ndtri(1 - level) - 1)), abs=1e-6)


@pytest.mark.parametrize(("scale", "alpha", "divergence"), LAPLACE_RENYI)
def test_laplace_renyi_is_the_reference(scale: str, alpha: str, divergence: str) -> None:
    found = losses.laplace_loss(1 / Fraction(scale)).renyi(Fraction(alpha))
    assert float(divergence) <= found <= float(divergence) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "alpha", "divergence"), RESPONSE_RENYI)
def test_response_renyi_is_the_reference(epsilon: str, alpha: str, divergence: str) -> None:
    found = losses.randomized_response_loss(Fraction(epsilon)).renyi(Fraction(alpha))
    assert float(divergence) <= found <= float(divergence) * (1 + 1e-9)


@pytest.mark.parametrize("alpha", [2, 25, 30, 50, 128])
def test_discrete_gaussian_renyi_is_no_less_than_its_law(alpha: int) -> None:
    """At an integer shift and an integer order the divergence is alpha rho, to which a table of its middle adds up
    no longer where the order is large.
    """
    for sigma2 in (1, 4):
        rho = Fraction(1, 2 * sigma2)
        found = losses.discrete_gaussian_loss(sigma2, 1).renyi(alpha)
        assert alpha * rho <= Fraction(found) <= alpha * rho * (1 + Fraction(1, 2**38))


@pytest.mark.parametrize(
    ("epsilon", "alpha", "divergence"),
    [(1e-6, 2, 9.99999666666e-13), (1, 1.0000001, 0.36787947404), (0.001, 2, 9.9966642e-07)],
)
def test_small_renyi_divergences_are_rounded_up(epsilon: float, alpha: float, divergence: float) -> None:
    found = losses.laplace_loss(epsilon).renyi(alpha)
    assert divergence <= found <= divergence * (1 + 1e-6)


def test_a_finite_table_is_as_pure_as_its_largest_ratio() -> None:
    loss = losses.finite_loss([Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)])
    assert Decimal(loss.epsilon(0)) >= Decimal(2).ln()
    assert loss.tail(math.log(2) * (1 - 2**-53)) >= 2 / 3
    digits = 10**900 + 7
    most = Fraction(3 * digits, 4 * digits + 1)
    near = losses.finite_loss([most, 1 - most], [0.25, 0.75])
    assert math.log(3) <= near.epsilon(0) <= math.log(3) * (1 + 1e-12)


def truncated_laplace(epsilon: float, half: float) -> Loss:
    """Its table at a shift of 1: the end that the neighbor never gives, losses of +-epsilon, and cells between."""
    whole = -2 * math.expm1(-epsilon * half) / epsilon
    end = math.exp(-epsilon * half) * math.expm1(epsilon) / epsilon / whole
    far = math.exp(-epsilon) * -math.expm1(-epsilon * (half - 1)) / epsilon / whole
    cells = 64
    borders = np.exp(-epsilon * np.arange(cells + 1) / cells) / epsilon / whole
    between = [float(x) for x in borders[:-1] - borders[1:]]
    near = 1 - end - far - sum(between)
    return finite([end, near, *between, far, 0.0])


def finite(first: list[float]) -> Loss:
    """A law, and the same with its outputs in the opposite order."""
    return losses.finite_loss(first, first[::-1])


@pytest.mark.parametrize(("epsilon", "delta", "half"), TRUNCATED_LAPLACE)
def test_truncated_laplace_is_the_reference(epsilon: str, delta: str, half: str) -> None:
    found = truncated_laplace(float(epsilon), float(half))
    assert found.delta(Fraction(epsilon) * (1 + Fraction(1, 10**9))) == pytest.approx(float(delta), rel=1e-9)
    assert found.epsilon(Fraction(delta) * (1 + Fraction(1, 10**6))) == pytest.approx(float(epsilon), rel=1e-9)
    assert truncated_laplace(float(epsilon), float(half) * 0.999).epsilon(Fraction(delta)) == math.inf


@pytest.mark.parametrize(("epsilon", "part", "wanted"), SUBSAMPLED_PURE)
def test_subsampling_a_response_is_the_reference(epsilon: str, part: str, wanted: str) -> None:
    """log(1 + q (e^epsilon - 1)): with a person seen with probability q, against without (Balle, Barthe, Gaboardi)."""
    truth, q = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon))), float(part)
    seen, unseen = [truth, 1 - truth], [1 - truth, truth]
    mixed = [q * a + (1 - q) * b for a, b in zip(seen, unseen, strict=True)]
    assert losses.finite_loss(mixed, unseen).epsilon(0) == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize(("part", "sigma", "alpha", "divergence"), SUBSAMPLED_GAUSSIAN_RENYI)
def test_subsampling_a_gaussian_is_the_reference(part: str, sigma: str, alpha: int, divergence: str) -> None:
    """A sum over a grid of a 32nd of sigma, whose error for such smooth densities is below every rounding."""
    q, deviation = float(part), float(sigma)
    # Only where neither density is below the smallest float; what is left out is below 1e-12 at every order.
    x = np.arange(-9 * 32, 37 * 32) / 32.0
    unseen = np.exp(-(x**2) / 2)
    seen = np.exp(-((x - 1 / deviation) ** 2) / 2)
    mixed = q * seen / seen.sum() + (1 - q) * unseen / unseen.sum()
    found = losses.finite_loss([float(p) for p in mixed], [float(p) for p in unseen / unseen.sum()])
    assert found.renyi(alpha) == pytest.approx(float(divergence), rel=1e-7)


def test_the_worse_direction_is_returned() -> None:
    there = losses.finite_loss([0.9, 0.1, 0], [0.5, 0.4, 0.1])
    back = losses.finite_loss([0.5, 0.4, 0.1], [0.9, 0.1, 0])
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        assert there.delta(epsilon) == pytest.approx(back.delta(epsilon), rel=1e-12)
    assert there.delta(3) >= 0.1
    assert there.epsilon(0.05) == math.inf
    assert there.renyi(2) == math.inf
    assert there.epsilon(0) == math.inf


def test_rho_adds_up() -> None:
    assert (5 * losses.gaussian_loss(1)).rho == 2.5
    assert (4 * losses.bounded_range_loss(1)).rho == 0.5
    single = losses.laplace_loss(1).rho
    assert single == pytest.approx(math.exp(-1), rel=1e-4)
    assert (3 * losses.laplace_loss(1)).rho == pytest.approx(3 * single, rel=1e-9)
    assert (losses.gaussian_loss(1) + losses.approximate_loss(1, 1e-6)).rho == math.inf


def test_mu_is_for_gaussians_alone() -> None:
    assert (losses.gaussian_loss(3) + losses.gaussian_loss(4)).mu == 5.0
    with pytest.raises(InvalidParameter, match="rho instead"):
        _ = ALL["sum"].mu
    with pytest.raises(InvalidParameter):
        _ = ALL["discrete_gaussian"].mu


def test_sums_are_sums() -> None:
    parts = [losses.laplace_loss(Fraction(n, 100)) for n in range(1, 30)]
    together = losses.composed(parts)
    assert reduce(operator.add, parts).epsilon(1e-6) == together.epsilon(1e-6)
    assert sum(parts).delta(1) == together.delta(1)  # type: ignore[union-attr]  # `sum` may also give its start, 0
    assert (2 * losses.laplace_loss(1)).epsilon(0) == 2.0
    assert repr(2 * losses.laplace_loss(1) + losses.gaussian_loss(1)) == "Loss(2 x Laplace + 1 x Gaussian)"
    assert ALL["sum"].label == "exact"
    assert (ALL["sum"] + ALL["pure"]).label == "upper"


@given(st.lists(st.sampled_from(sorted(ALL)), min_size=2, max_size=4), st.floats(0.0, 3.0))
@settings(max_examples=6, deadline=None)
def test_composition_is_between_its_parts_and_their_sum(names: list[str], epsilon: float) -> None:
    parts = [ALL[name] for name in names]
    whole = losses.composed(parts)
    lower, upper = whole.delta_bounds(epsilon)
    assert lower <= upper
    assert upper >= max(part.delta_bounds(epsilon).lower for part in parts)
    assert whole.epsilon_bounds(0.01).lower <= sum(part.epsilon(0.01 / len(parts)) for part in parts) + 1e-9


def test_epsilon_is_a_decimal() -> None:
    assert losses.laplace_loss(0.1).epsilon(0) == 0.1
    assert losses.pure_loss(0.1).delta(0.1) == 0.0


REFUSED: list[Callable[[], object]] = [
    lambda: losses.laplace_loss(0),
    lambda: losses.laplace_loss(float("nan")),
    lambda: losses.discrete_laplace_loss(0, 1),
    lambda: losses.discrete_laplace_loss(1.5, 1),  # type: ignore[arg-type]  # the refusal is the test
    lambda: losses.discrete_gaussian_loss(10**30, 1),
    lambda: losses.finite_loss([0.5, 0.4], [0.5, 0.5]),
    lambda: losses.finite_loss([Fraction(1, 2), Fraction(1, 3)], [0.5, 0.5]),
    lambda: losses.finite_loss([1.0], [0.5, 0.5]),
    lambda: losses.finite_loss(None, [0.5, 0.5]),  # type: ignore[arg-type]  # the refusal is the test
    lambda: losses.finite_loss([1.5, -0.5], [0.5, 0.5]),
    lambda: losses.randomized_response_loss(1, 1),
    lambda: losses.staircase_loss(1, 1, 1.5),
    lambda: losses.approximate_loss(1, 1),
    lambda: losses.bounded_range_loss(-1),
    lambda: losses.gaussian_loss(float("inf")),
    lambda: ALL["laplace"].epsilon(1),
    lambda: ALL["laplace"].epsilon(-0.1),
    lambda: ALL["laplace"].delta(float("nan")),
    lambda: ALL["laplace"].renyi(1),
    lambda: ALL["laplace"].tradeoff(1.1),
    lambda: ALL["laplace"].sample(10**12),
    lambda: 0 * ALL["laplace"],
    lambda: ALL["laplace"] * 1.5,  # type: ignore[operator]  # the refusal is the test
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_improper_values_are_refused(number: int) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        REFUSED[number]()


def test_losses_add_to_losses_only() -> None:
    with pytest.raises(TypeError):
        _ = ALL["laplace"] + 1  # type: ignore[operator]  # the refusal is the test
    with pytest.raises(TypeError):
        _ = 1 + ALL["laplace"]


def test_plot_shows_the_curves() -> None:
    figure = ALL["laplace"].plot()
    profile, tradeoff, histogram = figure.axes
    epsilons, deltas = profile.lines[0].get_xdata(), profile.lines[0].get_ydata()
    assert [float(d) for d in np.asarray(deltas)[:3]] == [
        ALL["laplace"].delta(float(e)) for e in np.asarray(epsilons)[:3]
    ]
    assert len(tradeoff.lines) == 2
    assert histogram.patches
    assert isinstance(ALL["laplace"], Loss)


def test_rho_helps_a_bounded_range() -> None:
    """A hundred exponential mechanisms, declared together: the pair alone gives 1.07, their rho less than 1."""
    hundred = 100 * losses.bounded_range_loss(0.0441)
    assert hundred.epsilon(1e-6) == zcdp_epsilon(hundred.rho, 1e-6) <= 1
    assert hundred.delta(1) <= 1e-6 * (1 + 1e-9)
    lower, upper = hundred.epsilon_bounds(1e-6)
    assert lower <= upper
    one = losses.bounded_range_loss(2)
    assert one.epsilon(1e-6) < zcdp_epsilon(one.rho, 1e-6)


def test_tails_of_large_gaussian_losses_are_rounded_up() -> None:
    """Where the loss and its mean are nearly equal; computed with 400 bits."""
    found = losses.gaussian_loss(10**8).tail(5000000323456787)
    assert 6.091348101659535e-4 <= found <= 6.0913481016602e-4
    assert losses.gaussian_loss(1).tail(1e308) <= 1e-300
    assert losses.gaussian_loss(1).cdf(20) == math.nextafter(1, 0)


@pytest.mark.parametrize(
    ("loss", "largest"),
    [
        (losses.laplace_loss(1), 1),
        (losses.discrete_laplace_loss(1, 1), 1),
        (losses.discrete_laplace_loss(3, 7), Fraction(3, 7)),
        (losses.randomized_response_loss(1), 1),
        (2 * losses.randomized_response_loss(Fraction(1, 3)), Fraction(2, 3)),
        (losses.approximate_loss(1, Fraction(1, 1000)), 1),
    ],
)
def test_the_tail_is_strict(loss: Loss, largest: float | Fraction) -> None:
    """At the largest loss, which these laws take with positive probability, only what is infinite is left."""
    leaked = float(loss.delta(100))
    assert loss.tail(largest) == leaked
    assert loss.tail(Fraction(largest) - Fraction(1, 10**6)) > 0.3 + leaked
    assert loss.cdf(largest) >= 1 - leaked - 1e-15


def test_a_guarantee_has_its_own_epsilon_at_its_own_delta() -> None:
    one = losses.approximate_loss(0.1, 1e-6)
    assert one.epsilon_bounds(1e-6) == (float_down(Fraction(1, 10)), 0.1)
    assert one.delta_bounds(0.1) == (float_down(Fraction(1, 10**6)), float_up(Fraction(1, 10**6)))
    assert one.delta(0.1) == one.delta(5) < one.delta(0.0999999)
    for below in (math.nextafter(1e-6, 0.0), Fraction(1, 10**6) - Fraction(1, 10**900), 0):
        assert one.epsilon_bounds(below) == (math.inf, math.inf)
    for above in (math.nextafter(1e-6, 1.0), Fraction(1, 10**6) + Fraction(1, 10**900)):
        lower, upper = one.epsilon_bounds(above)
        assert lower <= upper <= 0.1


def test_several_guarantees_have_the_sum_of_epsilons_at_their_delta() -> None:
    one = losses.approximate_loss(0.1, 1e-6)
    # Floats mean their decimals, and these add up exactly: 1 - (1 - 10**-6)**3 is 2.999997000001e-06.
    assert (3 * one).epsilon(2.999997000001e-06) == float_up(Fraction(3, 10))
    assert (3 * one).epsilon(math.nextafter(2.999997000001e-06, 0.0)) == math.inf
    mixed = one + losses.laplace_loss(0.2) + losses.approximate_loss(1, Fraction(1, 3))
    whole = 1 - (1 - Fraction(1, 10**6)) * Fraction(2, 3)
    assert mixed.epsilon_bounds(whole) == (float_down(Fraction(13, 10)), float_up(Fraction(13, 10)))
    assert mixed.epsilon(whole - Fraction(1, 10**900)) == math.inf
    assert mixed.epsilon(whole + Fraction(1, 10**30)) <= float_up(Fraction(13, 10))
    assert (mixed + losses.gaussian_loss(1)).epsilon(whole) == math.inf
    nearly = losses.approximate_loss(0.5, 1 - Fraction(1, 10**30))
    assert nearly.epsilon(1 - Fraction(1, 10**30)) == 0.5
    assert nearly.epsilon(1 - Fraction(2, 10**30)) == math.inf

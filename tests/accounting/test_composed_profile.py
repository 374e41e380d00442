from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import composed_profile, pair_grouping, tabulated_pairs
from discreet.accounting.composed_profile import Composition
from discreet.accounting.contour_integral import Bounds, ContourIntegral, Values
from discreet.accounting.dominating_pairs import Atoms, BoundedRange, DominatingPair, GaussianPair, LaplacePair, Reals
from discreet.accounting.pair_zcdp import renyi_of
from discreet.exact.bisection import float_down, float_up
from discreet.noise.certified_comparison import real

RR_DELTA = [
    ("1", 2, "1", "0.3378347121470412"),
    ("1", 2, "0", "0.4621171572600098"),
    ("1", 5, "2", "0.4412114382795494"),
    ("1", 5, "3", "0.1805546286027835"),
    ("0.1", 100, "1", "0.1256883902406364"),
    ("0.1", 100, "2", "0.02014017842819153"),
    ("0.5", 30, "5", "0.1977352998710457"),
]
LAPLACE_DELTA = [
    ("1", 2, "0", "0.4481808382428365"),
    ("1", 5, "0", "0.6786340239421775"),
    ("1", 5, "2", "0.3139038109498476"),
    ("0.5", 10, "0.5", "0.4240787533765149"),
    ("0.5", 10, "3", "0.03185911342511521"),
    ("0.1", 30, "0", "0.2124328535240753"),
    ("0.1", 30, "2", "1.594160852529771e-5"),
    ("1", 20, "1", "0.9179136640150249"),
]
LAPLACE_EPS = [
    ("1", 2, "1e-3", "1.995999997335993"),
    ("1", 2, "1e-6", "1.999996"),
    ("1", 5, "1e-5", "4.999680076761794"),
    ("0.5", 10, "1e-3", "4.521308127047462"),
    ("0.5", 10, "1e-6", "4.99897808944722"),
    ("0.1", 10, "1e-5", "0.9899623111506278"),
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


def surely(bounds: Bounds, truth: float, tolerance: float) -> bool:
    """The truth is within the ends, and the ends within the tolerance of it."""
    held = bounds.lower <= truth * (1 + 1e-13) and truth * (1 - 1e-13) <= bounds.upper
    return held and bounds.upper - bounds.lower <= tolerance * truth


@pytest.mark.parametrize(("epsilon", "times", "place", "delta"), RR_DELTA)
def test_responses_are_the_reference(epsilon: str, times: int, place: str, delta: str) -> None:
    # Every place here is an atom of the composed loss, where a mollifier costs most.
    whole = Composition([(tabulated_pairs.response(float(epsilon), 2), times)])
    assert surely(whole.delta(float(place)), float(delta), 4e-3)


@pytest.mark.parametrize(("epsilon", "times", "place", "delta"), LAPLACE_DELTA)
def test_laplace_is_the_reference(epsilon: str, times: int, place: str, delta: str) -> None:
    assert surely(Composition([(LaplacePair(float(epsilon)), times)]).delta(float(place)), float(delta), 1e-3)


@pytest.mark.parametrize(("epsilon", "times", "delta", "wanted"), LAPLACE_EPS)
def test_laplace_inverse_is_the_reference(epsilon: str, times: int, delta: str, wanted: str) -> None:
    found = Composition([(LaplacePair(float(epsilon)), times)]).epsilon(float(delta))
    assert surely(found, float(wanted), 1e-5)


@pytest.mark.parametrize(("epsilon", "times", "delta", "wanted", "_advanced"), KOV)
def test_optimal_is_the_reference(epsilon: str, times: int, delta: str, wanted: str, _advanced: str) -> None:
    found = Composition([(tabulated_pairs.two_point(float(epsilon)), times)]).epsilon(float(delta))
    assert surely(found, float(wanted), 1e-4)


def test_numbers_agree_with_the_closed_gaussian() -> None:
    closed = Composition([(GaussianPair(Fraction(1, 100)), 150)])
    numeric = Composition([(GaussianPair(Fraction(1, 100)), 150), (LaplacePair(1e-13), 1)])
    for epsilon in (-2.0, 0.0, 0.5, 3.0, 9.0):
        exact = closed.delta(epsilon).upper
        assert numeric.delta(epsilon).upper >= exact * (1 - 1e-9)
        assert numeric.delta(epsilon).lower <= exact * (1 + 1e-9)
        assert numeric.delta(epsilon).upper <= exact * (1 + 1e-6)


def product(pairs: list[Atoms]) -> Atoms:
    """All outputs of all, one by one."""
    first, second = np.ones(1), np.ones(1)
    for pair in pairs:
        mine = np.append(pair.first, [float(pair.infinite), 0.0])
        other = np.append(pair.second, [0.0, float(pair.infinite_back)])
        first, second = np.outer(first, mine).ravel(), np.outer(second, other).ravel()
    return tabulated_pairs.finite([float(x) for x in first], [float(x) for x in second])


weights = st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(lambda w: sum(w) > 0)


@given(st.lists(st.tuples(weights, weights), min_size=2, max_size=4), st.floats(-1.5, 3.0))
@settings(max_examples=12, deadline=None)
def test_bounds_hold_for_random_tables(rows: list[tuple[list[int], list[int]]], epsilon: float) -> None:
    pairs = [tabulated_pairs.finite([x / sum(p) for x in p], [x / sum(q) for x in q]) for p, q in rows]
    whole = product(pairs)
    found = Composition([(pair, 1) for pair in pairs]).delta(epsilon)
    low, high = Composition([(whole, 1)]).delta(epsilon)
    assert found.lower <= high + 1e-12
    assert low - 1e-12 <= found.upper
    assert found.upper - found.lower <= 0.01


@pytest.mark.parametrize("work", [1e3, 1e6])
def test_bounds_hold_at_an_atom(work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few frequencies need a wide mollifier, whose cost the lower end must bear."""
    monkeypatch.setattr(composed_profile, "FEWEST", 64)
    whole = Composition([(tabulated_pairs.response(1.0, 2), 4)], most_work=work)
    table = product([tabulated_pairs.response(1.0, 2)] * 4)
    for epsilon in (0.0, 1.0, 2.0, 2.0 + 1e-6, 2.5):
        low, high = table.delta_bounds(epsilon)
        found = whole.delta(epsilon)
        assert found.lower <= high
        assert low <= found.upper


def test_coarse_sums_stay_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composed_profile, "PERIOD", 1.5)
    whole = Composition([(LaplacePair(1.0), 5)])
    for place, delta in ((0.0, 0.6786340239421775), (2.0, 0.3139038109498476)):
        found = whole.delta(place)
        assert found.lower <= delta <= found.upper


@given(st.floats(1e-4, 0.5), st.floats(-12.0, 12.0))
@settings(deadline=None)
def test_the_bump_is_above_the_mollifier(mu: float, t: float) -> None:
    """g(s) of the card, against its bound."""
    s = mu * t
    gap = GaussianPair(Fraction(mu) ** 2).delta_bounds(s)[1] - max(1.0 - math.exp(s), 0.0)
    bump = 1.5 * mu / math.sqrt(2.0 * math.pi) * math.exp(-(t**2) / (2.0 * 1.25**2))
    assert gap <= bump + 1e-15


KINDS: list[DominatingPair] = [
    LaplacePair(0.3),
    BoundedRange(0.8),
    GaussianPair(Fraction(1, 25)),
    tabulated_pairs.response(0.5, 3),
    tabulated_pairs.discrete_laplace(2, Fraction(5)),
    tabulated_pairs.discrete_gaussian(Fraction(30), 1),
    tabulated_pairs.two_point(0.2, 1e-9),
]


@pytest.mark.long
@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(KINDS, 2)))
def test_mixtures_against_draws(one: DominatingPair, other: DominatingPair) -> None:
    """A stratified sum over 400 x 400 quantiles; its error is far below the tolerance."""
    u: Reals = (np.arange(400, dtype=np.float64) + 0.5) / 400.0
    loss = np.add.outer(one.quantile(u), other.quantile(u))
    whole = Composition([(one, 1), (other, 1)])
    for epsilon in (-0.3, 0.1, 0.4):
        estimate = float(np.mean(np.maximum(1.0 - np.exp(epsilon - loss), 0.0)))
        found = whole.delta(epsilon)
        assert found.lower <= found.upper
        assert abs(found.upper - estimate) < 4e-3
        assert found.upper - found.lower < 1e-3
        tail = whole.tail(epsilon + 0.0123)
        assert tail.lower - 0.01 <= float(np.mean(loss > epsilon + 0.0123)) <= tail.upper + 0.01


def test_thousands_of_different_mechanisms() -> None:
    reaches = np.linspace(0.005, 0.05, 400)
    mixed: list[tuple[DominatingPair, int]] = [(LaplacePair(float(x)), 1) for x in reaches]
    mixed += [(GaussianPair(Fraction(float(x)) ** 2), 1) for x in reaches]
    found = Composition(mixed).epsilon(1e-6)
    assert found.upper - found.lower <= 1e-6 * found.upper
    alone = Composition(mixed[:400]).epsilon(1e-6)
    assert alone.upper - alone.lower <= 1e-4 * alone.upper
    assert alone.upper < found.lower


def test_certain_losses_and_limits() -> None:
    pure = Composition([(LaplacePair(0.5), 2)])
    assert pure.delta(1.0001) == (0.0, 0.0)
    assert pure.tail(2.0) == (0.0, 0.0)
    assert pure.tail(-2.0) == (1.0, 1.0)
    leaky = Composition([(tabulated_pairs.two_point(0.5, 1e-3), 3)])
    assert leaky.epsilon(1e-3) == (math.inf, math.inf)
    assert leaky.delta(5.0).upper == pytest.approx(1 - (1 - 1e-3) ** 3)
    assert renyi_of(tabulated_pairs.two_point(0.5, 1e-3), 2.0) == math.inf
    assert Composition([(GaussianPair(Fraction(1, 10**6)), 1), (LaplacePair(1e-4), 1)]).epsilon(0.5) == (0.0, 0.0)


MASSES = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 7)]
LITTLE = Fraction(1, 10**40)


def test_infinite_losses_are_exact() -> None:
    """P(infinite) = T: below it nothing helps, at it the finite losses decide, above it what is left is theirs."""
    parts: list[tuple[DominatingPair, int]] = [
        (tabulated_pairs.two_point(1.0, mass), number) for number, mass in enumerate(MASSES, 1)
    ]
    whole, exact = Composition(parts), 1 - Fraction(1, 2) * Fraction(2, 3) ** 2 * Fraction(6, 7) ** 3
    assert whole.sure == whole.infinite == exact
    assert whole.delta(6.5) == (float_down(exact), float_up(exact))
    for delta in (exact - LITTLE, math.nextafter(float_down(exact), 0.0), Fraction(0)):
        assert whole.epsilon(delta) == (math.inf, math.inf)
    lower, upper = whole.epsilon(exact)
    assert lower <= upper == 6.0
    for delta in (exact + LITTLE, math.nextafter(float_up(exact), 1.0)):
        lower, upper = whole.epsilon(delta)
        assert 5.9 < lower < upper <= 6.0
    with_noise = Composition([*parts, (GaussianPair(Fraction(1)), 1)])
    assert with_noise.epsilon(exact) == (math.inf, math.inf)
    lower, upper = with_noise.epsilon(exact + LITTLE)
    assert 6.0 < lower < upper < 100.0
    assert upper - lower <= 1e-9 * upper


def test_many_infinite_losses_are_enclosed() -> None:
    """A million and more: their fraction is cut to a thousand digits, on both sides."""
    parts: list[tuple[DominatingPair, int]] = [
        (tabulated_pairs.two_point(0.01, Fraction(1, n)), 10**5) for n in range(10**9, 10**9 + 20)
    ]
    whole = Composition(parts)
    assert whole.sure < whole.infinite < whole.sure + Fraction(1, 10**900)
    with ctx.workprec(5000):
        left = arb(1)
        for pair, count in parts:
            left *= real(1 - pair.infinite) ** count
        assert bool(real(whole.sure) < 1 - left)
        assert bool(1 - left < real(whole.infinite))
    assert whole.epsilon(whole.sure - Fraction(1, 10**1000)) == (math.inf, math.inf)
    assert whole.epsilon(whole.sure)[1] == math.inf


def test_what_was_cut_off_may_be_finite() -> None:
    cut = tabulated_pairs.discrete_gaussian(Fraction(9), 1)
    whole = Composition([(cut, 3), (tabulated_pairs.two_point(0.5, Fraction(1, 5)), 1)])
    assert whole.sure == Fraction(1, 5) < whole.infinite == 1 - Fraction(4, 5) * (1 - cut.infinite) ** 3
    assert whole.epsilon(whole.sure - LITTLE) == (math.inf, math.inf)
    assert 7.0 < whole.epsilon(whole.sure).lower < math.inf == whole.epsilon(whole.sure).upper
    assert whole.epsilon((whole.sure + whole.infinite) / 2) == (0.0, math.inf)
    assert whole.epsilon(whole.infinite).upper == whole.pure


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(49, 10), Fraction(22, 7)])
def test_the_largest_loss_of_whole_steps_is_enclosed(scale: Fraction) -> None:
    for steps in (1, 7, 50, 5000):
        found = Composition([(tabulated_pairs.discrete_laplace(steps, scale), 3)]).epsilon(0)
        assert Fraction(found.lower) <= 3 * steps / scale <= Fraction(found.upper)


@pytest.mark.parametrize("kind", [LaplacePair, BoundedRange])
def test_nearby_losses_are_enclosed(monkeypatch: pytest.MonkeyPatch, kind: type[LaplacePair | BoundedRange]) -> None:
    parts = [(kind(float(epsilon)), 1 + number % 3) for number, epsilon in enumerate(np.geomspace(0.01, 0.1, 300))]
    mixed: list[tuple[DominatingPair, int]] = [*parts, (GaussianPair(Fraction(1, 4)), 2)]
    whole = Composition(mixed)
    epsilon, delta = whole.epsilon(1e-6), whole.delta(3.0)
    monkeypatch.setattr(pair_grouping, "MOST_KINDS", 100)
    coarse = Composition(mixed)
    near = coarse.epsilon(1e-6)
    assert near.lower < epsilon.lower <= epsilon.upper < near.upper < 1.04 * near.lower
    near = coarse.delta(3.0)
    assert near.lower < delta.lower <= delta.upper < near.upper


def test_very_many_losses_are_counted_together() -> None:
    found = pair_grouping.Nearby.of([(LaplacePair(float(epsilon)), 1) for epsilon in np.linspace(0.001, 0.01, 20_000)])
    assert found is not None
    assert len(found.below) == len(found.above) <= pair_grouping.MOST_KINDS
    assert sum(count for _, count in found.above) == 20_000
    assert pair_grouping.Nearby.of([(LaplacePair(0.5), 20_000)] * 3) is None


def test_not_a_number_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> ContourIntegral:
        z = np.array([1.0, 1.0 + 1.0j])
        values = Values(z, np.ones(2), np.array([1.0, complex(math.nan, 0.0)]), np.zeros(2), 0.0)
        return ContourIntegral(values, (0.0, 0.0), mollifier=0.1, period=100.0)

    assert unknown().delta(0.5) == unknown().tail(0.5) == (0.0, 1.0)
    monkeypatch.setattr(Composition, "_contour", unknown)
    whole = Composition([(LaplacePair(0.5), 4)])
    lower, upper = whole.delta(0.5)
    assert lower == 0.0
    assert upper == pytest.approx(-math.expm1(0.5 - whole.top), rel=1e-12)  # by its top alone
    assert whole.epsilon(1e-6) == (0.0, 2.0)


def test_a_steep_line_knows_nothing() -> None:
    """Where rounding may change a size by more than itself, less than nothing must not become something."""
    values = Values(np.array([1e17 + 0j]), np.ones(1), np.zeros(1, dtype=np.complex128), np.full(1, 0.01), 0.0)
    line = ContourIntegral(values, (1e17, 2e17), mollifier=0.0, period=1e-14)
    assert line.delta(1.0) == line.tail(1.0) == (0.0, 1.0)


def test_errors_of_moments_are_within_their_bounds() -> None:
    """The promise to `line`, in 200 bits: long tables, short ones and other kinds together."""
    law = np.full(3000, 2.0**-50)
    law[0] = 1.0 - 2999 * 2.0**-50
    long = Atoms(losses=np.linspace(-1e-2, 2e-2, law.size), first=law, second=law)
    short = tabulated_pairs.two_point(0.3, 0.25)
    whole = Composition(
        [(long, 40), (short, 3), (LaplacePair(0.25), 1), (LaplacePair(0.5), 7), (GaussianPair(Fraction(1, 16)), 2)]
    )
    z = 1.5 + 1j * np.array([0.0, 1.0, 30.0])
    log_real = float(whole._log_moment(z[:1])[0].real)
    moments, errors = whole._moments(z, log_real)
    with ctx.workprec(200):
        for at, moment, error in zip(z.tolist(), moments.tolist(), errors.tolist(), strict=True):
            exact = ((acb(at) ** 2 + acb(at)) / 16 - arb(log_real)).exp()
            for pair, count in whole.others:
                exact *= moment_of(pair, acb(at)) ** count
            off = abs(acb(moment) - exact)
            assert bool(off <= arb(error))
            assert error <= 1e-10


def moment_of(pair: DominatingPair, z: acb) -> acb:
    if isinstance(pair, Atoms):
        both = zip(pair.losses.tolist(), pair.first.tolist(), strict=True)
        return sum(((z * arb(loss)).exp() * arb(mass) for loss, mass in both), acb(0))
    assert isinstance(pair, LaplacePair)
    decay = (-(1 + 2 * z) * arb(pair.epsilon)).exp()
    return (z * arb(pair.epsilon)).exp() * (1 + decay + (1 - decay) / (1 + 2 * z)) / 2

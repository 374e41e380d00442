from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from discreet.accounting import event_losses as losses
from discreet.accounting import tabulated_pairs
from discreet.accounting.composed_profile import Composition
from discreet.accounting.dominating_pairs import Atoms, LaplacePair
from discreet.accounting.event_losses import finite_loss
from discreet.accounting.finite_mechanism_check import check
from discreet.noise.certified_comparison import real

DISCRETE_GAUSSIAN = [
    ("0.25", "0.05", 1, "0.7810993301175884"),
    ("0.25", "4", 1, "0.09230744739171303"),
    ("0.5", "2", 1, "0.1410726373670318"),
    ("1", "1", 1, "0.1413513394056219"),
    ("2", "0.5", 1, "0.1293566930915506"),
    ("4", "0.1", 1, "0.1573749626351453"),
    ("9", "0.05", 1, "0.1107542466302876"),
    ("9", "4", 1, "4.061439837387287e-34"),
    ("25", "2", 1, "4.532482255800752e-25"),
    ("100", "1", 1, "1.279240856716094e-25"),
    ("100", "1", 10, "0.1266433620748027"),
]

ALL = {
    "finite": tabulated_pairs.finite([0.5, 0.25, 0.25], [0.25, 0.25, 0.5]),
    "two_point": tabulated_pairs.two_point(1.0, 0.01),
    "binary": tabulated_pairs.response(1.0, 2),
    "response": tabulated_pairs.response(0.3, 7),
    "staircase": tabulated_pairs.staircase(2.0, 0.3),
    "laplace": tabulated_pairs.discrete_laplace(3, Fraction(2)),
    "chorded": tabulated_pairs.discrete_laplace(50_000, Fraction(40_000)),
    "gaussian": tabulated_pairs.discrete_gaussian(Fraction(5), 2),
}


@pytest.mark.parametrize("name", ALL)
def test_tables_are_laws(name: str) -> None:
    table = ALL[name]
    assert math.isclose(table.first.sum() + float(table.infinite), 1.0, rel_tol=1e-12)
    assert math.isclose(table.second.sum() + float(table.infinite_back), 1.0, rel_tol=1e-12)
    assert np.all(np.diff(table.losses) >= 0.0)
    solid = table.first > 1e-250
    assert np.allclose(np.log(table.first[solid] / table.second[solid]), table.losses[solid], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("sigma2", "epsilon", "sensitivity", "delta"), DISCRETE_GAUSSIAN)
def test_discrete_gaussian_is_the_reference(sigma2: str, epsilon: str, sensitivity: int, delta: str) -> None:
    lower, upper = tabulated_pairs.discrete_gaussian(Fraction(sigma2), sensitivity).delta_bounds(float(epsilon))
    assert lower <= float(delta) * (1 + 1e-13)
    assert float(delta) * (1 - 1e-13) <= upper <= float(delta) * (1 + 1e-9)


def test_discrete_gaussian_far_out() -> None:
    """Against the definition in 200 bits, at a delta of 1e-59."""
    variance, shift = 1000, 1
    with ctx.workprec(200):
        masses = {x: (-(arb(x) ** 2) / (2 * variance)).exp() for x in range(-1500, 1502)}
        weight = arb(1) / 2
        terms = [masses[x] - weight.exp() * masses[x - shift] for x in range(-1499, 1502)]
        delta = float(sum((term for term in terms if term > 0), arb(0)) / sum(masses.values(), arb(0)))
    lower, upper = tabulated_pairs.discrete_gaussian(Fraction(variance), shift).delta_bounds(0.5)
    assert lower <= delta <= upper <= delta * (1 + 1e-10)


def test_discrete_laplace_against_enumeration() -> None:
    sensitivity, scale = 4, 2.5
    x = np.arange(-400, 405)
    first = np.exp(-np.abs(x) / scale)
    first /= first.sum()
    second = np.exp(-np.abs(x - sensitivity) / scale)
    second /= second.sum()
    pair = tabulated_pairs.discrete_laplace(sensitivity, Fraction(5, 2))
    for epsilon in (-0.7, 0.0, 0.31, 1.0, 1.59):
        exact = np.maximum(first - np.exp(epsilon) * second, 0.0).sum()
        assert math.isclose(pair.delta_bounds(epsilon)[1], exact, rel_tol=1e-10)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.3, 0.5, 0.8, 1.0])
def test_staircase_against_quadrature(gamma: float) -> None:
    """Total variation at every shift up to the sensitivity: the largest is that of the pair."""
    epsilon = 1.5

    def density(x: float) -> float:
        whole, part = divmod(abs(x), 1.0)
        high = (1.0 - math.exp(-epsilon)) / (2.0 * (gamma + math.exp(-epsilon) * (1.0 - gamma)))
        return high * math.exp(-epsilon * (whole + (part >= gamma)))

    found = []
    for shift in (0.2, 0.5, 0.9, 1.0):
        points = sorted({k + s * gamma for k in range(-3, 4) for s in (-1, 0, 1)} | {shift / 2})
        value = quad(density, -shift / 2, shift / 2, points=[p for p in points if abs(p) < shift / 2], limit=300)[0]
        found.append(value)
    assert found == sorted(found)
    assert math.isclose(tabulated_pairs.staircase(epsilon, gamma).delta_bounds(0.0)[1], found[-1], rel_tol=1e-8)


def test_chords_lie_above() -> None:
    exact, coarse = (
        tabulated_pairs.discrete_laplace(4000, Fraction(3000)),
        tabulated_pairs._chorded(40_000, 1.0 / 30_000.0),
    )
    fine = LaplacePair(4.0 / 3.0)
    for epsilon in (-0.5, 0.0, 0.3, 1.0, 1.3):
        # 40,000 steps are nearer to the continuous law than 4,000 are, and the chords add less than 1e-6.
        assert fine.delta_bounds(epsilon)[0] - 1e-12 <= coarse.delta_bounds(epsilon)[1]
        assert coarse.delta_bounds(epsilon)[1] <= exact.delta_bounds(epsilon)[1] + 1e-6
    assert not coarse.exact


def test_extreme_ratios() -> None:
    tiny = Fraction(1, 10**400)
    table = tabulated_pairs.finite([1 - tiny, tiny], [Fraction(1, 2), Fraction(1, 2)])
    assert table.reach > 900.0
    assert isinstance(table.reversed(), Atoms)


def test_a_loss_above_its_float_counts() -> None:
    """At the float of a largest loss that was rounded down, delta is not 0 but some 1e-17."""
    above = 0
    for n in range(2, 60):
        p, q = [Fraction(n, n + 2), Fraction(2, n + 2)], [Fraction(n, 2 * n + 1), Fraction(n + 1, 2 * n + 1)]
        pair = tabulated_pairs.finite(p, q)
        place = float(pair.losses[-1])
        with ctx.workprec(200):
            exact = real(p[0]) - arb(place).exp() * real(q[0])
            above += bool(exact > 0)
            assert bool(exact <= arb(pair.delta_bounds(place)[1]))
    assert above >= 10


LITTLE = Fraction(1, 10**40)
rows = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(lambda row: sum(row) > 0)


@given(rows, rows)
@settings(deadline=None)
def test_epsilon_at_the_mass_of_zeros_is_decided_exactly(first: list[int], second: list[int]) -> None:
    """By `check`, with fractions and balls: enough at the upper end, and not below the lower one."""
    p, q = ([Fraction(x, sum(row)) for x in row] for row in (first, second))
    leaks = [sum((a for a, b in zip(*pair, strict=True) if not b), Fraction(0)) for pair in ((p, q), (q, p))]
    loss = finite_loss(p, q)
    for delta in (max(leaks), min(leaks), max(leaks) + LITTLE, max(leaks) - LITTLE):
        if not 0 <= delta < 1:
            continue
        lower, upper = loss.epsilon_bounds(delta)
        assert math.isfinite(upper) == (delta >= max(leaks))
        assert upper == math.inf or check([p, q], epsilon=Fraction(upper), delta=delta).approximate
        below = Fraction(lower) * (1 - Fraction(1, 10**9)) if lower < math.inf else Fraction(1000)
        assert not below or not check([p, q], epsilon=below, delta=delta).approximate


@pytest.mark.parametrize(
    ("reach", "scale"), [(5000, 1), (10**6, 1000), (10**6, 10**6), (2**70, 2**66), (10**30, 10**27)]
)
def test_chords_are_above_the_law_however_wide_or_narrow(reach: int, scale: int) -> None:
    """P(x <= k) - e^epsilon P(x <= k - reach) in 400 bits, k the last output whose loss is above epsilon."""
    pair, rate = tabulated_pairs._chorded(reach, 1.0 / scale), Fraction(1, scale)
    assert float(pair.first.sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(pair.second.sum()) == pytest.approx(1.0, abs=1e-12)
    for part in (Fraction(-1, 2), Fraction(0), Fraction(1, 3), Fraction(99, 100)):
        epsilon = float(part * reach * rate)
        k = math.ceil((reach - Fraction(epsilon) * scale) / 2) - 1
        with ctx.workprec(400):
            q = (-real(rate)).exp()
            below, back = 1 - q ** (k + 1) / (1 + q), q ** (reach - k) / (1 + q)
            exact = below - real(Fraction(epsilon)).exp() * back
            lower, upper = pair.delta_bounds(epsilon)
            assert exact * (1 - arb(2) ** -46) <= upper
            assert lower <= exact * (1 + arb("0.01"))


def test_staircases_of_any_epsilon() -> None:
    """A high part of none, or of nothing that a float holds beside e^-epsilon."""
    for epsilon in (1e-100, 1.0, 700.0, 800.0, 1e100):
        assert tabulated_pairs.staircase(epsilon, 0.0).first[-1] == 0.5
        assert tabulated_pairs.staircase(epsilon, 1.0).first[-1] == 0.5
    gamma = 1e-310  # g e^epsilon is 0.0197 there
    assert tabulated_pairs.staircase(710.0, gamma).first[-1] == pytest.approx(1 - 0.5 / (1 + 0.0223399), rel=1e-3)
    assert tabulated_pairs.staircase(1000.0, gamma).first[-1] == 1.0


def test_a_narrow_discrete_gaussian_has_no_pure_epsilon() -> None:
    for sigma2 in (Fraction(1, 10**100), Fraction(1, 10**3), Fraction(1)):
        loss = losses.discrete_gaussian_loss(sigma2, 1)
        assert loss.epsilon(0) == math.inf
        assert loss.delta(10**6 if sigma2 < 1 else 700) > 0


def test_what_is_below_all_floats_is_not_certain() -> None:
    """Found on 2026-11-22: a lower end of 5e-324 where delta is 1e-537; and no upper end of 0 where there is any."""
    pair = tabulated_pairs.discrete_gaussian(Fraction(1, 1000), 1)
    for place in (1600.0, 2000.0, 2499.0):  # only the output at -2, of probability e^-2000
        assert pair.delta_bounds(place)[0] == 0.0
        assert pair.infinite > 0
    few = Fraction(1, 10**400)
    tiny = tabulated_pairs.finite([few, 1 - few], [few / 100, 1 - few / 100])
    lower, upper = tiny.delta_bounds(2.0)
    assert lower == 0.0 < upper < 1e-300
    assert Composition([(tiny, 1)]).tail(2.0).upper > 0.0
    assert Composition([(tiny, 1)]).tail(5.0) == (0.0, 0.0)

"""Exact tables against independent code and quadrature, the price against all small changes, scores of any size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import Selector, exact_scores, table
from discreet.noise.noisy_argmax import ScoreNoise
from discreet.privacy.events import BoundedRangeEvent, PureEvent
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

# Scores, epsilon, and for sensitivity 1 the law of the exponential mechanism, of permute-and-flip and of noisy max with
# Laplace noise (where there is one), and the expected gaps of the first two. Found by independent code with 30 digits.
TABLES: list[tuple[list[int], float, list[float], list[float], list[float], float, float]] = [
    (
        [0, 1, 2],
        0.5,
        [0.2542752125904656, 0.3264958357998367, 0.4192289516096977],
        [0.2245375710661476, 0.3106726327455333, 0.4647897961883191],
        [0.245675223927, 0.325806654945, 0.428518121129],
        0.8350462609807679,
        0.7597477748778285,
    ),
    (
        [5, 3, 3, 1],
        2,
        [0.7758034925743759, 0.1049935854035065, 0.1049935854035065, 0.01420933661861104],
        [0.8631807460760669, 0.0642298649930648, 0.0642298649930648, 0.008359523937803513],
        [0.775773603063, 0.105717410662, 0.105717410662, 0.0127915756126],
        0.4768116880884702,
        0.2903575557234732,
    ),
    (
        [0, 1, 2, 3, 4],
        1,
        [0.05801221739799787, 0.09564597678455913, 0.1576935563815933, 0.2599927206586828, 0.4286555287771669],
        [0.04528767077011312, 0.07655954716002568, 0.1320269060731035, 0.2376950330614486, 0.5084308429353091],
        [],
        1.094366633367538,
        0.9125781697681851,
    ),
]

KINDS: dict[str, Callable[..., Selector]] = {
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "laplace": lambda **parameters: NoisyMax(noise="laplace", **parameters),
    "gumbel": lambda **parameters: NoisyMax(noise="gumbel", **parameters),
}


@pytest.mark.parametrize("row", TABLES)
def test_tables_are_those_of_independent_code(row: tuple[Any, ...]) -> None:
    scores, epsilon, *laws, gap, better_gap = row
    parameters = {"sensitivity": 1, "epsilon": epsilon}
    exponential, flip = Exponential(**parameters), PermuteAndFlip(**parameters)
    assert exponential.probabilities(scores) == pytest.approx(laws[0], rel=1e-14)
    assert flip.probabilities(scores) == pytest.approx(laws[1], rel=1e-14)
    assert NoisyMax(**parameters).probabilities(scores) == pytest.approx(laws[1], rel=1e-14)
    if laws[2]:
        assert NoisyMax(noise="laplace", **parameters).probabilities(scores) == pytest.approx(laws[2], rel=1e-10)
    assert exponential.expected_gap(scores) == pytest.approx(gap, rel=1e-13)
    assert flip.expected_gap(scores) == pytest.approx(better_gap, rel=1e-13)


@pytest.mark.parametrize("scores", [[0, 0], [0, 3], [1, 0, 1, -4], [0.5, 0.25, 0, 0, 7]])
def test_laplace_table_is_that_of_quadrature(scores: list[float]) -> None:
    """Winning probabilities by Simpson's rule on pieces without kinks."""
    found, values = table(scores, Fraction(1), ScoreNoise.LAPLACE), np.array(scores)
    kinks = [-60.0 + min(scores), *sorted(set(scores)), 60.0 + max(scores)]
    wanted = np.zeros(values.size)
    for low, high in itertools.pairwise(kinks):
        x = np.linspace(low, high, 20_001)[:, None]
        weights = np.array([1.0, *[4.0, 2.0] * 9999, 4.0, 1.0]) * (high - low) / 20_000 / 3
        density = np.exp(-np.abs(x - values)) / 2
        below = np.where(x < values, np.exp(np.minimum(x - values, 0)) / 2, 1 - np.exp(np.minimum(values - x, 0)) / 2)
        for i in range(values.size):
            wanted[i] += weights @ (density[:, i] * np.delete(below, i, axis=1).prod(axis=1))
    assert found == pytest.approx(wanted, abs=1e-8)
    assert found.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("monotonic", [False, True])
def test_the_price_is_kept(kind: str, *, monotonic: bool) -> None:
    """No change that the claim allows moves the probability of an index by more than exp(epsilon); one comes near."""
    mechanism, worst = KINDS[kind](sensitivity=1, epsilon=1, monotonic=monotonic), 0.0
    moves = (0, 1) if monotonic else (-1, 0, 1)
    for scores in ([0, 0, 0], [3, 0, 1], [0, 9, 9], [0, 20, 20]):
        before = mechanism.probabilities(scores)
        for change in itertools.product(moves, repeat=3):
            after = mechanism.probabilities([s + c for s, c in zip(scores, change, strict=True)])
            worst = max(worst, float(np.abs(np.log(before / after)).max()))
    assert 0.9 < worst <= 1 + 1e-12


def test_permute_and_flip_costs_more_than_its_bounded_range() -> None:
    """Its Renyi divergence of order 2 exceeds what epsilon^2/8 allows; that of the exponential mechanism does not."""

    def divergence(mechanism: Selector) -> float:
        p, q = mechanism.probabilities([0, 0]), mechanism.probabilities([1, -1])
        return math.log(float(np.sum(p**2 / q)))

    assert divergence(PermuteAndFlip(sensitivity=1, epsilon=2)) == pytest.approx(1.376918739600336, rel=1e-13)
    assert divergence(Exponential(sensitivity=1, epsilon=2)) == pytest.approx(0.8675616609660544, rel=1e-13)


def test_the_worst_gaps() -> None:
    """Scores (0, -c, ..., -c) with the worst c of a grid, in units of the scale."""
    for n, c, gap, c_better, better in (
        (2, 1.3, 0.278414522, 1.0, 0.1839397206),
        (10, 2.1, 1.101002734, 1.7, 0.8932093994),
    ):
        exponential, flip = Exponential(sensitivity=1, epsilon=2), PermuteAndFlip(sensitivity=1, epsilon=2)
        behind = np.array([0] + [-Fraction(str(c))] * (n - 1), dtype=object)
        assert exponential.expected_gap(behind) == pytest.approx(gap, rel=1e-8)
        assert flip.expected_gap(np.array([0] + [-Fraction(str(c_better))] * (n - 1), dtype=object)) == pytest.approx(
            better, rel=1e-8
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_holds(kind: str) -> None:
    """The chance to be behind by the bound or more, from the exact table, for scores made to be bad."""
    mechanism = KINDS[kind](sensitivity=1, epsilon=1)
    for confidence in (0.5, 0.95):
        bound = mechanism.bound(candidates=30, confidence=confidence)
        chances = mechanism.probabilities([0.0] + [-bound] * 29)
        assert chances[1:].sum() <= 1 - confidence


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_is_the_quantile_of_the_worst_scores(kind: str) -> None:
    mechanism = KINDS[kind](sensitivity=1, epsilon=1)
    for candidates, confidence in ((2, 0.8), (5, 0.95), (30, 0.99)):
        error = mechanism.error(candidates=candidates, confidence=confidence)
        missed = mechanism.probabilities([0.0] + [-error] * (candidates - 1))[1:].sum()
        assert missed == pytest.approx(1 - confidence, rel=1e-6)
        assert error < mechanism.bound(candidates=candidates, confidence=confidence)
    assert mechanism.error(candidates=1) == 0
    assert mechanism.error(candidates=10**6) < mechanism.bound(candidates=10**6)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_at_the_ends_of_confidence(kind: str) -> None:
    """A chance to miss below the precision of 1, against the exact table; ever larger, and below the bound."""
    mechanism, errors = KINDS[kind](sensitivity=1, epsilon=1), []
    for miss in [1 - Fraction(1, 10**50), Fraction(1, 2), *(Fraction(1, 10**k) for k in (9, 15, 17, 20, 50))]:
        error = mechanism.error(candidates=30, confidence=1 - miss)
        assert 0 <= error < mechanism.bound(candidates=30, confidence=1 - miss)
        errors.append(error)
        if miss <= Fraction(1, 2):
            missed = mechanism.probabilities([0.0] + [-error] * 29)[1:].sum()
            assert missed == pytest.approx(float(miss), rel=1e-6, abs=0)
    assert errors == sorted(errors)


def test_the_bound_is_the_theorem() -> None:
    for epsilon, candidates in ((0.5, 2), (1, 1000)):
        miss = math.exp(-3)
        bound = Exponential(sensitivity=1, epsilon=epsilon).bound(candidates=candidates, confidence=1 - miss)
        assert bound == pytest.approx(2 / epsilon * (math.log(candidates) + 3))
    assert NoisyMax(sensitivity=3, epsilon=1, monotonic=True).bound(candidates=5) == pytest.approx(3 * math.log(100))


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=8), st.integers(-(10**12), 10**12))
@settings(max_examples=40)
def test_an_offset_changes_nothing(scores: list[int], offset: int) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=Fraction(1, 1000))
    moved = [score + offset for score in scores]
    assert mechanism.probabilities(scores).tolist() == mechanism.probabilities(moved).tolist()
    drawn = [mechanism.release(some, words=splitmix(3)) for some in (scores, moved, np.array(moved, dtype=np.float64))]
    assert drawn[0] == drawn[1] == drawn[2]


def test_odd_scores_are_taken_exactly() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=2)
    assert mechanism.probabilities([-1e308, 0, 1e308]).tolist() == [0, 0, 1]
    assert mechanism.release([-1e308, 0, 1e308]) == 2
    assert mechanism.release([0, -1600]) == 0
    two = mechanism.probabilities([0, 1])
    pairs: list[Any] = [[1e16, 1e16 + 2], [2**60, 2**60 + 1], [10**30, 10**30 + 1], [Fraction(1, 3), Fraction(4, 3)]]
    for scores in pairs:
        shift = 2 if scores[0] == 1e16 else 1
        assert mechanism.probabilities(scores).tolist() == mechanism.probabilities([0, shift]).tolist()
    assert mechanism.probabilities(np.array([Decimal("0.5"), 1.5], dtype=object)).tolist() == two.tolist()
    assert mechanism.probabilities(np.array([False, True])).tolist() == two.tolist()
    assert mechanism.probabilities(np.array([0, 1], dtype=np.float16)).tolist() == two.tolist()
    assert Fraction(exact_scores([0.1, 1])[0]) == Fraction(0.1) != Fraction(1, 10)


def test_many_equals_are_equal() -> None:
    """The first and the last 3,000 of 30,000 equal candidates come up as often as any: their order does not count."""
    mechanism, words = Exponential(sensitivity=1, epsilon=1), splitmix(12)
    drawn = np.array([mechanism.release(np.zeros(30_000), words=words) for _ in range(400)])
    for low, high in ((0, 3000), (27_000, 30_000), (12_000, 15_000)):
        assert binomial_p(int(((drawn >= low) & (drawn < high)).sum()), 400, 0.1) > 1e-7


def test_what_a_choice_costs() -> None:
    """Permute-and-flip is charged epsilon^2/2 or near it, and only Gumbel noise the epsilon^2/8 of a bounded range."""
    for kind, mechanism in ((k, KINDS[k](sensitivity=1, epsilon=2)) for k in KINDS):
        bounded = kind in {"exponential", "gumbel"}
        assert mechanism.event == (BoundedRangeEvent if bounded else PureEvent)(epsilon=Fraction(2))
        assert mechanism.loss.epsilon(delta=0) == pytest.approx(2)
        assert (mechanism.loss.rho == pytest.approx(0.5)) is bounded
    flip = PermuteAndFlip(sensitivity=1, epsilon=2)
    assert flip.loss.renyi(alpha=2) >= 1.376918739600336


def test_only_an_index_is_released() -> None:
    for kind in KINDS.values():
        assert type(kind(sensitivity=1, epsilon=1).release(np.array([1.5, 2.5]))) is int


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), None, True])
def test_bad_parameters_are_refused(kind: str, bad: object) -> None:
    for parameters in ({"sensitivity": bad, "epsilon": 1}, {"sensitivity": 1, "epsilon": bad}):
        with pytest.raises(InvalidParameter, match="Hint: "):
            KINDS[kind](**parameters)


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [[1, 2]],
        [float("nan"), 1],
        [1, float("inf")],
        ["a"],
        [1, None],
        np.array([np.inf]),
        [1, Decimal("NaN")],
        [1j],
        None,
        7,
        np.array(7, dtype=object),
        ibis.table({"score": "int64"}, name="scores"),
        ibis.table({"score": "int64"}, name="scores").score,
        {"first": 1},
    ],
)
def test_bad_scores_are_refused_unseen(scores: Any) -> None:
    class Untouched(Exception):
        """Raised if chance is asked for."""

    def words(n: int) -> Any:
        raise Untouched

    for kind in KINDS.values():
        with pytest.raises(InvalidParameter, match="Hint: ") as refusal:
            kind(sensitivity=1, epsilon=1).release(scores, words=words)
        assert "nan" not in str(refusal.value)
        assert "inf" not in str(refusal.value).replace("finite", "")


def test_other_refusals() -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=1)
    calls: list[Callable[[], object]] = [
        lambda: mechanism.bound(candidates=0),
        lambda: mechanism.error(candidates=0),
        lambda: mechanism.error(candidates=3, confidence=0),
        lambda: mechanism.release(np.array([1, 2], dtype=np.longdouble)),
        lambda: mechanism.bound(candidates=2, confidence=1),
        lambda: mechanism.probabilities(range(501)),
        lambda: NoisyMax(sensitivity=1, epsilon=1, noise="normal"),
        lambda: NoisyMax(sensitivity=1, epsilon=1, monotonic=1),  # type: ignore[arg-type]  # the refusal is the test
        lambda: NoisyMax(sensitivity=1, epsilon=1, noise="laplace").probabilities(range(41)),
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="Hint: "):
            call()
    assert exact_scores(np.array([3], dtype=np.uint64)).tolist() == [3]

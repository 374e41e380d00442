"""K-norm noise: the figures of the literature, neighbors that are covered, refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import InvalidParameter
from discreet.mechanisms import knorm
from discreet.mechanisms.knorm import KNorm, outer
from discreet.mechanisms.knorm_bodies import BoxBody, CrossBody, Polytope
from discreet.mechanisms.polytopes import Point, from_facets
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.events import PureEvent
from discreet.testing.scripted_words import splitmix

LINF = {1: 2.0, 2: 4.0, 3: 6.666666666666667}
"""Variance of each coordinate at epsilon 1 for the cube: (d+1)(d+2)/3; Laplace noise has 2 d^2."""


def planes(m: KNorm) -> list[Point]:
    assert isinstance(m.body, Polytope)
    return m.body.planes()


def norm(m: KNorm, vector: Point) -> Fraction:
    """||v||_K of a body that is not flat."""
    return max(sum((a * x for a, x in zip(plane, vector, strict=True)), Fraction(0)) for plane in planes(m))


@pytest.mark.parametrize(("d", "variance"), LINF.items())
def test_cubes(d: int, variance: float) -> None:
    m = KNorm(epsilon=1, vertices=list(product((-1, 1), repeat=d)))
    assert m.variance == pytest.approx([variance] * d)
    assert m.laplace.sensitivity == d
    by_facets = KNorm(epsilon=1, facets=[*np.eye(d, dtype=int), *-np.eye(d, dtype=int)])
    assert by_facets.covariance == pytest.approx(m.covariance, abs=1e-12)
    drawn = m.body.noise.sample(Fraction(1, 1000), 50_000, splitmix(1)) / 1000
    assert drawn.var(axis=0) == pytest.approx([variance] * d, rel=0.05)


@pytest.mark.long
def test_count_sum_and_sum_of_squares() -> None:
    """y in [0, 1] in hundredths, epsilon 1: total variance 6 for two and about 11.2 for three; three separate answers
    have 54, and joint Laplace noise 54 as well.
    """
    two = KNorm.of_contributions([(1, y) for y in range(101)], epsilon=1)
    assert two.variance / [1, 100**2] == pytest.approx([4, 2], rel=1e-9)
    three = KNorm.of_contributions([(1, y, y * y) for y in range(101)], epsilon=1)
    scaled = three.variance / [1, 100**2, 100**4]
    assert scaled == pytest.approx([6.3, 2.7, 2.2], abs=0.1)
    assert float(scaled.sum()) == pytest.approx(11.24, rel=0.01)


@pytest.mark.parametrize(("most", "total", "split"), [(2, 27.3, 40), (3, 41.1, 90)])
def test_overlapping_groups(most: int, total: float, split: float) -> None:
    """Five groups, a person in at most two or three of them: against Laplace noise of that L1 sensitivity."""
    memberships = [v for v in product((0, 1), repeat=5) if sum(v) <= most]
    m = KNorm.of_contributions(memberships, epsilon=1)
    assert float(m.variance.sum()) == pytest.approx(total, abs=0.05)
    assert 5 * m.laplace.variance == pytest.approx(split, abs=0.9)


def test_replacing_is_covered() -> None:
    """Every difference of two contributions is in K, under replace-one; under add-remove some are not."""
    ways = [(1, y, y * y) for y in range(4)]
    replaced = KNorm.of_contributions(ways, epsilon=1, neighbors="replace-one")
    assert replaced.body.rank == 2  # the count does not move
    assert replaced.release([7, 20, 50])[0] == 7
    both = KNorm.of_contributions([w[1:] for w in ways], epsilon=1, neighbors="replace-one")
    added = KNorm.of_contributions([w[1:] for w in ways], epsilon=1)
    differences = [tuple(Fraction(a - b) for a, b in zip(p[1:], q[1:], strict=True)) for p in ways for q in ways]
    assert max(norm(both, d) for d in differences) == 1
    assert max(norm(added, d) for d in differences) > 1


def test_outer_hulls_hold_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 points on a curve 24 are taken, and blown up until they hold the rest; by less than 1 %."""
    monkeypatch.setattr(knorm, "MOST_CORNERS", 24)
    every = [(Fraction(1), Fraction(y), Fraction(y * y)) for y in range(200)]
    corners = outer(every)
    assert len(corners) <= knorm.MOST_CORNERS
    planes = from_facets(corners)
    largest = max(sum((a * x for a, x in zip(plane, p, strict=True)), Fraction(0)) for plane in planes for p in every)
    assert largest == 1
    assert corners[0][0] < Fraction(101, 100)


def test_outer_hulls_hold_all_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under replace-one, of contributions that were not chosen too: those at the tips of a rough disk."""
    monkeypatch.setattr(knorm, "MOST_CORNERS", 8)
    turn = np.linspace(0, 2 * np.pi, 61)[:-1]
    disk = np.rint(100 * np.stack([np.cos(turn), np.sin(turn)], axis=1)).astype(int)
    disk[7] *= 3
    m = KNorm.of_contributions(disk, epsilon=1, neighbors="replace-one")
    differences = [tuple(Fraction(int(x)) for x in p - q) for p in disk for q in disk]
    known = planes(m)
    assert max(sum(a * x for a, x in zip(p, d, strict=True)) for p in known for d in set(differences)) <= 1


def test_structured_bodies_of_many_dimensions() -> None:
    """A person in one of 50 cells: Laplace noise; fifty answers that all move: the box, which beats it.
    What is recognized is what is asked for.
    """
    cells, fifty = np.eye(50, dtype=int), [1] * 50
    one = KNorm.of_contributions(cells, epsilon=2)
    assert one.body == KNorm.cross_polytope(fifty, epsilon=2).body == CrossBody((Fraction(1),) * 50)
    assert one.variance == pytest.approx([0.5] * 50)
    every = KNorm.box(fifty, epsilon=2)
    assert every.body == KNorm(epsilon=2, facets=[*cells, *-cells]).body == BoxBody((Fraction(1),) * 50)
    assert every.variance == pytest.approx([51 * 52 / 3 / 4] * 50)
    assert every.laplace.variance == pytest.approx(2 * 25**2, rel=1e-3)
    assert every.release([10**6] * 50).dtype == np.int64
    assert every.release(np.full(50, 0.5)).dtype == np.float64
    nine = list(product((0, 1), repeat=9))
    assert KNorm(epsilon=1, vertices=[tuple(2 * x - 1 for x in p) for p in nine]).dimension == 9
    assert [repr(one), repr(every)] == [
        "KNorm(cross-polytope, dimension=50, epsilon=2)",
        "KNorm(box, dimension=50, epsilon=2)",
    ]
    for reaches in ([], [0], [-1], [float("nan")]):
        with pytest.raises(InvalidParameter, match="reach"):
            KNorm.box(reaches, epsilon=1)


def test_floats_pay_for_their_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knorm, "fresh_words", lambda: splitmix(3))
    m = KNorm(epsilon=2, vertices=list(product((-1, 1), repeat=2)))
    rates, sample = list[Fraction](), m.body.noise.sample

    def watched(_: Any, rate: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
        rates.append(rate)
        return sample(rate, n, words)

    monkeypatch.setattr(type(m.body.noise), "sample", watched)
    released = m.release([1.5, 2.5])
    assert released.dtype == np.float64
    step = m._step()
    assert rates == [2 * step / (1 + step)]
    assert step <= Fraction(1, 2**20)
    assert m.release([1, 2]).dtype == np.int64


def test_errors() -> None:
    """Against 100,000 draws: each answer by itself, and all at once by the norm."""
    m = KNorm.of_contributions([(1, y, y * y) for y in range(11)], epsilon=Fraction(1, 100))
    drawn = np.abs(m.body.noise.sample(m.epsilon, 100_000, fresh_words()))
    within = np.mean(drawn <= m.error(confidence=0.9), axis=0)
    assert ((within > 0.895) & (within < 0.906)).all()
    assert float(np.mean((drawn <= m.bound(confidence=0.9)).all(axis=1))) > 0.895
    assert m.loss.epsilon(delta=0) == pytest.approx(0.01)
    assert m.event == PureEvent(epsilon=Fraction(1, 100))
    assert "dimension=3" in repr(m)


@pytest.mark.parametrize(
    "stated",
    [
        {"epsilon": 1},
        {"epsilon": 1, "vertices": [(1,), (-1,)], "facets": [(1,), (-1,)]},
        {"epsilon": 1, "vertices": [(1, 0), (0, 1)]},
        {"epsilon": 1, "facets": [(1, 0), (0, 1), (-1, 0)]},
        {"epsilon": 1, "facets": [(1, 0), (-1, 0)]},
        {"epsilon": 1, "vertices": []},
        {"epsilon": 1, "vertices": [(1, 2), (1,)]},
        {"epsilon": 1, "vertices": [(float("nan"),)]},
        {"epsilon": 1, "vertices": [(0, 0)]},
        {"epsilon": 0, "vertices": [(1,), (-1,)]},
        {"epsilon": 1, "vertices": [*np.eye(9, dtype=int), *-np.eye(9, dtype=int), (1,) * 9, (-1,) * 9]},
        {"epsilon": 1, "facets": [*np.eye(9, dtype=int), *-np.eye(9, dtype=int), (1,) * 9, (-1,) * 9]},
    ],
)
def test_bodies_that_cannot_be_are_refused(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        KNorm(**stated)


@pytest.mark.long
def test_calls_that_cannot_be_are_refused() -> None:
    m = KNorm.of_contributions([(1, 2)], epsilon=1)
    many = np.vstack([np.eye(70, dtype=int), np.ones((1, 70), dtype=int)])
    for neighbors in ("add-remove", "replace-one"):
        with pytest.raises(InvalidParameter, match="at most 8 dimensions"):
            KNorm.of_contributions(many, epsilon=1, neighbors=neighbors)
    with pytest.raises(InvalidParameter, match="neighbors"):
        KNorm.of_contributions([(1, 2)], epsilon=1, neighbors="both")
    for values in ([1], [[1, 2]], 3, [1.0, float("nan")], [1.5, 2.5]):
        with pytest.raises(InvalidParameter, match="Hint"):
            m.release(values)
    with pytest.raises(InvalidParameter, match="confidence"):
        m.bound(confidence=1)

"""The three aims against search by brute force, and what is found always passes the certified condition."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.logs import integer_programs
from discreet.logs.integer_programs import OBJECTIVES, choose
from discreet.logs.multinomial_sampling import UserItemPairs, is_bounded, of_several_users

EPSILON, DELTA = Fraction(2), Fraction(9, 10)


def made(seed: int, *, users: int = 6, items: int = 4) -> UserItemPairs:
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 5, size=(users, items))
    who, what = np.nonzero(counts)
    return of_several_users(UserItemPairs(who, what, counts[who, what]))


def shares_missed(log: UserItemPairs, rows: NDArray[np.int64], support: float) -> float:
    """The sum over frequent items of |x_i / sum x - c_i / sum c|, which "support" minimizes."""
    totals = log.totals / log.totals.sum()
    return float(np.abs(rows / rows.sum() - totals)[totals >= support].sum())


def allowed(log: UserItemPairs, most: int) -> list[tuple[int, ...]]:
    """Every choice of rows for which the condition holds."""
    every = itertools.product(range(most + 1), repeat=log.size)
    return [x for x in every if is_bounded(log, np.array(x), epsilon=EPSILON, delta=DELTA).all()]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_and_the_most_diverse(seed: int) -> None:
    log = made(seed)
    options = allowed(log, 9)
    largest = choose(log, "size", epsilon=EPSILON, delta=DELTA)
    diverse = choose(log, "diversity", epsilon=EPSILON, delta=DELTA)
    assert largest.status == diverse.status == "optimal"
    assert int(largest.rows.sum()) == max(map(sum, options))
    assert int(diverse.rows.sum()) == max(sum(x) for x in options if max(x) <= 1)
    assert int(diverse.rows.max()) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_the_best_supported(seed: int) -> None:
    log, support, size = made(seed), 0.15, 4
    options = [x for x in allowed(log, size) if sum(x) == size]
    found = choose(log, "support", epsilon=EPSILON, delta=DELTA, rows=size, support=support)
    assert int(found.rows.sum()) == size
    best = min(shares_missed(log, np.array(x), support) for x in options)
    assert shares_missed(log, found.rows, support) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10), Fraction(1, 2), 1 - Fraction(1, 10**9)])
def test_what_is_found_passes_the_condition(objective: str, delta: Fraction) -> None:
    log = made(7, users=40, items=12)
    found = choose(log, objective, epsilon=EPSILON, delta=delta)
    assert is_bounded(log, found.rows, epsilon=EPSILON, delta=delta).all()
    assert found.rows.shape == (log.size,)
    assert int(found.rows.min()) >= 0


def test_a_size_that_cannot_be_had_gives_nothing() -> None:
    found = choose(made(1), "support", epsilon=EPSILON, delta=DELTA, rows=10_000)
    assert (found.status, int(found.rows.sum())) == ("none", 0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_empty_log_gives_nothing(objective: str) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert choose(UserItemPairs(nothing, nothing, nothing), objective, epsilon=EPSILON, delta=DELTA).rows.size == 0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_room_gives_no_rows(objective: str) -> None:
    found = choose(made(2), objective, epsilon=Fraction(1, 10**9), delta=DELTA)
    assert int(found.rows.sum()) == 0


def test_half_of_the_largest_is_the_size_that_nobody_stated() -> None:
    log = made(3, users=30)
    largest = int(choose(log, "size", epsilon=EPSILON, delta=DELTA).rows.sum())
    assert int(choose(log, "support", epsilon=EPSILON, delta=DELTA).rows.sum()) == largest // 2


def test_a_solver_out_of_time_rounds_the_linear_program_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_programs, "SECONDS", 0.0)
    log = made(5, users=60, items=25)
    found = choose(log, "support", epsilon=EPSILON, delta=DELTA, rows=10, support=0.01)
    assert found.status in ("relaxed", "feasible", "optimal")  # a fast solver may be done before it looks at the clock
    assert int(found.rows.sum()) <= 10
    assert is_bounded(log, found.rows, epsilon=EPSILON, delta=DELTA).all()

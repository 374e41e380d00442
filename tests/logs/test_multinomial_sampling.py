"""The condition of the multinomial release, on three users, and the law of its rows, enumerated."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from discreet.logs.multinomial_sampling import (
    UserItemPairs,
    is_bounded,
    largest_loss,
    losses,
    most_multinomial_rows,
    of_several_users,
    sample_rows,
    terms,
)
from discreet.testing import scripted, splitmix

GOOGLE, CAR, BOOK = 0, 1, 2


def pairs(*rows: tuple[int, int, int]) -> UserItemPairs:
    return UserItemPairs(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


THREE = pairs((0, GOOGLE, 15), (0, BOOK, 3), (1, GOOGLE, 7), (1, CAR, 2), (2, GOOGLE, 17), (2, CAR, 5), (2, BOOK, 1))
"""Three users of a search engine: how often each searched, and went to the same page. The table of the lecture notes,
without its two pairs of one user (pregnancy test, diabetes).
"""
CHOSEN = np.array([20, 4, 3])
"""The rows that the example draws of each."""


def test_the_three_users_need_an_epsilon_of_seventeen() -> None:
    assert losses(THREE, CHOSEN).round(4).tolist() == [13.869, 5.3024, 17.3245]
    by_hand = 20 * math.log(39 / 22) + 4 * math.log(7 / 2) + 3 * math.log(4 / 3)
    assert largest_loss(THREE, CHOSEN) == pytest.approx(by_hand, rel=1e-12)
    assert largest_loss(THREE, CHOSEN) >= by_hand


def test_the_three_users_need_a_delta_of_nearly_one() -> None:
    enough = 1 - Fraction(1, 10**8)
    assert is_bounded(THREE, CHOSEN, epsilon=Fraction(174, 10), delta=enough).all()
    assert is_bounded(THREE, CHOSEN, epsilon=Fraction(173, 10), delta=enough).tolist() == [True, True, False]
    assert not is_bounded(THREE, CHOSEN, epsilon=Fraction(174, 10), delta=Fraction(99, 100)).any()


def test_the_smaller_limit_binds() -> None:
    one = np.array([1, 0, 0])
    assert is_bounded(THREE, one, epsilon=Fraction(1), delta=Fraction(1, 2)).all()
    assert not is_bounded(THREE, one, epsilon=Fraction(1), delta=Fraction(1, 10)).any()
    assert not is_bounded(THREE, one, epsilon=Fraction(1, 10), delta=Fraction(1, 2)).any()


def products(log: UserItemPairs, rows: Any) -> list[Fraction]:
    """The condition as the notes have it: prod_i (c_i / (c_i - c_ik)) ** x_i, exactly, for each user."""
    found = [Fraction(1)] * (int(log.users.max()) + 1)
    for user, item, count in zip(log.users.tolist(), log.items.tolist(), log.counts.tolist(), strict=True):
        whole = int(log.totals[item])
        found[user] *= Fraction(whole, whole - count) ** int(rows[item])
    return found


def laws(log: UserItemPairs, rows: Any) -> dict[tuple[tuple[int, ...], ...], Fraction]:
    """The probability of every output, exactly: the users of each item's rows, as a sorted list."""
    found: dict[tuple[tuple[int, ...], ...], Fraction] = {(): Fraction(1)}
    for item in range(log.size):
        own = [(u, c) for u, i, c in zip(log.users, log.items, log.counts, strict=True) if i == item]
        whole, one = int(log.totals[item]), dict[tuple[int, ...], Fraction]()
        for drawn_users in itertools.product(own, repeat=int(rows[item])):
            users = tuple(sorted(int(user) for user, _ in drawn_users))
            chance = math.prod((Fraction(int(c), whole) for _, c in drawn_users), start=Fraction(1))
            one[users] = one.get(users, Fraction(0)) + chance
        found = {(*out, users): p * q for out, p in found.items() for users, q in one.items()}
    return found


def test_the_example_in_exact_numbers() -> None:
    """Where 17.32 comes from: the third user's product, and no epsilon that the notes would state."""
    third = Fraction(39, 22) ** 20 * Fraction(7, 2) ** 4 * Fraction(4, 3) ** 3
    assert products(THREE, CHOSEN) == [
        Fraction(39, 24) ** 20 * 4**3,
        Fraction(39, 32) ** 20 * Fraction(7, 5) ** 4,
        third,
    ]
    with ctx.workprec(200):
        least = (arb(third.numerator) / third.denominator).log()
        assert bool(least > arb("17.3245")) is False
        assert bool(least > arb("17.3244")) is True
    assert is_bounded(THREE, CHOSEN, epsilon=Fraction("17.3245"), delta=None).all()
    assert not is_bounded(THREE, CHOSEN, epsilon=Fraction("17.3244"), delta=None).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_condition_is_the_largest_ratio_of_exact_probabilities(seed: int) -> None:
    """Small logs, all their outputs: with and without each user, and how likely it is that the user is drawn."""
    chance = np.random.default_rng(seed)
    people, items = 3, 2
    rows = [(u, i, int(chance.integers(1, 5))) for u in range(people) for i in range(items) if chance.random() < 0.8]
    rows += [(u, 0, 1) for u in range(people) if not any(r[:2] == (u, 0) for r in rows)]
    log = pairs(*rows)
    users = np.bincount(log.items, minlength=log.size)
    counts = np.where(users >= 2, chance.integers(0, 3, log.size), 0)
    law = laws(log, counts)
    assert sum(law.values()) == 1
    for user, product in enumerate(products_of_shared(log, counts)):
        others = log.users != user
        rest = laws(UserItemPairs(log.users[others], log.items[others], log.counts[others]), counts)
        without = {out: p for out, p in law.items() if not any(user in held for held in out)}
        assert {out: rest[out[: len(next(iter(rest)))]] / p for out, p in without.items()} == dict.fromkeys(
            without, product
        )
        assert sum(without.values()) == 1 / product
        delta = 1 - 1 / product
        if 0 < delta < 1:
            assert bool(is_bounded(log, counts, epsilon=None, delta=delta + Fraction(1, 10**9))[user])
            assert not bool(is_bounded(log, counts, epsilon=None, delta=delta - Fraction(1, 10**9))[user])


def products_of_shared(log: UserItemPairs, rows: Any) -> list[Fraction]:
    """The same where items of one user have no row, and no condition."""
    kept = np.asarray(rows)[log.items] > 0
    found = [Fraction(1)] * (int(log.users.max()) + 1)
    if kept.any():
        totals = log.totals
        for user, item, count in zip(
            log.users[kept].tolist(), log.items[kept].tolist(), log.counts[kept].tolist(), strict=True
        ):
            found[user] *= Fraction(int(totals[item]), int(totals[item]) - count) ** int(rows[item])
    return found


def test_a_tie_is_settled_by_enclosures() -> None:
    two = pairs((0, 0, 1), (1, 0, 1))  # log 2 for each
    above = Fraction("0.693147180559945309417232121458176568075500134360255254120680010")
    below = above - Fraction(1, 10**60)
    most = Fraction(9, 10)
    assert is_bounded(two, np.array([1]), epsilon=above, delta=most).all()
    assert not is_bounded(two, np.array([1]), epsilon=below, delta=most).any()


def test_an_exact_delta_is_reached() -> None:
    """With delta = 1/2 the limit is log 2, which one row of two equal users reaches exactly: it cannot be told."""
    two = pairs((0, 0, 1), (1, 0, 1))
    assert not is_bounded(two, np.array([1]), epsilon=Fraction(1), delta=Fraction(1, 2)).any()
    assert is_bounded(two, np.array([1]), epsilon=Fraction(1), delta=Fraction(1, 2) + Fraction(1, 10**40)).all()


def test_terms_are_precise_at_both_ends() -> None:
    wide = pairs((0, 0, 1), (1, 0, 2**40))
    small, large = terms(wide)
    assert small == pytest.approx(-math.log1p(-1 / (2**40 + 1)), rel=1e-14)
    assert large == pytest.approx(math.log(2**40 + 1), rel=1e-14)


def test_items_of_one_user_are_left_out() -> None:
    assert of_several_users(pairs((0, 0, 9), (0, 1, 1), (1, 1, 1))).items.tolist() == [1, 1]
    assert of_several_users(pairs((0, 0, 9))).items.size == 0


def law(log: UserItemPairs, rows: np.ndarray[Any, Any]) -> dict[tuple[int, ...], Fraction]:
    """Every outcome of `drawn`, with its probability, by handing it every accepted word."""
    bounds = [int(total) for item, total in enumerate(log.totals) for _ in range(int(rows[item]))]
    found: Counter[tuple[int, ...]] = Counter()
    for words in itertools.product(*map(range, bounds)):
        found[tuple(sample_rows(log, rows, scripted(*words)).tolist())] += 1
    return {outcome: Fraction(count, math.prod(bounds)) for outcome, count in found.items()}


def multinomial(log: UserItemPairs, rows: np.ndarray[Any, Any]) -> dict[tuple[int, ...], Fraction]:
    """The law itself, row by row."""
    found: dict[tuple[int, ...], Fraction] = {(0,) * log.users.size: Fraction(1)}
    for item, count in enumerate(rows.tolist()):
        for _ in range(count):
            more: dict[tuple[int, ...], Fraction] = {}
            for outcome, chance in found.items():
                for place in np.flatnonzero(log.items == item).tolist():
                    next_one = tuple(n + (i == place) for i, n in enumerate(outcome))
                    share = Fraction(int(log.counts[place]), int(log.totals[item]))
                    more[next_one] = more.get(next_one, Fraction(0)) + chance * share
            found = more
    return found


SMALL = pairs((0, 0, 1), (1, 0, 3), (2, 0, 2), (0, 1, 2), (2, 1, 1))


@pytest.mark.parametrize(("log", "rows"), [(THREE, [1, 1, 1]), (THREE, [0, 1, 2]), (SMALL, [2, 1]), (SMALL, [3, 0])])
def test_rows_have_the_law(log: UserItemPairs, rows: list[int]) -> None:
    assert law(log, np.array(rows)) == multinomial(log, np.array(rows))


def test_rows_have_the_law_whatever_the_order_of_the_pairs() -> None:
    turned = UserItemPairs(SMALL.users[::-1], SMALL.items[::-1], SMALL.counts[::-1])
    assert law(turned, np.array([2, 1])) == multinomial(turned, np.array([2, 1]))


@pytest.mark.parametrize("user", [0, 1, 2])
def test_the_condition_is_what_it_says_of_the_sampling_step(user: int) -> None:
    """Enumerated: a user is in the output with probability 1 - e^-l; without, outputs differ by exactly e^l."""
    rows = np.array([2, 1])
    full = multinomial(SMALL, rows)
    left = SMALL.users != user
    less = UserItemPairs(SMALL.users[left], SMALL.items[left], SMALL.counts[left])
    without = multinomial(less, rows)
    loss = float(losses(SMALL, rows)[user])
    places = np.flatnonzero(SMALL.users == user).tolist()
    present = sum(chance for outcome, chance in full.items() if any(outcome[place] for place in places))
    assert float(present) == pytest.approx(-math.expm1(-loss))
    for outcome, chance in full.items():
        if not any(outcome[place] for place in places):
            shorter = tuple(n for place, n in enumerate(outcome) if place not in places)
            assert float(without[shorter] / chance) == pytest.approx(math.exp(loss))


def test_different_counts_between_neighbors_promise_nothing() -> None:
    """The gap: the longest output changes with the log, so its length tells two neighbors apart for certain."""
    logs = [pairs(*((user, 0, 1) for user in range(n))) for n in (6, 5)]
    longest = [
        max(x for x in range(9) if is_bounded(log, np.array([x]), epsilon=Fraction(1), delta=Fraction(45, 100)).all())
        for log in logs
    ]
    assert longest == [3, 2]


def test_a_meaningful_delta_leaves_less_than_a_row() -> None:
    assert most_multinomial_rows(37_711, Fraction(1, 10**6)) < 0.04
    assert 1.0 < most_multinomial_rows(37_711, Fraction(1, 37_711)) < 1.0001


def test_drawing_is_fast_enough_for_a_million_rows_and_adds_up() -> None:
    chance = splitmix(1)
    users = np.arange(3000) % 100
    items = np.arange(3000) // 100
    log = UserItemPairs(users, items, 1 + (users * items) % 7)
    rows = np.full(30, 30_000)
    found = sample_rows(log, rows, chance)
    sums = np.zeros(30, dtype=np.int64)
    np.add.at(sums, items, found)
    assert sums.tolist() == rows.tolist()

"""Noise and threshold for unlisted items: delta against the enumerated laws of all small neighbors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.logs.item_threshold import SHARE, ItemThreshold
from discreet.testing import splitmix

Reals = NDArray[np.float64]


def masses(screen: ItemThreshold, size: int) -> Reals:
    """P(noise = z) for z = -size..size, by formulas of its own."""
    z = np.arange(-size, size + 1)
    scale = float(screen.scale)
    if screen.noise == "gaussian":
        return np.asarray(ndtr((z + 0.5) / scale) - ndtr((z - 0.5) / scale))
    q = math.exp(-1 / scale)
    return np.asarray((1 - q) / (1 + q) * q ** np.abs(z))


def outputs(screen: ItemThreshold, logs: tuple[tuple[int, ...], ...], size: int) -> Reals:
    """The law of what is shown of a log of users, each a tuple of counts (0: none) of the items: an axis for the number
    of users, and one for each total of each item; the last place of an item's axes stands for "not shown".
    """
    noise, g = masses(screen, size), screen.steps // SHARE
    found = shifted(noise, g * len(logs), size)
    for item in range(len(logs[0]) if logs else 0):
        counts = [user[item] for user in logs if user[item]]
        high = SHARE * sum(count - 1 for count in counts) if screen.parts == 2 else 0
        low = screen.steps * len(counts) - high
        found = np.multiply.outer(found, shown(screen, low, high, size, present=bool(counts)))
    return found


def shifted(noise: Reals, by: int, size: int) -> Reals:
    """The law of by + noise on -size..2 size."""
    grid = np.zeros(3 * size + 1)
    grid[by : by + noise.size] = noise
    return grid


def shown(screen: ItemThreshold, low: int, high: int, size: int, *, present: bool) -> Reals:
    places = np.arange(-size, 2 * size + 1)
    noise = masses(screen, size)
    if screen.parts == 1:
        law = shifted(noise, low, size) * (places >= screen.threshold)
    else:
        law = np.multiply.outer(shifted(noise, low, size), shifted(noise, high, size))
        law *= places[:, None] + places[None, :] >= screen.threshold
    law = law.ravel() * present
    return np.append(law, 1.0 - law.sum())


def delta_between(first: Reals, second: Reals, epsilon: float) -> float:
    """The least delta for both directions, over all outcomes."""
    forth, back = first - math.exp(epsilon) * second, second - math.exp(epsilon) * first
    return float(max(forth[forth > 0].sum(), back[back > 0].sum()))


CASES = [
    (noise, max_items, max_count, epsilon, delta)
    for noise in ("gaussian", "laplace")
    for max_items, max_count, epsilon, delta in [
        (1, 1, 4.0, 0.05),
        (1, 1, 1.5, 0.01),
        (2, 1, 4.0, 0.02),
        (1, 2, 5.0, 0.05),
    ]
]


@pytest.mark.long
@pytest.mark.parametrize(("noise", "max_items", "max_count", "epsilon", "delta"), CASES)
def test_delta_is_that_of_enumeration(noise: str, max_items: int, max_count: int, epsilon: float, delta: float) -> None:
    """All logs of at most one other user over two items (one, where there are counts), and one user more or less."""
    price, allowed = Fraction(epsilon), Fraction(str(delta))
    screen = ItemThreshold.of(epsilon=price, delta=allowed, max_items=max_items, max_count=max_count, noise=noise)
    items = 2 if max_items == 2 else 1
    size = int(float(screen.scale) * (6 if noise == "gaussian" else 10)) + 2 * screen.steps
    users = [u for u in itertools.product(range(max_count + 1), repeat=items) if 0 < np.count_nonzero(u) <= max_items]
    largest = 0.0
    for others in [(), *((user,) for user in users[-1:])]:
        for one in users:
            base = others or ((0,) * items,)  # an item nobody has
            without = outputs(screen, others, size) if others else nothing(screen, items, size)
            largest = max(largest, delta_between(outputs(screen, (*others, one), size), without, epsilon))
            assert len(base[0]) == items
    assert largest <= delta * (1 + 1e-6) + 1e-9
    # The threshold is not wider than it must be: with one step less, or so, it would not do.
    assert largest >= 0.5 * delta


def nothing(screen: ItemThreshold, items: int, size: int) -> Reals:
    """The law of an empty log."""
    found = shifted(masses(screen, size), 0, size)
    for _ in range(items):
        found = np.multiply.outer(found, shown(screen, 0, 0, size, present=False))
    return found


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("max_items", [1, 5])
def test_lone_items_with_two_totals_stay_hidden(noise: str, max_items: int) -> None:
    delta = 1e-4
    screen = ItemThreshold.of(
        epsilon=Fraction(1), delta=Fraction(str(delta)), max_items=max_items, max_count=3, noise=noise
    )
    size = int(float(screen.scale) * (9 if noise == "gaussian" else 40))
    noise_law = masses(screen, size)
    both = np.convolve(noise_law, noise_law)
    reach = screen.threshold - screen.steps
    tail = float(both[2 * size + reach :].sum())
    missed = -math.expm1(max_items * math.log1p(-tail))
    assert missed <= delta * (1 + 1e-6)
    assert missed >= 0.3 * delta


@pytest.mark.parametrize("max_items", [1, 3, 10, 100])
@pytest.mark.parametrize("max_count", [1, 5])
def test_the_certified_delta_is_within_the_allowance(max_items: int, max_count: int) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    screen = ItemThreshold.of(epsilon=epsilon, delta=delta, max_items=max_items, max_count=max_count, noise="gaussian")
    assert 0.5e-6 < screen.delta(epsilon) <= 1e-6
    assert screen.delta(epsilon / 2) > 1e-5


def test_the_smaller_threshold_is_taken() -> None:
    made = [ItemThreshold.of(epsilon=Fraction(1), delta=Fraction(1, 10**5), max_items=k) for k in (1, 2, 3, 10)]
    assert [screen.noise for screen in made] == ["laplace", "gaussian", "gaussian", "gaussian"]
    # Independent figures for the same task without a number of users: 11.8, 33, 32.3 and 61 users.
    assert [round(screen.users_needed) for screen in made] == [13, 25, 31, 58]


def test_what_is_stated_of_the_noise_is_true() -> None:
    for noise, max_count in itertools.product(("gaussian", "laplace"), (1, 4)):
        screen = ItemThreshold.of(
            epsilon=Fraction(1), delta=Fraction(1, 1000), max_items=2, max_count=max_count, noise=noise
        )
        drawn = (
            screen.add_noise(np.zeros((screen.parts, 200_000), dtype=np.int64), splitmix(3)).sum(axis=0) / screen.steps
        )
        assert drawn.std() == pytest.approx(screen.users_sd, rel=0.02)
        assert abs(float((np.abs(drawn) <= screen.within(0.9)).mean()) - 0.9) < 0.02  # one step is 0.3 % of the mass

"""A group's noise is its own, however the groups are spread; its law is the mechanism's; releases share none of it."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.mechanisms.distributed_noise import RUN, DistributedNoise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import random_key
from discreet.testing.statistics import chi_square_p, joint_p, laplace_survival

FALSE_ALARM = 1e-9
SCALE = 10
NOISES = (Laplace(sensitivity=1, scale=SCALE), Gaussian(sensitivity=5, epsilon=1, delta=Fraction(1, 10**6)))
SIZE = 3 * RUN + 7


def noise_of(noise: DistributedNoise, places: NDArray[np.int64]) -> list[NDArray[Any]]:
    """The noise at these places: one component in the first block, three in the second."""
    return noise.add_noise(places, [np.zeros((len(places), width), dtype=np.int64) for width in (1, 3)])


@pytest.mark.parametrize("parts", [1, 2, 50])
def test_the_noise_of_a_group_is_its_own(parts: int) -> None:
    """In whatever parts and order, in another process, and again: the same bytes for each place."""
    noise = DistributedNoise(random_key(), NOISES)
    whole = noise_of(noise, np.arange(SIZE))
    order = np.random.default_rng(1).permutation(SIZE)
    sent = pickle.loads(pickle.dumps(noise.add_noise))  # noqa: S301 - our own bytes
    for places in np.array_split(order, parts):
        again = sent(places, [np.zeros((len(places), width), dtype=np.int64) for width in (1, 3)])
        for first, second in zip(whole, again, strict=True):
            assert first[places].tobytes() == second.tobytes()


def test_totals_do_not_move_the_noise() -> None:
    noise, places = DistributedNoise(random_key(), NOISES), np.array([5, RUN, 2**40])
    plain = noise_of(noise, places)
    totals = [np.array([[1], [-(2**62)], [7]]), np.array([[2**100, 0, 1]] * 3, dtype=object)]
    moved = noise.add_noise(places, totals)
    for exact, before, after in zip(totals, plain, moved, strict=True):
        assert (after.astype(object) - exact.astype(object)).tolist() == before.tolist()


def test_no_group_has_no_noise() -> None:
    assert [part.shape for part in noise_of(DistributedNoise(random_key(), NOISES), np.arange(0))] == [(0, 1), (0, 3)]


def sample(noise: DistributedNoise, size: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = noise.add_noise(np.arange(size), [np.zeros((size, 1), dtype=np.int64)])[0].ravel()
    return found


def test_the_law_is_the_mechanisms() -> None:
    """200,000 draws; and pairs of the same place in two runs, in two blocks and in two releases, 100,000 of each."""
    law, alike = laplace_survival(SCALE), (Laplace(sensitivity=1, scale=SCALE), Laplace(sensitivity=1, scale=SCALE))
    drawn = sample(DistributedNoise(random_key(), alike[:1]), 200_000)
    assert chi_square_p(drawn, law) > FALSE_ALARM
    runs = drawn[: 24 * 2 * RUN].reshape(24, 2, RUN)
    assert joint_p(runs[:, 0].ravel(), runs[:, 1].ravel(), law) > FALSE_ALARM
    other = sample(DistributedNoise(random_key(), alike[:1]), 100_000)
    assert joint_p(drawn[:100_000], other, law) > FALSE_ALARM


def test_blocks_have_noise_of_their_own() -> None:
    size = 100_000
    noise = DistributedNoise(random_key(), (Laplace(sensitivity=1, scale=SCALE), Laplace(sensitivity=1, scale=SCALE)))
    first, second = noise.add_noise(np.arange(size), [np.zeros((size, 1), dtype=np.int64)] * 2)
    assert joint_p(first.ravel(), second.ravel(), laplace_survival(SCALE)) > FALSE_ALARM


def test_one_noise_for_two_runs_would_be_seen() -> None:
    """A stream that is the same for each run, as it were with a name that the run does not enter."""
    drawn = sample(DistributedNoise(random_key(), (Laplace(sensitivity=1, scale=SCALE),)), RUN)
    assert joint_p(np.tile(drawn, 20), np.tile(drawn, 20), laplace_survival(SCALE)) < FALSE_ALARM


def test_the_secret_is_not_shown() -> None:
    secret = random_key()
    assert repr(secret) not in repr(DistributedNoise(secret, NOISES))

"""Noisy series: exact noise on exact sums, once and for good, and intervals that hold."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise import process_identity
from discreet.series.noisy_stream import NoisyStream, estimated, measured
from discreet.series.participation import Participation
from discreet.series.step_windows import StepWindows
from discreet.series.stream_strategy import StreamStrategy
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import clopper_pearson

WINDOWS = StepWindows.of(12, (1, 4, "all"))
BEST = StreamStrategy.best(WINDOWS)
COUNTS = np.array([5, 0, 3, 9, 9, 2, 1, 0, 7, 7, 8, 3])


def test_the_price_is_that_of_all_steps() -> None:
    """rho exactly, for what one unit moves over the whole series."""
    for taken in (Participation(), Participation(3), Participation(2, 5)):
        best = StreamStrategy.best(WINDOWS, taken)
        stream = NoisyStream(best, rho=Fraction(1, 3), contribution=Fraction(5, 2))
        assert stream.noise.sensitivity**2 >= best.moved * Fraction(25, 4)
        assert zcdp_of_event(stream.noise.event)[0] == pytest.approx(1 / 3)
        assert zcdp_of_event(stream.noise.event)[0] <= Fraction(1, 3)


def test_what_was_published_stays() -> None:
    """In parts as at once, with the same words, and no row is drawn again."""
    whole, parts = NoisyStream(BEST, rho=1), NoisyStream(BEST, rho=1)
    whole.publish(COUNTS, words=splitmix(3))
    words = splitmix(3)
    for end in (1, 1, 5, 5, 12):
        before = [list(row) for row in parts.published]
        parts.publish(COUNTS[:end], words=words)
        assert parts.published[: len(before)] == before
    assert len(whole.published) == len(parts.published) == 12
    first = NoisyStream(BEST, rho=1)
    first.publish(COUNTS[:3], words=splitmix(3))
    sums = first.sums("all")
    first.publish(COUNTS, words=splitmix(4))
    assert np.array_equal(first.sums("all")[:3], sums)


def test_a_step_is_drawn_once_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that draw at once would meet; the others find what the first has published."""
    stream, meeting, plain = NoisyStream(BEST, rho=1), threading.Barrier(2), Gaussian.add_noise

    def add_noise(*given: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            meeting.wait(1)
        return plain(*given)

    monkeypatch.setattr(Gaussian, "add_noise", add_noise)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(stream.publish, [COUNTS] * 4))
    assert meeting.broken
    assert len(stream.published) == 12


def test_a_fork_publishes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = NoisyStream(BEST, rho=1)
    monkeypatch.setattr(process_identity, "_forks", 1)
    with pytest.raises(InvalidParameter, match="new NoisyStream in this process"):
        stream.publish(COUNTS)
    assert not stream.published


def test_sums_are_exact_and_cannot_wrap() -> None:
    huge = np.full((12, 1), 2**62)
    rows = measured(BEST, huge)
    assert int(rows[11][0]) == sum(map(int, BEST.matrix[11])) * 2**62
    exact = [[int(one) for one in row] for row in measured(BEST, COUNTS[:, None])]
    assert np.allclose(estimated(BEST, exact)[:, 0], COUNTS)


def coverage(width: Callable[[float], float], runs: int = 300) -> dict[object, int]:
    """How often intervals of 90 % hold all exact sums of a step and window, at the worst of them."""
    held = {name: np.zeros(len(WINDOWS.full(name))) for name in WINDOWS.first}
    words = splitmix(8)
    for _ in range(runs):
        stream = NoisyStream(BEST, rho=Fraction(1, 8))
        stream.publish(COUNTS, words=words)
        for name, own in held.items():
            off = np.abs(stream.sums(name) - WINDOWS.sums(COUNTS[:, None], name))[:, 0]
            np.add(own, off <= np.array([width(one) for one in stream.half_widths(name, confidence=0.9)]), out=own)
    return {name: int(own.min()) for name, own in held.items()}


@pytest.mark.long
def test_intervals_hold() -> None:
    """300 runs: below 237 of 270 expected by chance in one of a million, at any of 33 sums; shorter ones are caught."""
    assert min(coverage(lambda width: width).values()) >= 237
    assert min(coverage(lambda width: 0.8 * width).values()) < 250
    low, _ = clopper_pearson(min(coverage(lambda width: 0.6 * width).values()), 300, confidence=1 - 1e-6)
    assert low < 0.75


def test_all_at_once_is_wider() -> None:
    stream = NoisyStream(BEST, rho=1)
    stream.publish(COUNTS[:6])
    alone, every = stream.half_widths(4), stream.half_widths(4, simultaneous=True)
    assert alone.shape == every.shape == (3,)
    assert (every > 1.3 * alone).all()


@pytest.mark.parametrize("counts", [[1.5], [1] * 13, ["x"], [[1, 2]] * 13, [], 5, {1: 5}])
def test_what_are_no_counts_is_refused(counts: Any) -> None:
    with pytest.raises(InvalidParameter):
        NoisyStream(BEST, rho=1).publish(counts)


def test_a_history_that_is_shorter_is_refused() -> None:
    stream = NoisyStream(BEST, rho=1)
    stream.publish(COUNTS[:5])
    with pytest.raises(InvalidParameter, match="5 to 12 steps"):
        stream.publish(COUNTS[:4])
    with pytest.raises(InvalidParameter, match="one of the windows 1, 4, 'all'"):
        stream.sums(7)

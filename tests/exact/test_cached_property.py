"""Properties that are computed once: the value, threads, forks."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import discreet
from discreet.exact.cached_property import cached_property
from discreet.noise.geometric import Geometric
from discreet.noise.laplace import DiscreteLaplace

SECONDS = 10


class Slow:
    """Computes when it may."""

    def __init__(self, wait: Callable[[], object]) -> None:
        self.wait, self.times = wait, 0

    @cached_property
    def value(self) -> object:
        self.wait()
        self.times += 1
        return object()


def test_a_value_is_computed_once() -> None:
    held = Slow(lambda: None)
    assert held.value is held.value
    assert held.times == 1


def test_threads_get_one_value() -> None:
    both = threading.Barrier(2)
    held, seen = Slow(lambda: both.wait(SECONDS)), list[object]()
    threads = [threading.Thread(target=lambda: seen.append(held.value)) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(SECONDS)
    assert len(seen) == 2, "each waits for the other"
    assert seen[0] is seen[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread is about to make the tables of its first noise when the process forks; the child draws its own."""
    made, inside, over, parent = Geometric.of_scale, threading.Event(), threading.Event(), os.getpid()

    def slow(scale: Fraction) -> Geometric:
        if os.getpid() == parent:
            inside.set()
            over.wait(2 * SECONDS)
        return made(scale)

    monkeypatch.setattr(Geometric, "of_scale", slow)
    thread = threading.Thread(target=lambda: DiscreteLaplace.of_scale(Fraction(3)).magnitude)
    thread.start()
    assert inside.wait(SECONDS)
    child = os.fork()
    if not child:
        _ = DiscreteLaplace.of_scale(Fraction(3)).magnitude
        os._exit(0)
    ended = _ended(child)
    over.set()
    thread.join(SECONDS)
    assert ended == 0, "the child waits"


def _ended(child: int) -> int | None:
    """How a child ended; killed where it does not."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def test_no_other_cached_property_is_used() -> None:
    taken = re.compile(r"functools import .*\bcached_property|functools\.cached_property")
    own = Path(discreet.__file__).parent
    found = [path.name for path in own.rglob("*.py") if taken.search(path.read_text(encoding="utf-8"))]
    assert found == ["cached_property.py"]

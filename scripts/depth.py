"""How deep the tests go: a number of examples, a share of the cases, and a time after which no more are tried.

`FUZZ` is the number of examples of the widest random tests (neighbors); the others take a part of it. `FUZZ_SECONDS`
bounds each random test in time, so that a slow or busy machine tries fewer examples and never fails for it. Of tests
with the mark `cases`, which try one claim on many inputs, a run takes FUZZ percent, and of those with the mark `long`,
whose cases take a second or more of a processor together, LONG percent. Each run at a desk takes others; in
CI, each `TURN` does, which is the commit: whoever looks into a failure meets it again. A run ends by saying what it
tried and what it left out (tests/conftest.py).
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck

FUZZ = int(os.environ.get("FUZZ", "15"))
SECONDS = float(os.environ.get("FUZZ_SECONDS", "4"))
LONG = int(os.environ.get("LONG", "8"))
TURN = os.environ.get("TURN", "")
"""Runs with the same one try the same."""
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
"""What Hypothesis says of tests that draw whole tables, and questions of them."""
SHARES = {"cases": FUZZ, "long": LONG}
"""How many of a hundred tests with a mark are tried."""


def examples(part: int = 1) -> int:
    """How many examples a test tries that takes one part in so many of the widest ones'."""
    return max(1, FUZZ // part)


def is_tried(case: str, run: str, percent: int = FUZZ) -> bool:
    """Whether a run takes one of many cases; all processes of a run agree."""
    return zlib.crc32(f"{run} {case}".encode()) % 100 < percent


class TimeIsOver(KeyboardInterrupt):
    """Ends a random test whose time is over: the one kind of exception after which Hypothesis asks no more."""


class Patience:
    """Runs a random test on examples until its time is over; then `TimeIsOver` comes out of the whole test.

    An example that ended without drawing what it drew before would be flaky to Hypothesis, so none is cut short.
    """

    def __init__(self, test: Callable[..., None], seconds: float = SECONDS) -> None:
        self.test, self.seconds = test, seconds
        self.tried = 0
        self._until: float | None = None
        self._has_failed = False

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """One example."""
        now = time.monotonic()
        self._until = now + self.seconds if self._until is None else self._until
        # An example that failed is run again, to be shown and made smaller.
        if now > self._until and not self._has_failed:
            raise TimeIsOver
        self.tried += 1
        try:
            self.test(*args, **kwargs)
        except BaseException as failure:
            # Hypothesis's own exceptions say that an example did not count.
            self._has_failed |= not type(failure).__module__.startswith("hypothesis")
            raise

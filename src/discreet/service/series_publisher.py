"""Publishes the series of a service in the background, each in a thread of its own.

So no look holds up the opening of another series, which is a charge that can be seen, or the moments of one of another
data set.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from discreet.service.job_runner import BEAT, PATIENCE
from discreet.service.series_desk import ServedSeries


class SeriesPublisher:
    """Threads that attempt again and again; several processes may do so at once: the ledger keeps one draw a step."""

    def __init__(self, served: Mapping[str, Mapping[str, ServedSeries]]) -> None:
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(one,), name=f"discreet-series-{name}", daemon=True)
            for series in served.values()
            for name, one in series.items()
        ]

    def start(self) -> None:
        """Begins, with what was missed."""
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float = PATIENCE) -> None:
        """Ends after the looks that have begun, or `patience` seconds."""
        self._stopped.set()
        end = time.monotonic() + patience
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _work(self, one: ServedSeries) -> None:
        while not self._stopped.is_set():
            one.attempt()
            self._stopped.wait(BEAT)

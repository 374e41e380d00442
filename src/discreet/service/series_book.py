"""When a series was declared, and when so many of its steps were on record: what public moments go by."""

from __future__ import annotations

import time
from collections.abc import Callable

from discreet.service.state_store import Execute, StateStore


class SeriesBook:
    """For each opening in a ledger the numbers of steps that were on record, and since when that is known.

    A series that was declared stands there under a name of its own, with no step.
    """

    def __init__(self, store: StateStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def declared(self, series: str) -> float:
        """Since when a series is declared, which this says where nobody did before."""
        if not (known := self.on_record(series)):
            self.note(series, 0)
            known = self.on_record(series)
        return known[0][1]

    def note(self, opening: str, steps: int) -> None:
        """Says that so many steps are on record by now; who said so first is believed."""

        def work(execute: Execute) -> None:
            sql = "INSERT INTO series_step VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            execute(sql, opening, steps, self._clock())

        self._store.write(work)

    def on_record(self, opening: str) -> list[tuple[int, float]]:
        """Numbers of steps, each with the time since which so many are known to be on record."""
        rows = self._store.read("SELECT steps, done FROM series_step WHERE opening = ? ORDER BY steps", opening)
        return [(int(steps), float(done)) for steps, done in rows]

"""The answer of a series: every number that was published, with its interval, as published and as best known."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.release import Release
from discreet.answers.run_post_processing import CELL
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.given_values import flag
from discreet.inference.interval_propagation import HIGH, LOW
from discreet.planning.planner import level
from discreet.plots.series_bands import Band, bands_figure
from discreet.series.active_steps import STEP, WINDOW
from discreet.series.noisy_stream import estimated
from discreet.series.series_plan import SeriesPlan, horizon
from discreet.series.series_record import Point
from discreet.series.step_windows import Window

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.figure import Figure


class SeriesRelease(Release):
    """All numbers of a series so far: a ``Release`` whose groups are the groups at each step and window.

    A number never changes once it was published, and neither do its ends: the noise of later steps says nothing more of
    it, so what was published is also the best linear unbiased estimate that there is today.

    >>> import datetime, discreet as dp, pyarrow as pa
    >>> days = [datetime.date(2026, 1, 1 + day) for day in range(9) for _ in range(5)]
    >>> rows = pa.table({"person": list(range(45)), "day": days})
    >>> visits = dp.protect(rows, unit="person", max_rows=2, budget=dp.Budget(rho=1), name="series of visits")
    >>> series = visits.series(by="day", start="2026-01-01", until="2026-03-31", windows=(1, 7), max_steps=3)
    >>> answer = series.agg(n=lambda t: t.count()).release(through="2026-01-08", rho=0.5)
    >>> answer.to_pandas().columns.tolist(), len(answer), answer.steps
    (['step', 'window', 'n', 'n_low', 'n_high'], 10, 8)
    """

    def __init__(
        self, series: SeriesPlan, points: list[Point], facts: Mapping[str, Any], confidence: float, steps: int
    ) -> None:
        self._series, self.steps = series, steps
        """So many steps were published."""
        groups = len(series.groups)
        totals: list[NDArray[Any]] = []
        for i, block in enumerate(series.plan.blocks):
            noisy = [row for point in points for row in point.noisy[i].tolist()][:steps]
            found = estimated(series.strategy, noisy)
            shaped = found.reshape(len(noisy), groups, block.block.components)
            totals.append(series.answers(shaped))
        super().__init__(series.answer_plan(steps), totals, facts, confidence)

    def intervals(self, confidence: float = 0.95, *, simultaneous: bool = False) -> pa.Table:
        """Values and ends at another confidence, for nothing: per number, or with `simultaneous` for all numbers of the
        series at once, those that will be published and calculated columns among them (Bonferroni): such a band never
        has to be widened.
        """
        wanted = level(confidence)
        if flag("simultaneous", simultaneous):
            columns = max(len(self._estimates), len(self.columns))
            wanted = 1 - (1 - wanted) / (horizon(self._series) * columns)
        return super().intervals(wanted)

    def to_pandas(self) -> pd.DataFrame:
        """Keys, ``step``, ``window`` (1, 7, "all"), values and ends as a pandas frame."""
        frame = super().to_pandas()
        if WINDOW in frame.columns:
            held = [int(name) if str(name).isdecimal() else name for name in frame[WINDOW]]
            frame[WINDOW] = np.array([*held, None], dtype=object)[:-1]
        return frame

    @property
    def latest(self) -> Release:
        """The numbers of the last step."""
        last = self._series.calendar.begin(self.steps - 1)
        if self._cells is not None:
            return self.filter(lambda t: t[STEP] == last)
        rows = np.flatnonzero(np.asarray(self._shown[STEP].to_pylist(), dtype=object) == last)  # without DuckDB
        answer = copy(self)
        answer._show(self._processing, self._shown.append_column(CELL, pa.array(range(len(self)))).take(rows))  # noqa: SLF001 (its own copy)
        return answer

    def plot(
        self,
        *columns: str,
        kind: str = "auto",
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
        truth: Mapping[Any, Any] | None = None,
        window: Window | None = None,
        simultaneous: bool = False,
    ) -> Figure:
        """A figure of a column over time with its band, for each window, or for one; a line for each group.

        `ax` draws in axes of yours, as many as windows; `path` saves the figure. `truth` has exact values to draw
        beside them, where the data are public: for each window an array of the rows of that window.
        """
        if kind != "auto":
            raise InvalidParameter(expected("a line with its band", "kind", kind, "leave kind out."))
        names = [name for name in self.columns if name in self._processing.ended]
        column = columns[0] if columns else names[0]
        if len(columns) > 1 or column not in names:
            raise InvalidParameter(
                expected("one column with an interval", "columns", columns, nearest_name(column, names))
            )
        windows = self._series.strategy.windows.first
        if window is not None and window not in windows:
            raise InvalidParameter(expected(f"one of the windows {list(windows)}", "window", window, "name one."))
        table = self.intervals(self._confidence, simultaneous=simultaneous).to_pydict()
        bands: dict[str, list[Band]] = {}
        for name in windows if window is None else (window,):
            rows = [i for i, told in enumerate(table[WINDOW]) if told == str(name)]
            exact = None if truth is None or name not in truth else np.asarray(truth[name], dtype=np.float64)
            bands[_title(name, self._series.calendar.unit)] = self._bands(table, column, rows, exact)
        return bands_figure(bands, y_label=column, caption=self._caption(), ax=ax, path=path)

    def _bands(
        self, table: Mapping[str, list[Any]], column: str, rows: list[int], truth: NDArray[np.float64] | None
    ) -> list[Band]:
        """A line for each group."""
        groups = [name for name in self.groups if name not in (STEP, WINDOW)]
        parts: dict[tuple[Any, ...], list[int]] = {}
        for place, row in enumerate(rows):
            parts.setdefault(tuple(table[name][row] for name in groups), []).append(place)
        found = []
        for key, places in parts.items():
            label = " · ".join("NULL" if one is None else str(one) for one in key)
            own = [rows[place] for place in places]
            values, low, high = ([table[f"{column}{end}"][row] for row in own] for end in ("", LOW, HIGH))
            exact = None if truth is None else truth[places].tolist()
            found.append(Band(label, [table[STEP][row] for row in own], values, low, high, exact))
        return found


def _title(window: Window, unit: str) -> str:
    if window == "all":
        return "so far"
    if isinstance(window, str):
        return f"{window} so far"
    return f"each {unit or 'step'}" if window == 1 else f"last {window} {unit or 'step'}s"

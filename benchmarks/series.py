"""The error of a series beside what others do, and the bound: ``python benchmarks/series.py [STEPS ...]``; of a log of
your own, ``python benchmarks/series.py LOG.parquet USER TIME``.

At the rho of noise of standard deviation 1 on one step (1/2), for units that count in one step: the root of the mean
squared error over all windows and steps, and the largest, of the integers that are measured; of days that are added up
(`days`), of the binary tree (`tree`), of the square root (`root`), of the strategy here (`best`), and the bound that no
Gaussian mechanism is below. Then for units that count in several steps. `released` is the error that was seen in noisy
integers, of 400 columns, of more than 365 steps of 20. At the end, with Laplace noise at epsilon 1.

Of a log: how many users there were each day, in windows, at (1, 1e-6) for all days together: the root mean square of
what is off, which holds what the limit on days leaves out, and the half width of the intervals.
"""

from __future__ import annotations

import datetime
import math
import sys
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa

from discreet.series.noisy_stream import NoisyStream
from discreet.series.open_ended_strategy import OpenEndedStrategy
from discreet.series.participation import Participation
from discreet.series.series_strategy import square_root_column
from discreet.series.step_windows import MOST_OPEN, StepWindows, Window
from discreet.series.stream_strategy import StreamStrategy

UNIT = Fraction(1, 2)
RUNNING: tuple[Window, ...] = ("all",)
DASHBOARD: tuple[Window, ...] = (1, 7, 28, "all")
COLUMNS, FEWER = 400, 20


def tree(windows: StepWindows) -> tuple[float, float]:
    """The binary tree: a window is the sum of the fewest nodes that make it up."""
    levels = math.ceil(math.log2(windows.steps)) + 1
    nodes = [
        fewest(int(first), step + 1) for own in windows.first.values() for step, first in enumerate(own) if first >= 0
    ]
    return math.sqrt(levels * float(np.mean(nodes))), math.sqrt(levels * max(nodes))


def fewest(first: int, end: int) -> int:
    """How many nodes of a binary tree make up the steps from `first` to before `end`."""
    number = 0
    while first < end:
        number += (first & 1) + (end & 1)
        first, end = (first + 1) >> 1, end >> 1
    return number


def released(best: StreamStrategy) -> float:
    """The root of the mean squared error of noisy integers."""
    stream = NoisyStream(best, rho=UNIT, contribution=1000)  # so that rounding to whole numbers is nothing beside it
    columns = COLUMNS if best.windows.steps <= 365 else FEWER
    counts = np.zeros((best.windows.steps, columns), dtype=np.int64)
    stream.publish(counts)
    values = stream.values()
    squares = [best.windows.sums(values, window) ** 2 for window in best.windows.first]
    return math.sqrt(sum(float(own.sum()) for own in squares) / columns / best.windows.number) / 1000


def line(title: str, steps: int, names: tuple[Window, ...], taken: Participation, *, draws: bool) -> None:
    """One workload."""
    start = time.process_time()
    windows = StepWindows.of(steps, names)
    best = StreamStrategy.best(windows, taken)
    seconds = time.process_time() - start
    days, root = StreamStrategy.days(windows, taken), StreamStrategy.square_root(windows, taken)
    pairs = [(one.rmse(rho=UNIT), one.largest(rho=UNIT)) for one in (days, root, best)]
    pairs.insert(1, tree(windows) if taken == Participation() else (math.nan, math.nan))
    told = " ".join(f"{mean:7.2f} / {most:6.2f}" for mean, most in pairs)
    bound = best.bound(rho=UNIT)
    seen = f"{released(best):8.3f}" if draws else f"{'':8}"
    print(f"{title:26} {told} {bound:8.3f} {pairs[-1][0] / bound:7.4f} {seen} {seconds:7.1f} s", flush=True)


def laplace(steps: int, names: tuple[Window, ...]) -> None:
    """Trees at epsilon 1."""
    windows = StepWindows.of(steps, names)
    best = StreamStrategy.best_tree(windows)
    two, days = StreamStrategy.tree(windows), StreamStrategy.days(windows)
    told = " ".join(f"{one.laplace_rmse(epsilon=1):8.2f}" for one in (days, two, best))
    print(f"Laplace noise, {steps:,} steps, windows {names}: days, binary tree, best: {told} ({best.family})")


def open_ended() -> None:
    """A series whose end nobody knows, beside a square root that was made for so many steps: the mean squares of the
    first totals, and the standard deviations of the last ones.
    """
    start = time.process_time()
    strategy = OpenEndedStrategy.made(StepWindows.open_ended(DASHBOARD))
    known = np.cumsum(square_root_column(MOST_OPEN) ** 2)
    ours = np.cumsum(strategy.deviations["all"] ** 2) * strategy.moved / (known * np.cumsum(known))
    scale = math.sqrt(strategy.moved)
    print(f"An open end ({MOST_OPEN:,} steps, {time.process_time() - start:.1f} s), beside a known one:")
    for steps in (28, 90, 365, 1096, 3650, 36500, MOST_OPEN):
        last = strategy.deviations["all"][steps - 1] * scale
        print(
            f"{steps:10,} steps: {ours[steps - 1]:.3f} of the variance; total {last:.2f} where {known[steps - 1]:.2f}"
        )
    widths = ", ".join(f"{strategy.deviations[name].max() * scale:.2f}" for name in (1, 7, 28))
    print(f"sums of 1, 7 and 28 steps: {widths} at most")


def log(path: str, user: str, moment: str) -> None:
    """How many users each day had."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    import discreet as dp

    read = pq.read_table(path, columns=[user, moment]).drop_null()
    rows = pa.table({"user": read[user], "day": read[moment].cast(pa.date32())})
    found = rows.group_by(["user", "day"]).aggregate([]).group_by("day").aggregate([([], "count_all")])
    by_day = dict(zip(found["day"].to_pylist(), found["count_all"].to_pylist(), strict=True))
    first, last = (end.as_py() for end in pc.min_max(rows["day"]).values())
    number = (last - first).days + 1
    truth = np.array([by_day.get(first + datetime.timedelta(days=day), 0) for day in range(number)])
    whole = StepWindows.of(number, DASHBOARD)
    for unit, most in ((("user", "day"), 1), (("user",), 1), (("user",), 3), (("user",), 10)):
        name = f"{path} by {', '.join(unit)} on {most}"
        table = dp.protect(rows, unit=list(unit), max_rows=1, budget=dp.Budget(epsilon=1, delta=1e-6), name=name)
        start = time.process_time()
        steps = table.series(by="day", start=first, until=last, windows=DASHBOARD, max_steps=most)
        frame = steps.agg(n=lambda t: t.count()).release(through=last, epsilon=1, delta=1e-6).to_pandas()
        seconds = time.process_time() - start
        told = []
        for window in DASHBOARD:
            own, exact = frame[frame.window == window], whole.sums(truth[:, None], window)[:, 0]
            off, half = own.n.to_numpy() - exact, (own.n_high - own.n_low).mean() / 2
            told.append(f"{math.sqrt(float(np.mean(off**2))):9.1f} (± {half:.1f}) of {exact.mean():.0f}")
        print(f"unit {', '.join(unit):10} {most:3} days: {'; '.join(told)}  {seconds:.1f} s", flush=True)


def main() -> None:
    """All lines."""
    if len(sys.argv) == 4 and sys.argv[1].endswith(".parquet"):
        log(*sys.argv[1:])
        return
    print(
        f"{'rms / largest':26} {'days':>16} {'tree':>16} {'root':>16} {'best':>16} {'bound':>8} {'ratio':>7} released"
    )
    for steps in [int(one) for one in sys.argv[1:]] or [30, 90, 365, 1096, 3650]:
        line(f"running total, {steps:,}", steps, RUNNING, Participation(), draws=True)
        if steps >= 28:
            line(f"dashboard, {steps:,}", steps, DASHBOARD, Participation(), draws=True)
    for taken in (Participation(5), Participation(30), Participation(12, 30)):
        title = f"dashboard, 365, {taken.steps} steps" + (f" {taken.apart} apart" if taken.apart > 1 else "")
        line(title, 365, DASHBOARD, taken, draws=False)
    laplace(365, RUNNING)
    laplace(365, DASHBOARD)
    open_ended()


if __name__ == "__main__":
    main()

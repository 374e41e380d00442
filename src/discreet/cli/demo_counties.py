"""The study of every county: how far off the worst of 3,143 answers is, and states that agree with their counties."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.consistency import Consistent, consistent
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.plots.dot_plot import ranks_figure
from discreet.plots.rank_plot import order_figure
from discreet.testing.populations import Counties, counties

if TYPE_CHECKING:
    from rich.console import Console

EPSILON, DELTA = 0.1, 1e-6
INTRODUCTION = (
    "[bold]Every county[/]: how many people live in each of 3,143 counties? Populations are made up here, as uneven as "
    f"the real ones.\nOne release of all of them at epsilon {EPSILON:g}: whoever sees it learns almost the same "
    "whether any one person was counted or not."
)
MECHANISMS: dict[str, Laplace | Gaussian] = {
    "Laplace, one person added or removed": Laplace(sensitivity=1, epsilon=EPSILON),
    "Laplace, one person moves": Laplace(sensitivity=2, epsilon=EPSILON),
    "Gaussian, one person added or removed": Gaussian(sensitivity=1, epsilon=EPSILON, delta=DELTA),
    "Gaussian, one person moves": Gaussian(sensitivity=2**0.5, epsilon=EPSILON, delta=DELTA),
}
"""A histogram moves by 1 in one cell, or by 1 in two of them: in L1 norm by 1 or 2, in L2 norm by 1 or root 2."""
RUNS = 20
"""For the measured mean of the largest error."""


def run(console: Console, folder: Path) -> None:
    """Prints the largest errors beside what theory says, and reconciles counties with states; draws two pictures."""
    made = counties()
    console.print(INTRODUCTION, highlight=False)
    console.print(_errors(made.population))
    console.print(
        f"The largest of {len(made.names):,} errors grows with the logarithm of their number only. Gaussian noise "
        f"needs a delta ({DELTA:g} here) and is no better for one histogram: its sensitivity is as large in L2 norm.\n",
        highlight=False,
    )
    noisy, found = reconciled(made)
    console.print(_agreement(made, noisy, found))
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures(made, found, folder):
        console.print(f"Picture: {picture}", highlight=False)


def _errors(population: NDArray[np.int64]) -> Any:
    from rich.table import Table

    table = Table(title="The largest of all errors, in people", caption=f"measured: the mean of {RUNS} releases")
    for name in ("noise", "scale", "expected", "bound", "95 % quantile", "measured"):
        table.add_column(name, justify="left" if name == "noise" else "right")
    size = len(population)
    for name, mechanism in MECHANISMS.items():
        worst = [int(np.abs(mechanism.release(population) - population).max()) for _ in range(RUNS)]
        theory = (mechanism.expected_error(size), mechanism.bound(dimension=size), mechanism.error(dimension=size))
        shown = (float(mechanism.scale), *theory, float(np.mean(worst)))
        table.add_row(name, *(f"{figure:.1f}" for figure in shown))
    return table


def reconciled(made: Counties) -> tuple[NDArray[np.int64], Consistent]:
    """Noisy states, and counties and states that agree: half of epsilon for each level, together EPSILON."""
    each = Laplace(sensitivity=1, epsilon=EPSILON / 2)
    states = each.release(_states(made))
    levels = [each.release(made.population), states]
    return states, consistent(levels, [made.state_of], variances=[each.variance] * 2)


def _states(made: Counties) -> NDArray[np.int64]:
    return np.bincount(made.state_of, weights=made.population).astype(np.int64)


def _agreement(made: Counties, noisy: NDArray[np.int64], found: Consistent) -> Any:
    """A few states, from few counties to many: exact, noisy, and made to agree."""
    from rich.table import Table

    title = f"States that agree with their counties (epsilon {EPSILON / 2:g} for each level)"
    table = Table(title=title, caption="the fewer counties, the more they tell of their state")
    for name in ("state", "counties", "noisy", "agreeing", "95 %", "true"):
        table.add_column(name, justify="left" if name == "state" else "right")
    exact, parts = _states(made), np.bincount(made.state_of)
    low, high = found.intervals(noise="laplace")[1]
    for i in np.argsort(parts, kind="stable")[[0, 1, 4, 12, 25, 38, 49, 50]].tolist():
        middle, reach = found.values[1][i], (high[i] - low[i]) / 2
        table.add_row(
            made.states[i],
            str(parts[i]),
            f"{noisy[i]:,}",
            f"{middle:,.0f}",
            f"± {reach:.0f}",
            f"{exact[i]:,}",
        )
    return table


def pictures(made: Counties, found: Consistent, folder: Path) -> tuple[Path, Path]:
    """Draws all counties by rank, and the thirty smallest with their intervals, in a folder; returns the two files."""
    every, smallest = folder / "every-county.png", folder / "smallest-counties.png"
    (low, high), _ = found.intervals(noise="laplace")
    caption = f"95 % intervals · epsilon {EPSILON:g} · populations are made up"
    truth = made.population.astype(np.float64)
    small = np.argsort(truth)[:30][::-1]
    whole = f"all counties, {caption}"
    order_figure(found.values[0], (low, high), truth=truth, up="people", caption=whole, path=every)
    ranks_figure(
        [made.names[i] for i in small],
        found.values[0][small],
        ends=(np.maximum(low[small], 0.0), high[small]),
        truth=truth[small],
        across="people",
        caption=f"the smallest counties, {caption}",
        path=smallest,
    )
    return every, smallest

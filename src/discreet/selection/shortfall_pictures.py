"""How far the chosen candidate falls short of the best, drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import Selector
from discreet.plots.lines import lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CANDIDATES = (2, 3, 5, 10, 20, 50, 100, 200)


def worst_gap(mechanism: Selector, candidates: int) -> float:
    """The largest expected shortfall when all but one candidate are equally far behind, over how far they are.

    >>> from discreet.mechanisms.exponential import Exponential
    >>> round(worst_gap(Exponential(sensitivity=1, epsilon=1), 10), 2)
    2.2
    """
    behind = float(mechanism.scale) * np.linspace(0.5, 1.5, 21) * np.log(candidates + 2)
    return max(mechanism.expected_gap([0.0] + [-float(gap)] * (candidates - 1)) for gap in behind)


def gap_figure(
    *,
    epsilon: object = 1,
    candidates: Sequence[int] = CANDIDATES,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The worst expected shortfall of the exponential mechanism and of permute-and-flip, over the number of candidates.
    `ax` draws in axes of yours, `path` saves the figure.

    >>> gap_figure(candidates=(2, 5)).axes[0].get_ylabel()
    'worst expected shortfall'
    """
    rules: dict[str, Selector] = {
        "exponential mechanism": Exponential(sensitivity=1, epsilon=epsilon),
        "permute-and-flip": PermuteAndFlip(sensitivity=1, epsilon=epsilon),
    }
    curves = {name: [worst_gap(rule, count) for count in candidates] for name, rule in rules.items()}
    curves["bound for 95 % of choices"] = [rules["permute-and-flip"].bound(candidates=count) for count in candidates]
    caption, y_label = f"sensitivity 1, epsilon {epsilon}", "worst expected shortfall"
    return lines_figure(candidates, curves, x_label="candidates", y_label=y_label, caption=caption, ax=ax, path=path)

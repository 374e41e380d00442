"""The probability that a key is shown, by the number of people who have it, drawn for each law."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.mechanisms.threshold import Threshold
from discreet.plots.lines import lines_figure
from discreet.selection.partition_selection import KeySelection

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def keys_figure(
    *,
    epsilon: object = 1,
    delta: object = 1e-5,
    max_groups: int = 1,
    users: Sequence[int] | None = None,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The chance of a key by each law, for people who have as many keys as they may, and for people who have one. `ax`
    draws in axes of yours, `path` saves the figure.

    >>> [line.get_label() for line in keys_figure(max_groups=3).axes[0].get_lines()][:2]
    ['optimal', 'weighted']
    """
    rules = {
        method: KeySelection(epsilon=epsilon, delta=delta, max_groups=max_groups, method=method)
        for method in ("optimal", "weighted")
    }
    noisy = Threshold(epsilon=epsilon, delta=delta, max_groups=max_groups)
    most = int(1.3 * max(rule.users() for rule in rules.values()))
    places = list(users or range(1, max(30, most)))
    curves = {method: [rule.probability(n) for n in places] for method, rule in rules.items()}
    if max_groups > 1:
        curves["weighted, one key a person"] = [rules["weighted"].probability(n, groups=1) for n in places]
    curves["Laplace threshold"] = [noisy.keep(n) for n in places]
    caption = f"epsilon {epsilon}, delta {delta}, up to {max_groups} keys a person"
    labels = {"x_label": "people who have the key", "y_label": "chance that it is shown"}
    return lines_figure(places, curves, **labels, caption=caption, logarithmic=False, ax=ax, path=path)

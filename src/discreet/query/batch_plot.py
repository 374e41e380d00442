"""The picture of a batch before it is released: the error of each table against epsilon."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import positive
from discreet.exact.given_values import in_memory
from discreet.planning.table_names import Name, label
from discreet.plots.lines import lines_figure
from discreet.query.explanation import Accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
MOST_CURVES = 7


def errors_against_epsilon(
    names: Sequence[Name],
    errors: Callable[[Fraction], Mapping[str, Accuracy]],
    epsilons: Sequence[object],
    *,
    ax: object,
    path: str | os.PathLike[str] | None,
) -> Figure:
    """A curve for each of the first tables, of its worst column, from errors by "table: column" at an epsilon."""
    if not in_memory(epsilons) or not epsilons:
        raise InvalidParameter(expected("a list of epsilons", "epsilons", epsilons, "write epsilons=[0.1, 1, 10]."))
    totals = [positive("epsilons", one) for one in epsilons]
    curves: dict[str, list[float]] = {label(name): [] for name in names[:MOST_CURVES]}
    for epsilon in totals:
        found = errors(epsilon)
        for name, own in curves.items():
            own.append(max(one.amount for column, one in found.items() if column.startswith(f"{name}: ")))
    left = len(names) - len(curves)
    caption = "95 % of the answers are off by at most so much" + (f"; {left} tables are left out" if left else "")
    x_label, y_label = "epsilon of the batch", "error of a cell"
    shown = list(map(float, totals))
    return lines_figure(shown, curves, x_label=x_label, y_label=y_label, caption=caption, ax=ax, path=path)

"""The picture of an answer shows what it was given, and every group that there is room for."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from discreet.plots.error_bars import MOST_LABELS, Panel, intervals_figure


def panel(size: int, *, truth: bool = False) -> Panel:
    values = np.arange(size, dtype=float)
    return Panel("visits", values, values - 1.0, values + 2.0, values + 0.5 if truth else None)


def drawn(figure: Any) -> list[tuple[Any, Any]]:
    """Points and bars of each panel."""
    found = []
    for axis in figure.axes:
        [container] = axis.containers
        [bars] = container.lines[2]
        found.append((container.lines[0].get_xdata(), np.array([part[:, 0] for part in bars.get_segments()])))
    return found


def test_points_and_bars_are_where_they_belong() -> None:
    figure = intervals_figure(["a", "b", "c"], [panel(3), panel(3)], caption="95% intervals", by="plan")
    for points, bars in drawn(figure):
        assert np.asarray(points).tolist() == [0, 1, 2]
        assert bars.tolist() == [[-1, 2], [0, 3], [1, 4]]
    assert figure.get_supxlabel() == "95% intervals"
    assert figure.axes[0].get_ylabel() == "plan"
    assert [axis.get_title() for axis in figure.axes] == ["visits", "visits"]


def test_the_first_group_is_on_top() -> None:
    [axis] = intervals_figure(["a", "b"], [panel(2)], caption="").axes
    assert axis.yaxis_inverted()
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b"]


def test_true_values_are_crosses_with_a_legend() -> None:
    figure = intervals_figure(["a", "b"], [panel(2, truth=True)], caption="")
    assert np.asarray(figure.axes[0].lines[-1].get_xdata()).tolist() == [0.5, 1.5]
    [legend] = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"private answer, with its interval", "true value"}
    assert intervals_figure(["a", "b"], [panel(2)], caption="").legends == []


@pytest.mark.parametrize(("groups", "named"), [(1, 1), (MOST_LABELS, MOST_LABELS), (MOST_LABELS + 1, 21), (1000, 40)])
def test_no_more_names_than_fit(groups: int, named: int) -> None:
    figure = intervals_figure([str(i) for i in range(groups)], [panel(groups)], caption="")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == named
    assert labels[0] == "0"
    assert figure.get_size_inches()[1] < 14


def test_an_end_on_the_wrong_side_is_drawn_as_none() -> None:
    """Clamped means may stand at an end of their interval; rounding may put them a hair beyond it."""
    edge = Panel("m", np.array([1.0]), np.array([1.0 + 1e-16]), np.array([0.9999999999999999]))
    [(_, bars)] = drawn(intervals_figure(["a"], [edge], caption=""))
    assert bars.tolist() == [[1.0, 1.0]]


def test_it_can_be_written() -> None:
    file = io.BytesIO()
    intervals_figure(["$a_b$", "NULL · é"], [panel(2)], caption="x").savefig(file, format="png")
    assert file.getvalue().startswith(b"\x89PNG")

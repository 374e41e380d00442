"""The picture of an answer shows what it was given, and every group that there is room for."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.plots.error_bars import MOST_LABELS, UNTOLD, Panel, bars_figure, intervals_figure


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


def test_a_value_that_is_not_known_is_a_dash_in_its_interval() -> None:
    unknown = Panel("m", np.array([1.0, np.nan]), np.array([0.0, 0.0]), np.array([2.0, 240.0]))
    for figure in (intervals_figure(["a", "b"], [unknown], caption=""), bars_figure(["a", "b"], [unknown], caption="")):
        axis: Any = figure.axes[0]
        [bars] = axis.containers[-1].lines[2]
        ends = [part[:, np.ptp(part, axis=0).argmax()].tolist() for part in bars.get_segments()]
        assert ends == [[0.0, 2.0], [0.0, 240.0]]
    [axis] = intervals_figure(["a", "b"], [unknown], caption="").axes
    assert [text.get_text() for text in axis.texts] == [UNTOLD]


@pytest.mark.parametrize("figure", [intervals_figure, bars_figure])
def test_an_interval_without_an_end_is_an_arrow_to_the_edge(figure: Any) -> None:
    """It had no bar at all, as if it were exact."""
    low, high = np.array([1.0, 0.0, -np.inf, 5.0, -np.inf]), np.array([np.inf, 4.0, 3.0, np.inf, np.inf])
    columns = [Panel("m", np.array([2.0, 1.0, 2.0, np.nan, np.nan]), low, high)]
    made = figure(list("abcde"), columns, caption="")
    made.savefig(io.BytesIO(), format="png")
    [axis] = made.axes
    arrows = [one for one in axis.texts if one.get_text() == ""]
    along = 1 if figure is bars_figure else 0
    found = {(int(one.xy[1 - along]), one.xy[along], one.xyann[along]) for one in arrows}
    assert found == {(0, 1.0, 2.0), (2, 0.0, 2.0), (3, 1.0, 5.0), (4, 0.0, 0.5), (4, 1.0, 0.5)}
    box = axis.get_window_extent()
    for one in arrows:
        edge = one.arrow_patch.get_path().vertices[:, along]
        reached = (box.x0, box.x1) if along == 0 else (box.y0, box.y1)
        assert min(abs(edge - reached[int(one.xy[along])])) < 2
    [bars] = axis.containers[-1].lines[2]
    ends = [sorted(part[:, along].tolist()) for part in bars.get_segments()[:4]]
    assert ends == [[1.0, 2.0], [0.0, 4.0], [2.0, 3.0], [5.0, 5.0]]


def test_a_histogram_is_bars_with_error_bars() -> None:
    figure = bars_figure(["[0, 1)", "[1, 2]"], [panel(2, truth=True)], caption="95% intervals", by="age_bin")
    axis: Any = figure.axes[0]
    assert [bar.get_height() for bar in axis.patches] == [0.0, 1.0]
    assert {bar.get_width() for bar in axis.patches} == {1.0}
    assert [label.get_text() for label in axis.get_xticklabels()] == ["[0, 1)", "[1, 2]"]
    assert (axis.get_xlabel(), figure.get_supxlabel()) == ("age_bin", "95% intervals")


def test_axes_of_the_caller_are_drawn_in() -> None:
    from matplotlib.figure import Figure

    own = Figure()
    first, second = own.subplots(1, 2)
    assert intervals_figure(["a"], [panel(1)], caption="said", ax=first) is own
    assert (first.get_title(), first.get_xlabel(), own.get_supxlabel(), second.get_title()) == (
        "visits",
        "said",
        "",
        "",
    )
    both = intervals_figure(["a"], [panel(1, truth=True), panel(1)], caption="", ax=np.array([first, second]))
    assert (both, len(own.axes), own.legends) == (own, 2, [])


@pytest.mark.parametrize("ax", [3, "ax", [], [1, 2]])
def test_what_are_no_axes(ax: object) -> None:
    with pytest.raises(InvalidParameter, match="axes of Matplotlib"):
        intervals_figure(["a"], [panel(1)], caption="", ax=ax)

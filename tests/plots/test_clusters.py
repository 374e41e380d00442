"""Points and centers are where they belong, and lost centers are told from kept ones."""

from __future__ import annotations

import numpy as np

from discreet.plots.clusters import MOST_POINTS, Scatter, bubbles_figure, clusters_figure, scattered


def test_centers_are_drawn_and_crossed_out() -> None:
    points = np.stack([np.arange(4.0), np.arange(4.0)], axis=1)
    centers = points[[0, 3]]
    nearest = np.array([0, 0, 1, 1])
    panels = [Scatter("a", centers, nearest, np.array([True, False])), Scatter("b", centers, nearest)]
    figure = clusters_figure(points, panels, caption="c")
    first, second = figure.axes
    assert [np.asarray(line.get_xdata()).tolist() for line in first.lines] == [[0.0], [3.0]]
    assert [np.asarray(line.get_xdata()).tolist() for line in second.lines] == [[0.0, 3.0]]
    np.testing.assert_array_equal(np.asarray(first.collections[0].get_offsets()), points)
    assert len(np.unique(np.asarray(first.collections[0].get_facecolor()), axis=0)) == 2


def test_many_points_are_thinned() -> None:
    points = np.zeros((3 * MOST_POINTS, 2))
    figure = clusters_figure(points, [Scatter("a", points[:1], np.zeros(len(points), dtype=np.intp))], caption="")
    assert len(np.asarray(figure.axes[0].collections[0].get_offsets())) <= 2 * MOST_POINTS


def test_points_that_come_in_turns_are_all_shown() -> None:
    """Of each of so many kinds that take turns, an equal part is drawn, but for a few."""
    for kinds in (2, 3, 4, 8, 13):
        shown = np.bincount(scattered(20_000, MOST_POINTS) % kinds, minlength=kinds)
        assert np.abs(shown - MOST_POINTS / kinds).max() < 10
    assert scattered(7, 7).tolist() == list(range(7))


def test_discs_have_areas_in_proportion() -> None:
    places = np.array([[0.0, 0.0], [1.0, 2.0]])
    figure = bubbles_figure(places, np.array([0.75, 0.25]), names=("x", "y"), caption="c")
    discs = figure.axes[0].collections[0]
    np.testing.assert_array_equal(np.asarray(discs.get_offsets()), places)
    assert [text.get_text() for text in figure.axes[0].texts] == ["75 %", "25 %"]

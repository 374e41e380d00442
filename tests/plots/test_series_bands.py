"""Bands over time: what is drawn is what was given."""

from __future__ import annotations

import datetime

import numpy as np

from discreet.plots.series_bands import Band, bands_figure

DAYS = [datetime.date(2026, 1, 1 + number) for number in range(4)]


def test_lines_and_bands_are_those_given() -> None:
    bands = [
        Band("A", DAYS, [1.0, 2, 3, 4], [0.0, 1, 2, 3], [2.0, 3, 4, 5]),
        Band("B", DAYS[1:], [5.0, 6, 7], [4.0, 5, 6], [6.0, 7, 8], [5.5, 6.5, 7.5]),
    ]
    figure = bands_figure({"each day": bands, "so far": bands[:1]}, y_label="n", caption="rho 1")
    first, second = figure.axes
    assert [np.asarray(line.get_ydata()).tolist() for line in first.lines] == [[1, 2, 3, 4], [5, 6, 7], [5.5, 6.5, 7.5]]
    assert [len(axis.collections) for axis in (first, second)] == [2, 1]
    assert figure.get_supxlabel() == "rho 1"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B", "true value"]


def test_one_line_without_a_name_needs_no_legend() -> None:
    assert not bands_figure({"": [Band("", DAYS, [1.0] * 4, [0.0] * 4, [2.0] * 4)]}, y_label="n").legends
    assert len(bands_figure({}, y_label="n").axes) == 1


def test_groups_have_the_names_that_they_have() -> None:
    """One that begins with an underscore was left out of the legend, and dollars made a formula."""
    lines = [Band(name, DAYS, [1.0] * 4, [0.0] * 4, [2.0] * 4) for name in ("_free", "$5-$9", "$$")]
    figure = bands_figure({"so far": lines}, y_label="$n$")
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [" _free", r"\$5-\$9", r"\$\$"]

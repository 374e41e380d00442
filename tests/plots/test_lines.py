"""Curves can be told apart without color."""

from __future__ import annotations

from pathlib import Path

from discreet.plots.lines import lines_figure


def test_curves_differ_in_dashes_and_marks(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d", "e", "f", "g"]
    curves = {name: [1.0 + i, 2.0 + i] for i, name in enumerate(names)}
    figure = lines_figure([1, 2], curves, x_label="x", y_label="y", caption="said below")
    (axis,) = figure.axes
    assert len({(line.get_linestyle(), line.get_marker()) for line in axis.lines}) == 7
    assert [text.get_text() for text in axis.get_legend().get_texts()] == names  # type: ignore[union-attr]  # it has one
    assert axis.get_xscale() == axis.get_yscale() == "log"
    figure.savefig(tmp_path / "lines.png")
    assert (
        lines_figure([0, 1], {"a": [0, 1]}, x_label="x", y_label="y", logarithmic=False).axes[0].get_xscale()
        == "linear"
    )

"""What the picture of the laws shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.selection.partition_selection import KeySelection
from discreet.selection.partition_selection_pictures import keys_figure


def curves(figure: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {line.get_label(): np.asarray(line.get_ydata()) for line in figure.axes[0].get_lines()}


def test_curves_are_the_chances() -> None:
    drawn = curves(keys_figure(epsilon=1, delta=1e-5, max_groups=10, users=range(1, 80)))
    assert set(drawn) == {"optimal", "weighted", "weighted, one key a person", "Laplace threshold"}
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=10)
    assert drawn["weighted"].tolist() == [rule.probability(n) for n in range(1, 80)]
    assert all(np.all(np.diff(curve) >= 0) for curve in drawn.values())


def test_nothing_is_above_the_optimum_at_one_key_a_person() -> None:
    drawn = curves(keys_figure(epsilon=1, delta=1e-5))
    assert set(drawn) == {"optimal", "weighted", "Laplace threshold"}
    assert all(np.all(curve <= drawn["optimal"] + 1e-15) for curve in drawn.values())

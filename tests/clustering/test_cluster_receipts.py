"""The receipt says what each step cost."""

from __future__ import annotations

from fractions import Fraction

from discreet.clustering.cluster_receipts import steps
from discreet.clustering.point_oracle import RecordedStep


def test_steps_are_told() -> None:
    recorded = [RecordedStep(what="sizes", epsilon=Fraction(1, 8), scale=8.0, answers=3)]
    assert steps(recorded) == [{"what": "sizes", "epsilon": "0.125", "scale": 8.0, "answers": 3}]

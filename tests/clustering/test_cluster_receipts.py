"""The receipt says what each step cost."""

from __future__ import annotations

from fractions import Fraction

from discreet.clustering.cluster_receipts import steps
from discreet.clustering.point_oracle import Booked


def test_steps_are_told() -> None:
    booked = [Booked(what="sizes", epsilon=Fraction(1, 8), scale=8.0, answers=3)]
    assert steps(booked) == [{"what": "sizes", "epsilon": "0.125", "scale": 8.0, "answers": 3}]

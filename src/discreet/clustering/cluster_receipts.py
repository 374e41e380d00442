"""Receipts of centers: the guarantee, and how each part of epsilon was spent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from discreet.clustering.lloyd import LloydResult
from discreet.clustering.point_oracle import RecordedStep
from discreet.clustering.points import SUMS, Points
from discreet.exact.amounts import decimal_text
from discreet.noise.entropy import RandomWords, is_private
from discreet.privacy.definitions import Neighbors


def receipt(
    found: LloydResult, points: Points, *, epsilon: Fraction, neighbors: Neighbors, words: RandomWords
) -> dict[str, Any]:
    """The receipt of the centers of an array, ready for JSON."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "private": is_private(words),
        "guarantee": f"{decimal_text(epsilon)}-differential privacy for {neighbors.value} neighbors",
        "unit": "each row",
        "neighbors": neighbors.value,
        "algorithm": found.method,
        "charge": {"epsilon": decimal_text(epsilon), "delta": "0"},
        "mechanism": "discrete Laplace",
        "steps": steps(points.recorded, points.worth),
        "not released": "the labels of the rows",
        "versions": {name: _version(name) for name in ("discreet", "numpy")},
    }


def steps(recorded: Sequence[RecordedStep], worth: float = 1.0) -> list[dict[str, Any]]:
    """The steps, ready for JSON; the scale of sums times what a step of their lattice is worth."""
    return [
        {
            "what": step.what,
            "epsilon": decimal_text(step.epsilon),
            "scale": step.scale * (worth if step.what == SUMS else 1.0),
            "answers": step.answers,
        }
        for step in recorded
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a tree that was never installed
        return "unknown"

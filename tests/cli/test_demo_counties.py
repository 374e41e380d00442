"""The study of the counties shows theory beside measurement, agreement, and two pictures."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from discreet.cli.demo_counties import EPSILON, MECHANISMS, reconciled, run
from discreet.testing.populations import counties


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo") / "pictures"
    console = Console(file=io.StringIO(), width=140)
    run(console, folder)
    return console.file.getvalue(), folder  # type: ignore[attr-defined]  # the file is the StringIO above


def test_theory_is_told(shown: tuple[str, Path]) -> None:
    """The exact expectation and the union bound for 3,143 counts at epsilon 0.1, both neighbor relations."""
    assert all(name in shown[0] for name in MECHANISMS)
    for figure in ("86.3", "90.5", "172.6", "181.1"):
        assert figure in shown[0]


def test_counties_and_states_agree() -> None:
    made = counties()
    _, found = reconciled(made)
    np.testing.assert_allclose(np.bincount(made.state_of, weights=found.values[0]), found.values[1])
    assert EPSILON == 0.1
    assert np.abs(found.values[0] - made.population).max() < 20 * 40, "40 scales: below 1e-13"


def test_pictures_are_drawn(shown: tuple[str, Path]) -> None:
    assert {path.name for path in shown[1].iterdir()} == {"every-county.png", "smallest-counties.png"}

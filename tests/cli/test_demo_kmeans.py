"""The study of clusters shows both algorithms, and pictures of what survives."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from discreet.cli.demo_kmeans import BOUNDS, CUSTOMERS, EPSILONS, customers, run


def test_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.demo_kmeans.RUNS", 1)
    console = Console(file=io.StringIO(), width=120)
    run(console, tmp_path / "pictures")
    told = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    assert all(f"{epsilon:g} │" in told for epsilon in EPSILONS)
    assert "best: 8 of 8 clusters survive" in told
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"clusters-lloyd.png", "clusters-best.png"}


def test_customers_are_between_the_bounds() -> None:
    rows = customers()
    assert rows.shape == (CUSTOMERS, 2)
    assert (rows.mean(axis=0) > BOUNDS[0]).all()
    assert ((rows >= BOUNDS[0]) & (rows <= BOUNDS[1])).all(axis=1).mean() > 0.99

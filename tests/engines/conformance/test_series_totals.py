"""Series on every engine: the same exact totals of every step as on DuckDB, and releases that go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.series.kept_step_totals import KeptSteps
from neighbor_bench import STORES
from series_fixtures import DAYS, ROWS, asked, day, exact, protected, until


@pytest.fixture(name="stored")
def _stored(backend_of: Callable[[str], Any], other: str) -> Callable[[str, pa.Table], Any]:
    """Puts rows where the engine has them."""
    backend = backend_of(other)
    return lambda name, rows: STORES[backend.name](backend, name, rows) if backend.name in STORES else rows


@pytest.mark.long
def test_every_step_has_the_same_totals(stored: Callable[[str, pa.Table], Any], other: str) -> None:
    """First steps of units, limits in each, late rows, months and weeks."""
    there = protected(stored("steps", ROWS), name=f"steps on {other}")
    for more in (
        {},
        {"every": "1 week", "until": "2026-01-21", "windows": (1, "all")},
        {"every": "1 month", "until": "2026-03-31", "windows": (1, "year")},
        {"arrives": "day", "late": "drop"},
    ):
        stated: dict[str, Any] = more
        one, two = asked(there, **stated), asked(protected(), **stated)
        strategy = two._plan({"epsilon": None, "delta": 0, "rho": 1}).strategy
        steps = min(DAYS, strategy.windows.steps)
        [found], [wanted] = exact(one, steps, strategy=strategy), exact(two, steps, strategy=strategy)
        assert np.array_equal(found, wanted)
        assert found.sum() > 0


def test_a_series_goes_on_there(stored: Callable[[str, pa.Table], Any], other: str) -> None:
    table = protected(stored("first_days", until(4)), budget=dp.Budget(rho=1), name=f"days on {other}")
    series = table.series(by="day", start="2026-01-01", until="2026-01-20", windows=(1, 7), max_steps=4)
    question = series.group_by("ward").agg(n=lambda t: t.count(), nights=lambda t: t.nights.mean())
    first = question.release(through="2026-01-04", rho=1)
    later = table.refreshed(stored("more_days", until(9)), version=2)
    asked_again = later.series(by="day", start="2026-01-01", until="2026-01-20", windows=(1, 7), max_steps=4)
    second = (
        asked_again.group_by("ward")
        .agg(n=lambda t: t.count(), nights=lambda t: t.nights.mean())
        .release(through="2026-01-09")
    )
    assert second.to_pyarrow().to_pylist()[: len(first)] == first.to_pyarrow().to_pylist()
    assert table.budget.spent.rho == 1


@pytest.mark.long
@pytest.mark.parametrize("case", [({"max_steps": 2}, {}), ({"apart": 3, "max_steps": 3}, {"unit": ("ward", "person")})])
def test_kept_steps_have_the_same_totals(
    stored: Callable[[str, pa.Table], Any], other: str, case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From tables that have the rows of new days alone."""
    asking, stated = case
    seen: list[Any] = []
    plain = KeptSteps.totals

    def totals(*given: Any) -> Any:
        seen.append(plain(*given))
        return seen[-1]

    monkeypatch.setattr(KeptSteps, "totals", totals)
    ends = [3, 4, 9]
    more = {"keep_steps": tmp_path, "name": f"kept on {other} {stated}", **stated}
    table = protected(stored("kept_0", until(3)), **more)
    for place, end in enumerate(ends):
        if place:
            rows = until(end).filter(pa.compute.greater_equal(until(end)["day"], pa.scalar(day(ends[place - 1]))))
            table = table.refreshed(stored(f"kept_{place}", rows), version=2 + place)
        asked(table, **asking).release(through=day(end - 1), rho=1)
    [wanted] = exact(asked(protected(**stated), **asking), 9)
    assert [np.array_equal(totals[0], wanted[:end]) for totals, end in zip(seen, ends, strict=True)] == [True] * 3
    assert len(list(tmp_path.rglob("*.steps"))) == 3

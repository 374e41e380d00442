"""Levels of a path on each engine: the totals of DuckDB, and no level moves further than its noise allows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms.gaussian import Gaussian
from hierarchy_fixtures import KEYS, PATH, ROWS, STATED, STATES
from neighbor_bench import Bench


@pytest.mark.long
@pytest.mark.parametrize("price", [(1, 0, None), (None, 0, 1)], ids=["epsilon", "rho"])
@pytest.mark.parametrize(("unit", "limits"), [(dp.ROW, {}), ("person", {"max_groups": 3, "max_rows": 2})])
def test_levels_are_those_of_duckdb(
    backend_of: Callable[[str], Any], other: str, unit: Any, limits: dict[str, int], price: Any
) -> None:
    """Place for place; and one person, or one row, is worth no more than is claimed."""
    listed = int(np.isin(ROWS["state"].to_numpy(zero_copy_only=False), STATES).argmax())
    own = np.arange(len(ROWS)) if unit is dp.ROW else ROWS["person"].to_numpy()
    left = own != own[listed]
    without, found = ROWS.filter(pa.array(left)), []
    for bench in (Bench(), Bench(backend_of(other))):
        table = bench.protect(ROWS, unit=unit, bounds=STATED["bounds"], **limits)
        groups = table.hierarchy(PATH, keys=dp.public_keys(KEYS), cells={"female": [True, False]})
        question = groups.agg(n=lambda t: t.count(), visits=lambda t: t.visits.sum())
        plan = question._plan(price, None, ([1, 1, 1], None), integers=False, confidence=0.95)
        both = [
            [plan.places.tree.sums(block.reshape(len(KEYS), -1)) for block in totals]
            for totals in (bench.totals(plan.plan), bench.totals(plan.plan, without))
        ]
        found.append([level.tolist() for block in both[0] for level in block])
        for noises, first, second in zip(plan.noises, *both, strict=True):
            for noise, one, two in zip(noises, first, second, strict=True):
                moved = np.abs(one.astype(object) - two.astype(object))
                if isinstance(noise, Gaussian):
                    assert Fraction(int((moved**2).sum())) <= noise.sensitivity**2
                else:
                    assert noise is not None
                    assert int(moved.sum()) <= noise.sensitivity
                assert moved.any()
    assert found[0] == found[1]

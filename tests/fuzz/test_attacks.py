"""Leaks that other libraries had, tried on real releases: overflow, rounding, NaN, clipping, absent keys, many rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.planning.noise_laws import width_of
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import chi_square_p, not_private
from discreet.testing.statistics import laplace_survival
from neighbor_bench import plan_of

Ask = Callable[[PrivateTable], Question]

FALSE_ALARM = 1e-9
NAN, INF = math.nan, math.inf


def protect(data: Any, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=10**7), "name": "attacked"} | stated
    return dp.protect(data, **facts)


def one(release: dp.Release, name: str) -> float:
    [value] = release[name].tolist()
    return float(value)


# -- B1: sums that overflow a type of the engine's, or of the noise -------------------------------------------

LARGEST: dict[str, tuple[pa.DataType, Any]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), 2**bits - 1) for bits in (8, 16, 32)},
    "int64": (pa.int64(), 2**62),
    "uint64": (pa.uint64(), 2**62),
    "float16": (pa.float16(), 65504.0),
    "float32": (pa.float32(), 2.0**127),
    "float64": (pa.float64(), 2.0**800),
    "decimal": (pa.decimal128(38, 0), Decimal(10**37)),
    "truth": (pa.bool_(), True),
}


def filled(kind: pa.DataType, value: Any, rows: int) -> pa.Array:
    values = [value] * rows
    return pa.array(np.array(values, np.float16)) if pa.types.is_float16(kind) else pa.array(values, kind)


@pytest.mark.long
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 200])
@pytest.mark.parametrize("name", LARGEST)
def test_sums_of_the_largest_values_do_not_wrap(name: str, rows: int) -> None:
    """At epsilon = 10 the noise is beyond 20 times its scale once in 2e9 releases."""
    kind, largest = LARGEST[name]
    bounds = {} if name == "truth" else {"v": (0, largest)}
    found = one(
        protect(pa.table({"v": filled(kind, largest, rows)}), bounds=bounds)
        .agg(s=lambda t: t.v.sum())
        .release(epsilon=10),
        "s",
    )
    assert abs(found - rows * float(largest)) <= 2 * float(largest) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["int8", "int32", "int64", "float64"])
def test_sums_of_the_smallest_values_do_not_wrap(name: str) -> None:
    kind, largest = LARGEST[name]
    table = protect(pa.table({"v": filled(kind, -largest, 200)}), bounds={"v": (-largest, largest)})
    found = one(table.agg(s=lambda t: t.v.sum()).release(epsilon=10), "s")
    assert abs(found + 200 * float(largest)) <= 2 * float(largest) * (1 + 1e-9)


@pytest.mark.parametrize("rows", [2**31 // 2**20 + 1, 2**11 + 1])
def test_sums_cross_the_ends_of_64_bits(rows: int) -> None:
    """2**52 + 1 some two thousand times passes 2**63; so does the unit with all these rows, before it is weighted."""
    value = 2**52 + 1
    data = pa.table({"person": [1] * rows, "v": pa.array([value] * rows, pa.int64())})
    table = protect(data, bounds={"v": (0, 2**53)})
    assert one(table.agg(s=table.v.sum()).release(epsilon=1000), "s") == pytest.approx(rows * value, rel=1e-3)
    weighted = protect(data, unit="person", max_rows=3, bounds={"v": (0, 2**53)})
    assert one(weighted.agg(s=weighted.v.sum()).release(epsilon=1000), "s") == pytest.approx(3 * value, rel=0.1)


@pytest.mark.parametrize("statistic", ["sum", "mean", "var"])
def test_lengths_and_years_do_not_wrap(statistic: str) -> None:
    data = pa.table(
        {"day": pa.array([2**31 - 1, -(2**31)] * 50, pa.int32()).view(pa.date32()), "s": ["x" * 100_000] * 100}
    )
    table = protect(data)
    for value, most in ((table.day.year(), 9999), (table.s.length(), 2**31)):
        found = one(table.agg(a=getattr(value, statistic)()).release(epsilon=1000), "a")
        assert 0 <= found <= 100 * float(most) ** 2


# -- B3, B4: many small addends, in any order -----------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_small_addends_are_not_lost(kind: type) -> None:
    """Added one by one in their own type, 2048 and 3,000 ones make 2048 or 4096. They are 5048, in each order."""
    large, ones = (2048.0, 3000) if kind is np.float16 else (2.0**24, 20_000)
    values: Any = np.array([large] + [1.0] * ones, kind)
    for order in (values, values[::-1]):
        table = protect(pa.table({"v": pa.array(order.copy())}), bounds={"v": (0, large)})
        found = [one(table.agg(s=table.v.sum()).release(epsilon=10_000, fresh=True), "s") for _ in range(5)]
        assert np.mean(found) == pytest.approx(large + ones, abs=20 * large / 10_000)


# -- B5: NaN, infinities, negative zero -----------------------------------------------------------------------

STRANGE = (NAN, INF, -INF, -0.0, 5e-324, 1e308, -1e308, None)
EVERY: Ask = lambda t: t.agg(  # noqa: E731 - one question for many tests
    n=t.v.count(), s=t.v.sum(), m=t.v.mean(), v=t.v.var(), d=t.v.std(), rows=lambda s: s.count(),
    root=(t.v.abs() + 1).sqrt().sum(), log=t.v.clip(0.5, 1).ln().mean(), half=(1 / (t.v + 2)).sum(),
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_one_strange_value_poisons_nothing(strange: float | None) -> None:
    data = pa.table({"v": pa.array([1.0] * 99 + [strange])})
    answer = EVERY(protect(data, bounds={"v": (-1, 1)})).release(epsilon=10**6).to_pyarrow()
    [found] = answer.to_pylist()
    assert all(math.isfinite(value) for value in found.values())
    assert not any(math.copysign(1, value) < 0 and value == 0 for value in found.values())
    inside = None if strange is None or math.isnan(strange) else min(max(strange, -1.0), 1.0)
    assert found["n"] == 99 + (inside is not None)
    assert found["rows"] == 100
    assert found["s"] == pytest.approx(99 + (inside or 0.0), abs=0.01)


# -- B7, E4: odd ranges, and the two kinds of neighbors -------------------------------------------------------


@pytest.mark.parametrize("ends", [(0, 1), (0, 3), (-1, 2), (-3, -1), (1, 2), (-5, 0)])
def test_no_half_of_an_odd_range_is_rounded_down(ends: tuple[int, int]) -> None:
    """In the column's own units, the sensitivity of a sum is exactly its widest move, for each kind of neighbors."""
    data = pa.table({"v": pa.array([0], pa.int64())})
    width, widest = ends[1] - ends[0], max(map(abs, ends))
    for stated, expected in (({}, widest), ({"neighbors": "replace-one", "rows": 1}, width)):
        table = protect(data, bounds={"v": ends}, **stated)
        [block] = plan_of(table.agg(s=table.v.fill_null(ends[0]).sum()), epsilon=1).blocks
        assert block.sensitivity * block.lattice.step / block.lattice.fine >= expected
    [pair] = plan_of(protect(data, bounds={"v": ends}).agg(m=lambda t: t.v.mean()), epsilon=1).blocks
    assert pair.sensitivity == pair.steps


def test_replacing_one_moves_two_cells() -> None:
    data = pa.table({"g": ["a", "b"]})
    asked: Ask = lambda t: t.group_by("g", keys={"g": ["a", "b"]}).agg(n=lambda s: s.count())  # noqa: E731 - as above
    [added] = plan_of(asked(protect(data)), epsilon=1).blocks
    [replaced] = plan_of(asked(protect(data, neighbors="replace-one", rows=2)), epsilon=1).blocks
    assert [added.sensitivity, replaced.sensitivity] == [1, 2]


# -- B8: clipping that is computed and not used ---------------------------------------------------------------


@pytest.mark.parametrize("ends", [(0, 100), (-1, 0), (-100, -50), (0, 1), (5, 6)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_million_times_the_bound_counts_as_the_bound(ends: tuple[int, int], sign: int) -> None:
    value = sign * 1e6 * max(map(abs, ends))
    table = protect(pa.table({"v": [value]}), bounds={"v": ends})
    answer = table.agg(s=table.v.sum(), m=(table.v * 1).mean()).release(epsilon=10_000)
    clipped = min(max(value, ends[0]), ends[1])
    assert one(answer, "s") == pytest.approx(clipped, abs=0.01 * max(map(abs, ends)))
    assert ends[0] <= one(answer, "m") <= ends[1]
    assert all(block.sensitivity > 0 for block in answer._plan.blocks)


# -- D2, D3: keys that are absent, and the order of keys ------------------------------------------------------


def test_absent_keys_are_like_keys_without_rows() -> None:
    """2,000 keys that no row has, and 2,000 whose rows a filter takes away: noise of their own, of one law."""
    data = pa.table({"k": pa.array(range(2000)), "x": [0.0] * 2000})
    table = not_private(protect(data, bounds={"x": (0, 1)}), seed=1)
    keys = {"k": [*range(2000), *range(10_000, 12_000)]}
    answer = (
        table.filter(table.x > 0.5)
        .group_by("k", keys=keys)
        .agg(n=lambda t: t.count(), m=lambda t: t.x.mean())
        .release(epsilon=1)
    )
    [block] = answer._totals
    scale = float(width_of(answer._plan.blocks[0].noise))
    for part in (block[:2000], block[2000:]):
        noise = np.array([[int(entry) for entry in row] for row in part])
        assert chi_square_p(noise, laplace_survival(scale)) > FALSE_ALARM
        assert np.unique(noise).size == noise.size
    frame = answer.to_pyarrow()
    low, high = (np.array(frame[name]) for name in ("m_low", "m_high"))
    dashes = np.array(frame["m"].is_null())
    assert np.array_equal(dashes, (low == 0) & (high == 1))
    assert np.all(np.isfinite(np.array(frame["m"].drop_null())))
    assert abs(float(dashes[:2000].mean() - dashes[2000:].mean())) < 0.1


def test_keys_come_in_the_stated_order_whatever_came_first() -> None:
    keys = ["b", "zz", None, "a"]
    for rows in (["a", "b"], ["b", "a"], ["zz"], [], [None, "q"]):
        table = protect(pa.table({"g": pa.array(rows, pa.string())}))
        answer = table.group_by("g", keys={"g": keys}).agg(n=lambda t: t.count()).release(epsilon=1)
        assert answer.to_pyarrow()["g"].to_pylist() == keys
        assert [str(kind) for kind in answer.to_pyarrow().schema.types] == ["string", *["int64"] * 3]


def test_answers_stand_beside_their_keys() -> None:
    """Keys of very different sizes, stated in an order that no engine would choose: each gets its own count."""
    sizes = {key: (key * 7919) % 400 for key in range(3000)}
    data = pa.table({"k": pa.array([key for key, size in sizes.items() for _ in range(size)], pa.int64())})
    keys = sorted(sizes, key=lambda key: (key * 4241) % 3001)
    answer = protect(data).group_by("k", keys={"k": keys}).agg(n=lambda t: t.count()).release(epsilon=1000)
    assert answer["n"].tolist() == [sizes[key] for key in keys]


# -- E1: one person with far more than the limits -------------------------------------------------------------


def test_a_thousand_rows_in_fifty_keys_count_as_the_limits_say() -> None:
    """Limits of 3 groups and 2 rows: over all keys, the person moves the counts by 6, at any epsilon."""
    others = [(i, i % 50, 1.0) for i in range(500)]
    rows = others + [(1000, i % 50, 1.0) for i in range(1000)]
    found = []
    for part in (rows, others):
        person, key, value = zip(*part, strict=True)
        table = protect(
            pa.table({"person": person, "k": key, "v": value}),
            unit="person",
            max_groups=3,
            max_rows=2,
            bounds={"v": (0, 1)},
        )
        answer = (
            table.group_by("k", keys={"k": range(50)})
            .agg(s=lambda t: t.v.sum(), n=lambda t: t.count())
            .release(epsilon=10**6)
        )
        found.append(answer)
    for name in ("s", "n"):
        assert float(np.abs(found[0][name] - found[1][name]).sum()) <= 6 + 0.01 + 50 * (name == "n")
    assert float(found[0]["s"].sum() - found[1]["s"].sum()) == pytest.approx(6, abs=0.01)


# -- A1, A2: which answers can occur --------------------------------------------------------------------------


def test_answers_of_all_tables_lie_on_one_grid() -> None:
    """Totals are integers before and after the noise, whatever the values: both inputs explain every last digit."""
    grids = []
    for value in (0.0, 1.0, 0.3, 2.0**-40):
        table = protect(pa.table({"v": [value]}), bounds={"v": (0, 1)})
        releases = [table.agg(s=table.v.sum()).release(epsilon=1, fresh=True) for _ in range(20)]
        block = releases[0]._plan.blocks[0]
        grids.append((block.lattice, block.steps, width_of(block.noise)))
        step = Fraction(block.lattice.step) / block.lattice.fine
        for release in releases:
            [[total]] = release._totals[0].tolist()
            assert one(release, "s") == float(int(total) * step)
    assert len(set(grids)) == 1


def test_dates_have_no_mean() -> None:
    table = protect(
        pa.table({"day": pa.array([datetime.date(2024, 1, 1)] * 3)}), bounds={"day": ("2000-01-01", "2030-01-01")}
    )
    with pytest.raises(dp.InvalidQuery):
        table.agg(m=lambda t: t.day.mean())

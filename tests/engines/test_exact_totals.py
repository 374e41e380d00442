"""Totals against the written rules in plain Python; and what must not change them: order, threads, partitions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
import discreet.engines.connected_engine as engine_module
from discreet.engines.duckdb import DuckDB
from discreet.planning.noise_laws import width_of
from discreet.planning.plan import Plan
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench, plan_of

Record = dict[str, Any]
Reference = Callable[..., list[list[int]]]

COLUMNS = (
    *(("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64())),
    *(("i", pa.int16()), ("b", pa.bool_())),
)
BOUNDS = {"x": (0, 5), "i": (-3, 7)}

VALUES: dict[str, tuple[Callable[[PrivateTable], Any], Callable[[Record], float | None]]] = {
    "x": (lambda t: t.x, lambda r: r["x"]),
    "i": (lambda t: t.i, lambda r: r["i"]),
    "i in 0..2": (lambda t: t.i.clip(0, 2), lambda r: none(lambda i: min(max(i, 0), 2), r["i"])),
    "-x": (lambda t: -t.x, lambda r: none(lambda x: -x, r["x"])),
    "x / 3": (lambda t: t.x / 3, lambda r: none(lambda x: x / 3, r["x"])),
    "x * i": (lambda t: t.x * t.i, lambda r: none(lambda x, i: x * i, r["x"], r["i"])),
    "b": (lambda t: t.b.cast("int64"), lambda r: none(int, r["b"])),
    "x, or 1": (lambda t: t.x.fill_null(1.0), lambda r: 1.0 if r["x"] is None else r["x"]),
    "1000 i": (lambda t: t.i * 1000 + 4321, lambda r: none(lambda i: i * 1000 + 4321, r["i"])),
}
WHERE: dict[str, tuple[Callable[[PrivateTable], Any] | None, Callable[[Record], bool | None]]] = {
    "all": (None, lambda _: True),
    "x > 1": (lambda t: t.x > 1, lambda r: none(lambda x: x > 1, r["x"])),
    "i is NULL": (lambda t: t.i.isnull(), lambda r: r["i"] is None),
    "not b": (lambda t: ~t.b, lambda r: none(lambda b: not b, r["b"])),
}
GROUPS: dict[str, tuple[tuple[str, ...], dict[str, list[Any]]]] = {
    "none": ((), {}),
    "plan": (("plan",), {"plan": ["b", None, "a", "absent"]}),
    "b": (("b",), {"b": [False, True]}),
    "plan, b": (("plan", "b"), {"plan": ["a", "b"], "b": [True, None]}),
}
STATISTICS: dict[str, Callable[[Any, Any, PrivateTable], dict[str, Any]]] = {
    "rows": lambda _, where, t: {"n": t._visible.count(where=where)},
    "sum": lambda x, where, _: {"s": x.sum(where=where)},
    "mean": lambda x, where, _: {"m": x.mean(where=where)},
    "mean and rows": lambda x, where, t: {"m": x.mean(where=where), "n": t._visible.count(where=where)},
    "variance": lambda x, where, _: {"v": x.var(where=where)},
    "variance and rows": lambda x, where, t: {"v": x.var(where=where), "n": t._visible.count(where=where)},
    "persons": lambda _, where, t: {"u": t.person.nunique(where=where)},
    "covariance": lambda x, where, t: {"c": x.cov(t.i, where=where)},
    "correlation and rows": lambda x, where, t: {"c": x.corr(t.i, where=where), "n": t._visible.count(where=where)},
}
PAIRED = ("covariance", "correlation and rows")


def none(function: Callable[..., Any], *values: Any) -> Any:
    """SQL's rule: NULL where an argument is."""
    return None if None in values else function(*values)


def behind_the_barrier(row: tuple[Any, ...]) -> Record:
    """A raw row as questions see it: NaN as NULL, everything else within its bounds."""
    record = dict(zip((name for name, _ in COLUMNS), row, strict=True))
    for name, (low, high) in BOUNDS.items():
        value = record[name]
        inside = None if value is None or value != value else min(max(value, low), high)  # noqa: PLR0124 (NaN)
        record[name] = float(inside) if name == "x" and inside is not None else inside
    return record


ROWS = st.lists(
    st.tuples(
        st.sampled_from((None, 1, 2, 3)),
        st.sampled_from((None, "a", "b", "c")),
        st.sampled_from((None, math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e308)) | st.floats(-1, 6),
        st.sampled_from((None, -(2**15), 2**15 - 1, 0, 1, 2, 5)),
        st.sampled_from((None, False, True)),
    ),
    max_size=14,
)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def arrow(rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    return pa.table({name: pa.array(part, kind) for part, (name, kind) in zip(columns, COLUMNS, strict=True)})


@pytest.mark.long
@settings(max_examples=150)
@given(
    rows=ROWS,
    value=st.sampled_from(sorted(VALUES)),
    where=st.sampled_from(sorted(WHERE)),
    groups=st.sampled_from(sorted(GROUPS)),
    statistic=st.sampled_from(sorted(STATISTICS)),
    by_person=st.booleans(),
    limits=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_totals_are_those_of_the_rules(
    bench: Bench,
    asked: Any,
    reference: Reference,
    *,
    rows: list[tuple[Any, ...]],
    value: str,
    where: str,
    groups: str,
    statistic: str,
    by_person: bool,
    limits: tuple[int, int],
) -> None:
    statistic = "rows" if statistic == "persons" and not by_person else statistic
    most_groups, most_rows = limits
    stated: dict[str, Any] = {"max_groups": most_groups, "max_rows": most_rows} if by_person else {}
    table = bench.protect(arrow(rows), unit="person" if by_person else dp.ROW, bounds=BOUNDS, **stated)
    condition, where_of = WHERE[where]
    written = STATISTICS[statistic](VALUES[value][0](table), None if condition is None else condition(table), table)
    names, keys = GROUPS[groups]
    question = table.group_by(*names, keys=keys).agg(**written) if names else table.agg(**written)
    plan = plan_of(question, epsilon=1)
    listed = list(itertools.product(*(keys[name] for name in names)))
    of: Callable[[Record], Any] = VALUES[value][1]
    if statistic in PAIRED:
        of = functools.partial(lambda of, r: none(lambda x, i: (x, i), of(r), r["i"]), of)
    python = asked(
        value=None if statistic in ("rows", "persons") else of,
        where=where_of,
        key=lambda r: tuple(r[name] for name in names),
        keys=listed,
        unit=(lambda r: r["person"]) if by_person else None,
        max_groups=min(most_groups, len(listed)) if by_person else len(listed),
        max_rows=most_rows,
    )
    [found] = bench.totals(plan)
    assert found.tolist() == reference(plan.blocks[0], python, [behind_the_barrier(row) for row in rows])


BIG = pa.table(
    {
        "person": pa.array([i * 7919 % 997 for i in range(30_000)], pa.int64()),
        "plan": pa.array(["abc"[i * i % 3] for i in range(30_000)]),
        "x": pa.array([math.nan if i % 11 == 0 else (i * 0.37) % 7 - 1 for i in range(30_000)], pa.float64()),
        "i": pa.array([None if i % 13 == 0 else i % 20 - 8 for i in range(30_000)], pa.int16()),
        "b": pa.array([i % 2 == 0 for i in range(30_000)]),
    }
)


def everything(table: PrivateTable) -> Question:
    return table.group_by("plan", keys={"plan": ["c", "a", "b", "d"]}).agg(
        n=lambda t: t.count(), m=lambda t: t.x.mean(), v=lambda t: t.i.var(), s=lambda t: (t.x * t.i).sum(where=t.b)
    )


def protected(data: Any, *, unit: Any) -> PrivateTable:
    limits: dict[str, Any] = {} if unit is dp.ROW else {"max_groups": 2, "max_rows": 5}
    return dp.protect(data, unit=unit, bounds=BOUNDS, budget=dp.Budget(epsilon=1), name="big", **limits)


@pytest.fixture(scope="module", params=["row", "person"])
def known(request: pytest.FixtureRequest) -> tuple[Plan, list[Any]]:
    """A plan about `BIG` and its totals."""
    table = protected(BIG, unit=dp.ROW if request.param == "row" else "person")
    plan = plan_of(everything(table), epsilon=1)
    return plan, DuckDB(BIG, None).totals(plan)


def same(known: tuple[Plan, list[Any]], engine: DuckDB) -> bool:
    plan, totals = known
    return set(l1_distances(totals, engine.totals(plan))) == {0}


@pytest.mark.long
@pytest.mark.parametrize("order", ["reversed", "shuffled", "by value"])
def test_order_changes_no_total(known: tuple[Plan, list[Any]], order: str) -> None:
    if order == "by value":
        assert same(known, DuckDB(BIG.sort_by("x"), None))
        return
    places = np.arange(BIG.num_rows) * (-1 if order == "reversed" else 7919) % BIG.num_rows
    assert sorted(set(places.tolist())) == list(range(BIG.num_rows))
    assert same(known, DuckDB(BIG.take(pa.array(places)), None))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_total(known: tuple[Plan, list[Any]], threads: int) -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"SET threads = {threads}")
    assert same(known, DuckDB(connection.create_table("big", BIG), None))


@pytest.mark.parametrize("row_group", [100, 2048, 1_000_000])
def test_partitions_change_no_total(known: tuple[Plan, list[Any]], tmp_path: Path, row_group: int) -> None:
    pq.write_table(BIG, tmp_path / "one.parquet", row_group_size=row_group)
    assert same(known, DuckDB(tmp_path / "one.parquet", None))


def test_several_files_change_no_total(known: tuple[Plan, list[Any]], tmp_path: Path) -> None:
    for i, start in enumerate((20_000, 0, 12_345)):
        end = {20_000: 30_000, 0: 12_345, 12_345: 20_000}[start]
        pq.write_table(BIG.slice(start, end - start), tmp_path / f"{i}.parquet")
    assert same(known, DuckDB(str(tmp_path / "*.parquet"), None))


def test_chunks_change_no_total(known: tuple[Plan, list[Any]]) -> None:
    chunks = pa.concat_tables([BIG.slice(i, 777) for i in range(0, BIG.num_rows, 777)])
    assert same(known, DuckDB(chunks, None))


@pytest.mark.parametrize("statistic", ["cov", "corr"])
def test_every_column_of_a_product_is_clipped(monkeypatch: pytest.MonkeyPatch, statistic: str) -> None:
    """The same where it is of two columns, and only one of them is beyond its bounds."""
    monkeypatch.setattr(engine_module, "barrier", lambda raw, *_: raw)
    data = pa.table({"x": [1.0, 20.0, -20.0, 1.0, 1.0], "y": [1.0, 1.0, 1.0, 20.0, -20.0]})
    table = dp.protect(data, unit=dp.ROW, bounds={"x": (0, 5), "y": (0, 5)}, budget=dp.Budget(epsilon=1), name="xy")
    plan = plan_of(table.agg(a=getattr(table.x, statistic)(table.y)), epsilon=1)
    [block] = plan.blocks
    for i in range(len(data)):
        [total] = DuckDB(data.slice(i, 1), None).totals(plan)
        assert sum(map(int, total.ravel())) == block.steps
        assert all(int(entry) >= 0 for entry in total.ravel())


def test_products_of_three_columns_are_added_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 18 totals, to the last step, as Python's integers have them, of rows that are in and out of their bounds."""
    monkeypatch.setattr(engine_module, "barrier", lambda raw, *_: raw)
    rows = [(0, 7, 3), (5, 0, 9), (2, 3, 1), (20, -4, 5), (-20, 9, 30)]
    missing = [(None, 1, 1), (1, None, 1), (1, 1, None)]
    data = pa.table({name: [row[k] for row in (*rows, *missing)] for k, name in enumerate("xyz")})
    bounds = {"x": (0, 5), "y": (0, 7), "z": (0, 9)}
    table = dp.protect(data, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=1), name="xyz")
    plan = plan_of(table.regress("z", ["x", "y"]), epsilon=1)
    [block] = plan.blocks

    def split(value: int, high: int, steps: int, degree: int) -> list[int]:
        u = min(max(value, 0), high) / high
        top = math.floor(u**degree * steps + 0.5)
        low = math.floor((1 - u) ** degree * steps + 0.5) if degree == 2 else steps - top
        return [low, steps - low - top, top] if degree == 2 else [low, top]

    wanted = [0] * 18
    for row in rows:
        own = [split(*one) for one in zip(row, (5, 7, 9), block.factors, (2, 2, 1), strict=True)]
        for place, chosen in enumerate(itertools.product(*own)):
            wanted[place] += math.prod(chosen)
    assert sum(wanted) == 5 * block.steps
    for part in (data, data.take([7, 3, 1, 6, 2, 5, 4, 0])):
        [total] = DuckDB(part, None).totals(plan)
        assert list(map(int, total.ravel())) == wanted


@pytest.mark.parametrize("statistic", ["sum", "mean", "var"])
@pytest.mark.parametrize("unit", [dp.ROW, "person"], ids=["row", "person"])
def test_integers_are_clipped_whatever_the_value(monkeypatch: pytest.MonkeyPatch, unit: Any, statistic: str) -> None:
    """Were the barrier to fail, one row would still count no more than the steps that its sensitivity is made of."""
    monkeypatch.setattr(
        engine_module,
        "barrier",
        lambda raw, unit, *_: raw.mutate(**{f"__discreet_unit_{i}": raw[name] for i, name in enumerate(unit)}),
    )
    data = pa.table({"person": [1, 2, 3], "x": [20.0, -20.0, 3.0]})
    limits: dict[str, Any] = {} if unit is dp.ROW else {"max_rows": 1}
    table = dp.protect(data, unit=unit, bounds={"x": (0, 5)}, budget=dp.Budget(epsilon=1), name="x", **limits)
    plan = plan_of(table.agg(a=getattr(table.x, statistic)()), epsilon=1)
    block = plan.blocks[0]
    for rows in (data.slice(0, 1), data.slice(1, 1), data.slice(2, 1)):
        [total] = DuckDB(rows, None).totals(plan)
        assert sum(abs(int(entry)) for entry in total.ravel()) <= block.steps
        assert all(int(entry) >= 0 for entry in total.ravel())


@pytest.mark.long
@settings(max_examples=60)
@given(
    ends=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)),
    share=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    epsilon=st.sampled_from((Fraction(1, 1000), 1, 100)),
)
def test_the_lattice_is_as_fine_as_it_says(
    bench: Bench, ends: tuple[float, float], share: list[float], epsilon: Any
) -> None:
    low, high = ends[0], ends[0] + ends[1]
    values = [min(max(low + (high - low) * part, low), high) for part in share]
    table = bench.protect(pa.table({"x": values}), unit=dp.ROW, bounds={"x": (low, high)})
    plan = plan_of(table.agg(m=table.x.mean()), epsilon=epsilon)
    [[[above, below]]], [block] = bench.totals(plan), plan.blocks
    assert above + below == len(values) * block.steps
    exact = sum((Fraction(value) - block.lattice.origin for value in values), start=Fraction(0))
    assert abs(above * block.lattice.step / block.lattice.fine - exact) <= len(values) * block.lattice.step * Fraction(
        51, 100
    )
    assert width_of(block.noise) > 10**5  # in steps, each row being off by half of one at most


def test_every_row_is_counted_once(bench: Bench) -> None:
    """Parts, NULLs and rest of all rows add up to the number of rows, in each group."""
    data = pa.table({"g": ["a", "b", "a", None], "x": [1.0, None, math.nan, 2.0]})
    table = bench.protect(data, unit=dp.ROW, bounds={"x": (0, 5)})
    plan = plan_of(
        table.group_by("g", keys={"g": ["b", "a", "z", None]}).agg(v=table.x.var(), n=lambda t: t.count()), epsilon=1
    )
    [totals], [block] = bench.totals(plan), plan.blocks
    assert [sum(row) for row in totals.tolist()] == [block.steps * n for n in (1, 2, 0, 1)]


def test_null_is_no_value_of_a_variance(bench: Bench) -> None:
    """LEAST passes over NULL on DuckDB: a clip that used it would count each NULL as the largest value."""
    table = bench.protect(pa.table({"x": pa.array([None, math.nan, 0.0])}), unit=dp.ROW, bounds={"x": (0, 1)})
    plan = plan_of(table.agg(v=table.x.var()), epsilon=1)
    [[totals]] = bench.totals(plan)
    assert totals.tolist() == [0, plan.blocks[0].steps, 0]


def test_null_in_either_column_drops_the_pair(bench: Bench) -> None:
    data = pa.table({"x": pa.array([None, 1.0, 1.0, math.nan, None]), "y": pa.array([1.0, None, 1.0, 1.0, None])})
    table = bench.protect(data, unit=dp.ROW, bounds={"x": (0, 1), "y": (0, 1)})
    for written, rows in (({}, [0, 0, 0, 1]), ({"n": lambda t: t.count()}, [0, 0, 0, 4, 1])):
        plan = plan_of(table.agg(c=table.x.cov(table.y), **written), epsilon=1)
        [[totals]] = bench.totals(plan)
        assert totals.tolist() == [plan.blocks[0].steps * n for n in rows]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        *("total_0_0", "TOTAL_0_0", "value_0_0", "value_0_1", "part_0_0", "high_0_1", "counted_0", "share_0_0"),
        *("sum_0_0", "held_0", "rows_0", "entry_0_0", "whole_0"),
    ],
)
@pytest.mark.parametrize("unit", [dp.ROW, "person"], ids=["row", "person"])
def test_names_of_columns_are_not_taken_for_totals(name: str, unit: Any) -> None:
    data = pa.table({"person": [1, 2, 3], name: [5, 5, 6]})
    limits: dict[str, Any] = {} if unit is dp.ROW else {"max_rows": 1, "max_groups": 1}
    table = dp.protect(data, unit=unit, budget=dp.Budget(epsilon=1), name="x", **limits)
    plan = plan_of(table.group_by(name, keys={name: [6, 5, 4]}).agg(n=lambda t: t.count()), epsilon=1)
    [totals] = DuckDB(data, None).totals(plan)
    assert [total / plan.blocks[0].steps for total in totals.ravel().tolist()] == pytest.approx([1, 2, 0])


def test_a_statement_serves_one_lattice_only(bench: Bench) -> None:
    """The same question at another epsilon may have another lattice; its totals must not be those of the first."""
    table = bench.protect(pa.table({"x": [1.0, 2.5]}), unit=dp.ROW, bounds={"x": (0, 5)})
    question = table.agg(m=table.x.mean())
    for epsilon in (1, Fraction(1, 10**8), 1):
        plan = plan_of(question, epsilon=epsilon)
        [[[above, below]]] = bench.totals(plan)
        assert above + below == 2 * plan.blocks[0].steps
        assert above / (above + below) == pytest.approx(0.35)

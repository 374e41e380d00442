"""Attacks through what an engine knows of a file: it must not decide about rows by statistics that rows can falsify.

A Parquet file keeps the least and the largest value of each row group, and NaN is neither: with the values 1, 2 and NaN
a thousand times over, an engine that trusts the file drops all of them for `v > 5`, and none of them once there is a
9.0. So one added row has changed a count by a thousand on two engines.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import plan_of
from old_parquet import BATCH, with_old_statistics

Ask = Callable[[PrivateTable], Question]

NAN, INF = math.nan, math.inf
TABLES: dict[str, tuple[list[Any], Any]] = {
    "NaN beside small values": ([1.0, 2.0] + [NAN] * 1000, 9.0),
    "NaN alone": ([NAN] * 1000, 9.0),
    "NaN beside infinity": ([1.0, -INF] + [NAN] * 1000, INF),
    "negative zero": ([-0.0] * 500 + [-1.0], 0.0),
    "zero": ([0.0] * 500, -0.0),
    "NULL beside NaN": ([None] * 500 + [NAN] * 500, 0.0),
    "NULL alone": ([None] * 1000, 1.0),
    "nobody": ([], NAN),
    "the largest": ([1.7976931348623157e308] * 10 + [NAN] * 1000, INF),
    "the smallest": ([5e-324] * 10 + [NAN] * 1000, 0.0),
}
QUESTIONS: dict[str, Ask] = {
    "v > 5": lambda t: t.filter(t.v > 5).count(),
    "v <= 5": lambda t: t.filter(t.v <= 5).count(),
    "not v > 5": lambda t: t.filter(~(t.v > 5)).count(),
    "v == v": lambda t: t.filter(t.v == t.v).count(),
    "v / 2 - v / 2 == 0": lambda t: t.filter(t.v / 2 - t.v / 2 == 0).count(),
    "v * 0 == 0": lambda t: t.filter(t.v * 0 == 0).count(),
    "v is NULL": lambda t: t.filter(t.v.isnull()).count(),
    "v is not NULL": lambda t: t.filter(t.v.notnull()).count(),
    "v < 0": lambda t: t.filter(t.v < 0).count(),
    "v >= 0": lambda t: t.filter(t.v >= 0).count(),
    "v == 9": lambda t: t.filter(t.v == 9).count(),
    "v in (2, 9)": lambda t: t.filter(t.v.isin([2.0, 9.0])).count(),
    "v between": lambda t: t.filter(t.v.between(5, 1e308)).count(),
    "coalesce": lambda t: t.filter(t.v.fill_null(7) > 5).count(),
    "null if": lambda t: t.filter(t.v.nullif(9.0).isnull()).count(),
    "greatest": lambda t: t.filter(ibis.greatest(t.v, 6.0) > 6).count(),
    "if": lambda t: t.filter(ibis.ifelse(t.v > 5, 1, 0) == 1).count(),
    "two conditions": lambda t: t.filter(t.v > 5, t.v < 100).count(),
    "or": lambda t: t.filter((t.v > 5) | (t.v < 0)).count(),
    "where": lambda t: t.agg(n=lambda s: s.count(where=s.v > 5), m=lambda s: s.v.clip(0, 9).mean(where=s.v > 5)),
    "new column": lambda t: t.mutate(w=t.v.clip(0, 10) * 2).filter(lambda s: s.w > 10).count(),
    "condition as key": lambda t: t.group_by(big=t.v > 5, keys={"big": [True, False, None]}).agg(n=lambda s: s.count()),
    "floor as key": lambda t: t.group_by(f=t.v.clip(0, 10).floor(), keys={"f": [9, None]}).agg(n=lambda s: s.count()),
    "sums": lambda t: t.agg(s=t.v.clip(-1, 9).sum(), v=t.v.clip(-1, 9).var(), n=t.v.count()),
}


def written(path: Path, table: pa.Table, row_group: int) -> str:
    """The table as a Parquet file with statistics; an empty table has an empty row group."""
    pq.write_table(table, path, row_group_size=row_group, write_statistics=True)
    return str(path)


def protected(data: Any, **declared: Any) -> PrivateTable:
    return dp.protect(data, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="v", **declared)


def check_neighbors(path: Path, ask: Ask, first: pa.Table, second: pa.Table) -> None:
    """Files of both tables, in small and large row groups, give the totals of the tables in memory; which are near."""
    table = protected(first)
    plan = plan_of(ask(table), epsilon=1)
    totals = []
    for data in (first, second):
        in_memory = DuckDB(data, None).totals(plan)
        for row_group in (50, 10_000):
            from_file = DuckDB(written(path / f"{row_group}.parquet", data, row_group), None).totals(plan)
            assert l1_distances(in_memory, from_file) == [0] * len(plan.blocks)
        totals.append(in_memory)
    for distance, block in zip(l1_distances(*totals), plan.blocks, strict=True):
        assert distance <= block.sensitivity


@pytest.mark.long
@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_statistics_of_reals_decide_nothing(tmp_path: Path, ask: Ask) -> None:
    base, added = TABLES["NaN beside small values"]
    first, second = (pa.table({"v": pa.array(part, pa.float64())}) for part in (base, [*base, added]))
    check_neighbors(tmp_path, ask, first, second)


@pytest.mark.long
@pytest.mark.parametrize("values", [name for name in TABLES if "small" not in name])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
def test_statistics_of_any_reals_decide_nothing(tmp_path: Path, values: str, kind: pa.DataType) -> None:
    base, added = TABLES[values]
    scalar = kind.to_pandas_dtype()

    def column(part: list[Any]) -> pa.Array:
        with np.errstate(over="ignore"):
            return pa.array([None if value is None else scalar(value) for value in part], kind)

    def ask(t: PrivateTable) -> Question:
        large, zero = t.v > 5, t.v == 0
        return t.agg(a=t.v.count(where=large), b=t.v.count(where=zero), c=t.v.count(where=t.v < 0), d=t.v.count())

    first, second = (pa.table({"v": column(part)}) for part in (base, [*base, added]))
    check_neighbors(tmp_path, ask, first, second)


COLUMNS: dict[str, tuple[pa.DataType, list[Any], Any, list[Any]]] = {
    "int8": (pa.int8(), [-128, 1, None], 127, [127, 0]),
    "int64": (pa.int64(), [-(2**63), 5, None], 2**63 - 1, [2**63 - 1, -(2**63)]),
    "uint32": (pa.uint32(), [1, 2**31], 2**32 - 1, [2**31, 2**32 - 1]),
    "uint64": (pa.uint64(), [1, 2**63], 2**64 - 1, [1, 2**63 - 1]),
    "text": (pa.string(), ["a", "é", "", None], "z" * 200, ["z" * 200, "é", ""]),
    "long text": (pa.string(), ["p" * 100 + "a", "p" * 100 + "b"], "p" * 100 + "c", ["p" * 100 + "c", "p" * 100 + "a"]),
    "NULL text": (pa.string(), [None] * 20, "a", ["a", "b"]),
    "date": (pa.date32(), [0, -(2**31), None], 18_262, ["1970-01-01", "2020-01-01"]),
    "timestamp": (pa.timestamp("us"), [0, 1, None], 10**15, ["1970-01-01", "2001-09-09T01:46:40"]),
    "timestamp in ns": (pa.timestamp("ns"), [0, 1, None], 10**15, ["1970-01-01", "1970-01-12T13:46:40"]),
    "truth": (pa.bool_(), [True, True, None], False, [False, True]),
    "decimal": (pa.decimal128(10, 2), [1, 2, None], 9, [9, 1.5]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", COLUMNS)
def test_statistics_of_other_columns_decide_nothing(tmp_path: Path, name: str) -> None:
    kind, base, added, constants = COLUMNS[name]
    stored = pa.int32() if pa.types.is_date(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind

    def column(part: list[Any]) -> pa.Array:
        return pa.array(part, stored).view(kind) if stored != kind else pa.array(part, kind)

    first, second = (pa.table({"v": column(part)}) for part in (base * 30, [*(base * 30), added]))

    def ask(t: PrivateTable) -> Question:
        equal, apart = t.v == constants[0], t.v != constants[-1]
        more = (
            {}
            if name == "truth"
            else {"c": t.v.count(where=t.v >= constants[0]), "d": t.v.count(where=t.v < constants[1])}
        )
        return t.agg(a=t.v.count(where=equal), b=t.v.count(where=apart), e=t.v.count(where=t.v.isnull()), **more)

    check_neighbors(tmp_path, ask, first, second)
    check_neighbors(tmp_path, lambda t: t.filter(t.v == constants[0]).count(), first, second)


@pytest.mark.long
@pytest.mark.parametrize("name", ["int8", "int64", "text", "NULL text", "date", "timestamp", "truth"])
def test_join_filters_of_keys_decide_nothing(tmp_path: Path, name: str) -> None:
    kind, base, added, _ = COLUMNS[name]
    stored = pa.int32() if pa.types.is_date(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind

    def column(part: list[Any]) -> pa.Array:
        return pa.array(part, stored).view(kind) if stored != kind else pa.array(part, kind)

    first, second = (pa.table({"v": column(part)}) for part in (base * 30, [*(base * 30), added]))
    listed = [None if value is None else value.as_py() for value in column([added, None]) if value is not None]
    check_neighbors(tmp_path, lambda t: t.group_by("v", keys={"v": listed}).agg(n=lambda s: s.count()), first, second)


def test_the_attack_works_on_the_raw_file(tmp_path: Path) -> None:
    """The attack is real: without the barrier, DuckDB's count of `v > 5` moves by far more than one."""
    base, added = TABLES["NaN beside small values"]
    counts = []
    for part in (base, [*base, added]):
        path = written(tmp_path / "raw.parquet", pa.table({"v": pa.array(part, pa.float64())}), 10_000)
        raw = ibis.duckdb.connect().read_parquet(path)
        counts.append(raw.filter(raw.v > 5).count().to_pyarrow().as_py())
    assert abs(counts[0] - counts[1]) > 100


TEXTS: dict[str, Ask] = {
    "equal": lambda t: t.filter(t.v == "b").count(),
    "in a list": lambda t: t.filter(t.v.isin(["b", "x"])).count(),
    "below": lambda t: t.filter(t.v < "c").count(),
    "begins with": lambda t: t.filter(t.v.startswith("b")).count(),
    "like": lambda t: t.filter(t.v.like("b%")).count(),
    "unequal": lambda t: t.filter(t.v != "b").count(),
    "where": lambda t: t.agg(n=lambda s: s.count(where=s.v == "b"), m=lambda s: (s.v == "b").sum()),
    "by keys": lambda t: t.group_by("v", keys={"v": ["b", "é"]}).agg(n=lambda s: s.count()),
    "NULL": lambda t: t.filter(t.v.isnull()).count(),
}


@pytest.mark.long
@pytest.mark.parametrize("seen", ["a file", "a view of a connection"])
@pytest.mark.parametrize("ask", TEXTS.values(), ids=TEXTS)
def test_statistics_of_old_writers_decide_nothing(tmp_path: Path, ask: Ask, seen: str) -> None:
    """By signed bytes é is below b: one text in another alphabet had DuckDB pass over all others of its row group."""
    base: list[str | None] = ["b"] * 300 + [None]
    totals = []
    for name, texts in (("first", base), ("second", [*base, "é"])):
        path = tmp_path / f"{name}.parquet"
        data = pa.table({"v": pa.array(texts, pa.string())})
        pq.write_table(data, path, store_schema=False)
        file: Any = str(with_old_statistics(path))
        if seen != "a file":
            connection = ibis.duckdb.connect()
            connection.raw_sql(f"CREATE VIEW v AS SELECT * FROM read_parquet('{path}')")  # noqa: S608 (a path of ours)
            file = connection.table("v")
        plan = plan_of(ask(protected(data)), epsilon=1)
        totals.append(DuckDB(data, None).totals(plan))
        assert l1_distances(totals[-1], DuckDB(file, None).totals(plan)) == [0] * len(plan.blocks)
    for distance, block in zip(l1_distances(*totals), plan.blocks, strict=True):
        assert distance <= block.sensitivity


def midnight(month: int, day: int) -> datetime.datetime:
    return datetime.datetime(2020, month, day)  # noqa: DTZ001 (as files have it)


Seen = Callable[[pa.Table, Path], Any]


def old_file(data: pa.Table, path: Path) -> str:
    pq.write_table(data, path, store_schema=False, use_dictionary=False, use_deprecated_int96_timestamps=True)
    return str(with_old_statistics(path))


def old_view(data: pa.Table, path: Path, where: str = "") -> Any:
    connection = ibis.duckdb.connect()
    connection.raw_sql(f"CREATE VIEW v AS SELECT * FROM read_parquet('{old_file(data, path)}') {where}")  # noqa: S608 (ours)
    return connection.table("v")


OLD: dict[str, Seen] = {
    "a file": old_file,
    "a view": old_view,
    "a view of some rows": lambda data, path: old_view(data, path, "WHERE v IS NOT NULL"),
}
EARLY, LATE = midnight(1, 1), [midnight(10, 13) + datetime.timedelta(days=i) for i in range(100)]
CLIPPED: dict[str, tuple[pa.DataType, list[Any], Any, Any, Ask]] = {
    "decimal": (
        pa.decimal128(38, 2),
        [Decimal("1.00"), Decimal("5.00")],
        Decimal("3.00"),
        (0, 4),
        lambda t: t.filter(t.v > 4.5).count(),
    ),
    "moment": (
        pa.timestamp("us"),
        [EARLY, LATE[60]],
        midnight(6, 1),
        ("2019-01-01", "2020-11-30"),
        lambda t: t.group_by(m=t.v.month(), keys={"m": [1, 6, 11, 12]}).agg(n=t.v.count()),
    ),
    "real": (pa.float64(), [5.0, -100.0], NAN, (0, 50), lambda t: t.filter(t.v < -60).count()),
}
"""A type, what a file has of it many times, what hides the second of them, bounds, and a question."""


def with_added(kind: pa.DataType, base: list[Any], added: list[Any]) -> pa.Table:
    """A table of many rows of each of two values, and of what is added between them."""
    few, many = ([one] * BATCH for one in base)
    return pa.table({"v": pa.array([*few, *added, *many], kind)})


@pytest.mark.long
@pytest.mark.parametrize("seen", OLD)
@pytest.mark.parametrize("name", CLIPPED)
def test_statistics_of_old_writers_clip_nothing(tmp_path: Path, name: str, seen: str) -> None:
    """By signed bytes 3.00 is above 5.00: one of it had DuckDB leave everybody's 5.00 as it is, beyond its bounds.

    A NaN hid the numbers after it.
    """
    kind, base, added, bounds, ask = CLIPPED[name]
    totals = []
    for data in (with_added(kind, base, []), with_added(kind, base, [added])):
        plan = plan_of(ask(protected(data, bounds={"v": bounds})), epsilon=1)
        totals.append(DuckDB(data, None).totals(plan))
        old = DuckDB(OLD[seen](data, tmp_path / "old.parquet"), None)
        assert l1_distances(totals[-1], old.totals(plan)) == [0] * len(plan.blocks)
    for distance, block in zip(l1_distances(*totals), plan.blocks, strict=True):
        assert distance <= block.sensitivity


def test_statistics_of_old_writers_leave_no_unit_out(tmp_path: Path) -> None:
    """Units meet by their least and largest: a row group that seems to have none between these is passed over."""
    data = pa.table({"v": pa.array([EARLY, *LATE, midnight(6, 1)], pa.timestamp("us"))})
    old = old_view(data, tmp_path / "old.parquet")
    old.get_backend().create_table("late", pa.table({"v": pa.array(LATE, pa.timestamp("us"))}))
    budget = dp.Budget(epsilon=1)
    first, second = (
        dp.protect(table, unit="v", max_rows=1, budget=budget, name=name)
        for name, table in {"old": old, "late": old.get_backend().table("late")}.items()
    )
    question: Any = first.join(second.select("v"), ["v"]).agg(n=lambda t: t.count())
    [found] = question._source._engine.totals(plan_of(question, epsilon=1))
    assert found.tolist() == [[len(LATE)]]


@pytest.mark.parametrize("seen", OLD)
def test_statistics_of_old_writers_leave_no_step_out(tmp_path: Path, seen: str) -> None:
    data = pa.table({"v": pa.array([EARLY, *LATE, midnight(6, 1)], pa.timestamp("us"))})
    plan = plan_of(protected(data).count(), epsilon=1)
    engine = DuckDB(OLD[seen](data, tmp_path / "old.parquet"), None)
    [found] = engine.since("v", LATE[0]).totals(plan)
    assert found.tolist() == [[len(LATE)]]


@pytest.mark.parametrize("name", CLIPPED)
def test_the_attack_works_on_the_raw_statistics_of_old_writers(tmp_path: Path, name: str) -> None:
    kind, base, added, *_ = CLIPPED[name]
    raw = old_view(with_added(kind, base, [added]), tmp_path / "old.parquet")
    assert not raw.filter(raw.v == base[1]).count().to_pyarrow().as_py()

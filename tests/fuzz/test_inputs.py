"""The same table by every door: Arrow, pandas, polars, Parquet and CSV give the same totals, to the last digit.

With the fuzz of neighbors this carries the claim from one door to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import discreet as dp
from depth import examples
from discreet.engines.duckdb import DuckDB
from discreet.engines.inputs import connection
from discreet.engines.multi_table_engine import TableEngine, TablePart, several_tables
from discreet.errors import InvalidQuery
from discreet.planning.plan import Plan
from discreet.testing.neighbors import Rows, l1_distances, rows_of
from neighbor_bench import plan_of
from random_questions import questions

EXAMPLES = examples(30)
PLAIN = (
    *(("person", pa.int64()), ("site", pa.string()), ("plan", pa.string()), ("v", pa.float32()), ("x", pa.float64())),
    *(("i", pa.int32()), ("b", pa.bool_()), ("day", pa.date32()), ("at", pa.timestamp("us"))),
)

SCHEMA = {
    "person": "int64",
    "site": "string",
    "plan": "string",
    "v": "float32",
    "x": "float64",
    "i": "int32",
    "b": "boolean",
    "day": "date",
    "at": "timestamp",
}

Door = Callable[[pa.Table, Path], DuckDB]


def as_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)


def by_parquet(table: pa.Table, folder: Path, **options: Any) -> DuckDB:
    pq.write_table(table, folder / "table.parquet", **options)
    return DuckDB(folder / "table.parquet", None)


def by_several_files(table: pa.Table, folder: Path) -> DuckDB:
    third = -(-table.num_rows // 3)
    for i in range(3):
        pq.write_table(table.slice(i * third, third), folder / f"part{i}.parquet")
    return DuckDB(str(folder / "part*.parquet"), None)


def by_csv(table: pa.Table, folder: Path) -> DuckDB:
    """Written by DuckDB, with quotes around every text, so that an empty one is not taken for NULL."""
    raw = connection().con
    raw.register("written", table)
    texts = ", ".join(field.name for field in table.schema if pa.types.is_string(field.type))
    raw.execute(f"COPY written TO '{folder / 'table.csv'}' (HEADER, FORCE_QUOTE ({texts}))")
    return DuckDB(folder / "table.csv", SCHEMA)


def with_years(rows: Rows) -> Rows:
    """Without the dates and times that text of four-digit years cannot say."""
    days, second = (-719_162, 2_932_896), 86_400 * 10**6
    ends = {"day": days, "at": (days[0] * second, days[1] * second)}
    limits = [ends.get(name) for name in rows.names]
    return rows.with_rows(
        tuple(
            value if limit is None or value is None or limit[0] <= value <= limit[1] else None
            for value, limit in zip(row, limits, strict=True)
        )
        for row in rows.rows
    )


def joined(engine: DuckDB, plan: Plan) -> TableEngine:
    """What answers the plan: a table that meets itself on some key is one of several, with a barrier of its own."""
    parts = plan.query.declaration.parts
    return several_tables((TablePart(parts[0], engine),)) if parts else engine


DOORS: dict[str, Door] = {
    "record batch": lambda table, _: DuckDB(as_batch(table), None),
    "pandas": lambda table, _: DuckDB(table.to_pandas(types_mapper=pd.ArrowDtype), None),
    "polars": lambda table, _: DuckDB(pl.from_arrow(table), None),
    "lazy polars": lambda table, _: DuckDB(pl.DataFrame(table).lazy(), None),
    "Parquet": by_parquet,
    "Parquet in small groups": lambda table, folder: by_parquet(table, folder, row_group_size=2),
    "several Parquet files": by_several_files,
    "CSV": by_csv,
    "Parquet without dictionaries": lambda table, folder: by_parquet(table, folder, use_dictionary=False),
}


@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
@given(rows=rows_of(PLAIN), data=st.data())
def test_every_door_leads_to_the_same_totals(
    tmp_path_factory: pytest.TempPathFactory, door: str, rows: Rows, data: st.DataObject
) -> None:
    table = (with_years(rows) if door == "CSV" else rows).to_arrow()
    facts: dict[str, Any] = {"unit": "person", "bounds": {"x": (0, 5)}, "max_rows": 2}
    protected = dp.protect(table, budget=dp.Budget(epsilon=1), name="door", **facts)
    try:
        plan = plan_of(data.draw(questions(protected)), epsilon=1)
    except InvalidQuery:
        reject()
    expected = joined(DuckDB(table, None), plan).totals(plan)
    found = joined(DOORS[door](table, tmp_path_factory.mktemp("door")), plan).totals(plan)
    assert l1_distances(expected, found) == [0] * len(plan.blocks)


CHANGES = ("nothing", "rows", "order", "names", "types", "fewer", "more", "gone")
"""What becomes of one file of several between `protect` and the look."""


def written(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        raw = connection().con
        raw.register("written", table)
        raw.execute(f"COPY written TO '{path}' (HEADER)")


def changed(table: pa.Table, change: str, chosen: tuple[int, int]) -> pa.Table:
    """A table after a change of its columns or rows."""
    one, other = (table.column_names[i] for i in chosen)
    names = list(table.column_names)
    if change == "rows":
        return table.take([0] * 3 + list(range(table.num_rows)))
    if change == "order":
        names[chosen[0]], names[chosen[1]] = other, one
        return table.select(names)
    if change == "names":  # which a reader by position would not notice
        names[chosen[0]], names[chosen[1]] = other, one
        return table.rename_columns(names)
    if change == "types":
        return table.set_column(chosen[0], one, table[one].cast(pa.float32()))
    if change == "fewer":
        return table.drop_columns(one)
    return table.append_column("later", table[one]) if change == "more" else table


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("first", [False, True])
@settings(max_examples=max(EXAMPLES, 10), suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
@given(data=st.data())
def test_whatever_becomes_of_a_file_no_column_is_taken_for_another(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    first: bool,  # noqa: FBT001 (given by name)
    data: st.DataObject,
) -> None:
    """Refused, or read by name: a unit is never counted by what another column says."""
    folder = tmp_path_factory.mktemp("files")
    names = data.draw(st.permutations(["person", "amount", "at", "n"]))
    columns = {"person": [7] * 9, "amount": list(range(9)), "at": list(range(100, 109)), "n": [1] * 9}
    table = pa.table({name: pa.array(columns[name], pa.int64()) for name in names})
    for place in range(3):
        written(table, folder / f"{place}{suffix}")
    place, change = data.draw(st.integers(0, 2)), data.draw(st.sampled_from(CHANGES))
    chosen = data.draw(st.permutations(range(4)))
    after = changed(table, change, (chosen[0], chosen[1]))

    def move() -> None:
        if change == "gone":
            (folder / f"{place}{suffix}").unlink()
        elif change != "nothing":
            written(after, folder / f"{place}{suffix}")

    facts: dict[str, Any] = {"schema": dict.fromkeys(names, "int64")} if suffix == ".csv" else {}
    try:
        if first:
            move()
        people = dp.protect(str(folder / f"*{suffix}"), unit="person", max_rows=1, budget=dp.Budget(epsilon=9), **facts)
        if not first:
            move()
        engine: Any = people._source._engine  # type: ignore[attr-defined]  # the curator's source has it
        plan = plan_of(people.count(), epsilon=1)
        found = int(engine.totals(plan)[0][0, 0])
    except (dp.InvalidParameter, dp.EngineError):
        assert change in ("order", "names", "types", "fewer", "more", "gone")
        return
    by_name = change == "names" and suffix == ".parquet"  # what the file itself calls a person is one
    expected = len({*columns["person"], *after["person"].to_pylist()}) if by_name else 1
    assert found == expected
    # The columns of Parquet are those of the first file: what the others have more is not there for anybody.
    decides = suffix == ".parquet" and first and place == 0 and change == "fewer"
    assert change not in ("types", "fewer") or (suffix == ".csv" and change == "types") or decides

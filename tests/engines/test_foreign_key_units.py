"""Rows whose unit is named in another table: neighbors in all tables at once, by enumeration, and by the definition."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.engines import foreign_key_units
from discreet.engines.multi_table_engine import ALL_ROWS
from discreet.errors import EngineError
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench

Rows = tuple[tuple[Any, ...], ...]
Database = tuple[Rows, ...]
"""Its tables: rows of an own key, a key of the next table or a unit, and further values."""

LINES: Rows = tuple((i, key) for i, key in enumerate([1, 1, 2, 3, None]))
"""A row of each kind: each is kept or left out by itself."""
ORDERS = ((1, "a"), (1, "b"), (2, "a"), (2, "b"), (None, "a"), (1, None))
MIDDLE = ((1, "x"), (1, "y"), (2, "x"), (2, None), (None, "x"))
LAST = (("x", "a"), ("x", "b"), ("y", "a"), ("y", None), (None, "b"))


def choices(pool: Rows, most: int) -> Iterator[Rows]:
    """All tables of up to so many rows."""
    for number in range(most + 1):
        yield from itertools.combinations_with_replacement(pool, number)


def owners(database: Database) -> list[list[frozenset[Any]]]:
    """The units of each row of each table, by the definition."""
    found = [[frozenset() if None in row else frozenset([row[1]]) for row in database[-1]]]
    for here, after in zip(database[-2::-1], database[:0:-1], strict=True):
        of_keys = list(zip((row[0] for row in after), found[0], strict=True))
        keys = [row[1] for row in here]
        found.insert(0, [frozenset().union(*(whose for one, whose in of_keys if one == key != None)) for key in keys])  # noqa: E711 (one comparison)
    return found


def without(database: Database, unit: str) -> Database:
    """All tables without the rows that belong to a unit."""
    whose = owners(database)
    return tuple(
        tuple(row for row, of in zip(rows, own, strict=True) if unit not in of)
        for rows, own in zip(database, whose, strict=True)
    )


def counted(database: Database) -> set[tuple[Any, Any]]:
    """The rows of the first table that count, each with its unit."""
    rows = zip(database[0], owners(database)[0], strict=True)
    return {(row[0], *whose) for row, whose in rows if len(whose) == 1}


def arrow(names: Sequence[str], kinds: Sequence[pa.DataType], rows: Rows) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table({name: pa.array(col, kind) for name, col, kind in zip(names, columns, kinds, strict=True)})


def marked(database: Database, place: int) -> Database:
    """The same with other keys and units, so that many databases stand in one without meeting."""
    return tuple(
        tuple((f"{place} {row[0]}" if row[0] is not None else None, row[1] and f"{place} {row[1]}") for row in rows)
        for rows in database
    )


def many(databases: Sequence[Database]) -> list[set[tuple[Any, Any]]]:
    """What the engine counts of each of many databases: the rows of its first table, and their units."""
    whole: list[list[Any]] = [[] for _ in databases[0]]
    for place, database in enumerate(databases):
        for part, more in zip(whole, marked(database, place), strict=True):
            part.extend(more)
    names = [("own", "next"), *[(f"own{i}", f"next{i}") for i in range(1, len(whole) - 1)], ("key", "unit")]
    tables = [arrow(pair, [pa.string()] * 2, tuple(rows)) for pair, rows in zip(names, whole, strict=True)]
    via = [
        (tables[i], {names[i - 1][1]: names[i][0]})
        for i in range(1, len(tables))
    ]  # fmt: skip
    found: list[set[tuple[Any, Any]]] = [set() for _ in databases]
    table = dp.protect(tables[0], unit="unit", via=via, budget=dp.Budget(epsilon=1), name="lines", max_rows=5)
    source: Any = table._source
    seen = source._engine.run_statement(table.declaration, ALL_ROWS)
    assert seen["unit"] == seen["__discreet_unit_0"]
    for own, unit in zip(seen["own"].to_pylist(), seen["unit"].to_pylist(), strict=True):
        place, _, row = own.partition(" ")
        found[int(place)].add((int(row), unit.partition(" ")[2]))
    assert sum(map(len, found)) == len(seen)
    return found


PATHS: dict[str, Callable[[], list[Database]]] = {
    "one step": lambda: [(LINES, orders) for orders in choices(ORDERS, 4)],
    "two steps": lambda: [(LINES, *both) for both in itertools.product(choices(MIDDLE, 3), choices(LAST, 3))],
}


@pytest.mark.parametrize("name", PATHS)
def test_a_unit_moves_its_own_rows_and_no_others(name: str) -> None:
    """All databases of some size: what counts is what the definition says, and a unit's removal from all tables at once
    takes its own rows away, and changes nothing of any other's.
    """
    databases = PATHS[name]()
    found = many(databases)
    shared = 0
    for database, seen in zip(databases, found, strict=True):
        assert seen == counted(database), (name, database)
        shared += any(len(whose) > 1 for whose in owners(database)[0])
    assert shared > 40
    for unit in "ab":
        after = many([without(database, unit) for database in databases])
        for before, left in zip(found, after, strict=True):
            assert left == {row for row in before if row[1] != unit}


QUESTIONS: dict[str, Callable[[PrivateTable], Any]] = {
    "rows": lambda t: t.count(),
    "sums": lambda t: t.agg(units=_.unit.nunique(), s=_.v.sum(), m=_.v.mean()),
    "groups": lambda t: t.group_by("plan").agg(n=_.count(), s=_.v.sum()),
    "one row each": lambda t: t.per_unit(s=_.v.sum()).agg(s=_.s.clip(0, 5).sum()),
}
VALUES = ((3, "p"), (0, "q"), (1, "p"), (2, None), (3, "q"))


@pytest.mark.long
def test_a_unit_moves_no_total_further_than_claimed() -> None:
    bench = Bench()

    def tables(database: Database) -> list[pa.Table]:
        lines = tuple((*row, *VALUES[row[0]]) for row in database[0])
        kinds = [pa.int64(), pa.int64(), pa.int64(), pa.string()]
        first = arrow(["own", "next", "v", "plan"], kinds, lines)
        return [first, arrow(["key", "unit"], [pa.int64(), pa.string()], database[1])]

    databases: list[Database] = [(LINES, orders) for orders in choices(ORDERS, 2)]
    lines, orders = (bench.put(data, place) for place, data in enumerate(tables(databases[-1])))
    table = dp.protect(
        lines, unit="unit", via=[(orders, {"next": "key"})], bounds={"v": (0, 3)}, keys={"plan": ["p", "q"]},
        max_groups=2, max_rows=2, budget=dp.Budget(epsilon=1), name="lines",
    )  # fmt: skip
    plans = {name: bench.plan(ask(table), epsilon=1) for name, ask in QUESTIONS.items()}
    reached = set()
    for database in databases:
        bench.totals(plans["rows"], *tables(database))
        whole = {name: bench.totals(plan) for name, plan in plans.items()}
        for unit in "ab":
            bench.totals(plans["rows"], *tables(without(database, unit)))
            for name, plan in plans.items():
                for far, block in zip(l1_distances(whole[name], bench.totals(plan)), plan.blocks, strict=True):
                    assert far <= block.sensitivity
                    reached |= {name} if far == block.sensitivity else set()
    assert "rows" in reached


def seen_of(table: PrivateTable) -> list[dict[str, Any]]:
    """All rows that a question sees."""
    source: Any = table._source
    found: list[dict[str, Any]] = source._engine.run_statement(table.declaration, ALL_ROWS).to_pylist()
    return found


def protected(lines: Any, orders: Any, on: dict[str, str], unit: Any = "unit", **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"budget": dp.Budget(epsilon=10**6), "name": "lines", "max_rows": 9} | stated
    return dp.protect(lines, unit=unit, via=[(orders, on)], **facts)


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "texts": (pa.string(), ["é", "e", "E", "e ", ""]),
    "wide": (pa.decimal128(38, 0), [Decimal(10**37), Decimal(10**37 + 1), Decimal(0), Decimal(-1)]),
    "moments": (pa.timestamp("us"), [0, 1, -1, 10**15]),
    "days": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2024, 2, 29)]),
    "large": (pa.int64(), [2**63 - 1, 2**63 - 2, -(2**63), 2**53, 2**53 + 1]),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_compared_as_they_are(name: str) -> None:
    """No two keys are taken for one, also where bounds of the column would clip them to one."""
    kind, keys = KEYS[name]
    lines = pa.table({"key": pa.array(keys, kind), "own": range(len(keys))})
    orders = pa.table({"key": pa.array(keys, kind), "unit": range(len(keys))})
    bounds: dict[str, Any] = {"large": {"key": (0, 1)}, "days": {"key": ("2024-01-01", "2024-01-02")}}
    table = protected(lines, orders, {"key": "key"}, bounds=bounds.get(name))
    assert [(row["own"], row["unit"]) for row in seen_of(table)] == [(i, i) for i in range(len(keys))]


def test_keys_and_units_of_several_columns() -> None:
    lines = pa.table({"part": [1, 1, 2, 2, None], "supplier": ["x", "y", "x", "y", "x"], "v": [1, 2, 3, 4, 5]})
    orders = pa.table({
        "p": [1, 1, 2, 2, 2], "s": ["x", "y", "x", "y", "y"],
        "site": [7, 7, 7, 8, 8], "person": ["a", "b", "a", "c", "d"],
    })  # fmt: skip
    table = protected(lines, orders, {"part": "p", "supplier": "s"}, unit=["site", "person"])
    found = {row["v"]: (row["site"], row["person"]) for row in seen_of(table)}
    assert found == {1: (7, "a"), 2: (7, "b"), 3: (7, "a")}
    assert table.declaration.unit == ("site", "person")
    assert table.columns == ("part", "supplier", "v", "site", "person")


def test_rows_that_lead_nowhere_or_to_several_units_count_for_nobody() -> None:
    lines = pa.table({"order": [1, 2, 3, 4, None], "v": [1, 2, 4, 8, 16]})
    orders = pa.table({"key": [1, 1, 2, 2, 3], "unit": ["a", "a", "a", "b", None]})
    table = protected(lines, orders, {"order": "key"}, bounds={"v": (0, 100)})
    answer = table.agg(n=_.count(), s=_.v.sum(), units=_.unit.nunique()).release(epsilon=10**4)
    assert [round(answer[name].item()) for name in ("n", "s", "units")] == [1, 1, 1]


FRAMES = (
    pa.table({"order": [1, 1, 2], "v": [1, 2, 3]}),
    pa.table({"order": [1, 2], "customer": [5, 6]}),
    pa.table({"customer": [5, 6], "unit": ["a", "b"]}),
)
WANTED = [("a", 1), ("a", 2), ("b", 3)]


def through(lines: Any, orders: Any, customers: Any) -> PrivateTable:
    via = [(orders, {"order": "order"}), (customers, {"customer": "customer"})]
    return dp.protect(lines, unit="unit", via=via, budget=dp.Budget(epsilon=1), name="lines", max_rows=9)


def in_files(folder: Path) -> list[str]:
    paths = [str(folder / f"{name}.parquet") for name in ("lines", "orders", "customers")]
    for path, frame in zip(paths, FRAMES, strict=True):
        pq.write_table(frame, path)
    return paths


def rows_through(*tables: Any) -> list[tuple[Any, Any]]:
    return sorted((row["unit"], row["v"]) for row in seen_of(through(*tables)))


def test_a_path_leads_through_files_frames_and_tables(tmp_path: Path) -> None:
    paths = in_files(tmp_path)
    assert rows_through(*FRAMES) == rows_through(*paths) == WANTED
    assert rows_through(paths[0], FRAMES[1].to_pandas(), FRAMES[2]) == WANTED
    connection = ibis.duckdb.connect()
    stored = [connection.create_table(f"t{i}", frame) for i, frame in enumerate(FRAMES)]
    assert rows_through(*stored) == WANTED
    views = [connection.create_view(f"v{i}", one) for i, one in enumerate(stored)]
    assert rows_through(*views) == WANTED


@pytest.mark.parametrize("place", range(3))
def test_a_file_on_the_way_that_changed_is_refused(tmp_path: Path, place: int) -> None:
    """Before anything is charged; or, if it changes during the look, by the look."""
    paths = in_files(tmp_path)
    table = through(*paths)
    source: Any = table._source
    with pytest.raises(Exception, match=r"^$") as refusal, source._engine._unchanged():
        pq.write_table(FRAMES[place].slice(0, 1), paths[place])
    assert type(refusal.value).__name__ == "FilesChanged"
    pq.write_table(FRAMES[place].rename_columns(["other", *FRAMES[place].column_names[1:]]), paths[place])
    with pytest.raises(EngineError):
        table.count().release(epsilon=0.1)
    assert table.budget.spent.epsilon == 0


def test_looks_at_files_are_taken_of_all_tables_of_a_path(tmp_path: Path) -> None:
    paths = in_files(tmp_path)
    source: Any = through(*paths)._source
    look = source._engine.one_version()
    assert look is not None
    with pytest.raises(Exception, match=r"^$"), look:
        pq.write_table(FRAMES[2].slice(0, 1), paths[2])
    other: Any = through(paths[0], FRAMES[1], paths[2])._source
    assert other._engine.one_version() is None


def test_tables_of_one_unit_meet_with_it_carried_along() -> None:
    """Lines beside their orders: a join on the unit and the key."""
    budget = dp.Budget(epsilon=10**6)
    stated: dict[str, Any] = {"unit": "unit", "budget": budget, "max_rows": 9}
    lines = dp.protect(FRAMES[0], via=[(FRAMES[1], {"order": "order"}), (FRAMES[2], {"customer": "customer"})],
                       name="lines", bounds={"v": (0, 9)}, **stated)  # fmt: skip
    orders = dp.protect(FRAMES[1], via=(FRAMES[2], {"customer": "customer"}), name="orders", **stated)
    customers = dp.protect(FRAMES[2], name="customers", **stated)
    both = lines.join(orders, ["unit", "order"])
    answer = both.filter(_.customer == 5).agg(n=_.count(), s=_.v.sum()).release(epsilon=10**4)
    assert (round(answer["n"].item()), round(answer["s"].item())) == (2, 3)
    assert round(customers.join(lines, how="semi").count().release(epsilon=10**4)["count"].item()) == 2
    assert [entry.source for entry in budget.entries()] == ["lines, orders", "customers, lines"]


def apart(monkeypatch: pytest.MonkeyPatch, *, fault: bool) -> float:
    """How far the shares of counts below five are apart, of 120 answers each: with a unit that shares a key with each
    of ten others, and without it and all that belongs to it.
    """
    if fault:  # a row of two units counts for the least
        written = foreign_key_units.owned_rows
        monkeypatch.setattr(
            "discreet.engines.connected_engine.owned_rows", lambda *given: written(*given).partition(" WHERE p.")[0]
        )
    lines = pa.table({"order": range(10), "own": range(10)})
    both = pa.table({"key": [*range(10), *range(10)], "unit": [*range(10), *[10] * 10]})
    shares = []
    for rows, orders in ((lines, both), (lines.slice(0, 0), both.slice(0, 10))):
        question = protected(rows, orders, {"order": "key"}, max_rows=1).count()
        answers = [question.release(epsilon=0.5, fresh=True)["count"].item() for _i in range(120)]
        shares.append(sum(answer < 5 for answer in answers) / len(answers))
    return float(abs(shares[0] - shares[1]))


MOST = 0.245 + 2 * 0.252
"""Shares differ by (e^0.5 - 1) / (e^0.5 + 1) at most, and each is off by 0.252 once in four million (Hoeffding)."""


@pytest.mark.long
def test_answers_do_not_tell_whether_a_unit_shares_keys_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(monkeypatch, fault=False) < MOST


@pytest.mark.long
def test_the_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(monkeypatch, fault=True) > MOST

"""So many rows by a public order, and all others: which they are, and how many of them one unit changes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench

NUMBERS = pa.table({"who": [i // 2 for i in range(40)], "v": list(range(40))})


def protected(data: pa.Table = NUMBERS, name: str = "rows", **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=100), "bounds": {"v": (0, 40)}} | stated
    return dp.protect(data, name=name, **facts)


def values(table: PrivateTable) -> list[Any]:
    source: Any = table._source
    found: list[Any] = source._engine.run_statement(source.declaration, source._engine.compiled(table._relation))[
        "v"
    ].to_pylist()
    return sorted(found)


def test_so_many_rows_are_taken(exact: Any) -> None:
    table = protected()
    for number in (1, 7, 40, 99):
        taken, left = values(table.take(number)), values(table.skip(number))
        assert len(taken) == min(number, 40)
        assert sorted(taken + left) == list(range(40))
    assert values(table.take(7)) != list(range(7))
    assert set(values(table.take(3))) <= set(values(table.take(7)))
    assert exact(table.take(7).agg(n=_.count())) == {"n": [7]}
    persons = protected(unit="who", max_rows=1)
    assert len({v // 2 for v in values(persons.take(99))}) == 20
    assert persons.take(5).columns == ("v",)


def test_which_rows_are_taken_does_not_depend_on_how_they_are_stored() -> None:
    backwards = NUMBERS.take(list(range(39, -1, -1)))
    stated: list[dict[str, Any]] = [{}, {"unit": "who", "max_rows": 1}]
    for facts in stated:
        assert values(protected(**facts).take(7)) == values(protected(backwards, "others", **facts).take(7))


def test_what_is_claimed() -> None:
    rows, persons = protected(), protected(unit="who", max_rows=3)
    both = rows.union(rows)
    for made, changed, word in (
        (rows.take(5), 2, "rows that one unit changes"),
        (both.take(5), 4, "rows that one unit changes"),
        (both.skip(5), 2, "rows that one unit has"),
        (persons.take(5), 6, "rows that one unit changes"),
        (persons.skip(5), 3, "rows that one unit changes"),
    ):
        assert made.agg(n=_.count()).explain(epsilon=1)["limits"] == {word: changed}
    assert rows.skip(5).agg(n=_.count()).explain(epsilon=1)["totals"][0]["sensitivity"] == 1
    assert rows.skip(5).agg(m=_.v.median()).explain(epsilon=1)["limits"] == "none needed"


ROWS = ((1, 0), (1, 1), (2, 2), (2, 3), (3, 4))
WORLDS = [rows for n in range(5) for rows in itertools.combinations_with_replacement(ROWS, n)]
"""Tables of up to four rows, of three units."""


def table_of(rows: Any) -> pa.Table:
    who, v = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"who": pa.array(who, pa.int64()), "v": pa.array(v, pa.int64())})


def without(rows: Any, unit: Any) -> list[tuple[Any, ...]]:
    if unit == "who":
        left = {tuple(row for row in rows if row[0] != who) for who in (1, 2, 3)}
    else:
        left = {rows[:i] + rows[i + 1 :] for i in range(len(rows))}
    return sorted(left - {rows})


@pytest.mark.long
@pytest.mark.parametrize("verb", ["take", "skip"])
@pytest.mark.parametrize(("unit", "most"), [(dp.ROW, 1), ("who", 1), ("who", 2)], ids=str)
def test_a_unit_changes_no_more_rows_than_is_claimed(verb: str, unit: Any, most: int) -> None:
    """Of all tables and each unit, on the engine itself, to the last row; and one of them does change so many."""
    bench = Bench()
    facts = {"unit": unit, "bounds": {"v": (0, 4)}} | ({} if unit is dp.ROW else {"max_rows": most})
    table = bench.protect(table_of(ROWS), **facts)
    far = 0
    for number in (1, 2):
        made = getattr(table, verb)(number)
        plan = bench.plan(made.agg(n=_.count(), s=_.v.sum()), epsilon=1)
        source: Any = made._source
        statement = source._engine.compiled(made._relation)
        totals, found = {}, {}
        for rows in WORLDS:
            totals[rows] = bench.totals(plan, table_of(rows))
            found[rows] = Counter(source._engine.run_statement(source.declaration, statement)["v"].to_pylist())
        for rows in WORLDS:
            for left in without(rows, unit):
                gone, come = found[rows] - found[left], found[left] - found[rows]
                moved = (gone + come).total()
                assert moved <= made.declaration.rows_changed
                assert verb == "take" or not come
                far = max(far, moved)
                for apart, block in zip(l1_distances(totals[rows], totals[left]), plan.blocks, strict=True):
                    assert apart <= block.sensitivity
    assert far == most * (2 if verb == "take" else 1)


def test_replaced_rows_are_skipped(exact: Any) -> None:
    table = protected(neighbors="replace-one", rows=40)
    assert exact(table.skip(10).agg(n=_.count())) == {"n": [30]}


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no rows": (lambda: protected().take(0), InvalidParameter, "1 or more"),
    "no number": (lambda: protected().skip(cast(int, 2.5)), InvalidParameter, "1 or more"),
    "replaced rows": (lambda: protected(neighbors="replace-one", rows=40).take(1), InvalidQuery, "add-remove"),
    "replaced units": (
        lambda: protected(unit="who", max_rows=1, neighbors="replace-one", units=20).skip(1),
        InvalidQuery,
        "add-remove",
    ),
    "no limit": (lambda: protected(unit="who").take(1), InvalidQuery, "max_rows of the table"),
    "a limit to be found": (lambda: protected(unit="who", max_rows="auto").take(1), InvalidQuery, "max_rows of the"),
    "twice": (lambda: protected().take(5).take(2), InvalidQuery, "rows belong to one unit"),
    "a median": (lambda: protected().take(5).agg(m=_.v.median()), InvalidQuery, "rows belong to one unit"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    ask, kind, said = REFUSED[what]
    with pytest.raises(kind, match=said):
        ask()

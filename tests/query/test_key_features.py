"""One row for each key: what it holds, and how many of them one unit changes, by enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench

LOG = pa.table(
    {
        "who": [1, 1, 1, 2, 2, 3, None, 4],
        "query": ["flu", "flu", "news", "flu", "ibis", "flu", "flu", None],
        "seconds": [1.0, 2.0, 3.0, -0.0, 50.0, None, 9.0, 4.0],
        "clicked": [True, False, None, False, True, None, True, True],
    }
)


def searches(**stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "budget": dp.Budget(epsilon=100), "bounds": {"seconds": (0, 10)}} | stated
    return dp.protect(LOG, name="log", **facts)


def rows_of(table: PrivateTable) -> list[dict[str, Any]]:
    source: Any = table._source
    found = source._engine.run_statement(source.declaration, source._engine.compiled(table._relation))
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def test_features_of_keys() -> None:
    made = searches().per_key(
        "query", max_keys=3, n=_.count(), persons=_.who.nunique(), s=_.seconds.sum(), m=_.seconds.max(),
        some=_.clicked.any(), late=_.count(where=_.seconds > 2),
    )  # fmt: skip
    assert made.columns == ("query", "n", "persons", "s", "m", "some", "late")
    found = {row.pop("query"): row for row in rows_of(made)}
    assert found == {
        "flu": {"n": 4, "persons": 3, "s": 3.0, "m": 2.0, "some": True, "late": 0},
        "news": {"n": 1, "persons": 1, "s": 3.0, "m": 3.0, "some": None, "late": 1},
        "ibis": {"n": 1, "persons": 1, "s": 10.0, "m": 10.0, "some": True, "late": 1},
        None: {"n": 1, "persons": 1, "s": 4.0, "m": 4.0, "some": True, "late": 1},
    }


def test_what_can_be_asked(exact: Any, refused: Any) -> None:
    by = {"keys": {"query": ["flu", "news", "ibis"]}, "max_groups": 2, "max_rows": 9}
    made = searches(**by).per_key("query", persons=_.who.nunique())
    assert exact(made.agg(n=_.count(where=_.persons > 1))) == {"n": [1]}
    assert exact(made.group_by("query").agg(p=_.persons.clip(0, 9).sum()))["p"] == [3, 1, 1]
    facts = made.agg(n=_.count()).explain(epsilon=1)
    assert facts["limits"] == {"rows that one unit changes": 4}
    assert facts["unit"] == ["who"]
    assert "rows belong to one unit" in refused(InvalidQuery, made.agg, m=_.persons.clip(0, 9).median())
    assert "rows belong to one unit" in refused(InvalidQuery, made.per_key, "persons", n=_.count())
    one = searches(max_rows=1, max_groups=1, unit="who").per_unit(query=_.query.min())
    assert one.per_key("query", max_keys=5, n=_.count()).declaration.rows_changed == 2


def test_what_a_unit_keeps_does_not_depend_on_the_order_of_rows() -> None:
    facts: dict[str, Any] = {"unit": "who", "budget": dp.Budget(epsilon=1)}
    orders = (LOG, LOG.take([7, 5, 3, 1, 6, 4, 2, 0]))
    found = [
        sorted(map(repr, rows_of(dp.protect(log, name=f"log {i}", **facts).per_key("query", max_keys=1, n=_.count()))))
        for i, log in enumerate(orders)
    ]
    assert found[0] == found[1] != []


ROWS = ((1, "a", 0), (1, "b", 9), (1, None, 9), (2, "a", 9), (2, "b", 0))
WORLDS = [rows for n in range(5) for rows in itertools.combinations_with_replacement(ROWS, n)]
"""Tables of up to four rows, of two units with up to three keys."""


def table_of(rows: Any) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 3
    kinds = (("who", pa.int64()), ("k", pa.string()), ("v", pa.int64()))
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(kinds, columns, strict=True)})


def without(rows: Any, unit: Any) -> list[tuple[Any, ...]]:
    """The tables that remain without one unit: the person of this number, or any one row."""
    if unit == "who":
        left = {tuple(row for row in rows if row[0] != who) for who in (1, 2)}
    else:
        left = {rows[:i] + rows[i + 1 :] for i in range(len(rows))}
    return sorted(left - {rows}, key=repr)


@pytest.mark.long
@pytest.mark.parametrize(
    ("unit", "most", "reached"), [(dp.ROW, None, 2), ("who", 1, 2), ("who", 2, 4), ("who", 3, 4)], ids=str
)
def test_a_unit_changes_two_records_for_each_of_its_keys(unit: Any, most: int | None, reached: int) -> None:
    """Of all tables and each unit, on the engine itself: records that go and come, and totals of them."""
    bench = Bench()
    facts = {"unit": unit, "bounds": {"v": (0, 9)}, "keys": {"k": ["a", "b", None]}}
    made = bench.protect(table_of(ROWS), **facts).per_key("k", max_keys=most, n=_.count(), s=_.v.sum())
    claimed = made.declaration.rows_changed
    assert claimed == 2 * (most or 1)
    plan = bench.plan(made.group_by("k").agg(n=_.count(), s=_.s.clip(0, 27).sum(), m=_.n.clip(0, 3).sum()), epsilon=1)
    source: Any = made._source
    statement = source._engine.compiled(made._relation)
    records: dict[Any, Counter[Any]] = {}
    totals = {}
    for rows in WORLDS:
        totals[rows] = bench.totals(plan, table_of(rows))
        found = source._engine.run_statement(source.declaration, statement).to_pylist()
        records[rows] = Counter(tuple(row.values()) for row in found)
    far = 0
    for rows in WORLDS:
        for left in without(rows, unit):
            moved = ((records[rows] - records[left]) + (records[left] - records[rows])).total()
            assert moved <= claimed
            far = max(far, moved)
            for apart, block in zip(l1_distances(totals[rows], totals[left]), plan.blocks, strict=True):
                assert apart <= block.sensitivity
    assert far == reached


REFUSED: dict[str, tuple[Callable[[PrivateTable], Any], type[Exception], str]] = {
    "no keys": (lambda t: t.per_key(max_keys=1, n=_.count()), InvalidQuery, "distinct columns as keys"),
    "one key twice": (lambda t: t.per_key("query", "query", max_keys=1, n=_.count()), InvalidQuery, "distinct columns"),
    "no features": (lambda t: t.per_key("query", max_keys=1), InvalidQuery, "features"),
    "no limit": (lambda t: t.per_key("query", n=_.count()), InvalidQuery, "Expected max_keys, got none"),
    "nothing": (lambda t: t.per_key("query", max_keys=0, n=_.count()), InvalidParameter, "1 or more"),
    "the unit": (lambda t: t.per_key("who", max_keys=1, n=_.count()), InvalidQuery, r"\.per_unit"),
    "real numbers": (lambda t: t.per_key("seconds", max_keys=1, n=_.count()), InvalidQuery, "an exact kind"),
    "a taken name": (lambda t: t.per_key("query", max_keys=1, query=_.count()), InvalidQuery, "names that no key has"),
    "an unknown key": (lambda t: t.per_key("page", max_keys=1, n=_.count()), InvalidQuery, "page"),
    "no aggregate": (lambda t: t.per_key("query", max_keys=1, n=_.seconds), InvalidQuery, "count, nunique"),
    "replaced units": (
        lambda _t: searches(neighbors="replace-one", units=4).per_key("query", max_keys=1, n=_.count()),
        InvalidQuery,
        "add-remove neighbors",
    ),
    "rows": (
        lambda _t: searches(unit=dp.ROW).per_key("query", max_keys=1, n=_.count()),
        InvalidParameter,
        "no max_keys",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    ask, kind, said = REFUSED[what]
    with pytest.raises(kind, match=said):
        ask(searches())

"""Rows that are units, and verbs that compare them: how far neighbors are apart, by enumeration."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import DiscreetError, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench

ROWS = (("p", 0), ("p", 9), ("q", 9))
TABLES = [rows for n in range(3) for rows in itertools.combinations_with_replacement(ROWS, n)]
WORLDS = list(itertools.product(TABLES, (*TABLES[:4], (ROWS[0], ROWS[2]))))
"""Tables of up to two rows, of three kinds, beside every smaller one and one of two."""


def table_of(rows: Any) -> pa.Table:
    return pa.table({"c": pa.array([r[0] for r in rows], pa.string()), "v": pa.array([r[1] for r in rows], pa.int64())})


def moved(first: Any, second: Any) -> tuple[int, int]:
    """How many rows go and how many come."""
    one, other = Counter(first), Counter(second)
    return (one - other).total(), (other - one).total()


def are_neighbors(first: Any, second: Any, *, replaced: bool) -> bool:
    """One unit has at most one row in each table: it leaves all of them, or is replaced in all."""
    pairs = [moved(one, other) for one, other in zip(first, second, strict=True)]
    if replaced:
        return all(gone == come <= 1 for gone, come in pairs)
    return all(come == 0 and gone <= 1 for gone, come in pairs)


Verb = Callable[[PrivateTable, PrivateTable], PrivateTable]
VERBS: dict[str, tuple[Verb, int, bool]] = {
    "distinct": (lambda a, _b: a.distinct(), 1, True),
    "distinct columns": (lambda a, _b: a.distinct("c").mutate(v=1), 1, True),
    "distinct of a union": (lambda a, b: a.union(b).distinct(), 2, True),
    "intersect": (lambda a, b: a.intersect(b), 2, True),
    "intersect itself": (lambda a, _b: a.intersect(a), 2, True),
    "intersect a union": (lambda a, b: a.union(b).intersect(b), 3, True),
    "copies": (lambda a, b: a.unnest(v=[_.v, _.v + 1]).intersect(b.mutate(v=_.v.clip(0, 9))), 3, True),
    "difference": (lambda a, b: a.difference(b), 2, False),
    "difference itself": (lambda a, _b: a.filter(_.v > 1).difference(a.filter(_.c == "q")), 2, False),
    "join": (lambda a, b: a.join(b.rename(w="v"), "c", max_matches=1), 4, False),
    "join of two": (lambda a, b: a.join(b.rename(w="v"), "c", max_matches=(2, 1)), 6, False),
    "join itself": (lambda a, _b: a.join(a.rename(w="v"), "c", max_matches=1), 4, False),
    "join a union": (lambda a, b: a.union(b).join(b.rename(w="v"), "c", max_matches=1), 6, False),
}
"""The rows that one unit moves, and whether replace-one neighbors are taken."""


@pytest.mark.long
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("name", VERBS)
def test_neighbors_are_no_further_apart_than_claimed(name: str, *, replaced: bool) -> None:
    verb, rows, takes_replaced = VERBS[name]
    bench = Bench()
    facts: dict[str, Any] = {"unit": dp.ROW, "bounds": {"v": (0, 9)}, "keys": {"c": ["p", "q"]}}
    facts |= {"neighbors": "replace-one", "rows": 2} if replaced else {}
    tables = bench.protect_all([table_of(ROWS), table_of(ROWS)], **facts)
    if replaced and not takes_replaced:
        with pytest.raises(InvalidQuery, match="add-remove neighbors"):
            verb(*tables)
        return
    made = verb(*tables)
    assert made.declaration.rows_changed == rows
    asked = made.group_by("c").agg(n=_.count(), s=_.v.sum())
    plan = bench.plan(asked, epsilon=1)
    assert all(block.sensitivity == rows * (1 + replaced) * block.steps for block in plan.blocks)
    totals = {world: bench.totals(plan, *map(table_of, world)) for world in WORLDS}
    most = 0.0
    for first, second in itertools.product(WORLDS, repeat=2):
        if are_neighbors(first, second, replaced=replaced):
            for apart, block in zip(l1_distances(totals[first], totals[second]), plan.blocks, strict=True):
                assert apart <= block.sensitivity
                most = max(most, float(apart / block.steps))
    assert most >= 1 + replaced
    assert any(block.any() for found in totals.values() for block in found)


ASKED: dict[str, tuple[Callable[[PrivateTable], Any], str]] = {
    "quantiles": (lambda t: t.agg(m=_.v.median()), "rows belong to one unit"),
    "unknown keys": (lambda t: t.group_by("c", keys=dp.UNKNOWN).agg(n=_.count()), "rows belong to one unit"),
    "values that occur": (lambda t: t.mutate(b=_.v > 2).agg(n=_.b.nunique()), "rows belong to one unit"),
    "the most common": (lambda t: t.top("c", epsilon=1, keys=["p"]), "rows belong to one unit"),
    "a choice": (lambda t: t.choose([1, 2], score=lambda c: t.v == c, epsilon=1), "rows belong to one unit"),
    "distinct values": (lambda t: t.count_distinct("c", epsilon=1), "rows belong to one unit"),
    "a truncated total": (lambda t: t.truncated_total(epsilon=1), "a unit of columns"),
    "distinct": (lambda t: t.distinct(), "rows belong to one unit"),
    "several rows": (lambda t: t.unnest(x=[_.v]), "rows belong to one unit"),
    "a union": (lambda t: t.union(t), "rows belong to one unit"),
    "parts": (lambda t: t.partition("c", keys=["p"]), "rows belong to one unit"),
    "clusters": (lambda t: t.kmeans(["v"], n_clusters=1, epsilon=1), "rows belong to one unit"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", ASKED)
def test_what_comes_and_goes_is_asked_for_totals_alone(what: str) -> None:
    ask, said = ASKED[what]
    budget = dp.Budget(epsilon=1, delta=1e-6)
    facts: dict[str, Any] = {"unit": dp.ROW, "bounds": {"v": (0, 9)}, "budget": budget}
    a, b = (dp.protect(table_of(ROWS), name=name, **facts) for name in "ab")
    for made in (a.difference(b), a.join(b.rename(w="v"), "c", max_matches=1).drop("w")):
        with pytest.raises(DiscreetError, match=said):
            ask(made)
        assert made.agg(n=_.count()).explain(epsilon=1)["unit"] == "each row"


def test_what_cannot_be_joined(refused: Any) -> None:
    facts: dict[str, Any] = {"unit": dp.ROW, "bounds": {"v": (0, 9)}, "budget": dp.Budget(epsilon=1)}
    a, b = (dp.protect(table_of(ROWS), name=name, **facts) for name in "ab")
    assert "max_matches" in refused(InvalidQuery, a.join, b.rename(w="v"), "c")
    assert "max_matches" in refused(InvalidQuery, a.join, b.rename(w="v"))
    for how in ("left", "semi", "anti"):
        assert "an inner join" in refused(InvalidQuery, a.join, b.rename(w="v"), "c", how=how, max_matches=1)


def test_which_of_equal_rows_was_there_does_not_show() -> None:
    """0.0 and -0.0 are equal, and become one number first."""
    for values in ([-0.0, 0.0, None], [0.0, -0.0, None], [-0.0, None]):
        table = dp.protect(pa.table({"x": values}), unit=dp.ROW, bounds={"x": (-1, 1)}, budget=dp.Budget(epsilon=1))
        for made in (table.distinct(), table.intersect(table)):
            source: Any = made._source
            found = source._engine.run_statement(source.declaration, source._engine.compiled(made._relation))
            assert sorted(map(repr, found["x"].to_pylist())) == ["0.0", "None"]

"""Parts: which rows are in them, how many of them one unit moves, and what they may meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from neighbor_bench import Bench, plan_of

KEYS = ["b", "a", None, "d"]
ROWS = [(1, "a"), (1, "a"), (1, "b"), (1, "d"), (1, None), (2, "b"), (2, "a"), (2, "c"), (3, None), (None, "a")]


def table_of(rows: list[tuple[int | None, str | None]]) -> pa.Table:
    who, plan = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"who": pa.array(who, pa.int64()), "plan": pa.array(plan, pa.string())})


def protected(rows: Any = None, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "keys": {"plan": KEYS}, "max_rows": 99, "budget": dp.Budget(epsilon=100)}
    return dp.protect(table_of(ROWS) if rows is None else rows, name="visits", **{**facts, **stated})


@pytest.mark.parametrize(
    ("most", "counts"), [(1, [0, 3, 1, 0]), (2, [2, 3, 1, 0]), (3, [2, 3, 1, 1]), (4, [2, 3, 2, 1]), (9, [2, 3, 2, 1])]
)
def test_a_unit_counts_where_it_has_the_most_rows(exact: Any, most: int, counts: list[int]) -> None:
    parts = protected().partition("plan", max_parts=most)
    assert list(parts) == KEYS
    assert [exact(part.agg(n=_.count()))["n"] for part in parts.values()] == [[n] for n in counts]


def test_parts_are_tables(exact: Any) -> None:
    part = protected().partition(_.plan, keys=["a", "x"], max_parts=1)["a"]
    assert part.columns == ("who", "plan")
    assert exact(part.filter(_.who < 2).per_unit(n=_.count()).agg(s=_.n.clip(0, 9).sum())) == {"s": [2]}
    public = dp.public(pa.table({"plan": ["a"], "cost": [7]}))
    assert exact(part.join(public, "plan").agg(s=_.cost.sum())) == {"s": [21]}
    assert exact(part.union(part).agg(n=_.count())) == {"n": [6]}
    inner = protected().partition("who", keys=[1, 2], max_parts=1)[1].partition("plan", max_parts=4)
    assert exact(inner["a"].agg(n=_.count())) == {"n": [2]}


def test_rows_and_features_are_in_one_part_each(exact: Any) -> None:
    rows = protected(unit=dp.ROW, max_rows=None)
    parts = rows.partition("plan")
    for part in parts.values():
        part.count().release(epsilon=1)
    assert rows.budget.spent.epsilon == 1
    assert exact(parts["a"].agg(n=_.count())) == {"n": [4]}
    features = protected().per_unit(plan=_.plan.max()).partition("plan", keys=["b", "c", "d"])
    assert exact(features["d"].agg(n=_.count())) == {"n": [1]}
    for part in features.values():
        part.count().release(epsilon=1)
    assert features["d"].budget.spent.epsilon == 1


REFUSED: dict[str, tuple[Callable[[PrivateTable], Any], str]] = {
    "no limit": (lambda t: t.partition("plan"), "max_parts, got none"),
    "no keys": (lambda t: t.partition("who", max_parts=1), "the public keys of 'who'"),
    "a limit of none": (lambda t: t.partition("plan", max_parts=0), "max_parts"),
    "no column": (lambda t: t.partition("plam", max_parts=1), "a known column"),
    "reals": (lambda t: t.mutate(x=_.who / 2).partition("x", max_parts=1), "compare exactly"),
    "a key twice": (lambda t: t.partition("plan", keys=["a", "a"], max_parts=1), "each key once"),
    "too many": (lambda t: t.partition("who", keys=range(1001), max_parts=1), "at most 1,000 parts"),
    "two parts": (lambda t: t.partition("plan", max_parts=2)["a"].union(t.filter(_.who > 1)), "under the same budget"),
    "a part beside": (lambda t: t.join(t.partition("plan", max_parts=2)["a"].select("who")), "under the same budget"),
    "parts of others": (
        lambda t: t.partition("plan", max_parts=1)["a"].union(t.partition("plan", max_parts=1)["a"]),
        "a part stands by itself",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    ask, said = REFUSED[what]
    with pytest.raises((InvalidQuery, InvalidParameter), match=said):
        ask(protected())


def test_rows_as_units_take_no_limit() -> None:
    with pytest.raises(InvalidParameter, match="no max_parts where each row is a unit"):
        protected(unit=dp.ROW, max_rows=None).partition("plan", max_parts=1)


# -- neighbors ------------------------------------------------------------------------------------------------


def drawn(seed: int, units: int = 4) -> list[tuple[int | None, str | None]]:
    chance = np.random.default_rng(seed)
    keys = [*KEYS, "c"]
    return [(int(chance.integers(units)), keys[chance.integers(len(keys))]) for _ in range(24)]


def moved(bench: Bench, plan: Any, first: Any, second: Any) -> int:
    """In how many parts two tables differ."""
    one, other = (np.concatenate(bench.totals(plan, table_of(rows)), axis=1) for rows in (first, second))
    return int((one != other).any(axis=1).sum())


def asked(bench: Bench, most: int) -> Any:
    """A plan that counts the rows of all parts at once, after a unit's parts were limited."""
    facts: dict[str, Any] = {"unit": "who", "keys": {"plan": KEYS}, "max_rows": 99, "max_groups": 4}
    table = bench.protect(table_of(drawn(0)), **facts)
    return plan_of(table._limited("plan", KEYS, most).group_by("plan").agg(n=_.count()), epsilon=1)


@pytest.mark.long
def test_a_unit_moves_no_more_parts_than_it_may() -> None:
    bench, found = Bench(), Counter[int]()
    plan = asked(bench, 2)
    for seed in range(12):
        rows = drawn(seed)
        found[moved(bench, plan, rows, [row for row in rows if row[0] != seed % 4])] += 1
        assert moved(bench, plan, rows, rows[::-1]) == 0
    assert max(found) == 2  # the limit is reached, and never passed


def test_a_replaced_unit_leaves_and_enters() -> None:
    bench, found = Bench(), Counter[int]()
    plan = asked(bench, 1)
    for seed in range(12):
        rows = drawn(seed, units=3)
        others = [(5, "b") if row[0] == seed % 3 else row for row in rows]
        found[moved(bench, plan, rows, others)] += 1
    assert max(found) == 2
    table = protected(neighbors="replace-one", units=4)
    for part in table.partition("plan", max_parts=1).values():
        part.count().release(epsilon=1)
    assert table.budget.spent.epsilon == 2

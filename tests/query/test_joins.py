"""Joins: who meets whom, what is known afterwards, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import plan_of

NAN = math.nan
VISITS = pa.table(
    {
        "who": pa.array([1, 1, 2, 3, None, 4], pa.int64()),
        "plan": ["x", "y", "x", None, "x", "z"],
        "v": [1.0, 2.0, 3.0, 4.0, 5.0, NAN],
    }
)
BILLS = pa.table(
    {"who": pa.array([1, 2, 2, 5, None], pa.int32()), "w": [10, 20, 30, 40, 50], "plan": ["x", "x", "y", "x", "x"]}
)
PLANS = dp.public(pa.table({"plan": ["x", "y", None], "cost": [5, 7, 9], "share": [0.5, NAN, -0.0]}))


def protected(rows: pa.Table = VISITS, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "max_rows": 9, "max_groups": 3, "bounds": {"v": (0, 9)}, "name": "visits"}
    return dp.protect(rows, **{"budget": dp.Budget(epsilon=100), **facts, **stated})


def both(**stated: Any) -> tuple[PrivateTable, PrivateTable]:
    visits = protected(**stated)
    return visits, protected(BILLS, **{**stated, "bounds": {"w": (0, 99)}, "budget": visits.budget, "name": "bills"})


def test_public_rows_come_beside_private_ones(exact: Any) -> None:
    joined = protected().join(PLANS, "plan")
    assert joined.columns == ("who", "plan", "v", "cost", "share")
    assert exact(joined.agg(n=_.count(), s=_.cost.sum(), m=_.share.count())) == {"n": [3], "s": [17], "m": [2]}
    left = protected().join(PLANS, "plan", how="left")
    assert exact(left.agg(n=_.count(), c=_.cost.count(), f=_.cost.fill_null(1).sum())) == {
        "n": [5],
        "c": [3],
        "f": [19],
    }
    assert exact(protected().join(PLANS, "plan", how="semi").agg(n=_.count())) == {"n": [3]}
    assert exact(protected().join(PLANS, "plan", how="anti").agg(n=_.count())) == {"n": [2]}


def test_public_columns_have_their_own_bounds() -> None:
    columns = protected().join(PLANS, "plan")._columns
    cost, share = columns["cost"], columns["share"]
    assert cost.interval is not None
    assert share.interval is not None
    assert (float(cost.interval.low), float(cost.interval.high), cost.nullable) == (5.0, 9.0, False)
    assert (float(share.interval.high), share.nullable, share.unbounded) == (0.5, True, False)
    assert protected().join(PLANS, "plan", how="left")._columns["cost"].nullable


def test_duplicates_are_refused_or_stated(exact: Any, refused: Any) -> None:
    table = dp.public(pa.table({"plan": ["x", "x", "y", None, None, None], "tag": [1, 2, 3, 4, 5, 6]}))
    assert "1 row(s) for each key" in refused(InvalidQuery, protected().join, table, "plan")
    assert exact(protected().join(table, "plan", max_matches=2).agg(n=_.count())) == {"n": [5]}
    assert exact(protected().join(table, "plan", how="semi").agg(n=_.count())) == {"n": [3]}
    limited = protected(max_rows=1).join(table, "plan", max_matches=2)
    assert exact(limited.agg(n=_.count())) == {"n": [2]}
    rows = protected(unit=dp.ROW, max_rows=None, max_groups=None)
    assert "without duplicates" in refused(InvalidQuery, rows.join, table, "plan", max_matches=2)
    assert exact(rows.join(PLANS, "plan").agg(n=_.count())) == {"n": [4]}
    features = protected().per_unit(plan=_.plan.min())
    assert features.join(table, "plan", max_matches=2)._most_rows == 2


def test_units_meet_themselves(exact: Any) -> None:
    visits, bills = both()
    named = bills.rename(tier="plan")
    asked = {"n": _.count(), "w": _.w.sum(), "v": _.v.sum()}
    assert exact(visits.join(named).agg(**asked)) == {"n": [4], "w": [70], "v": [9]}
    assert exact(visits.join(bills, ["who", "plan"]).agg(**asked)) == {"n": [2], "w": [30], "v": [4]}
    assert exact(visits.join(named, how="left").agg(n=_.count(), w=_.w.count())) == {"n": [6], "w": [4]}
    assert exact(visits.join(bills, how="semi").agg(n=_.count())) == {"n": [3]}
    assert exact(visits.join(bills, how="anti").agg(n=_.count(), u=_.who.nunique())) == {"n": [2], "u": [2]}
    own = visits.join(visits.per_unit(total=_.v.sum()))
    assert exact(own.agg(s=_.total.clip(0, 20).sum())) == {"s": [13]}


def test_strangers_do_not_meet(exact: Any) -> None:
    visits, bills = both()
    assert exact(visits.select("v").join(bills.select("w")).agg(n=_.count())) == {"n": [4]}


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_a_table_may_be_joined_twice(how: str, exact: Any) -> None:
    a = protected()
    met = {"inner": 5, "left": 5, "semi": 5, "anti": 0}
    once = a.join(PLANS, "plan", how="semi")
    people = a.select("who").distinct()
    assert exact(once.join(PLANS, "plan", how="semi").agg(n=_.count())) == {"n": [3]}
    assert exact(a.join(people, how=how).join(people, how=how).agg(n=_.count())) == {"n": [met[how]]}


def test_features_of_two_tables_are_one_row(exact: Any) -> None:
    visits, bills = both(max_rows=None, max_groups=None)
    made = visits.per_unit(v=_.v.sum()).join(bills.per_unit(w=_.w.sum()), how="left")
    assert made._most_rows == 1
    assert exact(made.agg(n=_.count(), w=_.w.clip(0, 99).sum())) == {"n": [4], "w": [60]}


def test_rows_of_both_multiply() -> None:
    visits, bills = both()
    once, tags = visits.per_unit(v=_.v.sum()), dp.public(pa.table({"w": [1, 1, 1, 2]}))
    thrice = bills.per_unit(w=_.w.min()).join(tags, "w", max_matches=3)
    assert thrice._most_rows == 3
    assert once.join(thrice)._most_rows == 3
    assert thrice.join(thrice.rename(x="w"))._most_rows == 9


REFUSED: dict[str, tuple[Callable[[PrivateTable, PrivateTable], Any], str]] = {
    "a plain table": (lambda a, _b: a.join(BILLS, "who"), "mark a public table, dp.public(table)"),
    "another key": (lambda a, b: a.join(b, "plan"), "a join on the privacy unit"),
    "no key": (lambda a, _b: a.join(PLANS), "columns to join on"),
    "an unknown key": (lambda a, _b: a.join(PLANS, "zip"), "columns of both tables"),
    "a key of the other": (lambda a, _b: a.join(PLANS, "cost"), "columns of both tables"),
    "a key twice": (lambda a, _b: a.join(PLANS, ["plan", "plan"]), "names of columns"),
    "a key that is a number": (lambda a, _b: a.join(PLANS, 5), "names of columns"),
    "keys of two kinds": (lambda a, _b: a.rename(cost="plan").join(PLANS, "cost"), "of one exact kind"),
    "reals as keys": (lambda a, _b: a.rename(share="v").join(PLANS, "share"), "of one exact kind"),
    "another way": (lambda a, b: a.join(b, how="outer"), "inner, left, semi, anti"),
    "one name twice": (lambda a, b: a.join(b), "different names beside the keys"),
    "names apart by case": (lambda a, b: a.join(b.select("w").rename(V="w")), "more than case"),
    "matches that are none": (lambda a, _b: a.join(PLANS, "plan", max_matches=0), "1 or more"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(refused: Any, what: str) -> None:
    ask, said = REFUSED[what]
    assert said in refused(InvalidQuery, ask, *both())


def test_rows_as_units_join_public_tables_alone(refused: Any) -> None:
    rows = protected(unit=dp.ROW, max_rows=None, max_groups=None)
    assert "a unit of columns" in refused(InvalidQuery, rows.join, rows)


def test_another_public_table_is_another_answer() -> None:
    visits = protected()
    for cost in ([5, 7], [5, 8], [5, 7]):
        table = dp.public(pa.table({"plan": ["x", "y"], "cost": cost}))
        visits.join(table, "plan").agg(s=_.cost.sum()).release(epsilon=1)
    assert visits.budget.spent.epsilon == 2


ASKED: dict[str, Callable[[PrivateTable, PrivateTable], PrivateTable]] = {
    "join": lambda a, b: a.join(b.rename(tier="plan")),
    "left join": lambda a, b: a.join(b.rename(tier="plan"), how="left"),
    "join on more": lambda a, b: a.join(b, ["who", "plan"]),
    "join of strangers": lambda a, b: a.join(b, "plan", max_matches=(3, 2)),
    "join with oneself": lambda a, _b: a.join(a.rename(w="v"), "plan", max_matches=2).mutate(w=_.w.cast("float64")),
    "semi join": lambda a, b: a.join(b, how="semi").mutate(w=1),
    "anti join": lambda a, b: a.join(b, how="anti").mutate(w=1),
    "union": lambda a, b: a.select("who", "plan").union(b.select("who", "plan")).mutate(w=1),
    "intersect": lambda a, b: a.select("plan").intersect(b.select("plan")).mutate(w=2),
    "difference": lambda a, b: a.select("plan").difference(b.select("plan")).mutate(w=2),
    "public join": lambda a, _b: a.union(a).join(PLANS, "plan").mutate(w=_.cost),
    "features": lambda a, b: a.join(b.per_unit(w=_.w.sum()).mutate(w=_.w.clip(0, 99)), how="left"),
}


def distances(ask: Callable[[PrivateTable, PrivateTable], PrivateTable], seed: int) -> list[tuple[int, int]]:
    """How far one unit, gone from both tables, moves each block, and how far it may."""
    chance = np.random.default_rng(seed)
    visits = [(int(chance.integers(4)), "xyz"[chance.integers(3)], float(chance.integers(9))) for _ in range(30)]
    bills = [(int(chance.integers(4)), int(chance.integers(99)), "xyz"[chance.integers(3)]) for _ in range(20)]

    def question(gone: int) -> Question:
        tables = []
        budget = dp.Budget(epsilon=1)
        for rows, names, bounds in ((visits, "who plan v", {"v": (0, 9)}), (bills, "who w plan", {"w": (0, 99)})):
            kept = [row for row in rows if row[0] != gone]
            types = {"who": pa.int64(), "plan": pa.string(), "v": pa.float64(), "w": pa.int64()}
            columns = {name: pa.array([row[i] for row in kept], types[name]) for i, name in enumerate(names.split())}
            facts: dict[str, Any] = {"unit": "who", "max_rows": 2, "max_groups": 1, "keys": {"plan": ["x", "y", "z"]}}
            tables.append(dp.protect(pa.table(columns), bounds=bounds, budget=budget, name=names, **facts))
        joined = ask(*tables)
        return joined.group_by("plan", keys={"plan": ["x", "y", "z"]}).agg(n=_.count(), m=_.w.mean())

    asked = [question(gone) for gone in (-1, 2)]
    plans = [plan_of(one, epsilon=1) for one in asked]
    engines: list[Any] = [one._source._engine for one in asked]  # type: ignore[attr-defined]  # the curator's
    apart = l1_distances(*(engine.totals(plan) for engine, plan in zip(engines, plans, strict=True)))
    return [(distance, int(block.sensitivity)) for distance, block in zip(apart, plans[0].blocks, strict=True)]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("what", ASKED)
def test_one_unit_moves_no_more_than_is_claimed(what: str) -> None:
    for seed in range(2):
        for distance, claimed in distances(ASKED[what], seed):
            assert distance <= claimed

"""Several tables under one budget: what one unit moves that is in all of them, by enumeration, for every verb."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines.clipping_histograms import clipped_units
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import stated_guarantee
from discreet.logs.top_keys import chosen
from discreet.mechanisms.staircase import Staircase
from discreet.planning.open_question_plan import plan_open_question
from discreet.planning.thresholded_counts import under_adding
from discreet.privacy.definitions import Guarantee
from discreet.query.table import PrivateTable
from discreet.selection.top_k import TopK
from discreet.testing.neighbors import l1_distances, mass_distances
from neighbor_bench import Bench, plan_of

Row = tuple[Any, ...]
Ask = Callable[[PrivateTable], Any]

NAMES = ("plan", "v", "x")
POOL: tuple[Row | None, ...] = (None, ("a", 3, 4.0), ("b", 0, -1.0), (None, None, None))
"""What a person may have in one table; None for nothing."""
OTHERS = [[("a", 3, 4.0), ("b", 1, 1.0)], [("a", 2, 0.5)], []]
KEYS = ["a", "b"]
PUBLIC = dp.public(pa.table({"plan": ["a", "b"], "weight": [1, 2]}))

WAYS: dict[str, tuple[int, Callable[..., PrivateTable]]] = {
    "two tables": (2, lambda one, two: one.union(two)),
    "three tables": (3, lambda one, two, three: one.union(two.union(three))),
    "a table twice": (2, lambda one, _: one.union(one)),
    "a filter of a table": (2, lambda one, _: one.union(one.filter(lambda t: t.v > 1))),
    "a public table between": (2, lambda one, two: one.join(PUBLIC, "plan", how="left").select(*NAMES).union(two)),
}
"""How tables become one; with how many rows of one person in it."""

CASES = [("two tables", True), *((way, False) for way in WAYS)]
"""Each way to unite tables, and whether units are replaced."""

QUESTIONS: dict[str, Ask] = {
    "count": lambda t: t.count(),
    "sum": lambda t: t.agg(s=_.v.sum()),
    "sum of both signs": lambda t: t.agg(s=_.x.sum()),
    "moments": lambda t: t.agg(m=_.x.mean(), d=_.v.var()),
    "groups": lambda t: t.group_by("plan").agg(n=_.count(), s=_.x.sum(), m=_.v.mean()),
    "covariance": lambda t: t.agg(c=_.v.cov(t.x)),
    "line": lambda t: t.regress("v", ["x", "v"]),
    "values": lambda t: t.agg(k=_.plan.nunique()),
    "values in groups": lambda t: t.group_by("v", keys={"v": [0, 3, None]}).agg(k=_.plan.nunique()),
    "a value in groups": lambda t: (
        t.mutate(c=ibis.cases((t.v > 1, "c"), else_="c")).group_by("v", keys={"v": [0, None]}).agg(k=_.c.nunique())
    ),
    "median": lambda t: t.agg(q=_.v.median()),
    "quantiles in groups": lambda t: t.group_by("plan").agg(q=_.x.quantile(0.25), r=_.x.median(), e=_.v.max()),
    "histogram": lambda t: t.histogram("x", bins=4),
    "a step after": lambda t: t.filter(_.v > 0).mutate(w=_.x * _.v).agg(s=_.w.sum()),
}


def data(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 3
    kinds = (pa.string(), pa.int64(), pa.float64())
    return pa.table({n: pa.array(c, k) for n, c, k in zip(NAMES, columns, kinds, strict=True)})


def protected(bench: Bench, number: int, *, replaced: bool, **more: Any) -> list[PrivateTable]:
    stated: dict[str, Any] = {"neighbors": "replace-one", "rows": 9} if replaced else {}
    facts: dict[str, Any] = {"bounds": {"v": (0, 3), "x": (-1, 4)}, "keys": {"plan": KEYS}, "unit": dp.ROW}
    return bench.protect_all([data(OTHERS[i]) for i in range(number)], **(facts | stated | more))


def united(bench: Bench, way: str, *, replaced: bool) -> tuple[int, PrivateTable]:
    most, made = WAYS[way]
    return most, made(*protected(bench, most, replaced=replaced))


def databases(number: int) -> Iterator[list[pa.Table]]:
    """All that the tables may be: with one person's rows in some of them, and without."""
    for person in itertools.product(POOL[: 6 - number], repeat=number):
        yield [data([*OTHERS[i], *([row] if row else [])]) for i, row in enumerate(person)]


def pairs(found: list[Any], *, replaced: bool) -> Iterator[tuple[Any, Any]]:
    """Neighbors among all of them: the first is without the person."""
    return itertools.combinations(found, 2) if replaced else ((found[0], one) for one in found[1:])


def tables_of(way: str) -> int:
    return 3 if way == "three tables" else 2


@pytest.mark.cases
@pytest.mark.parametrize(("way", "replaced"), CASES)
def test_a_unit_in_all_tables_moves_no_total_further_than_claimed(way: str, *, replaced: bool) -> None:
    """The L1 norm of all totals of a block, for all rows of a person in each table; and the claim is reached."""
    bench = Bench()
    most, table = united(bench, way, replaced=replaced)
    names = QUESTIONS if way == "two tables" else ("count", "groups", "values in groups")
    plans = {name: bench.plan(QUESTIONS[name](table), epsilon=5) for name in names}
    seen: dict[str, list[Any]] = {name: [] for name in names}
    for one in databases(tables_of(way)):
        bench.totals(plans["count"], *one)
        for name, plan in plans.items():
            seen[name].append(bench.totals(plan))
    reached = set()
    for name, plan in plans.items():
        assert plan.query.declaration.rows_changed == most
        apart = [
            max(far) for far in zip(*(l1_distances(*two) for two in pairs(seen[name], replaced=replaced)), strict=True)
        ]
        for far, block in zip(apart, plan.blocks, strict=True):
            assert far <= block.sensitivity, (way, name)
            assert not isinstance(block.noise, Staircase) or block.block.components == plan.query.cells == 1
            reached |= {name} if far == block.sensitivity else set()
    if way == "two tables":
        assert ({"groups"} if replaced else {"count", "groups", "a value in groups"}) <= reached


@pytest.mark.cases
@pytest.mark.parametrize("replaced", [False, True])
def test_a_unit_in_all_tables_moves_no_mass_further_than_claimed(*, replaced: bool) -> None:
    bench = Bench()
    most, table = united(bench, "two tables", replaced=replaced)
    for name in ("median", "quantiles in groups"):
        plan = bench.plan(QUESTIONS[name](table), epsilon=1)
        seen = [bench.masses(plan, *one) for one in databases(2)]
        for block, far in zip(
            plan.ranks, zip(*(mass_distances(*two) for two in pairs(seen, replaced=replaced)), strict=True), strict=True
        ):
            assert block.cuts.mass == most * block.steps
            assert max(far) == (1 + replaced) * block.cuts.mass


@pytest.mark.cases
@pytest.mark.parametrize(("way", "replaced"), CASES[:2])
def test_first_looks_count_all_rows_of_a_unit(way: str, *, replaced: bool) -> None:
    bench = Bench()
    most, made = WAYS[way]
    table = made(*protected(bench, most, replaced=replaced, bounds={"v": "auto", "x": (-1, 4)}))
    asked: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(s=_.v.sum(), m=_.x.mean())
    priced = plan_open_question(asked._query, asked._open, epsilon=1, delta=1e-6)
    steps = (1 + replaced) * most
    left = Guarantee(epsilon=priced.selecting, delta=priced.selecting_delta)
    rule = priced.selection(1)
    assert (rule.epsilon, rule.delta) == (priced.selecting / steps, under_adding(steps, left).delta)
    expressions = {"keys": key_totals(asked._query, max_groups=1, steps=1)}
    expressions |= {str(i): unit_histogram(asked._query, histogram) for i, histogram in enumerate(priced.histograms)}
    bench.plan(table.count(), epsilon=1)
    assert len(expressions) == 2
    for expression in expressions.values():
        seen = [bench.found(asked, expression, *one) for one in databases(tables_of(way))]
        far = max(distance(*two) for two in pairs(seen, replaced=replaced))
        assert far <= steps
        assert far == steps or replaced
    assert all(histogram.noise.sensitivity == steps for histogram in priced.histograms)


def test_reports_of_clipping_pay_for_all_rows_of_a_unit() -> None:
    bench = Bench()
    most, table = united(bench, "two tables", replaced=False)
    asked: Any = table.agg(m=_.x.mean())
    [value] = [a.value for a in asked._query.aggregates]
    told = asked.explain(epsilon=1, report="clipped")
    assert told["first looks"][-1]["sensitivity"] == str(most)
    plan = bench.plan(asked, epsilon=1)
    seen = [bench.found(asked, clipped_units(plan, value, None), *one) for one in databases(2)]
    assert max(distance(*two) for two in pairs(seen, replaced=False)) == most


def distance(one: dict[Any, int], other: dict[Any, int]) -> int:
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())


def test_a_lone_count_by_unknown_keys_pays_for_all_rows_of_a_unit() -> None:
    most, table = united(Bench(), "two tables", replaced=False)
    asked: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    rule = plan_open_question(asked._query, asked._open, epsilon=1, delta=1e-6).placeholder_plan.shown
    assert rule
    assert rule.epsilon == Fraction(1, most)


@pytest.mark.cases
@pytest.mark.parametrize(("way", "replaced"), CASES)
def test_the_most_common_value_is_chosen_by_scores_that_move_so_far(way: str, *, replaced: bool) -> None:
    bench = Bench()
    most, table = united(bench, way, replaced=replaced)
    choice, source = chosen(table, "plan", price=stated_guarantee(1), k=1, keys=None)
    assert isinstance(choice.rule, TopK)
    assert choice.rule.choice.sensitivity == most
    statement = source._engine.compiled(choice.expression)
    seen = []
    for one in databases(tables_of(way)):
        for place, rows in enumerate(one):
            bench.put(rows, place)
        seen.append(choice.scores(source._engine.run_statement(source.declaration, statement)))
    apart = [np.subtract(*two) for two in pairs(seen, replaced=replaced)]
    assert max(int(np.abs(far).max()) for far in apart) == most
    assert replaced or all((far <= 0).all() for far in apart)


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("replaced", [False, True])
def test_a_unit_is_in_as_many_parts_as_it_has_rows(*, replaced: bool) -> None:
    bench = Bench()
    most, table = united(bench, "two tables", replaced=replaced)
    keys = ["a", "b", "c", None, "e"]
    parts: dict[Any, Any] = table.partition("plan", keys=keys)
    budget: Any = next(iter(parts.values()))._source.budget
    assert budget._parts._most == (1 + replaced) * most
    plans = [bench.plan(part.count(), epsilon=1) for part in parts.values()]
    assert all(plan.blocks[0].sensitivity == most or replaced for plan in plans)
    seen = [[bench.totals(plan, *one)[0][0, 0] for plan in plans] for one in databases(2)]
    changed = max(sum(a != b for a, b in zip(*two, strict=True)) for two in pairs(seen, replaced=replaced))
    assert changed == (3 if replaced else most)  # of three keys that a row here may have


def test_prices_and_receipts_tell_of_all_rows() -> None:
    budget = Budget(epsilon=100)
    facts: dict[str, Any] = {"unit": dp.ROW, "bounds": {"v": (0, 3)}, "budget": budget}
    one, two = (dp.protect(data(OTHERS[i]), name=name, **facts) for i, name in enumerate("AB"))
    both = one.union(two)
    alone, together = (plan_of(t.select("v").agg(s=_.v.sum()), epsilon=1) for t in (one, both))
    assert together.blocks[0].scale == 2 * alone.blocks[0].scale
    account = both.agg(s=_.v.sum()).explain(epsilon=1)
    assert account["limits"] == {"rows that one unit has": 2}
    found = both.kmeans(["v"], n_clusters=2, epsilon=8)
    assert found.receipt["limits"] == {"rows that one unit has": 2}
    assert [entry.source for entry in budget.entries()] == ["A, B"]

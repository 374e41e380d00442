"""How many public values occur: as the rule says it in plain Python, and no unit moves more than it may."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.inference.estimate import estimates
from discreet.planning.plan import Plan
from neighbor_bench import Bench, plan_of

LISTED = ["b", "a", "absent", None, "c"]
CITIES = ["x", "y", None]
Rows = list[tuple[int | None, str | None, str | None, int | None]]
ROWS = st.lists(
    st.tuples(
        st.sampled_from((None, 1, 2, 3)), st.sampled_from((None, "a", "b", "c", "other")),
        st.sampled_from(("x", "y", None, "z")), st.sampled_from((None, 0, 1)),
    ),
    max_size=12,
)  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def arrow(rows: Rows) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = {"person": pa.int64(), "plan": pa.string(), "city": pa.string(), "i": pa.int64()}
    return pa.table({name: pa.array(part, kind) for part, (name, kind) in zip(columns, kinds.items(), strict=True)})


def rule(plan: Plan, rows: Rows, *, by_city: bool, by_person: bool) -> list[int]:
    """The totals, from the written rule."""
    [block] = plan.blocks
    known = {value for value in LISTED if value is not None}
    held: dict[Any, dict[Any, set[str]]] = defaultdict(lambda: defaultdict(set))
    for number, (person, value, city, i) in enumerate(rows):
        group = city if by_city else "all"
        if value in known and i == 1 and (not by_city or city in CITIES) and (not by_person or person is not None):
            held[person if by_person else number][group].add(str(value))
    best: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for groups in held.values():
        for group, values in groups.items():
            weight = block.steps
            most = min(plan.limits.max_rows, len(known))
            if by_person and len(values) > most:
                weight = weight * most // len(values)
            if by_person and len(groups) > plan.limits.max_groups:
                weight = weight * plan.limits.max_groups // len(groups)
            for value in values:
                best[group][value] = max(best[group][value], weight)
    return [sum(best[group].values()) for group in (CITIES if by_city else ["all"])]


@pytest.mark.long
@settings(max_examples=60)
@given(
    rows=ROWS, by_city=st.booleans(), by_person=st.booleans(), limits=st.tuples(st.integers(1, 3), st.integers(1, 3))
)
def test_totals_are_those_of_the_rule(
    bench: Bench, rows: Rows, *, by_city: bool, by_person: bool, limits: tuple[int, int]
) -> None:
    stated: dict[str, Any] = {"max_groups": limits[0], "max_rows": limits[1]} if by_person else {}
    unit: Any = "person" if by_person else dp.ROW
    table = bench.protect(arrow(rows), unit=unit, keys={"plan": LISTED, "city": CITIES}, bounds={"i": (0, 1)}, **stated)
    asked = {"d": table.plan.nunique(where=table.i == 1)}
    plan = plan_of(table.group_by("city").agg(**asked) if by_city else table.agg(**asked), epsilon=1)
    [found] = bench.totals(plan)
    assert found.ravel().tolist() == rule(plan, rows, by_city=by_city, by_person=by_person)


@pytest.mark.long
@settings(max_examples=60)
@given(rows=ROWS, own=ROWS, limits=st.tuples(st.integers(1, 3), st.integers(1, 3)))
@example(rows=[], own=[(9, value, "x", 1) for value in "abc"], limits=(1, 1))
def test_a_unit_weighs_what_it_may(bench: Bench, rows: Rows, own: Rows, limits: tuple[int, int]) -> None:
    """A new unit, beside others and alone, with as many values in as many groups as it likes."""
    stated: dict[str, Any] = {"max_groups": limits[0], "max_rows": limits[1]}
    before = arrow(rows)
    table = bench.protect(before, unit="person", keys={"plan": LISTED, "city": CITIES}, **stated)
    plan = plan_of(table.group_by("city").agg(d=table.plan.nunique()), epsilon=1)
    after = pa.concat_tables([before, arrow([(9, *row[1:]) for row in own])])
    [first], [second] = bench.totals(plan), bench.totals(plan, after)
    assert (second >= first).all()
    assert int((second - first).sum()) <= plan.blocks[0].sensitivity


def test_the_sensitivity_is_that_of_the_values(bench: Bench) -> None:
    """No more than there are values, in as many groups as a unit leaves or enters and as there are."""
    data = arrow([(1, "a", "x", 1)])

    def moved(*, grouped: bool, max_rows: int, **facts: Any) -> tuple[int, int]:
        table = bench.protect(
            data, unit="person", keys={"plan": LISTED, "city": CITIES}, max_rows=max_rows, max_groups=2, **facts
        )
        asked = {"d": table.plan.nunique()}
        [block] = plan_of(table.group_by("city").agg(**asked) if grouped else table.agg(**asked), epsilon=1).blocks
        return int(block.sensitivity), block.steps

    assert moved(grouped=False, max_rows=9) == (4, 1)
    sensitivity, steps = moved(grouped=False, max_rows=3)
    assert sensitivity == 3 * steps
    sensitivity, steps = moved(grouped=True, max_rows=9)
    assert sensitivity == 2 * 4 * steps
    replaced = {"neighbors": "replace-one", "units": 5}
    assert moved(grouped=False, max_rows=9, **replaced) == (4, 1)
    sensitivity, steps = moved(grouped=True, max_rows=9, **replaced)
    assert sensitivity == min(2 * 2, len(CITIES)) * 4 * steps


def test_distinct_values_beside_everything_else(bench: Bench) -> None:
    rows: Rows = [(1, "a", "x", 1), (1, "b", "x", 0), (2, "a", "y", None), (3, "c", "y", 1)]
    table = bench.protect(
        arrow(rows),
        unit="person",
        keys={"plan": LISTED, "city": CITIES},
        bounds={"i": (0, 1)},
        max_rows=2,
        max_groups=1,
    )
    asked = {
        "n": lambda t: t.count(), "plans": lambda t: t.plan.nunique(), "cities": lambda t: t.city.nunique(),
        "mean": lambda t: t.i.mean(), "one": lambda t: t.plan.nunique(where=t.i == 1),
    }  # fmt: skip
    for question, wanted in (
        (table.agg(**asked), {"n": [4], "plans": [3], "cities": [2], "mean": [2 / 3], "one": [2]}),
        (
            table.group_by("city").agg(**asked),
            {"n": [2, 2, 0], "plans": [2, 2, 0], "cities": [1, 1, 0], "mean": [0.5, 1.0, 0.5], "one": [1, 1, 0]},
        ),
    ):
        answer = question.release(epsilon=0.1)
        assert set(answer.columns) == set(wanted)
        plan = plan_of(question, epsilon=1)
        found = estimates(plan, bench.totals(plan), 0.95)
        for name, values in wanted.items():
            assert found[name].values.tolist() == pytest.approx(values)


def test_truth_values_need_no_list(bench: Bench) -> None:
    table = bench.protect(pa.table({"ok": [True, None, True]}), unit=dp.ROW)
    [found] = bench.totals(plan_of(table.agg(d=table.ok.nunique()), epsilon=1))
    assert found.tolist() == [[1]]
    assert math.isclose(float(table.agg(d=table.ok.nunique()).explain(epsilon=1)["columns"][0]["plus_minus"]), 3)

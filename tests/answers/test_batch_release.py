"""Answers of batches: tables that agree, combinations, and intervals that hold as often as they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.batch_release import BatchRelease
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.planning.batch_planner import BatchPlan
from discreet.query.batch_question import BatchQuestion
from discreet.testing.scripted_words import splitmix

ROWS = pa.table({"a": ["x", "y", "y"] * 40, "b": [1, 2, 3, 4] * 30, "v": [float(i % 11) for i in range(120)]})
FACTS: dict[str, Any] = {"keys": {"a": ["x", "y"], "b": [1, 2, 3, 4]}, "bounds": {"v": (0, 20)}}
REPEATS = 400


def cube(**declared: Any) -> BatchQuestion:
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(epsilon=100, delta=1e-3), **FACTS, **declared)
    return table.group_by("a", "b", cube=True).agg(n=_.count(), s=_.v.sum())


def exact_of(question: BatchQuestion, plan: BatchPlan) -> list[Any]:
    source: Any = question.source
    totals: list[Any] = source._engine.totals(plan.cells)
    return totals


def test_tables_agree() -> None:
    for stated in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.2}):
        answer = cube().release(**stated)
        whole = answer["a", "b"]
        for column in ("n", "s"):
            cells = whole[column].reshape(2, 4)
            assert np.allclose(cells.sum(axis=1), answer["a"][column])
            assert np.allclose(cells.sum(axis=0), answer["b"][column])
            assert np.allclose(cells.sum(), answer[()][column][0])


def test_names_are_found_in_any_order() -> None:
    answer = cube().release(epsilon=1)
    assert answer["b", "a"] is answer["a", "b"]
    assert answer["a"] is answer[("a",)]
    assert list(answer) == [(), ("a",), ("b",), ("a", "b")]
    assert "a" in answer
    assert "c" not in answer
    with pytest.raises(InvalidParameter, match="Expected a table of the batch, got name='c'"):
        _ = answer["c"]
    assert answer.to_pyarrow().num_rows == 1 + 2 + 4 + 8
    assert answer.to_pyarrow().column_names[:3] == ["table", "a", "b"]
    assert answer.to_pandas()["table"].tolist()[0] == "all"


def test_a_repeat_costs_nothing() -> None:
    question = cube()
    first = question.release(epsilon=1)
    again = question.release(epsilon=1)
    assert first["a"]["n"].tolist() == again["a"]["n"].tolist()
    assert question.source.budget.spent.epsilon == 1
    assert question.release(epsilon=1, fresh=True)["a"]["n"].tolist() != first["a"]["n"].tolist()
    assert question.source.budget.spent.epsilon == 2
    light, heavy = question.release(rho=0.1), question.release(rho=0.1, weights={"a": 9})
    assert light["a"]["n"].tolist() != heavy["a"]["n"].tolist()
    assert first.receipt.charge == dp.Guarantee(epsilon=Fraction(1))
    assert first.receipt["tables"] == ["all", "a", "b", "a, b"]


def missed(question: BatchQuestion, stated: dict[str, Any], confidence: float, *, shrink: float = 1.0) -> float:
    """How often an interval misses, over all cells, columns and tables, and some combinations, of many releases."""
    plan = question.plan(**stated)
    if shrink != 1.0:
        plan = shrunk(plan, shrink)
    exact, words = exact_of(question, plan), splitmix(17)
    truth = BatchRelease(plan, plan_exact(plan, exact), {}, confidence)
    misses, cells = 0, 0
    for _repeat in range(REPEATS):
        answer = BatchRelease(plan, plan.noisy(exact, words), {}, confidence)
        for name, table in answer.items():
            shown = table.to_pyarrow().to_pydict()
            for column in table.columns:
                true = truth[name][column]
                low, high = np.array(shown[f"{column}_low"]), np.array(shown[f"{column}_high"])
                misses += int(((true < low - 1e-9) | (true > high + 1e-9)).sum())
                cells += len(true)
        gap, other = (one.sum("a", "n", a="x") - 2 * one.sum("b", "n", b=[1, 3]) for one in (answer, truth))
        misses += not gap.low <= other.value <= gap.high
        cells += 1
    return misses / cells


def plan_exact(plan: BatchPlan, exact: list[Any]) -> list[Any]:
    """What is measured, without noise."""
    found = []
    for totals, fine in zip(exact, plan.fine, strict=True):
        found += [part * fine for part in plan.strategy.measure(totals.reshape(*plan.query.sizes, totals.shape[-1]))]
    return found


def shrunk(plan: BatchPlan, factor: float) -> BatchPlan:
    """The same plan, whose tables claim less noise than there is."""
    made = replace(plan)
    tables = []
    for own in plan.tables:
        blocks = [
            replace(b, estimate=replace(b.estimate, terms=factor * b.estimate.terms))
            for b in own.blocks
            if b.estimate is not None
        ]
        tables.append(replace(own, blocks=tuple(blocks), classes=None))
    made.__dict__["tables"] = tuple(tables)
    return made


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-6}, {"rho": 0.3}])
def test_intervals_hold_as_often_as_they_say(stated: dict[str, Any]) -> None:
    """32 cells and a combination, 400 times, 90 %: correlated, so that 3 % is far beyond chance on 10 %."""
    assert 0.07 < missed(cube(), stated, 0.9) < 0.13


@pytest.mark.long
def test_noise_that_is_understated_is_seen() -> None:
    assert missed(cube(), {"rho": 0.3}, 0.9, shrink=0.8) > 0.15


def test_noise_that_cancels_leaves_no_width() -> None:
    answer = cube().release(rho=0.3)
    nothing = answer.sum("a", "n") - answer.sum((), "n")
    assert abs(nothing.value) < 1e-6
    assert nothing.high - nothing.low < 1e-6
    shifted = 3 - 2 * answer.sum("b", "s", b=2) + 1
    assert np.isclose(shifted.value, 4 - 2 * answer["b"]["s"][1])
    wide = shifted.interval(0.99)
    assert wide[0] < shifted.low < shifted.high < wide[1]


@pytest.mark.parametrize("stated", [{"epsilon": 1}, {"rho": 0.3}])
def test_differences_are_those_of_sums(stated: dict[str, Any]) -> None:
    """In value and in width; of cells that both have, nothing is left, and of one table as of another."""
    answer = cube().release(**stated)
    for table, column, first, second in (
        ("a", "n", {"a": "x"}, {"a": "y"}),
        (("a", "b"), "s", {"a": "x", "b": [1, 2]}, {"b": 3}),
        ("b", "n", {}, {"b": 1}),
    ):
        found = answer.difference(table, column, first, second)
        apart = answer.sum(table, column, **first) - answer.sum(table, column, **second)
        assert found.value == pytest.approx(apart.value)
        assert (found.low, found.high) == pytest.approx((apart.low, apart.high))
    nothing = answer.difference("a", "n", {"a": ["x", "y"]}, {})
    assert (nothing.value, nothing.low, nothing.high) == (0, 0, 0)
    most = answer.difference("b", "n", {}, {"b": [2, 3, 4]})
    only = answer.sum("b", "n", b=1)
    assert most.high - most.low == pytest.approx(only.high - only.low)
    wrong: tuple[tuple[Any, Any], ...] = ((1, {}), ({}, [1]), ({}, {"a": "x"}), ({"b": 9}, {}))
    for first, second in wrong:
        with pytest.raises(InvalidParameter, match="\nHint: "):
            answer.difference("b", "n", first, second)


def test_sums_whose_noise_cancels_hold_what_rounding_leaves() -> None:
    """Of real amounts: two ways to the same sum differ in their last digits, where no noise is left to cover them."""
    rows = pa.table(
        {"g": [i // 4 for i in range(80)], "h": [i % 4 for i in range(80)], "x": [0.1 * i for i in range(80)]}
    )
    stated: dict[str, Any] = {"unit": dp.ROW, "bounds": {"x": (0, 8)}, "keys": {"g": range(20), "h": range(4)}}
    table = dp.protect(rows, **stated, budget=dp.Budget(epsilon=1e6))
    for epsilon in (1, 1000):
        answer = table.group_by("g", "h", cube=True).agg(s=_.x.sum()).release(epsilon=epsilon)
        for g in range(20):
            nothing = answer.sum(("g", "h"), "s", g=g) - answer.sum("g", "s", g=g)
            assert nothing.low <= 0 <= nothing.high < 1e-6
            third = 0.1 * answer.sum("g", "s", g=g) - 0.1 * answer.sum(("g", "h"), "s", g=g) + 1
            assert third.low <= 1 <= third.high < 1 + 1e-6


def test_sums_are_of_columns_and_keys_that_there_are() -> None:
    answer = cube().release(epsilon=1)
    for arguments, stated, text in (
        (("a", "m"), {}, "a column of the table"),
        (("a", "n"), {"b": 1}, "keys of the table"),
        (("a", "n"), {"a": "z"}, "a key of the table"),
        (("c", "n"), {}, "a table of the batch"),
    ):
        with pytest.raises(InvalidParameter, match=f"Expected {text}"):
            answer.sum(*arguments, **stated)
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(rho=1), **FACTS)
    means = table.group_by("a", cube=True).agg(m=_.v.mean()).release(rho=0.5)
    with pytest.raises(InvalidQuery, match="Expected a column of counts or sums"):
        means.sum("a", "m")
    with pytest.raises(TypeError):
        answer.sum("a", "n") + means.sum("a", "n") if "n" in means["a"].columns else answer.sum("a", "n") + "1"


def test_simultaneous_intervals_are_wider() -> None:
    answer = cube().release(rho=0.5)
    single, every = answer.intervals(0.95), answer.intervals(0.95, simultaneous=True)
    for name in answer:
        one, all_of_them = single[name].to_pydict(), every[name].to_pydict()
        assert (np.array(all_of_them["n_low"]) < np.array(one["n_low"])).all()


def test_displays_have_every_table() -> None:
    answer = cube().release(epsilon=1)
    assert [line for line in repr(answer).splitlines() if line in ("all", "a", "b", "a, b")] == [
        "all",
        "a",
        "b",
        "a, b",
    ]
    assert answer._repr_html_().count("<table") == 4


def test_counts_can_be_counts() -> None:
    """Whole, not negative, and still in agreement; their ends are those of the answer."""
    # One release in a hundred or so has no count below 0.
    answers = (cube().release(epsilon=0.02, delta=1e-6) for _ in range(20))
    answer = next(one for one in answers if min(one["a", "b"]["n"]) < 0)
    for stated in ({}, {"integers": True}, {"nonnegative": False, "integers": True}):
        counts = answer.counts(**stated)
        assert counts["a", "b"].column_names == ["a", "b", "n", "n_low", "n_high"]
        cells = counts["a", "b"]["n"].to_numpy().reshape(2, 4)
        assert cells.min() >= 0 or stated.get("nonnegative") is False
        assert np.allclose(cells.sum(axis=0), counts["b",]["n"].to_numpy(), atol=1e-6)
        assert counts[()]["n"].to_numpy() == pytest.approx(cells.sum())
        assert pa.types.is_integer(counts["b",]["n"].type) is ("integers" in stated)
    plain = answer["a", "b"].to_pyarrow()["n_low"].to_numpy()
    assert answer.counts()["a", "b"]["n_low"].to_pylist() == np.maximum(plain, 0).tolist()
    with pytest.raises(InvalidQuery, match="a count in the batch"):
        sums().release(epsilon=1).counts()
    with pytest.raises(InvalidParameter):
        answer.counts(integers=1)  # type: ignore[arg-type]  # what is refused


def test_counts_are_made_of_what_several_sums_hold() -> None:
    """A count in two blocks: of the rows of a sum each, or, with one mechanism for all, in one of its own."""
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(epsilon=100, delta=1e-3), **FACTS)
    groups: Any = table.group_by("a")
    asked = {"n": groups.agg(n=_.count()), "s": groups.agg(s=_.v.sum(), t=_.v.clip(0, 10).sum())}
    for question in (dp.batch(asked), dp.batch(asked, m=table.count())):
        counts = question.release(epsilon=20).counts(integers=True)
        assert counts["n"]["n"].to_pylist() == pytest.approx([40, 80], abs=6)


def sums() -> BatchQuestion:
    table = dp.protect(ROWS, unit=dp.ROW, budget=dp.Budget(epsilon=100, delta=1e-3), **FACTS)
    return table.group_by("a", "b", cube=True).agg(s=_.v.sum())


def test_counts_that_can_be_are_nearer_in_fine_tables_and_farther_in_coarse_ones() -> None:
    """As the page says: of 1,600 cells, most of them empty."""
    random = np.random.default_rng(1)
    rows = pa.table({name: (random.random(3000) ** 3 * size).astype(int) for name, size in (("x", 20), ("y", 80))})
    keys = {"x": list(range(20)), "y": list(range(80))}
    table = dp.protect(rows, unit=dp.ROW, budget=dp.Budget(epsilon=1e6, delta=1e-3), keys=keys)
    question = table.group_by("x", "y", cube=True).agg(n=_.count())
    exact = question.release(epsilon=2**17, delta=1e-6)["x", "y"]["n"]
    answer = question.release(epsilon=0.5, delta=1e-6)
    unbiased, possible = answer["x", "y"]["n"] - exact, answer.counts()["x", "y"]["n"].to_numpy() - exact
    assert np.sqrt((possible**2).mean()) < 0.75 * np.sqrt((unbiased**2).mean())
    assert possible[exact < 0.5].mean() > 0.1


def test_what_is_no_weight_factor_or_key_is_refused() -> None:
    answer, other = cube().release(epsilon=1), cube().release(epsilon=1)
    total = answer.sum("a", "n")
    assert (total / 2).value == pytest.approx(total.value / 2)
    wrong: list[Callable[[], Any]] = [
        lambda: answer.sum("b", "n", b=7), lambda: answer.sum("b", "n", b="1"), lambda: answer.weighted("a", "n", [1]),
        lambda: answer.weighted("a", "n", "x"), lambda: answer.weighted("a", "n", [1, float("nan")]),
        lambda: answer.weighted("a", "n", np.ones((2, 1))), lambda: answer[np.array([1, 2])],
        lambda: 10**400 * total, lambda: float("inf") * total, lambda: total + float("nan"), lambda: total / 0,
        lambda: total - other.sum("a", "n"), lambda: total + 10**400,
    ]  # fmt: skip
    for ask in wrong:
        with pytest.raises(InvalidParameter, match="\nHint: "):
            ask()


def test_all_tables_are_one_table_whatever_they_are_called() -> None:
    rows = pa.table({"table": ["x", "y"] * 9, "h": [1, 2] * 9, "v": [1.0] * 18})
    table = dp.protect(
        rows, unit=dp.ROW, budget=dp.Budget(epsilon=9), keys={"table": ["x"], "h": [1]}, bounds={"v": (0, 1)}
    )
    named = table.group_by("table", cube=True).agg(n=_.count()).release(epsilon=1)
    assert named.to_pyarrow().column_names[:2] == ["table_", "table"]
    counts = dp.batch(a=table.agg(table=_.count()), b=table.count()).release(epsilon=1)
    assert counts.to_pandas()["table_"].tolist() == ["a", "b"]
    by_h = table.group_by("h").agg(n=_.count())
    for clash in (table.agg(h=_.v.sum()), table.group_by(h=_.v > 0).agg(n=_.count())):
        with pytest.raises(InvalidQuery, match="rename"):
            dp.batch(a=by_h, b=clash)

"""Batches: each of their tables says what its question says alone, and what cannot be answered together is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from ibis import _

import discreet as dp
from depth import examples
from discreet.errors import BudgetExceeded, InvalidParameter, InvalidQuery
from discreet.planning.aggregates import Aggregate
from discreet.query.batch_question import BatchQuestion
from discreet.query.table import PrivateTable

N = 400
EXACT: dict[str, Any] = {"epsilon": 2**19, "delta": 1e-6}


def rows() -> pa.Table:
    """Ages below 0 stand for none."""
    random = np.random.default_rng(5)
    missing = random.random(N) < 0.1
    return pa.table({
        "person": pa.array(random.integers(0, 100, N)),
        "plan": pa.array(random.choice(["a", "b", "c"], N).tolist()),
        "age": pa.array(np.where(missing, -1, random.integers(0, 90, N)).tolist()),
        "x": pa.array(random.normal(3, 2, N)),
        "day": pa.array([date(2020, 1, 1) + timedelta(days=int(k)) for k in random.integers(0, 60, N)]),
        "good": pa.array((random.random(N) < 0.3).tolist()),
    })  # fmt: skip


def with_nulls(table: pa.Table) -> pa.Table:
    ages = pc.if_else(pc.less(table["age"], 0), pa.scalar(None, pa.int64()), table["age"])
    return table.set_column(table.column_names.index("age"), "age", ages)


def protected(**declared: Any) -> PrivateTable:
    stated: dict[str, Any] = {"unit": dp.ROW, **declared}
    budget = dp.Budget(epsilon=2**40, delta=1e-2)
    bounds = {"age": (0, 90), "x": (0, 6), "day": ("2019-12-01", "2021-01-01")}
    return dp.protect(with_nulls(rows()), budget=budget, bounds=bounds, keys={"plan": ["a", "b"]}, **stated)


THRESHOLDS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "age": ("age", (18, 19, 40, 65)),
    "x": ("x", (0.5, 3.0, 3.0000001, 5.5)),
    "day": ("day", tuple(ibis.date(f"{one}") for one in ("2020-01-05", "2020-01-06", "0001-01-01", "9999-12-31"))),
}
WAYS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda c, k: c >= k, lambda c, k: c > k, lambda c, k: c <= k, lambda c, k: c < k, lambda c, k: c == k,
    lambda c, k: c != k, lambda c, k: ~(c >= k), lambda c, k: (c > k) | c.isnull(), lambda c, k: c.isnull() | (c == k),
)  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn, t: PrivateTable) -> Any:
    """A condition of any form: comparisons of a column, of a text, of an expression, of two columns."""
    kinds = ("threshold", "threshold", "threshold", "between", "text", "truth", "other", "both", "missing")
    kind = draw(st.sampled_from(kinds))
    name, values = THRESHOLDS[draw(st.sampled_from(sorted(THRESHOLDS)))]
    choices: dict[str, Callable[[], Any]] = {
        "threshold": lambda: draw(st.sampled_from(WAYS))(t[name], draw(st.sampled_from(values))),
        "between": lambda: t[name].between(values[0], draw(st.sampled_from(values))),
        "text": lambda: draw(st.sampled_from((t.plan == "a", t.plan != "b", t.plan.isin(["a", "c"]), t.plan > "a"))),
        "truth": lambda: draw(st.sampled_from((t.good, ~t.good, t.good == False))),  # noqa: E712 (an expression)
        "other": lambda: draw(st.sampled_from((t.age % 2 == 0, t.x * 2 > 3, t.age > t.x, t.plan.length() > 0))),
        "both": lambda: (t[name] >= values[0]) & (t.age != 40),
        "missing": lambda: draw(st.sampled_from((t[name].isnull(), t[name].notnull(), t.plan.isnull()))),
    }
    return choices[kind]()


@st.composite
def asked(draw: st.DrawFn, table: PrivateTable) -> dp.Question:
    """A question with conditions, new columns and groups in any order."""
    t = table
    for _step in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            t = t.filter(draw(conditions(t)))
        else:
            t = t.mutate(age=t.age + 1) if draw(st.booleans()) else t.mutate(twice=t.x * 2)
    columns = [_.count(), _.x.sum(), _.age.sum(), _.count(where=_.good), _.x.mean()]
    wanted = {f"c{i}": draw(st.sampled_from(columns)) for i in range(draw(st.integers(1, 2)))}
    groups: list[dict[str, Any]] = [
        {}, {"names": ["plan"], "keys": {"plan": draw(st.sampled_from((["a", "b"], ["c", "a"], ["b", "z"])))}},
        {"named": {"old": t.age >= 40}}, {"names": ["good"], "keys": {"good": [True, False]}},
        {"names": ["plan"], "named": {"old": t.age >= 40}, "keys": {"plan": ["a"]}},
    ]  # fmt: skip
    chosen = draw(st.sampled_from(groups))
    if not chosen:
        return t.agg(**wanted)
    found: dp.Question = t.group_by(*chosen.get("names", []), keys=chosen.get("keys"), **chosen.get("named", {})).agg(
        **wanted
    )
    return found


@pytest.mark.long
@settings(max_examples=examples(4), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_batches_say_what_their_questions_say(data: st.DataObject) -> None:
    """As good as without noise: the same numbers, for random questions of up to three conditions and two groups."""
    table = protected()
    if data.draw(st.booleans(), label="several rows of one"):
        table = table.unnest(x=[_.x, 6 - _.x])
    questions = {f"q{i}": data.draw(asked(table), label=f"q{i}") for i in range(data.draw(st.integers(1, 3)))}
    try:
        together = dp.batch(questions)
    except InvalidQuery as problem:  # one that no row can meet
        assert "conditions that some row can meet" in str(problem)  # noqa: PT017 (drawn again)
        reject()
    answer = together.release(**EXACT)
    for name, question in questions.items():
        alone = question.release(**EXACT).to_pyarrow()
        found = answer[name].to_pyarrow()
        assert found.column_names == alone.column_names
        for column in alone.column_names:
            if column in answer[name].columns:
                wide = [one[f"{column}_high"].to_numpy() - one[f"{column}_low"].to_numpy() for one in (alone, found)]
                near = np.abs(found[column].to_numpy() - alone[column].to_numpy())
                size = np.nan_to_num(np.abs(alone[column].to_numpy()))  # a dash has an interval alone
                assert (np.isnan(near) | (near <= 0.1 + 0.02 * size + sum(wide))).all(), column
                assert (wide[1] <= 1 + 2 * wide[0] + 0.02 * size).all(), column
            elif column in answer[name].groups:
                assert found[column].to_pylist() == alone[column].to_pylist()


@pytest.mark.parametrize("column", THRESHOLDS)
def test_rows_between_constants_are_counted(column: str) -> None:
    """They meet both conditions, which no constant does."""
    table = protected()
    name, values = THRESHOLDS[column]
    above, below = table.filter(table[name] > values[0]).count(), table.filter(table[name] < values[-1]).count()
    answer = dp.batch(above=above, below=below).release(**EXACT)
    for alone, found in ((above, answer["above"]), (below, answer["below"])):
        assert abs(alone.release(**EXACT)["count"][0] - found["count"][0]) < 0.2


@pytest.mark.parametrize("column", ["age", "x", "day", "plan", "good"])
def test_rows_are_counted_where_no_constant_is(column: str) -> None:
    """A question may ask for NULL alone, beside another one about all rows."""
    table = protected()
    answer = dp.batch(missing=table.filter(table[column].isnull()).count(), rows=table.count()).release(**EXACT)
    assert abs(answer["rows"]["count"][0] - N) < 0.2
    assert abs(answer["missing"]["count"][0] - with_nulls(rows())[column].null_count) < 0.2


def test_rows_that_one_row_became_are_others() -> None:
    """They are counted one by one, and not beside the rows that they were made of."""
    table = protected(unit="person", max_groups=2, max_rows=40)
    for several in (table.unnest(y=[_.x, _.x + 1]), table.pivot_longer(["x", "age"], values_to="y")):
        every, large = several.count(), several.filter(_.y > 3).count()
        for row in (table.count(), table.unnest(y=[_.x]).count()):
            with pytest.raises(InvalidQuery, match="questions about the same rows"):
                dp.batch(rows=row, every=every)
        answer = dp.batch(every=every, large=large).release(**EXACT)
        assert abs(answer["every"]["count"][0] - 2 * N) < 0.2
        assert abs(answer["large"]["count"][0] - large.release(**EXACT)["count"][0]) < 0.2


@pytest.mark.parametrize("end", [date.min, date.max])
def test_conditions_may_name_the_ends_of_the_calendar(end: date) -> None:
    table = protected()
    answer = dp.batch(all=table.filter(table.day != end).count(), none=table.filter(table.day == end).count())
    found = answer.release(**EXACT)
    assert [round(found[name]["count"][0]) for name in ("all", "none")] == [N, 0]


def test_sixteen_nested_counts_have_a_fifth_of_their_error() -> None:
    """What ±48 were one by one, at a total of epsilon 1; sixteen disjoint bins, added up, would have up to ±11."""
    table = protected()
    nested = {f"from_{k}": table.filter(_.age >= k).count() for k in range(5, 85, 5)}
    alone = nested["from_5"].explain(epsilon=1 / 16).accuracy["count"].amount
    together = dp.batch(nested).explain(epsilon=1).accuracy
    assert alone == 48
    assert max(one.amount for one in together.values()) <= 10.6
    assert len(dp.batch(nested).plan(epsilon=1).cells.columns) == 1


def test_units_are_bounded_over_the_common_cells() -> None:
    """In one cell of all, each person counts once however many cells and tables there are."""
    table = protected(unit="person", max_rows=3)
    questions = {"all_of_them": table.count(), "old": table.filter(_.age >= 40).count()}
    with pytest.raises(InvalidQuery, match="Expected max_groups and max_rows of the batch"):
        dp.batch(questions)
    plan = dp.batch(questions, max_groups=2, max_rows=1).plan(epsilon=1)
    assert (plan.cells.limits.max_groups, plan.cells.limits.max_rows) == (2, 1)
    people = dp.batch(persons=table.nunique(), old=table.filter(_.age >= 40).nunique(), max_groups=1, max_rows=1)
    assert abs(people.release(**EXACT)["persons"]["nunique"][0] - 98) < 3
    with pytest.raises(InvalidQuery, match="max_groups=1 beside a number of units"):
        dp.batch(persons=table.nunique(), old=questions["old"], max_groups=2, max_rows=1)


def refusals(table: PrivateTable) -> dict[str, Callable[[], Any]]:
    count = table.count()
    return {
        "Expected questions by name": dp.batch,
        "Expected questions, got n=": lambda: dp.batch(n=1),  # type: ignore[call-overload]  # what is refused
        "questions about one protected table": lambda: dp.batch(n=count, m=protected().count()),
        "a question without steps after the noise": lambda: dp.batch(n=count.limit(1)),
        "columns that add up": lambda: dp.batch(n=count, m=table.agg(m=_.x.median())),
        "at most 60 conditions on a column": lambda: dp.batch(
            {f"q{k}": table.filter(_.age > k).count() for k in range(61)}
        ),
        "conditions that some row can meet": lambda: dp.batch(n=count, m=table.filter(_.age > 5, _.age < 2).count()),
        "questions about the same rows": lambda: dp.batch(n=count, m=table.union(protected_beside(table)).count()),
    }


def protected_beside(table: PrivateTable) -> PrivateTable:
    return dp.protect(rows(), unit=dp.ROW, budget=table.budget, bounds={"x": (0, 6)}, name="beside").select(
        *table.columns
    )


def test_what_cannot_be_answered_together_is_refused() -> None:
    table = protected()
    spent = table.budget.spent
    for text, ask in refusals(table).items():
        with pytest.raises(InvalidQuery) as caught:
            ask()
        assert text in str(caught.value) or "one protected table" in str(caught.value)
        assert "\nHint: " in str(caught.value)
    stacked = dp.sql("SELECT plan, COUNT(*) AS n FROM t GROUP BY CUBE (plan)", t=table)
    with pytest.raises(InvalidQuery, match="several groupings are a batch by themselves"):
        dp.batch(n=stacked)
    with pytest.raises(InvalidQuery, match="each name once"):
        dp.batch({"n": table.count()}, n=table.count())
    tuples = dp.public_keys(pa.table({"plan": ["a", "b"], "good": [True, False]}))
    with pytest.raises(InvalidQuery, match="all combinations of the keys"):
        dp.batch(n=table.group_by("plan", "good", keys=tuples).agg(n=_.count()))
    assert table.budget.spent == spent


def test_nothing_is_spent_on_what_does_not_fit() -> None:
    budget = dp.Budget(epsilon=1)
    table = dp.protect(rows(), unit=dp.ROW, budget=budget)
    question = dp.batch(n=table.count(), old=table.filter(_.age >= 40).count())
    with pytest.raises(BudgetExceeded):
        question.release(epsilon=2)
    with pytest.raises(InvalidParameter):
        question.release(epsilon=1, confidence=2)
    assert budget.spent.epsilon == 0


@pytest.mark.long
def test_the_picture_has_a_curve_for_each_table(tmp_path: Path) -> None:
    table = protected()
    question = dp.batch(by_plan=table.group_by("plan").agg(n=_.count()), old=table.filter(_.age >= 40).count())
    figure = question.plot(epsilons=(0.1, 1), path=tmp_path / "errors.png")
    curves = {line.get_label(): [float(y) for y in np.asarray(line.get_ydata())] for line in figure.axes[0].lines}
    expected = [question.explain(epsilon=epsilon).accuracy["old: count"].amount for epsilon in (0.1, 1)]
    assert curves["old"] == expected
    assert (tmp_path / "errors.png").stat().st_size > 1000
    with pytest.raises(InvalidParameter):
        question.plot(epsilons=(0,))
    for path in (tmp_path / "no" / "folder.png", 5, tmp_path / "errors.zzz", "a\0b.png"):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            question.plot(epsilons=(1,), path=path)  # type: ignore[arg-type]  # what is refused


def test_cubes_rollups_and_sets() -> None:
    table = protected()
    groups: dict[str, Any] = {"keys": {"good": [True, False]}}

    def names(**stated: Any) -> Any:
        question: BatchQuestion = table.group_by("plan", "good", **groups, **stated).agg(n=_.count())
        return question.names

    assert names(cube=True) == ((), ("plan",), ("good",), ("plan", "good"))
    assert names(rollup=True) == ((), ("plan",), ("plan", "good"))
    assert names(sets=[["good"], "plan", []]) == (("good",), ("plan",), ())
    assert table.crosstabs("plan", "good", ways=2, keys={"good": [True, False]}).names == names(cube=True)
    for stated, text in (
        ({"cube": True, "rollup": True}, "one of cube, rollup and sets"),
        ({"sets": []}, "a list of lists"), ({"sets": [["plan"]]}, "each name in a set"),
        ({"sets": [["plan"], ["plan"], ["good"]]}, "each set once"),
        ({"sets": [["plan", "c"]]}, "names that are grouped by"),
        ({"sets": ["plan", ["good", "good"]]}, "lists of distinct names"),
    ):  # fmt: skip
        with pytest.raises(InvalidQuery, match=text):
            names(**stated)
    for ways in (0, 3, True, 1.5):
        with pytest.raises(InvalidQuery, match="a number of columns"):
            table.crosstabs("plan", "good", ways=ways, keys={"good": [True, False]})  # type: ignore[arg-type]  # what is refused
    with pytest.raises(InvalidQuery, match="keys that are lists"):
        table.group_by("plan", keys=dp.UNKNOWN, cube=True).agg(n=_.count())
    with pytest.raises(InvalidQuery, match="cells in all tables"):
        table.group_by("age", day_number=_.x.floor(), cube=True,
                       keys={"age": list(range(5000)), "day_number": list(range(5000))}).agg(n=_.count())  # fmt: skip


def test_aggregates_that_are_the_same_are_measured_once() -> None:
    table = protected()
    question: Any = dp.batch(one=table.agg(n=_.count(), s=_.x.sum()), two=table.filter(_.age > 3).agg(s=_.x.sum()))
    names: tuple[Aggregate, ...] = question.query.cells.aggregates
    assert len(names) == 2
    assert question.query.tables[1].places == (1,)


def test_questions_about_a_part_of_a_table_are_planned_together() -> None:
    table = protected(unit="person", max_rows=400)
    part = table.partition("plan", max_parts=1)["a"]
    both: Any = dp.batch(all=part.count(), good=part.filter(_.good).count(), max_groups=2, max_rows=400)
    assert both.query.sizes == (2,)
    answer = both.release(**EXACT)
    assert answer["good"]["count"] == pytest.approx(part.filter(_.good).count().release(**EXACT)["count"], abs=1)


def test_a_column_of_truth_values_is_compared_as_well() -> None:
    """It is a condition, and a column that other conditions look at."""
    t = protected()
    found = dp.batch(
        good=t.filter(t.good).count(), bad=t.filter(~t.good).count(), false=t.filter(t.good == False).count(),  # noqa: E712 (an expression)
        unknown=t.filter(t.good.isnull()).count(), all=t.count(),
    ).release(**EXACT)  # fmt: skip
    counts = {name: found[name].to_pyarrow()["count"][0].as_py() for name in ("good", "bad", "false", "unknown", "all")}
    good = sum(rows()["good"].to_pylist())
    assert counts == {"good": good, "bad": N - good, "false": N - good, "unknown": 0, "all": N}


def test_lines_of_several_groupings() -> None:
    table = protected()
    question = table.group_by("plan", cube=True).regress("x", "age")
    answer = question.release(rho=2**30)
    lines = table.group_by("plan").regress("x", "age").release(**EXACT)
    assert answer["plan"]["slope"] == pytest.approx(lines["slope"], abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("unit", [dp.ROW, "person"])
def test_domains_too_large_to_be_written_out_are_answered(unit: Any) -> None:
    """As those of fewer keys are: the rest of them has no rows."""
    table = protected(unit=unit).mutate(whole=_.x.floor(), tens=(_.age / 10).floor())
    limits: dict[str, Any] = {} if unit is dp.ROW else {"max_groups": 2, "max_rows": 2}
    few = {"plan": ["a", "c", None], "age": [None, *range(90)], "whole": list(range(-5, 9)), "tens": list(range(9))}
    many = few | {"age": [None, *range(99)], "whole": list(range(-40, 60)), "tens": list(range(99))}
    found = []
    for keys in (few, many):
        question: Any = table.crosstabs(*keys, ways=2, keys=keys, **limits)
        if keys is many:
            assert question.query.cells.cells > 2**20
            with pytest.raises(InvalidQuery, match="cells in all tables"):
                table.crosstabs(*keys, ways=4, keys=keys, **limits)
        found.append(question.release(**EXACT))
    one, other = (release["plan", "age"].to_pyarrow().to_pylist() for release in found)
    shown = {(row["plan"], row["age"]): row["count"] for row in other}
    for row in one:
        assert shown[row["plan"], row["age"]] == pytest.approx(row["count"], abs=0.6)
    assert sum(row["count"] for row in other) == pytest.approx(sum(row["count"] for row in one), abs=0.6)


def test_the_ledger_names_tables_and_columns() -> None:
    budget = dp.Budget(epsilon=1)
    table = dp.protect(rows(), unit=dp.ROW, budget=budget, keys={"plan": ["a", "b"]})
    answer = table.crosstabs("plan", ways=1).release(epsilon=1)
    assert answer.receipt["question"] == "count in 2 tables: all; plan"
    assert answer.receipt["groups"] == "2 common cells of 1 attributes"

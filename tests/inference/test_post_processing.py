"""Steps after the noise: checked before anything is spent, and written down."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.inference.post_processing import MOST_STEPS_AFTER
from discreet.language.allow_list import DEEPEST
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import people


@pytest.fixture
def question(unreadable: Callable[..., PrivateTable]) -> Question:
    return unreadable().group_by("plan").agg(n=_.count(), m=_.age.mean())


def test_steps_are_shown(question: Question) -> None:
    asked = question.having(_.n > 3).order_by(ibis.desc("m"), "plan").limit(5, offset=2).mutate(d=_.n * 2).select("d")
    said = "having n > 3, order_by m desc, plan, limit 5 from 2, mutate d=n * 2, select d"
    assert repr(asked) == f"<question about 'people': n, m by plan; {said}>"
    assert asked.explain(epsilon=1)["charge"] == question.explain(epsilon=1)["charge"]


ANY: Any = "5"
REFUSED: dict[str, tuple[Callable[[Question], Any], str]] = {
    "no condition": (lambda q: q.having(), "conditions on the answer"),
    "a number as a condition": (lambda q: q.having(_.n), "conditions on the answer"),
    "an unknown column": (lambda q: q.having(_.nothing > 1), "known column"),
    "a column of another table": (
        lambda q: q.having(ibis.table({"a": "int64"}, name="o").a > 1),
        "columns of the answer",
    ),
    "no order": (lambda q: q.order_by(), "what to order by"),
    "an unknown order": (lambda q: q.order_by("nothing"), "known column"),
    "a negative limit": (lambda q: q.limit(-1), "0 or more"),
    "a limit of text": (lambda q: q.limit(ANY), "0 or more"),
    "a limit that is true": (lambda q: q.limit(*[True]), "0 or more"),
    "a negative offset": (lambda q: q.limit(1, offset=-1), "0 or more"),
    "no new column": (lambda q: q.mutate(), "new columns"),
    "a key rewritten": (lambda q: q.mutate(plan=_.n), "another name"),
    "an end rewritten": (lambda q: q.mutate(n_low=_.n), "another name"),
    "ends that are taken": (lambda q: q.mutate(x=_.n, x_low=_.n), "another name"),
    "a name apart by case": (lambda q: q.mutate(N=_.n), "more than case"),
    "the name of an end apart by case": (lambda q: q.mutate(N_LOW=_.n), "more than case"),
    "no column": (lambda q: q.select(), "distinct columns"),
    "a column twice": (lambda q: q.select("n", "n"), "distinct columns"),
    "a column that is none": (lambda q: q.select("x"), "a column of the answer"),
    "a column that is gone": (lambda q: q.select("m").having(_.n > 1), "known column"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_mistakes_cost_nothing(question: Question, refused: Callable[..., str], what: str) -> None:
    ask, said = REFUSED[what]
    assert said in refused(InvalidQuery, ask, question)


@pytest.mark.parametrize("names", [("n", "N"), ("n", "N_High"), ("n", "Plan")])
def test_nothing_is_calculated_where_case_alone_tells_columns_apart(
    unreadable: Callable[..., PrivateTable], refused: Callable[..., str], names: tuple[str, str]
) -> None:
    """The engine would take the first for both, or Ibis fail after the charge."""
    asked = unreadable().group_by("plan").agg(**dict.fromkeys(names, _.count()))
    for ask in (lambda: asked.mutate(x=_.n * 2), lambda: asked.having(_.n > 1), lambda: asked.select("n")):
        assert "more than case" in refused(InvalidQuery, ask)


def test_what_is_known_of_a_rewritten_column(question: Question) -> None:
    asked = question.mutate(n=_.n.cast("string"), k=_.m / 2)
    assert asked._steps().ended == {"m", "k"}
    assert asked._steps().shape.columns == ("plan", "m", "m_low", "m_high", "n", "k", "k_low", "k_high")


@pytest.mark.long
def test_the_expected_shape_is_that_of_the_answer() -> None:
    """So that what is written for an answer is checked before it is paid for: a date is no number."""
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(50)]
    times = [datetime.datetime.fromisoformat(f"2020-01-01T{i % 24:02}:00") for i in range(50)]
    rows = pa.table(
        {"d": days, "s": times, "i": list(range(50)), "x": [i / 2 for i in range(50)], "g": ["a", "b"] * 25}
    )
    bounds = {"d": (days[0], days[-1]), "s": (times[0], times[23]), "i": (0, 50), "x": (0, 25)}
    table = dp.protect(rows, unit=dp.ROW, bounds=bounds, keys={"g": ["a", "b"]}, budget=dp.Budget(epsilon=100))
    ranked = {f"{v}_{q}": getattr(_[v], q)() for v in bounds for q in ("min", "max", "median")}
    others = {f"{v}_{q}": getattr(_[v], q)() for v in "ix" for q in ("count", "sum", "mean", "var", "std")}
    asked = table.group_by("g").agg(**ranked, **others, n=_.count(), r=_.i.corr(_.x))
    assert asked._steps().shape.schema() == asked.release(epsilon=9)._processing.shape.schema()
    for wrong in (_.d_max * 2, _.d_max > 3, -_.d_min, _.s_min.sqrt(), _.d_max - _.n):
        with pytest.raises(InvalidQuery, match="Hint: "):
            asked.mutate(z=wrong)
    before = table.budget.spent.epsilon
    for wrong in (ibis.null(), ibis.literal(value=True), _.n.sum(), ibis.literal(3)):
        with pytest.raises(InvalidQuery, match="columns to order by"):
            asked.order_by(wrong)
    assert table.budget.spent.epsilon == before
    later = asked.mutate(z=_.d_max, y=_.d_max.year()).having(_.d_max > datetime.date(1999, 1, 3)).release(epsilon=1)
    assert "z_low" not in later.to_pyarrow().column_names


def test_ends_of_what_leaves_a_range() -> None:
    """Ends in the wrong order, values below a root's, and coefficients beyond the floats."""
    n = _["count"]
    made = people().count().mutate(a=n.clip(50, 3), r=(n - 10**6).sqrt(), k=n * 1e308 * 10, c=ibis.literal(3))
    [row] = made.release(epsilon=1).to_pyarrow().to_pylist()
    assert row["a_low"] == row["a_high"] == row["a"] == 50
    assert (row["r_low"], row["r_high"]) == (-math.inf, math.inf)
    assert not math.isnan(row["k_low"] + row["k_high"])
    assert (row["c_low"], row["c"], row["c_high"]) == (3, 3, 3)


def chain(expression: Any, times: int) -> Any:
    for number in range(times):
        expression = expression + number
    return expression


def test_steps_are_no_deeper_than_their_documents_can_be_read(question: Question) -> None:
    """Writing, compiling and reading a calculation recurse, some of it after the charge."""
    assert question.mutate(x=chain(_.n, DEEPEST - 2)).document()
    for deep in (DEEPEST + 1, 900):
        asked: tuple[Callable[[], Question], ...] = (
            partial(question.mutate, x=chain(_.n, deep)),
            partial(question.having, chain(_.n, deep) > 0),
            partial(question.order_by, chain(_.n, deep)),
            partial(question.mutate(x=chain(_.n, 70)).mutate, y=chain(_.x, deep - 70)),
        )
        for ask in asked:
            with pytest.raises(InvalidQuery, match=f"at most {DEEPEST} nested operations"):
                ask()


def test_there_are_not_many_steps(question: Question) -> None:
    for _each in range(MOST_STEPS_AFTER):
        question = question.having(_.n > 0)
    more: tuple[Callable[[], Question], ...] = (
        partial(question.limit, 1),
        partial(question.mutate, x=_.n),
        partial(question.select, "n"),
    )
    for step in more:
        with pytest.raises(InvalidQuery, match=f"at most {MOST_STEPS_AFTER} steps after the noise"):
            step()

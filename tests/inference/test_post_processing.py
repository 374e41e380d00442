"""Steps after the noise: checked before anything is spent, and written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.query.question import Question
from discreet.query.table import PrivateTable


@pytest.fixture
def question(unreadable: Callable[..., PrivateTable]) -> Question:
    return unreadable().group_by("plan").agg(n=_.count(), m=_.age.mean())


def test_steps_are_shown(question: Question) -> None:
    asked = question.having(_.n > 3).order_by(ibis.desc("m"), "plan").limit(5, offset=2).mutate(d=_.n * 2).select("d")
    said = "having Greater(n, 3), order_by m desc, plan, limit 5 from 2, mutate d=Multiply(n, 2), select d"
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
    "no column": (lambda q: q.select(), "distinct columns"),
    "a column twice": (lambda q: q.select("n", "n"), "distinct columns"),
    "a column that is none": (lambda q: q.select("x"), "a column of the answer"),
    "a column that is gone": (lambda q: q.select("m").having(_.n > 1), "known column"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_mistakes_cost_nothing(question: Question, refused: Callable[..., str], what: str) -> None:
    ask, said = REFUSED[what]
    assert said in refused(InvalidQuery, ask, question)


def test_what_is_known_of_a_rewritten_column(question: Question) -> None:
    asked = question.mutate(n=_.n.cast("string"), k=_.m / 2)
    assert asked._steps().ended == {"m", "k"}
    assert asked._steps().shape.columns == ("plan", "m", "m_low", "m_high", "n", "k", "k_low", "k_high")

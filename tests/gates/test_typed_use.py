"""What a type checker knows of a user's script: `make types` reads this file, and an ignore that it does not need is an
error; so each mistake below is found before anything runs, and the same happens when it does run.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import pytest

import discreet as dp
from discreet.testing import people


def test_a_release_is_known_by_its_class(tmp_path: Path) -> None:
    table = people()
    grouped = table.filter(table.age > 3, -table.visits < 0).group_by("plan", max_groups=1, max_rows=2)
    question = assert_type(grouped.agg(mean=table.age.mean()), dp.Question)
    answer = assert_type(question.limit(2).release(epsilon=1), dp.Release)
    assert_type(question.release(epsilon=1, to=tmp_path / "answer.parquet"), dp.AnswerFile)
    assert len(answer) == 2
    assert_type(answer.receipt, dp.Receipt)
    assert_type(answer.receipt.charge, dp.Guarantee)
    assert_type(dp.Budget(epsilon=1).spent, dp.Guarantee)


def test_what_is_built_on_questions_is_known_too() -> None:
    table = people()
    assert_type(table.budget.spent, dp.Guarantee)
    assert_type(table.kmeans(["age", "visits"], n_clusters=2, epsilon=5), dp.Clusters)
    assert table.top("plan", epsilon=1).values
    with pytest.raises(AttributeError):
        table.top("plan", epsilon=1).counts  # type: ignore[attr-defined]  # noqa: B018 - the mistake
    with pytest.raises(AttributeError):
        table.budget.remains  # type: ignore[attr-defined]  # noqa: B018 - the mistake
    with pytest.raises(TypeError):
        table.top("plan", epsilom=1)  # type: ignore[call-overload]  # the mistake


def test_a_verb_that_is_written_wrong_is_found() -> None:
    table = people()
    with pytest.raises(AttributeError):
        table.fliter(table.age > 3)  # type: ignore[operator]  # the mistake
    with pytest.raises(AttributeError):
        table.group_by("plan").aggregate(n=table.age.mean())  # type: ignore[attr-defined]  # the mistake
    with pytest.raises(AttributeError):
        table.count().relase(epsilon=1)  # type: ignore[attr-defined]  # the mistake
    with pytest.raises(TypeError):
        table.count().release(epsilonn=1)  # type: ignore[call-overload]  # the mistake


def test_a_wrong_use_of_a_result_is_found(tmp_path: Path) -> None:
    question = people().group_by("plan", max_groups=1).agg(n=lambda t: t.count())
    with pytest.raises(AttributeError):
        question.release(epsilon=1).to_exel("x.xlsx")  # type: ignore[attr-defined]  # the mistake
    with pytest.raises(AttributeError):
        question.release(epsilon=1, to=tmp_path / "answer.parquet").plot()  # type: ignore[attr-defined]  # the mistake
    with pytest.raises(AttributeError):
        question.release(epsilon=1).receipt.promise  # type: ignore[attr-defined]  # noqa: B018 - the mistake

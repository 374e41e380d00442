"""What cannot be written group by group is refused, with a cure, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.query import file_output
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import people

Ask = Callable[[PrivateTable], Question]


def count(t: PrivateTable, **stated: Any) -> Question:
    found: Question = t.group_by("plan", **stated).agg(n=lambda s: s.count(), a=lambda s: s.age.sum())
    return found


REFUSED: dict[str, tuple[Ask, dict[str, Any], str, str]] = {
    "all rows": (lambda t: t.count(), {}, "Expected groups", "to_parquet"),
    "a median": (
        lambda t: t.group_by("plan").agg(m=lambda s: s.visits.median()), {}, "from no totals", "of their own",
    ),
    "an end": (lambda t: t.group_by("plan").agg(m=lambda s: s.visits.max()), {}, "from no totals", "of their"),
    "a report": (count, {"report": "clipped"}, "without a report", "leave it out"),
    "rounds": (count, {"within": {"a": 100}, "epsilon": None, "up_to": 1}, "one charge", "state epsilon"),
    "relative": (count, {"within": {"a": 0.1}, "epsilon": None, "relative": True}, "one charge", "state epsilon"),
    "an order": (lambda t: count(t).order_by("n"), {}, "no steps after the noise", "on the file"),
    "a calculation": (lambda t: count(t).mutate(m=lambda s: s.a / s.n), {}, "no steps after", "on the file"),
    "unknown keys": (lambda t: count(t, keys=dp.UNKNOWN), {"delta": 1e-6}, "that are stated for to=", "state them"),
    "open limits": (lambda t: count(t, max_groups="auto"), {}, "that are stated for to=", "state them"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_refused(name: str, tmp_path: Path) -> None:
    ask, more, message, cure = REFUSED[name]
    table = people()
    with pytest.raises(dp.InvalidQuery, match=message) as refusal:
        ask(table).release(**{"epsilon": 1, "to": tmp_path / "answer.parquet", **more})
    assert cure in str(refusal.value).partition("Hint: ")[2]
    assert table.budget.spent.epsilon == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stated", [{}, {"max_groups": "auto"}], ids=["stated", "open"])
def test_too_many_groups_need_a_file(stated: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(file_output, "MOST_KEYS", 2)
    table = people()
    with pytest.raises(dp.InvalidQuery, match=r"at most 2 groups in an answer in memory, got 3.\nHint: .*to="):
        count(table, **stated).release(epsilon=1)
    assert table.budget.spent.epsilon == 0
    assert count(table).release(epsilon=1, to=tmp_path / "answer.parquet").rows == 3

"""Answers to verbs of their own that are not what was expected: one refusal, which the client has for all bodies."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from asked_service import Served
from discreet.answers.stored_answers import received, sent_text, stored_table, table_of
from discreet.client.service_bodies import ServiceRefused
from discreet.errors import DiscreetError

COLUMNS = {
    "truncated_total": ("limit", "total"),
    "truncated_total of rows": ("limit", "total"),
    "count_distinct": ("limit", "count"),
    "top": ("value", None),
    "choose": ("chosen", None),
}
ASKED: dict[str, Any] = {
    "truncated_total": lambda t: t.truncated_total("visits", limit=2),
    "truncated_total of rows": lambda t: t.truncated_total(limit="race", most=8),
    "count_distinct": lambda t: t.count_distinct("age", max_values=2),
    "top": lambda t: t.top("plan", k=2),
    "choose": lambda t: t.choose([18, 40], score=lambda c: _.age >= c, max_rows=1),
    "kmeans": lambda t: t.kmeans(["age"], n_clusters=2, algorithm="lloyd"),
}
WRONG: tuple[Any, ...] = (None, "exec", "9" * 5000, "1.5", "1_000", " 5 ", "+5", "-0", "", 5, 1.5, True, -1, b"5")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("served"))
    yield made
    made.service.close()


def answered(served: Served, question: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the service sends for a question."""
    kept: list[dict[str, Any]] = []
    connection = served.client._connection
    with monkeypatch.context() as patch:
        real = connection.answer

        def answer(ask: Any) -> dict[str, Any]:
            kept.append(real(ask))
            return kept[-1]

        patch.setattr(connection, "answer", answer)
        question.release(epsilon=1)
    return kept[-1]


def sends(served: Served, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the service sends this."""
    monkeypatch.setattr(served.client._connection, "answer", lambda _: body)


def wrong_tables(table: pa.Table, limit: str, text: str | None) -> Iterator[pa.Table]:
    """Tables that are none of those that the mechanism gives."""
    yield from (table.slice(0, 0), table.drop_columns([limit]), table.append_column("x", table[limit]))
    yield pa.concat_tables([table, table])
    yield table.rename_columns(["x", *table.column_names[1:]])
    for name in (limit,) if text is None else (limit, text):
        place = table.column_names.index(name)
        for wrong in WRONG:
            if name == text or not isinstance(wrong, str):
                yield table.set_column(place, name, pa.array([wrong] * len(table)))
    yield table.set_column(0, limit, pa.array([3] * len(table), pa.int64()))
    yield table.set_column(0, limit, pa.array([2**62] * len(table), pa.int64()))


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long) if "rows" in one else one for one in COLUMNS]
)
def test_a_table_that_no_mechanism_gives_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    question = ASKED[name](served.client["people"])
    table, receipt = table_of(received(answered(served, question, monkeypatch)["answer"]))
    for wrong in wrong_tables(table, *COLUMNS[name]):
        sends(served, {"answer": sent_text(stored_table(wrong, receipt))}, monkeypatch)
        with pytest.raises(ServiceRefused, match="sends the answer to what was asked"):
            question.release(epsilon=1)
    sends(served, {"answer": sent_text(stored_table(table, receipt))}, monkeypatch)
    repr(question.release(epsilon=1))


@pytest.mark.parametrize("name", [pytest.param("kmeans", marks=pytest.mark.long), "top"])
def test_bytes_that_are_no_answer_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    question = ASKED[name](served.client["people"])
    text = answered(served, question, monkeypatch)["answer"]
    chance = random.Random(name)  # noqa: S311 (places to cut)
    cut = [text[: chance.randrange(len(text))] for _i in range(4)]
    for wrong in ("", "{}", "[", "{", '{"receipt": 1}', '{"receipt": {}}', "x" * 99, "\x00", *cut):
        sends(served, {"answer": wrong}, monkeypatch)
        with pytest.raises(ServiceRefused, match=r"sends (the answer to what was asked|a receipt)"):
            question.release(epsilon=1)


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [{"centers": []}, {"sizes": [1]}, {"sizes": "x"}, {"account": {}}],
)
def test_clusters_of_another_shape_are_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    question = ASKED["kmeans"](served.client["people"])
    stored = json.loads(answered(served, question, monkeypatch)["answer"])
    stored["answer"] |= changed
    sends(served, {"answer": json.dumps(stored)}, monkeypatch)
    with pytest.raises(DiscreetError, match="Expected"):
        question.release(epsilon=1)


def test_the_answer_to_another_question_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    people = served.client["people"]
    pairs: list[tuple[Any, Any]] = [
        (people.truncated_total(limit=2), people.filter(_.age > 50).truncated_total(limit=2)),
        (people.count_distinct("age"), people.count_distinct("plan")),
        (people.count(), people.filter(_.age > 50).count()),
        (dp.batch(a=people.count()), dp.batch(a=people.filter(_.age > 50).count())),
    ]
    for one, other in pairs:
        sends(served, answered(served, other, monkeypatch), monkeypatch)
        repr(other.release(epsilon=1))
        with pytest.raises(ServiceRefused, match="sends the answer to what was asked"):
            one.release(epsilon=1)
        monkeypatch.undo()

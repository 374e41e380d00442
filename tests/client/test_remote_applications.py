"""Choices, bounds from below, clusters and hierarchies of a service: planned here, charged there once, checked."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from asked_service import Served
from discreet.answers.stored_answers import received, sent_text
from discreet.client.remote_declaration import declared
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_view import AnswerView
from discreet.service.asked_tables import as_one
from discreet.testing.example_tables import PLANS, visits

PLACES = dp.public_keys(pa.table({"plan": list(PLANS)}), name="places")
ASKED: dict[str, Any] = {
    "top": lambda t: t.top("plan", k=2),
    "top of some": lambda t: t.filter(_.age > 20).top("plan", keys=["free", None]),
    "top as a set": lambda t: t.top("plan", k=2, order=False),
    "choose": lambda t: t.choose([18, 40, 65], score=lambda c: _.age >= c, max_rows=1),
    "choose of words": lambda t: t.choose(["a", 1, None], score=lambda c: _.age == (c if isinstance(c, int) else 3)),
    "count_distinct": lambda t: t.count_distinct("age"),
    "count_distinct under a limit": lambda t: t.count_distinct("age", max_values=2),
    "truncated_total": lambda t: t.filter(_.age > 20).truncated_total("visits"),
    "truncated_total of rows": lambda t: t.truncated_total(limit="race", most=8),
    "truncated_total of words": lambda t: t.truncated_total(_.age >= 65, limit=2),
    "kmeans": lambda t: t.kmeans(["age", "visits"], n_clusters=2),
    "lloyd": lambda t: t.kmeans(["age"], n_clusters=2, algorithm="lloyd", rounds=2, max_groups=1, max_rows=2),
    "hierarchy": lambda t: t.hierarchy(["plan"], keys=PLACES, cells={"old": [False, True]}).agg(n=_.count()),
    "hierarchy of sums": lambda t: t.hierarchy(["plan"], keys=PLACES).agg(v=_.visits.sum(), n=_.count()),
}


class WithPlaces(Served):
    """The same service, whose curator marked the places."""

    def data_set(self, folder: Path, **declared: Any) -> Any:
        made = super().data_set(folder, **declared)
        return replace(made, public_keys={"places": PLACES})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = WithPlaces(tmp_path)
    yield made
    made.service.close()


def asked(served: Served, name: str) -> Any:
    table = served.client["people"]
    return ASKED[name](table.mutate(old=_.age >= 65) if name == "hierarchy" else table)


def seen(answer: Any) -> Any:
    return as_one(answer).to_pyarrow()


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
def test_it_is_one_document_one_charge_and_the_same_answer(served: Served, name: str) -> None:
    question = asked(served, name)
    account = question.explain(epsilon=0.5)
    before = len(served.sent)
    assert served.spent == 0
    answer = question.release(epsilon=0.5)
    assert served.sent[before:].count("/api/v1/releases") == 1
    assert served.spent == 0.5
    assert account["charge"] == answer.receipt["charge"]
    stored = served.stored()
    assert seen(answer).equals(stored.to_pyarrow())
    again = question.release(epsilon=0.5)
    assert (seen(again).equals(seen(answer)), served.spent) == (True, 0.5)
    other = question.release(epsilon=0.5, fresh=True)
    assert served.spent == 1
    assert other.receipt["release"] == answer.receipt["release"]
    assert type(other) is type(answer)


@pytest.mark.long
def test_a_verb_with_its_price_asks_as_well(served: Served) -> None:
    people = served.client["people"]
    assert len(people.top("plan", k=2, epsilon=1, delta=1e-6).values) == 2
    assert people.choose([18, 40], score=lambda c: _.age >= c, rho=0.1).value in {18, 40}
    found = people.count_distinct("age", epsilon=2)
    assert found.at_least(0.99) <= found.at_least() <= found.value
    total = people.truncated_total("visits", limit="race", epsilon=2)
    assert total.at_least(0.99) <= total.at_least() == max(0, total.value)
    assert total.short(3) > 0
    assert people.kmeans(["age"], n_clusters=2, rho=0.5).predict([[3.0]]).shape == (1,)
    assert dp.kmeans(people, ["age"], n_clusters=2, epsilon=4).centers.shape == (2, 1)
    levels = people.hierarchy(["plan"], keys=PLACES).agg(n=_.count())
    assert levels.release(within={"plan": 40}).receipt["charge"] == levels.explain(within={"plan": 40})["charge"]
    weighted = levels.release(epsilon=0.25, weights=[1, 4], confidence=0.9)
    assert weighted.receipt["totals"] == levels.explain(epsilon=0.25, weights=[1, 4])["totals"]
    assert weighted["plan"].num_rows == len(PLANS)
    rest = weighted.sum("total", "n") - weighted.difference("plan", "n", {}, {"plan": "free"})
    assert rest.low < rest.value < rest.high
    assert (rest - weighted.sum("plan", "n", plan="free")).high < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("name", ["top", "count_distinct", "truncated_total", "kmeans", "hierarchy"])
def test_all_formats_and_pages_have_it_as_a_table(served: Served, name: str) -> None:
    answer = asked(served, name).release(epsilon=2)
    ada = served.service.members.principal("ada")
    [one] = served.service.questions(ada, "people")
    columns = served.service.explain(ada, json.loads(one["ask"]))["answer"]
    table = served.stored().to_pyarrow()
    kinds = ibis.Schema.from_pyarrow(table.schema)
    assert columns == [{"name": own, "type": str(kind)} for own, kind in kinds.items()]
    rows = json.loads(WRITERS[AnswerFormat.JSON][1](answer))
    assert len(rows["rows"]) == table.num_rows
    assert rows["receipt"] == json.loads(json.dumps(dict(answer.receipt)))
    with pa.ipc.open_stream(WRITERS[AnswerFormat.ARROW][1](answer)) as stream:
        assert stream.read_all().equals(table)
    assert pq.read_table(io.BytesIO(WRITERS[AnswerFormat.PARQUET][1](answer))).num_rows == table.num_rows
    assert len(WRITERS[AnswerFormat.CSV][1](answer).splitlines()) == table.num_rows + 1
    view = AnswerView.read(as_one(answer), 0.99)
    assert len(view.rows) == table.num_rows
    shown = [[*row.keys, *(cell.shown for cell in row.cells)] for row in view.rows]
    assert all(text for row in shown for text in row)
    if name == "kmeans":
        assert {cell.interval for row in view.rows for cell in row.cells} == set()
    if name in {"count_distinct", "truncated_total"}:
        assert view.rows[0].cells[0].interval.endswith("to no limit")


@pytest.mark.long
@pytest.mark.parametrize("name", ["top", "choose", "count_distinct", "truncated_total", "kmeans", "hierarchy"])
def test_an_answer_to_another_plan_is_not_read(served: Served, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(served, name)
    question.release(epsilon=1)
    connection = served.client["people"]._source.connection  # type: ignore[attr-defined]  # a table of a service
    held = connection.answer

    def changed(ask: Any) -> Any:
        found = held(ask)
        text = received(found["answer"])
        if not text.startswith(b"{"):
            from discreet.answers.stored_answers import stored_table, table_of

            table, receipt = table_of(text)
            return {"answer": sent_text(stored_table(table, {**receipt, "charge": {"epsilon": "2", "delta": "0"}}))}
        whole = json.loads(text)
        whole["receipt"]["charge"] = {"epsilon": "2", "delta": "0"}
        return {"answer": json.dumps(whole)}

    monkeypatch.setattr(type(connection), "answer", lambda _, ask: changed(ask))
    with pytest.raises(DiscreetError, match="another charge"):
        question.release(epsilon=1)


def test_what_cannot_be_sent_is_refused_before_anything_is_sent(served: Served) -> None:
    people = served.client["people"]
    levels = people.hierarchy(["plan"], keys=PLACES).agg(n=_.count())
    before = len(served.sent)
    for more in ({"shares": [1, 1]}, {"integers": True}, {"to": "levels"}):
        with pytest.raises(InvalidQuery, match="what a service takes of a hierarchy"):
            levels.release(epsilon=0.5, **more)
    unnamed = dp.public_keys(pa.table({"plan": list(PLANS)}))
    with pytest.raises(InvalidQuery, match="a name for what is public"):
        people.hierarchy(["plan"], keys=unnamed).agg(n=_.count()).release(epsilon=0.5)
    with pytest.raises(InvalidQuery, match="a candidate that a document has"):
        people.choose([(1, 2), (3, 4)], score=lambda c: _.age == c[0], epsilon=0.5)
    assert len(served.sent) == before
    with pytest.raises(InvalidParameter, match="an amount as the price"):
        served.service.explain(
            served.service.members.principal("ada"),
            {"question": {"document": people.top("plan").document()}, "price": {"within": {"plan": "3"}}},
        )


def test_other_places_are_another_plan(served: Served) -> None:
    other = dp.public_keys(pa.table({"plan": [*list(PLANS)[:-1], "another"]}), name="places")
    question = served.client["people"].hierarchy(["plan"], keys=other).agg(n=_.count())
    with pytest.raises(DiscreetError, match="plan"):
        question.release(epsilon=0.5)
    assert served.spent == 0


class WithCalls(Served):
    """The same service, of calls that belong to two people each."""

    def data_set(self, folder: Path, **declared: Any) -> Any:
        made = super().data_set(folder)
        rows = visits().append_column("friend", visits()["person"])
        stated: dict[str, Any] = {"each_of": ("person", "friend"), "bounds": {"visits": (0, 50)}, **declared}
        return replace(made, table=dp.protect_shared(rows, budget=made.budget, name="people", **stated))


@pytest.mark.parametrize("declared", [{}, {"neighbors": "replace-one", "units": 40}], ids=str)
def test_rows_of_two_people_each_have_totals_alone(tmp_path: Path, declared: dict[str, Any]) -> None:
    """Checked and priced here, charged there once; all else is refused here, before anything is sent."""
    served = WithCalls(tmp_path, **declared)
    table: Any = served.client["people"]
    assert isinstance(table, dp.SharedTable)
    assert "protecting each of person, friend" in repr(table)
    question = table.filter(_.visits > 2).truncated_total("visits", most=64)
    account, answer = question.explain(epsilon=0.5), question.release(epsilon=0.5)
    assert account["unit"] == answer.receipt["unit"] == "each of person, friend"
    assert f"for {declared.get('neighbors', 'add-remove')} neighbors" in answer.receipt["guarantee"]
    assert (answer.to_pandas()["limit"][0], served.spent) == (answer.limit, 0.5)
    assert seen(question.release(epsilon=0.5)).equals(seen(answer))
    before = len(served.sent)
    for refused in (
        lambda: table.agg(n=_.count()),
        lambda: table.group_by("visits"),
        lambda: table.count_distinct("visits"),
        lambda: PrivateTable.of(table._source).count().release(epsilon=0.5),
    ):
        with pytest.raises(DiscreetError, match=r"Expected .*\n?.*Hint: "):
            refused()
    with pytest.raises(InvalidQuery, match="one unit each"):
        served.client.sql("SELECT COUNT(*) AS n FROM people")
    assert served.sent[before:].count("/api/v1/releases") <= 1  # what is forged is refused there
    assert served.spent == 0.5
    served.service.close()


@pytest.mark.parametrize("told", [{"unit": "row"}, {"unit": ["person"]}, {"each_of": "yes", "unit": ["person", "x"]}])
def test_a_service_that_says_nonsense_of_two_people_is_not_believed(tmp_path: Path, told: dict[str, Any]) -> None:
    served = WithCalls(tmp_path)
    facts = served.service.dataset(served.service.members.principal("ada"), "people")
    with pytest.raises(DiscreetError, match="the declaration of a data set"):
        declared({**facts, **told})
    served.service.close()

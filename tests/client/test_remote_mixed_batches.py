"""Batches in which something is to be found, asked of a service: one charge, and the answer that was planned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ibis import _

import discreet as dp
from asked_service import Served
from discreet.client.service_bodies import ServiceRefused
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_view import AnswerView
from discreet.testing.example_tables import PLANS


def mixed(people: PrivateTable) -> Any:
    """Keys, limits and bounds to be found, beside tables of listed keys; counts that are whole, and that are not."""
    return dp.batch(
        found=people.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count(), years=_.age.sum()),
        by_plan=people.group_by("plan").agg(n=_.count()),
        old=people.filter(_.age >= 65).count(),
        apart=people.group_by("plan", max_groups="auto").agg(n=_.count()),
        mean=people.agg(m=_.visits.mean()),
    )


MIXED: dict[str, Any] = {"epsilon": 12, "delta": 1e-6}


@pytest.fixture
def unbounded(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, bounds={"age": (0, 110), "visits": "auto"})
    yield made
    made.service.close()


@pytest.mark.long
def test_tables_with_something_open_stand_beside_listed_ones(unbounded: Served) -> None:
    question = mixed(unbounded.client["people"])
    shown = question.explain(**MIXED)
    assert (unbounded.sent.count("/api/v1/releases"), unbounded.spent) == (0, 0)
    answer, stored = question.release(**MIXED), unbounded.stored()
    assert isinstance(answer, dp.BatchRelease)
    assert list(answer) == ["found", "by_plan", "old", "apart", "mean"]
    assert {"free"} <= set(answer["found"].to_pyarrow()["plan"].to_pylist()) <= set(PLANS)
    assert answer["found"]["n"].dtype.kind == "i"
    assert answer.to_pyarrow().equals(stored.to_pyarrow())
    assert answer.receipt == stored.receipt
    for fact in ("charge", "parts", "groups", "limits", "strategy", "totals", "first looks"):
        assert answer.receipt[fact] == shown[fact]
    assert {answer[name].receipt["time"] for name in answer} == {answer.receipt["time"]}
    assert (unbounded.spent, unbounded.sent.count("/api/v1/releases")) == (12, 1)
    older = answer.sum("by_plan", "n") - answer.sum("old", "count")
    assert older.low < older.value < older.high
    again = question.release(**MIXED)
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert again["mean"].receipt["found"] == answer["mean"].receipt["found"]
    assert unbounded.spent == 12
    assert not question.release(**MIXED, fresh=True).to_pyarrow().equals(answer.to_pyarrow())
    assert unbounded.spent == 24


@pytest.mark.long
def test_something_is_found_in_all_tables(unbounded: Served) -> None:
    people = unbounded.client["people"]
    question = dp.batch(
        found=people.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count()),
        mean=people.agg(m=_.visits.mean()),
    )
    shown = question.explain(**MIXED)
    answer, stored = question.release(**MIXED), unbounded.stored()
    assert isinstance(answer, dp.BatchRelease)
    assert answer.to_pyarrow().equals(stored.to_pyarrow())
    assert answer.receipt == stored.receipt
    assert (answer.receipt["parts"], answer.receipt["charge"]) == (shown["parts"], shown["charge"])
    assert {answer[name].receipt["time"] for name in answer} == {answer.receipt["time"]}
    ask = {"question": {"document": question.document()}, "price": {"epsilon": "12", "delta": "0.000001"}}
    explained = unbounded.service.explain(unbounded.service.members.principal("ada"), ask)
    assert [one["name"] for one in explained["answer"]] == answer.to_pyarrow().column_names
    for _media, write in WRITERS.values():
        assert write(unbounded.service.answer(*unbounded.job))
    again = question.release(**MIXED)
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert unbounded.spent == 12
    with pytest.raises(DiscreetError, match="a price where something is to be found"):
        question.release(within={"found": 20})
    many = {f"q{number}": people.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count()) for number in range(11)}
    with pytest.raises(InvalidQuery, match="at most 10 tables from a service whose keys"):
        dp.batch(many).release(**MIXED)
    assert unbounded.spent == 12


@pytest.mark.long
def test_tables_may_have_no_key_that_is_found(unbounded: Served) -> None:
    """And one whose keys are found by its counts, in one look, beside one in two."""
    people = unbounded.client["people"]
    by_count = people.group_by("plan", keys=dp.UNKNOWN_BY_COUNT, max_groups=1).agg(p=_.person.nunique())
    question = dp.batch(
        found=people.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count(), years=_.age.sum()),
        shown=by_count,
        whole=people.count(),
    )
    for epsilon, most in ((0.1, 0), (60, len(PLANS))):
        answer = question.release(epsilon=epsilon, delta=1e-9)
        assert answer.to_pyarrow().equals(unbounded.stored().to_pyarrow())
        assert (len(answer["found"]) > 0, len(answer["shown"]) > 0, len(answer["whole"])) == (most > 0, most > 0, 1)
        assert len(answer["shown"]) <= most
    assert unbounded.spent == pytest.approx(60.1)


@pytest.mark.long
def test_weights_of_what_is_found_first_are_those_in_one_process(unbounded: Served) -> None:
    question, weights = mixed(unbounded.client["people"]), {"found": 64, "old": 8}
    answer = question.release(**MIXED, weights=weights)
    assert answer.receipt["parts"] == question.explain(**MIXED, weights=weights)["parts"]
    assert answer.receipt["parts"] != question.explain(**MIXED)["parts"]
    in_rho = question.release(rho=0.5, delta=1e-6)
    assert in_rho.receipt["charge"] == question.explain(rho=0.5, delta=1e-6)["charge"]


@pytest.mark.long
def test_all_formats_have_what_was_found_as_well(unbounded: Served) -> None:
    mixed(unbounded.client["people"]).release(**MIXED)
    stored = unbounded.stored()
    assert (stored.groups, stored.columns) == (("table", "plan"), ("n", "years", "count", "m"))
    for kind, (_media, write) in WRITERS.items():
        assert write(unbounded.service.answer(*unbounded.job)), kind
    told = json.loads(WRITERS[AnswerFormat.JSON][1](unbounded.service.answer(*unbounded.job)))
    assert len(told["rows"]) == stored.to_pyarrow().num_rows
    ask = {"question": {"document": unbounded.document}, "price": {"epsilon": "12", "delta": "0.000001"}}
    explained = unbounded.service.explain(unbounded.service.members.principal("ada"), ask)
    table = stored.to_pyarrow()
    assert [one["name"] for one in explained["answer"]] == table.column_names
    kinds = {"string": "string", "float64": "double"}
    assert [kinds[one["type"]] for one in explained["answer"]] == [str(kind) for kind in table.schema.types]
    narrow, wide = (stored.intervals(confidence) for confidence in (0.5, 0.99))
    assert np.all(np.array(narrow["m_high"].drop_null()) < np.array(wide["m_high"].drop_null()))
    assert len(AnswerView.read(stored, 0.9).rows) == table.num_rows


def test_what_is_no_such_batch_is_refused_before_a_charge(unbounded: Served, tmp_path: Path) -> None:
    people = unbounded.client["people"]
    question, before = mixed(people), len(unbounded.sent)
    with pytest.raises(DiscreetError, match="a price where something is to be found"):
        question.release(within={"by_plan": 20})
    with pytest.raises(DiscreetError, match="delta above 0 for unknown keys"):
        question.release(epsilon=1)
    assert len(unbounded.sent) == before
    ada = unbounded.service.members.principal("ada")
    ask: dict[str, Any] = {"question": {"document": question.document()}}
    for price in ({"within": {"by_plan": "20"}}, {"epsilon": "1"}):
        for call in (unbounded.service.explain, unbounded.service.submit):
            with pytest.raises(DiscreetError, match=r"Expected a (price|delta)"):
                call(ada, {**ask, "price": price})
    listed = people.count()
    many = {f"q{number}": people.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count()) for number in range(11)}
    with pytest.raises(InvalidQuery, match="at most 10 tables from a service whose keys"):
        dp.batch(many, listed=listed).release(**MIXED)
    (tmp_path / "anew").mkdir()
    unbounded.service._datasets["people"] = unbounded.data_set(tmp_path / "anew", max_rows=7)
    with pytest.raises(ServiceRefused, match="nothing is charged"):
        question.release(**MIXED)
    assert (unbounded.spent, unbounded.service.questions(ada, "people")) == (0, [])


@pytest.mark.long
@pytest.mark.parametrize("part", ["open", "listed"])
def test_an_answer_to_another_mixed_batch_is_not_read(
    unbounded: Served, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Not one whose part, of which the receipt of the whole says nothing, is another one."""
    question, answered = mixed(unbounded.client["people"]), ServiceConnection.answer

    def altered(connection: ServiceConnection, ask: Any) -> Any:
        found = answered(connection, ask)
        whole = json.loads(found["answer"])
        held, name = (whole["open"], "found") if part == "open" else (whole, "listed")
        changed = json.loads(held[name])
        changed["receipt"]["totals"][0]["scale"] = "1"
        held[name] = json.dumps(changed)
        return {**found, "answer": json.dumps(whole)}

    monkeypatch.setattr(ServiceConnection, "answer", altered)
    with pytest.raises(DiscreetError, match="an answer to the plan that was shown, got another totals"):
        question.release(**MIXED)

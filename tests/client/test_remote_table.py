"""Questions to a service in this process: each verb that has a document, planned here and charged there once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from asked_service import BASE, Served
from discreet.client.connect import RemoteService
from discreet.client.service_bodies import ServiceRefused
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_view import AnswerView
from discreet.service.asked_tables import as_one
from discreet.testing import people as bundled
from discreet.testing.example_tables import PLANS


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.service.close()


def batch(people: PrivateTable) -> Any:
    return dp.batch(by_plan=people.group_by("plan").agg(n=_.count()), old=people.filter(_.age >= 65).count())


MANY: dict[str, Any] = {
    "a batch": batch,
    "a cube": lambda people: people.group_by("plan", old=_.age >= 65, cube=True).agg(n=_.count(), m=_.visits.sum()),
    "a rollup": lambda people: people.group_by("plan", rollup=True).agg(n=_.count()),
    "crosstabs": lambda people: people.cut("age", [0, 18, 65, 110]).crosstabs("plan", "age_bin", ways=2),
    "ranges": lambda people: people.histogram("age", bins=8, ranges=True),
    "prefixes of groups": lambda people: people.group_by("plan").histogram("age", bins=8, ranges="prefixes"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", MANY)
def test_several_tables_are_one_document_and_one_charge(served: Served, name: str) -> None:
    question = MANY[name](served.client["people"])
    answer = question.release(epsilon=0.5)
    assert as_one(answer).to_pyarrow().equals(served.stored().to_pyarrow())
    assert (served.spent, served.sent.count("/api/v1/releases")) == (0.5, 1)
    again = question.release(epsilon=0.5)
    assert as_one(again).to_pyarrow().equals(as_one(answer).to_pyarrow())
    assert served.spent == 0.5


def test_tables_of_a_batch_are_weighted_and_wanted_by_name(served: Served) -> None:
    cube = served.client["people"].group_by("plan", old=_.age >= 65, cube=True).agg(n=_.count())
    weighted = cube.release(epsilon=0.5, weights={("old", "plan"): 4})
    assert weighted.receipt["charge"]["epsilon"] == "0.5"
    wanted = cube.release(within={("plan", "old"): 40, (): 90})
    assert wanted.receipt["charge"] == cube.explain(within={("plan", "old"): 40, (): 90})["charge"]
    ranges = served.client["people"].histogram("age", bins=4, ranges=True)
    assert ranges.release(within=60).receipt["charge"] == ranges.explain(within=60)["charge"]
    columns = served.client["people"].group_by("plan", cube=True).agg(n=_.count(), m=_.visits.sum())
    before = len(served.sent)
    with pytest.raises(InvalidQuery, match="one error for each table"):
        columns.release(within={"plan": {"n": 40, "m": 90}})
    with pytest.raises(InvalidQuery, match="one error for each table"):
        columns.release(within={"plan": {"n": 40}})
    means = served.client["people"].group_by("plan", cube=True).agg(m=_.visits.mean())
    with pytest.raises(InvalidQuery, match="errors that nothing is assumed for"):
        means.release(within={"plan": 5}, delta=1e-6, assume={"rows": 400})
    assert len(served.sent) == before
    priced: Any = {"epsilon": 0.25, "delta": 1e-6, "assume": {"rows": 400}}
    assert means.release(**priced).receipt["charge"] == means.explain(**priced)["charge"]
    parts: Any = {"within": {"plan": 0.1}, "relative": True, "assume": {"rows": 900}}
    assert cube.release(**parts).receipt["charge"] == cube.explain(**parts)["charge"]


def test_sql_with_several_groupings_is_one_charge(served: Served) -> None:
    text = "SELECT plan, COUNT(*) AS n FROM people GROUP BY ROLLUP (plan) ORDER BY n DESC"
    answer = served.client.sql(text).release(epsilon=0.5)
    assert answer.to_pyarrow()["plan"].null_count == 1
    assert served.spent == 0.5


def test_what_a_first_look_finds_is_one_charge(tmp_path: Path) -> None:
    served = Served(tmp_path, bounds={"age": (0, 110), "visits": "auto"}, max_rows="auto")
    people = served.client["people"]
    found = people.group_by("plan", keys=dp.UNKNOWN, max_groups=2, max_rows=5).agg(n=_.count())
    answer = found.release(epsilon=20, delta=1e-5)
    assert len(answer) > 0
    assert answer.to_pyarrow().equals(served.stored().to_pyarrow())
    assert served.spent == 20
    mean = people.agg(m=_.visits.mean()).release(epsilon=50)
    assert mean.receipt["found"]["bounds"]
    assert mean.to_pyarrow().equals(served.stored().to_pyarrow())
    assert (served.spent, served.sent.count("/api/v1/releases")) == (70, 2)
    served.service.close()


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
        assert write(unbounded.service.answer(*job_of(unbounded)))
    again = question.release(**MIXED)
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert unbounded.spent == 12
    with pytest.raises(DiscreetError, match="a price where something is to be found"):
        question.release(within={"found": 20})
    many = {f"q{number}": people.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count()) for number in range(11)}
    with pytest.raises(InvalidQuery, match="at most 10 tables from a service whose keys"):
        dp.batch(many).release(**MIXED)
    assert unbounded.spent == 12


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


def test_weights_of_what_is_found_first_are_those_in_one_process(unbounded: Served) -> None:
    question, weights = mixed(unbounded.client["people"]), {"found": 64, "old": 8}
    answer = question.release(**MIXED, weights=weights)
    assert answer.receipt["parts"] == question.explain(**MIXED, weights=weights)["parts"]
    assert answer.receipt["parts"] != question.explain(**MIXED)["parts"]
    in_rho = question.release(rho=0.5, delta=1e-6)
    assert in_rho.receipt["charge"] == question.explain(rho=0.5, delta=1e-6)["charge"]


def test_all_formats_have_what_was_found_as_well(unbounded: Served) -> None:
    mixed(unbounded.client["people"]).release(**MIXED)
    stored = unbounded.stored()
    assert (stored.groups, stored.columns) == (("table", "plan"), ("n", "years", "count", "m"))
    for kind, (_media, write) in WRITERS.items():
        assert write(unbounded.service.answer(*job_of(unbounded))), kind
    told = json.loads(WRITERS[AnswerFormat.JSON][1](unbounded.service.answer(*job_of(unbounded))))
    assert len(told["rows"]) == stored.to_pyarrow().num_rows
    ask = {"question": {"document": document_of(unbounded)}, "price": {"epsilon": "12", "delta": "0.000001"}}
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


REFUSED: dict[str, tuple[Any, str]] = {
    "rounds": (lambda t: t.agg(m=_.visits.mean()).release(within={"m": 0.1}, relative=True, up_to=1), "one charge"),
    "a report": (lambda t: t.agg(m=_.visits.mean()).release(epsilon=1, report="clipped"), "without a report"),
    "narrower bounds": (lambda t: t.agg(m=_.visits.mean()).release(epsilon=1, bounds="auto"), "with the stated bounds"),
    "a part of its own": (
        lambda t: t.group_by("plan", max_rows="auto").agg(n=_.count()).release(epsilon=1, first_look=0.5),
        "the usual part for first looks",
    ),
    "a file": (
        lambda t: t.group_by("plan").agg(n=_.count()).release(epsilon=1, to="x.parquet"),
        "an answer that is held",
    ),
    "a log": (
        lambda t: dp.release_log(t, user="person", item="plan", epsilon=1, delta=1e-6),
        "whose answer a service sends",
    ),
    "parts": (lambda t: t.partition("plan", max_parts=1), "the whole table"),
    "another budget": (lambda t: t.with_budget(dp.Budget(epsilon=1)), "of one's token"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_document_is_refused_before_anything_is_sent(served: Served, name: str) -> None:
    people = served.client["people"]
    before, (asked, match) = len(served.sent), REFUSED[name]
    with pytest.raises(DiscreetError, match=match):
        asked(people)
    assert len(served.sent) == before


def test_a_table_that_is_declared_anew_is_refused_before_a_charge(served: Served, tmp_path: Path) -> None:
    people = served.client["people"]
    questions: list[Any] = [people.agg(visits=_.visits.sum()), people.group_by("plan", cube=True).agg(n=_.count())]
    assert questions[0].release(epsilon=0.5).columns == ("visits",)
    (tmp_path / "anew").mkdir()
    anew = served.data_set(tmp_path / "anew", bounds={"age": (0, 110), "visits": (0, 30)}, max_rows=7)
    served.service._datasets["people"] = anew
    for question in questions:
        with pytest.raises(ServiceRefused, match="nothing is charged"):
            question.release(epsilon=0.5)
    assert (served.spent, served.service.questions(served.service.members.principal("ada"), "people")[1:]) == (0, [])
    again = RemoteService(served.client._connection, BASE)["people"]
    assert len(again.agg(visits=_.visits.sum()).release(epsilon=0.5)) == 1
    assert served.spent == 0.5


def test_all_formats_have_the_tables_of_a_batch_as_one(served: Served) -> None:
    MANY["a cube"](served.client["people"]).release(epsilon=0.5)
    stored = served.stored()
    assert stored.groups == ("table", "plan", "old")
    assert stored.columns == ("n", "m")
    for kind, (_media, write) in WRITERS.items():
        assert write(served.service.answer(*job_of(served))), kind
    told = json.loads(WRITERS[AnswerFormat.JSON][1](served.service.answer(*job_of(served))))
    assert (told["groups"], len(told["rows"])) == (["table", "plan", "old"], stored.to_pyarrow().num_rows)
    explained = served.service.explain(
        served.service.members.principal("ada"), {"question": {"document": document_of(served)}}
    )
    assert [one["name"] for one in explained["answer"]] == stored.to_pyarrow().column_names
    narrow, wide = (stored.intervals(confidence) for confidence in (0.5, 0.99))
    assert np.all(np.array(narrow["n_high"]) < np.array(wide["n_high"]))
    view = AnswerView.read(stored, 0.9)
    assert view.keys == ["table", "plan", "old"]
    assert (len(view.rows), len(view.rows[0].cells)) == (stored.to_pyarrow().num_rows, 2)


def test_what_takes_long_to_price_is_refused_by_the_service(served: Served) -> None:
    people = served.client["people"]
    wide = people.mutate(**{f"c{number}": _.age > number for number in range(8)})
    refused: dict[str, Any] = {
        "at most 400 bins": people.histogram("age", bins=401, ranges=True),
        "at most 20,000 common cells from a service, got cells='24,000'": people.group_by(
            "age", keys={"age": range(80)}
        ).histogram("visits", bins=300, ranges=True),
        "at most 200 tables": wide.group_by(*(f"c{number}" for number in range(8)), cube=True).agg(n=_.count()),
        "at most 20,000 common cells": people.cut("age", [x / 5 for x in range(551)]).cut("visits", list(range(51)))
        .group_by("age_bin", "visits_bin", sets=[["age_bin"], ["visits_bin"], ["age_bin", "visits_bin"]])
        .agg(n=_.count()),
    }  # fmt: skip
    ada = served.service.members.principal("ada")
    for match, question in refused.items():
        ask = {"question": {"document": question.document()}, "price": {"epsilon": "0.5"}}
        with pytest.raises(InvalidQuery, match=match):
            served.service.explain(ada, ask)


def test_windows_of_a_document_are_taken_by_the_service(served: Served) -> None:
    people = served.client["people"]
    asked = people.group_by("plan").agg(n=_.count()).mutate(r=_.n.rank(), s=_.n / _.n.sum().over()).order_by("r")
    ada = served.service.members.principal("ada")
    ask = {"question": {"document": asked.document()}, "price": {"epsilon": "0.5"}}
    assert [one["name"] for one in served.service.explain(ada, ask)["answer"]][-2:] == ["r", "s"]
    answer = asked.release(epsilon=0.5).to_pyarrow()
    noisy = answer["n"].to_pylist()  # two of which may be equal
    assert answer["r"].to_pylist() == [sum(other < one for other in noisy) for one in noisy]


UNSENT: dict[str, Any] = {
    "kmeans": lambda t: t.kmeans(["age", "visits"], n_clusters=31),
    "hierarchy": lambda t: t.hierarchy(["plan"], keys=dp.public_keys(pa.table({"plan": ["free"]}), name="plans")).agg(
        n=_.count()
    ),
}


@pytest.mark.parametrize("kind", UNSENT)
def test_answers_that_a_service_does_not_send_are_refused_by_it(served: Served, kind: str) -> None:
    ada = served.service.members.principal("ada")
    document = UNSENT[kind](bundled()).document()
    document[kind]["from"] = {"table": "people"}
    for call in (served.service.explain, served.service.submit):
        with pytest.raises(InvalidQuery, match=r"at most 24 numbers in all centers|public keys"):
            call(ada, {"question": {"document": document}, "price": {"epsilon": "0.5"}})
    assert served.spent == 0


def job_of(served: Served) -> tuple[Any, str]:
    ada = served.service.members.principal("ada")
    return ada, served.service.questions(ada, "people")[0]["job"].id


def document_of(served: Served) -> Any:
    ada = served.service.members.principal("ada")
    return json.loads(served.service.questions(ada, "people")[0]["ask"])["question"]["document"]

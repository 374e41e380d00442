"""Questions to a service in this process: each verb that has a document, planned here and charged there once."""

from __future__ import annotations

import json
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
from discreet.errors import DiscreetError, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.server.answer_formats import WRITERS, AnswerFormat
from discreet.server.pages.answer_view import AnswerView
from discreet.service.asked_tables import as_one
from discreet.testing import people as bundled


def batch(people: PrivateTable) -> Any:
    return dp.batch(by_plan=people.group_by("plan").agg(n=_.count()), old=people.filter(_.age >= 65).count())


MANY: dict[str, Any] = {
    "a batch": batch,
    "a cube": lambda people: people.group_by("plan", old=_.age >= 65, cube=True).agg(n=_.count(), m=_.visits.sum()),
    "a rollup": lambda people: people.group_by("plan", rollup=True).agg(n=_.count()),
    "crosstabs": lambda people: people.cut("age", [0, 18, 65, 110]).crosstabs("plan", "age_bin", ways=2),
    "values that nobody listed": lambda people: people.agg(n=_.count(), ages=_.age.nunique(where=_.visits > 1)),
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


@pytest.mark.long
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


@pytest.mark.long
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
    half = people.agg(m=_.visits.mean()).release(epsilon=10, first_look=0.5)
    assert sum(float(look["epsilon"]) for look in half.receipt["first looks"]) == pytest.approx(5, rel=1e-4)
    assert half.to_pyarrow().equals(served.stored().to_pyarrow())
    whole, m = people.agg(n=_.count(), v=_.visits.sum()), people.agg(m=_.visits.mean())
    again = dp.batch(whole=whole, m=m).release(epsilon=10, first_look=0.5)
    assert sum(float(look["epsilon"]) for look in again.receipt["first looks"]) == pytest.approx(5, rel=1e-4)
    assert served.spent == 90
    served.service.close()


REFUSED: dict[str, tuple[Any, str]] = {
    "rounds": (lambda t: t.agg(m=_.visits.mean()).release(within={"m": 0.1}, relative=True, up_to=1), "one charge"),
    "a report": (lambda t: t.agg(m=_.visits.mean()).release(epsilon=1, report="clipped"), "without a report"),
    "narrower bounds": (lambda t: t.agg(m=_.visits.mean()).release(epsilon=1, bounds="auto"), "with the stated bounds"),
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


@pytest.mark.long
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
        assert write(served.service.answer(*served.job)), kind
    told = json.loads(WRITERS[AnswerFormat.JSON][1](served.service.answer(*served.job)))
    assert (told["groups"], len(told["rows"])) == (["table", "plan", "old"], stored.to_pyarrow().num_rows)
    explained = served.service.explain(
        served.service.members.principal("ada"), {"question": {"document": served.document}}
    )
    assert [one["name"] for one in explained["answer"]] == stored.to_pyarrow().column_names
    narrow, wide = (stored.intervals(confidence) for confidence in (0.5, 0.99))
    assert np.all(np.array(narrow["n_high"]) < np.array(wide["n_high"]))
    view = AnswerView.read(stored, 0.9)
    assert view.keys == ["table", "plan", "old"]
    assert (len(view.rows), len(view.rows[0].cells)) == (stored.to_pyarrow().num_rows, 2)


@pytest.mark.long
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

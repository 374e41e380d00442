"""Batches of tables and ranges, asked of a service: the plan that is shown is charged, and its answer read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ibis import _

import discreet as dp
from asked_service import Served
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError
from discreet.query.table import PrivateTable
from discreet.server.answer_formats import WRITERS
from discreet.server.pages.answer_view import AnswerView
from discreet.testing.example_tables import PLANS


def with_ranges(people: PrivateTable, bins: int = 5) -> Any:
    return dp.batch(
        by_age=people.histogram("age", bins=bins, ranges=True),
        old=people.filter(_.age >= 65).count(),
        in_plans=people.group_by("plan").histogram("age", [0, 18, 65, 110], ranges="prefixes"),
    )


WANTED: dict[str, Any] = {"within": {"by_age": 90, "old": 50, "in_plans": 90}}


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"epsilon": 2}, WANTED])
def test_ranges_stand_beside_tables(served: Served, stated: dict[str, Any]) -> None:
    """What is shown here is charged there, and answered as in one process."""
    question = with_ranges(served.client["people"])
    shown = question.explain(**stated)
    assert (served.sent.count("/api/v1/releases"), served.spent) == (0, 0)
    answer = question.release(**stated)
    for fact in ("charge", "parts", "ranges", "strategy", "totals"):
        assert answer.receipt[fact] == shown[fact]
    assert served.spent == pytest.approx(float(shown["charge"]["epsilon"]))
    assert answer["by_age"].between(22, 66).low < answer["by_age"].between(22, 66).high
    assert answer["in_plans"].between(18, 65).to_pyarrow()["plan"].to_pylist() == list(PLANS)
    assert {answer[name].receipt["time"] for name in answer} == {answer.receipt["time"]}
    assert answer.to_pyarrow().equals(served.stored().to_pyarrow())
    assert question.release(**stated).to_pyarrow().equals(answer.to_pyarrow())
    assert served.spent == pytest.approx(float(shown["charge"]["epsilon"]))


@pytest.mark.long
def test_one_price_of_gaussian_noise_is_planned_alike(served: Served) -> None:
    people = served.client["people"]
    ages = {f"in_{bins}": people.histogram("age", bins=bins, ranges=True) for bins in (40, 50, 60)}
    question: Any = dp.batch(ages)
    stated: dict[str, Any] = {"within": dict.fromkeys(ages, 4000), "delta": 1e-6}
    assert question.plan(**stated).together is not None
    answer, shown = question.release(**stated), question.explain(**stated)
    assert (answer.receipt["charge"], answer.receipt["parts"]) == (shown["charge"], shown["parts"])
    assert answer.to_pyarrow().equals(served.stored().to_pyarrow())
    assert served.spent == pytest.approx(float(shown["charge"]["epsilon"]))


def test_all_formats_have_them(served: Served) -> None:
    question = with_ranges(served.client["people"])
    question.release(epsilon=2)
    stored, ada = served.stored(), served.service.members.principal("ada")
    job = served.service.questions(ada, "people")[0]["job"].id
    for kind, (_media, write) in WRITERS.items():
        assert write(served.service.answer(ada, job)), kind
    ask = {"question": {"document": question.document()}, "price": {"epsilon": "2"}}
    explained = served.service.explain(ada, ask)
    assert [one["name"] for one in explained["answer"]] == stored.to_pyarrow().column_names
    assert len(AnswerView.read(stored, 0.9).rows) == stored.to_pyarrow().num_rows


def test_ranges_alone_are_a_batch(served: Served) -> None:
    answer = dp.batch(a=served.client["people"].histogram("age", bins=4, ranges=True)).release(epsilon=1)
    assert answer.to_pyarrow().equals(served.stored().to_pyarrow())


@pytest.mark.long
def test_what_takes_long_or_has_no_error_is_refused_before_a_charge(served: Served) -> None:
    people = served.client["people"]
    with pytest.raises(DiscreetError, match="at most 400 bins from a service"):
        with_ranges(people, bins=398).release(epsilon=1)
    many = {f"q{number}": people.histogram("age", bins=1, ranges=True) for number in range(21)}
    with pytest.raises(DiscreetError, match="at most 20 histograms with ranges"):
        dp.batch(many).release(epsilon=1)
    with pytest.raises(DiscreetError, match="a wanted error for each part"):
        with_ranges(people).release(within={"old": 20})
    assert served.spent == 0


@pytest.mark.parametrize("part", ["by_age", "listed"])
def test_an_answer_to_other_ranges_is_not_read(served: Served, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Not one whose part, of which the receipt of the whole says nothing, is another one."""
    answered = ServiceConnection.answer

    def altered(connection: ServiceConnection, ask: Any) -> Any:
        found = answered(connection, ask)
        whole = json.loads(found["answer"])
        held = whole if part == "listed" else whole["open"]
        changed = json.loads(held[part])
        changed["receipt"]["totals"][0]["scale"] = "1"
        held[part] = json.dumps(changed)
        return {**found, "answer": json.dumps(whole)}

    monkeypatch.setattr(ServiceConnection, "answer", altered)
    with pytest.raises(DiscreetError, match="an answer to the plan that was shown, got another totals"):
        with_ranges(served.client["people"]).release(epsilon=1)

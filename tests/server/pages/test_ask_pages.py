"""A question is priced before it is paid for, in SQL and in the form, with and without a script."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.applications import Starlette

import discreet as dp
from discreet.server.pages.routes import pages
from discreet.service.answer_timing import Pace, State
from discreet.service.data_sets import DataSet
from page_fixtures import SQL, Browser
from service_fixtures import Clock, finished, service_in

PLACE = "/datasets/people/ask"
FIELDS = {"by": "sql", "do": "price", "epsilon": "0.1", "sql": SQL}


def test_the_price_is_shown_without_a_charge(analyst: Browser) -> None:
    before = analyst.get("/datasets/people/budget").text
    shown = analyst.submit(PLACE, **FIELDS)
    assert "Expected errors" in shown
    assert re.search(r'class="amount">[\d,.]+<', shown)
    assert "Pay ε" in shown
    assert _left(analyst.get("/datasets/people/budget").text) == _left(before)


def _left(page: str) -> list[str]:
    return re.findall(r"[\d.]+ of [\d.]+ left", page)


def test_a_fragment_has_the_curve_and_no_page_around_it(analyst: Browser) -> None:
    token = analyst.form_token()
    answer = analyst.post(PLACE, data={"form_token": token, **FIELDS}, headers={"X-Fragment": "price"})
    assert "<html" not in answer.text
    curve = json.loads(unescape(re.search(r'data-curve="([^"]*)"', answer.text)[1]))  # type: ignore[index] # it is there
    prices = [point["epsilon"] for point in curve]
    amounts = [point["amount"] for point in curve]
    assert prices == sorted(prices)
    assert amounts == sorted(amounts, reverse=True)
    assert len(curve) == 9


def test_a_fragment_without_a_session_says_so(every_browser: dict[str, Browser]) -> None:
    visitor = every_browser["visitor"]
    data = {"form_token": visitor.form_token("/sign-in"), **FIELDS}
    assert visitor.post(PLACE, data=data, headers={"X-Fragment": "price"}).status_code == 401


def test_the_error_of_a_mean_follows_the_rows(analyst: Browser) -> None:
    mean = FIELDS | {"sql": "SELECT AVG(visits) AS m FROM people"}
    assert "/ n" in analyst.submit(PLACE, **mean)
    known = analyst.submit(PLACE, **mean, rows="1000")
    assert "/ n" not in known
    assert "in a group of 1,000 rows" in known


def test_the_form_means_sql(analyst: Browser) -> None:
    lines = {"statistic1": "mean", "of1": "visits", "statistic2": "units", "by_column": "plan"}
    where = {"where1": "age", "is1": ">=", "value1": "18", "where2": "plan", "is2": "<>", "value2": "free"}
    shown = unescape(analyst.submit(PLACE, **(FIELDS | {"by": "form"}), **lines, **where))
    assert "Expected errors" in shown
    assert "SELECT plan, AVG(visits) AS mean_visits, COUNT(DISTINCT person) AS number_of_units" in shown
    assert "WHERE age >= 18 AND plan <> 'free'" in shown
    half = unescape(analyst.submit(PLACE, **(FIELDS | {"by": "form"}), statistic1="mean"))
    assert "Expected a column" in half


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"sql": "SELECT pan FROM people"}, "Did you mean &#39;plan&#39;?"),
        ({"sql": "SELECT * FROM people"}, "Expected"),
        ({"sql": "DROP TABLE people"}, "Expected"),
        ({"sql": "SELECT COUNT(*) FROM elsewhere"}, "Expected"),
        ({"epsilon": "0"}, "Expected"),
        ({"epsilon": "-1"}, "Expected"),
        ({"epsilon": "much"}, "Expected"),
        ({"epsilon": "1e999999999"}, "Expected"),
        ({"epsilon": "1/0"}, "Expected"),
    ],
)
@pytest.mark.parametrize("do", ["price", "pay"])
def test_what_cannot_be_asked_is_told_with_its_cure(
    analyst: Browser, changed: dict[str, str], text: str, do: str
) -> None:
    token = analyst.form_token()
    answer = analyst.post(PLACE, data={"form_token": token, **(FIELDS | changed | {"do": do})})
    assert answer.status_code == 422
    assert text in answer.text
    assert "data-payable" not in answer.text


def test_what_is_more_than_is_left_cannot_be_paid(analyst: Browser) -> None:
    shown = analyst.submit(PLACE, **(FIELDS | {"epsilon": "11"}))
    assert "This is more than is left." in shown
    assert "data-payable" not in shown
    refused = analyst.submit(PLACE, **(FIELDS | {"epsilon": "11", "do": "pay"}))
    assert "Expected a charge within what remains" in refused


def test_a_curator_may_price_and_not_pay(every_browser: dict[str, Browser]) -> None:
    curator = every_browser["curator"]
    assert "Expected errors" in curator.submit(PLACE, **FIELDS)
    assert "There is nothing here for you." in curator.submit(PLACE, **(FIELDS | {"do": "pay"}))


def test_the_same_form_sent_twice_is_one_question(analyst: Browser) -> None:
    page = analyst.get(PLACE).text
    key = re.search(r'name="key" value="([0-9a-f]+)"', page)
    assert key
    fields = {"form_token": analyst.form_token(), **FIELDS, "do": "pay", "key": key[1]}
    first = analyst.post(PLACE, data=fields)
    assert first.url.path.startswith("/answers/")
    assert analyst.post(PLACE, data=fields).url.path == first.url.path


def test_what_is_paid_is_what_was_shown(analyst: Browser) -> None:
    """A plan that is another one by now is refused; one that was shown for something else does not matter."""
    asked = FIELDS | {"sql": "SELECT SUM(visits) AS v FROM people", "epsilon": "0.002"}
    shown = analyst.submit(PLACE, **asked)
    plan, priced = (re.search(rf'name="{name}" value="([0-9a-f]{{64}})"', shown)[1] for name in ("plan", "priced"))  # type: ignore[index] # it is there
    before = _left(analyst.get("/datasets/people/budget").text)
    pay = asked | {"do": "pay", "priced": priced}
    refused = unescape(analyst.submit(PLACE, **pay, plan="0" * 64))
    assert "the plan that was shown, got another one; nothing is charged" in refused
    assert _left(analyst.get("/datasets/people/budget").text) == before
    for sent in (pay | {"plan": plan}, pay | {"plan": "0" * 64, "epsilon": "0.003"}):
        answer = analyst.post(PLACE, data={"form_token": analyst.form_token(), **sent}, follow_redirects=False)
        assert answer.headers["location"].startswith("/answers/")


def test_a_data_set_of_rows_of_two_people_each_has_its_pages(tmp_path: Path) -> None:
    """They say who is protected; a statement is refused in words, and a total that was asked elsewhere is shown."""
    budget = dp.Budget(epsilon=1, ledger=tmp_path / "calls.db")
    rows, unit = pa.table({"caller": [1, 1, 2], "called": [2, 3, 3]}), ("caller", "called")
    table = dp.protect_shared(rows, each_of=unit, budget=budget, name="calls")
    clock = Clock()
    made = DataSet(name="calls", table=table, budget=budget, pace=Pace(least=1, per_thousand_cells=0))
    service = service_in(tmp_path, clock, made)
    ada = service.members.principal("ada")
    ask = {"question": {"document": table.truncated_total(most=4).document()}, "price": {"epsilon": "0.25"}}
    job = service.submit(ada, ask)
    assert finished(service, ada, job.id, clock) is State.READY
    with Browser(Starlette(routes=pages(service))) as analyst:
        analyst.sign_in(service.members.issue("ada")[0])
        assert "each of caller, called" in analyst.get("/datasets/calls").text
        shown = unescape(analyst.submit("/datasets/calls/ask", **FIELDS | {"sql": "SELECT COUNT(*) AS n FROM calls"}))
        assert "a table whose rows belong to one unit each" in shown
        assert "each of caller, called" in analyst.get(f"/answers/{job.id}/receipt").text
    assert budget.spent.epsilon == Fraction(1, 4)
    service.close()

"""Every page x role x own, foreign or absent data set: what is not theirs and what is not there look the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.applications import Starlette

import discreet as dp
from discreet.server.pages.routes import SIGNED_IN, pages
from discreet.service.roles import Action
from discreet.service.service import Service
from page_fixtures import Browser
from served_series import add_strangers, by_hand, facts, seconds, served, with_series
from service_fixtures import Clock, ask, finished

OWN, FOREIGN, ABSENT = "people", "secret", "absent"
OF = "/datasets/{dataset}"
PAGES: dict[tuple[str, str], Any] = {
    ("GET", OF): Action.DESCRIBE,
    ("GET", f"{OF}/ask"): Action.EXPLAIN,
    ("POST", f"{OF}/ask"): Action.EXPLAIN,
    ("GET", f"{OF}/series"): Action.SERIES,
    ("GET", f"{OF}/series/{{series}}"): Action.SERIES,
    ("GET", f"{OF}/series/{{series}}/download/{{format}}"): Action.SERIES,
    ("GET", f"{OF}/questions"): (Action.OWN_QUESTIONS, Action.ALL_QUESTIONS),
    ("GET", f"{OF}/budget"): Action.BUDGET,
    ("POST", f"{OF}/budget"): Action.REQUEST,
    ("GET", f"{OF}/people"): Action.ADMIT,
    ("POST", f"{OF}/people"): Action.ADMIT,
    ("GET", f"{OF}/requests"): Action.DECIDE,
    ("POST", f"{OF}/requests"): Action.DECIDE,
    ("GET", f"{OF}/spending"): Action.ALL_QUESTIONS,
    ("GET", f"{OF}/log"): Action.AUDIT,
    ("POST", f"{OF}/log"): Action.AUDIT,
    ("GET", f"{OF}/refusals"): Action.REFUSALS,
}
"""Of one data set each, with the action, or one of several, that opens it."""
ANSWERS = ("", "/state", "/receipt", "/download/csv", "/download/json")
FORMS = {
    "ask": {"by": "sql", "sql": "SELECT COUNT(*) AS n FROM people", "epsilon": "0.01", "do": "price"},
    "budget": {"amount": "0.1", "reason": "more"},
    "people": {"do": "freeze", "level": "analyst:bob", "why": "a report"},
    "requests": {"do": "decline", "why": "no"},
    "log": {"head": ""},
}
ROLES = ("ada", "cleo", "dora", "olga", "nobody", "eve")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, Browser], str]]:
    """Two data sets with a series each, a browser of everybody, and an answer of Ada's."""
    folder, clock = tmp_path_factory.mktemp("hospital"), Clock(seconds(2, 1))
    sets = [
        with_series(name, folder, facts(name, epsilon="0.1"), budget=dp.Budget(epsilon=1, ledger=folder / f"{name}.db"))
        for name in (OWN, FOREIGN)
    ]
    with ExitStack() as held:
        service = held.enter_context(by_hand(folder, clock, *sets))
        clock.now = seconds(2, 2)
        for name in (OWN, FOREIGN):
            served(service, name).attempt()
        clock.now = seconds(2, 5)
        add_strangers(service, FOREIGN)
        ada = service.members.principal("ada")
        service.admit(service.members.principal("cleo"), OWN, "ada", allowance={"epsilon": "0.5"})
        FORMS["requests"]["request"] = service.request(ada, OWN, {"epsilon": "0.1"}, "more").id
        job = service.submit(ada, ask(epsilon="0.1")).id
        finished(service, ada, job, clock)
        app = Starlette(routes=pages(service))
        browsers = {name: held.enter_context(Browser(app)) for name in ROLES}
        for name, browser in browsers.items():
            browser.sign_in(service.members.issue(name)[0])
        yield service, browsers, job


def test_every_page_is_enumerated() -> None:
    assert set(SIGNED_IN) == set(PAGES) | {
        ("GET", "/"),
        ("POST", "/sign-out"),
        ("GET", "/datasets"),
        *(("GET", f"/answers/{{job}}{end}") for end in ("", "/state", "/receipt", "/download/{format}")),
    }


def seen(browser: Browser, method: str, path: str, dataset: str) -> tuple[int, str]:
    """The status and the text of a page, without what each session has of its own."""
    place = path.format(dataset=dataset, series="daily", format="csv")
    if method == "GET":
        answer = browser.get(place)
    else:
        form = FORMS[place.rpartition("/")[2]]
        answer = browser.post(place, data={"form_token": browser.form_token(), **form})
    return answer.status_code, plain(answer.text, place)


def plain(text: str, place: str) -> str:
    return re.sub(r'value="[0-9a-f]{64}"', "token", text.replace(place, "here"))


@pytest.mark.long
@pytest.mark.parametrize("name", ROLES)
def test_each_role_opens_what_the_table_says_and_the_rest_is_not_there(
    hospital: tuple[Service, dict[str, Browser], str], name: str
) -> None:
    service, browsers, _ = hospital
    principal, browser = service.members.principal(name), browsers[name]
    for (method, path), actions in PAGES.items():
        wanted = actions if isinstance(actions, tuple) else (actions,)
        absent = seen(browser, method, path, ABSENT)
        assert absent[0] == 404
        for dataset in (OWN, FOREIGN):
            found = seen(browser, method, path, dataset)
            if any(principal.may(action, dataset) for action in wanted):
                assert found[0] in (200, 409, 422), (method, path, found)
            else:
                assert found == absent, (method, path)


@pytest.mark.long
@pytest.mark.parametrize("name", [one for one in ROLES if one != "ada"])
def test_answers_of_others_are_not_there(hospital: tuple[Service, dict[str, Browser], str], name: str) -> None:
    _, browsers, job = hospital
    for end in ANSWERS:
        pair = [f"/answers/{identity}{end}" for identity in (job, "0" * 32)]
        assert browsers["ada"].get(pair[0]).status_code == 200
        texts = [
            (answer.status_code, plain(answer.text, place)) for place in pair for answer in [browsers[name].get(place)]
        ]
        assert texts[0] == texts[1]
        assert texts[0][0] == 404


def test_who_may_see_prices_alone_is_not_charged(hospital: tuple[Service, dict[str, Browser], str]) -> None:
    service, browsers, _ = hospital
    cleo = service.members.principal("cleo")
    before = service.budget(cleo, OWN)
    for name in ("cleo", "dora", "olga", "nobody", "eve"):
        form = {"form_token": browsers[name].form_token(), **FORMS["ask"], "do": "pay", "key": "k" * 32}
        assert browsers[name].post(f"/datasets/{OWN}/ask", data=form).status_code == 404
    assert service.budget(cleo, OWN) == before

"""Curators admit, raise, freeze, close and decide; nobody else can, and every change has its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest

from page_fixtures import Browser, browsers

PEOPLE, REQUESTS = "/datasets/people/people", "/datasets/people/requests"


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Browser]]:
    with browsers(tmp_path_factory.mktemp("curators")) as found:
        yield found


def row(page: str, name: str) -> str:
    """What the table of allowances says of a level, without its tags."""
    table = page.split("</table>", maxsplit=1)[0]
    found = next(one for one in table.split("<tr>") if f">{name} <" in one)
    return " ".join(re.sub("<[^>]*>", " ", found).split())


def test_an_analyst_is_admitted_with_an_allowance_in_a_group(roles: dict[str, Browser]) -> None:
    curator = roles["curator"]
    assert "The group is made." in curator.submit(PEOPLE, do="group", group="economists", allowance="3")
    shown = curator.submit(PEOPLE, do="admit", who="ada", group="economists", allowance="1.5")
    assert "The analyst is admitted." in shown
    assert row(shown, "economists") == "economists group 3 0 3 open"
    assert row(shown, "ada") == "ada analyst 1.5 0 1.5 open"


def test_an_allowance_is_raised_frozen_and_closed_with_a_reason(roles: dict[str, Browser]) -> None:
    curator = roles["curator"]
    curator.submit(PEOPLE, do="admit", who="bo", allowance="0.5")
    level = {"level": "analyst:bo"}
    assert "Expected text" in curator.submit(PEOPLE, do="raise", allowance="1", why="", **level)
    raised = curator.submit(PEOPLE, do="raise", allowance="1", why="a second paper", **level)
    assert row(raised, "bo") == "bo analyst 1 0 1 open"
    assert "Expected" in curator.submit(PEOPLE, do="raise", allowance="0.1", why="less", **level)
    assert row(curator.submit(PEOPLE, do="freeze", why="on leave", **level), "bo").endswith("frozen")
    assert row(curator.submit(PEOPLE, do="unfreeze", why="is back", **level), "bo").endswith("open")
    assert "Expected the box ticked" in curator.submit(PEOPLE, do="close", why="left", **level)
    assert row(curator.submit(PEOPLE, do="close", why="left", sure="yes", **level), "bo").endswith("closed")
    assert "Expected" in curator.submit(PEOPLE, do="unfreeze", why="back again", **level)
    log = roles["auditor"].get("/datasets/people/log").text
    for reason in ("a second paper", "on leave", "is back", "left"):
        assert reason in log


def test_a_request_is_decided_once(roles: dict[str, Browser]) -> None:
    analyst, curator = roles["analyst"], roles["curator"]
    for amount in ("0.25", "0.5"):
        sent = analyst.submit("/datasets/people/budget", amount=amount, reason="The report is due in March")
        assert "Your request has been sent." in sent
    page = curator.get(REQUESTS).text
    assert "analyst asks for ε 0.5 more" in page
    second, first = re.findall(r'name="request" value="(\w+)"', page)
    before = row(curator.get(PEOPLE).text, "analyst")
    assert "approved" in curator.submit(REQUESTS, request=first, do="approve", why="agreed")
    after = row(curator.get(PEOPLE).text, "analyst")
    assert float(after.split()[2]) == float(before.split()[2]) + 0.25
    assert "declined" in curator.submit(REQUESTS, request=second, do="decline", why="not this year")
    assert "Expected a request that is open" in curator.submit(REQUESTS, request=first, do="approve", why="again")
    own = unescape(analyst.get("/datasets/people/budget").text)
    assert "agreed" in own
    assert "not this year" in own


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_nobody_else_can(roles: dict[str, Browser], role: str) -> None:
    browser = roles[role]
    for path, fields in (
        (PEOPLE, {"do": "admit", "who": "eve", "allowance": "1"}),
        (PEOPLE, {"do": "raise", "level": "analyst:analyst", "allowance": "9", "why": "mine"}),
        (PEOPLE, {"do": "close", "level": "data set:people", "why": "mine", "sure": "yes"}),
        (REQUESTS, {"do": "approve", "request": "0" * 32, "why": "mine"}),
    ):
        assert "There is nothing here for you." in browser.submit(path, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "nothing"},
        {"do": "admit", "who": "", "allowance": "1"},
        {"do": "admit", "who": "a b", "allowance": "1"},
        {"do": "admit", "who": "zoe", "allowance": "much"},
        {"do": "admit", "who": "zoe", "allowance": "-1"},
        {"do": "admit", "who": "zoe", "allowance": "1", "group": "nowhere"},
        {"do": "group", "group": "g", "allowance": ""},
        {"do": "raise", "level": "elsewhere:x", "allowance": "1", "why": "x"},
        {"do": "freeze", "level": "analyst:nobody", "why": "x"},
    ],
)
def test_what_cannot_be_done_is_told_with_its_cure(roles: dict[str, Browser], fields: dict[str, str]) -> None:
    curator = roles["curator"]
    answer = curator.post(PEOPLE, data={"form_token": curator.form_token(), **fields})
    assert answer.status_code == 422
    assert re.search(r'role="alert".*Expected .*, got ', answer.text, re.DOTALL)

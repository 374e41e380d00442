"""Every page for every role: what it shows, and that what is not theirs looks like what is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.routing import Route

from discreet.server.pages.question_form import quoted
from discreet.server.pages.routes import OPEN, SIGNED_IN
from page_fixtures import HOSTILE, ROLES, Browser, answered, hostile_browsers

NOT_THERE = "There is nothing here for you."
SHOWN = {
    "/datasets": {"curator", "analyst", "auditor"},
    "/datasets/people": {"curator", "analyst", "auditor"},
    "/datasets/people/ask": {"curator", "analyst"},
    "/datasets/people/ask?by=form": {"curator", "analyst"},
    "/datasets/people/questions": {"curator", "analyst", "auditor"},
    "/datasets/people/budget": {"curator", "analyst", "auditor"},
    "/datasets/people/people": {"curator"},
    "/datasets/people/requests": {"curator"},
    "/datasets/people/spending": {"curator", "auditor"},
    "/datasets/people/log": {"auditor"},
    "/datasets/people/refusals": {"curator", "auditor"},
}
"""Who is shown a page; everybody else finds nothing there."""


@pytest.mark.parametrize("path", SHOWN)
@pytest.mark.parametrize("role", ROLES)
def test_pages_are_shown_to_their_roles(every_browser: dict[str, Browser], path: str, role: str) -> None:
    answer = every_browser[role].get(path)
    assert answer.status_code == (200 if role in SHOWN[path] else 404)
    assert (NOT_THERE in answer.text) == (role not in SHOWN[path])


def test_every_page_is_listed_here() -> None:
    paths = {path for method, path in SIGNED_IN if method == "GET"}
    listed = {path.partition("?")[0].replace("people", "{dataset}", 1) for path in SHOWN}
    assert paths - listed == {
        "/",
        "/answers/{job}",
        "/answers/{job}/state",
        "/answers/{job}/receipt",
        "/answers/{job}/download/{format}",
        "/datasets/{dataset}/series",
        "/datasets/{dataset}/series/{series}",
        "/datasets/{dataset}/series/{series}/download/{format}",
    }


@pytest.mark.long
@pytest.mark.parametrize("role", ROLES)
def test_what_is_not_theirs_looks_like_what_is_not_there(every_browser: dict[str, Browser], role: str) -> None:
    browser = every_browser[role]
    foreign = answered(every_browser["analyst"]) if role != "analyst" else "/datasets/nothing"
    nothing = browser.get(f"/answers/{'0' * 32}").text
    for path in (
        foreign,
        "/datasets/nothing",
        "/datasets/people/nothing",
        "/datasets/x/y/z",
        "/answers/1/download/csv",
    ):
        answer = browser.get(path)
        assert answer.status_code == 404
        assert answer.text.replace(path, "") == nothing.replace(f"/answers/{'0' * 32}", "")


@pytest.mark.parametrize("path", ["/", *SHOWN, "/answers/1"])
def test_visitors_are_asked_to_sign_in(every_browser: dict[str, Browser], path: str) -> None:
    answer = every_browser["visitor"].get(path)
    assert answer.url.path == "/sign-in"
    assert "<h1>Sign in</h1>" in answer.text


def test_only_a_few_pages_are_open() -> None:
    assert set(OPEN) == {
        ("GET", "/sign-in"),
        ("POST", "/sign-in"),
        ("POST", "/theme"),
        ("GET", "/signed-in"),
        ("GET", "/api"),
    }


def test_other_methods_are_refused(every_browser: dict[str, Browser]) -> None:
    analyst = every_browser["analyst"]
    assert analyst.put("/datasets/people/ask").status_code == 405
    assert analyst.delete("/sign-out").status_code == 405
    assert all(isinstance(one, Route) for one in analyst.app.routes)  # type: ignore[attr-defined] # Starlette's


@pytest.mark.parametrize("token", ["", "x", "dst_" + "A" * 43, HOSTILE, "dst_" + "é" * 43, "x" * 10_000])
def test_a_wrong_token_signs_nobody_in(every_browser: dict[str, Browser], token: str) -> None:
    visitor = every_browser["visitor"]
    fields = {"form_token": visitor.form_token("/sign-in"), "token": token, "next": HOSTILE}
    answer = visitor.post("/sign-in", data=fields)
    assert answer.status_code == 401
    assert "This token does not sign anybody in." in answer.text
    assert "<script>" not in answer.text


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Every text that a curator, an analyst or an address may choose is shown, and none is read as HTML."""
    with hostile_browsers(tmp_path) as found:
        browser, curator, auditor = found["analyst"], found["curator"], found["auditor"]
        place = answered(browser, sql="SELECT kind, COUNT(*) AS n FROM people GROUP BY kind", epsilon="0.5")
        for reason in (HOSTILE, f"again: {HOSTILE}"):
            browser.submit("/datasets/people/budget", amount="0.1", reason=reason)
        ask = {"by": "sql", "do": "price", "epsilon": "0.1"}
        column = quoted(HOSTILE)
        wrong = browser.submit("/datasets/people/ask", **ask | {"epsilon": HOSTILE, "rows": HOSTILE, "sql": HOSTILE})
        priced = browser.submit("/datasets/people/ask", **ask, sql=f"SELECT SUM({column}) AS s FROM people")  # noqa: S608 - the attack is the test
        lines = {"by": "form", "statistic1": "sum", "of1": HOSTILE, "where1": "kind", "value1": HOSTILE}
        form = browser.submit("/datasets/people/ask", **ask | lines)
        change = {"who": HOSTILE, "group": HOSTILE, "allowance": HOSTILE, "level": f"group:{HOSTILE}", "why": HOSTILE}
        verbs = ("admit", "group", "raise", HOSTILE)
        texts = [curator.submit("/datasets/people/people", **change, do=do) for do in verbs]
        request = re.search(r'name="request" value="(\w+)"', curator.get("/datasets/people/requests").text)
        assert request
        texts.append(curator.submit("/datasets/people/requests", request=request[1], do="decline", why=HOSTILE))
        freeze = {"do": "freeze", "level": "data set:people", "why": HOSTILE}
        texts.append(curator.submit("/datasets/people/people", **freeze))
        pages = ["", "/ask", "/ask?by=form", "/questions", "/budget", f"/ask?sql={HOSTILE}"]
        watched = {curator: ["/people", "/requests", "/spending", "/questions"], auditor: ["/log", "/questions"]}
        for who, those in {browser: pages, **watched}.items():
            texts += [who.get(f"/datasets/people{one}").text for one in those]
        texts += [wrong, priced, form, browser.get(place).text]
        for text in texts:
            assert "<script>alert" not in text
            assert "<img" not in text
        assert sum("&lt;script&gt;alert(1)" in text for text in texts) >= 14
        assert "Expected errors" in priced
        assert "Expected errors" in form

"""What every page has in common: limits of a principal, the way to a provider, colors, and failures without details."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.applications import Starlette

from discreet.errors import LedgerError
from discreet.server.pages import entrance_pages
from discreet.server.pages.routes import pages
from discreet.server.signed_in_requests import Allotments
from discreet.service.demonstration import demo_service
from discreet.service.service import Service
from page_fixtures import Browser, browsers


def test_a_principal_has_the_limits_of_the_interface(tmp_path: Path) -> None:
    with browsers(tmp_path) as found:
        app = found["analyst"].app
        assert isinstance(app, Starlette)
        app.state.allotments = Allotments(a_second=0.0001, burst=3, at_once=10)
        codes = [found["analyst"].get("/datasets").status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        assert found["curator"].get("/datasets").status_code == 200
        assert found["visitor"].get("/sign-in").status_code == 200


def test_a_provider_has_its_button(tmp_path: Path) -> None:
    with ExitStack() as held:
        service, _ = demo_service(tmp_path, held)
        held.callback(service.close)
        elsewhere = {"label": "Example <University>", "href": "/oidc/begin"}
        app = Starlette(routes=pages(service, sign_in_elsewhere=elsewhere))
        shown = held.enter_context(Browser(app)).get("/sign-in").text
        assert '<a class="button wide" href="/oidc/begin">Sign in with Example &lt;University&gt;</a>' in shown


def test_there_is_no_button_without_a_provider(every_browser: dict[str, Browser]) -> None:
    assert "Sign in with" not in every_browser["visitor"].get("/sign-in").text


@pytest.mark.parametrize(("theme", "shown"), [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"')])
def test_colors_are_kept(analyst: Browser, theme: str, shown: str) -> None:
    analyst.submit("/theme", theme=theme, next="/datasets")
    assert shown in analyst.get("/datasets").text
    analyst.submit("/theme", theme="neither", next="/datasets")
    assert shown in analyst.get("/datasets").text
    analyst.submit("/theme", theme="system", next="/datasets")
    assert "data-theme" not in analyst.get("/datasets").text


def test_a_ledger_names_no_place(analyst: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LedgerError("Expected a ledger, got /srv/secret/spent.db.\nHint: look at /srv/secret.")

    question = {"by": "sql", "sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1"}
    for verb in ("explain", "submit", "request"):
        monkeypatch.setattr(Service, verb, broken)
    shown = [analyst.submit("/datasets/people/budget", epsilon="0.1", reason="more")]
    shown += [analyst.submit("/datasets/people/ask", do=do, **question) for do in ("price", "pay")]
    for verb in ("datasets", "dataset", "budget", "questions"):
        monkeypatch.setattr(Service, verb, broken)
    answers = [analyst.get(f"/datasets{path}") for path in ("", "/people", "/people/ask", "/people/budget")]
    assert {answer.status_code for answer in answers} == {503}
    for text in (*shown, *(answer.text for answer in answers)):
        assert "The server could not do this" in text
        assert "secret" not in text


def test_a_failure_has_no_details(analyst: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret of a row")

    monkeypatch.setattr(entrance_pages, "base_of", broken)
    answer = analyst.get("/datasets")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "secret" not in answer.text
    assert "ZeroDivision" not in answer.text


def test_the_list_says_what_is_left_to_spend(every_browser: dict[str, Browser]) -> None:
    """Of the innermost allowance: an analyst's own, otherwise that of the data set."""
    for role, label, allowance in (
        ("analyst", "Your own", 4),
        ("curator", "Data set people", 10),
        ("auditor", "Data set people", 10),
    ):
        text = every_browser[role].get("/datasets").text
        assert re.findall(r"<strong>([^<]*)</strong></span>\s*<span[^>]*>[\d.]+ of ([\d.]+) left", text) == [
            (label, f"{allowance}")
        ]

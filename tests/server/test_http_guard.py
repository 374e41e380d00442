"""One line of the log for each request: where it went and how it ended, and nothing that anybody sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from asgi_client import AsgiClient
from discreet.server.http_application import application
from discreet.server.openid_sign_in import OpenIdSettings, OpenIdSignIn
from discreet.server.pages.routes import pages
from discreet.service.service import Service
from service_fixtures import ask

ASKED = "SELECT COUNT(*) AS hush FROM people"
IDENTITY = "0123456789abcdef" * 2
LOGGED = {"time", "event", "method", "route", "status", "principal", "milliseconds"}


class Kept(logging.Handler):
    """Keeps all lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one."""
        self.lines.append(record.getMessage())


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    kept, own = Kept(), logging.getLogger("discreet.http")
    monkeypatch.setattr(own, "handlers", [kept])
    monkeypatch.setattr(own, "propagate", False)
    before = own.level
    own.setLevel(logging.INFO)  # which forgets what was found out about it before
    yield kept
    own.setLevel(before)


def test_a_line_has_the_pattern_and_nothing_that_was_sent(service: Service, log: Kept) -> None:
    settings = OpenIdSettings(
        issuer="http://127.0.0.1:1", client_id="x", client_secret=None, redirect="http://127.0.0.1:2/oidc/callback"
    )
    app = application(service, pages=[*OpenIdSignIn(service, settings).routes(), *pages(service)])
    token, _ = service.members.issue("ada")
    ada, visitor = AsgiClient(app, headers={"Authorization": f"Bearer {token}"}), AsgiClient(app)
    session = service.sign_in(token)
    browser = AsgiClient(app, headers={"Cookie": f"discreet_session={session}"})
    asked: list[tuple[Any, str, str | None, str | None]] = [
        (ada.get("/api/v1/datasets/people"), "GET", "/api/v1/datasets/{name}", "ada"),
        (ada.post("/api/v1/explain", json=ask(ASKED)), "POST", "/api/v1/explain", "ada"),
        (ada.post("/api/v1/explain", json=ask("SELECT hush")), "POST", "/api/v1/explain", "ada"),
        (ada.get(f"/api/v1/releases/{IDENTITY}?wait=0"), "GET", "/api/v1/releases/{identity}", "ada"),
        (ada.get("/hush?q=hush"), "GET", None, None),
        (visitor.get("/sign-in?next=/hush"), "GET", "/sign-in", None),
        (visitor.post("/sign-in", data={"token": token}), "POST", "/sign-in", None),
        (browser.get("/datasets/people/ask?sql=hush"), "GET", "/datasets/{dataset}/ask", "ada"),
        (browser.get(f"/answers/{IDENTITY}"), "GET", "/answers/{job}", "ada"),
        (browser.get("/static/hush.js"), "GET", "/static/{name}", None),
        (visitor.get("/oidc/callback?code=hush&state=hush"), "GET", "/oidc/callback", None),
    ]
    lines = [json.loads(line) for line in log.lines if line.startswith("{")]
    assert len(lines) == len(asked)
    for line, (answer, method, route, principal) in zip(lines, asked, strict=True):
        assert set(line) == LOGGED
        assert (line["method"], line["route"], line["status"]) == (method, route, answer.status_code)
        assert line["principal"] == principal
    text = "\n".join(log.lines)
    for sent in (token, session, "hush", "people", IDENTITY, "127.0.0.1"):
        assert sent not in text, sent


def test_a_failure_of_ours_is_a_line_as_well(service: Service, log: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("hush")

    monkeypatch.setattr(service, "health", broken)
    answer = AsgiClient(application(service)).get("/health")
    (line,) = (json.loads(line) for line in log.lines if line.startswith("{"))
    assert (line["route"], line["status"], answer.status_code) == ("/health", 500, 500)
    assert "hush" not in answer.text + line["route"]

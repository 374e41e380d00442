"""The interface for programs as a page: complete, as it is described, and for everybody."""

from __future__ import annotations

import re
from html import unescape

from discreet.server.http_application import application
from discreet.server.pages.browser_session import POLICY
from discreet.server.pages.routes import pages
from discreet.service.service import Service
from page_fixtures import Browser


def test_every_endpoint_and_every_object_is_on_the_page(service: Service) -> None:
    app = application(service, pages=pages(service))
    described = app.openapi()
    with Browser(app) as visitor:
        answer = visitor.get("/api")
    shown = unescape(re.sub(r"<[^>]+>", "", answer.text))
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"] == POLICY
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            assert f"{method.upper()} {path}" in shown
            assert " ".join(one["description"].split()).replace("`", "") in shown
    for name, schema in described["components"]["schemas"].items():
        assert answer.text.count(f'id="{name}"') == 1
        for field in schema.get("properties", {}):
            assert f'<span class="code">{field}</span>' in answer.text
    linked = set(re.findall(r'href="#(\w+)"', answer.text))
    assert linked - {"content"} <= set(described["components"]["schemas"])
    assert {"ErrorBody", "AskBody", "RefusalPage"} <= linked
    for who in ("curators and auditors", "everybody who is signed in", "operators", "curators, analysts and auditors"):
        assert f">{who}</td>" in answer.text


def test_it_is_all_of_this_server(service: Service) -> None:
    with Browser(application(service, pages=pages(service))) as visitor:
        text = visitor.get("/api").text
    assert all(place.startswith(("/", "#")) for place in re.findall(r'(?:href|src|action)="([^"]*)"', text))
    assert len(text) < 100_000


def test_pages_without_an_interface_have_no_page_of_it(analyst: Browser) -> None:
    assert analyst.get("/api").status_code == 404

"""Cookies that scripts cannot read, forms that other sites cannot send, and a policy without exceptions."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from starlette.applications import Starlette

from discreet.server.pages.browser_session import POLICY, form_token, is_own_form, own_place
from page_fixtures import Browser, TestClient, browsers


def test_the_policy_allows_nothing_inline(every_browser: dict[str, Browser]) -> None:
    for browser, path in ((every_browser["visitor"], "/sign-in"), (every_browser["analyst"], "/datasets/people/ask")):
        policy = browser.get(path).headers["content-security-policy"]
        assert policy == POLICY
        assert "default-src 'none'" in policy
        assert not re.search(r"unsafe|data:|blob:|https?:|\*|nonce|sha256", policy)


def test_no_page_has_anything_inline(every_browser: dict[str, Browser]) -> None:
    for path in ("/datasets", "/datasets/people", "/datasets/people/ask", "/datasets/people/budget"):
        text = every_browser["analyst"].get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"""(src|href)=["'](?!/|#)""", text), path


@pytest.mark.parametrize("role", ["curator", "analyst", "auditor", "visitor"])
def test_a_post_without_its_token_is_refused(every_browser: dict[str, Browser], role: str) -> None:
    browser = every_browser[role]
    others = every_browser["curator" if role == "analyst" else "analyst"].form_token()
    for path in ("/sign-in", "/sign-out", "/theme", "/datasets/people/ask", "/datasets/people/budget"):
        for given in ({}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": others}):
            answer = browser.post(path, data={**given, "do": "pay", "token": "x", "theme": "dark"})
            assert answer.status_code == 403, (path, given)
            assert "not made for your session" in answer.text


def test_a_form_of_another_kind_is_refused(analyst: Browser) -> None:
    token = analyst.form_token()
    for body in ({"json": {"form_token": token}}, {"files": {"form_token": (None, token)}}):
        assert analyst.post("/datasets/people/ask", **body).status_code == 422
    large = {"form_token": token, "sql": "x" * 200_001}
    assert analyst.post("/datasets/people/ask", data=large).status_code == 422
    many = {"form_token": token} | {f"f{n}": "" for n in range(300)}
    assert analyst.post("/datasets/people/ask", data=many).status_code == 422


@pytest.mark.parametrize(("scheme", "prefix", "secure"), [("http", "", ""), ("https", "__Host-", True)])
def test_the_session_is_out_of_reach(tmp_path: Path, scheme: str, prefix: str, secure: object) -> None:
    with browsers(tmp_path) as found:
        app = found["visitor"].app
        assert isinstance(app, Starlette)
        client = TestClient(app, base_url=f"{scheme}://testserver", follow_redirects=False)
        page = client.get("/sign-in")
        (visitor,) = SimpleCookie(page.headers["set-cookie"]).values()
        token = re.search(r'value="([0-9a-f]{64})"', page.text)
        assert token
        (curator,) = _tokens(found)
        sent = client.post("/sign-in", data={"form_token": token[1], "token": curator, "next": "//elsewhere.example"})
        assert sent.headers["location"] == "/"
        cookies = [SimpleCookie(value) for value in sent.headers.get_list("set-cookie")]
        session = next(iter(cookies[0].values()))
        for one, name in ((visitor, "visitor"), (session, "session")):
            assert one.key == f"{prefix}discreet_{name}"
            assert one["httponly"] is True
            assert one["samesite"] == "strict"
            assert one["secure"] == secure
            assert one["path"] == "/"
            assert one["domain"] == ""
        assert curator not in session.value


def _tokens(found: dict[str, Browser]) -> tuple[str]:
    """A new token for the curator, straight from the store behind the pages."""
    route = next(one for one in found["visitor"].app.routes if getattr(one, "path", "") == "/sign-in")  # type: ignore[attr-defined] # Starlette's
    site = next(cell.cell_contents for cell in route.endpoint.__closure__ if hasattr(cell.cell_contents, "service"))
    return (site.service.members.issue("curator")[0],)


def test_a_session_ends_at_the_service(tmp_path: Path) -> None:
    with browsers(tmp_path) as found:
        analyst = found["analyst"]
        kept = dict(analyst.cookies)
        analyst.submit("/sign-out")
        assert "Sign out" not in analyst.get("/datasets").text
        for name, value in kept.items():
            analyst.cookies.set(name, value)
        assert "Sign out" not in analyst.get("/datasets").text


def test_tokens_of_forms_belong_to_one_secret() -> None:
    assert is_own_form("one", form_token("one"))
    assert not is_own_form("other", form_token("one"))
    assert not is_own_form("", form_token(""))
    assert not is_own_form("one", "é")


@pytest.mark.parametrize(
    "given", ["//x.example", "https://x.example", "/\\x.example", "\\\\x", "/a\nb", "/a\tb", "javascript:alert(1)", ""]
)
def test_the_next_page_is_one_of_ours(given: str) -> None:
    assert own_place(given) == "/"

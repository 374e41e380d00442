"""Signing in at a provider that runs on the loopback, from the first redirect to the session."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.applications import Starlette

from asgi_client import AsgiClient
from discreet.server.openid_sign_in import COOKIE, OpenIdSettings, OpenIdSignIn
from discreet.server.pages.browser_session import SESSION
from discreet.service.service import Service
from service_fixtures import Clock, service_in

REDIRECT = "http://127.0.0.1:9/oidc/callback"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with import_module("oidc_provider_mock").run_server_in_thread(user_claims=()) as server:
            yield f"http://localhost:{server.server_port}"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock())
    yield made
    made.close()


def site_of(service: Service, issuer: str, **stated: Any) -> AsgiClient:
    facts = {"client_id": "discreet", "client_secret": "secret", "claim": "sub", **stated}
    settings = OpenIdSettings(issuer=issuer, redirect=REDIRECT, **facts)
    return AsgiClient(Starlette(routes=OpenIdSignIn(service, settings).routes()))


def begun(site: AsgiClient) -> tuple[str, str]:
    """Where the browser is sent, and the cookie that it keeps."""
    response = site.get("/oidc/login")
    assert response.status_code == 303
    return response.headers["location"], response.cookies[COOKIE]


def approved(place: str, who: str) -> dict[str, str]:
    """What the provider sends the browser back with, once somebody has signed in there."""
    response = httpx.post(place, data={"sub": who}, timeout=60)
    assert response.status_code == 302, response.text
    back = response.headers["location"]
    assert back.startswith(REDIRECT)
    return {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}


def ended(site: AsgiClient, answer: dict[str, str], cookie: str) -> httpx.Response:
    return site.get("/oidc/callback", params=answer, headers={"Cookie": f"{COOKIE}={cookie}"})


def test_who_signs_in_at_the_provider_has_a_session(service: Service, issuer: str) -> None:
    site = site_of(service, issuer)
    place, cookie = begun(site)
    asked = parse_qs(urlsplit(place).query)
    assert (asked["code_challenge_method"], asked["response_type"]) == (["S256"], ["code"])
    response = ended(site, approved(place, "ada"), cookie)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert service.authenticate(response.cookies[SESSION]).name == "ada"


def test_who_is_no_principal_is_refused(service: Service, issuer: str) -> None:
    site = site_of(service, issuer)
    place, cookie = begun(site)
    assert ended(site, approved(place, "mallory"), cookie).status_code == 401


def test_a_callback_that_this_browser_did_not_begin_is_refused(service: Service, issuer: str) -> None:
    site = site_of(service, issuer)
    place, _ = begun(site)
    answer = approved(place, "ada")
    _, other = begun(site)
    for cookie in (other, "", "a.b.c", "x"):
        response = ended(site, answer, cookie)
        assert (response.status_code, SESSION in response.cookies) == (401, False)


def test_a_code_is_worth_nothing_without_its_verifier(service: Service, issuer: str) -> None:
    site = site_of(service, issuer)
    place, cookie = begun(site)
    state, nonce, _ = cookie.split(".")
    assert ended(site, approved(place, "ada"), f"{state}.{nonce}.{'0' * 64}").status_code == 401


def test_an_id_token_of_another_sign_in_is_refused(service: Service, issuer: str) -> None:
    site = site_of(service, issuer)
    place, cookie = begun(site)
    state, _, verifier = cookie.split(".")
    assert ended(site, approved(place, "ada"), f"{state}.{'0' * 64}.{verifier}").status_code == 401

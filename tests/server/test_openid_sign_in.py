from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette

from asgi_client import AsgiClient
from discreet.errors import InvalidParameter
from discreet.server.openid_sign_in import COOKIE, OpenIdSettings, OpenIdSignIn
from discreet.server.pages.browser_session import SESSION
from discreet.service.service import Service
from service_fixtures import Clock, service_in

ISSUER = "https://login.example.org"
REDIRECT = "https://discreet.example.org/oidc/callback"
KEY, OTHER_KEY = (RSAKey.generate_key(2048, parameters={"kid": name}) for name in ("one", "other"))


class Provider:
    """A provider whose every claim a test may choose."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.issuer, self.key = ISSUER, KEY
        self.told: Any = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """The response to one request."""
        if request.url.path.endswith("openid-configuration"):
            if self.told is not None:
                return httpx.Response(200, json=self.told)
            places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
            found = {name: ISSUER + place for name, place in places.items()}
            return httpx.Response(200, json={"issuer": self.issuer, **found})
        if request.url.path == "/keys":
            return httpx.Response(200, json={"keys": [KEY.as_dict(private=False)]})
        token = jwt.encode({"alg": "RS256", "kid": "one"}, self.claims, self.key, algorithms=["RS256"])
        return httpx.Response(200, json={"id_token": token, "access_token": "x", "token_type": "Bearer"})


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock())
    made.members.give("ada@example.org", "people", next(iter(made.members.principal("ada").roles["people"])))
    yield made
    made.close()


def site_of(service: Service, provider: Provider) -> AsgiClient:
    settings = OpenIdSettings(issuer=ISSUER, client_id="discreet", client_secret="s", redirect=REDIRECT)  # noqa: S106 - a made-up one

    def connect() -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(provider))

    return AsgiClient(Starlette(routes=OpenIdSignIn(service, settings, connect).routes()))


def ended(site: AsgiClient, provider: Provider, *, state: str | None = None, **claims: Any) -> httpx.Response:
    """The end of a sign-in, with other claims than it should have."""
    begun = site.get("/oidc/login")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    now = int(time.time())
    right = {
        "iss": ISSUER,
        "aud": "discreet",
        "exp": now + 60,
        "iat": now,
        "nonce": asked["nonce"],
        "email": "ada@example.org",
        "email_verified": True,
    }
    provider.claims = {name: value for name, value in {**right, **claims}.items() if value is not None}
    answer = {"code": "c", "state": asked["state"] if state is None else state}
    return site.get("/oidc/callback", params=answer, headers={"Cookie": f"{COOKIE}={begun.cookies[COOKIE]}"})


def test_who_the_provider_names_has_a_session(service: Service, provider: Provider) -> None:
    response = ended(site_of(service, provider), provider)
    assert response.status_code == 303
    assert service.authenticate(response.cookies[SESSION]).name == "ada@example.org"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another"},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"email": "mallory@example.org"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "false"},
        {"email_verified": 0},
        {"email_verified": None},
    ],
)
def test_a_token_with_other_claims_is_refused(service: Service, provider: Provider, claims: dict[str, Any]) -> None:
    response = ended(site_of(service, provider), provider, **claims)
    assert (response.status_code, SESSION in response.cookies) == (401, False)


def test_an_id_token_of_another_sign_in_is_refused(service: Service, provider: Provider) -> None:
    for nonce in ("0" * 64, None):
        assert ended(site_of(service, provider), provider, nonce=nonce).status_code == 401


def test_a_callback_that_this_browser_did_not_begin_is_refused(service: Service, provider: Provider) -> None:
    assert ended(site_of(service, provider), provider, state="0" * 64).status_code == 401
    assert site_of(service, provider).get("/oidc/callback?code=c&state=").status_code == 401


def test_a_token_with_another_key_is_refused(service: Service, provider: Provider) -> None:
    provider.key = OTHER_KEY
    assert ended(site_of(service, provider), provider).status_code == 401


def test_another_issuer_is_refused(service: Service, provider: Provider) -> None:
    provider.issuer = "https://elsewhere.example"
    assert site_of(service, provider).get("/oidc/login").status_code == 401


@pytest.mark.parametrize("told", [{}, [], "no", {"issuer": ISSUER}, {"issuer": ISSUER, "authorization_endpoint": None}])
def test_a_provider_that_says_something_else_of_itself_is_refused(
    service: Service, provider: Provider, told: Any
) -> None:
    provider.told = told
    assert site_of(service, provider).get("/oidc/login").status_code == 401


def test_providers_that_send_texts_are_understood(service: Service, provider: Provider) -> None:
    assert ended(site_of(service, provider), provider, email_verified="true").status_code == 303


@pytest.mark.parametrize("issuer", ["http://login.example.org", "ftp://x", "", "https://"])
def test_a_provider_without_tls_is_refused(issuer: str) -> None:
    with pytest.raises(InvalidParameter, match="an https address"):
        OpenIdSettings(issuer=issuer, client_id="discreet", client_secret=None, redirect=REDIRECT)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"redirect": "http://discreet.example.org/oidc/callback"}, "an https address"),
        ({"redirect": "https://discreet.example.org/callback"}, "the address of the callback"),
        ({"client_id": ""}, "a client of the provider"),
    ],
)
def test_what_no_provider_could_take_is_refused_at_the_start(stated: dict[str, Any], told: str) -> None:
    right: dict[str, Any] = {"issuer": ISSUER, "client_id": "discreet", "client_secret": None, "redirect": REDIRECT}
    with pytest.raises(InvalidParameter, match=told):
        OpenIdSettings(**{**right, **stated})

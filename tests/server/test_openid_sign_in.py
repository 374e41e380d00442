from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette

from asgi_client import AsgiClient
from discreet.errors import InvalidParameter
from discreet.server import openid_sign_in
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
        self.more: dict[str, Any] = {}
        self.issuer, self.key = ISSUER, KEY
        self.told: Any = None
        self.replies: dict[str, Callable[[], httpx.Response]] = {}
        """What it replies otherwise, by the last part of the place."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """The response to one request."""
        if reply := self.replies.get(request.url.path.rpartition("/")[2]):
            return reply()
        if request.url.path.endswith("openid-configuration"):
            if self.told is not None:
                return httpx.Response(200, json=self.told)
            places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
            found = {name: ISSUER + place for name, place in places.items()}
            return httpx.Response(200, json={"issuer": self.issuer, **found})
        if request.url.path == "/keys":
            return httpx.Response(200, json={"keys": [KEY.as_dict(private=False)]})
        token = jwt.encode({"alg": "RS256", "kid": "one"}, {**self.claims, **self.more}, self.key, algorithms=["RS256"])
        return httpx.Response(200, json={"id_token": token, "access_token": "x", "token_type": "Bearer"})


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = service_in(tmp_path_factory.mktemp("served"), Clock())
    made.members.give("ada@example.org", "people", next(iter(made.members.principal("ada").roles["people"])))
    yield made
    made.close()


def site_of(service: Service, provider: Provider, claim: str = "email") -> AsgiClient:
    settings = OpenIdSettings(
        issuer=ISSUER,
        client_id="discreet",
        client_secret="s",  # noqa: S106 - a made-up one
        redirect=REDIRECT,
        claim=claim,
    )

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
        {"email_verified": 1},
        {"email_verified": [True]},
        {"aud": ["discreet", "another"]},
        {"aud": ["discreet", "another"], "azp": "another"},
        {"azp": "another"},
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


def test_a_callback_of_another_tab_leaves_the_sign_in_alone(service: Service, provider: Provider) -> None:
    """Otherwise any link to the callback, of whatever page, would end a sign-in that is under way."""
    response = ended(site_of(service, provider), provider, state="0" * 64)
    assert (response.status_code, "set-cookie" in response.headers) == (401, False)


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


def test_a_token_may_have_other_audiences_where_this_client_asked_for_it(service: Service, provider: Provider) -> None:
    for claims in ({"aud": ["discreet"]}, {"aud": ["account", "discreet"], "azp": "discreet"}, {"azp": "discreet"}):
        assert ended(site_of(service, provider), provider, **claims).status_code == 303


@pytest.mark.parametrize(("claim", "name"), [(None, "None"), (True, "True"), (1, "1")])
def test_a_claim_that_is_no_text_names_nobody(service: Service, provider: Provider, claim: object, name: str) -> None:
    """There is a principal of the name that it would be if it were written out."""
    service.members.give(name, "people", next(iter(service.members.principal("ada").roles["people"])))
    for uid, status in ((claim, 401), (name, 303)):
        provider.more = {"uid": uid}
        assert ended(site_of(service, provider, "uid"), provider).status_code == status


def failing(problem: BaseException) -> Callable[[], httpx.Response]:
    def reply() -> httpx.Response:
        raise problem

    return reply


def saying(text: str) -> Callable[[], httpx.Response]:
    return lambda: httpx.Response(200, text=text)


REPLIES: dict[str, Callable[[], httpx.Response]] = {
    **{
        text[:20]: saying(text)
        for text in ("[]", "5", "null", "{}", "x", "", '"text"', "[" * 100_000, '{"keys": [null]}', '{"id_token": 5}')
    },
    **{
        type(problem).__name__: failing(problem)
        for problem in (httpx.ConnectError(""), httpx.InvalidURL(""), OSError(), RuntimeError(), MemoryError())
    },
    "elsewhere": lambda: httpx.Response(302, headers={"Location": "https://elsewhere.example"}),
    "out of order": lambda: httpx.Response(500),
    "compressed": lambda: httpx.Response(200, headers={"Content-Encoding": "br"}, text="{}"),
}


@pytest.mark.parametrize("reply", REPLIES)
def test_whatever_the_provider_replies_the_answer_is_one(service: Service, provider: Provider, reply: str) -> None:
    """And the cookie of the sign-in is used up, wherever it failed."""
    first = site_of(service, provider)
    provider.replies = {"openid-configuration": REPLIES[reply]}
    texts = {first.get("/oidc/login").text}
    for place in ("token", "keys"):
        provider.replies = {place: REPLIES[reply]}
        response = ended(site_of(service, provider), provider)
        assert (response.status_code, SESSION in response.cookies) == (401, False)
        assert f'{COOKIE}=""; HttpOnly; Max-Age=0' in response.headers["set-cookie"]
        texts.add(response.text)
    assert len(texts) == 1
    assert json.loads(texts.pop())["error"] == "not_signed_in"


@pytest.mark.parametrize("pause", [0.0, 0.01], ids=["long", "slow"])
def test_a_reply_that_is_long_or_slow_is_given_up(
    service: Service, provider: Provider, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr(openid_sign_in, "TIMEOUT", 0.3 if pause else 60)
    sent = 0

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal sent
            for _ in range(3000):
                sent += 1
                yield b" " if pause else b" " * 65536
                await asyncio.sleep(pause)

    provider.replies = {"keys": lambda: httpx.Response(200, stream=Endless())}
    assert ended(site_of(service, provider), provider).status_code == 401
    assert sent < 100


@pytest.mark.parametrize("place", ["http://login.example.org/", "javascript:alert(1)", "//x", "https://x:y/", None, []])
def test_a_provider_sends_browsers_to_safe_addresses_alone(service: Service, provider: Provider, place: object) -> None:
    places = {"authorization_endpoint": place, "token_endpoint": f"{ISSUER}/token", "jwks_uri": f"{ISSUER}/keys"}
    provider.replies = {"openid-configuration": lambda: httpx.Response(200, json={"issuer": ISSUER, **places})}
    assert site_of(service, provider).get("/oidc/login").status_code == 401


@pytest.mark.parametrize(
    "issuer",
    ["http://login.example.org", "ftp://x", "", "https://", "https://[::1", "https://x:y", "https://a b", "https://é"],
)
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

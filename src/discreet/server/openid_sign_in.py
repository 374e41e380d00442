"""Signing in at a provider: OpenID Connect's code flow with PKCE.

Claim
    A session begins only for somebody whom the provider named, in an answer to a sign-in that this browser began, and
    who is a principal already.
Requires
    A provider that keeps OpenID Connect Core 1.0, reached over TLS, or on the loopback.
Relies on
    Authlib and joserfc: signatures, and claims about issuer, audience and time.
Proof
    `state`, `nonce` and the verifier are 256 random bits each, kept in a cookie that scripts cannot read. The callback
    refuses another state than the cookie's; the provider gives the code's tokens for the cookie's verifier alone, whose
    hash was sent at the beginning; the ID token has to be signed by a key of the provider, be for this client and not
    for another one, be valid now, and hold the cookie's nonce. A claim that is no text names nobody. The cookie is used
    up by the first callback with its state. Whatever is wrong, the answer is the same: whatever a reply has in place of
    what it should, or however long or slow it is.
Rounding
    None.
Source
    OpenID Connect Core 1.0, 3.1; RFC 7636 (PKCE); RFC 9700 (best current practice for OAuth 2.0).
Mutant
    any-nonce: the nonce is not compared; killed by test_an_id_token_of_another_sign_in_is_refused.
    any-email: an address counts that the provider does not say is verified; killed by
    test_a_token_with_other_claims_is_refused.
    any-state: the state is not compared; killed by test_a_callback_that_this_browser_did_not_begin_is_refused.
    any-claim-is-text: what is no text is written out, and stands for whoever has that name; killed by
    test_a_claim_that_is_no_text_names_nobody.
    other-clients-tokens: a token counts that the provider made for another of its clients, too; killed by
    test_a_token_with_other_claims_is_refused.
    known-failures-alone: what fails in an unknown way is no refusal; killed by
    test_whatever_the_provider_replies_the_answer_is_one.
    replies-without-end: a reply is read for as long as it goes on; killed by
    test_a_reply_that_is_long_or_slow_is_given_up.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
from authlib.common.urls import add_params_to_uri  # type: ignore[import-untyped]  # it ships no types
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]  # as above
from joserfc import jwt
from joserfc.jwk import KeySet
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from discreet.errors import InvalidParameter, expected
from discreet.noise.entropy import random_key
from discreet.server.http_errors import refusal_response
from discreet.server.http_guard import LoggedRoute
from discreet.server.pages import browser_session as browser
from discreet.service.service import Service
from discreet.service.service_errors import not_signed_in

logger = logging.getLogger("discreet.http")

COOKIE = "discreet_oidc"
LASTS = 600
TIMEOUT = 10.0
"""Seconds for all that is asked of the provider in one step of a sign-in."""
LONGEST_REPLY = 1 << 20
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
LEEWAY = 60
SCOPE = "openid email"
LOGIN, CALLBACK = "/oidc/login", "/oidc/callback"


@dataclass(frozen=True, kw_only=True)
class OpenIdSettings:
    """The provider, and what it knows the service by."""

    issuer: str
    client_id: str
    client_secret: str | None
    redirect: str
    """This service's callback, as it was registered with the provider."""
    claim: str = "email"
    """Which claim is the name of a principal; an email only where the provider says that it is verified."""

    def __post_init__(self) -> None:
        for name, url in (("issuer", self.issuer), ("redirect", self.redirect)):
            if not is_safe(url):
                raise InvalidParameter(expected("an https address", name, url, "write https://..."))
        if urlsplit(self.redirect).path != CALLBACK:
            cure = f"write https://..., the service's own address, with {CALLBACK} behind it."
            raise InvalidParameter(expected("the address of the callback", "redirect", self.redirect, cure))
        if not self.client_id:
            cure = "write the name under which the provider knows this service."
            raise InvalidParameter(expected("a client of the provider", "client_id", self.client_id, cure))


def is_safe(url: object) -> bool:
    """Whether this is an address that is protected by TLS, or on the loopback."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # a port that is none raises
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    try:
        return parts.scheme == "http" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return parts.scheme == "http" and host == "localhost"


class OpenIdSignIn:
    """The two steps of a sign-in at a provider."""

    def __init__(
        self,
        service: Service,
        settings: OpenIdSettings,
        connect: Callable[[], httpx.AsyncClient] | None = None,
        *,
        refused: Callable[[Request], Response] | None = None,
    ) -> None:
        self._service = service
        self._settings = settings
        self._connect = connect or (lambda: httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False))
        self._refused = refused or (lambda _: refusal_response(not_signed_in()))
        """What a browser is shown that is not signed in."""
        self._found: dict[str, Any] = {}

    def routes(self) -> list[BaseRoute]:
        """Where browsers go."""
        return [
            LoggedRoute(LOGIN, self.begin, methods=["GET"]),
            LoggedRoute(CALLBACK, self.end, methods=["GET"]),
        ]

    async def begin(self, request: Request) -> Response:
        """Sends the browser to the provider."""
        state, nonce, verifier = (random_key().hex() for _ in range(3))
        try:
            place = await self._place(state, nonce, verifier)
        except Exception:
            logger.exception("the provider does not answer")
            return await run_in_threadpool(self._refused, request)
        response = RedirectResponse(place, 303)
        self._keep(response, request, f"{state}.{nonce}.{verifier}", LASTS)
        return response

    async def _place(self, state: str, nonce: str, verifier: str) -> str:
        """Where the browser goes, with what the provider is to send back or to compare."""
        async with self._asked() as http:
            provider = await self._provider(http)
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._settings.redirect,
            "scope": SCOPE,
            "state": state,
            "nonce": nonce,
            "code_challenge": create_s256_code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        return str(add_params_to_uri(provider["authorization_endpoint"], list(asked.items())))

    async def end(self, request: Request) -> Response:
        """Begins a session for whom the provider names; whatever is wrong, the answer is one.

        A sign-in that was begun in another tab may go on: its cookie is used up by its own callback alone.
        """
        kept, given = self._kept(request).split("."), request.query_params.get("state", "")
        is_own = len(kept) == 3 and hmac.compare_digest(given.encode(), kept[0].encode())
        session = await self._session(request, nonce=kept[1], verifier=kept[2]) if is_own else None
        response: Response
        if session is None:
            response = await run_in_threadpool(self._refused, request)
        else:
            response = RedirectResponse("/", 303)
            browser.set_cookie(response, request, browser.SESSION, session)
        if is_own:
            self._keep(response, request, "", 0)
        return response

    async def _session(self, request: Request, *, nonce: str, verifier: str) -> str | None:
        """The secret of a session, or None for whatever is wrong, which the log has."""
        try:
            return await self._named(request, nonce=nonce, verifier=verifier)
        except Exception:  # a reply may have anything in any place, of which each library makes errors of its own
            logger.warning("a sign-in at the provider was refused", exc_info=True)
            return None

    async def _named(self, request: Request, *, nonce: str, verifier: str) -> str:
        """The secret of a session for whom the provider names."""
        async with self._asked() as http:
            claims = await self._claims(http, request.query_params["code"], verifier)
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise not_signed_in()
        if not is_for(self._settings.client_id, claims):
            raise not_signed_in()
        name, verified = claims[self._settings.claim], claims.get("email_verified")
        if not isinstance(name, str):  # written out, null would be whoever is called None here
            raise not_signed_in()
        # Whoever may choose an address at the provider would be whoever has it here; some send the word as a text.
        if self._settings.claim == "email" and not (verified is True or verified == "true"):
            raise not_signed_in()
        return await run_in_threadpool(self._begun, name)

    def _begun(self, name: str) -> str:
        if not self._service.members.exists(name):
            raise not_signed_in()
        return self._service.members.session(self._service.members.principal(name).name)

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[httpx.AsyncClient]:
        """A connection to the provider, for a limited time whatever it sends."""
        async with asyncio.timeout(TIMEOUT), self._connect() as http:
            yield http

    async def _claims(self, http: httpx.AsyncClient, code: str, verifier: str) -> dict[str, Any]:
        """What a signed ID token says, for the code that the browser brought."""
        provider = await self._provider(http)
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.redirect,
            "client_id": settings.client_id,
            "code_verifier": verifier,
        }
        login = httpx.BasicAuth(settings.client_id, settings.client_secret) if settings.client_secret else None
        answer = await _replied(
            http, "POST", provider["token_endpoint"], data=form, auth=login or httpx.USE_CLIENT_DEFAULT
        )
        keys = KeySet.import_key_set(await _replied(http, "GET", provider["jwks_uri"]))
        token = jwt.decode(answer["id_token"], keys, algorithms=ALGORITHMS)
        registry = jwt.JWTClaimsRegistry(
            now=int(time.time()),
            leeway=LEEWAY,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.client_id},
            exp={"essential": True},
            iat={"essential": True},
        )
        registry.validate(token.claims)
        return dict(token.claims)

    async def _provider(self, http: httpx.AsyncClient) -> dict[str, Any]:
        """What the provider says of itself; asked once."""
        if not self._found:
            place = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            found = await _replied(http, "GET", place)
            places = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            if found["issuer"] != self._settings.issuer or not all(is_safe(found[name]) for name in places):
                raise ValueError("another issuer")
            self._found = found
        return self._found

    def _kept(self, request: Request) -> str:
        return browser.given_cookie(request, COOKIE)

    def _keep(self, response: Response, request: Request, value: str, lasts: int) -> None:
        """Keeps it with the browser through its way to the provider and back, which `SameSite=Lax` lets it go."""
        secure = browser.is_secure(request)
        name = browser.cookie_name(COOKIE, secure=secure)
        response.set_cookie(name, value, max_age=lasts, path="/", secure=secure, httponly=True, samesite="lax")


def is_for(client: str, claims: Mapping[str, Any]) -> bool:
    """Whether an ID token was made for this client: no other one is named beside it, or it is the one that asked.

    >>> is_for("discreet", {"aud": "discreet"}), is_for("discreet", {"aud": ["discreet", "other"]})
    (True, False)
    >>> is_for("discreet", {"aud": ["discreet", "other"], "azp": "discreet"})
    True
    """
    asked_by = claims.get("azp")
    return bool(asked_by == client if asked_by is not None else claims["aud"] in (client, [client]))


async def _replied(http: httpx.AsyncClient, method: str, url: str, **given: Any) -> Any:
    """The JSON of a reply of moderate length; as it is sent, since little that is compressed may be much."""
    body = bytearray()
    async with http.stream(method, url, headers={"Accept-Encoding": "identity"}, **given) as answer:
        answer.raise_for_status()
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise ValueError("a compressed reply")
        async for part in answer.aiter_bytes():
            body += part
            if len(body) > LONGEST_REPLY:
                raise ValueError("a longer reply")
    return json.loads(body)

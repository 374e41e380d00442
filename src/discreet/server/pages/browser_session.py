"""Who is behind a browser: the cookie of a session, the tokens of its forms, and the headers of every page.

Claim
    (a) A form that changes anything is accepted only with a value that the page's own session made. (b) No page runs
    code or applies styles that are written inside it, or that come from elsewhere.
Requires
    The browser keeps `SameSite` cookies from other sites, and obeys a Content-Security-Policy.
Relies on
    HMAC-SHA256; `noise.entropy.random_key` for the secret of a visitor who is not signed in yet.
Proof
    (a) The value is HMAC(secret of the cookie, fixed text). Another site can neither read the cookie, which is
    HttpOnly, nor the page; so it knows neither, and an HMAC of an unknown key cannot be guessed. Of a visitor who is
    not signed in, the secret is a random one of its own, so that nobody can be signed in as somebody else unawares.
    (b) `POLICY` names this server alone, and no `unsafe-inline`.
Rounding
    None.
Source
    OWASP Cheat Sheets, Cross-Site Request Forgery Prevention (HMAC-based tokens); Content Security Policy Level 3.
Mutant
    any-form-is-accepted: a form needs no token; killed by test_tokens_of_forms_belong_to_one_secret.
    inline-code-may-run: the policy allows inline code; killed by test_the_policy_allows_nothing_inline.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from discreet.noise.entropy import random_key

SESSION = "discreet_session"
VISITOR = "discreet_visitor"
THEME = "discreet_theme"
LASTS = 12 * 3600
"""Seconds until somebody has to sign in again."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def is_secure(request: Request) -> bool:
    """Whether the browser came by TLS, to this server or to the proxy before it."""
    return request.url.scheme == "https"


def cookie_name(name: str, *, secure: bool) -> str:
    """With a prefix that makes browsers refuse the cookie from anywhere but this host, where there is TLS."""
    return f"__Host-{name}" if secure else name


def given_cookie(request: Request, name: str) -> str:
    """The cookie of this name, or nothing."""
    return request.cookies.get(cookie_name(name, secure=is_secure(request)), "")


def set_cookie(response: Response, request: Request, name: str, value: str, *, lasts: int = LASTS) -> None:
    """Keeps a value with the browser, out of the reach of scripts and of other sites; 0 seconds takes it away."""
    secure = is_secure(request)
    response.set_cookie(
        cookie_name(name, secure=secure),
        value,
        max_age=lasts,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def new_visitor() -> str:
    """The secret of somebody who is not signed in."""
    return random_key().hex()


def form_token(secret: str) -> str:
    """The value that forms of this session carry.

    >>> form_token("one") == form_token("one"), form_token("one") == form_token("other")
    (True, False)
    """
    return hmac.new(secret.encode(), b"discreet: a form of this session", hashlib.sha256).hexdigest()


def is_own_form(secret: str, given: str) -> bool:
    """Whether the form was made for this session, compared in constant time; a session without a secret has none."""
    return bool(secret) and hmac.compare_digest(form_token(secret).encode(), given.encode())


def own_place(given: str) -> str:
    """A path on this server to go to next; whatever else is given becomes the first page.

    >>> own_place("/datasets/people?x=1"), own_place("//elsewhere.example"), own_place("https://elsewhere.example")
    ('/datasets/people?x=1', '/', '/')
    """
    plain = given.isprintable() and given.isascii() and "\\" not in given
    return given if plain and given.startswith("/") and not given.startswith("//") else "/"


def with_headers(response: Response, *, kept: bool = False) -> Response:
    """The response with the headers of every page; only what never changes may be kept by caches."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-store"
    return response

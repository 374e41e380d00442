"""Around every request: one length, headers that browsers obey, and one line of a log without secrets and answers."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.http_errors import error_response

logger = logging.getLogger("discreet.http")

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""For every response that does not state its own; pages state their own policy of content."""
LENGTHS = (b"content-length", b"transfer-encoding")
"""A request has one of them: a proxy that reads the other one would take a part of it for another client's request."""
ONLY_TLS = "max-age=31536000"


class LoggedRoute(Route):
    """A route whose pattern is in the log, as those of FastAPI are by themselves."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is meant, and what is known of the request then."""
        found, known = super().matches(scope)
        return found, known if found is Match.NONE else {**known, "route": self}


class HttpGuard:
    """Adds the headers, and writes the line."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        code = 500

        async def sent(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", ONLY_TLS)
            await send(message)

        names = {name.lower() for name, _ in scope["headers"]}
        try:
            if names.issuperset(LENGTHS):
                await _two_lengths()(scope, receive, sent)
                return
            await self._app(scope, receive, sent)
        finally:
            _log(scope, code, time.perf_counter() - began)


def _two_lengths() -> Response:
    """The refusal of a request whose end depends on who reads it, and of all that comes behind it."""
    response = error_response(
        400, "bad_request", "Expected Content-Length or Transfer-Encoding, got both.\nHint: send one."
    )
    response.headers["Connection"] = "close"
    return response


def _log(scope: Scope, code: int, seconds: float) -> None:
    route = scope.get("route")
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "event": "request",
        "method": scope["method"],
        # The pattern, not the path: names in a path are what somebody asked for.
        "route": getattr(route, "path", None),
        "status": code,
        "principal": scope.get("state", {}).get("principal"),
        "milliseconds": round(1000 * seconds, 1),
    }
    logger.info(json.dumps(line))

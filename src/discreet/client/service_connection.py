"""The connection to a service: requests that are sent again where nothing can happen twice, refusals as errors."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.client.service_bodies import NUMBER, ServiceRefused, malformed, mapping
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    expected,
)
from discreet.noise.entropy import random_key

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 5
FIRST_PAUSE = 0.2
"""Seconds before a request is sent again; twice as many before each further time."""
WAIT = 30
"""Seconds that the service is asked to hold a request until an answer is ready."""
TIMEOUT = 60.0


class ServiceUnreachable(DiscreetError):
    """The service did not answer, though it was asked several times."""


KINDS: dict[str, type[DiscreetError]] = {
    "invalid_query": InvalidQuery,
    "invalid_parameter": InvalidParameter,
    "budget_exceeded": BudgetExceeded,
    "engine_error": EngineError,
}
"""Refusals that are the library's own; all others are `ServiceRefused`."""


def checked_url(url: object) -> str:
    """The address of a service; refuses one that would show a token to the network."""
    text = url if isinstance(url, str) else ""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        cure = "write dp.connect('https://numbers.example', token=...)."
        raise InvalidParameter(expected("the address of a service", "url", text, cure))
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        cure = "write https://: over http anybody between here and there could read the token."
        raise InvalidParameter(expected("https, or an address of this machine", "url", text, cure))
    return text.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ServiceConnection:
    """Requests to one service, with one token."""

    def __init__(self, url: object, token: object) -> None:
        import httpx

        self._url = checked_url(url)
        if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
            raise InvalidParameter(
                expected("a token", "token", "another value", "the operator of the service issues it.")
            )
        headers = {"Authorization": f"Bearer {token}"}
        self.latest: dict[str, Any] | None = None
        """The release that ended last, as its service shows it: its id, its cost, and whether it was charged."""
        # Over http nothing leaves this machine: a proxy of the environment would be shown the token.
        is_open = urlsplit(self._url).scheme == "http"
        self._client = httpx.Client(
            base_url=f"{self._url}/api/v1", headers=headers, timeout=TIMEOUT, trust_env=not is_open
        )

    def __repr__(self) -> str:
        return f"<connection to {self._url}>"

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """What is at a path."""
        return self._sent("GET", path, params=parameters)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """What the service makes of a body; only such as may be sent again."""
        return self._sent("POST", path, json=body, headers=headers)

    def answer(self, ask: dict[str, Any]) -> dict[str, Any]:
        """The stored answer to an ask, with one charge however often the connection is lost on the way."""
        job = _job(self.post("/releases", ask, **{"Idempotency-Key": random_key().hex()}))
        path = f"/releases/{job['id']}"
        while job["state"] not in ("ready", "failed"):
            job = _job(self.get(path, wait=WAIT))
        self.latest = job
        return dict(mapping("a stored answer", self.get(f"{path}/answer", format="stored"), answer=str))

    def _sent(self, method: str, path: str, **request: Any) -> Any:
        import httpx

        broken = False
        for attempt in range(ATTEMPTS):
            try:
                response = self._client.request(method, path, **request)
            except httpx.TransportError:
                response = None
            except httpx.RequestError:  # a body that cannot be decompressed, or an address that leads nowhere
                broken = True
                break
            if response is not None and response.status_code not in (502, 503, 504):
                return _read(response)
            if attempt < ATTEMPTS - 1:
                time.sleep(FIRST_PAUSE * 2**attempt)
        if broken:
            raise malformed("bodies that can be read")
        raise ServiceUnreachable(
            f"Expected an answer from {self._url}, got none.\n"
            "Hint: ask again later: what was paid for is stored, and is given again for nothing."
        )


def _job(body: object) -> dict[str, Any]:
    """A release as the service shows it."""
    job = dict(mapping("a release", body, id=str, state=str))
    if NUMBER.fullmatch(job["id"]) is None:
        raise malformed("a release with its id")
    return job


def _read(response: httpx.Response) -> Any:
    """The body of a response; a refusal as an error."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if response.is_success and body is not None:
        return body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        hint = f"\nHint: {body['hint']}" if body.get("hint") else ""
        raise KINDS.get(str(body.get("error")), ServiceRefused)(f"{body['message']}{hint}")
    cure = "look at the address: it is that of a page, or of another program."
    raise ServiceRefused(expected("a service of discreet", "status", response.status_code, cure))

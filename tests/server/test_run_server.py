"""How the application listens."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from asgi_client import AsgiClient
from discreet.errors import InvalidParameter
from discreet.server.http_application import HttpLimits, application
from discreet.server.pages.routes import pages
from discreet.server.run_server import Listening, _bound, _configured
from discreet.service.service import Service
from served_demo import free_port


def test_short_answers_do_not_wait_for_acknowledgments() -> None:
    listening = Listening(port=free_port())
    with _bound(listening) as server, socket.create_connection((listening.host, listening.port)) as client:
        accepted, _ = server.accept()
        with accepted:
            assert client.getpeername()[1] == listening.port
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "numbers.example", "localhost.example", ""])  # noqa: S104 - it listens nowhere
@pytest.mark.parametrize("stated", [{}, {"certificate": Path("c.pem")}, {"key": Path("k.pem")}])
def test_other_addresses_than_the_loopback_need_tls(host: str, stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="TLS on other addresses than the loopback"):
        Listening(host=host, **stated)
    both = Listening(host=host, certificate=Path("c.pem"), key=Path("k.pem"))
    assert both.url.startswith("https://")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_the_loopback_needs_none(host: str) -> None:
    assert Listening(host=host).url.startswith("http://")


NEAR, FAR = ("127.0.0.1", "127.1.2.3", "::1"), ("203.0.113.5", "10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "")


def loaded(service: Service, limits: HttpLimits | None = None) -> Any:
    """The application as the server that listens calls it."""
    config = _configured(application(service, limits, pages=pages(service)), Listening())
    config.load()
    return config.loaded_app


def came_by_tls(app: Any, peer: str, proto: str) -> bool:
    """Whether somebody at an address is taken for a browser that came by TLS, by what their cookie and headers say."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app, client=(peer, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get("/sign-in", headers={"X-Forwarded-Proto": proto})

    answer = asyncio.run(send())
    cookie = answer.headers["Set-Cookie"]
    [found] = {cookie.startswith("__Host-"), "; Secure" in cookie, "Strict-Transport-Security" in answer.headers}
    return found


def test_a_proxy_on_this_machine_alone_says_that_a_browser_came_by_tls(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    app = loaded(service)
    assert all(came_by_tls(app, peer, "https") for peer in NEAR)
    assert not any(came_by_tls(app, peer, "https") for peer in FAR)
    for proto in ("http", "HTTPS", "javascript", "https, http", "", "\x00", "httpss"):
        assert not came_by_tls(app, "127.0.0.1", proto), proto


def test_addresses_that_a_client_claims_make_no_difference(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """Limits are those of principals, so no new address is a new allowance; and nobody else's is in the log."""
    token, slow = service.members.issue("ada")[0], HttpLimits(a_second=0.001, burst=3)
    client = AsgiClient(loaded(service, slow), headers={"Authorization": f"Bearer {token}"})
    codes = []
    with caplog.at_level("INFO", logger="discreet.http"):
        for number in range(6):
            claimed = {"X-Forwarded-For": f"203.0.113.{number}, <b>", "Forwarded": f"for=203.0.113.{number}"}
            codes.append(client.get("/api/v1/me", headers=claimed).status_code)
    assert codes == [200] * 3 + [429] * 3
    assert len(caplog.messages) == 6
    assert "203.0.113" not in caplog.text

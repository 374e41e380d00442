"""How the application listens."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.server.run_server import Listening, _bound
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

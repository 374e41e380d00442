"""How the application listens."""

from __future__ import annotations

import socket

from discreet.server.run_server import Listening, _bound
from served_demo import free_port


def test_short_answers_do_not_wait_for_acknowledgments() -> None:
    listening = Listening(port=free_port())
    with _bound(listening) as server, socket.create_connection((listening.host, listening.port)) as client:
        accepted, _ = server.accept()
        with accepted:
            assert client.getpeername()[1] == listening.port
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

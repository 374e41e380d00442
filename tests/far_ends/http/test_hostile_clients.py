"""Clients that hold connections, send slowly, or send too much: they are cut off, and others are served."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from discreet.server.connection_limits import MOST_CONNECTIONS, REQUEST_SECONDS
from served_demo import ServedDemo, served_demo

MANY = 10_000
PATIENCE = 60.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDemo]:
    with served_demo(tmp_path_factory.mktemp("served")) as running:
        yield running


def others_are_served(served: ServedDemo) -> None:
    """Somebody else gets an answer."""
    headers = {"Authorization": f"Bearer {served.tokens['analyst']}"}
    with httpx.Client(base_url=served.url, headers=headers, timeout=PATIENCE) as client:
        assert client.get("/api/v1/me").status_code == 200


def ended_by_the_server(connection: socket.socket) -> bytes:
    """All that the server sends until it ends a connection."""
    connection.settimeout(PATIENCE)
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    return received


def test_ten_thousand_open_connections_keep_nobody_out(served: ServedDemo) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = MANY if hard == resource.RLIM_INFINITY else min(MANY, hard - 500)
    assert number > MOST_CONNECTIONS
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + 500, hard))
    held: list[socket.socket] = []
    try:
        place = ("127.0.0.1", served.port)
        held.extend(socket.create_connection(place, timeout=PATIENCE) for _ in range(number))
        others_are_served(served)
    finally:
        for connection in held:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    others_are_served(served)


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a header", "half a body"],
)
def test_slow_clients_are_cut_off(served: ServedDemo, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        connection.sendall(begun)
        began = time.monotonic()
        ended_by_the_server(connection)
    assert time.monotonic() - began < REQUEST_SECONDS + PATIENCE
    others_are_served(served)


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 1_000_000,
        b"GET /" + b"a" * 1_000_000,
        b"GET /health HTTP/1.1\r\n" + b"X: a\r\n" * 100_000,
        b"\x00\x01\x02\x03" * 1000,
        b"GET /health HTTP/x\r\n\r\n",
        b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
    ids=["long header", "long path", "many headers", "bytes", "version", "two lengths", "no chunk"],
)
def test_what_is_no_request_is_refused(served: ServedDemo, request_text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request_text)
        received = ended_by_the_server(connection)
    assert received == b"" or received.startswith(b"HTTP/1.1 4")
    others_are_served(served)


def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_read(served: ServedDemo) -> None:
    """A proxy that reads by the other length would take what is behind it for another client's request."""
    chunked = b"2\r\n{}\r\n0\r\n\r\n"
    head = b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n"
    behind = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
        connection.sendall(head + chunked + behind)
        received = ended_by_the_server(connection)
    assert received.startswith(b"HTTP/1.1 400")
    assert received.count(b"HTTP/1.1") == 1
    others_are_served(served)


def test_a_body_without_end_is_refused(served: ServedDemo) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(10_000):
            yield b"x" * 65536

    headers = {"Authorization": f"Bearer {served.tokens['analyst']}", "Content-Type": "application/json"}
    cut_off = contextlib.suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError)
    with httpx.Client(base_url=served.url, headers=headers, timeout=PATIENCE) as client, cut_off:
        assert client.post("/api/v1/explain", content=endless()).status_code == 413
    others_are_served(served)

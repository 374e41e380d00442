"""Runs the application on a port: with TLS, or on the loopback alone; ends cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from discreet.errors import InvalidParameter, expected
from discreet.server.connection_limits import IDLE_SECONDS, LimitedConnection, most_connections

HEADER_BYTES = 16 * 1024
SHUTDOWN_SECONDS = 10
BACKLOG = 1024
PROXIES = ("127.0.0.0/8", "::1")
"""Whose X-Forwarded headers count."""


@dataclass(frozen=True, kw_only=True)
class Listening:
    """Where a server listens, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if not self.is_local and (self.certificate is None or self.key is None):
            cure = "state certificate and key; behind a proxy that has them, listen on 127.0.0.1."
            raise InvalidParameter(expected("TLS on other addresses than the loopback", "host", self.host, cure))

    @property
    def is_local(self) -> bool:
        """Whether nobody outside of this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def tls(self) -> ssl.SSLContext | None:
        """What other faces on this address encrypt with; none where no certificate is stated."""
        if self.certificate is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError:  # ssl's own errors are among them
            cure = "state files in PEM that belong together and can be read, the key without a password."
            raise InvalidParameter(expected("a certificate with its key", "files", "others", cure)) from None
        return context

    @property
    def url(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller, and says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


Beside = Callable[[], Awaitable[Any]]
"""Starts another face of the same service, and returns what closes it."""


def run(app: FastAPI, listening: Listening, *, ready: Callable[[], None], beside: tuple[Beside, ...] = ()) -> None:
    """Serves until SIGTERM or SIGINT; requests that are being answered are answered."""
    asyncio.run(_serve(app, listening, ready, beside))


def _configured(app: FastAPI, listening: Listening) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=listening.host,
        port=listening.port,
        ssl_certfile=None if listening.certificate is None else str(listening.certificate),
        ssl_keyfile=None if listening.key is None else str(listening.key),
        http=LimitedConnection,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        # What ends TLS before a server without it is on this machine; nobody else says how a browser came.
        forwarded_allow_ips=list(PROXIES),
    )


async def _serve(app: FastAPI, listening: Listening, ready: Callable[[], None], beside: tuple[Beside, ...]) -> None:
    LimitedConnection.most = most_connections()
    server, sockets = _Server(_configured(app, listening), ready), _bound(listening)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: setattr(server, "should_exit", True))
    async with AsyncExitStack() as open_faces:
        for start in beside:
            await open_faces.enter_async_context(_closing(start))
        await server.serve(sockets=[sockets])


def check_free(listening: Listening) -> None:
    """Refuses an address where something listens already, before anything is written for a start there."""
    _bound(listening).close()


def _bound(listening: Listening) -> socket.socket:
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        found = socket.create_server((listening.host, listening.port), family=family, backlog=BACKLOG)
    except OSError:
        cure = "choose another address or port, or end what listens there."
        raise InvalidParameter(expected("a free address", "address", listening.url, cure)) from None
    # Connections inherit it. Otherwise a short answer waits for the acknowledgment of its head: 40 ms on Linux.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


@asynccontextmanager
async def _closing(start: Beside) -> AsyncIterator[None]:
    face = await start()
    try:
        yield
    finally:
        face.close()
        await face.wait_closed()

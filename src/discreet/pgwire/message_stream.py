"""The messages of one connection over a network: read with limits of time, and written to clients that take them."""

from __future__ import annotations

import asyncio
import socket
import ssl

from discreet.pgwire.framing import BadStream, Framing, Incoming
from discreet.pgwire.session_limits import SessionLimits

CHUNK = 65_536


class IdleTooLong(Exception):
    """A client sent nothing for longer than is allowed."""


class MessageStream:
    """Reads whole messages, and sends what is answered when it is flushed or much has come together."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: SessionLimits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self.framing = Framing(limits.message_bytes)
        self._out = bytearray()
        self.secure = False
        _keep_alive(writer)

    async def read(self, idle: float | None = None) -> Incoming | None:
        """The next message; None once the client has closed.

        Raises:
            BadStream: it is no message, or its rest did not come in time.
            IdleTooLong: none began in time.
        """
        while True:
            if len(self._out) > CHUNK:  # what a client does not take is not kept for it without end
                await self.flush()
            found = self.framing.next()
            if found is not None:
                return found
            begun = self.framing.held > 0
            if not begun and self._out:
                await self.flush()
            wait = self._limits.message_seconds if begun else idle or self._limits.idle_seconds
            try:
                async with asyncio.timeout(wait):
                    data = await self._reader.read(CHUNK)
            except TimeoutError:
                if begun:
                    raise BadStream("Expected the rest of a message, got none in time.") from None
                raise IdleTooLong from None
            if not data:
                return None
            self.framing.feed(data)

    def send(self, *messages: Incoming) -> None:
        """Adds messages to what goes out next."""
        self._out += self.framing.encode(*messages)

    async def flush(self) -> None:
        """Sends what was added, and waits until the client has room for more.

        Raises:
            ConnectionError: the client does not take it in time, or is gone.
        """
        if self._out:
            self._writer.write(bytes(self._out))
            self._out.clear()
        try:
            async with asyncio.timeout(self._limits.message_seconds):
                await self._writer.drain()
        except TimeoutError:
            raise ConnectionAbortedError from None

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Goes on under TLS.

        Raises:
            BadStream: the client sent something before TLS began, which somebody in between could have put there.
        """
        if self.framing.held or self._reader._buffer:  # type: ignore[attr-defined]  # noqa: SLF001 - asyncio has no other way to ask
            raise BadStream("Expected nothing before TLS begins, got more.")
        await self._writer.start_tls(context)
        self.secure = True

    @property
    def is_local(self) -> bool:
        """Whether the client is on this machine."""
        return is_loopback(self.peer)

    @property
    def peer(self) -> str:
        """The address of the client; nothing where it has none."""
        peer = self._writer.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""

    async def close(self) -> None:
        """Ends the connection, with what is left to send."""
        try:
            if self._out:
                self._writer.write(bytes(self._out))
                self._out.clear()
            self._writer.close()
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.0.4", "")]
    [True, True, True, False, False, False]
    """
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Has the system find clients that are gone without a word."""
    held = writer.get_extra_info("socket")
    if held is not None and held.family in (socket.AF_INET, socket.AF_INET6):
        held.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        held.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

"""Connections within limits: of number, and of the time that a client takes to send a request and to read its answer.

Uvicorn waits for ever for the first request of a connection, and for the rest of a request that has begun: a few
thousand sockets that send nothing would keep everybody else out.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 2000
SPARE_FILES = 200
"""Of the files that a process may open: for databases, logs and the listening socket."""
REQUEST_SECONDS = 10.0
"""For the head of a request, and for its body."""
IDLE_SECONDS = 20.0
ANSWER_SECONDS = 120.0
"""For a whole request and its answer; longer than the longest wait."""
TICK = 1.0


def most_connections() -> int:
    """How many connections are kept: fewer than this process may open files, of which it takes as many as it can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(10, MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - SPARE_FILES))


class LimitedConnection(H11Protocol):
    """A connection that ends when its client is slow; the one that has waited longest ends where there are too many."""

    most: ClassVar[int] = MOST_CONNECTIONS
    waiting: ClassVar[dict[LimitedConnection, None]] = {}
    """Those without a request, the oldest first."""

    _since: float
    _seen: Any = None
    _tick: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Takes it in; where there are too many, the one that has been waiting for longest goes."""
        super().connection_made(transport)
        self._since = self.loop.time()
        LimitedConnection.waiting[self] = None
        while len(self.connections) > self.most:
            oldest = next(iter(LimitedConnection.waiting))
            oldest.end()
        self._tick = self.loop.call_later(TICK, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets it."""
        LimitedConnection.waiting.pop(self, None)
        if self._tick is not None:
            self._tick.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Notes when a request begins."""
        super().handle_events()
        if self.cycle is not self._seen:
            self._seen = self.cycle
            self._since = self.loop.time()
            LimitedConnection.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        """Notes when it waits again."""
        super().on_response_complete()
        self._since = self.loop.time()
        if not self.transport.is_closing():
            LimitedConnection.waiting[self] = None

    def end(self) -> None:
        """Closes it at once."""
        LimitedConnection.waiting.pop(self, None)
        self.connections.discard(self)
        self.transport.abort()

    def _look(self) -> None:
        """Closes a connection whose client has taken too long."""
        age = self.loop.time() - self._since
        if age > self._patience():
            self.end()
        elif not self.transport.is_closing():
            self._tick = self.loop.call_later(TICK, self._look)

    def _patience(self) -> float:
        if self.cycle is None:
            return REQUEST_SECONDS
        if self.cycle.response_complete:
            return IDLE_SECONDS + REQUEST_SECONDS
        return REQUEST_SECONDS if self.cycle.more_body else ANSWER_SECONDS

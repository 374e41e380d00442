"""How much and how long: limits of connections, messages and sessions. None of them is about privacy."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.pgwire.framing import MESSAGE_BYTES


@dataclass(frozen=True, kw_only=True)
class SessionLimits:
    """What a server of PostgreSQL's protocol allows."""

    connections: int = 200
    per_principal: int = 20
    signing_in: int = 50
    """Connections at once of nobody known yet; one more ends the oldest of them."""
    sign_in_seconds: float = 10.0
    """From the first byte to the end of the sign-in."""
    idle_seconds: float = 4 * 3600.0
    message_seconds: float = 60.0
    """For the rest of a message that has begun, and for a client to take what it asked for."""
    message_bytes: int = MESSAGE_BYTES
    statements: int = 500
    """Prepared in one session."""
    portals: int = 100
    threads: int = 16
    """That ask the service."""
    threads_of_one: int = 4
    """Of these, for all sessions of one principal together."""

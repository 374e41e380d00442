"""The service over PostgreSQL's protocol: connections, sign-in, and requests to cancel.

Claim
    A session is the one of the principal whose token was sent, under that principal's name; nobody else learns whether
    the name, the token or the two together were wrong. A token crosses a network under TLS alone.
Requires
    The client checks the certificate: `sslmode=verify-full`.
Relies on
    `service.members`: a token finds its principal, or nobody. `noise.entropy.random_key`: secrets to cancel by.
    `thread_shares`: what one principal asks leaves threads for others.
Proof
    `_signed_in` asks the service for the token's principal and compares its name with the user's; both failures end in
    one refusal. It is reached under TLS or from the loopback only, and `serve_pg` listens elsewhere only with TLS. What
    came in before TLS began ends the connection, so nobody in between can put a statement first. Who connects takes the
    place of the oldest connection of nobody known, if there is no other, so that silence keeps nobody out.
Rounding
    None.
Source
    PostgreSQL's documentation, 55.2.1 and 55.2.10; CVE-2021-23222.
Mutant
    any-name-goes-with-a-token: the user is not compared with the token's principal; killed by
    test_who_does_not_get_in.
    silence-keeps-others-out: connections of nobody known are not ended; killed by test_silence_keeps_nobody_out.
    others-cancel: a request to cancel need not know the secret; killed by test_only_who_knows_the_secret_cancels.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import ssl
from collections import Counter, OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from discreet.errors import DiscreetError, InvalidParameter, expected
from discreet.noise.entropy import random_key
from discreet.pgwire import framing
from discreet.pgwire.catalog_answers import CatalogAnswers
from discreet.pgwire.catalog_rewriting import CatalogSession
from discreet.pgwire.framing import BadStream, CancelRequest, GSSRequest, Password, SSLRequest, Startup
from discreet.pgwire.message_stream import IdleTooLong, MessageStream, is_loopback
from discreet.pgwire.portals import Portals
from discreet.pgwire.served_questions import Asked, ServedQuestions
from discreet.pgwire.session import Session
from discreet.pgwire.session_limits import SessionLimits
from discreet.pgwire.session_settings import REPORTED, SessionSettings
from discreet.pgwire.sqlstates import DATABASE, DOWN, IDLE, PASSWORD, PROTOCOL, TOO_MANY, Refused
from discreet.pgwire.startup_options import first_settings
from discreet.pgwire.statement_runner import StatementRunner
from discreet.pgwire.thread_shares import ThreadShare

logger = logging.getLogger("discreet.pgwire")

NO_TLS = "28000"
ROUNDS_OF_NEGOTIATION = 3
NOT_ADMITTED = "Expected a user and a token that belong together, got others."
DOORKEEPERS = 2
"""Threads that look up tokens, beside those that work: whoever asks much keeps nobody from signing in."""
TOKEN_CURE = "give your name as the user, and your token as the password."  # noqa: S105 - what to do, no password


class PgListener:
    """A server that listens; `close` ends its sessions too."""

    def __init__(self, server: asyncio.Server, connections: PgServer) -> None:
        self._server = server
        self._connections = connections

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Ends: no new sessions, and those that there are are told."""
        self._server.close()
        self._connections.close()

    async def wait_closed(self) -> None:
        """Waits until all sessions have ended."""
        await self._connections.wait_closed()
        await self._server.wait_closed()


async def serve_pg(
    service: Asked,
    host: str = "127.0.0.1",
    port: int = 5432,
    tls: ssl.SSLContext | None = None,
    *,
    limits: SessionLimits | None = None,
) -> PgListener:
    """A server that answers the service's questions over PostgreSQL's protocol, from now on.

    Passwords are tokens, sent in clear: so without `tls` only this machine is served.

    Raises:
        InvalidParameter: another address, without TLS; or one that cannot be listened at.
    """
    if tls is None and not is_loopback(host):
        cure = "give tls= with a certificate, or serve 127.0.0.1 alone: tokens are sent as passwords."
        raise InvalidParameter(expected("TLS on other addresses than the loopback", "host", host, cure))
    connections = PgServer(service, tls, limits or SessionLimits())
    try:
        server = await asyncio.start_server(connections.connected, host, port)
    except OSError:
        cure = "choose another port, or end what listens there."
        raise InvalidParameter(expected("a free address for PostgreSQL's clients", "port", port, cure)) from None
    return PgListener(server, connections)


class PgServer:
    """The connections to one service."""

    def __init__(self, service: Asked, tls: ssl.SSLContext | None, limits: SessionLimits) -> None:
        self._service = service
        self._tls = tls
        self._limits = limits
        self._executor = ThreadPoolExecutor(limits.threads, thread_name_prefix="discreet-pg")
        self._doorkeepers = ThreadPoolExecutor(DOORKEEPERS, thread_name_prefix="discreet-pg-sign-in")
        self._shares: dict[str, ThreadShare] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unknown: dict[asyncio.Task[Any], str] = {}
        self._crowded_out: set[asyncio.Task[Any]] = set()
        self._of: Counter[str] = Counter()
        self._sessions: dict[tuple[int, bytes], Session] = {}
        self._catalogs: OrderedDict[Any, CatalogAnswers] = OrderedDict()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection to its end."""
        stream = MessageStream(reader, writer, self._limits)
        own = asyncio.current_task()
        if own is not None:
            self._tasks.add(own)
        try:
            await self._served(stream)
        except BadStream as problem:
            self._last_word(stream, Refused(PROTOCOL, str(problem), severity="FATAL"))
        except IdleTooLong:
            self._last_word(stream, Refused(IDLE, "Expected a statement, got none for too long.", severity="FATAL"))
        except Refused as refused:
            self._last_word(stream, Refused(refused.state, refused.message, refused.hint, severity="FATAL"))
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            logger.debug("a connection was lost")
        except asyncio.CancelledError:
            ended = Refused(DOWN, "Expected a running server, got its end.", severity="FATAL")
            self._last_word(stream, _no_room() if own in self._crowded_out else ended)
        except Exception:
            logger.exception("a connection failed")
        finally:
            await stream.close()
            if own is not None:
                self._tasks.discard(own)
                self._crowded_out.discard(own)

    def close(self) -> None:
        """Ends all connections."""
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        """Waits until they have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for executor in (self._executor, self._doorkeepers):
            executor.shutdown(wait=False, cancel_futures=True)

    def _last_word(self, stream: MessageStream, refused: Refused) -> None:
        """Says why the connection ends, where the client can still be told."""
        try:
            stream.send(framing.error(refused.fields))
        except BadStream:
            logger.debug("a connection ended without a word")

    async def _served(self, stream: MessageStream) -> None:
        own: Any = asyncio.current_task()
        self._make_room()
        self._unknown[own] = stream.peer
        try:
            async with asyncio.timeout(self._limits.sign_in_seconds):
                found = await self._signed_in(stream)
        except TimeoutError:
            raise BadStream("Expected a sign-in, got none in time.") from None
        finally:
            self._unknown.pop(own, None)
        if found is None:
            return
        principal, token, params = found
        if self._of[principal.name] >= self._limits.per_principal:
            cure = "close some of yours, or use a pool."
            raise Refused(TOO_MANY, "Expected fewer connections of one user, got one more than is allowed.", cure)
        self._of[principal.name] += 1
        try:
            questions = ServedQuestions(self._service, principal, token, self._share(principal.name))
            await self._session(stream, principal, questions, params)
        finally:
            self._of[principal.name] -= 1

    def _make_room(self) -> None:
        """Ends the oldest connection of nobody known where there are too many: one of the address that has most.

        Raises:
            Refused: all others are known.
        """
        known = len(self._tasks) - len(self._unknown) - len(self._crowded_out)
        if known > self._limits.connections:
            raise _no_room()
        most = min(self._limits.signing_in, self._limits.connections - known + 1)
        while len(self._unknown) >= most:
            held = Counter(self._unknown.values())
            oldest = max(self._unknown, key=lambda task: held[self._unknown[task]])  # the first of them
            del self._unknown[oldest]
            self._crowded_out.add(oldest)
            oldest.cancel()

    def _share(self, name: str) -> ThreadShare:
        """The threads that all sessions of a principal have."""
        return self._shares.setdefault(name, ThreadShare(self._executor, self._limits.threads_of_one))

    async def _signed_in(self, stream: MessageStream) -> tuple[Any, str, Mapping[str, str]] | None:
        """Who connects, by which token and with which parameters; None for one who only cancels, or goes."""
        startup = await self._started(stream)
        if startup is None:
            return None
        if not (stream.secure or stream.is_local):
            cure = "connect with sslmode=require, or better."
            raise Refused(NO_TLS, "Expected TLS from another machine, got none.", cure)
        if stream.framing.negotiated:
            stream.send(framing.negotiation(stream.framing.version, stream.framing.unknown))
        user = startup.params.get("user", "")
        stream.send(framing.PASSWORD_REQUEST)
        await stream.flush()
        message = await stream.read()
        if message is None:
            return None
        token = message.password if isinstance(message, Password) and isinstance(message.password, str) else ""
        try:
            principal = await asyncio.get_running_loop().run_in_executor(
                self._doorkeepers, self._service.authenticate, token
            )
        except DiscreetError:
            principal = None
        if principal is None or not hmac.compare_digest(principal.name.encode(), user.encode()):
            raise Refused(PASSWORD, NOT_ADMITTED, TOKEN_CURE)
        return principal, token, startup.params

    async def _started(self, stream: MessageStream) -> Startup | None:
        """The message that starts a session, after what comes before it."""
        for _ in range(ROUNDS_OF_NEGOTIATION):
            message = await stream.read()
            if isinstance(message, SSLRequest):
                use = self._tls is not None and not stream.secure
                stream.send(framing.ssl_answer(accepted=use))
                await stream.flush()
                if use and self._tls is not None:
                    await stream.start_tls(self._tls)
            elif isinstance(message, GSSRequest):
                stream.send(framing.GSS_REFUSED)
                await stream.flush()
            elif isinstance(message, CancelRequest):
                self._cancel(message)
                return None
            elif isinstance(message, Startup):
                stream.framing.note_options(message.params)
                return message
            else:
                return None
        raise BadStream("Expected the start of a session, got other requests.")

    def _cancel(self, request: CancelRequest) -> None:
        for (process, secret), session in self._sessions.items():
            if process == request.process_id and hmac.compare_digest(secret, request.secret_key):
                session.cancel()

    async def _session(
        self, stream: MessageStream, principal: Any, questions: ServedQuestions, params: Mapping[str, str]
    ) -> None:
        await questions.open()
        database = params.get("database") or principal.name
        if database not in questions.tables:
            cure = "connect to one of your data sets: its name is the name of the database."
            raise Refused(DATABASE, "Expected a database that exists and that you may use, got another name.", cure)
        settings = SessionSettings(user=principal.name, first=first_settings(params, principal.name))
        process, secret = self._identity(stream)
        session = CatalogSession(user=principal.name, database=database, settings=settings, process=process)
        catalog = self._catalog(principal.name, database, questions)
        runner = StatementRunner(questions, catalog, session, self._share(principal.name))
        own = Session(stream, runner, Portals(self._limits))
        stream.send(framing.SIGNED_IN)
        for name in REPORTED:
            stream.send(framing.parameter_status(name, settings.get(name) or ""))
        stream.send(framing.key_data(process, secret))
        self._sessions[process, secret] = own
        try:
            await own.serve()
        finally:
            del self._sessions[process, secret]

    def _identity(self, stream: MessageStream) -> tuple[int, bytes]:
        """The number and the secret that a request to cancel must name: neither is guessed."""
        key = random_key()
        process = int.from_bytes(key[:4], "big") & 0x7FFF_FFFF
        return process, random_key() if stream.framing.version == framing.V3_2 else key[4:8]

    def _catalog(self, user: str, database: str, questions: ServedQuestions) -> CatalogAnswers:
        """The catalog of a principal: what somebody else asks of another takes none of its memory."""
        tables = tuple(questions.tables.values())
        key = (user, database, tuple((one.name, repr(one)) for one in tables))
        if key not in self._catalogs:
            self._catalogs[key] = CatalogAnswers(database, tables)
        self._catalogs.move_to_end(key)
        while len(self._catalogs) > self._limits.connections:
            self._catalogs.popitem(last=False)
        return self._catalogs[key]


def _no_room() -> Refused:
    said = "Expected fewer connections, got one more than is allowed."
    return Refused(TOO_MANY, said, "try again later.", severity="FATAL")

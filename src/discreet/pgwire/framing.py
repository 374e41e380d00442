"""The messages of PostgreSQL's protocol 3.0 and 3.2, cut out of a stream of bytes; the only file that knows `pygwire`.

`pygwire` decodes and encodes messages and follows the states of a connection. What it leaves open is decided here, so
that another library could take its place: how long a message may be (it allows 1 GiB, before anyone has signed in, and
lengths below the least possible), what becomes of minor versions that do not exist yet, and which exception says that
a stream is not the protocol. tests/pgwire/test_framing.py states this for whatever carries it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from pygwire import BackendConnection, ConnectionPhase, PygwireError, TransactionStatus, messages

from discreet.errors import DiscreetError

V3_0 = 0x0003_0000
V3_2 = 0x0003_0002
MAJOR = 3
STARTUP_BYTES = 10_000
"""Of a message before the start: PostgreSQL's own limit."""
SIGN_IN_BYTES = 2_000
"""Of a password."""
MESSAGE_BYTES = 1 << 20
MOST_PARAMETERS = 1_000

Startup = messages.StartupMessage
SSLRequest = messages.SSLRequest
GSSRequest = messages.GSSEncRequest
CancelRequest = messages.CancelRequest
Password = messages.PasswordMessage
Query = messages.Query
Parse = messages.Parse
Bind = messages.Bind
Describe = messages.Describe
Execute = messages.Execute
Close = messages.Close
Sync = messages.Sync
Flush = messages.Flush
Terminate = messages.Terminate
FunctionCall = messages.FunctionCall
Incoming = messages.PGMessage

_BEFORE_START = (ConnectionPhase.STARTUP, ConnectionPhase.SSL_NEGOTIATION, ConnectionPhase.GSS_NEGOTIATION)
ENDING: Mapping[bytes, type[Query | FunctionCall]] = {b"Q": Query, b"F": FunctionCall}
"""What ends a batch as Sync does, by its letter: pgjdbc sends SAVEPOINT so, and asyncpg BEGIN. `pygwire` knows them
outside of batches alone; their answer ends with the message that would answer Sync, which `pygwire` waits for."""


COPIES = (messages.CopyOutResponse, messages.CopyData, messages.CopyDone)
"""A copy to the client is whole before anything else is read, so it is no state of its own; `pygwire` would take its
end for that of a simple query, which in the extended protocol it is not."""


class BadStream(DiscreetError):
    """What a client sent is not the protocol; the connection ends."""


class Framing:
    """The messages of one connection, without input or output: bytes in, messages out, and the other way round.

    >>> framing = Framing()
    >>> framing.feed(Startup(params={"user": "ann"}).to_wire())
    >>> framing.next().params, framing.next()
    ({'user': 'ann'}, None)
    """

    def __init__(self, most_bytes: int = MESSAGE_BYTES) -> None:
        self._connection = BackendConnection()
        self._held = bytearray()
        self._most = most_bytes
        self.version = V3_0
        self.unknown: list[str] = []
        """The options of the protocol that the client asked for and that nobody here knows."""
        self.asked_minor = 0

    def feed(self, data: bytes) -> None:
        """Takes what came in; at most one message is held back, so that `next` must be asked until it has none."""
        self._held += data

    @property
    def held(self) -> int:
        """How many bytes wait for the rest of their message."""
        return len(self._held)

    def next(self) -> Incoming | None:
        """The next whole message, or None until more bytes come.

        Raises:
            BadStream: it is no message of the protocol, is too long, or has no place now.
        """
        size = self._size()
        if size is None or len(self._held) < size:
            return None
        frame = bytes(self._held[:size])
        del self._held[:size]
        if self._connection.phase in _BEFORE_START:
            frame = self._known_version(frame)
        in_batch = self._connection.phase is ConnectionPhase.EXTENDED_QUERY
        ending = ENDING.get(frame[:1]) if in_batch else None
        try:
            [found] = [ending.decode(memoryview(frame)[5:])] if ending else self._connection.receive(frame)
        except (PygwireError, ValueError, IndexError, struct.error) as problem:
            raise BadStream("Expected a message of PostgreSQL's protocol, got other bytes.") from problem
        if isinstance(found, Bind) and len(found.param_values) > MOST_PARAMETERS:
            raise BadStream(f"Expected at most {MOST_PARAMETERS} parameters, got more.")
        return found

    def _size(self) -> int | None:
        """The length of the message that begins here, once it is known."""
        before = self._connection.phase in _BEFORE_START
        head = 0 if before else 1
        if len(self._held) < head + 4:
            return None
        (length,) = struct.unpack_from("!I", self._held, head)
        signing_in = self._connection.phase in (ConnectionPhase.AUTHENTICATING, ConnectionPhase.INITIALIZATION)
        most = STARTUP_BYTES if before else SIGN_IN_BYTES if signing_in else self._most
        least = 8 if before else 4
        if not least <= length <= most:
            raise BadStream(f"Expected a message of {least} to {most} bytes, got another length.")
        return int(head + length)

    def _known_version(self, frame: bytes) -> bytes:
        """The same message under the newest version that is known here, where it asks for a later minor one."""
        (code,) = struct.unpack_from("!I", frame, 4)
        major, minor = code >> 16, code & 0xFFFF
        if major != MAJOR:
            return frame
        self.asked_minor = minor
        self.version = V3_2 if minor >= 2 else V3_0
        return frame[:4] + struct.pack("!I", self.version) + frame[8:]

    def note_options(self, params: Mapping[str, str]) -> None:
        """Remembers the options of the protocol that are not known here."""
        self.unknown = [name for name in params if name.startswith("_pq_.")]

    @property
    def negotiated(self) -> bool:
        """Whether the client has to be told a lower version, or that options are not known."""
        return self.asked_minor > (self.version & 0xFFFF) or bool(self.unknown)

    def encode(self, *outgoing: messages.PGMessage) -> bytes:
        """The bytes of some messages that have their place now.

        Raises:
            BadStream: one of them has none; the connection is in another state.
        """
        try:
            return b"".join(
                one.to_wire() if isinstance(one, COPIES) else self._connection.send(one) for one in outgoing
            )
        except (PygwireError, UnicodeError, struct.error) as problem:
            raise BadStream("Expected a message that has its place here, got another one.") from problem

    @property
    def phase(self) -> str:
        """The state, in words."""
        return self._connection.phase.name.lower()


def ssl_answer(*, accepted: bool) -> messages.PGMessage:
    """Whether TLS follows."""
    return messages.SSLResponse(accepted=accepted)


def negotiation(version: int, unknown: Sequence[str]) -> messages.PGMessage:
    """The newest version that is known here, and the options that are not."""
    return messages.NegotiateProtocolVersion(newest_minor=version, unrecognized=list(unknown))


def key_data(process: int, secret: bytes) -> messages.PGMessage:
    """What a request to cancel has to name."""
    return messages.BackendKeyData(process_id=process, secret_key=secret)


def parameter_status(name: str, value: str) -> messages.PGMessage:
    """A setting that the client follows."""
    return messages.ParameterStatus(name=name, value=value)


def ready(status: str) -> messages.PGMessage:
    """The next statement may come; `status` is I, T or E: outside, inside, or inside a failed transaction."""
    return messages.ReadyForQuery(status=TransactionStatus(status))


def error(fields: Mapping[str, str]) -> messages.PGMessage:
    """An error, by the one-letter names of its fields."""
    return messages.ErrorResponse(fields=dict(fields))


def notice(fields: Mapping[str, str]) -> messages.PGMessage:
    """A notice, likewise."""
    return messages.NoticeResponse(fields=dict(fields))


def row_description(columns: Sequence[tuple[str, int, int]], formats: Sequence[int]) -> messages.PGMessage:
    """The columns of an answer: name, type and size of the type each, and the format that it will have."""
    fields = [
        messages.FieldDescription(name=name, type_oid=oid, type_size=size, type_modifier=-1, format_code=code)
        for (name, oid, size), code in zip(columns, formats, strict=True)
    ]
    return messages.RowDescription(fields=fields)


def data_row(values: Sequence[bytes | None]) -> messages.PGMessage:
    """One row."""
    return messages.DataRow(columns=list(values))


def complete(tag: str) -> messages.PGMessage:
    """A statement has ended."""
    return messages.CommandComplete(tag=tag)


def parameter_description(oids: Sequence[int]) -> messages.PGMessage:
    """The types of the parameters of a statement."""
    return messages.ParameterDescription(type_oids=list(oids))


def copy_out(columns: int, *, binary: bool) -> messages.PGMessage:
    """The start of a copy to the client."""
    code = int(binary)
    return messages.CopyOutResponse(overall_format=code, col_formats=[code] * columns)


def copy_data(data: bytes) -> messages.PGMessage:
    """A part of a copy."""
    return messages.CopyData(data=data)


GSS_REFUSED = messages.GSSResponse(accepted=False)
PASSWORD_REQUEST = messages.AuthenticationCleartextPassword()
SIGNED_IN = messages.AuthenticationOk()
COPY_END = messages.CopyDone()
PARSED = messages.ParseComplete()
BOUND = messages.BindComplete()
CLOSED = messages.CloseComplete()
NO_DATA = messages.NoData()
SUSPENDED = messages.PortalSuspended()
EMPTY = messages.EmptyQueryResponse()

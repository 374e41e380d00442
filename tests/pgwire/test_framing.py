"""What carries the messages of the protocol keeps its limits, whatever bytes come."""

from __future__ import annotations

import ast
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.pgwire
from depth import examples
from discreet.pgwire import framing
from discreet.pgwire.framing import BadStream, Framing
from pg_sockets import bind, describe, execute, message, parse, query, startup, text

STREAM = b"".join(
    [
        startup(user="ann"),
        message("p", text("a token")),
        query("SELECT 1"),
        parse("SELECT $1", oids=(23,)),
        bind((b"1", None)),
        describe(),
        execute(5),
        message("S"),
        message("X"),
    ]
)


def read(data: bytes, step: int = 1 << 30) -> list[str]:
    """The names of the messages of a stream, to which a server answers as far as its state needs it."""
    held, found = Framing(), []
    for start in range(0, len(data), step):
        held.feed(data[start : start + step])
        while (one := held.next()) is not None:
            found.append(type(one).__name__)
            _answer(held, one)
    return found


def _answer(held: Framing, one: object) -> None:
    if isinstance(one, framing.Startup):
        held.encode(framing.PASSWORD_REQUEST)
    if isinstance(one, framing.Password):
        held.encode(framing.SIGNED_IN, framing.key_data(1, b"abcd"), framing.ready("I"))
    if isinstance(one, framing.Query | framing.Sync | framing.FunctionCall):
        held.encode(framing.ready("I"))
    if isinstance(one, framing.SSLRequest):
        held.encode(framing.ssl_answer(accepted=False))
    if isinstance(one, framing.GSSRequest):
        held.encode(framing.GSS_REFUSED)


def test_messages_come_whole_however_the_stream_is_cut() -> None:
    whole = read(STREAM)
    assert whole == [
        "StartupMessage", "PasswordMessage", "Query", "Parse", "Bind", "Describe", "Execute", "Sync", "Terminate",
    ]  # fmt: skip
    assert read(STREAM, 1) == read(STREAM, 7) == whole


@pytest.mark.long
def test_only_one_file_knows_what_carries_the_messages() -> None:
    """So that another library can take its place."""
    folder = Path(discreet.pgwire.__file__).parent
    users = set()
    for path in folder.parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "pygwire" for name in names):
                users.add(path.name)
    assert users == {"framing.py"}


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("!I", 4),  # shorter than a length and a version
        struct.pack("!I", framing.STARTUP_BYTES + 1),
        struct.pack("!I", 0x16030101),  # a TLS hello without the request before it
        b"GET / HTTP/1.1\r\n\r\n",
        startup(0x00020000, user="ann"),
        startup(0x00040000, user="ann"),
    ],
)
def test_what_does_not_start_a_session_is_refused(data: bytes) -> None:
    with pytest.raises(BadStream):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        b"Q" + struct.pack("!I", 3),
        b"Q" + struct.pack("!I", framing.MESSAGE_BYTES + 1),
        b"Q" + struct.pack("!I", 0xFFFFFFFF),
        message("Q", b"without an end"),
        message("?"),
        message("D"),  # without the letter that says of what
        message("B", text("", "") + struct.pack("!H", 60_000)),
        message("B", text("", "") + struct.pack("!HH", 0, 1) + struct.pack("!i", 1 << 30)),
        message("p", text("again")),
        message("Q", b"\xff\xfe\x00"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(BadStream):
        read(startup(user="ann") + message("p", text("t")) + data)


def test_nothing_is_believed_about_a_length_before_the_sign_in() -> None:
    held = Framing()
    held.feed(startup(user="ann"))
    held.next()
    held.encode(framing.PASSWORD_REQUEST)
    held.feed(b"p" + struct.pack("!I", framing.SIGN_IN_BYTES + 1))
    with pytest.raises(BadStream):
        held.next()


@pytest.mark.parametrize(("asked", "spoken", "told"), [(0, 0, False), (2, 2, False), (1, 0, True), (9999, 2, True)])
def test_minor_versions_are_negotiated(asked: int, spoken: int, told: bool) -> None:  # noqa: FBT001 - a case
    held = Framing()
    held.feed(startup(0x00030000 + asked, user="ann"))
    assert isinstance(held.next(), framing.Startup)
    assert held.version == 0x00030000 + spoken
    assert held.negotiated is told


def test_unknown_options_are_named() -> None:
    held = Framing()
    held.note_options({"user": "ann", "_pq_.later": "1"})
    assert held.negotiated
    assert b"_pq_.later" in framing.negotiation(held.version, held.unknown).to_wire()


def test_a_message_without_its_place_is_not_sent() -> None:
    held = Framing()
    with pytest.raises(BadStream):
        held.encode(framing.ready("I"))


@settings(max_examples=examples(1) * 4)
@given(st.data())
def test_mutated_streams_are_messages_or_one_refusal(data: st.DataObject) -> None:
    stream = bytearray(STREAM)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(stream) - 1))
        how = data.draw(st.sampled_from(["flip", "cut", "repeat", "insert"]))
        if how == "flip":
            stream[place] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del stream[place : place + data.draw(st.integers(1, 9))]
        elif how == "repeat":
            stream[place:place] = stream[place : place + 20]
        else:
            stream[place:place] = data.draw(st.binary(max_size=12))
        if not stream:
            return
    with suppress(BadStream):
        read(bytes(stream), data.draw(st.integers(1, 64)))


@settings(max_examples=examples(1) * 4)
@given(st.binary(max_size=300))
def test_random_streams_are_messages_or_one_refusal(data: bytes) -> None:
    for begin in (b"", startup(user="ann"), startup(user="ann") + message("p", text("t"))):
        try:
            read(begin + data)
        except BadStream:
            continue

"""Whole sessions of random messages, in any order and mutated: each is answered or ended, and nobody else notices.

``FUZZ=40000 FUZZ_SECONDS=3600 pytest tests/pgwire/test_random_sessions.py`` sends a million of them.
"""

from __future__ import annotations

import asyncio
import logging
import random
import struct
import sys
import time
from collections import Counter
from typing import Any

import pytest

from depth import SECONDS, examples
from discreet.pgwire.message_stream import MessageStream
from discreet.pgwire.session import Session
from pg_sockets import (
    FLUSH,
    SYNC,
    TERMINATE,
    RawClient,
    bind,
    describe,
    execute,
    fields,
    letters,
    message,
    parse,
    query,
    running,
    text,
)  # fmt: skip
from stub_service import StubService

MESSAGES = 25 * examples()
IN_A_SESSION = 60
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM people", "SELECT plan, AVG(visits) FROM people GROUP BY plan",
    "SELECT COUNT(*) FROM people WHERE age > $1", "EXPLAIN SELECT COUNT(*) AS n FROM people",
)  # fmt: skip
STATEMENTS = (
    *QUESTIONS, "SELECT 1", "SELECT $1::int", "SELECT $1", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", ";", "",
    "'", "$$",
    "SELECT * FROM people", "SELECT DISTINCT plan FROM people", "SHOW ALL", "SHOW discreet.epsilon", "SET x = 1",
    "SET discreet.epsilon = 0.2", "SET discreet.intervals = on", "SET LOCAL discreet.rho = 0.1", "RESET ALL",
    "DISCARD ALL",
    "DECLARE c CURSOR FOR SELECT COUNT(*) AS n FROM people", "FETCH 2 FROM c", "CLOSE c", "DEALLOCATE a", "LISTEN x",
    "SELECT $1::date", "SELECT '99999-01-01'::timestamp",
    "COPY people TO STDOUT", "DROP TABLE people", "SELECT 1; SELECT 2", "SELECT count(*) FROM pg_class",
)  # fmt: skip
NAMES = ("", "", "a", "b")
VALUES = ((), (b"1",), (None,), (b"30",), (struct.pack("!i", 7),), (b"x", b"y"), (b"\xff",), (b"",), (b"99999-01-01",))


def one_message(chance: random.Random) -> bytes:
    """A message that a client may send, though not always there or with these values."""
    name, portal = chance.choice(NAMES), chance.choice(NAMES)
    kinds = (
        lambda: query(chance.choice(STATEMENTS)),
        lambda: parse(chance.choice(STATEMENTS), name, chance.choice(((), (23,), (25,), (0,), (2**32 - 1,)))),
        lambda: bind(
            chance.choice(VALUES),
            portal=portal,
            name=name,
            given=chance.choice((0, 1, 2)),
            shown=chance.choices((0, 1, 9), weights=(5, 5, 0.05))[0],
        ),
        lambda: describe(chance.choices("SP?", weights=(8, 8, 0.05))[0], name),
        lambda: execute(chance.choice((0, 1, 3, 2**31 - 1)), portal),
        lambda: chance.choice((SYNC, SYNC, FLUSH)),
        lambda: message("C", chance.choice("SP").encode() + text(name)),
        lambda: message(chance.choice("FdcfpX?\0"), chance.randbytes(chance.randrange(12))),
    )
    return chance.choices(kinds, weights=(4, 6, 6, 4, 6, 9, 2, 0.05))[0]()


def exchange(chance: random.Random) -> list[bytes]:
    """What drivers send for a statement: one form of the protocol or the other, mostly right."""
    name, sql = chance.choice(NAMES), chance.choice(STATEMENTS)
    if chance.random() < 0.2:
        return [query(sql)]
    values = chance.choice(VALUES) if "$1" in sql or chance.random() < 0.1 else ()
    shown = chance.choice((0, 1))
    closed = [message("C", b"S" + text(name))] if name else []
    return [*closed, parse(sql, name), bind(values, name=name, shown=shown), describe(), execute(), SYNC]


def messages(chance: random.Random) -> list[bytes]:
    """Those of a session."""
    found: list[bytes] = []
    for _ in range(chance.randrange(1, IN_A_SESSION)):
        found += exchange(chance) if chance.random() < 0.3 else [one_message(chance)]
    return found


def mutated(stream: bytes, chance: random.Random) -> bytes:
    """The same with some bytes others, missing, or there twice."""
    changed = bytearray(stream)
    for _ in range(chance.randrange(1, 5)):
        place = chance.randrange(len(changed))
        match chance.randrange(4):
            case 0:
                changed[place] = chance.randrange(256)
            case 1:
                del changed[place : place + chance.randrange(1, 9)]
            case 2:
                changed[place:place] = changed[place : place + 20]
            case _:
                changed[place:place] = chance.randbytes(chance.randrange(12))
        changed = changed or bytearray(b"Q")
    return bytes(changed)


def session(port: int, chance: random.Random) -> tuple[int, Counter[str]]:
    """How many messages were sent in a session, and how often each letter and each state came back.

    Messages that the protocol has end no session, in whichever order they come.
    """
    sent = messages(chance)
    stream = b"".join(sent)
    if chance.random() < 0.2:
        stream = mutated(stream, chance)
    orderly = stream == b"".join(sent) and all(one[:1] in b"QPBDECSH" for one in sent)
    client = RawClient(port)
    try:
        client.send(stream, SYNC, TERMINATE)
        client.socket.shutdown(1)
    except OSError:  # it has ended already
        assert client.greeting
    found = client.until()
    client.close()
    assert not orderly or found[-1][0] == "Z", sent
    heard = Counter(letters(found))
    heard.update(fields(payload)["C"] for letter, payload in found if letter == "E")
    return len(sent) + 2, heard


def test_any_session_is_answered_or_ended(caplog: pytest.LogCaptureFixture) -> None:
    """Well-formed answers, no failure of the service, no record of an error; and each question is paid for once."""
    service, chance, heard, sent = StubService(delay=0.0), random.Random(21), Counter[str](), 0  # noqa: S311 (messages)
    until = time.monotonic() + SECONDS
    with running(service) as port, caplog.at_level(logging.ERROR):
        while sent < MESSAGES and time.monotonic() < until:
            count, letters_and_states = session(port, chance)
            sent += count
            heard += letters_and_states
        with RawClient(port) as client:
            assert letters(client.ask(query("SELECT 1"))) == "TDCZ"
    sys.stdout.write(f"{sent:,} messages: {dict(heard.most_common())}\n")
    assert heard["Z"] > 0
    assert not {state for state in heard if state in {"58DP1", "XX000"}}
    assert caplog.records == []
    asked = {repr(sorted(ask.items(), key=str)) for ask in service.asked if not ask.get("fresh")}
    assert sum(job.paid for job in service.jobs.values()) <= len(asked)


def test_a_session_answers_whatever_was_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to cancel come at any moment: between a message and its handling, while it is handled, and after it."""
    chance, sessions, armed = random.Random(22), list[Session](), list[bool]()  # noqa: S311 (messages)
    serve, read = Session.serve, MessageStream.read

    async def served(session: Session) -> None:
        sessions.append(session)
        await serve(session)

    async def with_cancel(stream: MessageStream, idle: float | None = None) -> Any:
        found = await read(stream, idle)
        if armed and chance.random() < 0.4:
            loop, wait = asyncio.get_running_loop(), chance.choice((0, 0, 0.001, 0.01))
            loop.call_later(wait, sessions[0].cancel) if wait else loop.call_soon(sessions[0].cancel)
        return found

    monkeypatch.setattr(Session, "serve", served)
    monkeypatch.setattr(MessageStream, "read", with_cancel)
    heard = Counter[str]()
    with running(StubService(delay=0.0)) as port, RawClient(port) as client:
        client.socket.settimeout(20)
        client.ask(*map(query, QUESTIONS[:1]))
        until = time.monotonic() + SECONDS
        for _ in range(4 * examples()):
            armed.append(True)
            heard.update(letters(client.ask(*exchange(chance))))
            armed.clear()
            time.sleep(0.02)
            assert letters(client.ask(query("ROLLBACK"))) in {"CZ", "NCZ"}
            assert letters(client.ask(query("SELECT 1"))) == "TDCZ"
            if time.monotonic() > until:
                break
    assert heard["E"] > 0

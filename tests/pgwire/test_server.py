"""Who gets in, over what, how many, and who can cancel."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import discreet as dp
import pg_sockets
from certificates import own_certificate
from discreet.pgwire.framing import CancelRequest
from discreet.pgwire.server import PgServer, serve_pg
from discreet.pgwire.session_limits import SessionLimits
from pg_sockets import RawClient, fields, letters, message, query, running, startup, state, text
from stub_service import TOKEN, StubService

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
GSS_REQUEST = bytes.fromhex("0000000804d21630")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_certificate(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest.fixture(scope="module")
def secure_port(certificate: Path, service: StubService) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with running(service, context) as found:
        yield found


def greeted(client: RawClient) -> list[tuple[str, bytes]]:
    client.send(startup(user="analyst", database="people"), message("p", text(TOKEN)))
    return client.until("Z", "E")


def test_the_greeting(port: int) -> None:
    with RawClient(port) as client:
        assert letters(client.greeting).strip("S") == "RR" + "S" * 13 + "KZ"
        said = dict(body[:-1].split(b"\0", 1) for letter, body in client.greeting if letter == "S")
        assert said[b"server_encoding"] == b"UTF8"
        assert said[b"TimeZone"] == b"UTC"
        assert said[b"session_authorization"] == b"analyst"


@pytest.mark.parametrize(("version", "size"), [(0x00030000, 4), (0x00030002, 32), (0x0003270F, 32)])
def test_versions_of_the_protocol(port: int, version: int, size: int) -> None:
    with RawClient(port, version=version) as client:
        [secret] = [body[4:] for letter, body in client.greeting if letter == "K"]
        assert len(secret) == size
        assert ("v" in letters(client.greeting)) is (version == 0x0003270F)
        assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


@pytest.mark.parametrize(
    ("token", "user", "database", "expected"),
    [
        ("wrong", "analyst", "people", "28P01"),
        ("", "analyst", "people", "28P01"),
        (TOKEN, "curator", "people", "28P01"),
        (TOKEN, "analyst", "others", "3D000"),
    ],
)
def test_who_does_not_get_in(port: int, token: str, user: str, database: str, expected: str) -> None:
    with RawClient(port, token=None) as client:
        client.send(startup(user=user, database=database), message("p", text(token)))
        found = client.until()
        assert letters(found) == "RE"
        assert state(found) == expected
        assert "token-of" not in str(found)


def test_a_wrong_token_and_a_wrong_user_have_the_same_bytes(port: int) -> None:
    said = []
    for user, token in (("analyst", "wrong"), ("curator", TOKEN), ("nobody", "wrong")):
        with RawClient(port, token=None) as client:
            client.send(startup(user=user, database="people"), message("p", text(token)))
            said.append(client.until())
    assert said[0] == said[1] == said[2]


def test_settings_of_the_start(port: int) -> None:
    with RawClient(
        port, options="-c discreet.epsilon=0.3", application_name="a test", TimeZone="Europe/Berlin"
    ) as client:
        assert b"0.3" in client.ask(query("SHOW discreet.epsilon"))[1][1]
        assert b"UTC" in client.ask(query("SHOW timezone"))[1][1]
    with RawClient(port, discreet__epsilon="much") as client:
        assert state(client.greeting) == "22023"


def test_tls(secure_port: int, certificate: Path) -> None:
    context = ssl.create_default_context(cafile=certificate)
    with RawClient(secure_port, token=None) as client:
        client.send(GSS_REQUEST)
        assert client.socket.recv(1) == b"N"
        client.send(SSL_REQUEST)
        assert client.socket.recv(1) == b"S"
        client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        assert letters(greeted(client))[-2:] == "KZ"
        assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


def test_what_is_sent_before_tls_begins_is_refused(secure_port: int) -> None:
    """Somebody in between could have put it there."""
    with RawClient(secure_port, token=None) as client:
        client.send(SSL_REQUEST + startup(user="analyst", database="people"))
        assert client.socket.recv(1) == b"S"
        found = client.until()
        assert letters(found) in ("E", "")


def test_no_tls_where_there_is_none(port: int) -> None:
    with RawClient(port, token=None) as client:
        client.send(SSL_REQUEST)
        assert client.socket.recv(1) == b"N"
        assert letters(greeted(client))[-2:] == "KZ"


def test_other_addresses_need_tls(service: StubService) -> None:
    with pytest.raises(dp.errors.InvalidParameter, match="TLS"):
        asyncio.run(serve_pg(service, "0.0.0.0", 0))  # noqa: S104 - the refusal is the test


def test_limits_of_connections(service: StubService) -> None:
    limits = SessionLimits(connections=3, per_principal=2)
    with running(service, limits=limits) as port, RawClient(port) as one, RawClient(port) as two:
        with RawClient(port) as third:
            assert state(third.greeting) == "53300"
        with RawClient(port, token=None) as silent, RawClient(port, token=None) as fourth:
            assert state(silent.until()) == "53300"
            fourth.close()
        two.close()
        assert letters(one.ask(query("SELECT 1"))) == "TDCZ"


@pytest.mark.parametrize("first", [b"", startup(user="analyst", database="people"), SSL_REQUEST])
def test_silence_keeps_nobody_out(service: StubService, first: bytes) -> None:
    with running(service, limits=SessionLimits(signing_in=5)) as port, ExitStack() as held:
        silent = [held.enter_context(RawClient(port, token=None)) for _ in range(12)]
        for one in silent:
            with suppress(ConnectionError):
                one.send(first)
        for _ in range(3):
            with RawClient(port) as client:
                assert letters(client.ask(query("SELECT 1"))) == "TDCZ"
        said = b""
        while part := silent[0].socket.recv(4096):
            said += part
        assert b"C53300" in said


def test_all_places_taken_by_those_who_are_known(service: StubService) -> None:
    with running(service, limits=SessionLimits(connections=2)) as port, RawClient(port), RawClient(port) as two:
        with RawClient(port, token=None) as third:
            assert state(third.until()) == "53300"
        assert letters(two.ask(query("SELECT 1"))) == "TDCZ"


def test_who_connects_takes_a_place_of_the_address_that_has_most(service: StubService) -> None:
    """Whoever floods a server with connections ends their own, and no older one of somebody else."""
    server = PgServer(service, None, SessionLimits(signing_in=4))
    ended: list[str] = []
    for name, peer in (("hers", "10.0.0.1"), ("a", "10.0.0.2"), ("b", "10.0.0.2"), ("c", "10.0.0.2")):
        task = type("Task", (), {"cancel": lambda _, name=name: ended.append(name)})()
        server._unknown[task] = peer
        server._tasks.add(task)
    server._tasks.add(object())  # type: ignore[arg-type] # the one that comes
    server._make_room()
    assert ended == ["a"]


@pytest.mark.long
def test_who_says_nothing_is_sent_away(service: StubService) -> None:
    limits = SessionLimits(sign_in_seconds=0.3, idle_seconds=0.3, message_seconds=0.3)
    with running(service, limits=limits) as port:
        with RawClient(port, token=None) as silent:
            assert state(silent.until()) == "08P01"
        with RawClient(port, token=None) as half:
            half.send(startup(user="analyst", database="people")[:9])
            assert state(half.until()) == "08P01"
    limits = SessionLimits(idle_seconds=0.3, message_seconds=0.3)
    with running(service, limits=limits) as port:
        with RawClient(port) as idle:
            assert state(idle.until()) == "57P05"
        with RawClient(port) as half:
            half.send(query("SELECT 1")[:7])
            assert state(half.until()) == "08P01"


def test_who_takes_nothing_is_sent_away(service: StubService) -> None:
    limits = SessionLimits(message_seconds=0.5)
    with running(service, limits=limits) as port:
        with RawClient(port) as slow:
            slow.socket.settimeout(5)
            try:
                for _ in range(2_000):
                    slow.send(query("SELECT * FROM pg_type") * 5)
            except (TimeoutError, ConnectionError):
                pass
        with RawClient(port) as other:
            assert letters(other.ask(query("SELECT 1"))) == "TDCZ"


def test_only_who_knows_the_secret_cancels(service: StubService) -> None:
    server = PgServer(service, None, SessionLimits())
    canceled: list[str] = []
    for name, secret in (("own", b"mine"), ("other", b"hers")):
        session = type(name, (), {"cancel": lambda _, name=name: canceled.append(name)})()
        server._sessions[7, secret] = session
    for process, secret in ((7, b"none"), (7, b""), (8, b"mine")):
        server._cancel(CancelRequest(process_id=process, secret_key=secret))
    assert canceled == []
    server._cancel(CancelRequest(process_id=7, secret_key=b"mine"))
    assert canceled == ["own"]


def test_a_request_to_cancel_does_not_keep_a_server_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come at once: the end was taken for the request, the session went on, and the server waited for it."""
    close, service = PgServer.close, StubService(delay=30.0)

    def closed(server: PgServer) -> None:
        for session in server._sessions.values():
            session.cancel()
        close(server)

    monkeypatch.setattr(PgServer, "close", closed)
    monkeypatch.setattr(pg_sockets, "SECONDS", 20)
    with ExitStack() as stack:
        with running(service) as port:
            client = stack.enter_context(RawClient(port))
            client.send(query("SELECT COUNT(*) FROM people"))
            end = time.monotonic() + 20
            while not service.jobs and time.monotonic() < end:
                threading.Event().wait(0.01)
        assert state(client.until("Z")) == "57P01"


def test_broken_streams_end_their_own_connection_alone(port: int) -> None:
    with RawClient(port) as other:
        for data in (b"\0" * 50, b"GET / HTTP/1.1\r\n\r\n", startup(user="analyst")[:-3], b"\x16\x03\x01\x02\x00"):
            with RawClient(port, token=None) as client:
                client.send(data)
                client.socket.shutdown(1)
                assert all(letter in "ER" for letter in letters(client.until()))
        with RawClient(port) as client:
            client.send(message("Q", b"no end"))
            found = client.until()
            assert fields(found[-1][1])["C"] == "08P01"
        assert letters(other.ask(query("SELECT 1"))) == "TDCZ"

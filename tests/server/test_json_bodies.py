from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from asgi_client import AsgiClient, client_of
from discreet.server.http_application import application
from discreet.server.http_errors import BodyRefused
from discreet.server.json_bodies import MOST_BYTES, MOST_DEPTH, parsed
from discreet.service.service import Service
from service_fixtures import Clock, service_in

BOMBS = {
    "deep lists": b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "unclosed": b"[" * 500_000,
    "big integer": b'{"question": ' + b"9" * 100_000 + b"}",
    "big float": b'{"question": 1e' + b"9" * 5_000 + b"}",
    "an exponent that no decimal has": b'{"a": 1e99999999999999999999}',
    "a small one": b'{"a": 1e-99999999999999999999}',
    "NaN": b'{"price": {"epsilon": NaN}}',
    "Infinity": b'{"price": {"epsilon": -Infinity}}',
    "twice": b'{"price": {"epsilon": "1", "epsilon": "2"}}',
    "twice, escaped": b'{"fresh": true, "fr\\u0065sh": false}',
    "twice, after many names": b"{%s}" % b",".join(b'"%x":1' % name for name in [*range(60_000), 59_999]),
    "no UTF-8": b'{"question": "\xff\xfe"}',
    "UTF-16": '{"question": 1}'.encode("utf-16"),
    "a list": b"[1]",
    "null": b"null",
    "nothing": b"",
    "text": b"hello",
    "two": b"{}{}",
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock())
    yield made
    made.close()


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name: str) -> None:
    before = time.process_time()
    with pytest.raises(BodyRefused, match="Expected a JSON object"):
        parsed(BOMBS[name])
    assert time.process_time() - before < 5  # comparing names in pairs takes a minute


def test_what_is_within_the_limits_is_read() -> None:
    deep = MOST_DEPTH - 1
    assert parsed(b'{"a": ' + b"[" * deep + b"]" * deep + b"}")
    assert parsed(b'{"a": "' + b"[" * 1000 + b'\\"", "b": "\\\\"}') == {"a": "[" * 1000 + '"', "b": "\\"}


def test_bodies_are_refused_over_http_with_their_codes(service: Service) -> None:
    client = client_of(service, "ada")
    kind = {"Content-Type": "application/json"}
    for body in BOMBS.values():
        assert client.post("/api/v1/explain", content=body, headers=kind).status_code == 400
    large = b'{"question": {"sql": "' + b"x" * MOST_BYTES + b'"}}'
    assert client.post("/api/v1/explain", content=large, headers=kind).status_code == 413
    assert client.post("/api/v1/explain", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415


def test_long_bodies_are_held_for_who_is_known(service: Service) -> None:
    """Any token had a megabyte read for it: 2,000 connections of nobody known took 2 GB."""
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(MOST_BYTES // 10_000):
            sent += 10_000
            yield b" " * 10_000

    kind = {"Content-Type": "application/json"}
    unknown = AsgiClient(application(service), headers={"Authorization": "Bearer dst_" + "a" * 43})
    assert unknown.post("/api/v1/explain", content=parts(), headers=kind).status_code == 401
    assert sent < MOST_BYTES // 4
    assert client_of(service, "ada").post("/api/v1/explain", content=parts(), headers=kind).status_code == 400


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer " + "a" * 10_000,
        "Bearer dst_" + "a" * 43,
        "Basic YTpi",
        "bearer dst_\x00",
        "Bearer ' OR 1=1 --",
        "Bearer dst_%00",
    ],
)
def test_hostile_tokens_have_one_answer(service: Service, header: str) -> None:
    client = AsgiClient(application(service))
    response = client.get("/api/v1/me", headers={"Authorization": header})
    assert (response.status_code, response.json()["error"]) == (401, "not_signed_in")
    assert response.content == client.get("/api/v1/me").content

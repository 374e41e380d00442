"""Bodies of a service that are not what was expected: one refusal in words, whichever part of which body is wrong."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from ibis import _

import discreet as dp
from asked_service import Served
from depth import examples
from discreet.client.connect import RemoteService
from discreet.client.service_bodies import ServiceRefused, list_of_objects, mapping, reading
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError, InvalidParameter
from served_series import by_hand, connected, facts, seconds, served, with_series
from service_fixtures import Clock

Sent = list[tuple[str, bytes]]
Flow = Callable[[RemoteService], None]
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    0.5,
    "",
    "x",
    "\x00",
    "1e99999999",
    [],
    {},
    [[]],
    {"x": 1},
    [None, "x"],
)
"""What stands in place of a part; it may also be gone, or twice as deep."""
BROKEN = (
    b"",
    b"null",
    b"[",
    b"[" * 100_000,
    b"\xff\xfe",
    b"1" * 5000,
    b'{"a":NaN}',
    b'"x"',
    b"{}",
    b"[]",
    b"<p>page</p>",
)
"""Bodies that are no JSON, or no object of ours."""
EXAMPLES = examples(300)


def tables(service: RemoteService) -> None:
    """Every body of a data set and of a release, and what is made of them."""
    people = service["people"]
    repr(people.budget)
    repr((people.budget.spent, people.budget.remaining, service.budget("people"), service.describe("people")))
    question = people.group_by("plan").agg(n=_.count(), v=_.visits.mean(), m=_.age.median())
    repr(question.explain(epsilon=0.1))
    batch = dp.batch(a=people.count(), b=people.group_by("plan").agg(n=_.count()))
    unknown = people.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    asked: list[tuple[Any, dict[str, float]]] = [(question, {}), (batch, {}), (unknown, {"delta": 1e-7})]
    for one, more in asked:
        answer = one.release(epsilon=0.1, **more)
        repr((answer, answer.receipt, answer["b"] if one is batch else answer.to_pandas()))


def series(service: RemoteService) -> None:
    """Every body of a series."""
    one = service.series("people").get("daily")
    if one is None:  # none is published, which may be so
        return
    repr((one, one.release().to_pandas(), one.latest.to_pandas(), one.release().receipt))


def wired(service: RemoteService, answered: Callable[[httpx.Request], httpx.Response]) -> RemoteService:
    """A client of what answers in this process, in place of a service."""
    connection = ServiceConnection("http://127.0.0.1:1", "token")
    headers = service._connection._client.headers
    connection._client = httpx.Client(
        base_url="http://127.0.0.1:1/api/v1", headers=headers, transport=httpx.MockTransport(answered)
    )
    return RemoteService(connection, "")


def recorded(service: RemoteService, flow: Flow) -> Sent:
    """What a service answers to a flow, in turn."""
    sent: Sent = []
    inner: Any = service._connection._client._transport

    def answered(request: httpx.Request) -> httpx.Response:
        response: httpx.Response = inner.handle_request(request)
        sent.append((request.url.path, response.read()))
        assert response.is_success, response.text
        return httpx.Response(200, content=sent[-1][1])

    flow(wired(service, answered))
    return sent


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Flow, Sent, RemoteService]]]:
    """Both flows, with what a service sent meanwhile."""
    asked, clock, folder = (
        Served(tmp_path_factory.mktemp("tables")),
        Clock(seconds(1)),
        tmp_path_factory.mktemp("series"),
    )
    with by_hand(folder, clock, with_series("people", folder, facts())) as service:
        clock.now = seconds(4, 2)
        served(service).attempt()
        clock.now = seconds(4, 5)
        with connected(service, "ada") as remote:
            pairs: list[tuple[Flow, RemoteService]] = [(tables, asked.client), (series, remote)]
            yield [(flow, recorded(one, flow), one) for flow, one in pairs]
    asked.service.close()


def outcome(flow: Flow, sent: Sent, service: RemoteService, place: int, body: bytes) -> DiscreetError | None:
    """What a flow ends with where one body is another one; what was sent before stands for all that is asked beyond."""
    turn = iter(range(len(sent)))
    rest = dict(sent)

    def answered(request: httpx.Request) -> httpx.Response:
        number = next(turn, -1)
        if number == place:
            return httpx.Response(200, content=body)
        if number >= 0 and sent[number][0] == request.url.path:
            return httpx.Response(200, content=sent[number][1])
        found = rest.get(request.url.path)
        return (
            httpx.Response(404, json={"error": "not_found", "message": "Expected one.\nHint: x."})
            if found is None
            else (httpx.Response(200, content=found))
        )

    try:
        flow(wired(service, answered))
    except DiscreetError as refusal:
        return refusal
    return None


def changed(draw: random.Random, body: Any, depth: int = 0) -> Any:
    """A body with one part gone, or another one; what is JSON in a text is a part as well."""
    found = copy.copy(body)
    if isinstance(body, str) and body.startswith(("{", "[")) and draw.random() < 0.9:
        return json.dumps(changed(draw, json.loads(body), depth + 1))
    if not isinstance(body, dict | list) or not body or draw.random() < 0.1:
        return draw.choice(WRONG)
    place = draw.choice(list(body)) if isinstance(body, dict) else draw.randrange(len(body))
    if draw.random() < 0.15:
        del found[place]
    else:
        found[place] = changed(draw, body[place], depth + 1)
    return found


@pytest.mark.long
def test_what_was_sent_is_read(flows: list[tuple[Flow, Sent, RemoteService]]) -> None:
    for flow, sent, service in flows:
        assert outcome(flow, sent, service, -1, b"") is None
        assert len({path.rpartition("/")[2] for path, _body in sent}) >= 3


@pytest.mark.parametrize("which", [0, 1], ids=["tables", "series"])
def test_no_body_is_more_than_a_refusal(flows: list[tuple[Flow, Sent, RemoteService]], which: int) -> None:
    """A KeyError of ours says nothing to whoever asked, and may quote what no error should."""
    flow, sent, service = flows[which]
    draw = random.Random(which)  # noqa: S311 (bodies of tests)
    for number in range(EXAMPLES):
        place = number % len(sent)
        body = json.dumps(changed(draw, json.loads(sent[place][1]))).encode()
        refusal = outcome(flow, sent, service, place, body)
        assert refusal is None or "\nHint: " in str(refusal), (sent[place][0], body[:300])


@pytest.mark.long
def test_what_is_no_json_is_a_refusal(flows: list[tuple[Flow, Sent, RemoteService]]) -> None:
    for flow, sent, service in flows:
        seen = {path: place for place, (path, _body) in enumerate(sent)}
        for place in seen.values():
            for body in (*BROKEN, sent[place][1][:-9], sent[place][1][: len(sent[place][1]) // 2]):
                refusal = outcome(flow, sent, service, place, body)
                empty = refusal is None and body == b"[]"
                assert empty or isinstance(refusal, ServiceRefused | InvalidParameter), (sent[place][0], body[:80])


def test_a_body_that_cannot_be_decompressed_is_a_refusal(flows: list[tuple[Flow, Sent, RemoteService]]) -> None:
    def answered(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"no gzip"))

    with pytest.raises(ServiceRefused, match="bodies that can be read"):
        wired(flows[0][2], answered).datasets()


def test_what_was_expected_is_named() -> None:
    with pytest.raises(ServiceRefused, match="sends a job with its id"):
        mapping("a job", {"id": True}, id=int)
    with pytest.raises(ServiceRefused, match="sends a list of jobs"):
        list_of_objects("jobs", {"id": 1})
    with pytest.raises(ServiceRefused, match="sends a moment") as refusal, reading("a moment"):
        raise KeyError("a secret")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__

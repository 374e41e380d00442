"""A series of a service in this process: the same answer as there, fetched once, compared with its declaration."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.client.connect import RemoteService
from discreet.client.service_bodies import ServiceRefused
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery
from discreet.series.series_release import SeriesRelease
from discreet.service.service import Service
from served_series import by_hand, connected, facts, seconds, served, with_series
from service_fixtures import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(seconds(1))


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    filtered = facts(
        series="long", statement="SELECT ward, SUM(nights) AS n FROM people WHERE nights > 2 GROUP BY ward"
    )
    with by_hand(tmp_path, clock, with_series("people", tmp_path, facts(), filtered)) as made:
        yield made


@pytest.fixture
def remote(service: Service) -> Iterator[RemoteService]:
    with connected(service, "ada") as found:
        yield found


def published(service: Service, clock: Clock, *days: int, series: str = "daily") -> None:
    """The steps before some days, and the moment of the last."""
    for day in days:
        clock.now = seconds(day, 2)
        served(service, series=series).attempt()
    clock.now = seconds(days[-1], 5)


@pytest.mark.long
@pytest.mark.parametrize("name", ["daily", "long"])
def test_the_answer_is_that_of_the_service(service: Service, clock: Clock, remote: RemoteService, name: str) -> None:
    one = remote.series("people")[name]
    assert repr(one) == f"<series '{name}' of 'people': 0 of 20 steps>"
    with pytest.raises(ServiceRefused, match="a published step"):
        one.release()
    published(service, clock, 4, 9, series=name)
    answer = one.release()
    assert type(answer) is SeriesRelease
    here = service.series_numbers(service.members.principal("ada"), "people", name).release
    assert answer.to_pyarrow().equals(here.to_pyarrow())
    assert answer.receipt == here.receipt
    assert answer.intervals(simultaneous=True).equals(here.intervals(simultaneous=True))
    assert one.latest.to_pyarrow().equals(here.latest.to_pyarrow())
    assert set(one.latest.to_pyarrow()["step"].to_pylist()) == {answer.to_pyarrow()["step"].to_pylist()[-1]}
    assert one.release(confidence=0.5).to_pyarrow()["n"].equals(answer.to_pyarrow()["n"])
    with pytest.raises(InvalidParameter):
        one.release(confidence=2)


def test_what_was_fetched_is_not_fetched_again(
    service: Service, clock: Clock, remote: RemoteService, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(service, clock, 9)
    one = remote.series("people")["daily"]
    asked: list[Any] = []
    plain = type(remote._connection).get

    def get(self: Any, path: str, **parameters: Any) -> Any:
        asked.append(parameters.get("after"))
        return plain(self, path, **parameters)

    monkeypatch.setattr(type(remote._connection), "get", get)
    first = one.release()
    published(service, clock, 10)
    second = one.release()
    assert asked == [0, 8]
    assert len(second) == len(first) + 6
    assert second.to_pyarrow().slice(0, len(first)).equals(first.to_pyarrow())


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"windows": [1, 7]}, "the windows"),
        ({"max_steps": 3}, "the max_steps"),
        ({"statement": "SELECT ward, COUNT(*) AS m FROM people GROUP BY ward"}, "another columns"),
    ],
)
def test_numbers_of_another_plan_are_refused(
    service: Service, clock: Clock, remote: RemoteService, changed: dict[str, Any], told: str
) -> None:
    published(service, clock, 4)
    one = remote.series("people")["daily"]
    one.facts["declared"] = facts(**changed).declared
    with pytest.raises((DiscreetError, InvalidQuery), match=told):
        one.release()


def test_another_limit_of_the_data_set_is_refused(service: Service, clock: Clock, remote: RemoteService) -> None:
    published(service, clock, 4)
    one = remote.series("people")["daily"]
    source: Any = one._table._source
    source.declaration = replace(source.declaration, max_rows=1)
    with pytest.raises(DiscreetError, match="another"):
        one.release()


WITHOUT_DUCKDB = """
import sys
sys.modules["duckdb"] = sys.modules["_duckdb"] = None
import json
from pathlib import Path
import httpx
from discreet.client.connect import RemoteService
from discreet.client.service_connection import ServiceConnection
sent = json.loads(Path(sys.argv[1]).read_text())
connection = ServiceConnection("http://127.0.0.1:1", "token")
answer = lambda request: httpx.Response(200, content=sent[request.url.raw_path.decode()])
connection._client = httpx.Client(base_url="http://127.0.0.1:1/api/v1", transport=httpx.MockTransport(answer))
one = RemoteService(connection, "").series("people")["daily"]
print(len(one.release()), len(one.latest), one.release().plot("n") is not None, len(one.release().to_pandas()))
"""


@pytest.mark.long
def test_no_duckdb_is_needed(
    service: Service, clock: Clock, remote: RemoteService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(service, clock, 4)
    sent: dict[str, str] = {}
    client = remote._connection._client
    plain = client.request

    def request(method: str, path: str, **more: Any) -> Any:
        response = plain(method, path, **more)
        sent[response.request.url.raw_path.decode()] = response.text
        return response

    monkeypatch.setattr(client, "request", request)  # records what goes by
    one = remote.series("people")["daily"]
    one.release()
    one.release()
    (tmp_path / "sent.json").write_text(json.dumps(sent))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_DUCKDB, str(tmp_path / "sent.json")],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.split() == ["12", "4", "True", "12"], done.stderr

"""Series over HTTP: what is told of them, and their numbers in each format, page by page."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asgi_client import AsgiClient, client_of
from discreet.server.http_models import SeriesLine
from discreet.service.service import Service
from series_fixtures import rows
from served_series import by_hand, seconds, served, with_series
from service_fixtures import Clock, service_in

NOISY = re.compile(r'(?<="n": )[^,}]+|(?<="n_low": )[^,}]+|(?<="n_high": )[^,}]+|-?\d+\.\d{3,}(?:e-?\d+)?')
"""What a mechanism gave."""
CHOSEN = re.compile(r'(?<="time": ")[^"]+|(?<="time":")[^"]+')
"""When it was opened, by the clock of the machine."""
SIZE = {"content-length"}
PLACE = "/api/v1/datasets/people/series"


@pytest.fixture
def clock() -> Clock:
    return Clock(seconds(1))


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    with by_hand(tmp_path, clock, with_series("people", tmp_path)) as made:
        yield made


@pytest.fixture
def ada(service: Service) -> AsgiClient:
    return client_of(service, "ada")


def test_a_series_is_listed_and_its_numbers_come_at_their_moment(
    service: Service, clock: Clock, ada: AsgiClient
) -> None:
    [planned] = ada.get(PLACE).json()
    assert (planned["account"], planned["state"], planned["latest"]) == (None, "open", None)
    clock.now = seconds(4, 2)
    served(service).attempt()
    early = ada.get(f"{PLACE}/daily/numbers")
    assert (early.status_code, early.json()["error"]) == (409, "not_ready")
    clock.now = seconds(4, 5)
    [line] = ada.get(PLACE).json()
    assert SeriesLine(**line).published == 3
    assert line["next"].endswith("+00:00")
    assert line["account"]["charge"] == {"rho": "0.5"}
    found = ada.get(f"{PLACE}/daily/numbers").json()
    assert (found["groups"], found["columns"], found["steps"], found["next"]) == (
        ["ward", "step", "window"],
        ["n"],
        3,
        None,
    )
    assert len(found["rows"]) == 3 * 2 * 2
    assert found["receipt"]["series"]["steps"] == 20


def test_all_formats_have_the_same_pages(service: Service, clock: Clock, ada: AsgiClient) -> None:
    clock.now = seconds(9, 2)
    served(service).attempt()
    clock.now = seconds(10, 2)
    served(service).attempt()
    clock.now = seconds(10, 5)
    whole = ada.get(f"{PLACE}/daily/numbers").json()["rows"]
    for form in ("json", "csv", "arrow", "parquet"):
        pages = list(pages_of(ada, f"{PLACE}/daily/numbers?format={form}&most=4"))
        found = [row for page in pages for row in read(form, page)]
        assert len(pages) == 3
        assert [str(row["n"])[:6] for row in found] == [str(row["n"])[:6] for row in whole], form
        assert [(row["ward"], str(row["step"])) for row in found] == [(row["ward"], row["step"]) for row in whole]
    assert ada.get(f"{PLACE}/daily/numbers?after=9").json()["rows"] == []
    assert ada.get(f"{PLACE}/daily/numbers?after=1048576").json()["rows"] == []  # the last page of one without an end
    for wrong in ("after=-1", "after=x", "most=0", "most=4097", "after=1048577", "format=xml"):
        assert ada.get(f"{PLACE}/daily/numbers?{wrong}").status_code == 422


def pages_of(client: AsgiClient, place: str | None) -> Iterator[bytes]:
    """A page, and those that are named by its header."""
    while place is not None:
        response = client.get(place)
        assert response.status_code == 200
        yield response.content
        link = response.headers.get("link")
        place = None if link is None else link.partition("<")[2].partition(">")[0]


def read(form: str, body: bytes) -> list[Any]:
    if form == "json":
        found: list[Any] = json.loads(body)["rows"]
        return found
    if form == "csv":
        return list(csv.DictReader(io.StringIO(body.decode())))
    table = pa.ipc.open_stream(body).read_all() if form == "arrow" else pq.read_table(io.BytesIO(body))
    assert b"guarantee" in table.schema.metadata[b"discreet"]
    return list(table.to_pylist())


@pytest.mark.long
def test_neighbors_are_shown_alike(tmp_path: Path, clock: Clock) -> None:
    """All bytes but the noisy numbers, at all moments; one person more, with most of the rows, or one less."""
    one = rows(1)
    tables = (rows(40), rows(39), pa.concat_tables([rows(40), *[one] * 30]), one.slice(0, 0))
    seen = []
    for number, data in enumerate(tables):
        (folder := tmp_path / str(number)).mkdir()
        clock.now = seconds(1)
        service = service_in(folder, clock, with_series("people", folder, data=data))
        client, record = client_of(service, "ada"), list[Any]()
        for day, hour in ((2, 1), (2, 2), (2, 4.99), (2, 5), (5, 2), (5, 5), (5, 12), (6, 2), (6, 5)):
            clock.now = seconds(day, hour)
            served(service).attempt()
            for end in ("", "/daily/numbers", "/daily/numbers?format=csv", "/daily/numbers?after=1&most=1"):
                response = client.get(f"{PLACE}{end}")
                text = CHOSEN.sub("", NOISY.sub("noise", response.text))
                record.append((day, hour, end, response.status_code, text, sorted(set(response.headers) - SIZE)))
        seen.append(record)
        service.close()
    assert all(one == seen[0] for one in seen)
    assert any("noise" in one[4] for one in seen[0])


def test_a_series_has_no_verbs(ada: AsgiClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for place in (PLACE, f"{PLACE}/daily/numbers"):
            assert ada.request(method, place, json={}).status_code == 405

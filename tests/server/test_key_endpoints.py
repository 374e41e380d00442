"""The declared keys of a column over HTTP: page by page, in each format, and for whoever may see the declaration."""

from __future__ import annotations

import csv
import datetime
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from asgi_client import AsgiClient, client_of
from asked_service import Served
from discreet.client import connect
from discreet.client.service_bodies import ServiceRefused
from discreet.errors import InvalidParameter
from discreet.planning.batches import ROWS as ROWS_OF_A_GROUP
from discreet.server import key_endpoints
from discreet.server.http_models import KeyPage
from discreet.service.data_sets import Policy
from discreet.testing.example_tables import PLANS
from service_fixtures import Clock, data_set, service_in

NAMES = [None, "", "a/b", 'say "no"', "Ünal, 3", "north"]
DAYS = [datetime.date(2024, 1, day) for day in range(1, 8)]
STATED = {
    "unit": "person",
    "bounds": {},
    "keys": {"in/on": NAMES, "day": DAYS, "old": [True], "level": [-3, 2**40]},
    "max_groups": 1,
    "max_rows": 1,
}
KINDS = {"in/on": "text", "day": "date", "old": "boolean", "level": "integer"}
ROWS = pa.table(
    {
        "person": pa.array([], pa.int64()),
        "in/on": pa.array([], pa.string()),
        "day": pa.array([], pa.date32()),
        "old": pa.array([], pa.bool_()),
        "level": pa.array([], pa.int64()),
        "free": pa.array([], pa.string()),
    }
)

MOMENTS = pa.table(
    {
        "free": ["a", None],
        "at": [None, datetime.datetime.fromisoformat("2024-01-01T12:00:00")],
        "none": pa.nulls(2, pa.string()),
    }
)


def ada(folder: Path, *, previews: bool = True) -> AsgiClient:
    made = data_set("people", folder, rows=ROWS, declared=STATED, policy=Policy(previews=previews))
    made = replace(made, public_keys={"moments": dp.public_keys(MOMENTS, name="moments")})
    return client_of(service_in(folder, Clock(), made), "ada")


def place(column: str, **query: Any) -> str:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/api/v1/datasets/people/columns/{column}/keys?{asked}"


def test_each_format_has_all_keys_in_their_order(tmp_path: Path) -> None:
    client = ada(tmp_path)
    for column, keys in STATED["keys"].items():  # type: ignore[attr-defined] # of a table of several types
        body = client.get(place(column.replace("/", "%2F"))).json()
        assert KeyPage(**body).model_dump() == body
        told = [key.isoformat() if isinstance(key, datetime.date) else key for key in keys]
        assert (body["columns"], body["types"]) == ([column], [KINDS[column]])
        assert (body["keys"], body["size"], body["next"]) == ([[key] for key in told], len(keys), None)
        for form, read in (("arrow", lambda b: pa.ipc.open_stream(b).read_all()), ("parquet", pq.read_table)):
            response = client.get(place(column, format=form))
            assert response.headers["content-disposition"] == f'attachment; filename="keys.{form}"'
            assert read(io.BytesIO(response.content)).to_pydict() == {column: keys}
    lines = list(csv.reader(io.StringIO(client.get(place("in/on", format="csv")).text)))
    assert lines == [["in/on"], [""], [""], *([name] for name in NAMES[2:])]


def test_pages_follow_each_other(tmp_path: Path) -> None:
    client, found, at = ada(tmp_path), [], place("in/on", most=4)
    while at:
        response = client.get(at)
        found.append(response.json())
        at = response.headers.get("link", "").partition("<")[2].partition(">")[0]
    assert [page["next"] for page in found] == [4, None]
    assert found[0]["keys"] + found[1]["keys"] == [[name] for name in NAMES]
    assert client.get(place("day", after=7)).json()["keys"] == []
    assert client.get(place("day", after=7, format="csv")).text == '"day"\n'
    for wrong in ({"after": -1}, {"most": 0}, {"most": 100_001}, {"after": "x"}, {"format": "stored"}):
        assert client.get(place("day", **wrong)).status_code == 422


def test_public_tuples_are_given_as_keys_of_columns_are(tmp_path: Path) -> None:
    client, at = ada(tmp_path), "/api/v1/datasets/people/public_keys/moments"
    first = client.get(f"{at}?most=1")
    body = first.json()
    assert (body["columns"], body["types"]) == (["free", "at", "none"], ["text", "timestamp", "text"])
    assert (body["keys"], body["size"], body["next"]) == ([["a", None, None]], 2, 1)
    assert first.headers["link"] == f'<{at}?format=json&after=1&most=1>; rel="next"'
    assert client.get(f"{at}?after=1").json()["keys"] == [[None, "2024-01-01T12:00:00", None]]
    assert pq.read_table(io.BytesIO(client.get(f"{at}?format=parquet").content)).to_pydict() == MOMENTS.to_pydict()


def test_tuples_of_a_file_are_read_where_they_are_wanted(tmp_path: Path) -> None:
    size = 2 * ROWS_OF_A_GROUP + 3
    whole = pa.table({"n": range(size), "t": [str(-n) for n in range(size)]})
    pq.write_table(whole, tmp_path / "keys.parquet")
    keys = dp.public_keys(tmp_path / "keys.parquet")
    for after, most in (
        (0, 1),
        (ROWS_OF_A_GROUP - 1, 2),
        (ROWS_OF_A_GROUP, 100_000),
        (size - 1, 9),
        (size, 9),
        (2**40, 1),
    ):
        assert keys.page(after, most).to_pydict() == whole.slice(after, most).to_pydict()


def test_a_client_asks_with_the_tuples_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"plan": ["free", "50%", None], "day": DAYS[:3]})
    pq.write_table(table, tmp_path / "keys.parquet")
    curators = dp.public_keys(tmp_path / "keys.parquet", name="some of them")
    plain = Served.data_set
    monkeypatch.setattr(
        Served, "data_set", lambda *given, **more: replace(plain(*given, **more), public_keys={"some": curators})
    )
    service = Served(tmp_path).client
    keys = service.public_keys("people", "some")
    assert (keys.names, keys.size, keys.name) == (("plan", "day"), 3, "some")
    assert keys.page(0, 9).equals(curators.page(0, 9))
    with pytest.raises(InvalidParameter, match="did you mean 'some'"):
        service.public_keys("people", "somme")
    monkeypatch.setattr(connect, "MOST_KEYS", 2)
    with pytest.raises(InvalidParameter, match="fetch them as Parquet"):
        service.public_keys("people", "some")


def test_an_answer_has_the_groups_of_fetched_tuples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curators = dp.public_keys(pa.table({"plan": ["free", "50%", None]}), name="some")
    plain = Served.data_set
    monkeypatch.setattr(
        Served, "data_set", lambda *given, **more: replace(plain(*given, **more), public_keys={"some": curators})
    )
    service = Served(tmp_path).client
    keys = service.public_keys("people", "some")
    answer = service["people"].group_by("plan", keys=keys).agg(n=_.count()).release(epsilon=1)
    assert answer.to_pyarrow()["plan"].to_pylist() == ["free", "50%", None]


def test_what_has_no_keys_to_be_shown_does_not_exist(tmp_path: Path) -> None:
    client = ada(tmp_path)
    bodies = {client.get(place(column)).content for column in ("free", "person", "absent", "%00", "a/b")}
    assert len(bodies) == 1
    assert b'"not_found"' in bodies.pop()
    hidden = ada(tmp_path, previews=False)
    assert hidden.get(place("day")).status_code == 404
    assert hidden.get("/api/v1/datasets/people/public_keys/moments").status_code == 404
    assert [one["keys"] for one in hidden.get("/api/v1/datasets/people").json()["columns"]] == [None] * 6


def test_a_client_has_long_lists_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Served(tmp_path)
    wanted = whole.client["people"].declaration
    monkeypatch.setattr(key_endpoints, "LISTED", 2)
    again = Served(tmp_path)
    [plan] = [one for one in again.client.describe("people")["columns"] if one["name"] == "plan"]
    assert (plan["keys"], plan["key_count"]) == (None, len(wanted.keys["plan"]))
    real = again.client._connection.get
    sent: list[int] = []

    def paged(path: str, **query: Any) -> Any:
        if path.endswith("/keys"):
            sent.append(query["after"])
            query["most"] = 2
        return real(path, **query)

    monkeypatch.setattr(again.client._connection, "get", paged)
    people = again.client["people"]
    assert people.declaration == wanted
    assert sent == [0, 2]
    assert people.group_by("plan").agg(n=_.count()).release(epsilon=1).to_pyarrow().num_rows == len(wanted.keys["plan"])


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [
        {"keys": []},
        {"keys": ["free"]},
        {"next": 1},
        {"size": 4},
        {"size": None},
        {"keys": [["free"], ["free"], ["25%"]]},
        {"columns": ["age"]},
        {"types": ["texts"]},
        {"types": []},
        {"keys": [["free", "free"], ["a", "b"], ["c", "d"]]},
        {"keys": ["a", "b", "c"]},
        {"keys": [[["a"]], ["b"], ["c"]]},
        {"keys": [{}, [], 0.5]},
        {"keys": "free"},
        None,
    ],
)
def test_other_keys_than_were_told_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: Any) -> None:
    monkeypatch.setattr(key_endpoints, "LISTED", 2)
    keys = {"places": dp.public_keys(pa.table({"plan": list(PLANS)}), name="places")}
    plain = Served.data_set
    monkeypatch.setattr(Served, "data_set", lambda *given, **more: replace(plain(*given, **more), public_keys=keys))
    served = Served(tmp_path)
    real = served.client._connection.get

    def other(path: str, **query: Any) -> Any:
        body = real(path, **query)
        return body if not path.endswith(("/keys", "/places")) else None if changed is None else {**body, **changed}

    monkeypatch.setattr(served.client._connection, "get", other)
    with pytest.raises(ServiceRefused, match="Expected a service of discreet that sends"):
        served.client["people"]
    with pytest.raises(ServiceRefused, match="Expected a service of discreet that sends"):
        served.client.public_keys("people", "places")

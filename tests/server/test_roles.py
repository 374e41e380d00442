"""Every endpoint x role x own or foreign object: what is not yours and what does not exist are the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from asgi_client import AsgiClient, client_of
from discreet.server.http_application import application
from discreet.service.data_sets import DataSet
from discreet.service.roles import ALLOWED, Action, Role
from discreet.service.service import Service
from served_series import add_strangers, facts, seconds, served, with_series
from service_fixtures import Clock, ask, finished, service_in

PEOPLE, ABSENT, FOREIGN = "people", "absent", "secret"

ENDPOINTS: dict[tuple[str, str], Any] = {
    ("GET", "/api/v1/datasets/{name}"): Action.DESCRIBE,
    ("GET", "/api/v1/datasets/{name}/budget"): Action.BUDGET,
    ("GET", "/api/v1/datasets/{name}/columns/{column}/keys"): Action.DESCRIBE,
    ("GET", "/api/v1/datasets/{name}/public_keys/{keys}"): Action.DESCRIBE,
    ("GET", "/api/v1/datasets/{name}/series"): Action.SERIES,
    ("GET", "/api/v1/datasets/{name}/series/{series}/numbers"): Action.SERIES,
    ("GET", "/api/v1/datasets/{name}/questions"): (Action.OWN_QUESTIONS, Action.ALL_QUESTIONS),
    ("GET", "/api/v1/datasets/{name}/requests"): Action.DESCRIBE,
    ("POST", "/api/v1/datasets/{name}/requests"): Action.REQUEST,
    ("GET", "/api/v1/datasets/{name}/ledger"): Action.AUDIT,
    ("GET", "/api/v1/datasets/{name}/ledger/head"): Action.AUDIT,
    ("POST", "/api/v1/datasets/{name}/ledger/verify"): Action.AUDIT,
    ("GET", "/api/v1/datasets/{name}/changes"): Action.CHANGES,
    ("GET", "/api/v1/datasets/{name}/refusals"): Action.REFUSALS,
    ("GET", "/api/v1/datasets/{name}/analysts"): Action.ADMIT,
    ("GET", "/api/v1/datasets/{name}/groups"): Action.ADMIT,
    ("PUT", "/api/v1/datasets/{name}/analysts/{who}"): Action.ADMIT,
    ("PUT", "/api/v1/datasets/{name}/groups/{group}"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/raise"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/analysts/{who}/raise"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/groups/{group}/raise"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/analysts/{who}/{change}"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/groups/{group}/{change}"): Action.ADMIT,
    ("POST", "/api/v1/datasets/{name}/{change}"): Action.ADMIT,
}
"""Of one data set each, with the action, or one of several, that opens it."""
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/api/v1/datasets/{name}/ledger/verify"): {"head": None},
    ("POST", "/api/v1/datasets/{name}/requests"): {"amount": {"epsilon": "0.1"}, "reason": "more"},
    ("PUT", "/api/v1/datasets/{name}/analysts/{who}"): {"allowance": {"epsilon": "0.1"}},
    ("PUT", "/api/v1/datasets/{name}/groups/{group}"): {"allowance": {"epsilon": "0.1"}},
    ("POST", "/api/v1/datasets/{name}/raise"): {"amount": {"epsilon": "2"}, "reason": "approved"},
    ("POST", "/api/v1/datasets/{name}/analysts/{who}/raise"): {"amount": {"epsilon": "2"}, "reason": "approved"},
    ("POST", "/api/v1/datasets/{name}/groups/{group}/raise"): {"amount": {"epsilon": "2"}, "reason": "approved"},
    ("POST", "/api/v1/datasets/{name}/analysts/{who}/{change}"): {"reason": "a report"},
    ("POST", "/api/v1/datasets/{name}/groups/{group}/{change}"): {"reason": "a report"},
    ("POST", "/api/v1/datasets/{name}/{change}"): {"reason": "a report"},
}
IN_PATHS = {
    "who": "bob",
    "group": "staff",
    "change": "freeze",
    "identity": "0" * 32,
    "series": "daily",
    "column": "ward",
    "keys": "wards",
}
OTHERS = {
    ("GET", "/api/v1/me"),
    ("GET", "/api/v1/datasets"),
    ("POST", "/api/v1/explain"),
    ("POST", "/api/v1/releases"),
    ("GET", "/api/v1/releases/{identity}"),
    ("GET", "/api/v1/releases/{identity}/answer"),
    ("GET", "/api/v1/tokens"),
    ("POST", "/api/v1/tokens"),
    ("DELETE", "/api/v1/tokens/{identity}"),
    ("POST", "/api/v1/requests/{identity}/decision"),
    ("GET", "/health"),
    ("GET", "/metrics"),
}
"""What has tests of its own below."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    clock.now = seconds(2, 1)
    made = service_in(tmp_path, clock, published(PEOPLE, tmp_path), published(FOREIGN, tmp_path))
    clock.now = seconds(2, 2)
    for name in (PEOPLE, FOREIGN):
        served(made, name).attempt()
    clock.now = seconds(2, 5)
    add_strangers(made, FOREIGN)
    yield made
    made.close()


def published(name: str, folder: Path) -> DataSet:
    """A data set with a series, and most of its budget left."""
    budget = dp.Budget(epsilon=1, ledger=folder / f"{name}.db")
    made = with_series(name, folder, facts(name, epsilon="0.1"), budget=budget)
    return replace(made, public_keys={"wards": dp.public_keys(pa.table({"ward": ["A", "B"]}), name="wards")})


def test_every_endpoint_is_enumerated(service: Service) -> None:
    described = application(service).openapi()["paths"]
    found = {(method.upper(), path) for path, methods in described.items() for method in methods}
    assert found == set(ENDPOINTS) | OTHERS


def test_the_description_tells_which_roles_an_endpoint_is_open_to(service: Service) -> None:
    described = application(service).openapi()["paths"]
    told = {
        (method.upper(), path): one["x-roles"]
        for path, methods in described.items()
        for method, one in methods.items()
        if "security" in one
    }
    for where, actions in ENDPOINTS.items():
        wanted = set(actions) if isinstance(actions, tuple) else {actions}
        assert told.pop(where) == [role.value for role in Role if ALLOWED[role] & wanted], where
    assert {path: roles for (_, path), roles in told.items()} == {
        "/api/v1/me": [],
        "/api/v1/datasets": [],
        "/api/v1/explain": ["curator", "analyst"],
        "/api/v1/releases": ["analyst"],
        "/api/v1/releases/{identity}": ["analyst"],
        "/api/v1/releases/{identity}/answer": ["analyst"],
        "/api/v1/requests/{identity}/decision": ["curator"],
        "/api/v1/tokens": ["operator"],
        "/api/v1/tokens/{identity}": ["operator"],
        "/metrics": ["operator"],
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["ada", "cleo", "dora", "olga", "nobody", "eve"])
def test_each_role_opens_what_the_table_says_and_the_rest_does_not_exist(service: Service, name: str) -> None:
    principal, client = service.members.principal(name), client_of(service, name)
    for (method, path), actions in ENDPOINTS.items():
        wanted = actions if isinstance(actions, tuple) else (actions,)
        body = BODIES.get((method, path))
        absent = client.request(method, path.format(name=ABSENT, **IN_PATHS), json=body)
        assert absent.status_code == 404
        for dataset in (PEOPLE, FOREIGN):
            response = client.request(method, path.format(name=dataset, **IN_PATHS), json=body)
            if any(principal.may(action, dataset) for action in wanted):
                assert response.status_code in (200, 201), (method, path, response.text)
            else:
                assert (response.status_code, response.content) == (404, absent.content), (method, path)
                assert response.headers == absent.headers


def test_a_head_that_is_none_is_refused(service: Service) -> None:
    dora = client_of(service, "dora")
    heads: tuple[Any, ...] = ("x", [], {"position": 0.5}, {"position": {}}, {}, {"position": 1})
    for head in heads:
        response = dora.post(f"/api/v1/datasets/{PEOPLE}/ledger/verify", json={"head": head})
        assert response.status_code in (409, 422), response.text
    assert dora.post(f"/api/v1/datasets/{PEOPLE}/budget", json={}).status_code == 405


def test_jobs_of_others_do_not_exist(service: Service, clock: Clock) -> None:
    ada = client_of(service, "ada")
    job = ada.post("/api/v1/releases", json=ask()).json()["id"]
    finished(service, service.members.principal("ada"), job, clock)
    assert ada.get(f"/api/v1/releases/{job}/answer").status_code == 200
    for name in ("bob", "cleo", "dora", "olga", "nobody", "eve"):
        client = client_of(service, name)
        for end in ("", "/answer", "/answer?format=stored", "?wait=1"):
            other = client.get(f"/api/v1/releases/{job}{end}")
            absent = client.get(f"/api/v1/releases/{'0' * 32}{end}")
            assert (other.status_code, other.content) == (absent.status_code, absent.content) == (404, absent.content)


def test_a_series_that_is_not_there_is_like_one_that_is_not_yours(service: Service) -> None:
    ada = client_of(service, "ada")
    texts = set()
    for dataset, series in (
        (PEOPLE, "weekly"),
        (FOREIGN, "daily"),
        (FOREIGN, "weekly"),
        (ABSENT, "daily"),
        (PEOPLE, "%00"),
    ):
        for end in ("", "?format=csv", "?format=stored"):
            response = ada.get(f"/api/v1/datasets/{dataset}/series/{series}/numbers{end}")
            texts.add((response.status_code, response.content))
    assert [code for code, _ in texts] == [404]
    assert client_of(service, "eve").get(f"/api/v1/datasets/{FOREIGN}/series/daily/numbers").status_code == 200


def test_requests_of_others_do_not_exist(service: Service) -> None:
    ada = client_of(service, "ada")
    client_of(service, "cleo").request(
        "PUT", f"/api/v1/datasets/{PEOPLE}/analysts/ada", json={"allowance": {"epsilon": "0.1"}}
    )
    more = {"amount": {"epsilon": "0.1"}, "reason": "more"}
    request = ada.post(f"/api/v1/datasets/{PEOPLE}/requests", json=more).json()["id"]
    assert client_of(service, "bob").get(f"/api/v1/datasets/{PEOPLE}/requests").json() == []
    for name in ("ada", "bob", "dora", "olga", "nobody", "eve"):
        client = client_of(service, name)
        theirs = client.post(f"/api/v1/requests/{request}/decision", json={"approve": True})
        absent = client.post(f"/api/v1/requests/{'0' * 32}/decision", json={"approve": True})
        assert (theirs.status_code, theirs.content) == (404, absent.content)
    decided = client_of(service, "cleo").post(f"/api/v1/requests/{request}/decision", json={"approve": True})
    assert (decided.status_code, decided.json()["state"]) == (200, "approved")


def test_asking_is_for_analysts_and_pricing_for_curators_too(service: Service) -> None:
    for name, explained, released in (
        ("ada", 200, 202),
        ("cleo", 200, 404),
        ("dora", 404, 404),
        ("olga", 404, 404),
        ("nobody", 404, 404),
        ("eve", 422, 422),
    ):
        client = client_of(service, name)
        assert client.post("/api/v1/explain", json=ask()).status_code == explained
        assert client.post("/api/v1/releases", json=ask()).status_code == released


def test_tokens_are_the_operators(service: Service) -> None:
    olga = client_of(service, "olga")
    made = olga.post("/api/v1/tokens", json={"principal": "bob"})
    assert made.status_code == 201
    bob = AsgiClient(application(service), headers={"Authorization": f"Bearer {made.json()['token']}"})
    assert bob.get("/api/v1/me").json()["name"] == "bob"
    assert made.json()["token"] not in olga.get("/api/v1/tokens").text
    for name in ("ada", "cleo", "dora", "nobody"):
        client = client_of(service, name)
        assert client.get("/api/v1/tokens").status_code == 404
        assert client.post("/api/v1/tokens", json={"principal": "bob"}).status_code == 404
        assert client.request("DELETE", f"/api/v1/tokens/{made.json()['id']}").status_code == 404
    assert olga.request("DELETE", f"/api/v1/tokens/{made.json()['id']}").status_code == 204
    assert bob.get("/api/v1/me").status_code == 401


def test_without_a_token_nothing_is_told(service: Service) -> None:
    nobody = AsgiClient(application(service))
    texts = set()
    for method, path in (*ENDPOINTS, *OTHERS):
        if path != "/health":
            response = nobody.request(method, path.format(name=PEOPLE, **IN_PATHS), json={})
            assert response.status_code == 401, (method, path)
            texts.add(response.content)
    assert len(texts) == 1

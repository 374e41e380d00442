from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asgi_client import AsgiClient
from discreet.server.http_application import application
from discreet.service.service import Service
from service_fixtures import Clock, ask, service_in, wait_until_ended


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock)
    yield made
    made.close()


def client_of(service: Service, name: str) -> AsgiClient:
    token, _ = service.members.issue(name)
    return AsgiClient(application(service), headers={"Authorization": f"Bearer {token}"})


def test_the_whole_way_of_a_release(service: Service, clock: Clock) -> None:
    ada = client_of(service, "ada")
    assert ada.get("/api/v1/me").json()["roles"] == {"people": ["analyst"]}
    assert ada.post("/api/v1/explain", json=ask()).json()["charge"] == {"epsilon": "0.1", "delta": "0"}
    accepted = ada.post("/api/v1/releases", json=ask(), headers={"Idempotency-Key": "k"})
    assert accepted.status_code == 202
    job = accepted.json()
    assert ada.post("/api/v1/releases", json=ask(), headers={"Idempotency-Key": "k"}).json() == job
    assert ada.get(f"/api/v1/releases/{job['id']}/answer").status_code == 409
    wait_until_ended(service, job["id"])
    assert ada.get(f"/api/v1/releases/{job['id']}").json() == job
    clock.now += 1
    assert ada.get(f"/api/v1/releases/{job['id']}?wait=5").json() == {**job, "state": "ready", "paid": True}
    answer = ada.get(f"/api/v1/releases/{job['id']}/answer").json()
    assert [list(row) for row in answer["rows"]] == [["n", "n_low", "n_high"]]
    assert answer["receipt"]["charge"] == {"epsilon": "0.1", "delta": "0"}
    for name in ("arrow", "csv", "parquet", "stored"):
        assert ada.get(f"/api/v1/releases/{job['id']}/answer?format={name}").status_code == 200


def test_refusals_have_codes_and_one_shape(service: Service) -> None:
    ada = client_of(service, "ada")
    found = {
        ada.get("/api/v1/me", headers={"Authorization": "Bearer x"}).status_code: 401,
        ada.get("/api/v1/datasets/absent").status_code: 404,
        ada.get("/nowhere").status_code: 404,
        ada.post("/api/v1/explain", json={"question": {"sql": "SELECT 1"}}).status_code: 422,
        ada.post("/api/v1/releases", json=ask(epsilon="2")).status_code: 402,
        ada.post("/api/v1/explain", content=b"{", headers={"Content-Type": "application/json"}).status_code: 400,
        ada.request("DELETE", "/api/v1/me").status_code: 405,
    }
    assert all(got == wanted for got, wanted in found.items())
    assert set(ada.get("/nowhere").json()) == {"error", "message", "hint"}

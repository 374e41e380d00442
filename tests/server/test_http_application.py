from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from asgi_client import client_of
from discreet.service.answer_timing import Pace
from discreet.service.service import Service
from discreet.testing.example_tables import PLANS, visits
from service_fixtures import Clock, ask, data_set, service_in, wait_until_ended


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock)
    yield made
    made.close()


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


def test_a_token_that_ends_while_a_release_is_awaited_is_told_nothing_more(
    service: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = client_of(service, "ada")
    job = ada.post("/api/v1/releases", json=ask()).json()
    read = service.job

    def read_and_revoked(principal: Any, identity: str) -> Any:
        found = read(principal, identity)
        for token in service.members.tokens():
            service.members.revoke(token.id)
        clock.now += 1
        return found

    monkeypatch.setattr(service, "job", read_and_revoked)
    assert ada.get(f"/api/v1/releases/{job['id']}?wait=5").status_code == 401


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


def without_keys(folder: Path, clock: Clock) -> Service:
    """A service whose table has no declared keys, and a delta to find them by."""
    budget = dp.Budget(epsilon=1000, delta=0.001, ledger=folder / "spent.db")
    table = dp.protect(visits(), unit="person", bounds={"visits": (0, 50)}, budget=budget, name="people")
    pace = Pace(least=1, per_thousand_cells=0)
    return service_in(folder, clock, replace(data_set("people", folder), table=table, budget=budget, pace=pace))


def by_plan(keys: Any, groups: str = "plan") -> dict[str, Any]:
    sql = f"SELECT {groups}, COUNT(DISTINCT person) AS n FROM people GROUP BY {groups}"  # noqa: S608 - only own names
    return {
        "question": {"sql": sql, "keys": keys, "max_groups": 2, "max_rows": 5},
        "price": {"epsilon": "20", "delta": "0.00001"},
    }


@pytest.mark.long
@pytest.mark.parametrize("keys", ["unknown", "unknown-by-count", {"plan": "unknown"}, {"plan": "unknown-by-count"}])
def test_keys_that_a_first_look_finds_are_asked_for_in_sql(tmp_path: Path, clock: Clock, keys: Any) -> None:
    service = without_keys(tmp_path, clock)
    ada = client_of(service, "ada")
    explained = ada.post("/api/v1/explain", json=by_plan(keys))
    assert explained.status_code == 200, explained.text
    assert explained.json()["charge"] == {"epsilon": "20", "delta": "0.00001"}
    accepted = ada.post("/api/v1/releases", json=by_plan(keys))
    assert accepted.status_code == 202, accepted.text
    wait_until_ended(service, accepted.json()["id"])
    clock.now += 1
    answer = ada.get(f"/api/v1/releases/{accepted.json()['id']}/answer").json()
    assert {"free"} <= {row["plan"] for row in answer["rows"]} <= set(PLANS)
    service.close()


def test_keys_of_some_groups_alone_are_not_found(tmp_path: Path, clock: Clock) -> None:
    service = without_keys(tmp_path, clock)
    ada = client_of(service, "ada")
    for keys in ({"plan": "unknown"}, {"plan": "unknown", "age": [1, 2]}, {"plan": "unknown", "x": "unknown"}):
        refused = ada.post("/api/v1/releases", json=by_plan(keys, "plan, age"))
        assert refused.status_code == 422
        assert 'write "keys": "unknown" for all columns together' in refused.json()["hint"]
    service.close()


def test_a_request_has_one_length(service: Service) -> None:
    ada = client_of(service, "ada")
    both = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
    response = ada.post("/api/v1/explain", content=b"{}", headers=both)
    assert response.status_code == 400
    assert response.headers["connection"] == "close"
    assert response.json()["hint"] == "send one."
    assert "content-security-policy" in response.headers

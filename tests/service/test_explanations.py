"""What is explained again comes from memory, and only while it is what would be explained now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from asgi_client import AsgiClient
from discreet.ledger.ledger import Ledger
from discreet.server.http_application import application
from discreet.service.data_sets import Policy
from discreet.service.roles import Role
from discreet.service.service import Service
from discreet.service.service_errors import Conflict
from service_fixtures import COUNT, Clock, ask, data_set, service_in

SENT = json.dumps(ask()).encode()
DEFAULT = json.dumps({"question": {"sql": COUNT}}).encode()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock())
    yield made
    made.close()


def explained(service: Service, token: str, sent: bytes = SENT) -> tuple[int, bytes]:
    """What HTTP says of an ask; the second time from memory, where it is kept."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = AsgiClient(application(service), headers).post("/api/v1/explain", content=sent)
    return answer.status_code, answer.content


def without_work(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, nothing can be explained anew."""

    def fail(*_: Any) -> Any:
        raise AssertionError("explained anew")

    monkeypatch.setattr(service, "explain", fail)


def test_the_same_again_is_told_from_memory(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    token, _ = service.members.issue("ada")
    first = explained(service, token)
    assert json.loads(first[1]) == json.loads(json.dumps(service.explain(service.members.principal("ada"), ask())))
    without_work(service, monkeypatch)
    assert explained(service, token) == first
    assert service.budget(service.members.principal("ada"), "people")[0]["spent"]["epsilon"] == "0"


def test_what_is_told_again_is_told_to_who_asked(service: Service) -> None:
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    assert service.explained(ada, SENT) is None
    told = service.explain_sent(ada, SENT, ask())
    assert service.explained(ada, SENT) == told
    assert service.explained(bob, SENT) is None
    assert service.explained(ada, SENT + b" ") is None


def test_what_is_told_again_ends_with_the_role(service: Service) -> None:
    token, _ = service.members.issue("ada")
    assert explained(service, token)[0] == 200
    sql = "DELETE FROM member WHERE principal = 'ada'"
    service._store.write(lambda execute: execute(sql))
    assert explained(service, token)[0] == 404
    service.members.give("ada", "people", Role.AUDITOR)
    assert explained(service, token)[0] == 404
    service.members.give("ada", "people", Role.CURATOR)
    assert explained(service, token)[0] == 200


def test_what_is_told_again_ends_with_the_token(service: Service) -> None:
    token, record = service.members.issue("ada")
    assert explained(service, token)[0] == 200
    service.members.revoke(record.id)
    assert explained(service, token)[0] == 401


def test_another_declaration_or_policy_is_explained_anew(service: Service, tmp_path: Path) -> None:
    token, _ = service.members.issue("ada")
    before = json.loads(explained(service, token)[1])
    assert json.loads(explained(service, token, DEFAULT)[1])["charge"]["epsilon"] == "0.1"
    (tmp_path / "anew").mkdir()
    policy = Policy(default_epsilon=Fraction(1, 2))
    other = data_set("people", tmp_path / "anew", policy=policy, declared={"max_rows": 7})
    service._datasets["people"] = other
    after = json.loads(explained(service, token)[1])
    assert (before["limits"], after["limits"]) == ({"max_rows": 5}, {"max_rows": 7})
    assert before["plan"] != after["plan"]
    assert json.loads(explained(service, token, DEFAULT)[1])["charge"]["epsilon"] == "0.5"
    del service._datasets["people"]
    assert explained(service, token)[0] == 404


def test_what_is_closed_is_explained_and_charges_nothing(service: Service) -> None:
    cleo, ada = (service.members.principal(name) for name in ("cleo", "ada"))
    told = service.explain_sent(ada, SENT, ask())
    service.set_standing(cleo, "people", ("data set", "people"), "close", "the study has ended")
    assert (
        service.explained(ada, SENT)
        == told
        == json.dumps(service.explain(ada, ask()), ensure_ascii=False, separators=(",", ":")).encode()
    )


def test_to_explain_nobody_looks_at_the_ledger(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> Any:
        raise AssertionError("the ledger was asked")

    monkeypatch.setattr(Ledger, "balances", fail)
    assert service.explain(service.members.principal("ada"), ask(epsilon="0.07"))["charge"]["epsilon"] == "0.07"


def test_a_plan_that_is_another_by_now_is_refused_before_a_charge(service: Service, tmp_path: Path) -> None:
    ada = service.members.principal("ada")
    plan = service.explain(ada, ask())["plan"]
    assert service.submit(ada, ask(plan=plan)).cost["epsilon"] == "0.1"
    for stale in ({"epsilon": "0.2"}, {"rho": "0.1"}):
        with pytest.raises(Conflict, match="nothing is charged"):
            service.submit(ada, {**ask(plan=plan), "price": stale})
    (tmp_path / "anew").mkdir()
    service._datasets["people"] = data_set("people", tmp_path / "anew", declared={"max_rows": 7})
    with pytest.raises(Conflict, match="declared anew"):
        service.submit(ada, ask(plan=plan))
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0"

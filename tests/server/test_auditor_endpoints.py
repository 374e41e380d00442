"""What auditors and curators read of refusals over HTTP, and what is refused without a record."""

from __future__ import annotations

from asgi_client import AsgiClient, client_of
from discreet.server.http_application import HttpLimits, application
from discreet.service.service import Service
from service_fixtures import ask

REFUSALS = "/api/v1/datasets/people/refusals"


def test_refusals_are_read_page_by_page_as_they_were_told(service: Service) -> None:
    ada, dora, cleo = (client_of(service, name) for name in ("ada", "dora", "cleo"))
    asks = [ask(f"SELECT {name} FROM people") for name in ("ghost", "x", "y")]  # noqa: S608 (they are refused)
    told = [ada.post("/api/v1/releases", json=one).json() for one in asks]
    told.append(ada.get("/api/v1/datasets/people/ledger").json())
    found = dora.get(REFUSALS).json()
    assert found == cleo.get(REFUSALS).json()
    lines = found["refusals"][::-1]
    assert [{"error": one["kind"], "message": one["message"], "hint": one["hint"]} for one in lines] == told
    assert [(one["number"], one["who"], one["what"]) for one in lines[2:]] == [
        (3, "ada", "pay for an answer"),
        (4, "ada", "read and verify the ledger"),
    ]
    assert dora.get(REFUSALS, params={"most": 1}).json()["refusals"] == [lines[3]]
    assert dora.get(REFUSALS, params={"most": 2, "before": 4}).json()["refusals"] == [lines[2], lines[1]]
    assert found["removed"] == 0
    for wrong in ({"most": 0}, {"most": 501}, {"before": 0}, {"before": "x"}, {"before": 2**60}):
        assert dora.get(REFUSALS, params=wrong).status_code == 422


def test_requests_beyond_the_rate_are_refused_without_a_record(service: Service) -> None:
    """Whoever sends without end is answered from memory: the store and the disk do nothing for it."""
    token = service.members.issue("ada")[0]
    slow = HttpLimits(a_second=0.001, burst=3)
    ada = AsgiClient(application(service, slow), headers={"Authorization": f"Bearer {token}"})
    codes = [ada.post("/api/v1/releases", json=ask("SELECT ghost FROM people")).status_code for _ in range(20)]
    assert codes == [422] * 3 + [429] * 17
    assert len(client_of(service, "dora").get(REFUSALS).json()["refusals"]) == 3


def test_bodies_that_are_not_read_are_refused_without_a_record(service: Service) -> None:
    ada = client_of(service, "ada")
    assert ada.post("/api/v1/releases", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    assert ada.get("/api/v1/datasets/people/people").status_code == 404
    assert client_of(service, "dora").get(REFUSALS).json() == {"refusals": [], "removed": 0}

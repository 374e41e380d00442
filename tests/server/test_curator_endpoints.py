"""Bodies of curators and operators that are not as described: refused in words, and never accepted or a failure."""

from __future__ import annotations

from typing import Any

from asgi_client import client_of
from discreet.server.http_application import application
from discreet.service.service import Service

WRONG: tuple[Any, ...] = ({}, [], 0, False, None, 1.5)
OF = "/api/v1/datasets/people"


def test_a_reason_of_another_type_decides_nothing(service: Service) -> None:
    ada, cleo = client_of(service, "ada"), client_of(service, "cleo")
    assert cleo.request("PUT", f"{OF}/analysts/ada", json={"allowance": {"epsilon": "0.1"}}).status_code == 200
    asked = ada.post(f"{OF}/requests", json={"amount": {"epsilon": "0.1"}, "reason": "a report"}).json()
    place = f"/api/v1/requests/{asked['id']}/decision"
    for wrong in (*WRONG, "x" * 1001):
        assert cleo.post(place, json={"approve": False, "reason": wrong}).status_code == 422
    assert cleo.post(place, json={"approve": False}).json()["state"] == "declined"


def test_reasons_have_the_length_that_is_described(service: Service) -> None:
    cleo = client_of(service, "cleo")
    schemas = application(service).openapi()["components"]["schemas"]
    for change, body in (("freeze", "ReasonBody"), ("unfreeze", "ReasonBody"), ("raise", "RaiseBody")):
        longest = schemas[body]["properties"]["reason"]["maxLength"]
        given = {"amount": {"epsilon": "2"}} if change == "raise" else {}
        for length, code in ((longest + 1, 422), (longest, 200)):
            assert cleo.post(f"{OF}/{change}", json={**given, "reason": "x" * length}).status_code == code


def test_a_token_for_what_is_no_name_is_refused(service: Service) -> None:
    olga = client_of(service, "olga")
    for wrong in (*WRONG, "", "x" * 101, "a b", "a\n"):
        response = olga.post("/api/v1/tokens", json={"principal": wrong})
        assert (response.status_code, response.json()["error"]) == (422, "invalid_parameter"), wrong
    assert olga.post("/api/v1/tokens", json={"principal": "nobody"}).status_code == 404

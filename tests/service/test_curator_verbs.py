from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.service.purses import ANALYST, DATA_SET, GROUP
from discreet.service.service import Service
from discreet.service.service_errors import Conflict, Forbidden
from service_fixtures import Clock, ask, finished, service_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    made = service_in(tmp_path, clock)
    yield made
    made.close()


def spent(service: Service, name: str) -> list[tuple[str, str]]:
    principal = service.members.principal(name)
    return [(one["level"], one["spent"]["epsilon"]) for one in service.budget(principal, "people")]


def test_a_release_is_charged_to_analyst_group_and_data_set(service: Service, clock: Clock) -> None:
    cleo = service.members.principal("cleo")
    service.open_group(cleo, "people", "staff", {"epsilon": "0.5"})
    for name in ("gil", "hal"):
        service.admit(cleo, "people", name, group="staff", allowance={"epsilon": "0.3"})
    gil, hal = (service.members.principal(name) for name in ("gil", "hal"))
    finished(service, gil, service.submit(gil, ask(epsilon="0.3")).id, clock)
    assert spent(service, "gil") == [("data set", "0.3"), ("group", "0.3"), ("analyst", "0.3")]
    assert spent(service, "hal") == [("data set", "0.3"), ("group", "0.3"), ("analyst", "0")]
    with pytest.raises(BudgetExceeded, match="what remains of analyst 'gil'"):
        service.submit(gil, ask(epsilon="0.1"))
    with pytest.raises(BudgetExceeded, match="what remains of group 'staff'"):
        service.submit(hal, ask(epsilon="0.25"))
    (entry,) = service.entries(service.members.principal("dora"), "people")
    assert (entry["who"], entry["level"]) == ("gil", "group staff/gil")


def test_a_request_that_is_approved_raises_the_allowance_once(service: Service) -> None:
    cleo = service.members.principal("cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    ada = service.members.principal("ada")
    request = service.request(ada, "people", {"epsilon": "0.2"}, "the second wave")
    decided = service.decide(cleo, request.id, approve=True, reason="fine")
    assert (decided.state, decided.decided_by, decided.answer) == ("approved", "cleo", "fine")
    assert service.budget(ada, "people")[-1]["allowance"]["epsilon"] == "0.3"
    with pytest.raises(Conflict):
        service.decide(cleo, request.id, approve=True)
    declined = service.request(ada, "people", {"epsilon": "0.2"}, "more still")
    assert service.decide(cleo, declined.id, approve=False, reason="no").state == "declined"
    assert service.budget(ada, "people")[-1]["allowance"]["epsilon"] == "0.3"
    told = service.members.principal("dora")
    assert [one["what"] for one in service.changes(told, "people")] == ["request approved", "admitted"]


def test_only_curators_of_the_data_set_decide(service: Service) -> None:
    ada = service.members.principal("ada")
    request = service.request(ada, "people", {"epsilon": "0.2"}, "more")
    for name in ("ada", "bob", "dora"):
        with pytest.raises(Forbidden):
            service.decide(service.members.principal(name), request.id, approve=True)
        with pytest.raises(Forbidden):
            service.admit(service.members.principal(name), "people", name, allowance={"epsilon": "1"})


def test_an_allowance_is_raised_frozen_and_closed_with_a_reason(service: Service, clock: Clock) -> None:
    cleo, ada = (service.members.principal(name) for name in ("cleo", "ada"))
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    with pytest.raises(InvalidParameter, match="the allowance that was given before"):
        service.admit(cleo, "people", "ada", allowance={"epsilon": "0.05"})
    raised = service.raise_allowance(cleo, "people", (ANALYST, "ada"), {"epsilon": "0.4"}, "approved")
    assert raised["allowance"]["epsilon"] == "0.4"
    service.set_standing(cleo, "people", (ANALYST, "ada"), "freeze", "a report")
    with pytest.raises(BudgetExceeded):
        service.submit(ada, ask())
    service.set_standing(cleo, "people", (ANALYST, "ada"), "unfreeze", "resolved")
    finished(service, ada, service.submit(ada, ask()).id, clock)
    service.set_standing(cleo, "people", (DATA_SET, "people"), "close", "the study has ended")
    with pytest.raises(BudgetExceeded):
        service.submit(ada, ask(epsilon="0.2"))
    assert service.submit(ada, ask()).cost["epsilon"] == "0"
    with pytest.raises(Conflict):
        service.set_standing(cleo, "people", (GROUP, "absent"), "freeze", "x")
    for change in ("freeze", "unfreeze", "close"):
        with pytest.raises(Conflict):
            service.set_standing(cleo, "people", (DATA_SET, "people"), change, "again")
    with pytest.raises(InvalidParameter, match="text of 1"):
        service.raise_allowance(cleo, "people", (ANALYST, "ada"), {"epsilon": "0.5"}, " ")


def test_nobody_changes_groups(service: Service) -> None:
    cleo = service.members.principal("cleo")
    service.open_group(cleo, "people", "staff", {"epsilon": "0.5"})
    service.admit(cleo, "people", "gil", group="staff")
    with pytest.raises(Conflict):
        service.admit(cleo, "people", "gil")
    with pytest.raises(Conflict):
        service.admit(cleo, "people", "new", group="absent")

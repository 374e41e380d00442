from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.service.allowance_requests import RequestBook
from discreet.service.analyst_budgets import ANALYST, DATA_SET, GROUP
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


class Killed(BaseException):
    """A process that ends here."""


STEPS = [f"{when} {step}" for step in ("decide", "raise_by", "raised") for when in ("before", "after")]
"""When a process is killed within an approval."""


@pytest.mark.long
@pytest.mark.parametrize("moment", STEPS)
def test_an_approval_that_is_killed_is_finished_once(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Killed at any point, by one process or two: the allowance is raised once, or the request is still open."""
    service = service_in(tmp_path, clock)
    cleo = service.members.principal("cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    request = service.request(service.members.principal("ada"), "people", {"epsilon": "0.2"}, "the second wave")
    when, _, step = moment.partition(" ")
    home = RequestBook if step in ("decide", "raised") else Budget
    own = getattr(home, step)

    def killed(*given: Any, **stated: Any) -> None:
        if when == "after":
            own(*given, **stated)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(home, step, killed)
        with pytest.raises(Killed):
            service.decide(cleo, request.id, approve=True, reason="fine")
    service.close()
    started = [service_in(tmp_path, clock), service_in(tmp_path, clock)]  # two processes that start after it
    for one in started:
        one.finish_approvals()
        ada = one.members.principal("ada")
        (found,) = one.requests(ada, "people")
        raised = one.budget(ada, "people")[-1]["allowance"]["epsilon"]
        assert (found.state, raised) == (("open", "0.1") if moment == "before decide" else ("approved", "0.3"))
        told = [change["what"] for change in one.changes(one.members.principal("dora"), "people")]
        assert told.count("request approved") == (found.state == "approved")
    for one in started:
        one.close()


def test_an_approval_that_cannot_be_finished_is_open_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = service_in(tmp_path, clock)
    cleo = service.members.principal("cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    request = service.request(service.members.principal("ada"), "people", {"epsilon": "0.2"}, "more")
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "raise_by", lambda *_, **__: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            service.decide(cleo, request.id, approve=True)
    service.set_standing(cleo, "people", (ANALYST, "ada"), "close", "left the study")
    service.finish_approvals()
    (found,) = service.requests(service.members.principal("ada"), "people")
    assert found.state == "open"
    service.close()


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


def requested(service: Service) -> str:
    """A request of ada, who has 0.1, for 0.2 more."""
    cleo, ada = (service.members.principal(name) for name in ("cleo", "ada"))
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    return service.request(ada, "people", {"epsilon": "0.2"}, "the second wave").id


def stands(service: Service, request: str) -> tuple[str, str, int, int]:
    """The state of a request, the allowance of ada, and how often a raise and an approval are on record."""
    (asked,) = (one for one in service.requests(service.members.principal("cleo"), "people") if one.id == request)
    budget = service._datasets["people"].budget
    raises = [one.why.endswith(f" [request {request}]") for one in budget.changes() if one.kind == "raise"]
    notes = [one["detail"]["request"] for one in service._requests.changes("people") if one["what"] == APPROVAL]
    return asked.state, str(budget.child("ada").allowance), raises.count(True), notes.count(request)


APPROVAL = "request approved"
BEFORE, AFTER = ("open", "epsilon=0.1", 0, 0), ("approved", "epsilon=0.3", 1, 1)


def failing(monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]) -> None:
    """Has the first raise by so much more end in this way."""
    raise_by, left = Budget.raise_by, [change]

    def once(self: Budget, *amounts: Any, **more: Any) -> Any:
        if left:
            return left.pop()(partial(raise_by, self, *amounts, **more))
        return raise_by(self, *amounts, **more)

    monkeypatch.setattr(Budget, "raise_by", once)


@pytest.mark.parametrize("is_written", [False, True])
def test_an_approval_whose_raise_is_in_doubt_is_finished_later(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, is_written: bool
) -> None:
    def lost(raise_by: Callable[[], None]) -> None:
        if is_written:
            raise_by()
        raise LedgerError("the connection was lost")

    request = requested(service)
    monkeypatch.setattr(service._runner, "_on_beat", lambda: None)
    failing(monkeypatch, lost)
    cleo = service.members.principal("cleo")
    assert service.decide(cleo, request, approve=True, reason="fine").state == "approving"
    assert "is not raised yet" in caplog.text
    assert stands(service, request)[::2] == ("approving", int(is_written))
    for approve in (True, False):
        with pytest.raises(Conflict):
            service.decide(cleo, request, approve=approve)
    for _ in range(2):
        service.finish_approvals()
        assert stands(service, request) == AFTER


def test_an_approval_that_the_ledger_refuses_for_ever_is_taken_back(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = requested(service)
    cleo = service.members.principal("cleo")

    def closed(raise_by: Callable[[], None]) -> None:
        service.set_standing(cleo, "people", (ANALYST, "ada"), "close", "the study has ended")
        raise_by()

    failing(monkeypatch, closed)
    for _ in range(2):  # closed between two looks, and seen at the first one
        with pytest.raises(Conflict):
            service.decide(cleo, request, approve=True)
        assert stands(service, request) == BEFORE
    assert service.decide(cleo, request, approve=False).state == "declined"


def test_what_the_ledger_would_refuse_is_not_approved(service: Service) -> None:
    cleo, ada = (service.members.principal(name) for name in ("cleo", "ada"))
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    request = service.request(ada, "people", {"rho": "0.2"}, "another kind").id
    with pytest.raises(Conflict):
        service.decide(cleo, request, approve=True)
    assert stands(service, request)[0] == "open"


def test_an_approval_that_was_written_stays_one_when_the_level_is_closed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = requested(service)
    cleo = service.members.principal("cleo")

    def lost(raise_by: Callable[[], None]) -> None:
        raise_by()
        service.set_standing(cleo, "people", (ANALYST, "ada"), "close", "the study has ended")
        raise LedgerError("the connection was lost")

    failing(monkeypatch, lost)
    service.decide(cleo, request, approve=True)
    assert stands(service, request) == AFTER


def test_what_no_allowance_can_hold_is_open_still(service: Service) -> None:
    cleo, ada = (service.members.principal(name) for name in ("cleo", "ada"))
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1", "delta": "0.5"})
    request = service.request(ada, "people", {"epsilon": "0.1", "delta": "0.9"}, "nearly all").id
    with pytest.raises(InvalidParameter):
        service.decide(cleo, request, approve=True)
    assert stands(service, request)[0::2] == ("open", 0)


KILLED = """
import json, os, shutil, signal, sqlite3, sys
import duckdb, ibis.backends.duckdb, pandas, pyarrow  # now, and not in each process
from pathlib import Path
from discreet.service.allowance_requests import RequestBook
from service_fixtures import Clock, Service, service_in
from test_curator_verbs import requested, stands

folder = Path(sys.argv[1])

class Counted(sqlite3.Connection):
    left = None  # so many statements more

    def execute(self, *given):
        if Counted.left is not None:
            Counted.left -= 1
            if Counted.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*given)

connect = sqlite3.connect
sqlite3.connect = lambda *given, **named: connect(*given, factory=Counted, **named)

def forked(work):  # what a process of its own tells; nothing, where it is killed
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.write(writes, json.dumps(work()).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text or "null")

def counted(kind, name, statements, *, is_all):  # from here on
    work = getattr(kind, name)
    def begun(*given, **named):
        Counted.left = statements
        done = work(*given, **named)
        if is_all:
            Counted.left = None
        return done
    setattr(kind, name, begun)

def approved(place, statements):
    service = service_in(place, Clock())
    if stands(service, request)[0] == "open":
        counted(RequestBook, "decide", statements, is_all=False)
        service.decide(service.members.principal("cleo"), request, approve=True, reason="fine")
    return True

def started(place, statements):
    counted(Service, "finish_approvals", statements, is_all=True)
    service = service_in(place, Clock())
    return [stands(service, request), approved(place, None) and stands(service, request)]

def left_by(place):
    files = sorted((one.name, one.stat().st_size) for one in place.iterdir())
    state, ledger = (sqlite3.connect(place / name) for name in ("state.db", "people.db"))
    ((is_open,),) = state.execute("SELECT state FROM request")
    ((raises,),) = ledger.execute("SELECT count(*) FROM line WHERE kind = 'level' AND what = 'raise'")
    state.close(), ledger.close()  # now, and not while their folder is deleted
    return (is_open, raises), files

def rounds(work, source):  # folders of processes that were killed before a statement each, where they differ
    seen = []
    for statements in range(10_000):
        place = folder / f"{source.name}-{statements}"
        shutil.copytree(source, place)
        done = forked(lambda: work(place, statements))
        copy = shutil.copytree(place, folder / "looked at", dirs_exist_ok=True)
        left = left_by(copy)
        shutil.rmtree(copy)
        if left not in seen:
            seen.append(left)
            yield left[0], place
        if done is not None:
            print(json.dumps(statements), flush=True)
            return

(folder / "begun").mkdir()
request = forked(lambda: requested(service_in(folder / "begun", Clock())))
looked = set()
for left, place in rounds(approved, folder / "begun"):
    if left[0] == "approving" and left not in looked:
        looked.add(left)
        for later, again in rounds(started, place):
            print(json.dumps([later, forked(lambda: started(again, None))]), flush=True)
    print(json.dumps([left, forked(lambda: started(place, None))]), flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_kill_at_any_moment_of_an_approval_raises_once(folder: Path) -> None:
    """Before each statement to the state and to the ledger; and so of the start that finishes it."""
    paths = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    env = {**os.environ, "PYTHONPATH": paths}
    told = subprocess.run([sys.executable, "-c", KILLED, folder], env=env, check=False, capture_output=True)
    assert told.returncode == 0, told.stderr.decode()
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    statements = [one for one in lines if isinstance(one, int)]
    rounds = [one for one in lines if isinstance(one, list)]
    assert len(statements) == 3
    assert min(statements) > 5
    assert {tuple(left) for left, _ in rounds} == {("open", 0), ("approving", 0), ("approving", 1), ("approved", 1)}
    for left, found in rounds:
        assert found == [[*(BEFORE if left[0] == "open" else AFTER)], [*AFTER]], left

"""Totals of data sets hold whatever they are called, whoever asks, and however often an allowance is renewed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.service.data_sets import Policy, Seen
from discreet.service.public_moments import State
from service_fixtures import COUNT, Clock, ask, data_set, finished, service_in


def spent(service: object, dataset: str = "people") -> str:
    """Of the whole data set, over its whole life."""
    dora = service.members.principal("dora")  # type: ignore[attr-defined]  # a service
    return str(service.spending(dora, dataset)[0]["spent"]["epsilon"])  # type: ignore[attr-defined]  # as above


def test_what_was_spent_stays_spent_under_another_name(tmp_path: Path) -> None:
    """A data set that is taken away and declared anew, under its name or another, goes on with its ledger."""
    clock = Clock()
    before = service_in(tmp_path, clock)
    job = before.submit(before.members.principal("ada"), ask(epsilon="0.6"))
    finished(before, before.members.principal("ada"), job.id, clock)
    before.close()
    for name in ("people", "folk"):
        kept = data_set("people", tmp_path)
        service = service_in(tmp_path, clock, replace(kept, name=name, table=kept.table))
        ada = service.members.principal("ada")
        assert spent(service, name) == "0.6"
        asked = ask(COUNT.replace("people", name), epsilon="0.5")
        with pytest.raises(BudgetExceeded, match=f"what remains of data set '{name}'"):
            service.submit(ada, asked)
        service.close()
    with pytest.raises(LedgerError, match="made with, or raised to"):
        Budget(epsilon=5, ledger=tmp_path / "people.db")


def test_who_leaves_and_comes_back_has_what_they_had(tmp_path: Path) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock)
    cleo = service.members.principal("cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.2"})
    job = service.submit(service.members.principal("ada"), ask(epsilon="0.15"))
    finished(service, service.members.principal("ada"), job.id, clock)
    service._store.write(lambda execute: execute("DELETE FROM member WHERE principal = 'ada'"))
    service._store.write(lambda execute: execute("DELETE FROM principal WHERE name = 'ada'"))
    with pytest.raises(InvalidParameter, match="the allowance that was given before"):
        service.admit(cleo, "people", "ada", allowance={"epsilon": "0.9"})
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.2"})
    with pytest.raises(BudgetExceeded, match="what remains of analyst 'ada'"):
        service.submit(service.members.principal("ada"), ask(epsilon="0.1", fresh=True))
    service.close()


def test_allowances_of_every_month_add_up_to_one_total(tmp_path: Path) -> None:
    """Raised, and given to a new name, each month: after five months of a fifth nobody is answered any more."""
    clock = Clock()
    service = service_in(tmp_path, clock)
    cleo = service.members.principal("cleo")
    service.admit(cleo, "people", "ada", allowance={"epsilon": "0.1"})
    for month in range(1, 6):
        service.admit(cleo, "people", f"intern{month}", allowance={"epsilon": "0.1"})
        for name in ("ada", f"intern{month}"):
            job = service.submit(service.members.principal(name), ask(epsilon="0.1", fresh=True))
            assert finished(service, service.members.principal(name), job.id, clock) is State.READY
        assert spent(service) == ("1" if month == 5 else f"0.{2 * month}")
        clock.now += 30 * 86400
        request = service.request(service.members.principal("ada"), "people", {"epsilon": "0.1"}, f"month {month + 1}")
        service.decide(cleo, request.id, approve=True)
    service.admit(cleo, "people", "intern6", allowance={"epsilon": "0.1"})
    for name in ("ada", "intern6"):
        with pytest.raises(BudgetExceeded, match="what remains of data set 'people'"):
            service.submit(service.members.principal(name), ask(epsilon="0.01", fresh=True))
    whole, *inner = service.spending(cleo, "people")
    assert (whole["spent"]["epsilon"], whole["remaining"]["epsilon"]) == ("1", "0")
    assert next(one for one in inner if one["path"] == "ada")["spent"]["epsilon"] == "0.5"
    service.close()


@pytest.mark.parametrize("seen", Seen)
def test_a_cache_tells_of_others_only_where_the_policy_says_so(tmp_path: Path, seen: Seen) -> None:
    clock = Clock()
    service = service_in(tmp_path, clock, data_set("people", tmp_path, policy=Policy(cache=seen)))
    ada, bob = (service.members.principal(name) for name in ("ada", "bob"))
    first = service.submit(ada, ask())
    twin = service.submit(bob, ask())  # while the first one is being answered
    for who, job in ((ada, first), (bob, twin)):
        assert finished(service, who, job.id, clock) is State.READY
    later = service.submit(bob, ask(epsilon="0.05"))
    finished(service, bob, later.id, clock)
    again = service.submit(ada, ask(epsilon="0.05"))
    finished(service, ada, again.id, clock)
    own = service.submit(ada, ask())
    finished(service, ada, own.id, clock)
    free = {"epsilon": "0", "delta": "0"}
    assert own.cost == free
    assert service.answer(ada, own.id)["n"] == service.answer(ada, first.id)["n"]
    if seen is Seen.ALL:
        assert (twin.cost, again.cost, spent(service)) == (free, free, "0.15")
        assert service.answer(bob, twin.id)["n"] == service.answer(ada, first.id)["n"]
    else:
        assert (twin.cost["epsilon"], again.cost["epsilon"], spent(service)) == ("0.1", "0.05", "0.3")
        assert service.job(bob, twin.id).paid
        assert service.answer(bob, twin.id).receipt["release"] == service.answer(ada, first.id).receipt["release"]
    service.close()

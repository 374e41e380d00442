"""Totals of data sets hold whatever they are called, whoever asks, and however often an allowance is renewed."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import ibis
import pytest

from discreet.errors import BudgetExceeded, InvalidParameter, InvalidQuery, LedgerError
from discreet.ledger.budget import Budget
from discreet.service.answer_timing import State
from discreet.service.data_sets import Policy, Seen
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


TWO_KEYS = "SELECT plan, age, COUNT(*) AS n FROM people GROUP BY plan, age"


@pytest.mark.long
@pytest.mark.parametrize(("plans", "ages"), [(3_000, 3_000), (10_000, 10_000), (41, 5), (5, 41)])
def test_answers_of_many_cells_are_refused_before_their_keys_are_written_out(
    tmp_path: Path, plans: int, ages: int
) -> None:
    """Nine million groups took gigabytes, for nothing."""
    clock = Clock()
    service = service_in(tmp_path, clock, replace(data_set("people", tmp_path), most_cells=200))
    ada = service.members.principal("ada")
    asked = ask(TWO_KEYS)
    asked["question"]["keys"] = {"plan": [str(i) for i in range(plans)], "age": list(range(ages))}
    tracemalloc.start()
    for call in (service.explain, service.submit):
        with pytest.raises(InvalidQuery, match=f"at most 200 cells in an answer, got cells='{plans * ages:,}'"):
            call(ada, asked)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000_000
    assert spent(service) == "0"
    service.close()


def test_cells_are_groups_times_columns(tmp_path: Path) -> None:
    service = service_in(tmp_path, Clock(), replace(data_set("people", tmp_path), most_cells=200))
    ada = service.members.principal("ada")
    wide = ask("SELECT age, COUNT(*) AS n, SUM(visits) AS s, AVG(visits) AS a FROM people GROUP BY age")
    for ages, fits in ((66, True), (67, False)):
        wide["question"]["keys"] = {"age": list(range(ages))}
        if fits:
            assert service.explain(ada, wide)["most_cells"] == 200
        else:
            with pytest.raises(InvalidQuery, match="at most 200 cells"):
                service.explain(ada, wide)
    narrow = ask("SELECT age, COUNT(*) AS n FROM people GROUP BY age")
    narrow["question"]["keys"] = {"age": list(range(200))}
    assert service.explain(ada, narrow)["answer"]
    assert service.dataset(ada, "people")["most_cells"] == 200
    service.close()


def test_cells_of_documents_and_joined_conditions_count_too(tmp_path: Path) -> None:
    kept = data_set("people", tmp_path)
    document = (
        kept.table.filter(ibis._.age > 3)
        .mutate(odd=ibis._.age % 2 == 1)
        .group_by("plan", "odd", "age", keys={"age": list(range(50))})
        .agg(n=ibis._.count())
        .document()
    )
    service = service_in(tmp_path, Clock(), replace(kept, most_cells=200))
    with pytest.raises(InvalidQuery, match="at most 200 cells"):
        service.explain(service.members.principal("ada"), {"question": {"document": document}})
    service.close()

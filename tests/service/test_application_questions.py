"""Choices, bounds from below, clusters and hierarchies as jobs: moments from stated facts, and refusals beforehand."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

import discreet as dp
from depth import examples
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.service.answer_timing import Pace, State
from discreet.service.application_questions import MOST_CENTERS, MOST_KEYS, MOST_ROUNDS, MOST_ROWS
from discreet.service.data_sets import DataSet
from discreet.service.roles import Principal, Role
from discreet.service.service import Service
from discreet.service.service_errors import Forbidden
from discreet.testing import people as bundled
from discreet.testing.example_tables import PLANS
from random_documents import SLOW, mutated
from service_fixtures import Clock, data_set, finished, service_in

PLACES = dp.public_keys(pa.table({"plan": list(PLANS)}), name="places")
DAYS = dp.public_keys(pa.table({"plan": [f"plan {i}" for i in range(MOST_ROWS)]}), name="days")
Ask = Callable[[Any], Any]
ASKED: dict[str, Ask] = {
    "top": lambda t: t.top("plan", k=2),
    "choose": lambda t: t.choose([18, 65], score=lambda c: _.age >= c, max_rows=1),
    "count_distinct": lambda t: t.count_distinct("age"),
    "truncated_total": lambda t: t.truncated_total("visits"),
    "truncated_total by a race": lambda t: t.truncated_total(limit="race", most=8),
    "kmeans": lambda t: t.kmeans(["age", "visits"], n_clusters=2),
    "hierarchy": lambda t: t.hierarchy(["plan"], keys=PLACES).agg(n=_.count()),
}


TAKE_RHO = {"top", "choose", "kmeans", "hierarchy"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    keys = {"places": PLACES, "days": DAYS}
    made = replace(data_set("people", tmp_path, epsilon=1000), public_keys=keys)
    made = replace(made, pace=Pace(least=1, per_million_rows=2.0, per_thousand_cells=0, rows=1_000_000))
    found = service_in(tmp_path, clock, made)
    yield found
    found.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("attacked")
    found = service_in(folder, Clock(), replace(data_set("people", folder), public_keys={"places": PLACES}))
    yield found
    found.close()


@pytest.fixture
def ada(service: Service) -> Principal:
    return service.members.principal("ada")


def document(name: str) -> dict[str, Any]:
    return of(ASKED[name](bundled()))


def of(question: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(question.document()))
    return found


def ask(asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"question": {"document": asked}, "price": {"epsilon": "0.5"}, **more}


def entries(service: Service) -> int:
    return len(service.entries(service.members.principal("dora"), "people", 0, 100))


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
def test_it_is_priced_for_nothing_and_charged_once_at_acceptance(
    service: Service, ada: Principal, clock: Clock, name: str
) -> None:
    account = service.explain(ada, ask(document(name)))
    assert entries(service) == 0
    job = service.submit(ada, ask(document(name), plan=account["plan"]), "a-key")
    assert job.cost == account["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert entries(service) == 1
    assert job.ready_at == clock.now + account["seconds"]
    assert finished(service, ada, job.id, clock) is State.READY
    assert entries(service) == 1
    answer = service.answer(ada, job.id)
    assert answer.receipt["time"].startswith("2030-03-17T17:46:40")  # that of its acceptance, whatever the look took
    again = service.submit(ada, ask(document(name)))
    assert again.cost == {"epsilon": "0", "delta": "0"}
    assert finished(service, ada, again.id, clock) is State.READY
    assert dict(service.answer(ada, again.id).receipt) == dict(answer.receipt)
    assert entries(service) == 1


@pytest.mark.long
def test_the_first_moment_follows_from_rounds_and_cells(service: Service, ada: Principal) -> None:
    def seconds(question: Any) -> float:
        found: float = service.explain(ada, ask(of(question)))["seconds"]
        return found

    def lloyd(rounds: int) -> Any:
        return bundled().kmeans(["age", "visits"], n_clusters=2, algorithm="lloyd", rounds=rounds)

    one = seconds(bundled().top("plan"))
    assert one == 3  # a second, and two for the rows of one total
    assert seconds(ASKED["choose"](bundled())) == 5  # one for each candidate
    assert (seconds(lloyd(1)), seconds(lloyd(5))) == (2 * 7, 10 * 7)  # three totals a look, and two looks a round
    assert seconds(bundled().kmeans(["age"], n_clusters=2)) == 20 * 5
    assert seconds(ASKED["hierarchy"](bundled())) == 3
    for most in (1, 1000):  # of each unit, and of all of them, under any number of limits
        assert seconds(bundled().truncated_total("visits", limit="race", most=most)) == 5


def kmeans(**more: Any) -> dict[str, Any]:
    asked = {"from": {"table": "people"}, "columns": ["age", "visits"], "n_clusters": 2, "algorithm": "best", **more}
    return {"version": 1, "kmeans": asked}


def hierarchy(**more: Any) -> dict[str, Any]:
    asked = {
        "from": {"table": "people"},
        "levels": ["plan"],
        "keys": "places",
        "aggregates": [["n", {"count_star": []}]],
    }
    return {"version": 1, "hierarchy": {**asked, **more}}


def series() -> dict[str, Any]:
    steps = {"name": "s", "by": "age", "start": 0, "every": 10, "until": 99, "windows": [1], "max_steps": 1}
    asked = {"from": {"table": "people"}, "aggregates": [["n", {"count_star": []}]], "steps": steps}
    return {"version": 1, "series": asked}


def counted(**more: Any) -> dict[str, Any]:
    return {"version": 1, "count_distinct": {"from": {"table": "people"}, "column": "age", **more}}


def total(**more: Any) -> dict[str, Any]:
    return {"version": 1, "truncated_total": {"from": {"table": "people"}, **more}}


def top(**more: Any) -> dict[str, Any]:
    return {"version": 1, "top": {"from": {"table": "people"}, "column": "plan", "k": 1, **more}}


def choose(**more: Any) -> dict[str, Any]:
    pairs = [[1, {"equals": [{"column": "age"}, 1]}], [2, {"equals": [{"column": "age"}, 2]}]]
    return {"version": 1, "choose": {"from": {"table": "people"}, "candidates": pairs, **more}}


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "too many clusters": (kmeans(n_clusters=MOST_CENTERS), "numbers in all centers"),
    "far too many clusters": (kmeans(n_clusters=10_000), "numbers in all centers"),
    "clusters beyond all": (kmeans(n_clusters=2**63), "whole numbers of 64 bits"),
    "too many rounds": (kmeans(algorithm="lloyd", rounds=MOST_ROUNDS + 1), "rounds from a service"),
    "rounds that nobody asked for": (kmeans(rounds=3), "what the question would write"),
    "an unknown algorithm": (kmeans(algorithm="exec"), "'best' or 'lloyd'"),
    "the same column twice": (kmeans(columns=["age", "age"]), "names of columns"),
    "the unit's own column": (kmeans(columns=["person"]), "bounds|unit|column"),
    "no columns": (kmeans(columns=[]), "a list of"),
    "a table of nobody": (kmeans(**{"from": {"table": "others"}}), "a protected table"),
    "keys for a table": (kmeans(**{"from": {"table": "places"}}), "a protected table"),
    "unknown places": (hierarchy(keys="all of them"), "public keys"),
    "a table for places": (hierarchy(keys="people"), "public keys"),
    "a series": (series(), "a question with one answer"),
    "too many places": (hierarchy(keys="days"), "rows of all levels"),
    "a path of the host": (hierarchy(keys="/etc/passwd"), "public keys"),
    "levels that places lack": (hierarchy(levels=["plan", "age"]), "public keys of the columns"),
    "sums without end": (
        hierarchy(aggregates=[[f"s{i}", {"sum": [{"column": "age"}]}] for i in range(51)]),
        "aggregates times levels|known",
    ),
    "averages that do not add up": (hierarchy(aggregates=[["m", {"mean": [{"column": "age"}]}]]), "add up|known"),
    "values of numbers with a point": (counted(column="visits"), "compared exactly"),
    "a limit beyond all": (counted(max_values=2**40), "a limit of at most"),
    "too many keys": (top(column="age", keys=[*range(MOST_KEYS + 1)]), "keys from a service"),
    "a total of words": (total(value={"column": "plan"}), "amounts of 0 or more"),
    "a total of totals": (total(value={"sum": [{"column": "age"}]}), "row|known"),
    "a total of nobody": (total(value={"column": "person"}), "amounts of 0|unit|column"),
    "a limit of words": (total(limit="exec"), "a whole number"),
    "a limit beyond all totals": (total(limit=2**40), "a limit of at most"),
    "limits beyond all totals": (total(most=2**40), "a limit of at most"),
    "more than there are": (top(k=4), "a whole k from 1 to 3"),
    "a key that is a number with a point": (top(keys=[0.5]), "a key that compares exactly"),
    "a price in the question": (top(epsilon=1), "a known field"),
    "one candidate": (choose(candidates=[[1, True]]), "a list of 2 to 100"),
    "a sum for a score": (choose(candidates=[[1, {"sum": [{"column": "age"}]}], [2, True]]), "row|known|score"),
    "words for a score": (choose(candidates=[[1, {"column": "plan"}], [2, {"column": "plan"}]]), "a condition"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_refused_before_a_charge(service: Service, ada: Principal, name: str) -> None:
    asked, match = HOSTILE[name]
    for call in (service.explain, service.submit):
        with pytest.raises((InvalidQuery, InvalidParameter), match=match) as refused:
            call(ada, ask(asked))
        assert "Hint: " in str(refused.value)
    assert entries(service) == 0


@pytest.mark.long
@pytest.mark.parametrize("name", ASKED)
def test_prices_that_it_does_not_take_are_refused(service: Service, ada: Principal, name: str) -> None:
    for more, match in (
        ({"weights": {"plan": "1"}}, "an amount as the price|a weight for each level"),
        ({"price": {"within": {"m": "3"}}}, "an amount as the price|levels of the path"),
        ({"price": {"epsilon": "0.5", "delta": "0.1"}}, "no delta"),
        ({"price": {"rho": "0.5"}}, "an epsilon"),
        ({"price": {"epsilon": "0.5", "first_look": "0.5"}}, "first_look without any"),
    ):
        if ("delta" in str(more) and name in {"top", "hierarchy"}) or ("rho" in str(more) and name in TAKE_RHO):
            assert service.explain(ada, {**ask(document(name)), **more})["charge"]
            continue
        with pytest.raises((InvalidQuery, InvalidParameter), match=match):
            service.submit(ada, {**ask(document(name)), **more})
    assert entries(service) == 0


def test_keys_of_documents_are_no_tables_of_statements(service: Service, ada: Principal) -> None:
    found = service.explain(ada, {"question": {"sql": "SELECT COUNT(*) AS n FROM people"}, "price": {"epsilon": "1"}})
    assert found["charge"] == {"epsilon": "1", "delta": "0"}
    with pytest.raises(InvalidQuery, match="places"):
        service.explain(ada, {"question": {"sql": "SELECT COUNT(*) AS n FROM places"}, "price": {"epsilon": "1"}})


@pytest.mark.long
@settings(max_examples=examples(1))
@given(seed=st.integers(0, 2**63))
def test_documents_with_faults_are_explained_or_refused(attacked: Service, seed: int) -> None:
    """Whatever is sent: an account, or one refusal with a cure; in no more time than any question takes."""
    ada, chance = attacked.members.principal("ada"), random.Random(seed)  # noqa: S311 (documents to try)
    corpus, told = [document(name) for name in ASKED], list[str]()
    for _i in range(10):
        asked, start = mutated(chance, corpus), time.process_time()
        try:
            found = attacked.explain(ada, ask(asked))
        except (InvalidQuery, InvalidParameter) as refused:
            told.append(str(refused))
        except Forbidden:
            pass
        else:
            assert found["seconds"] > 0
            json.dumps(found, allow_nan=False)
        assert time.process_time() - start < SLOW
    assert all("Hint: " in one for one in told)
    assert entries(attacked) == 0


def test_keys_of_one_name_are_those_of_the_data_set_that_is_asked(tmp_path: Path) -> None:
    few = dp.public_keys(pa.table({"plan": list(PLANS)[:1]}), name="places")
    made = [
        replace(data_set(name, tmp_path), public_keys={"places": keys})
        for name, keys in (("one", few), ("people", PLACES), ("two", few))
    ]
    service = service_in(tmp_path, Clock(), *made)
    for one in made:
        service.members.give("ada", one.name, Role.ANALYST)
    ada = service.members.principal("ada")
    for name, groups in (("one", "1 total, 1 plan"), ("people", "1 total, 3 plan"), ("two", "1 total, 1 plan")):
        found = service.explain(ada, ask(hierarchy(**{"from": {"table": name}})))
        assert (found["dataset"], found["groups"]) == (name, groups)
    service.close()


def shared(folder: Path) -> DataSet:
    """Calls, of which each belongs to two people, in a data set."""
    budget = dp.Budget(epsilon=10, ledger=folder / "calls.db")
    rows = pa.table({"caller": [1, 1, 2, 4], "called": [2, 3, 1, 4], "minutes": [10, 200, 35, 7]})
    stated: dict[str, Any] = {"bounds": {"minutes": (0, 500)}, "budget": budget, "name": "calls"}
    table = dp.protect_shared(rows, each_of=("caller", "called"), **stated)
    return DataSet(name="calls", table=table, budget=budget, pace=Pace(least=1, per_thousand_cells=0))


@pytest.mark.parametrize("limit", ["auto", "race", 8])
def test_rows_of_two_people_each_have_totals_as_jobs(tmp_path: Path, clock: Clock, limit: Any) -> None:
    made = shared(tmp_path)
    service = service_in(tmp_path, clock, made, data_set("people", tmp_path))
    ada = service.members.principal("ada")
    assert service.dataset(ada, "calls")["each_of"]
    question = made.table.filter(_.minutes > 8).truncated_total("minutes", limit=limit)
    told = service.explain(ada, ask(of(question)))
    assert told["unit"] == "each of caller, called"
    job = service.submit(ada, ask(of(question), plan=told["plan"]), "a-key")
    assert job.cost == told["charge"]
    assert finished(service, ada, job.id, clock) is State.READY
    assert service.answer(ada, job.id).receipt["unit"] == "each of caller, called"
    assert made.budget.spent.epsilon == 0.5
    service.close()


def test_nothing_else_is_asked_of_rows_of_two_people_each(tmp_path: Path, clock: Clock) -> None:
    """In SQL and in documents; a question about another data set, in which its name occurs, is answered."""
    made = shared(tmp_path)
    people = data_set("people", tmp_path)
    service = service_in(tmp_path, clock, made, people)
    service.members.give("ada", "people", Role.ANALYST)
    ada = service.members.principal("ada")
    rows = pa.table({"caller": [1], "minutes": [2]})
    stated: dict[str, Any] = {"bounds": {"minutes": (0, 500)}, "budget": dp.Budget(epsilon=1), "max_rows": 1}
    own = dp.protect(rows, unit="caller", name="calls", **stated)
    asked: list[dict[str, Any]] = [
        {"sql": "SELECT COUNT(*) AS n FROM calls"},
        {"sql": "SELECT caller, COUNT(*) AS n FROM calls GROUP BY caller", "keys": {"caller": [1, 2]}},
        {"sql": "SELECT COUNT(*) AS n FROM calls AS a JOIN people AS b ON a.caller = b.person"},
        {"sql": "SELECT COUNT(*) AS n FROM people AS b JOIN calls AS a ON a.caller = b.person"},
        {"document": of(own.agg(n=_.count()))},
        {"document": of(own.group_by("minutes", keys={"minutes": [1]}, max_groups=1).agg(n=_.minutes.mean()))},
        {"document": of(own.nunique())},
        {
            "document": of(
                dp.batch({"a": own.agg(n=_.count()), "b": own.agg(m=_.minutes.sum())}, max_groups=1, max_rows=1)
            )
        },
        {"document": of(own.histogram("minutes", [0, 10, 20], ranges=True, max_groups=1))},
        {"document": of(own.count_distinct("minutes"))},
        {"document": of(own.top("minutes", keys=[1, 2], k=1))},
        {"document": of(own.choose([1, 2], score=lambda c: _.minutes > c, max_rows=1))},
        {"document": of(own.kmeans(["minutes"], n_clusters=2))},
    ]
    for question in asked:
        for verb in (service.explain, service.submit):
            with pytest.raises((InvalidQuery, InvalidParameter), match=r"Expected .*\n?.*Hint: ") as refused:
                verb(ada, {"question": question, "price": {"epsilon": "0.5"}})
            assert "unit" in str(refused.value)
    assert made.budget.spent.epsilon == people.budget.spent.epsilon == 0
    sql = "SELECT COUNT(*) AS calls FROM people"
    assert service.explain(ada, {"question": {"sql": sql}, "price": {"epsilon": "0.5"}})["unit"] == ["person"]
    service.close()

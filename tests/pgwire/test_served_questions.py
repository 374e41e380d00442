"""The real service behind the protocol: who may do what, what is charged, and when answers leave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.pgwire.question_texts import Shown
from discreet.pgwire.served_questions import ServedQuestions, displayed, patience, remains
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import Refused
from discreet.service.demonstration import demo_service
from discreet.service.service import Service
from pg_sockets import RawClient, fields, letters, parse, query, running, state, values
from stub_service import StubJob

GROUPS = "SELECT plan, AVG(visits) FROM people GROUP BY plan"
Served = tuple[Service, dict[str, str], int]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ExitStack() as held:
        service, tokens = demo_service(tmp_path_factory.mktemp("served"), held)
        held.callback(service.close)
        yield service, tokens, held.enter_context(running(service))


def connected(served: Served, who: str) -> RawClient:
    return RawClient(served[2], token=served[1][who], user=who)


def spent(served: Served) -> str:
    service, tokens, _ = served
    return str(service.budget(service.authenticate(tokens["analyst"]), "people")[0]["spent"]["epsilon"])


FREE = {
    "SELECT relname FROM pg_class WHERE relname = 'people'": "TDCZ",
    "SELECT * FROM people LIMIT 0": "TCZ",
    "SHOW discreet.epsilon": "TDCZ",
    "SET discreet.epsilon = 0.2": "CZ",
    "SELECT * FROM people": "42DP2",
    "SELECT DISTINCT plan FROM people": "42DP2",
    "DELETE FROM people": "0A000",
    "COPY people FROM STDIN": "0A000",
}
WRAPPED = "SELECT * FROM (SELECT plan, AVG(visits) FROM people GROUP BY plan) t LIMIT 0"
PRICED = {f"EXPLAIN {GROUPS}": ("curator", "analyst"), WRAPPED: ("curator", "analyst")}
PAID = {
    GROUPS: ("analyst",),
    f"COPY ({GROUPS}) TO STDOUT": ("analyst",),
    f"DECLARE c CURSOR FOR {GROUPS}": ("analyst",),
}


@pytest.mark.long
@pytest.mark.parametrize("who", ["curator", "analyst", "auditor"])
@pytest.mark.parametrize("sql", [*FREE, *PRICED, *PAID])
def test_roles_and_statements(served: Served, who: str, sql: str) -> None:
    """A role can do over this protocol what it can do over HTTP, and no more."""
    before = spent(served)
    with connected(served, who) as client:
        found = client.ask(query(sql))
    if sql in FREE:
        assert letters(found) == FREE[sql] or state(found) == FREE[sql]
    elif who in (PRICED | PAID)[sql]:
        assert "E" not in letters(found)
    else:
        assert state(found) == "42501"
    assert spent(served) == before or (sql in PAID and who == "analyst")


def test_who_is_not_signed_in_sees_nothing(served: Served) -> None:
    for user, token in (("analyst", "dst_" + "A" * 43), ("curator", served[1]["analyst"])):
        with RawClient(served[2], token=token, user=user) as client:
            assert letters(client.greeting) == "RE"
            assert state(client.greeting) == "28P01"


def test_an_answer_leaves_at_its_public_moment_and_again_at_once(served: Served) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE visits > 3"
    with connected(served, "analyst") as client:
        began = time.time()
        first = client.ask(query(sql))
        job = next(one for one in served[0].questions(served[0].authenticate(served[1]["analyst"]), "people"))["job"]
        assert time.time() >= job.ready_at > began
        again = client.ask(query(sql))
    assert values(first[2][1]) == values(again[2][1])
    assert fields(first[0][1])["M"].startswith("discreet: charged epsilon=0.1; epsilon=")
    assert fields(again[0][1])["M"].startswith("discreet: a stored answer, nothing was charged")


@pytest.mark.long
def test_another_session_is_answered_for_nothing(served: Served) -> None:
    for _ in range(2):
        with connected(served, "analyst") as client:
            assert letters(client.ask(query("SELECT SUM(visits) FROM people"))) == "NTDCZ"
    before = spent(served)
    with connected(served, "analyst") as client:
        client.ask(query("SELECT SUM(visits) FROM people"))
        assert spent(served) == before
        client.ask(query("SET discreet.fresh = on"))
        client.ask(query("SELECT SUM(visits) FROM people"))
    assert float(spent(served)) > float(before)


def test_a_token_that_has_ended_asks_nothing_more(served: Served) -> None:
    service = served[0]
    token, record = service.members.issue("analyst")
    sql = query("SELECT COUNT(*) FROM people WHERE admissions > 2")
    with RawClient(served[2], token=token, user="analyst") as client:
        assert letters(client.ask(sql)) == "NTDCZ"
        before = spent(served)
        service.members.revoke(record.id)
        for text in (sql, query("EXPLAIN SELECT COUNT(*) FROM people"), query("SELECT SUM(admissions) FROM people")):
            assert state(client.ask(text)) == "28P01"
    assert spent(served) == before


def test_a_token_that_ends_while_an_answer_is_awaited_gets_none(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = served[0]
    token, record = service.members.issue("analyst")
    submit = service.submit

    def submit_and_revoked(*given: Any, **named: Any) -> Any:
        job = submit(*given, **named)
        service.members.revoke(record.id)
        return job

    monkeypatch.setattr(service, "submit", submit_and_revoked)
    with RawClient(served[2], token=token, user="analyst") as client:
        assert state(client.ask(query("SELECT COUNT(*) FROM people WHERE admissions > 3"))) == "28P01"


@pytest.mark.long
def test_another_price_is_another_answer(served: Served) -> None:
    sql = query("SELECT AVG(admissions) FROM people")
    with connected(served, "analyst") as client:
        first = client.ask(sql)
        client.ask(query("SET discreet.epsilon = 0.2"))
        other = client.ask(sql)
    assert values(first[2][1]) != values(other[2][1])
    assert "charged epsilon=0.2" in fields(other[0][1])["M"]


def test_another_usual_price_is_another_answer(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service file states another price for what has none; the price of before is on record and free."""
    sql, service = query("SELECT SUM(admissions) FROM people"), served[0]
    notes = []
    for price in ("0.11", "0.12", "0.11"):
        found = service._datasets["people"]
        usual = replace(found, policy=replace(found.policy, default_epsilon=Fraction(price)))
        monkeypatch.setitem(service._datasets, "people", usual)
        with connected(served, "analyst") as client:
            notes.append(fields(client.ask(sql)[0][1])["M"])
    assert [note.partition(";")[0] for note in notes] == [
        "discreet: charged epsilon=0.11",
        "discreet: charged epsilon=0.12",
        "discreet: a stored answer, nothing was charged",
    ]


def test_what_is_left_is_shown(served: Served) -> None:
    with connected(served, "analyst") as client:
        found = client.ask(query(f"EXPLAIN (FORMAT JSON) {GROUPS}"))
        assert b"of 10 remains of data set people" in found[1][1]
        client.ask(query("SET discreet.epsilon = 11"))
        assert state(client.ask(query(GROUPS))) == "53DP1"
        assert state(client.ask(query("SELECT COUNT(*) FROM people WHERE nothing > 3"))) == "42DP1"


def test_the_dialect_is_postgresql_s(served: Served) -> None:
    """7 / 2 of whole numbers is 3 there, and 3.5 elsewhere."""
    with connected(served, "analyst") as client:
        assert letters(client.ask(parse("SELECT SUM(visits / 2) FROM people"), b"S\0\0\0\4")) == "1Z"
        plan = client.ask(query("EXPLAIN SELECT SUM(visits ^ 2) AS s FROM people"))
    assert "E" not in letters(plan)


def test_columns_in_order_with_their_ends() -> None:
    shown = [Shown(name="n", label="N"), Shown(name="plan", label="plan")]
    names = ["plan", "n", "n_low", "n_high"]
    assert displayed(shown, names, intervals=False) == (["n", "plan"], ["N", "plan"])
    assert displayed(shown, names, intervals=True)[1] == ["N", "N_low", "N_high", "plan"]


@pytest.mark.parametrize(("stated", "seconds"), [("0", 600), ("5s", 5), ("250", 0.25), ("2min", 120), ("99h", 600)])
def test_patience(stated: str, seconds: float) -> None:
    settings = SessionSettings(user="ann")
    settings.set("statement_timeout", stated)
    assert patience(settings) == pytest.approx(seconds)


def test_a_clock_that_is_set_back_prolongs_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is set back by hours once a statement has begun to wait, which gives up as soon as it would have."""
    clock = chain([30_000.0], repeat(0.0))
    watches = SimpleNamespace(time=lambda: next(clock), monotonic=time.monotonic)
    monkeypatch.setattr("discreet.pgwire.served_questions.time", watches)
    job = StubJob(id="1", accepted_at=0.0, ready_at=40_000.0, cost={}, paid=True)
    service: Any = SimpleNamespace(authenticate=str, submit=lambda *_, **__: job, job=lambda *_: job)
    settings = SessionSettings(user="ann")
    settings.set("statement_timeout", "200")

    async def run(work: Any, *given: Any, **named: Any) -> Any:
        return work(*given, **named)

    questions = ServedQuestions(service, "ann", "token", SimpleNamespace(run=run))  # type: ignore[arg-type]  # of one thread

    async def asked() -> None:
        with pytest.raises(Refused, match="by its deadline"):
            await asyncio.wait_for(questions.released("SELECT 1", settings, lambda _: []), 30)

    asyncio.run(asked())


def test_remains_of_what_is_hidden() -> None:
    assert remains([{"level": "data set", "name": "x", "allowance": {"epsilon": "1"}}]) == "what remains is not shown"


def test_a_path_is_no_question(served: Served, tmp_path: Path) -> None:
    with connected(served, "analyst") as client:
        for sql in (f"SELECT COUNT(*) FROM '{tmp_path}/x.parquet'", f"SELECT COUNT(*) FROM read_csv('{tmp_path}')"):  # noqa: S608 - ours
            assert state(client.ask(query(sql))) in ("42DP1", "42601", "0A000")

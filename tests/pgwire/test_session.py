"""Both protocols, message by message, and what a session keeps."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from discreet.pgwire.framing import Sync
from discreet.pgwire.message_stream import MessageStream
from discreet.pgwire.session import Session
from pg_sockets import (
    FLUSH,
    SYNC,
    TERMINATE,
    RawClient,
    bind,
    cancel_request,
    columns,
    describe,
    execute,
    fields,
    letters,
    message,
    parse,
    query,
    running,
    startup,
    state,
    text,
    values,
)
from stub_service import StubService

GROUPS = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


def test_a_question_in_the_simple_protocol(client: RawClient, service: StubService) -> None:
    found = client.ask(query("SELECT COUNT(*) AS n, plan FROM people WHERE age > 3 GROUP BY plan;"))
    assert letters(found) == "NTDDDDDCZ"
    assert columns(found[1][1]) == [("n", 20, 0), ("plan", 25, 0)]
    assert values(found[2][1])[1] == b"free"
    assert fields(found[0][1])["M"].startswith("discreet: charged epsilon=0.1; epsilon=")
    assert found[-2][1] == b"SELECT 5\0"
    again = client.ask(query("SELECT COUNT(*) AS n, plan FROM people WHERE age > 3 GROUP BY plan"))
    assert again[2:-1] == found[2:-1]
    assert "nothing was charged" in fields(again[0][1])["M"]


def test_several_statements_and_none(client: RawClient) -> None:
    assert letters(client.ask(query("BEGIN; SELECT 1; SHOW server_version; COMMIT"))) == "CTDCTDCCZ"
    assert letters(client.ask(query("  -- nothing"))) == "IZ"
    failed = client.ask(query("SELECT 1; SELECT nothing FROM people; SELECT 2"))
    assert letters(failed) == "TDCEZ"


def test_prepared_once_and_charged_once_for_each_value(client: RawClient, service: StubService) -> None:
    spent = service.table.budget.spent.epsilon
    sql = "SELECT COUNT(*) AS n FROM people WHERE age < $1 AND plan = $2"
    made = client.ask(parse(sql, "ages"), describe("S", "ages"), SYNC)
    assert letters(made) == "1tTZ"
    assert struct.unpack("!HII", made[1][1]) == (2, 20, 25)
    assert service.table.budget.spent.epsilon == spent
    found = [
        client.ask(bind((age, b"free"), name="ages"), describe(), execute(), SYNC)
        for age in (b"18", b"18", b"40", b"18")
    ]
    assert [letters(one) for one in found] == ["2TNDCZ"] * 4
    assert found[0][3] == found[1][3] == found[3][3] != found[2][3]
    assert float(service.table.budget.spent.epsilon - spent) == pytest.approx(0.2)


def test_results_and_parameters_in_binary(client: RawClient) -> None:
    sql = "SELECT plan, COUNT(*) AS n, AVG(age) AS a FROM people WHERE age < $1 GROUP BY plan"
    found = client.ask(
        parse(sql, oids=(20,)), bind((struct.pack("!q", 30),), given=1, shown=1), describe(), execute(), SYNC
    )
    assert columns(found[2][1]) == [("plan", 25, 1), ("n", 20, 1), ("a", 701, 1)]
    name, count, mean = values(found[4][1])
    assert name == b"free"
    assert len(count or b"") == len(mean or b"") == 8
    plain = client.ask(parse(sql, oids=(20,)), bind((b"30",)), execute(), SYNC)
    assert values(plain[3][1])[1] == str(struct.unpack("!q", count or b"")[0]).encode()
    assert float(values(plain[3][1])[2] or b"") == struct.unpack("!d", mean or b"")[0]


@pytest.mark.parametrize(
    ("item", "oid", "given", "told"),
    [
        ("CASE WHEN COUNT(*) > 5 THEN 1 ELSE 0 END", 20, (), 20),
        ("CASE WHEN COUNT(*) > 5 THEN $1 ELSE 0 END", 20, (b"1", b"70000"), 20),
        ("COUNT(*) * $1", 701, (b"2.5", b"2", b"1e22"), 701),
        ("COUNT(*) * $1", 1700, (b"2.5", b"2"), 701),
    ],
)
@pytest.mark.parametrize("kind", ["S", "P"])
def test_values_are_of_the_types_that_were_described(
    client: RawClient, item: str, oid: int, given: tuple[bytes, ...], *, told: int, kind: str
) -> None:
    """A client read 4667822684095119360 for 12000.0, and 0 for 1, where other types were described than sent."""
    sql = f"SELECT {item} AS n FROM people"  # noqa: S608 - one of the above
    for place, value in enumerate(given or (None,)):
        bound = () if value is None else (value,)
        name = f"{kind}{place}"
        found = client.ask(parse(sql, name, (oid,) * len(bound)), describe("S", name), SYNC)
        shown = [bind(bound, name=name, shown=1), *[describe()] * (kind == "P"), execute(), SYNC]
        found += client.ask(*shown)
        plain = client.ask(bind(bound, name=name), execute(), SYNC)
        described = [columns(payload)[0][1] for letter, payload in found if letter == "T"][-1]
        [sent] = [values(payload)[0] or b"" for letter, payload in found if letter == "D"]
        [text_form] = [values(payload)[0] or b"" for letter, payload in plain if letter == "D"]
        if kind == "S":
            assert described == told
        assert struct.unpack({20: "!q", 701: "!d"}[described], sent)[0] == float(text_form)


def test_rows_in_parts(client: RawClient) -> None:
    found = client.ask(parse(GROUPS), bind(), execute(2), execute(2), execute(2), SYNC)
    assert letters(found) == "12NDDsDDsDCZ"
    assert found[-2][1] == b"SELECT 1\0"


def test_what_is_sent_after_an_error_is_passed_over_until_sync(client: RawClient) -> None:
    found = client.ask(parse("SELECT nothing FROM people"), bind(), execute(), parse("SELECT 1"), SYNC)
    assert letters(found) == "12EZ"
    assert letters(client.ask(parse("SELECT 1"), bind(), execute(), SYNC)) == "12DCZ"


def test_answers_do_not_pile_up_for_who_takes_none(client: RawClient) -> None:
    """Also where there always is a part of a next message, and Sync never comes."""
    client.ask(parse("SELECT " + ",".join(["1"] * 150), "wide"), SYNC)
    client.socket.settimeout(10)
    client.send(describe("S", "wide") * 40, SYNC[:3])
    assert letters(client.until("T")) == "tT"
    client.send(SYNC[3:])
    assert letters(client.until("Z")) == "tT" * 39 + "Z"


def test_flush_sends_what_is_there(client: RawClient) -> None:
    client.send(parse("SELECT 1"), bind(), describe(), FLUSH)
    assert letters(client.until("T")) == "12T"
    assert letters(client.ask(execute(), SYNC)) == "DCZ"


def test_an_empty_statement(client: RawClient) -> None:
    assert letters(client.ask(parse(""), describe("S"), bind(), describe(), execute(), SYNC)) == "1tn2nIZ"


def test_describing_and_looking_for_columns_is_free(client: RawClient, service: StubService) -> None:
    spent = service.table.budget.spent.epsilon
    client.ask(parse("SELECT AVG(age) AS a FROM people WHERE age > $1"), describe("S"), SYNC)
    assert letters(client.ask(query("SELECT * FROM (SELECT COUNT(*) AS n FROM people) t LIMIT 0"))) == "TCZ"
    assert letters(client.ask(query("SELECT * FROM people LIMIT 0"))) == "TCZ"
    assert letters(client.ask(query('SELECT * FROM "people" AS q WHERE (0 = 1)'))) == "TCZ"
    assert letters(client.ask(query(f"EXPLAIN {GROUPS}"))).startswith("TDDD")
    assert service.table.budget.spent.epsilon == spent


def test_a_copy_in_both_protocols(client: RawClient) -> None:
    copy = f"COPY ({GROUPS}) TO STDOUT (FORMAT csv, HEADER)"
    found = client.ask(query(copy))
    assert letters(found).replace("N", "") == "HddddddcCZ"
    assert found[2][1] == b"plan,n\n"
    assert letters(client.ask(parse(copy), bind(), execute(), SYNC)).replace("N", "") == "12HddddddcCZ"
    assert state(client.ask(query("COPY people TO STDOUT"))) == "0A000"
    assert state(client.ask(query("COPY (SELECT * FROM people) TO STDOUT"))) == "42DP2"


def test_transactions_keep_settings_and_undo_no_charge(client: RawClient, service: StubService) -> None:
    client.ask(query("SET discreet.epsilon = 0.5"))
    client.ask(query("BEGIN; SET discreet.epsilon = 0.25"))
    spent = service.table.budget.spent.epsilon
    client.ask(query("SELECT COUNT(*) FROM people WHERE age > 61"))
    assert float(service.table.budget.spent.epsilon - spent) == pytest.approx(0.25)
    assert client.ask(query("ROLLBACK"))[-1] == ("Z", b"I")
    assert float(service.table.budget.spent.epsilon - spent) == pytest.approx(0.25)
    assert values(client.ask(query("SHOW discreet.epsilon"))[1][1]) == [b"0.5"]


def test_a_failed_transaction_has_to_end(client: RawClient) -> None:
    client.ask(query("BEGIN"))
    assert client.ask(query("SELECT nothing FROM people"))[-1] == ("Z", b"E")
    assert state(client.ask(query("SELECT 1"))) == "25P02"
    assert client.ask(query("COMMIT"))[0] == ("C", b"ROLLBACK\0")
    client.ask(query("BEGIN; SAVEPOINT a"))
    assert client.ask(query("SELECT nothing FROM people"))[-1] == ("Z", b"E")
    assert client.ask(query("ROLLBACK TO a"))[-1] == ("Z", b"T")
    assert state(client.ask(query("ROLLBACK; SAVEPOINT a"))) == "25P01"


def test_functions_are_not_called(client: RawClient) -> None:
    assert state(client.ask(message("F", struct.pack("!IHHH", 1, 0, 0, 0)))) == "0A000"
    assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


def test_a_simple_query_ends_a_batch_without_sync(client: RawClient, service: StubService) -> None:
    """So pgjdbc sends SAVEPOINT behind BEGIN, and asyncpg BEGIN behind a statement that it only prepares."""
    begin = parse("BEGIN") + bind() + execute()
    client.send(begin, query("SAVEPOINT a"), parse(GROUPS), bind(), execute(), SYNC, query("COMMIT"))
    assert [letters(client.until("Z")) for _ in range(3)] == ["12CCZ", "12NDDDDDCZ", "CZ"]
    assert letters(client.ask(parse(GROUPS, "held"), bind(portal="p", name="held"), query("SELECT 1"))) == "12TDCZ"
    assert state(client.ask(execute(0, "p"), SYNC)) == "34000"
    client.send(parse("SELECT nothing FROM people"), bind(), execute(), query("SELECT 1"), SYNC, query("SELECT 1"))
    assert [letters(client.until("Z")) for _ in range(2)] == ["12EZ", "TDCZ"]
    assert letters(client.ask(parse("SELECT 1"), message("F", struct.pack("!IHHH", 1, 0, 0, 0)))) == "1EZ"
    assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


def test_several_batches_in_one_go(client: RawClient) -> None:
    batch = parse("SELECT 1") + bind() + execute() + SYNC
    client.send(batch * 3)
    assert letters([one for _ in range(3) for one in client.until("Z")]) == "12DCZ" * 3


def test_a_statement_is_canceled_and_stays_charged() -> None:
    service = StubService(delay=30.0)
    with running(service) as port, ExitStack() as stack:
        client = stack.enter_context(RawClient(port))
        process, secret = next((body[:4], body[4:]) for letter, body in client.greeting if letter == "K")
        client.send(query("SELECT COUNT(*) FROM people"))
        end = time.monotonic() + 60
        while not service.jobs and time.monotonic() < end:
            threading.Event().wait(0.01)
        for key in (b"none", secret):
            with RawClient(port, token=None) as other:
                other.send(cancel_request(process, key))
                assert other.next() is None
        found = client.until("Z")
        assert state(found) == "57014"
        assert float(service.table.budget.spent.epsilon) == pytest.approx(0.1)
        assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


@pytest.mark.parametrize("asked", [query("SELECT 1"), query("SELECT nothing FROM people"), parse("SELECT 1") + SYNC])
def test_a_request_to_cancel_an_answer_that_has_its_end_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, asked: bytes
) -> None:
    """It comes while the client is slow to take the end: an error now would be one of the next statement."""
    flush, serve, sessions, armed = MessageStream.flush, Session.serve, list[Session](), list[bool]()

    async def served(session: Session) -> None:
        sessions.append(session)
        await serve(session)

    async def flushed(stream: MessageStream) -> None:
        if armed and armed.pop():
            sessions[0].cancel()
            await asyncio.sleep(0)
        await flush(stream)

    monkeypatch.setattr(Session, "serve", served)
    monkeypatch.setattr(MessageStream, "flush", flushed)
    with running(StubService()) as port, RawClient(port) as client:
        plain = letters(client.ask(asked))
        armed.append(True)
        assert letters(client.ask(asked)) == plain
        assert not armed
        assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


@pytest.mark.parametrize(("asked", "told"), [("SELECT nothing FROM people", "12EZ"), ("SELECT 1", "12DCZ")])
def test_a_request_to_cancel_that_comes_with_sync_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, asked: str, told: str
) -> None:
    """The end of the passing over was only told: the next statement got no answer."""
    serve, read, sessions = Session.serve, MessageStream.read, list[Session]()

    async def served(session: Session) -> None:
        sessions.append(session)
        await serve(session)

    async def with_cancel(stream: MessageStream, idle: float | None = None) -> Any:
        found = await read(stream, idle)
        if isinstance(found, Sync):
            asyncio.get_running_loop().call_soon(sessions[0].cancel)
        return found

    monkeypatch.setattr(Session, "serve", served)
    monkeypatch.setattr(MessageStream, "read", with_cancel)
    with running(StubService()) as port, RawClient(port) as client:
        client.socket.settimeout(10)
        assert letters(client.ask(parse(asked), bind(), execute(), SYNC)) == told
        assert letters(client.ask(query("SELECT 1"))) == "TDCZ"


def test_a_late_answer_says_so_and_is_free_afterwards() -> None:
    service = StubService(delay=30.0)
    with running(service) as port, RawClient(port) as client:
        client.ask(query("SET statement_timeout = 50"))
        found = client.ask(query("SELECT COUNT(*) FROM people"))
        assert state(found) == "57DP1"
        for job in service.jobs.values():
            job.ready_at = 0.0
        again = client.ask(query("SELECT COUNT(*) FROM people"))
        assert "nothing was charged" in fields(again[0][1])["M"]


def test_a_failure_after_the_charge_has_one_text() -> None:
    with running(StubService(fails=True, delay=0.01)) as port, RawClient(port) as client:
        found = client.ask(query("SELECT COUNT(*) FROM people"))
        said = fields(found[0][1])
        assert said["C"] == "58DP1"
        assert said["M"] == "Expected an answer, got a failure after the charge."


def test_an_exhausted_budget_has_a_state_of_its_own() -> None:
    with running(StubService(epsilon=0.15)) as port, RawClient(port) as client:
        client.ask(query("SELECT COUNT(*) FROM people"))
        assert state(client.ask(query("SELECT AVG(age) FROM people"))) == "53DP1"
        assert letters(client.ask(query("SELECT COUNT(*) FROM people"))) == "NTDCZ"


def test_a_price_is_needed_where_there_is_no_default() -> None:
    with running(StubService(default=None)) as port, RawClient(port) as client:
        assert state(client.ask(query("SELECT COUNT(*) FROM people"))) == "42DP1"
        client.ask(query("SET discreet.within = 'n=500'"))
        assert letters(client.ask(query("SELECT COUNT(*) AS n FROM people"))) == "NTDCZ"


def test_intervals_are_columns(client: RawClient) -> None:
    client.ask(query("SET discreet.intervals = on"))
    found = client.ask(query("SELECT AVG(age) AS a, plan FROM people GROUP BY plan"))
    assert [name for name, _, _ in columns(found[1][1])] == ["a", "a_low", "a_high", "plan"]
    low, value, high = (float(values(found[2][1])[i] or b"") for i in (1, 0, 2))
    assert low <= value <= high


MESSAGES = st.one_of(
    st.builds(query, st.sampled_from(["SELECT 1", "BEGIN", "ROLLBACK", "SELECT * FROM people", "SHOW ALL", ";", "'"])),
    st.builds(
        parse,
        st.sampled_from(["SELECT $1::int", "SELECT 1", "SET x = 1", "SELECT * FROM pg_class", "$$"]),
        st.sampled_from(["", "a"]),
    ),
    st.builds(
        lambda held, name: bind(held, name=name),
        st.sampled_from([(), (b"1",), (None,), (b"x", b"y")]),
        st.sampled_from(["", "a"]),
    ),
    st.builds(describe, st.sampled_from(["S", "P", "?"]), st.sampled_from(["", "a"])),
    st.builds(execute, st.integers(0, 3)),
    st.sampled_from([SYNC, FLUSH, message("C", b"S" + text("a")), message("F", b"\0" * 10)]),
)


@settings(max_examples=examples(1))
@given(st.lists(MESSAGES, max_size=12))
def test_any_order_of_messages_is_answered_or_ended(port: int, sent: list[bytes]) -> None:
    client = RawClient(port)
    client.send(*sent, SYNC, TERMINATE)
    found = client.until()
    assert not found or found[-1][0] in "ZE"
    for letter, payload in found:
        if letter == "E":
            assert fields(payload)["C"] != "58DP1"
    client.close()


@settings(max_examples=examples(1))
@given(st.binary(max_size=60), st.sampled_from([b"", startup(user="analyst", database="people")]))
def test_any_bytes_end_in_a_word_or_silence(port: int, data: bytes, begin: bytes) -> None:
    client = RawClient(port, token=None)
    client.send(begin, data)
    client.socket.shutdown(1)
    found = client.until()
    assert all(letter in "RESNv" for letter, _ in found) or begin == b""
    client.close()


def test_what_a_failed_statement_would_have_set_is_set_by_no_later_one(client: RawClient) -> None:
    def shown() -> bytes | None:
        return values(client.ask(query("SHOW discreet.epsilon"))[1][1])[0]

    before = shown()
    failing = "SELECT set_config('discreet.epsilon', '0.9', false), no_such_function(1)"
    for texts in ((failing,), ("BEGIN", failing, "ROLLBACK")):
        for one in texts:
            client.ask(query(one))
        client.ask(query("SELECT 1"))
        assert shown() == before
    client.ask(query("SELECT set_config('discreet.epsilon', '0.9', false)"))
    assert shown() == b"0.9"

"""Prepared statements, portals and cursors over the protocol."""

from __future__ import annotations

import struct

import pytest

from pg_sockets import SYNC, RawClient, bind, describe, execute, fields, letters, message, parse, query, state, text
from stub_service import StubService

GROUPS = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"


def test_a_cursor_with_hold_is_there_after_its_transaction(client: RawClient) -> None:
    """psycopg2 has it as `cursor("name", withhold=True)`."""
    for hold in ("WITH", "WITHOUT"):
        for sql in ("BEGIN", f"DECLARE c CURSOR {hold} HOLD FOR {GROUPS}", "FETCH 2 FROM c", "COMMIT"):
            found = letters(client.ask(query(sql)))
            assert found[-1] == "Z"
            assert "E" not in found
        assert letters(client.ask(query("FETCH ALL FROM c"))) == ("TDDDCZ" if hold == "WITH" else "EZ")
        client.ask(query("CLOSE ALL"))


def test_what_the_client_could_not_read_is_not_charged(client: RawClient, service: StubService) -> None:
    """Drivers prepare an outdated statement again, by the routine that PostgreSQL names."""
    client.ask(query("SET discreet.fresh = on"), SYNC)
    client.until("Z")
    client.ask(parse(GROUPS, "held"), describe("S", "held"), SYNC)
    asked = len(service.asked)
    assert letters(client.ask(bind(name="held"), execute(), SYNC)) == "2NDDDDDCZ"
    client.ask(query("SET discreet.intervals = on"))
    [said] = [fields(payload) for letter, payload in client.ask(bind(name="held"), execute(), SYNC) if letter == "E"]
    assert (said["C"], said["R"]) == ("0A000", "RevalidateCachedQuery")
    two = message("B", text("", "") + struct.pack("!5H", 0, 0, 2, 0, 1))  # of three: n, n_low and n_high
    assert state(client.ask(parse("SELECT COUNT(*) AS n FROM people"), two, execute(), SYNC)) == "08P01"
    assert len(service.asked) == asked + 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT PERCENTILE_CONT($1) WITHIN GROUP (ORDER BY age) AS m FROM people",
        "SELECT CASE WHEN age < $1 THEN $2 ELSE $3 END AS who, COUNT(*) AS n FROM people GROUP BY who",
        "SELECT ROUND(AVG(visits), $1) AS v FROM people WHERE plan IN ($2::VARCHAR, $3)",
        "SELECT COUNT(*) AS n FROM people WHERE visits < $1::numeric",
    ],
)
def test_parameters_are_described_before_they_are_bound(client: RawClient, sql: str) -> None:
    """As asyncpg, pg8000 and others ask for first: values that stand for their types have to be possible ones."""
    assert letters(client.ask(parse(sql), describe("S"), SYNC)) == "1tTZ"


def test_portals_live_as_long_as_their_transaction(client: RawClient) -> None:
    client.ask(query("BEGIN"))
    assert letters(client.ask(parse(GROUPS), bind(portal="p"), execute(2, "p"), SYNC))[-3:] == "DsZ"
    assert letters(client.ask(execute(0, "p"), SYNC)) == "DDDCZ"
    client.ask(query("COMMIT"))
    assert state(client.ask(execute(0, "p"), SYNC)) == "34000"


def test_names_of_statements(client: RawClient) -> None:
    assert letters(client.ask(parse("SELECT 1", "one"), SYNC)) == "1Z"
    assert state(client.ask(parse("SELECT 2", "one"), SYNC)) == "42P05"
    assert letters(client.ask(message("C", b"S" + text("one")), parse("SELECT 2", "one"), SYNC)) == "31Z"
    assert letters(client.ask(query("DEALLOCATE one"))) == "CZ"
    assert state(client.ask(bind(name="one"), SYNC)) == "26000"
    assert state(client.ask(query("DEALLOCATE one"))) == "26000"

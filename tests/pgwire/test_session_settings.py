"""Settings are checked when they are set, and follow transactions."""

from __future__ import annotations

import pytest

from discreet.pgwire.session_settings import CHECKS, MOST_POINTS, SessionSettings, amounts
from discreet.pgwire.sqlstates import Refused
from pg_sockets import SYNC, RawClient, bind, execute, parse, query, values


@pytest.fixture
def settings() -> SessionSettings:
    return SessionSettings(user="ann", first={"discreet.epsilon": "0.2"})


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("discreet.epsilon", "0.10", "0.10"),
        ("DISCREET.EPSILON", " 1e-2 ", "0.01"),
        ("discreet.intervals", "TRUE", "on"),
        ("discreet.within", "n = 25,v=0.5", "n=25, v=0.5"),
        ("discreet.scans", "Declared", "declared"),
        ("discreet.confidence", "0.9", "0.9"),
        ("application_name", "a tool", "a tool"),
        ("client_encoding", "utf-8", "UTF8"),
        ("timezone", "Europe/Berlin", "UTC"),
    ],
)
def test_values_that_are_taken(settings: SessionSettings, name: str, value: str, held: str) -> None:
    assert settings.set(name, value) == held
    assert settings.get(name.lower()) == held


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("discreet.epsilon", "-1", "22023"),
        ("discreet.epsilon", "nan", "22023"),
        ("discreet.epsilon", "1e99", "22023"),
        ("discreet.within", "25", "22023"),
        ("discreet.confidence", "1", "22023"),
        ("discreet.intervals", "perhaps", "22023"),
        ("discreet.scans", "all", "22023"),
        ("discreet.epsilom", "1", "42704"),
        ("client_encoding", "latin1", "22023"),
        ("datestyle", "German", "22023"),
        ("server_version", "9", "55P02"),
        ("application_name", "x" * 2000, "22023"),
    ],
)
def test_values_that_are_refused(settings: SessionSettings, name: str, value: str, state: str) -> None:
    with pytest.raises(Refused) as refused:
        settings.set(name, value)
    assert refused.value.state == state


def test_of_the_prices_the_last_one_counts(settings: SessionSettings) -> None:
    assert settings.price(None) == {"epsilon": "0.2"}
    settings.set("discreet.rho", "0.01")
    settings.set("discreet.delta", "0.000001")
    assert settings.price(None) == {"rho": "0.01", "delta": "0.000001"}
    settings.set("discreet.within", "n=25")
    settings.set("discreet.delta", None)
    assert settings.price(None) == {"within": {"n": "25"}, "confidence": 0.95}
    settings.reset_all()
    assert settings.price(None) == {"epsilon": "0.2"}
    assert SessionSettings(user="ann").price({"epsilon": "0.1"}) == {"epsilon": "0.1"}
    assert SessionSettings(user="ann").price(None) is None


def test_transactions(settings: SessionSettings) -> None:
    settings.begin()
    settings.set("discreet.epsilon", "0.7")
    settings.set("discreet.intervals", "on", local=True)
    settings.end(keep=True)
    assert (settings.get("discreet.epsilon"), settings.get("discreet.intervals")) == ("0.7", "off")
    settings.begin()
    settings.set("discreet.epsilon", "0.9")
    settings.end(keep=False)
    assert settings.get("discreet.epsilon") == "0.7"
    settings.set("discreet.intervals", "on", local=True)
    assert settings.get("discreet.intervals") == "off"
    settings.set("discreet.epsilon", None)
    assert settings.get("discreet.epsilon") == "0.2"


def test_a_price_of_a_transaction_leaves_the_one_outside(settings: SessionSettings) -> None:
    for one, other in (("discreet.epsilon", "discreet.rho"), ("discreet.rho", "discreet.epsilon")):
        settings.set(one, "0.01")
        settings.begin()
        settings.set(other, "0.5", local=True)
        assert settings.price(None) == {other.removeprefix("discreet."): "0.5"}
        settings.end(keep=True)
        assert settings.price(None) == {one.removeprefix("discreet."): "0.01"}
    settings.set("discreet.epsilon", None)
    assert settings.price(None) == {"epsilon": "0.2"}  # as at the start, whichever price was set


def test_what_is_set_for_the_session_outlasts_what_is_local(settings: SessionSettings) -> None:
    settings.begin()
    settings.set("discreet.epsilon", "0.3")
    settings.set("discreet.epsilon", "5", local=True)
    settings.end(keep=True)
    assert settings.get("discreet.epsilon") == "0.3"


def test_savepoints(settings: SessionSettings) -> None:
    settings.begin()
    settings.set("discreet.epsilon", "0.1")
    settings.save("a")
    settings.set("discreet.epsilon", "5")
    settings.save("b")
    settings.leave("a", keep=False)
    assert settings.get("discreet.epsilon") == "0.1"
    with pytest.raises(Refused):
        settings.leave("b", keep=True)
    settings.set("discreet.epsilon", "0.3")
    settings.leave("a", keep=False)
    settings.leave("a", keep=True)
    settings.end(keep=True)
    assert settings.get("discreet.epsilon") == "0.1"
    settings.begin()
    for _ in range(MOST_POINTS):
        settings.save("c")
    with pytest.raises(Refused):
        settings.save("c")


def test_what_fails_together_sets_nothing(client: RawClient) -> None:
    """Statements of one text, and those up to one Sync, are one transaction: a price that was set in it is not kept."""
    failing = "SELECT nothing FROM people"
    setting = "SET discreet.epsilon = 5"

    def shown() -> bytes | None:
        return values(client.ask(query("SHOW discreet.epsilon"))[1][1])[0]

    before = shown()
    client.ask(query(f"{setting}; {failing}"))
    assert shown() == before
    client.ask(query(f"{setting}; SET LOCAL discreet.rho = 3; BEGIN; {failing}"))
    client.ask(query("ROLLBACK"))
    assert shown() == before
    client.ask(parse(setting), bind(()), execute(), parse(failing), bind(()), execute(), SYNC)
    assert shown() == before
    client.ask(parse(setting), bind(()), execute(), SYNC)
    assert shown() == b"5"
    client.ask(query("SET discreet.epsilon = 4; SELECT 1"))
    assert shown() == b"4"


def test_everything_is_listed(settings: SessionSettings) -> None:
    names = [name for name, _ in settings.everything()]
    assert set(CHECKS) <= set(names)
    assert len(names) == len(set(names))
    assert settings.get("session_authorization") == "ann"
    assert settings.get("no.such") is None
    assert amounts("a=1") == {"a": "1"}

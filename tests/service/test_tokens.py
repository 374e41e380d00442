from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.service.members import Members
from discreet.service.service_errors import NotSignedIn
from discreet.service.state_store import StateStore, sqlite_file
from discreet.service.tokens import is_token, new_token
from service_fixtures import Clock

HOSTILE = (
    "",
    "x",
    "dst_",
    "dst_" + "a" * 42,
    "dst_" + "é" * 43,
    "dst_" + "a" * 43 + "\n",
    "a" * 100_000,
    None,
    1,
    b"x",
)


def test_only_hashes_are_stored(tmp_path: Path) -> None:
    store = StateStore(sqlite_file(tmp_path / "state.db"))
    members = Members(store)
    members.add("ada")
    token, _ = members.issue("ada")
    assert members.authenticate(token).name == "ada"
    store.close()
    assert all(token.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert (tmp_path / "state.db").stat().st_mode & 0o077 == 0


def test_tokens_end_by_time_by_revocation_and_are_refused_in_one_way(tmp_path: Path) -> None:
    clock = Clock()
    store = StateStore(sqlite_file(tmp_path / "state.db"))
    members = Members(store, clock)
    members.add("ada")
    short, _ = members.issue("ada", expires=clock.now + 10)
    other, record = members.issue("ada")
    session = members.session("ada")
    assert {members.authenticate(one).name for one in (short, other, session)} == {"ada"}
    clock.now += 10
    members.revoke(record.id)
    members.sign_out(session)
    texts = set()
    for token in (short, other, session, new_token(), *HOSTILE):
        with pytest.raises(NotSignedIn) as refusal:
            members.authenticate(token)
        texts.add(str(refusal.value))
    assert len(texts) == 1
    store.close()


def test_a_session_ends_with_its_token_and_begins_no_other(tmp_path: Path) -> None:
    clock = Clock()
    store = StateStore(sqlite_file(tmp_path / "state.db"))
    members = Members(store, clock)
    for name in ("ada", "bob"):
        members.add(name)
    short, _ = members.issue("ada", expires=clock.now + 10)
    lasting, record = members.issue("ada")
    sessions = [members.sign_in(short), members.sign_in(lasting), members.session("bob")]
    for session in sessions:
        assert members.authenticate(session).name in ("ada", "bob")
        with pytest.raises(NotSignedIn):
            members.sign_in(session)
    clock.now += 10
    with pytest.raises(NotSignedIn):
        members.authenticate(sessions[0])
    members.revoke(record.id)
    with pytest.raises(NotSignedIn):
        members.authenticate(sessions[1])
    assert members.authenticate(sessions[2]).name == "bob"
    store.close()


def test_a_session_that_is_begun_while_its_token_is_revoked_ends_with_it(
    opened: Callable[[], StateStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The revocation comes between the look at the token and the session; it ended only the sessions of then."""
    store = opened()
    members, read = Members(store), store.read
    members.add("ada")
    token, record = members.issue("ada")

    def read_and_revoked(sql: str, *values: Any) -> Any:
        found = read(sql, *values)
        monkeypatch.undo()
        members.revoke(record.id)
        return found

    monkeypatch.setattr(store, "read", read_and_revoked)
    with pytest.raises(NotSignedIn):
        members.authenticate(members.sign_in(token))
    monkeypatch.undo()
    assert store.read("SELECT COUNT(*) FROM token WHERE kind = 'session' AND revoked IS NULL") == [(0,)]


def test_hostile_texts_are_no_tokens() -> None:
    assert not any(map(is_token, HOSTILE))
    assert len({new_token() for _ in range(100)}) == 100

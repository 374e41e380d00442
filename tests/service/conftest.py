"""Where a state goes, a PostgreSQL server, where one is installed, included; and a folder in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.service.state_store import StateStore, state_at
from killable_postgresql import PRESENT, KillableServer
from ledger_fixtures import folder, server

__all__ = ("folder", "server")

NUMBERS = itertools.count(1)


@pytest.fixture(params=["file", *(["postgresql"] if PRESENT else [])])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a state of each kind goes."""
    if request.param == "file":
        return str(tmp_path / "state.db")
    server: KillableServer = request.getfixturevalue("server")
    return server.url(f"state_{next(NUMBERS)}")


@pytest.fixture
def opened(place: str) -> Iterator[Callable[[], StateStore]]:
    """Opens the state, as another process would."""
    made: list[StateStore] = []

    def another() -> StateStore:
        made.append(state_at(place))
        return made[-1]

    yield another
    for store in made:
        store.close()

"""Since when steps are on record: who says so first is believed, for a state in a file as on a server."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.service.series_book import SeriesBook
from discreet.service.state_store import StateStore, state_at
from killable_postgresql import PRESENT, KillableServer
from service_fixtures import Clock

NUMBERS = itertools.count(1)


@pytest.fixture(params=["file", *(["postgresql"] if PRESENT else [])])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[StateStore]]:
    """One state, as two processes have it."""
    place = str(tmp_path / "state.db")
    if request.param == "postgresql":
        server: KillableServer = request.getfixturevalue("server")
        place = server.url(f"series_state_{next(NUMBERS)}")
    made = [state_at(place) for _ in range(2)]
    yield made
    for one in made:
        one.close()


def test_who_says_so_first_is_believed(stores: list[StateStore]) -> None:
    clock = Clock()
    first, second = (SeriesBook(store, clock) for store in stores)
    begun = clock.now
    assert first.declared("people daily") == begun
    first.note("opening", 3)
    clock.now += 5
    second.note("opening", 3)
    second.note("opening", 4)
    second.note("another", 9)
    assert second.declared("people daily") == begun
    assert first.on_record("opening") == second.on_record("opening") == [(3, begun), (4, begun + 5)]
    assert first.on_record("nothing") == []


def test_all_may_say_so_at_once(stores: list[StateStore]) -> None:
    books = [SeriesBook(store) for store in stores]
    found: list[float] = []
    threads = [threading.Thread(target=lambda book=book: found.append(book.declared("one"))) for book in books * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1

"""A state that an older version made."""

from __future__ import annotations

from collections.abc import Callable

from discreet.service.jobs import JobBook
from discreet.service.public_moments import State
from discreet.service.state_store import Execute, StateStore

FIRST_JOBS = """CREATE TABLE job (
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, dataset TEXT NOT NULL, idempotency TEXT, digest TEXT NOT NULL,
    ask TEXT NOT NULL, what TEXT NOT NULL, cost TEXT NOT NULL, release TEXT NOT NULL,
    accepted DOUBLE PRECISION NOT NULL, first DOUBLE PRECISION NOT NULL, owner TEXT NOT NULL,
    stage TEXT NOT NULL, done DOUBLE PRECISION, failure TEXT, paid INTEGER, answer {bytes},
    entry BIGINT, twin TEXT, UNIQUE (principal, idempotency))"""
FIRST_JOB = """INSERT INTO job VALUES (
    'one', 'ada', 'people', 'key', 'digest', '{}', 'count', '{}', 'release', 10.0, 2.0, 'gone', 'ended', 11.5, NULL, 1,
    NULL, 7, NULL)"""


def test_a_state_of_the_first_version_is_brought_up_to_this_one(place: str, opened: Callable[[], StateStore]) -> None:
    """Its jobs are shown when they were, and know their ledger once their data set is declared."""
    store = opened()
    of_bytes = "BYTEA" if place.startswith("postgresql") else "BLOB"

    def as_it_was(execute: Execute) -> None:
        execute("DROP TABLE job")
        execute(FIRST_JOBS.format(bytes=of_bytes))
        execute("CREATE INDEX job_entry ON job (dataset, entry)")
        execute(FIRST_JOB)
        execute("UPDATE meta SET value = '1' WHERE name = 'version'")

    store.write(as_it_was)
    for _ in range(2):
        book = JobBook(opened(), "here", lambda: 11.9)
        found = book.find("one")
        assert found is not None
        assert (found.shown(11.9).state, found.shown(11.9).ready_at) == (State.ACCEPTED, 12.0)
        assert found.shown(12.0).state is State.READY
        for ledger in ("a ledger", "the place that it was moved to"):
            book.adopt("people", ledger, "staff")
            assert book.hidden_entries(ledger, [7]) == {7}

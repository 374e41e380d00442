"""What auditors are shown of a ledger, and when."""

from __future__ import annotations

from pathlib import Path

from discreet.service.auditor_verbs import Heads
from service_fixtures import data_set


def test_the_head_is_that_of_the_minute(tmp_path: Path) -> None:
    """Whatever is charged meanwhile; and not that of a year that the clock was ahead."""
    people = data_set("people", tmp_path)
    heads, shown = Heads({"people": people}), []
    for now in (0.0, 59.0, 60.0, 3e7, 61.0):
        people.budget.freeze(by="cleo", why="a report")
        people.budget.unfreeze(by="cleo", why="it was nothing")
        heads.read(now)
        shown.append(heads.of("people")["position"])
    assert shown == [2, 2, 6, 8, 10]

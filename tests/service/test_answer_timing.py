from __future__ import annotations

import pytest

from discreet.service.answer_timing import GRACE, Pace, Schedule, State, step_of, step_time

SCHEDULE = Schedule(start=100.0, first=1.0)


def test_what_is_done_waits_for_the_next_step() -> None:
    for done in (100.0, 100.5, 101 - GRACE):
        assert SCHEDULE.view(done, 100.99) == (State.ACCEPTED, 101.0)
        assert SCHEDULE.view(done, 101.0) == (State.READY, 101.0)
    assert SCHEDULE.view(101.1, 101.9) == SCHEDULE.view(None, 101.9) == (State.LATE, 102.0)
    assert SCHEDULE.view(101.1, 102.0) == (State.READY, 102.0)
    assert SCHEDULE.view(102.5, 103.9) == (State.LATE, 104.0)


def test_failures_take_the_same_way() -> None:
    for now in (100.0, 100.99, 101.5, 103.9):
        for done in (100.2, 101.2, 103.0):
            shown, moment = SCHEDULE.view(done, now)
            failed, same = SCHEDULE.view(done, now, failed=True)
            assert moment == same
            assert (failed is State.FAILED) == (shown is State.READY)


@pytest.mark.parametrize("done", [100.0, 101.5, 130.0, 1e6, 1e30])
def test_the_view_depends_on_the_step_alone(done: float) -> None:
    step = step_of(100.0, 1.0, done)
    twin = (step_time(100.0, 1.0, step - 1) if step else 100.0) + GRACE / 2
    for now in (100.0, 100.9, 101.0, 102.5, 131.9, 132.0, 5e5, 2e6):
        assert SCHEDULE.view(done, now) == SCHEDULE.view(twin, now)


def test_first_steps_follow_from_what_is_stated() -> None:
    pace = Pace(least=0.5, per_million_rows=2.0, rows=2_000_000)
    assert pace.first_step(totals=1, cells=1) == 4.6
    assert pace.first_step(totals=2, cells=1) > pace.first_step(totals=1, cells=1)
    assert pace.first_step(totals=1, cells=100_000) > pace.first_step(totals=1, cells=1)

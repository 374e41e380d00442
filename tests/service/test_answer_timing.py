from __future__ import annotations

import pytest

from discreet.service.answer_timing import GRACE, PARTS, Pace, Schedule, State, modelled_end, schedule

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
    length = SCHEDULE.moment(done) - 100
    twin = 100 + (length / 2 if length > 1 else 0.0) + GRACE / 2
    for now in (100.0, 100.9, 101.0, 102.5, 131.9, 132.0, 5e5, 2e6):
        assert SCHEDULE.view(done, now) == SCHEDULE.view(twin, now)


def moments(of: Schedule, number: int) -> list[float]:
    """The first of its moments."""
    found = [of.after(of.start)]
    while len(found) < number:
        found.append(of.after(found[-1]))
    return found


@pytest.mark.parametrize("first", [0.1, 0.3, 1.0, 4.6, 300.0])
@pytest.mark.parametrize("start", [0.0, 1.9e9 + 1 / 3])
def test_moments_are_the_same_however_they_are_found(start: float, first: float) -> None:
    alone, behind = schedule(start, first, waits=False), schedule(start, first, waits=True)
    steps = moments(alone, 12)
    assert steps == [start + first * 2.0**k for k in range(12)]
    dense = moments(behind, 250)
    assert set(steps[:8]) <= set(dense)
    for before, moment, following in zip(dense, dense[1:], dense[2:], strict=False):
        assert behind.at_or_after(moment) == behind.at_or_after((before + moment) / 2) == moment
        assert behind.moment(moment - GRACE) == moment != behind.moment(moment)
        assert behind.view(moment - 2 * GRACE, moment) == (State.READY, moment)
        assert behind.view(None, moment) == (State.LATE, following)
        assert first * 0.999 <= moment - before <= max(first, (before - start) / PARTS) * 1.001


def test_a_late_look_does_not_double_what_is_behind_it() -> None:
    """Forty looks of two steps behind one of 64: with steps alone the last one would be shown after 2**46."""
    shown = Schedule(start=0.0, first=1.0).moment(50.0)
    for number in range(40):
        mine = schedule(number + 1.0, 1.0, waits=True)
        shown = mine.moment(modelled_end(mine, shown, shown + 1.5))
    assert 64 + 2 * 40 <= shown <= (64 + 2 * 40) * 1.5


def test_first_steps_follow_from_what_is_stated() -> None:
    pace = Pace(least=0.5, per_million_rows=2.0, rows=2_000_000)
    assert pace.first_step(totals=1, cells=1) == 4.6
    assert pace.first_step(totals=2, cells=1) > pace.first_step(totals=1, cells=1)
    assert pace.first_step(totals=1, cells=100_000) > pace.first_step(totals=1, cells=1)

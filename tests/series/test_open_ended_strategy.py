"""Series without an end: what one unit moves, errors beside those of the dense matrix, and beside a known horizon."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.series.noisy_stream import NoisyStream, estimated, measured
from discreet.series.open_ended_strategy import OpenEndedStrategy
from discreet.series.participation import Integers, Participation
from discreet.series.series_record import Opening
from discreet.series.step_calendar import StepCalendar
from discreet.series.step_windows import MOST_OPEN, StepWindows
from discreet.series.stream_strategy import StreamStrategy
from series_fixtures import asked, exact, protected, until, worst

NAMES = (1, 7, "all")


@pytest.fixture(name="forever", scope="module")
def _forever() -> OpenEndedStrategy:
    return OpenEndedStrategy.made(StepWindows.open_ended(NAMES))


def dense(column: Integers) -> Integers:
    lags = np.subtract.outer(np.arange(len(column)), np.arange(len(column)))
    return np.where(lags >= 0, column[np.abs(lags)], 0)


@pytest.mark.parametrize(("steps", "apart"), [(1, 1), (2, 1), (3, 1), (8, 1), (2, 3), (3, 2), (2, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_no_unit_moves_the_measurements_further(seed: int, steps: int, apart: int) -> None:
    """Random columns that fall, beside every unit of eight steps; near it, where the column ends before they do."""
    random = np.random.default_rng(seed)
    taken, windows = Participation(steps, apart), StepWindows.open_ended((1,), steps=8)
    column = np.sort(random.integers(0, 50, size=8))[::-1] + 1
    strategy = OpenEndedStrategy(windows, column, taken)
    assert strategy.moved >= worst(dense(column), steps, apart)
    rows = np.abs(dense(column)).sum(axis=0)
    assert strategy.absolute >= taken.absolute(rows)
    short = np.array([9, 5, 1, 0, 0, 0, 0, 0])
    found = OpenEndedStrategy(windows, short, taken).moved
    assert worst(dense(short), steps, apart) <= found
    if (steps - 1) * apart < 6:
        assert worst(dense(short), steps, apart) == found


def test_of_a_million_steps(forever: OpenEndedStrategy) -> None:
    """All of them are priced: two of a unit side by side cost less than four times one, and far ones twice."""
    assert len(forever.column) == MOST_OPEN
    assert forever.moved == int(forever.column @ forever.column)
    twice = OpenEndedStrategy(forever.windows, forever.column, Participation(2))
    far = OpenEndedStrategy(forever.windows, forever.column, Participation(2, 4000))
    assert 2 * forever.moved < far.moved < 2.4 * forever.moved < twice.moved < 4 * forever.moved


def test_errors_are_those_of_the_column() -> None:
    """Beside the dense matrix: never below, at most one part in 200 above; of months, that of the widest."""
    calendar = StepCalendar.of(Kind.DATE, start="2026-01-15", every="1 day", until="2026-06-30")
    windows = StepWindows.open_ended((*NAMES, "month"), calendar.calendar_windows(), calendar.steps)
    made = OpenEndedStrategy.made(windows)
    other = StreamStrategy(windows, dense(made.column), Participation(), "dense")
    for kind in ("deviations", "roundings"):
        for name in windows.first:
            ratio = getattr(made, kind)[name] / getattr(other, kind)[name]
            assert ratio.min() > 1 - 1e-9
            assert ratio.max() < (1.25 if name == "month" else 1.0051)


def test_less_than_half_more_than_with_a_known_end(forever: OpenEndedStrategy) -> None:
    """The mean square of the errors of the first n running totals beside a square root that was made for n steps."""
    places = np.arange(1, MOST_OPEN)
    column = np.concatenate([[1.0], np.cumprod((2 * places - 1) / (2 * places))])
    known = np.cumsum(column**2)  # of the column, and of the errors: it is its own inverse, summed up
    ours = np.cumsum(forever.deviations["all"] ** 2) * forever.moved
    ratios = ours / (known * np.cumsum(known))
    assert ratios[27:].max() < 1.5
    assert forever.deviations["all"][-1] ** 2 * forever.moved < 1.6 * known[-1] ** 2


@pytest.mark.parametrize(
    "column", [[2, 1], [1, 2, 1], [0, 0, 0], [3, 2, -1], [2**19, 1, 1], [1.0, 1.0, 1.0], [[1, 1, 1]]], ids=str
)
def test_columns_that_are_none_are_refused(column: list[Any]) -> None:
    with pytest.raises(InvalidParameter, match="a column of an int64"):
        OpenEndedStrategy(StepWindows.open_ended((1,), steps=3), np.array(column))


def test_windows_of_too_many_lengths_are_refused() -> None:
    hours = StepCalendar.of(Kind.TIMESTAMP, start="2026-01-01", every="1 hour", until="open")
    begins = hours.calendar_windows()
    OpenEndedStrategy.made(StepWindows.open_ended((1, 9000, "week"), begins, 20_000))
    with pytest.raises(InvalidParameter, match="windows with a calendar of at most 400 steps"):
        OpenEndedStrategy.made(StepWindows.open_ended((1, "year"), begins, 20_000))


def test_a_stream_goes_on() -> None:
    """What is measured determines each step; a noisy one is near it, and never drawn again."""
    strategy = OpenEndedStrategy.made(StepWindows.open_ended(NAMES, steps=5000))
    counts = np.arange(40) % 7
    measurements = [[int(one) for one in row] for row in measured(strategy, counts[:, None])]
    assert np.allclose(estimated(strategy, measurements)[:, 0], counts)
    stream = NoisyStream(strategy, rho=50)
    stream.publish(counts[:10])
    before = list(stream.published)
    stream.publish(counts)
    assert stream.published[:10] == before
    assert np.abs(stream.values()[:, 0] - counts).max() < 3


def test_an_opening_of_a_million_steps_is_small_and_comes_back(forever: OpenEndedStrategy) -> None:
    stored = Opening({"every": "1 day"}, {}, forever).to_bytes()
    assert len(stored) < 200_000
    found = Opening.of(stored).strategy
    assert isinstance(found, OpenEndedStrategy)
    assert np.array_equal(found.column, forever.column)
    assert (found.moved, found.participation, found.family) == (forever.moved, forever.participation, forever.family)
    for name in NAMES:
        assert np.array_equal(found.windows.first[name], forever.windows.first[name])
        for kind in ("deviations", "roundings"):
            assert np.array_equal(getattr(found, kind)[name], getattr(forever, kind)[name])


@pytest.mark.parametrize(
    ("kind", "start", "every", "steps"),
    [
        (Kind.DATE, "2026-01-01", "1 day", MOST_OPEN),
        (Kind.DATE, "2026-01-01", "1 year", 7973),
        (Kind.DATE, "2026-03-01", "1 month", 12 * 7973 + 9),
        (Kind.DATE, "9999-12-30", "1 day", 1),
        (Kind.TIMESTAMP, "2026-01-01", "1 hour", MOST_OPEN),
        (Kind.INTEGER, 0, 2**50, 2**13 - 1),
        (Kind.INTEGER, -5, 1, MOST_OPEN),
    ],
)
def test_an_open_end_is_that_of_the_calendar(kind: Kind, start: object, every: object, steps: int) -> None:
    calendar = StepCalendar.of(kind, start=start, every=every, until="open")
    assert (calendar.steps, calendar.open_ended) == (steps, True)
    calendar.begin(steps)
    assert calendar.last(steps - 1) is not None
    assert all(len(own) == steps for own in calendar.calendar_windows().values())


@pytest.mark.long
def test_a_series_without_an_end(tmp_path: Path) -> None:
    """It is priced for all its steps, goes on in another process, and says how it grows."""
    ledger = tmp_path / "open.db"
    stated = {"until": "open", "windows": (1, "all", "month"), "max_steps": 3}
    first = asked(protected(until(4), budget=dp.Budget(rho=1, ledger=ledger)), **stated)
    account = first.explain(rho=1)
    assert "n, window all, in 10 years" in account.accuracy
    one = first.release(through="2026-01-04", rho=1)
    other = asked(protected(until(9), budget=dp.Budget(rho=1, ledger=ledger), version=2), **stated)
    two = other.release(through="2026-01-09")
    assert two.to_pyarrow().to_pylist()[: len(one)] == one.to_pyarrow().to_pylist()
    assert other._terms.table.budget.spent.rho == 1
    plan = first._plan({"epsilon": None, "delta": 0, "rho": 1})
    assert int(plan.noises[0].sensitivity ** 2) >= plan.strategy.moved
    [totals] = exact(other, 9, strategy=plan.strategy)
    assert totals.shape == (9, 2)
    assert two.latest.to_pandas().step.tolist() == [datetime.date(2026, 1, 9)] * 6


def test_an_open_end_takes_gaussian_noise_alone() -> None:
    question = asked(protected(), until="open")
    with pytest.raises(InvalidQuery, match="a delta or a rho beside an open end"):
        question.explain(epsilon=1)
    with pytest.raises(InvalidQuery, match="numbers in an answer"):
        question._terms.check_size(20, 365 * 1000)
    question._terms.check_size(2, 365 * 1000)
    assert question._terms.table.budget.spent.rho == 0

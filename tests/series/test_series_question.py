"""The verb: what it takes, what it shows, what it refuses."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from series_fixtures import ROWS, asked, protected


def test_it_says_what_it_is() -> None:
    table = protected()
    series = table.series(by="day", start="2026-01-01", max_steps=3)
    assert repr(series).startswith("<series of <private table 'hospital'")
    assert repr(series).endswith(": 365 steps>")
    assert repr(asked(table)) == "<series about 'hospital': n by ward, 20 steps of 1 day>"
    assert repr(series.agg(n=lambda t: t.count())) == "<series about 'hospital': n, 365 steps of 1 day>"


def test_its_words_are_those_of_the_question() -> None:
    table = protected()
    asked(table.filter(lambda t: t.nights > 2)).release(through="2026-01-02", rho=1)
    [entry] = table.budget.entries()
    asked_of, told = entry.what.split(": ")
    assert asked_of == "n (count) by ward where nights > Cast(Cast(2, int64), float64)"
    assert told == "series 'series', 20 steps of 1 day from 2026-01-01 on"


@pytest.mark.parametrize(
    "stated",
    [
        {"by": "date"},
        {"by": "ward"},
        {"max_steps": 0},
        {"name": ""},
        {"windows": (21,)},
        {"arrives": "nights", "late": "drop"},
        {"arrives": "loaded", "late": "drop"},
    ],
)
def test_what_cannot_be_a_series_is_refused(stated: dict[str, Any]) -> None:
    with pytest.raises((InvalidParameter, InvalidQuery)):
        asked(protected(), **stated)


def test_only_protected_tables_have_series() -> None:
    from discreet.series.series_question import series

    with pytest.raises(InvalidParameter, match="a protected table"):
        series(ROWS, "day", start="2026-01-01")


def test_rows_without_a_day_or_outside_the_steps_are_left_out() -> None:
    made = {"person": [1, 2, 3], "ward": ["A"] * 3, "nights": [1.0] * 3}
    table = pa.table({**made, "day": pa.array([None, *ROWS["day"].to_pylist()[:2]], pa.date32())})
    question = asked(protected(table, budget=dp.Budget(rho=10**7)), start="2026-01-01", windows=("all",))
    answer = question.release(through="2026-01-20", rho=10**6)
    assert round(float(answer.latest["n"].sum())) == 2


def test_a_year_is_what_a_series_has_by_itself() -> None:
    for every, steps in (("1 day", 365), ("1 week", 52), ("1 month", 12), ("1 quarter", 4)):
        series = protected().series(by="day", start="2026-01-01", every=every, max_steps=1)
        assert series._terms.calendar.steps == steps

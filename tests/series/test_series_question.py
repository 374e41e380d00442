"""The verb: what it takes, what it shows, what it refuses."""

from __future__ import annotations

import datetime
import json
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
    assert asked_of == "n (count) by ward where nights > 2"
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


STATED: dict[str, dict[str, Any]] = {
    "plain": {},
    "of a name": {"name": "other"},
    "later": {"start": "2026-01-02"},
    "longer": {"until": "2026-02-01"},
    "without an end": {"until": "open"},
    "of two days": {"every": "2 days"},
    "of windows": {"windows": [7, 1, "all", "week"]},
    "of windows in another order": {"windows": [1, 7, "all", "week"]},
    "of fewer steps": {"max_steps": 2},
    "apart": {"apart": 3},
    "settled": {"settled": "25 hours"},
    "settled later": {"settled": "2 weeks"},
}


@pytest.mark.long
def test_each_way_to_state_a_series_has_its_document() -> None:
    digests = set()
    for stated in STATED.values():
        table = protected()
        question = asked(table, **stated)
        document = json.loads(json.dumps(question.document()))
        again: Any = dp.question(document, {"hospital": table})
        assert (repr(again), again.document()) == (repr(question), document)
        assert again._asked == question._asked  # what the ledger keeps of it
        digests.add(dp.question_digest(document))
    assert len(digests) == len(STATED)


def test_what_stands_for_another_thing_is_written_as_that() -> None:
    table = protected()
    written = asked(table, start=datetime.date(2026, 1, 1), settled="48 hours", windows=(1,), max_steps=10**6)
    same = asked(table, start="2026-01-01", settled="2 days", windows=[1], max_steps=20)
    assert written.document() == same.document()
    assert written.document()["series"]["steps"] == {
        "name": "series", "by": "day", "start": {"date": "2026-01-01"}, "every": "1 day",
        "until": {"date": "2026-01-20"}, "windows": [1], "max_steps": 20, "settled": "2 days",
    }  # fmt: skip


def test_a_series_goes_on_by_its_document() -> None:
    table = protected()
    question = asked(table)
    document = json.loads(json.dumps(question.document()))
    first = question.release(through="2026-01-02", rho=1)
    again: Any = dp.question(document, {"hospital": table})
    assert table.budget.spent.rho == 1
    second = again.release(through="2026-01-03")
    assert table.budget.spent.rho == 1
    held = second.to_pyarrow()
    assert held.slice(0, first.to_pyarrow().num_rows)["n"].to_pylist() == first.to_pyarrow()["n"].to_pylist()


@pytest.mark.parametrize(
    "changed",
    [
        {"start": "2026-01-01"},
        {"start": None},
        {"until": {"date": "2026-01-19"}, "every": "2 days"},
        {"windows": []},
        {"windows": [1, 1]},
        {"windows": [1] * 31},
        {"windows": ["1"]},
        {"max_steps": 10**6},
        {"max_steps": 0},
        {"apart": 1},
        {"settled": "0 hours"},
        {"settled": "48 hours"},
        {"every": 1},
        {"late": "drop"},
        {"by": "unit"},
        {"name": ""},
        {"through": "2026-01-02"},
    ],
)
def test_a_document_that_a_series_would_not_write_is_refused(changed: dict[str, Any]) -> None:
    table = protected()
    document = json.loads(json.dumps(asked(table).document()))
    document["series"]["steps"] |= changed
    with pytest.raises((InvalidQuery, InvalidParameter)):
        dp.question(document, {"hospital": table})

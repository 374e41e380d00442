"""Words for the parts of dates that differ between dialects name one part."""

from __future__ import annotations

import ibis

from discreet.statements.dates import PARTS, UNITS, cut, part_of, taken


def test_words_for_parts() -> None:
    assert {word: part_of(word) for word in ("year", "DayOfWeek", "dow_iso", "epoch")} == {
        "year": "YEAR",
        "DayOfWeek": "DOW",
        "dow_iso": "ISODOW",
        "epoch": None,
    }
    assert all(part_of(name) == name for name in PARTS)


def test_sunday_has_the_number_of_the_dialect() -> None:
    sunday, connection = ibis.literal("2020-01-05").cast("date"), ibis.duckdb.connect()
    assert [connection.to_pyarrow(taken("DOW", sunday, first_day=n)).as_py() for n in (0, 1)] == [0, 1]


def test_a_cut_date_is_a_date_and_a_cut_time_a_time() -> None:
    day, moment = (ibis.literal("2020-05-17 12:30:00").cast(to) for to in ("date", "timestamp"))
    assert all(cut(moment, unit).type().is_timestamp() for unit in UNITS)
    assert {unit for unit in UNITS if cut(day, unit).type().is_timestamp()} == {"HOUR", "MINUTE", "SECOND"}

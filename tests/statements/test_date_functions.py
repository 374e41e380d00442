"""RandomWords for the parts of dates that differ between dialects name one part."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.statements.date_functions import PARTS, UNITS, date_part, part_of, truncate


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
    assert [connection.to_pyarrow(date_part("DOW", sunday, first_day=n)).as_py() for n in (0, 1)] == [0, 1]


def test_a_cut_date_is_a_date_and_a_cut_time_a_time() -> None:
    day, moment = (ibis.literal("2020-05-17 12:30:00").cast(to) for to in ("date", "timestamp"))
    assert all(truncate(moment, unit).type().is_timestamp() for unit in UNITS)
    assert {unit for unit in UNITS if truncate(day, unit).type().is_timestamp()} == {"HOUR", "MINUTE", "SECOND"}


FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)  # noqa: DTZ001 (naive means UTC)


def moments(many: int) -> list[datetime.datetime | None]:
    """Some of any time, some near 1970, the ends, and NULL."""
    draw = random.Random(7)  # noqa: S311 (no secret)
    near = [datetime.timedelta(microseconds=draw.randrange(-(10**13), 10**13)) for _ in range(many)]
    far = [FIRST + draw.random() * (LAST - FIRST) for _ in range(many)]
    epoch = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 (as above)
    found = [FIRST, LAST, None, *far, *(epoch + step for step in near)]
    draw.shuffle(found)
    return found


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(
    "written",
    [*(f"DATE_DIFF('{unit}', a, b)" for unit in UNITS), "LAST_DAY(a)", "DAYNAME(d)", "MONTHNAME(a)"],
)
def test_calculations_with_any_date_are_those_of_duckdb(
    written: str, protect: Callable[..., dp.PrivateTable], exact: Callable[[dp.Question], list[dict[str, Any]]]
) -> None:
    found = moments(20)
    days = [value and value.date() for value in found]
    rows = pa.table({"a": found, "b": found[::-1], "d": pa.array(days, pa.date32())})
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        values = [value for (value,) in connection.sql(f"SELECT {written} FROM rows").fetchall()]  # noqa: S608 (ours)
    held = list(dict.fromkeys(value for value in values if value is not None))
    shown = [f"'{value}'" if isinstance(value, str | datetime.date) else str(value) for value in held]
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {written} = {value}) AS x{i}" for i, value in enumerate(shown))
    statement = f"SELECT {counts}, COUNT({written}) AS held FROM rows"  # noqa: S608 (ours)
    [answer] = exact(dp.sql(statement, rows=protect(rows, bounds={})))
    assert answer.pop("held") == len(values) - values.count(None)
    assert list(answer.values()) == [values.count(value) for value in held]


def test_names_of_days_are_their_own_keys(rows: dp.PrivateTable) -> None:
    question = dp.sql("SELECT DAYNAME(joined) AS day, COUNT(*) FROM people GROUP BY day", people=rows)
    assert [row["day"] for row in question.release(epsilon=1).to_pyarrow().to_pylist()][:2] == ["Monday", "Tuesday"]

"""A series that is declared by text: a SELECT statement that is asked at each step, and the options of the verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.query.table import PrivateTable
from discreet.series.series_question import SeriesQuestion
from discreet.statements.dialects import dialect_named
from discreet.statements.sql_translation import lower

OPTIONS = ("by", "start", "every", "until", "windows", "max_steps", "apart", "arrives", "late", "settled")
"""What `PrivateTable.series` takes beside the name, by the same names."""


def declared_series(
    table: PrivateTable, statement: str, options: Mapping[str, Any], *, name: str, called: str, dialect: str = "duckdb"
) -> SeriesQuestion:
    """The question of a series whose statement calls the table by a name; nothing is read or spent.

    Raises:
        InvalidParameter, InvalidQuery: something is not usable, or not public.

    >>> import datetime, discreet as dp, pyarrow as pa
    >>> rows = pa.table({"person": [1], "day": [datetime.date(2026, 1, 1)]})
    >>> visits = dp.protect(rows, unit="person", max_rows=1, budget=dp.Budget(rho=1), name="visits of a year")
    >>> options = {"by": "day", "start": "2026-01-01", "max_steps": 1}
    >>> declared_series(visits, "SELECT COUNT(*) AS n FROM v", options, name="daily", called="v")
    <series about 'visits of a year': n, 365 steps of 1 day>
    """
    stated: dict[str, Any] = {one: options[one] for one in OPTIONS if one in options}
    steps = table.series(**stated, name=name)
    return steps.question(lower(statement, {called: steps.rows}, dialect_named(dialect)).question())

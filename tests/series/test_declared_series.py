"""A series that is declared by text is the one that its verbs make."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import InvalidParameter, InvalidQuery
from discreet.series.declared_series import declared_series
from series_fixtures import asked, protected

STATED: dict[str, Any] = {
    "by": "day",
    "start": "2026-01-01",
    "until": "2026-01-20",
    "windows": [1, 7, "all"],
    "max_steps": 4,
}
TEXT = "SELECT ward, COUNT(*) AS n FROM v GROUP BY ward"


def test_it_is_the_series_of_the_verbs() -> None:
    table = protected()
    written = declared_series(table, TEXT, STATED, name="series", called="v")
    assert written._asked == asked(table)._asked
    first = written.release(through="2026-01-03", rho=1)
    assert asked(table).release(through="2026-01-03").to_pyarrow().equals(first.to_pyarrow())
    assert table.budget.spent.rho == 1


def test_what_is_not_usable_is_refused() -> None:
    table = protected()
    with pytest.raises(InvalidQuery, match="a known table"):
        declared_series(table, TEXT, STATED, name="series", called="w")
    with pytest.raises(InvalidQuery):
        declared_series(table, "SELECT ward FROM v", STATED, name="series", called="v")
    with pytest.raises(InvalidParameter, match="a name for the series"):
        declared_series(table, TEXT, STATED, name=" ", called="v")

"""A log's totals are the same on every engine, whatever its users and items are."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.logs.user_item_pairs import bounded, pairs, totals
from discreet.query.table_view import view_of
from tables_in_engines import into_spark

ITEMS: dict[str, list[Any]] = {
    "text": ["a", "b", "a", None, "c", "a", "B"],
    "numbers": [1, 2, 1, None, 3, 1, 4],
    "dates": [None if day is None else datetime.date(2020, 1, day) for day in (1, 2, 1, None, 3, 1, 4)],
    "truth": [True, False, True, None, False, True, False],
}
USERS: dict[str, list[Any]] = {"numbers": [1, 1, 1, 1, 2, 2, None], "text": ["u", "u", "u", "u", "é", "é", None]}
COUNTS = [2, 9, 2, 5, 0, 1, 3]
_numbers = itertools.count(1)


@pytest.mark.long
@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("users", USERS)
def test_totals_are_the_same_on_every_engine(
    backend_of: Callable[[str], Any], engine: str, users: str, items: str
) -> None:
    backend, name = backend_of(engine), f"log_{next(_numbers)}"
    data = pa.table({"who": USERS[users], "what": ITEMS[items], "often": COUNTS})
    if engine == "spark":  # where Ibis goes by way of pandas, which makes NaN of what is missing
        into_spark(backend, name, data)
    else:
        backend.create_table(name, data)
    try:
        table = dp.protect(backend.table(name), unit="who", budget=dp.Budget(epsilon=1), name=name)
        parts = view_of(table)
        found = pairs(
            parts.relation, user=parts.units[0], item=parts.columns["what"], count=parts.columns["often"], max_count=5
        )
        source: Any = parts.source
        answer = source._engine.run_statement(source.declaration, source._engine.compiled(totals(bounded(found, 9))))
    finally:
        (backend.drop_view if engine == "spark" else backend.drop_table)(name)
    shown = {row["item"]: (row["users"], row["extra"]) for row in answer.to_pylist()}
    first, other = ITEMS[items][:2]
    assert shown == {first: (2, 3), other: (1, 4)}
    assert sum(row["first"] for row in answer.to_pylist()) == 2

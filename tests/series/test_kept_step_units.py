"""Units of kept steps: who counts in later steps is who counted in earlier ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pytest

import discreet as dp
from discreet.errors import InvalidParameter
from series_fixtures import day, protected, until


def test_a_unit_is_not_written_in_another_way_later(tmp_path: Path, seen: list[Any]) -> None:
    """A UUID is another text in capital letters, and would count in as many steps again."""
    connection, budget = ibis.duckdb.connect(), dp.Budget(rho=1)
    person, days = ibis.literal("0af7651916cd43dd8448eb211c80319c").cast("uuid"), ibis.memtable(until(4)).select("day")
    for version, written in ((1, person), (2, person.cast("string").upper()), (3, person)):
        connection.create_table(f"v{version}", days.mutate(person=written).distinct())
        stated: dict[str, Any] = {"bounds": {}, "keys": {}, "version": version, "keep_steps": tmp_path / "steps"}
        table = protected(connection.table(f"v{version}"), budget=budget, **stated)
        question = table.series(by="day", start="2026-01-01", max_steps=2).agg(n=lambda t: t.count())
        if version == 2:
            with pytest.raises(InvalidParameter, match="the 1 steps that were published of kept totals"):
                question.release(through="2026-01-04")
        else:
            question.release(through=day(3 * (version > 1)), rho=1)
    assert [int(total) for total in seen[-1][0].ravel()] == [1, 1, 0, 0]

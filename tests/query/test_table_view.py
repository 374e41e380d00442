"""What the rooms above see of a chain: its rows after all steps, and the unit's columns in their order."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.table_view import view_of
from discreet.testing import people


def test_steps_are_seen() -> None:
    table = people().filter(lambda t: t.age > 3).mutate(double=lambda t: t.visits * 2)
    parts = view_of(table)
    assert set(parts.columns) == {"person", "plan", "age", "visits", "double"}
    assert parts.source is table._source


@pytest.mark.parametrize(("unit", "count"), [(dp.ROW, 0), ("a", 1), (["a", "b"], 2)])
def test_units_are_seen(unit: object, count: int) -> None:
    table = pa.table({"a": [1], "b": ["x"]})
    parts = view_of(dp.protect(table, unit=unit, budget=dp.Budget(epsilon=1), name="t"))  # type: ignore[arg-type]  # of three kinds
    assert [str(one.type()) for one in parts.units] == ["int64", "string"][:count]

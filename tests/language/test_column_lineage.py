"""Through any chain of steps, the columns of the scanned table that an expression rests on."""

from __future__ import annotations

from ibis import _

from discreet.language.column_lineage import source_columns
from discreet.testing import people


def test_columns_are_followed_to_the_scan() -> None:
    table = (
        people().mutate(a=_.visits / 2, b=_.age + 1).filter(_.age > 3).mutate(c=_.a + _.b, d=_.a * 2).select("c", "d")
    )
    origins = {name: source_columns([table._columns[name].expr.op()]) for name in table.columns}
    assert origins == {"c": {"visits", "age"}, "d": {"visits"}}


def test_both_sides_of_a_union_are_followed() -> None:
    table = people().select("visits", "age").mutate(a=_.visits / 2)
    both = table.union(table.mutate(a=_.age / 2))
    assert source_columns([both._columns["a"].expr.op()]) == {"visits", "age"}


def test_a_constant_rests_on_nothing() -> None:
    assert source_columns([]) == frozenset()

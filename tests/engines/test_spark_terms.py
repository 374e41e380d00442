"""What Spark is told in other words: sums that cannot overflow, counts that are never NULL, plain patterns."""

from __future__ import annotations

from typing import Any

import ibis
import pytest
from ibis import _
from ibis.backends.sql import compilers

from discreet.engines.spark_terms import legible, portable

TABLE = ibis.table({"i": "int64", "x": "float64", "b": "boolean", "s": "string", "day": "date"}, name="t")


def written(table: Any) -> str:
    return legible(str(compilers.pyspark.compiler.to_sqlglot(portable(table)).sql("spark")))


def test_sums_are_of_wide_numbers_from_the_first_row_on() -> None:
    """Added in 64 bits, two large rows would overflow, and one row would make the engine raise."""
    assert "SUM(CAST(`t0`.`i` AS DECIMAL(38, 0)))" in written(TABLE.aggregate(s=TABLE.i.sum()))


def test_counts_under_conditions_are_never_null() -> None:
    assert "COALESCE(SUM(CAST(`t0`.`b` AS BIGINT)), 0)" in written(TABLE.aggregate(n=TABLE.count(where=TABLE.b)))
    assert "COALESCE" not in written(TABLE.aggregate(n=TABLE.count()))


@pytest.mark.parametrize("like", [_.s.like("a\\"), _.s.ilike("a\\")], ids=["like", "ilike"])
def test_a_backslash_is_a_character(like: Any) -> None:
    r"""Two in the pattern, each of which takes two in a text of Spark's."""
    assert "'a\\\\\\\\'" in written(TABLE.select(m=like))


def test_all_white_space_is_stripped() -> None:
    r"""Of which Spark has no \v and \f: it reads them as letters."""
    for stripped, side in ((TABLE.s.lstrip(), "LEADING "), (TABLE.s.rstrip(), "TRAILING "), (TABLE.s.strip(), "")):
        assert rf"TRIM({side}' \t\n\r\u000b\u000c' FROM" in written(TABLE.select(m=stripped))


def test_escapes_that_spark_does_not_know_are_numbers() -> None:
    r"""In texts alone; what follows a backslash that is itself escaped is a letter."""
    text = written(TABLE.select(m=TABLE.s == "\a'\v\f`\\f\\a`"))
    assert r"'\u0007\'\u000b\u000c`\\f\\a`'" in text
    assert r"`a\f`" in legible(str(written(TABLE.select(**{"a\\f": TABLE.i}))))


def test_quarters_are_months() -> None:
    assert "QUARTER" not in written(TABLE.select(m=TABLE.day + ibis.interval(5, unit="Q")))


def choice(column: Any, keys: list[Any]) -> Any:
    branches = [(column.isnull() if key is None else column == key, place) for place, key in enumerate(keys)]
    return TABLE.select(m=ibis.cases(*((when, ibis.literal(n, "int64")) for when, n in branches), else_=-1))


def test_many_constants_are_looked_up() -> None:
    """Each is a branch of a program otherwise, for which Spark has no memory."""
    numbers = written(choice(TABLE.i, [*range(200), None]))
    assert "CASE" not in numbers
    assert "IF(`t0`.`i` IS NULL, 200, COALESCE(ELEMENT_AT(MAP_FROM_ARRAYS(" in numbers
    assert "`t0`.`i`), -1))" in numbers
    assert "'it\\'s'" in written(choice(TABLE.s, ["it's", *map(str, range(200))]))
    assert "CASE" in written(choice(TABLE.i, list(range(50))))


@pytest.mark.parametrize("keys", [[*range(200), 7], [*range(200), None, None]], ids=["twice", "NULL twice"])
def test_a_branch_that_another_one_hides_stays_one(keys: list[Any]) -> None:
    """A map has each key once."""
    assert "CASE" in written(choice(TABLE.i, keys))


def test_other_choices_are_written_as_they_are() -> None:
    conditions = [(TABLE.i > key, ibis.literal(key, "int64")) for key in range(200)]
    shown = [(TABLE.i == key, TABLE.i) for key in range(200)]
    two = [((TABLE.i if key % 2 else TABLE.i + 1) == key, ibis.literal(key, "int64")) for key in range(200)]
    for branches in (conditions, shown, two):
        assert "CASE" in written(TABLE.select(m=ibis.cases(*branches, else_=-1)))

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

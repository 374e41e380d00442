"""What PostgreSQL is told in other words has the same value, and keeps clear of what it raises at.

No server is needed here: the sub-queries run on DuckDB, with products and quotients that raise as PostgreSQL's do.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from ibis import _
from ibis.backends.sql import compilers

from discreet.engines import postgresql_terms
from discreet.engines.first_looks import _binned
from discreet.engines.postgresql_terms import portable, spelled_out, with_short_texts
from discreet.errors import InvalidQuery

TINY = [0.0, 5e-324, 1e-310, 2.0**-538, 2.0**-537, 1.5e-162, 2.3e-162, 1e-200, 1e-20, 0.3, 1.0, 2.5]
WIDE = [1.0, 2.5, 1e20, 2.0**500, 1e200, 1e308]
RAISING = "CASE WHEN {0} = 0 AND {1} <> 0 AND {2} <> 0 THEN error('value out of range: underflow') ELSE {0} END"


def written(table: ir.Table) -> str:
    return str(spelled_out(compilers.postgres.compiler.to_sqlglot(portable(table))).sql("postgres"))


def as_there(text: str) -> str:
    """A statement for DuckDB whose products and quotients raise where PostgreSQL's would, guarded or not."""
    for sign in "*/":
        text = text.replace(f"THEN l {sign} r", f"THEN {RAISING.format(f'l {sign} r', 'l', 'r')}")
        columns = '"t0"."l"', '"t0"."r"'
        bare = f"{columns[0]} {sign} {columns[1]}"
        text = text.replace(f"SELECT {bare}", f"SELECT {RAISING.format(bare, *columns)}")
    return text


def pairs(first: list[float], second: list[float]) -> pa.Table:
    found = [*itertools.product([*first, *(-x for x in first)], second), (None, 0.5), (0.5, None), (None, None)]
    left, right = zip(*found, strict=True)
    return pa.table({"l": pa.array(left, pa.float64()), "r": pa.array(right, pa.float64())})


def computed(expr: Any, data: pa.Table) -> list[Any]:
    connection = ibis.duckdb.connect()
    table = connection.create_table("pairs", data)
    text = as_there(written(table.select(m=expr)))
    return [row[0] for row in connection.con.execute(text).fetchall()]


def test_products_that_vanish_are_zero() -> None:
    data = pairs(TINY, TINY)
    expected = [
        None if x is None or y is None else x * y for x, y in zip(*map(pa.ChunkedArray.to_pylist, data), strict=True)
    ]
    assert computed(_.l * _.r, data) == expected


def test_quotients_that_vanish_are_zero() -> None:
    data = pairs(TINY, [*WIDE, 5e-300])
    data = data.filter(pc.fill_null(pc.less(pc.abs(data["l"]), 1.0), True))  # noqa: FBT003 (as Arrow has it)
    expected = [
        None if x is None or y is None else x / y for x, y in zip(*map(pa.ChunkedArray.to_pylist, data), strict=True)
    ]
    assert computed(_.l / _.r, data) == expected


@pytest.mark.parametrize(
    ("expr", "guarded"),
    [
        (_.l * _.r, True),
        (_.l * 0.5, True),
        (_.l * 4, False),
        (4.0 * _.l, False),
        (_.i.cast("float64") * _.i.cast("float64"), False),
        ((_.l + 1) * (_.l + 1), False),
        (_.l / _.r, True),
        (_.l / 4, True),
        (_.l / 0.5, False),
        ((_.l + 1) / 4, False),
        (_.i * _.i, False),
    ],
    ids=str,
)
def test_guards_stand_where_they_are_needed(expr: Any, guarded: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    table = ibis.table({"l": "float64", "r": "float64", "i": "int64"}, name="t")
    assert ("CASE" in written(table.select(m=expr))) is guarded


def test_an_argument_is_written_once() -> None:
    """A power is a chain of products: were an argument written twice, the statement would double with each."""
    table = ibis.table({"l": "float64"}, name="t")
    expr: Any = table.l
    for _unused in range(15):
        expr = expr * table.l
    assert written(table.select(m=expr)).count("CASE") == 15


def test_exponentials_of_little_are_zero() -> None:
    table = ibis.duckdb.connect().create_table("t", pa.table({"l": [-1e308, -709.0, -708.0, 0.0, None, 5.0]}))
    text = written(table.select(m=table.l.exp()))
    found = [row[0] for row in table.get_backend().con.execute(text).fetchall()]
    assert found == [0.0, 0.0, pytest.approx(math.exp(-708)), 1.0, None, pytest.approx(math.exp(5))]


def test_of_long_texts_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a row of 2^30 bytes PostgreSQL raises. A unit by its beginning would be one with others that begin so."""
    monkeypatch.setattr(postgresql_terms, "MOST_BYTES", 8)
    monkeypatch.setattr(postgresql_terms, "MOST_CHARACTERS", 2)
    texts = ["", None, "abcdefg", "abcdefgh", "€€€", "🌈é🌈"]
    connection = ibis.duckdb.connect()
    table = connection.create_table("texts", pa.table({"self": texts, "of": texts, "n": range(6)}))
    text = written(with_short_texts(table, ["of"]))
    found = connection.con.execute(text.replace("OCTET_LENGTH", "STRLEN")).fetchall()
    of_unit, shown = [*texts[:3], None, None, None], [*texts[:3], "ab", "€€", "🌈é"]
    assert found == list(zip(shown, of_unit, range(6), strict=True))


def test_patterns_mean_what_they_say() -> None:
    """A backslash is a character in a pattern of ours; PostgreSQL would take it for an escape."""
    table = ibis.table({"s": "string"}, name="t")
    assert r"LIKE 'a\\%'" in written(table.select(m=table.s.like("a\\%")))
    assert r"ILIKE 'a\\'" in written(table.select(m=table.s.ilike("a\\")))


@pytest.mark.parametrize(
    "expr",
    [_.n.cast("string") < "B", _.n.cast("string").between("a", "B"), ibis.cases((_.n > 3, "a"), else_="B") >= "b"],
    ids=str,
)
def test_computed_texts_are_ordered_by_their_bytes(expr: Any) -> None:
    """A column has a collation of its own; a text that was made has the database's, under which a is before B."""
    table = ibis.table({"n": "int64", "s": "string"}, name="t")
    assert 'COLLATE "C"' in written(table.select(found=expr))
    assert 'MAX((CAST("t0"."n" AS VARCHAR) COLLATE "C"))' in written(table.agg(found=_.n.cast("string").max()))
    assert "COLLATE" not in written(table.select(found=(_.n < 3) & (_.s == "a")))


def test_truth_values_become_numbers_by_way_of_short_ones() -> None:
    table = ibis.table({"b": "boolean"}, name="t")
    assert 'CAST(CAST("t0"."b" AS INT) AS BIGINT)' in written(table.select(m=table.b.cast("int64")))


def test_joins_can_be_hashed() -> None:
    """IS NOT DISTINCT FROM would compare every unit with every key."""
    table = ibis.table({"s": "string", "d": "date", "i": "int64", "b": "boolean", "at": "timestamp(6)"}, name="t")
    for name in table.columns:
        text = written(table.select(m=table[name].identical_to(table[name])))
        assert "DISTINCT" not in text
        assert text.count("COALESCE") == 2


def test_remainders_of_real_numbers_are_refused() -> None:
    table = ibis.table({"l": "float64"}, name="t")
    with pytest.raises(InvalidQuery, match="got % of real numbers"):
        portable(table.select(m=table.l % 0.5))


def test_powers_of_two_are_in_their_own_bins() -> None:
    """Of a quotient of logarithms too, which is above the whole number for some of them."""
    powers = list(range(-30, 64))
    connection = ibis.duckdb.connect()
    table: Any = connection.create_table("sizes", pa.table({"size": [2.0**k for k in powers]}))
    quotients = [math.log(2.0**k) / math.log(2.0) for k in powers]
    assert [math.ceil(q) for q in quotients] != powers
    text = written(table.select(bin=_binned(table.size, powers[0], powers[-1])))
    assert [row[0] for row in connection.con.execute(text).fetchall()] == powers

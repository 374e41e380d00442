"""Every type of column, as a key, as a unit, as an argument and carried along, through every verb: as on DuckDB."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import cycle, islice
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.ledger.ledger import stated_guarantee
from discreet.logs.top_keys import chosen
from discreet.planning.open_question_plan import plan_open_question
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from neighbor_bench import Bench
from tables_in_engines import into_postgresql

Backends = Callable[[str], Any]
NAN, INF, UTC = float("nan"), float("inf"), datetime.UTC
DAY, AT = datetime.date, datetime.datetime

EXACT: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False, None, True]),
    "tiny": (pa.int8(), [-128, 127, None, 0, 1]),
    "small": (pa.uint16(), [0, 65535, None]),
    "whole": (pa.int64(), [-(2**63), 2**63 - 1, 2**53 + 1, None, 0]),
    "word": (pa.string(), ["a", "A", "é", "", None, "\\", "'"]),
    "day": (pa.date32(), [DAY(1970, 1, 1), DAY(2000, 2, 29), None, DAY(1, 1, 1), DAY(9999, 12, 31)]),
    "at": (pa.timestamp("us"), [AT(1970, 1, 1), AT(2000, 2, 29, 12, 0, 0, 1), None, AT(1, 1, 1)]),
    "zoned": (pa.timestamp("us", "UTC"), [AT(1970, 1, 1, tzinfo=UTC), None, AT(2026, 3, 29, 1, 30, tzinfo=UTC)]),
}
"""What can be a key. Of 64-bit integers without sign other engines have none."""
KEYS = tuple(EXACT)
REAL: dict[str, tuple[pa.DataType, list[Any]]] = {
    "single": (pa.float32(), [0.5, NAN, INF, -0.0, 0.0, None, 1e-45]),
    "double": (pa.float64(), [2.0**31, 0.5, NAN, -INF, -0.0, 0.0, None, 5e-324]),
    "money": (pa.decimal128(12, 2), [Decimal("9999999999.99"), Decimal("-0.01"), None, Decimal("0.10")]),
    "digits": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38), None, Decimal(8)]),
}
COLUMNS = EXACT | REAL


def rows(*, whole: bool) -> pa.Table:
    """The hostile table; `whole` without NULL, which is no unit and meets nothing."""
    made = {}
    for name, (kind, values) in COLUMNS.items():
        kept = [value for value in values if not whole or not (value is None or value != value)]  # noqa: PLR0124 (NaN)
        made[name] = pa.array(list(islice(cycle(kept), 60)), kind)
    persons = pa.array(list(islice(cycle([1, 2, 3, 4, 5, 6, 7, None]), 60)), pa.int64())
    return pa.table({**made, "person": persons, "x": [float(i % 5) for i in range(60)]})


ROWS, WHOLE = rows(whole=False), rows(whole=True)
BOUNDS: dict[str, Any] = {"x": (0, 4), "tiny": (-9, 9), "small": (0, 9), "whole": (-9, 9)}
BOUNDS |= {"single": (-1, 1), "double": (-1, 1), "money": (-1, 1), "digits": (-1, 1)}


def protected(bench: Bench, data: pa.Table = ROWS, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "bounds": BOUNDS, "max_rows": 60, "max_groups": 60}
    return bench.protect(data, **facts | stated)


def by_all(table: PrivateTable) -> Any:
    """Groups by every column that can be a key, at once: all combinations that there are, NULL and all."""
    listed = ROWS.select(KEYS).group_by(list(KEYS)).aggregate([])
    return table.group_by(*KEYS, keys=dp.public_keys(listed)).agg(n=lambda t: t.count(), x=lambda t: t.x.sum())


def extremes(table: PrivateTable) -> Any:
    """Features of every column: the least, the greatest, and how many there are."""
    names = [name for name in COLUMNS if name != "flag"]
    made = {f"least_{name}": table[name].min() for name in names}
    made |= {f"most_{name}": table[name].max() for name in names}
    made |= {f"of_{name}": table[name].nunique() for name in COLUMNS}
    units = table.per_unit(any=table.flag.any(), all=table.flag.all(), **made)
    asked = {name: units[name].clip(-9, 9).sum() for name in made if units[name].type().is_numeric()}
    asked |= {f"year_{name}": units[f"least_{name}"].year().sum() for name in ("day", "at", "zoned")}
    asked |= {f"then_{name}": units[f"most_{name}"].year().sum() for name in ("day", "at", "zoned")}
    return units.agg(
        **asked, any=units.any.cast("int64").sum(), all=units.all.cast("int64").sum(),
        words=units.most_word.length().clip(0, 9).sum(),
    )  # fmt: skip


def met(table: PrivateTable, on: Any, **more: Any) -> PrivateTable:
    """A table joined to itself on some columns."""
    kept = [on] if isinstance(on, str) else list(on)
    return table.join(table.select(*kept, "x").rename(z="x"), on, **more)


PUBLIC = pa.table({**{name: WHOLE[name][:9] for name in KEYS}, "w": range(9)})
FREE: dict[str, Any] = {"bounds": {"x": (0, 4)}}
MEETING: dict[str, Any] = FREE | {"data": WHOLE}
EVERYTHING: dict[str, Any] = MEETING | {"unit": list(COLUMNS)}
QUESTIONS: dict[str, tuple[dict[str, Any], Callable[[PrivateTable], Any]]] = {
    "keys": (FREE, by_all),
    "features": ({}, extremes),
    "every column a unit": (EVERYTHING, lambda t: t.agg(n=t.x.count(), x=t.x.sum())),
    "carried by a set": ({}, lambda t: t.intersect(t.filter(t.x > 1)).difference(t.filter(t.x > 3)).count()),
    "carried by units": (EVERYTHING, lambda t: t.distinct("x").agg(x=lambda s: s.x.sum())),
    "joined by unit": (MEETING, lambda t: met(t, ["person", *KEYS]).agg(z=lambda s: s.z.sum())),
    "joined by public rows": (
        MEETING, lambda t: t.join(dp.public(PUBLIC), KEYS, max_matches=9).agg(w=lambda s: s.w.sum())
    ),
    "strangers": (MEETING, lambda t: met(t, KEYS, max_matches=60).agg(z=lambda s: s.z.sum())),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("words", QUESTIONS)
def test_types_go_through_verbs_as_on_duckdb(backend_of: Backends, other: str, words: str) -> None:
    found = []
    stated, ask = QUESTIONS[words]
    for name in ("duckdb", other):
        bench = Bench(backend_of(name))
        table = protected(bench, **stated)
        found.append([block.tolist() for block in bench.totals(bench.plan(ask(table), epsilon=1))])
    assert found[0] == found[1]
    assert any(row[0] for block in found[0] for row in block)


LABELS = "'a', 'A', 'é', '', E'\\\\', ''''"
DOMAINS = {
    "flag": "boolean", "tiny": "smallint", "small": "integer", "whole": "bigint", "day": "date", "at": "timestamp",
    "zoned": "timestamptz", "single": "real", "double": "double precision", "money": "numeric(12, 2)",
    "digits": "numeric(38, 0)", "person": "bigint",
}  # fmt: skip


def in_domains(backend: Any, data: pa.Table) -> Any:
    """The table on PostgreSQL, its texts as an enum, and every other column but one in a domain over a domain."""
    into_postgresql(backend, "plain", data, temporary=False)
    backend.raw_sql('DROP SCHEMA IF EXISTS "own types" CASCADE; CREATE SCHEMA "own types"').close()
    made = [
        f'CREATE DOMAIN "own types".{n}_ AS {t}; CREATE DOMAIN {n}_ AS "own types".{n}_' for n, t in DOMAINS.items()
    ]
    cast = [f"{name}::{name}_ AS {name}" for name in DOMAINS]
    before = ["DROP TABLE IF EXISTS in_domains", *(f"DROP DOMAIN IF EXISTS {name}_" for name in DOMAINS)]
    table = f'CREATE TABLE in_domains AS SELECT {", ".join(cast)}, word::"own types".words AS word, x FROM plain'  # noqa: S608 (ours)
    words = f'CREATE TYPE "own types".words AS ENUM ({LABELS})'
    backend.raw_sql("; ".join([*before, words, *made, table])).close()
    backend.con.commit()
    return backend.table("in_domains")


@pytest.mark.long
@pytest.mark.engine("postgresql")
@pytest.mark.parametrize("words", QUESTIONS)
def test_domains_and_enums_are_the_types_below(backend_of: Backends, other: str, words: str) -> None:
    stated, ask = QUESTIONS[words]
    facts: dict[str, Any] = {"unit": "person", "bounds": BOUNDS, "max_rows": 60, "max_groups": 60} | stated
    data = facts.pop("data", WHOLE if words == "every column a unit" else ROWS)
    bench = Bench(backend_of("duckdb"))
    plain = ask(bench.protect(data, **facts))
    table = dp.protect(in_domains(backend_of(other), data), budget=dp.Budget(epsilon=1), name="domains", **facts)
    assert set(table.columns) == set(data.column_names)
    own = Bench(backend_of(other))
    found = own.totals(own.plan(ask(table), epsilon=1))
    assert [block.tolist() for block in found] == [
        block.tolist() for block in bench.totals(bench.plan(plain, epsilon=1))
    ]
    assert any(row[0] for block in found for row in block.tolist())


CLOSED: dict[str, dict[str, tuple[str, str]]] = {
    "postgresql": {
        name: (f"NULL::{name}", known)
        for name, known in {
            '"char"': '"char"', "int4range": "int4range", "int4multirange": "int4multirange",
            "bit varying": "bit varying", "tsvector": "tsvector", "xml": "xml", "xid": "xid", "pg_lsn": "pg_lsn",
            "pg_class": "pg_class", "pg_class[]": "pg_class[]", "integer[]": "array<int32>", "bytea": "binary",
            "json": "json", "jsonb": "jsonb", "time": "time", "timetz": "time", "interval": "interval('s')",
            "inet": "inet", "point": "point:geometry",
        }.items()
    },
    "template": {
        "array": ("[1]", "array<int32>"), "map": ("MAP {'a': 1}", "map<string, int32>"),
        "time": ("TIME '12:00'", "time"),
    },
    "spark": {
        "array": ("array(1)", "array<int32>"),
        "map": ("map('a', 1)", "map<string, int32>"),
        "struct": ("struct(1 AS a)", "struct<a: int32>"),
        "interval": ("interval '1' day", "interval('D')"),
        "binary": ("cast('a' AS binary)", "binary"),
        "null": ("null", "null"),
    },
}  # fmt: skip
"""Types that are not read, and what they are called."""


def test_columns_that_are_not_read_are_named(backend_of: Backends, other: str) -> None:
    """By everybody who asks for one; beside them the table is what it was."""
    backend = backend_of(other)
    closed = {f"c{i}": made for i, made in enumerate(CLOSED[other].values())}
    columns = ", ".join(f"{written} AS {name}" for name, (written, _) in closed.items())
    backend.raw_sql(f"CREATE OR REPLACE TEMPORARY VIEW odd AS SELECT 1 AS person, 2 AS x, {columns}")
    table = dp.protect(backend.table("odd"), unit=ROW, bounds={"x": (0, 4)}, budget=dp.Budget(epsilon=10**6))
    assert table.columns == ("person", "x")
    for name, (_, kind) in closed.items():
        for ask in (lambda: table[name], lambda: dp.sql(f"SELECT SUM({name}) FROM t", t=table)):  # noqa: B023, S608 (asked at once; ours)
            with pytest.raises(dp.InvalidQuery) as refusal:
                ask()
            assert f"{name!r} is there, of type {kind}, which is not read" in str(refusal.value)
    assert table.budget.spent.epsilon == 0
    assert table.agg(x=table.x.sum()).release(epsilon=10**5)["x"].tolist() == [2]


@pytest.mark.engine("postgresql")
def test_the_name_of_a_domain_is_not_believed(backend_of: Backends, other: str) -> None:
    """A text in a domain that is called tinyint would make each statement about the table raise."""
    backend = backend_of(other)
    backend.raw_sql(
        "DROP TABLE IF EXISTS misnamed; DROP DOMAIN IF EXISTS tinyint; DROP DOMAIN IF EXISTS string; "
        "CREATE DOMAIN tinyint AS text; CREATE DOMAIN string AS bigint; "
        "CREATE TABLE misnamed AS SELECT 'none'::tinyint AS a, 7::string AS b, 2 AS x"
    ).close()
    backend.con.commit()
    table = dp.protect(backend.table("misnamed"), unit=ROW, bounds={"x": (0, 4)}, budget=dp.Budget(epsilon=10**6))
    assert table.columns == ("x",)
    for name, kind in (("a", "text"), ("b", "bigint")):
        with pytest.raises(dp.InvalidQuery, match=f"'{name}' is there, of type {kind}, which is not read"):
            table[name]
    assert table.agg(x=table.x.sum()).release(epsilon=10**5)["x"].tolist() == [2]


@pytest.mark.long
def test_types_are_found_as_keys_as_on_duckdb(backend_of: Backends, other: str) -> None:
    """Keys of every type that nobody listed, found by name; and the bins of numbers whose bounds nobody stated."""
    found = []
    for name in ("duckdb", other):
        bench = Bench(backend_of(name))
        table = protected(bench, unit=["person", "money"], bounds={"double": "auto", "digits": "auto"})
        asked: Any = table.group_by(*KEYS, keys=dp.UNKNOWN).agg(x=table.double.sum(), y=table.digits.sum())
        histograms = plan_open_question(asked._query, asked._open, epsilon=1, delta=1e-6).histograms
        looks = [
            key_totals(asked._query, max_groups=60, steps=1),
            *(unit_histogram(asked._query, one) for one in histograms),
        ]
        found.append([bench.found(asked, look) for look in looks])
    assert found[0] == found[1]
    assert all(found[0])


@pytest.mark.parametrize("column", ["at", "zoned"])
def test_the_most_liked_of_every_type_is_that_of_duckdb(backend_of: Backends, other: str, column: str) -> None:
    scores = []
    listed = list(dict.fromkeys(EXACT[column][1]))
    for name in ("duckdb", other):
        table = protected(Bench(backend_of(name)))
        choice, source = chosen(table, column, price=stated_guarantee(1), k=1, keys=listed)
        scores.append(
            choice.scores(source._engine.run_statement(source.declaration, source._engine.compiled(choice.expression)))
        )
    assert scores[0].tolist() == scores[1].tolist()
    assert all(scores[0])


def test_every_character_of_a_constant_is_itself(backend_of: Backends, other: str) -> None:
    """No escape stands for another one: each text is found by the constant of the same text."""
    texts = [*map(chr, range(1, 256)), *(chr(92) + chr(i) for i in range(32, 127)), "''", "`", "${x}", "\u2028"]
    bench = Bench(backend_of(other))
    table = bench.protect(pa.table({"s": texts}), unit=ROW)
    asked = table.agg(
        n=table.s.count(where=table.s.isin(texts)), m=table.s.count(where=table.s.replace("\f", "f") == "f")
    )
    assert [block.tolist() for block in bench.totals(bench.plan(asked, epsilon=1))] == [[[len(texts)]], [[2]]]

"""Types, comments and numbers of declared tables."""

from __future__ import annotations

import pytest

from discreet.pgwire.catalog_database import type_names
from discreet.pgwire.declared_tables import NAMED, DeclaredColumn, DeclaredTable, named_oid, stable_oid
from discreet.pgwire.served_questions import declared_table


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("int64", "bigint"), ("int8", "smallint"), ("!float64", "double precision"), ("string", "text"),
        ("date", "date"),
        ("timestamp(6)", "timestamp without time zone"), ("timestamp('UTC', 6)", "timestamp with time zone"),
        ("boolean", "boolean"), ("decimal(10, 2)", "numeric"), ("array<int64>", "text"), ("anything", "text"),
    ],
)  # fmt: skip
def test_types(kind: str, shown: str) -> None:
    assert type_names()[named_oid(kind)] == shown


def test_every_named_type_exists() -> None:
    assert set(NAMED.values()) <= set(type_names())


def test_comments_hold_what_was_declared() -> None:
    column = DeclaredColumn(name="plan", oid=25, description="the plan", keys=list(range(30)), bounds=(0, 9))
    assert column.comment.startswith("the plan; bounds 0 to 9; keys 0, 1, 2")
    assert column.comment.endswith("19, ...")


def test_columns_in_any_case() -> None:
    table = DeclaredTable(name="t", columns=(DeclaredColumn(name="Age", oid=20), DeclaredColumn(name="age", oid=21)))
    found = [table.column(name) for name in ("age", "Age", "AGE", "no")]
    assert [one.oid if one else None for one in found] == [21, 20, 20, None]
    assert stable_oid("a", "b") != stable_oid("ab")


def test_a_declaration_has_typed_keys_and_bounds() -> None:
    table = declared_table(
        {
            "name": "t",
            "columns": [
                {"name": "day", "type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
                {"name": "age", "type": "int64", "bounds": ["0", "100"], "keys": [1, None]},
                {"name": "person", "type": "int64", "is_unit": True},
            ],
        }
    )
    assert str(table.columns[0].bounds) == "(datetime.date(2020, 1, 1), datetime.date(2020, 12, 31))"
    assert (table.columns[1].bounds, table.columns[1].keys) == ((0, 100), [1, None])
    assert table.columns[2].comment == "the privacy unit"

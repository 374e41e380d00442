"""Only what is written out is a constant."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot

import discreet as dp
from discreet.statements.constants import number_of, quoted, whole_number_of
from discreet.statements.scope import Scope
from discreet.statements.statement_text import Text


def parsed(written: str) -> Any:
    return sqlglot.parse_one(written, dialect="duckdb")


@pytest.fixture
def scope(rows: dp.PrivateTable) -> Scope:
    return Scope(text=Text.of("SELECT 1"), table=rows, qualifier=None)


@pytest.mark.parametrize(
    ("written", "value"),
    [("7", 7), ("-7", -7), ("(-(7))", -7), ("1_000", 1000), ("2.5", 2.5), ("1e3", 1000.0), ("'7'", None), ("x", None)],
)
def test_numbers(written: str, value: float | None) -> None:
    found = number_of(parsed(written))
    assert (found, type(found)) == (value, type(value))


def test_whole_numbers_and_texts(scope: Scope) -> None:
    assert (whole_number_of(parsed("3"), scope, "it", least=3), quoted(parsed("'a'"), scope, "it", least=1)) == (3, "a")
    for written in ("2", "3.0", "'3'", "x"):
        with pytest.raises(dp.InvalidQuery, match="Expected it as a whole number of 3 or more, got "):
            whole_number_of(parsed(written), scope, "it", least=3)
    with pytest.raises(dp.InvalidQuery, match="Expected it as a whole number of 0 or more, got 'NULL'"):
        whole_number_of(None, scope, "it", least=0)
    for written in ("''", "x", "3", "'a' || 'b'"):
        with pytest.raises(dp.InvalidQuery, match="Expected it as a text of 1 or more characters, got "):
            quoted(parsed(written), scope, "it", least=1)

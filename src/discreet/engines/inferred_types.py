"""Views of a DuckDB connection whose columns take their types from rows, which are refused.

Claim
    `takes_types_from_rows` is true of a table that is made of a view, a query or a macro in whose text DuckDB's readers
    of CSV, JSON and Excel files, of pandas frames, or of folders named like `site=1`, find out types by themselves.
Requires
    Readers that go by DuckDB's names; an extension may have others. Patterns for folders that are written as one text.
Relies on
    DuckDB's own text of a view and of a macro. Under `auto_detect = false` a reader has the columns that it is given.
Proof
    Such a reader looks into the rows whenever the view is read. One row with "abc" makes a column of numbers one of
    texts: `protect` then refuses its bounds, a question that was good is refused, and a table that was protected is
    refused for its other types. All of that can be seen for nothing. One person in a folder `site=abc` beside `site=1`
    does the same. Where a pattern names no folder, or a path no pattern, folders have the names that are written. A
    view that is named in another one, or a macro in a view, is in the text by its name; each text is looked for names
    until no new one is found.
Rounding
    None.
Source
    DuckDB's documentation of read_csv (auto_detect) and of pandas frames (pandas_analyze_sample).
Mutant
    types-by-rows: files in the place of tables are taken; killed by test_a_view_that_guesses_types_is_refused.
    types-by-folders: types of what folders are named for are taken; killed by
    test_a_view_that_guesses_types_is_refused.
    types-by-rows-further-down: a view is looked into, and those that it names are not; killed by
    test_a_view_that_guesses_types_is_refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.duckdb_names import Relation, are_named, written
from discreet.errors import InvalidParameter, expected

MACROS = """
SELECT function_name, macro_definition FROM duckdb_functions() WHERE macro_definition IS NOT NULL AND NOT internal
"""
CALLS = re.compile(r"\b((?:read_csv|read_json|read_ndjson)(?:_auto)?|read_xlsx|pandas_scan)\W*\(")
"""The readers that find out types."""
STATED = re.compile(r"\bauto_detect\W+false\b")
READS = re.compile(r"\b(?:read_\w+|parquet_scan)\W*\(")
FOLDERS = r"(['\"])[^'\"]*[*?\[][^'\"]*[/\\][^'\"]*\1"
"""A pattern for names of folders, such as `'visits/*/*.parquet'`: `site=1` among them is a column."""
IN_FOLDERS, FOLDERS_AS_TABLE = re.compile(FOLDERS), re.compile(rf"\b(?:from|join)\s+{FOLDERS}")
FOLDERS_STATED = re.compile(r"\bhive_types\b|\bhive_(?:partitioning|types_autocast)\W+(?:false|0)\b")
FILES = re.compile(r"\b(?:from|join)\s+(['\"])[^'\"]*\.(?:csv|tsv|jsonl?|ndjson|xlsx)(?:\.\w+)?\1")
"""A file in the place of a table, for which DuckDB calls its reader."""


def check_types_are_stated(table: ir.Table, raw: Any, known: Iterable[Relation]) -> None:
    """Refuses a table of a connection whose columns have types that were found out from rows."""
    if takes_types_from_rows(table, known, dict(raw.execute(MACROS).fetchall())):
        cure = (
            "dp.protect('visits.csv', schema={'person': 'int64'}) reads a file, and dp.protect(frame) a frame. In a "
            "view, write read_csv('visits.csv', auto_detect = false, columns = {'person': 'BIGINT'}), and of folders "
            "read_parquet('visits/*/*.parquet', hive_types_autocast = false)."
        )
        got = "a view or a query that guesses them from rows"
        raise InvalidParameter(expected("columns whose types are stated", "data", got, cure))


def takes_types_from_rows(table: ir.Table, known: Iterable[Relation], macros: Mapping[str, str]) -> bool:
    """Whether a table is made of something that a reader finds out the types of."""
    every = list(known)
    queries = [str(one.query) for one in table.op().find((ops.SQLQueryResult, ops.SQLStringView))]
    texts = [*filter(None, written(table, every).values()), *queries]
    left = {**{one.name: one.written for one in every if one.written}, **macros}
    while found := [name for name in left if are_named([name], texts)]:
        texts += [str(left.pop(name)) for name in found]
    own = {name.lower() for name in macros}
    return any(_guesses(text.lower(), own) for text in texts)


def _guesses(text: str, macros: set[str]) -> bool:
    calls = [name for name in CALLS.findall(text) if name not in macros]
    if len(calls) > len(STATED.findall(text)) or FILES.search(text) or FOLDERS_AS_TABLE.search(text):
        return True
    read = READS.split(text)[1:]
    return any(IN_FOLDERS.search(one) is not None and not FOLDERS_STATED.search(one) for one in read)

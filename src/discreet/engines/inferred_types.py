"""Views of a DuckDB connection whose columns take their types from rows, which are refused.

Claim
    `takes_types_from_rows` is true of a table that is made of a view, a query or a macro in whose text DuckDB's readers
    of CSV, JSON and Excel files, of pandas frames, or of folders named like `site=1`, find out types by themselves; of
    a query with a pivot; and of one of SQLite's, whose columns state types that its rows need not have.
Requires
    Readers that go by DuckDB's names; an extension may have others.
Relies on
    DuckDB's own text of a view and of a macro. Under `auto_detect = false` a reader has the columns that it is given.
Proof
    Such a reader looks into the rows whenever the view is read. One row with "abc" makes a column of numbers one of
    texts: `protect` then refuses its bounds, a question that was good is refused, and a table that was protected is
    refused for its other types. All of that can be seen for nothing. One person in a folder `site=abc` beside `site=1`
    does the same, and so does one with a new value that a query makes a column of by PIVOT. What `query` and
    `query_table` read, and a path that is calculated, cannot be seen. In SQLite a row with "abc" stays in a column of
    numbers, and every release would fail, after its charge. Where a pattern names no folder, or a path a file, folders
    have the names that are written. A view that is named in another one, or a macro in a view, is in the text by its
    name; each text is looked for names until no new one is found. Texts and names are told from the rest of a view by
    their quotes, whatever quotes and parentheses are in them.
Rounding
    None.
Source
    DuckDB's documentation of read_csv (auto_detect) and of pandas frames (pandas_analyze_sample).
Mutant
    types-by-rows: files in the place of tables are taken; killed by test_a_view_that_guesses_types_is_refused.
    types-by-folders: types of what folders are named for are taken; killed by
    test_a_view_that_guesses_types_is_refused.
    files-after-from-alone: a file that a join begins with, or that stands behind a comma, is taken; killed by
    test_a_view_that_guesses_types_is_refused.
    columns-by-rows: a query with a pivot is taken; killed by test_a_pivot_is_taken_in_a_view_alone.
    rows-of-any-type: a table of SQLite's is taken; killed by test_a_table_of_sqlite_is_refused.
    folders-by-their-names: a path that names a folder is taken for a file; killed by
    test_a_view_that_guesses_types_is_refused.
    paths-are-known-late: a path that is calculated is taken for a file; killed by
    test_a_view_that_guesses_types_is_refused.
    types-by-rows-further-down: a view is looked into, and those that it names are not; killed by
    test_a_view_that_guesses_types_is_refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import ibis.expr.types as ir
import sqlglot

from discreet.engines.duckdb_names import OWN_MACROS, Relation, are_named, queries_of, written
from discreet.engines.random_rows import QUOTED, check_not_drawn
from discreet.errors import InvalidParameter, expected

CALLS = re.compile(
    r"\b((?:read_csv|read_json|read_ndjson)(?:_auto)?|read_xlsx|pandas_scan|sqlite_scan|sqlite_query"
    r"|query(?:_table)?(?=\())\"?\s*\(",
    re.IGNORECASE,
)
"""The readers that find out types, and what reads a text as a query or as the name of a table."""
PIVOT = re.compile(r"\bpivot(?:_wider)?\b", re.IGNORECASE)
"""A step whose columns may be values of rows; in a view or a macro DuckDB takes it with a list of these alone."""
STATED = re.compile(r"\bauto_detect\W+false\b", re.IGNORECASE)
READS = re.compile(r"\b(read_\w+|parquet_scan)\"?\s*\(", re.IGNORECASE)
IN_FOLDERS = re.compile(r"[*?\[].*[/\\]|\*\*", re.DOTALL)
"""A pattern for names of folders, such as `visits/*/*.parquet`: `site=1` among them is a column."""
FOLDERS_STATED = re.compile(r"\bhive_types\b|\bhive_(?:partitioning|types_autocast)\W+(?:false|0)\b", re.IGNORECASE)
FILES = re.compile(
    r"\.(?:csv|tsv|jsonl?|ndjson|xlsx)(?:\.\w+)?\"$|[*?\[].*[/\\].*\.parquet\"$", re.IGNORECASE | re.DOTALL
)
"""The end of a name that is a file, or a pattern for folders, for which DuckDB calls its reader: in its own text, a
name in double quotes, wherever it stands.
"""
TEXTS = re.compile(r"(?:(?:\w+\.)?list_value\(|\[)?(?:'+(?:, )?)+[)\]]?", re.IGNORECASE)
"""A path, or a list of them, once texts are hidden."""
OF_THIS_MACHINE = re.compile(r"file:(?://(?:localhost)?)?(?=/)")


LOOSE = "SELECT database_name FROM duckdb_databases() WHERE type = 'sqlite'"
"""The databases whose rows may have other types than their columns: DuckDB fails at the first of these."""


def check_views(table: ir.Table, raw: Any, known: Collection[Relation]) -> None:
    """Refuses a table of a connection whose types were found out from rows, or whose rows are drawn."""
    loose = {name for [name] in raw.execute(LOOSE).fetchall()}
    macros = dict(raw.execute(OWN_MACROS).fetchall())
    check_not_drawn(table, texts_of(table, known, macros))
    if takes_types_from_rows(table, known, macros, loose):
        cure = (
            "dp.protect('visits.csv', schema={'person': 'int64'}) reads a file, and dp.protect(frame) a frame. In a "
            "view, write read_csv('visits.csv', auto_detect = false, columns = {'person': 'BIGINT'}), and of folders "
            "read_parquet('visits/*/*.parquet', hive_types_autocast = false)."
        )
        cure += " Copy a table of SQLite's, CREATE TABLE visits AS FROM lite.visits. Make a view of a PIVOT."
        got = "a view or a query that guesses them from rows, a PIVOT in a query, or a table of SQLite's"
        raise InvalidParameter(expected("columns whose types are stated", "data", got, cure))


def takes_types_from_rows(
    table: ir.Table, known: Iterable[Relation], macros: Mapping[str, str], loose: Collection[str] = ()
) -> bool:
    """Whether a table is made of something that a reader finds out the types of, or of a `loose` database; or of a
    query with a pivot.
    """
    if any(PIVOT.search(QUOTED.sub("''", query)) for query in queries_of(table)):
        return True
    every = list(known)
    texts = texts_of(table, every, macros)
    if are_named(loose, texts) or any(place[0] in loose for place in written(table, every)):
        return True
    own = {name.lower() for name in macros}
    return any(_guesses(text, own) for text in texts)


def texts_of(table: ir.Table, known: Collection[Relation], macros: Mapping[str, str]) -> list[str]:
    """The texts of the queries and views that it is made of, and of the views and macros that these name in turn."""
    texts = [*filter(None, written(table, known).values()), *map(_as_printed, queries_of(table))]
    left = {**{one.name: one.written for one in known if one.written}, **macros}
    while found := [name for name in left if are_named([name], texts)]:
        texts += [str(left.pop(name)) for name in found]
    return texts


def _as_printed(query: str) -> str:
    """The SQL of a query with files in double quotes, as in DuckDB's own text."""
    try:
        return sqlglot.parse_one(query, read="duckdb").sql("duckdb", comments=False)
    except sqlglot.errors.SqlglotError:
        return STATED.sub("", query.replace("'", '"'))  # which may be in a comment


def _guesses(text: str, macros: set[str]) -> bool:
    plain = QUOTED.sub(lambda one: one[0] if one[0][0] == '"' else "'" * len(one[0]), text)
    if any(FILES.search(name) for name in QUOTED.findall(plain)):
        return True
    calls, reads = ([n.end() for n in kind.finditer(plain) if n[1].lower() not in macros] for kind in (CALLS, READS))
    if any(not STATED.search(plain, start, _end(plain, start)) for start in calls):
        return True
    return any(_in_folders(text, plain, start) for start in reads)


def _end(plain: str, start: int, ends: str = ")") -> int:
    """Where a call's arguments end, or the first of them."""
    depth = 0
    for one in re.finditer(r"\"(?:[^\"]|\"\")*\"|[()\[\],]", plain[start:]):
        if depth == 0 and one[0] in ends:
            return start + one.start()
        depth += (one[0] in "([") - (one[0] in ")]")
    return len(plain)


def _in_folders(text: str, plain: str, start: int) -> bool:
    """Whether a reader is given a pattern for folders, or a folder, which DuckDB reads with all that are in it; or what
    is no path before it is calculated.
    """
    if FOLDERS_STATED.search(plain, start, _end(plain, start)):
        return False
    first = _end(plain, start, "),")
    paths = [one[0][1:-1].replace("''", "'") for one in QUOTED.finditer(text[start:first])]
    return not TEXTS.fullmatch(plain[start:first]) or any(IN_FOLDERS.search(one) or _is_folder(one) for one in paths)


def _is_folder(path: str) -> bool:
    return os.path.isdir(os.path.expanduser(OF_THIS_MACHINE.sub("", path)))  # noqa: PTH111, PTH112 (of any text)

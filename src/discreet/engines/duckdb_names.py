"""Names of tables, written out when a table is protected: what is made later under the same name does not take its
place.

DuckDB looks for an unqualified name among temporary tables first, then where the connection is; and it does so again
for the names in a view, whenever the view is read.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import ibis.expr.operations as ops
import ibis.expr.types as ir
import sqlglot
import sqlglot.expressions as sge

TEMPORARY = ("temp", "main")
OURS = "__discreet"
"""How temporary names of ours begin."""

RELATIONS = """
SELECT database_name, schema_name, table_name, NULL FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal
"""
"""Where there are tables and views, and how the views are written."""
TEMPORARY_RELATIONS = """
SELECT database_name, schema_name, table_name, NULL FROM duckdb_tables() WHERE temporary AND NOT internal
UNION ALL SELECT database_name, schema_name, view_name, NULL FROM duckdb_views() WHERE temporary AND NOT internal
"""
"""The temporary ones alone, without texts, which take half the time to write."""
MACROS = """
SELECT function_name FROM duckdb_functions()
WHERE macro_definition IS NOT NULL AND (NOT internal OR macro_definition ILIKE '%unnest%')
"""
"""What may give no row, or several, in place of one, or stand for a function that reads files."""
OWN_MACROS = """
SELECT function_name, macro_definition FROM duckdb_functions() WHERE macro_definition IS NOT NULL AND NOT internal
"""
"""Those of the curator's, and how they are written."""
OWN_STORAGE = "SELECT database_name FROM duckdb_databases() WHERE type = 'duckdb'"
"""The databases whose tables are DuckDB's own."""
GENERATED = """
SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE sql LIKE '% GENERATED ALWAYS AS(%'
"""
"""The tables with columns that are computed whenever they are read."""
SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
READERS = ("parquet_scan", "read_csv_auto", "read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto")
"""The functions that read files and have no class in sqlglot."""


class Relation(NamedTuple):
    """A table or a view of a connection."""

    catalog: str
    schema: str
    name: str
    written: str | None
    """The text of a view."""

    def is_named(self, name: str) -> bool:
        """Whether DuckDB takes this name for it: letters of ASCII are alike, in whatever case."""
        return self.name.translate(SMALL) == name.translate(SMALL)


def relations(raw: Any) -> list[Relation]:
    """All tables and views of a connection."""
    return [Relation(*one) for one in raw.execute(RELATIONS).fetchall()]


def qualified(table: ir.Table, raw: Any) -> ir.Table:
    """The same table, in which every name has its catalog and schema, as the connection finds it now; a name that is
    neither of a temporary table, nor of one where the connection is, nor of one table alone stays as it is.
    """
    op = table.op()
    found = {one: _qualified(one, raw) for one in op.find(ops.DatabaseTable)}
    moved = {one: other for one, other in found.items() if other != one}
    return op.replace(moved).to_expr() if moved else table


def _qualified(table: ops.DatabaseTable, raw: Any) -> ops.DatabaseTable:
    if table.namespace.catalog is not None:
        return table
    known = [one for one in relations(raw) if one.is_named(table.name)]
    asked = table.namespace.database
    if asked is not None:
        known = [one for one in known if one.schema.translate(SMALL) == asked.translate(SMALL)]
    [here] = raw.execute("SELECT current_database(), current_schema()").fetchall()
    ordered = [one for place in (TEMPORARY, here) for one in known if (one.catalog, one.schema) == place]
    if asked is not None:
        ordered += [one for one in known if one.catalog == here[0]]
    chosen = (ordered or (known if len(known) == 1 else []))[:1]
    return table.copy(namespace=ops.Namespace(chosen[0].catalog, chosen[0].schema)) if chosen else table


def is_stored(table: ir.Table, raw: Any, known: Iterable[Relation]) -> bool:
    """Whether it is made of DuckDB's own tables alone, whose statistics are DuckDB's own; not of views, which may read
    files, or of tables of another system.
    """
    if queries_of(table):
        return False
    own = {name for [name] in raw.execute(OWN_STORAGE).fetchall()}
    return all(text is None and place[0] in own for place, text in written(table, known).items())


def is_computed(table: ir.Table, raw: Any, known: Iterable[Relation]) -> bool:
    """Whether something of it is computed: by a view, a query, a step or a generated column."""
    if not (isinstance(table.op(), ops.DatabaseTable) and is_stored(table, raw, known)):
        return True
    made = {(*place, name.translate(SMALL)) for *place, name in raw.execute(GENERATED).fetchall()}
    return not made.isdisjoint(written(table, known))


def keeps_rows(table: ir.Table, raw: Any, known: Iterable[Relation]) -> bool:
    """Whether no step of it, and no view, leaves out a row: of a table as DuckDB stores it, or of files.

    A view that names a macro may, whatever else the name means: `regexp_split_to_table` gives no row of NULL.
    """
    if not all(isinstance(one, ops.DatabaseTable | ops.Project) for one in table.op().find(ops.Relation)):
        return False
    if table.op().find((ops.Unnest, ops.ScalarUDF)):
        return False
    found = written(table, known)
    views = [text for text in found.values() if text is not None]
    own = {name for [name] in raw.execute(OWN_STORAGE).fetchall()}
    if any(place[0] not in own for place, text in found.items() if text is None) or not all(map(_reads_files, views)):
        return False
    return not (views and are_named({name for [name] in raw.execute(MACROS).fetchall()}, views))


def written(table: ir.Table, known: Iterable[Relation]) -> dict[tuple[str | None, ...], str | None]:
    """Its tables and views, by where they are, with the texts of the views; one that is not known is an empty text."""
    texts: dict[tuple[str | None, ...], str | None] = {
        (one.catalog, one.schema, one.name.translate(SMALL)): one.written for one in known
    }
    places = [(*_place(one), one.name.translate(SMALL)) for one in table.op().find(ops.DatabaseTable)]
    return {place: texts.get(place, "") for place in places}


def _place(table: ops.DatabaseTable) -> tuple[str | None, str | None]:
    return table.namespace.catalog, table.namespace.database


def _reads_files(view: str) -> bool:
    """Whether the text of a view gives each row of some files."""
    try:
        query = sqlglot.parse_one(view, read="duckdb").expression
    except sqlglot.errors.SqlglotError:
        return False
    if not isinstance(query, sge.Select):
        return False
    if any(shown.find(sge.Unnest, sge.Explode, sge.Query) for shown in query.expressions):
        return False
    parts = {name for name, part in query.args.items() if part}
    read = query.args["from_"].this if parts == {"expressions", "from_"} else None
    if not isinstance(read, sge.Table) or {name for name, part in read.args.items() if part} - {"this", "alias"}:
        return False
    return isinstance(read.this, sge.ReadParquet | sge.ReadCSV) or read.this.name.lower() in READERS


def is_taken(known: Iterable[Relation], name: str) -> bool:
    """Whether a temporary table has a name, under which nothing else can be registered then."""
    return any(one.is_named(name) and one.written is None and (one.catalog, one.schema) == TEMPORARY for one in known)


def temporary_names(known: Iterable[Relation]) -> frozenset[str]:
    """The names of the temporary tables and views that are not ours."""
    names = (one.name.translate(SMALL) for one in known if (one.catalog, one.schema) == TEMPORARY)
    return frozenset(name for name in names if not name.startswith(OURS))


def hidden(
    raw: Any, before: frozenset[str], known: Collection[Relation] | None = None, queries: Iterable[str] = ()
) -> bool:
    """Whether a temporary name is new and stands in the text of a view, of a macro, which a view may name, or of one of
    some queries, which may have meant something else by it.

    `known` are the relations of the connection, where they have just been read.
    """
    near = map(Relation._make, raw.execute(TEMPORARY_RELATIONS).fetchall()) if known is None else known
    new = temporary_names(near) - before
    if not new:
        return False
    known = relations(raw) if known is None else known
    views = [str(one.written) for one in known if one.written and one.name.translate(SMALL) not in new]
    return are_named(new, [*views, *(text for _, text in raw.execute(OWN_MACROS).fetchall()), *queries])


def queries_of(table: ir.Table) -> list[str]:
    """The texts of SQL that it is made of."""
    return [str(one.query) for one in table.op().find((ops.SQLQueryResult, ops.SQLStringView))]


def are_named(names: Iterable[str], views: Iterable[str]) -> bool:
    """Whether one of some names stands in the text of a view."""
    texts = [text.translate(SMALL).replace('""', '"') for text in views]
    return any(re.search(rf"(?<!\w){re.escape(name.translate(SMALL))}(?!\w)", text) for name in names for text in texts)

"""Names of tables, written out when a table is protected: what is made later under the same name does not take its
place.

DuckDB looks for an unqualified name among temporary tables first, then where the connection is.
"""

from __future__ import annotations

from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

TEMPORARY = ("temp", "main")

TABLE_OID = """
SELECT database_name, schema_name FROM duckdb_tables() WHERE table_name = $1
UNION ALL SELECT database_name, schema_name FROM duckdb_views() WHERE view_name = $1
"""
"""Where there are tables and views of a name."""


def qualified(table: ir.Table, raw: Any) -> ir.Table:
    """The same table, in which every name has its catalog and schema, as the connection finds it now; a name that is
    neither of a temporary table nor of one where the connection is stays as it is.
    """
    op = table.op()
    found = {one: _qualified(one, raw) for one in op.find(ops.DatabaseTable)}
    moved = {one: other for one, other in found.items() if other != one}
    return op.replace(moved).to_expr() if moved else table


def _qualified(table: ops.DatabaseTable, raw: Any) -> ops.DatabaseTable:
    if table.namespace.catalog is not None:
        return table
    known = set(raw.execute(TABLE_OID, [table.name]).fetchall())
    [here] = raw.execute("SELECT current_database(), current_schema()").fetchall()
    if table.namespace.database is not None:
        here = (here[0], table.namespace.database)
    catalog, schema = TEMPORARY if TEMPORARY in known and table.namespace.database in (None, "main") else here
    if (catalog, schema) not in known:
        return table
    return table.copy(namespace=ops.Namespace(catalog=catalog, database=schema))

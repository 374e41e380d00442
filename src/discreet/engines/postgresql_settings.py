"""What the meaning of a statement on PostgreSQL depends on beside its words: settings, names, and the encoding.

Claim
    After `put_in_place`, until its transaction ends, every setting of `SETTINGS` has its value there, and every one of
    `CURATORS` the value that it had when the table was protected. A name without a schema means what PostgreSQL itself
    has under it. `qualified` gives the same table with the schema of each relation beside its name. A server that
    `check` does not refuse holds texts in UTF-8. A transaction that `undone` begins fails by nothing that others write
    meanwhile. Of a table that `is_stored`, all rows are in the server's own storage.
Requires
    A transaction. Superusers' settings are theirs, and so is the isolation of a transaction that the caller began.
Relies on
    SET LOCAL and set_config; to_regclass, which looks a name up as a statement does. A server of UTF-8 takes no other
    text in.
Proof
    Operators and functions of one name are looked for in all schemas of search_path, and one that takes just these
    types goes before a better-known one that takes others: whoever may create objects in a schema there could have
    code of theirs run by our statements, with the rights of our connection (CVE-2018-1058). So search_path is set
    before anything that has an operator in it is run; what goes before calls one function, by its full name. Nobody but
    a superuser creates objects in pg_catalog; temporary relations of our own session are looked for last, and have no
    operators. The others are set in one statement under that path. Settings that a server does not have are left out.
    A view that makes days of texts fails at 02/13/2020 if the year is to come first, and not where it was made. So the
    order of DateStyle is the curator's: what `put_in_place` has first makes ISO of its words, and leaves the order. No
    interval and no bytes are read, and our own intervals have one field, which all styles read alike: how a view writes
    and reads these is the curator's.
Rounding
    None.
Source
    PostgreSQL's "A Guide to CVE-2018-1058"; pg_settings of PostgreSQL 15: which of them are set is decided for each in
    tests/engines/conformance/test_postgresql_settings.py.
Mutant
    path-of-the-callers: search_path is left as it is; killed by test_settings_are_those_of_ours.
    path-is-late: relations are looked up by operators of the caller's path; killed by
    test_the_path_is_set_before_operators.
    serializable-looks: transactions are as the caller's are; killed by test_a_transaction_of_ours_is_read_committed.
    year-comes-first: texts are read as days in an order of ours; killed by
    test_days_are_read_in_the_order_of_the_callers.
    intervals-in-any-style: a view's intervals are written and read as a session does by then; killed by
    test_intervals_and_bytes_in_texts_are_those_of_the_session.
    null-is-a-word: array_nulls is left as it is; killed by test_settings_are_those_of_ours.
    foreign-tables-are-stored: a table of another server, which may be a view there, passes for a stored one; killed by
    test_what_is_stored_has_no_part_elsewhere.
    names-cut-at-63: long names lose their ends; killed by test_names_differ_before_and_after.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.operation_rewriting import rewritten
from discreet.errors import InvalidParameter, InvalidQuery, expected

LONGEST_NAME, MARK = 63, 24
ISOLATION = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
ENCODING = "UTF8"
FIRST = {"client_encoding": ENCODING, "search_path": "pg_catalog, pg_temp"}
"""Set one by one, before anything else is run."""
SETTINGS = {
    "DateStyle": "ISO",  # how days are written; in which order they are read stays what it is
    "TimeZone": "UTC",
    "array_nulls": "on",
    "backslash_quote": "safe_encoding",
    "extra_float_digits": "1",
    "gin_fuzzy_search_limit": "0",  # otherwise an index gives some of the rows, by chance
    "idle_in_transaction_session_timeout": "0",  # a release fails for no length of time, which rows could make it take
    "lock_timeout": "0",
    "restrict_nonsystem_relation_kind": "",
    "row_security": "on",  # where it is off, a policy of the table makes a statement fail
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "transaction_timeout": "0",
    "transform_null_equals": "off",
}
"""What the meaning of a statement depends on, and whether it fails; set for its transaction alone."""
CURATORS = (
    *("default_text_search_config", "lc_monetary", "lc_numeric", "lc_time"),
    *("timezone_abbreviations", "xmlbinary", "xmloption", "DateStyle", "IntervalStyle", "bytea_output"),
)
"""What the curator's own columns and views depend on: how many decimals money has, say, and which day 01/02/03 is."""

SET_ALL = (
    "SELECT set_config(name, value, true) FROM unnest(%s::text[], %s::text[]) AS wanted (name, value) "
    "WHERE current_setting(name, true) IS NOT NULL"
)
CURRENT = "SELECT name, current_setting(name) FROM unnest(%s::text[]) AS kept (name)"
TABLE_OID = "SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid"
TABLE_SCHEMA = "SELECT nspname::text, relname::text FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
STORED = (
    "WITH RECURSIVE parts (part) AS (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace "
    "WHERE nspname = %s AND relname = %s UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = part) "
    "SELECT bool_and(relkind NOT IN ('v', 'f')) FROM parts JOIN pg_class ON oid = part"
)


def check(con: Any, raw: ir.Table) -> None:
    """Refuses a server whose texts are in another encoding than UTF-8: one of them could be no text to us, and make a
    release fail; and a constant of a question could be no text to it. Refuses SQL text, whose names nobody can settle,
    and right and outer joins after semi joins, whose rows the conditions that we write for these would lose.
    """
    found = con.info.parameter_status("server_encoding")
    if found != ENCODING:
        cure = "copy the table into a database made with ENCODING 'UTF8': a foreign table would fail at the same rows."
        raise InvalidParameter(expected("a database whose encoding is UTF8", "server_encoding", found, cure))
    if raw.op().find((ops.SQLQueryResult, ops.SQLStringView)):
        cure = "make a view of it, CREATE VIEW, and pass connection.table(name): its names are settled once."
        raise InvalidQuery(expected("a table of the database, and steps on it", "data", "a table of SQL text", cure))
    for chain in raw.op().find(ops.JoinChain):
        pairs = itertools.combinations([link.how for link in chain.rest], 2)
        if any(one in ("semi", "anti") and later in ("right", "outer") for one, later in pairs):
            cure = "make a view of the semi join, CREATE VIEW."
            raise InvalidQuery(
                expected("semi and anti joins after the others", "data", "a right or outer join later", cure)
            )


def qualified(cursor: Any, raw: ir.Table) -> ir.Table:
    """A table with the schema of each relation in it, as the caller's search_path finds them now."""
    cursor.execute(f"SET LOCAL client_encoding = '{ENCODING}'")
    oids = {table: _oid(cursor, table) for table in raw.op().find(ops.DatabaseTable)}
    cursor.execute(_set("search_path", FIRST["search_path"]))
    places = {
        table: cursor.execute(f"{TABLE_SCHEMA} WHERE pg_class.oid = %s", [oid]).fetchone()
        for table, oid in oids.items()
    }
    return rewritten(raw, {ops.DatabaseTable: lambda table: _placed(table, *places[table])})


def is_stored(cursor: Any, raw: ir.Table) -> bool:
    """Whether a table that `qualified` gave is one that the server stores, with all its partitions and heirs: no view,
    no foreign table, which may be a view elsewhere, and no step on one.
    """
    op = raw.op()
    if not isinstance(op, ops.DatabaseTable):
        return False
    [stored] = cursor.execute(STORED, [op.namespace.database, op.name]).fetchone()
    return stored is True


def _oid(cursor: Any, table: ops.DatabaseTable) -> int:
    parts = [part for part in (table.namespace.catalog, table.namespace.database, table.name) if part is not None]
    name = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
    [oid] = cursor.execute(TABLE_OID, [name]).fetchone()
    if oid is None:
        raise LookupError(name)
    return int(oid)


def _placed(table: ops.DatabaseTable, schema: str, name: str) -> ops.DatabaseTable:
    return ops.DatabaseTable(
        name=name, schema=table.schema, source=table.source, namespace=ops.Namespace(database=schema)
    )


@contextmanager
def undone(con: Any, cursor: Any) -> Iterator[None]:
    """A transaction of our own, or a part of the caller's, that is undone."""
    is_ours = con.info.transaction_status.name == "IDLE"
    with con.transaction(force_rollback=True):
        if is_ours:
            cursor.execute(ISOLATION)
        yield


def put_in_place(cursor: Any, curators_settings: Mapping[str, str]) -> None:
    """Sets all of them for the cursor's transaction."""
    for name, value in FIRST.items():
        cursor.execute(_set(name, value))
    wanted = {**SETTINGS, **curators_settings}
    cursor.execute(SET_ALL, [list(wanted), list(wanted.values())])


def as_statements(curators_settings: Mapping[str, str]) -> list[str]:
    """The same as statements, for people to read."""
    return [ISOLATION, *(_set(name, value) for name, value in {**FIRST, **SETTINGS, **curators_settings}.items())]


def shortened(name: str) -> str:
    """A name of at most 63 bytes, of which PostgreSQL forgets what is beyond: one for each, whatever they begin with.

    >>> shortened("visits"), len(shortened("visits" * 20)), shortened("visits" * 20) == shortened("visits" * 21)
    ('visits', 63, False)
    """
    whole = name.encode(errors="surrogatepass")
    if len(whole) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(whole).hexdigest()[:MARK]
    return f"{whole[: LONGEST_NAME - MARK - 1].decode(errors='ignore')}_{mark}"


def _set(name: str, value: str) -> str:
    shown = value if name == "search_path" else "'" + value.replace("'", "''") + "'"
    return f"SET LOCAL {name} = {shown}"


def curators_settings(cursor: Any) -> dict[str, str]:
    """What the caller's own settings are."""
    return dict(cursor.execute(CURRENT, [list(CURATORS)]).fetchall())

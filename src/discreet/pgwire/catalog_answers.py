"""Answers about the catalog of one data set, from declarations alone.

Claim
    Nothing that the catalog says depends on a row, and nothing of a refused statement's constants is logged.
Requires
    Declarations, which analysts may see.
Relies on
    `catalog_database`: it is given declarations, and has no access to files, networks or other databases.
    `catalog_limits`, `catalog_texts`: no statement takes much time or memory.
Proof
    Every relation is filled from `declared_tables.DeclaredTable` and from constants. FROM may name those relations and
    the functions in `catalog_rewriting.SET_NAMES` alone. Nothing is written, so that nobody sees what somebody else
    asked: a statement that does more than read is refused, and its transaction reads alone. `_log` replaces each
    literal before it writes.
Rounding
    None.
Source
    ARCHITECTURE.md, rule 6.
Mutant
    answers-of-any-size: an answer is held whatever its size; killed by test_no_answer_takes_all_the_memory.
    catalogs-are-written: the transaction may write; killed by test_whatever_is_missed_cannot_write.
    refused-statements-are-logged-whole: their constants are logged; killed by
    test_what_cannot_be_answered_is_logged_and_refused_in_one_way.
    far-dates-of-the-catalog: values that Python lacks are a failure of another kind; killed by
    test_values_that_python_lacks_are_refused_as_all_else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.pgwire.catalog_database import catalog_database, is_never_filled
from discreet.pgwire.catalog_limits import NotListed, check_limits, check_numbers
from discreet.pgwire.catalog_rewriting import CatalogSession, is_catalog_table, rewritten
from discreet.pgwire.catalog_texts import shortened
from discreet.pgwire.declared_tables import DeclaredTable
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_results import StatementResult, result_of
from discreet.pgwire.type_codes import TEXT, ColumnType

if TYPE_CHECKING:
    import duckdb

logger = logging.getLogger("discreet.pgwire")

UNNAMED = "?column?"
"""What PostgreSQL calls a column without a name."""
LONGEST_LOGGED = 2_000
MOST_ROWS = 20_000
AT_ONCE = 200
MOST_BYTES = 32 << 20
"""Of one answer, which is held in memory until the client has it."""
CPU_SECONDS = 1.0
"""Of a processor, for one statement about the catalog."""
SECONDS = 10.0
"""For one statement about the catalog, however busy the machine is."""
LOOKS = 0.05
"""Seconds between two looks at how long it has taken."""


class CatalogAnswers:
    """The catalog of a data set; safe for threads, each with a cursor of its own."""

    def __init__(self, database: str, tables: Sequence[DeclaredTable]) -> None:
        self._database = database
        self._tables = tuple(tables)
        self._made: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._made is None:
                self._made = catalog_database(self._database, self._tables)
            return self._made.cursor()

    def answer(self, tree: exp.Expression, session: CatalogSession, values: Sequence[Any] = ()) -> StatementResult:
        """The rows that a statement about the catalog has.

        Raises:
            Refused: it cannot be answered; the statement is logged, and the refusal is the same for all.
        """
        try:
            check_numbers(tree)
            made = rewritten(tree, session, list(values))
            check_limits(made)
            table = _run(self._cursor(), shortened(made).sql("duckdb"))
            # Here as well: DuckDB has dates that Python has not.
            return result_of(table.slice(0, MOST_ROWS), output_names(tree, table.num_columns))
        except Refused as refused:
            empty = _empty(tree) if isinstance(refused, NotListed) else None
            if empty is not None:
                return empty
            _log(tree)
            raise
        except Exception as problem:  # whatever DuckDB or sqlglot lacks
            empty = _empty(tree)
            if empty is not None:
                return empty
            _log(tree)
            logger.debug("because of: %s", problem)
            raise Refused.unsupported() from problem


def _run(cursor: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The first rows of a statement, which may write nothing, and take no more than its share of time and memory."""
    import pyarrow as pa

    done = threading.Event()
    threading.Thread(target=_watch, args=(cursor, done, _clock()), daemon=True).start()
    try:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        held, rows, size = [], 0, 0
        with closing(cursor.sql(sql).to_arrow_reader(AT_ONCE)) as reader:
            for batch in reader:
                held.append(batch)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if size > MOST_BYTES:
                    raise Refused.unsupported()
                if rows >= MOST_ROWS:
                    break
            return pa.Table.from_batches(held, reader.schema)
    finally:
        done.set()
        cursor.close()


def _clock() -> Callable[[], float]:
    """The time that this thread has had of a processor, for others to look at; the time of day where there is none."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


def _watch(cursor: duckdb.DuckDBPyConnection, done: threading.Event, clock: Callable[[], float]) -> None:
    """Ends a statement that takes too long; again, where it had not begun."""
    began, spent = time.monotonic(), clock()
    while not done.wait(LOOKS):
        if clock() - spent > CPU_SECONDS or time.monotonic() - began > SECONDS:
            cursor.interrupt()


def _log(tree: exp.Expression) -> None:
    """Says which statement was refused, without its constants."""
    copy = tree.copy()
    for node in copy.find_all(exp.Literal):  # in its place: `replace` would number a whole list anew for each
        node.set("this", "?" if node.is_string else "0")
    logger.warning("no answer about the catalog: %s", copy.sql("postgres")[:LONGEST_LOGGED])


def is_about_catalog(tree: exp.Expression) -> bool:
    """Whether every table of a statement is one of the catalog's, or it has none."""
    made = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    named = [one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Identifier)]
    return all(is_catalog_table(one) or (not one.db and one.name.lower() in made) for one in named)


def _empty(tree: exp.Expression) -> StatementResult | None:
    """No rows, where a table that never has any is joined to all others: then it does not matter what is computed."""
    if not isinstance(tree, exp.Select) or tree.find(exp.AggFunc, exp.SetOperation) or tree.args.get("group"):
        return None
    source = tree.args.get("from_")
    sides = [source.this if source else None]
    sides += [one.this for one in tree.args.get("joins") or () if one.side == "" and one.kind in ("", "INNER", "CROSS")]
    outer = any(one.side in ("RIGHT", "FULL") for one in tree.args.get("joins") or ())
    if outer or not any(_is_empty(one) for one in sides):
        return None
    names = output_names(tree, len(tree.expressions))
    return None if names is None else StatementResult.of([ColumnType(name, TEXT) for name in names], [])


def _is_empty(node: exp.Expression | None) -> bool:
    if isinstance(node, exp.Subquery):
        inner: Any = node.this
        return isinstance(inner, exp.Select) and _empty(inner) is not None
    return (
        isinstance(node, exp.Table) and is_catalog_table(node) and is_never_filled(node.name.lower(), node.db.lower())
    )


def output_names(tree: exp.Expression, count: int) -> list[str] | None:
    """The names that PostgreSQL gives to the selected columns; None where `*` leaves them open."""
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery | exp.Paren):
        select = select.this
    items = select.expressions if isinstance(select, exp.Select) else []
    if len(items) != count or any(item.is_star for item in items):
        return None
    return [_name(item) for item in items]


def _name(node: exp.Expression) -> str:
    found = next((naming for kinds, naming in NAMING if isinstance(node, kinds)), None)
    return UNNAMED if found is None else found(node)


def _folded(node: Any) -> str:
    """An identifier in small letters, unless it is quoted."""
    return str(node.name if node.args.get("quoted") else node.name.lower())


def _cast_name(node: Any) -> str:
    inner = _name(node.this)
    return inner if inner != UNNAMED else str(node.args["to"].sql("postgres")).lower().rpartition(".")[2]


def _subquery_name(node: Any) -> str:
    items = node.this.expressions
    return _name(items[0]) if items else UNNAMED


def _function_name(node: Any) -> str:
    return FUNCTION_NAMES.get(node.key) or str(node.sql_name()).lower()


FUNCTION_NAMES = {"currentversion": "version", "currentdatabase": "current_database", "array": "array"}
NAMING: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (exp.Alias, lambda node: _folded(node.args["alias"])),
    (exp.Column, lambda node: _folded(node.this)),
    (exp.Identifier, _folded),
    (exp.Dot, lambda node: _name(node.expression)),
    (exp.Anonymous, lambda node: str(node.name).lower()),
    (exp.Cast, _cast_name),
    (exp.Case, lambda _: "case"),
    ((exp.Paren, exp.Collate), lambda node: _name(node.this)),
    (exp.Subquery, _subquery_name),
    (exp.Boolean, lambda _: "bool"),
    (exp.Func, _function_name),
)
"""How PostgreSQL names each kind of selected item."""

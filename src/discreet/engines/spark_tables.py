"""What names stand for in a Spark session: tables are settled when they are protected, and compared before each look.

Claim
    Where `changed_table_refusal` says nothing, the columns that a table was protected with have the types that they had
    then, and each name in its SQL stands for a table of the same catalog and database, or for a temporary view, as it
    did then; and no part of it gives random values, or a sample. It leaves out no row if it left out none then.
Requires
    That nobody makes, drops or moves a table or view while a statement is being read.
Relies on
    Spark's analyzed plan, in which a name's alias has the catalog and database where it was found, or none where a
    temporary view has it. The names in a view are those where it was made, whatever the session's database is.
Proof
    The plan of the same SQL is analyzed by the same rules at the look. Its aliases outside of views are compared one by
    one, in their order, and so are the types of its columns, collations included. Spark says of each expression whether
    it gives the same for the same row. Where one does not, a statement that reads the table twice weights a unit down
    by the number of other rows than those that it adds (`random_rows`). Functions of what comes first in a group, and
    of the name of a row's file, are let be. Rows of what leaves some out are found before any condition is tried, which
    is decided when it is protected (`optimizer_fences`).
Rounding
    None.
Source
    Spark 4.0: SessionCatalog.lookupRelation, ResolveRelations.
Mutant
    rows-of-spark-are-drawn: random values are taken; killed by test_rows_that_are_drawn_are_refused.
    groups-of-spark-are-drawn: those beside aggregates are taken; killed by test_rows_that_are_drawn_are_refused.
    views-later-leave-rows-out: a view may leave out rows later; killed by
    test_views_that_later_leave_rows_out_are_refused.
    other-types-of-spark-stay: only the names are compared; killed by test_other_types_are_refused.
    names-of-spark-move: only the types are compared; killed by test_other_tables_are_refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.random_rows import drawn_refusal
from discreet.errors import expected

STATED = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the type of a column that was made as char(n), whose texts it fills up with blanks."""

NOT_DRAWN = {
    *("AggregateExpression", "InputFileName", "InputFileBlockStart", "InputFileBlockLength"),
    *("ScalarSubquery", "ListQuery", "Exists"),
}
"""What Spark may take for random: aggregates that depend on an order, and the places of rows in files. The plans of
sub-queries are looked at by themselves.
"""


class Meaning(NamedTuple):
    """What the SQL of a table stands for."""

    names: tuple[str, ...]
    """The tables and temporary views that it names, each with catalog and database where it has them."""
    types: Mapping[str, str]
    """The types of its columns."""
    twice: tuple[str, ...] = ()
    """Names of columns that Spark takes for one."""
    is_drawn: bool = False
    """Whether it has other rows each time that it is read."""
    keeps_rows: bool = True
    """Whether it leaves out no row of what it names: stored tables, and views that only compute."""


def meaning_now(session: Any, written: str) -> Meaning:
    """What the SQL of a table stands for now; nothing is run."""
    frame = session.sql(written)
    fields = [
        (field.name, field.metadata.get(STATED) or field.dataType.simpleString()) for field in frame.schema.fields
    ]
    number = Counter(folded(name) for name, _ in fields)
    twice = tuple(name for name, _ in fields if number[folded(name)] > 1)
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (Java)
    names = tuple(str(one.toString()) for one in _aliases(plan))
    parts = (part for one in (plan, *each(plan.subqueriesAll())) for part in _nodes(one))
    return Meaning(names, dict(fields), twice, any(map(_draws, parts)), all(map(_keeps_rows, _nodes(plan))))


def folded(name: str) -> str:
    """A name as Spark compares it, by Java's `equalsIgnoreCase`: each letter by the small one of its capital.

    >>> folded("Plan") == folded("plAn"), folded("\u0130s") == folded("i\u017f"), folded("\u00df") == folded("ss")
    (True, True, False)
    """
    capitals = (one.upper() if len(one.upper()) == 1 else one for one in name)
    return "".join(one.lower()[0] for one in capitals)


def changed_table_refusal(now: Meaning, protected: Meaning) -> str:
    """The refusal of a table that stands for something else than when it was protected; empty if it does not."""
    if now.is_drawn:
        return drawn_refusal()
    cure = "restore what was there, or protect the table that is there now."
    if now.names != protected.names:
        return expected(f"the table that was protected, {_said(protected.names)}", "found", _said(now.names), cure)
    for name, kind in protected.types.items():
        if now.types.get(name) != kind:
            return expected(f"a column {name!r} of type {kind}, as protected", "type", now.types.get(name), cure)
    if protected.keeps_rows and not now.keeps_rows:
        return expected("a view that leaves out no row, as protected", "view", "one with a condition or a join", cure)
    return ""


def unsettled(found: Meaning) -> str:
    """The refusal of rows that are drawn, and of columns whose names differ by case alone; empty if there are none."""
    if found.is_drawn:
        return drawn_refusal()
    cure = "rename one of them in a view; in our statements Spark takes 'Plan' for 'plan'."
    return expected("columns of different names", "columns", list(found.twice), cure) if found.twice else ""


def qualified(session: Any, raw: ir.Table, to_sql: Callable[[ir.Table], str]) -> ir.Table:
    """The same table, in which each name of a catalog's has its catalog and database, as the session finds it now."""
    op = raw.op()
    changed = {one: _qualified(session, one, to_sql) for one in op.find(ops.DatabaseTable)}
    changed = {one: other for one, other in changed.items() if one != other}
    return op.replace(changed).to_expr() if changed else raw


def _qualified(session: Any, table: ops.DatabaseTable, to_sql: Callable[[ir.Table], str]) -> ops.DatabaseTable:
    found = next(_aliases(session.sql(to_sql(table.to_expr()))._jdf.queryExecution().analyzed()))  # noqa: SLF001 (Java)
    places = [str(found.qualifier().apply(i)) for i in range(found.qualifier().size())]
    if len(places) != len(("catalog", "database")):  # a temporary view, or a place that Ibis has no name for
        return table
    return table.copy(namespace=ops.Namespace(*places))


def _keeps_rows(node: Any) -> bool:
    """Whether a part of a plan reads all rows of what this session, and no other server, reads, or hands them on."""
    kind = node.getClass().getSimpleName()
    if node.children().size():
        return kind in ("SubqueryAlias", "View", "Project")
    source = {"LogicalRelation": "relation", "DataSourceV2Relation": "table"}.get(kind)
    return source is None or "jdbc" not in getattr(node, source)().getClass().getName().lower()


def _draws(node: Any) -> bool:
    """Whether a part of a plan may give other rows each time."""
    if node.deterministic():  # most are, and each call of Java's takes its time
        return bool(node.getClass().getSimpleName() == "Sample")
    return any(map(_is_random, each(node.expressions())))


def _is_random(value: Any) -> bool:
    """Whether an expression may; Spark has no random values in what an aggregate is of."""
    if value.deterministic() or value.getClass().getSimpleName() in NOT_DRAWN:
        return False
    inner = [one for one in each(value.children()) if not one.deterministic()]
    return any(map(_is_random, inner)) if inner else True


def each(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala's."""
    return (sequence.apply(i) for i in range(sequence.size()))


def _nodes(plan: Any, *, into_views: bool = True) -> Iterator[Any]:
    """The parts of a plan, those above before those below."""
    yield plan
    if into_views or plan.getClass().getSimpleName() != "View":
        for child in each(plan.children()):
            yield from _nodes(child, into_views=into_views)


def _aliases(plan: Any) -> Iterator[Any]:
    """The identifiers of what a plan names, outside of views."""
    nodes = _nodes(plan, into_views=False)
    return (node.identifier() for node in nodes if node.getClass().getSimpleName() == "SubqueryAlias")


def _said(names: tuple[str, ...]) -> str:
    return ", ".join(names)

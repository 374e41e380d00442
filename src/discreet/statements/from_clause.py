"""FROM, WITH and WHERE: the rows of a statement, from joined tables and sub-queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import ibis.expr.types as ir
from sqlglot import exp

from discreet.planning.contribution_limits import check_one_owner
from discreet.query.query_steps import Chain
from discreet.query.table import PrivateTable
from discreet.statements.aggregate_functions import default_name
from discreet.statements.expressions import row_wise
from discreet.statements.from_joins import JoinedTable, conjuncts, joined_tables
from discreet.statements.refusals import CLAUSES, ROWS, refusal
from discreet.statements.scope import Known, Scope, matching, table_named
from discreet.statements.statement_text import SET_OPERATIONS, Text, located
from discreet.statements.unit_subqueries import UnitSubquery, per_unit
from discreet.statements.unnested_lists import SHOWN, unnested

ALLOWED = ("expressions", "from_", "joins", "where", "group", "with_")
"""The clauses that the lowering reads."""


def check_clauses(select: exp.Select, text: Text, more: tuple[str, ...] = ()) -> None:
    """Refuses unsupported clauses; `more` names further supported ones."""
    for name, clause in select.args.items():
        if not clause or name in (*ALLOWED, *more):
            continue
        kind, what, cure = CLAUSES.get(name, (None, f"no {name.rstrip('_').upper()}", "leave it out."))
        first = clause[0] if isinstance(clause, list) else clause
        node = first if isinstance(first, exp.Expression) else select
        at_token = None if kind is None else text.refusal_of(what, cure, kind)
        raise at_token or text.refusal(what, node, cure)


def known_tables(select: exp.Expression, text: Text, tables: Mapping[str, Known]) -> dict[str, Known]:
    """The tables that FROM may name: those that were passed, and those of WITH before them."""
    clause = select.args.get("with_")
    known = dict(tables)
    if clause is None:
        return known
    if clause.args.get("recursive"):
        raise text.refusal("WITH without RECURSIVE", clause, "leave RECURSIVE out; recursion is not supported.")
    seen: set[str] = set()
    for part in clause.expressions:
        alias = part.args["alias"]
        name = alias.this.name
        if alias.args.get("columns"):
            raise text.refusal("a table under one name", alias, "name the columns in its SELECT, with AS.")
        if name.casefold() in seen:
            raise text.refusal("each name of WITH once", alias, "write another name.")
        seen.add(name.casefold())
        if alias.this.quoted and any(other.casefold() == name.casefold() and other != name for other in known):
            cure = "in some dialects they are two tables, in others one: write another name."
            raise text.refusal("a name in double quotes that differs from a table's in more than case", alias, cure)
        made = private_table_of(part.this, text, known)
        for hidden in [other for other in known if other.casefold() == name.casefold()]:
            del known[hidden]
        known[name] = made
    return known


def scope_of(select: exp.Select, text: Text, tables: dict[str, Known]) -> Scope:
    """The tables of FROM, and the names of their columns."""
    clause = select.args.get("from_")
    if clause is None:
        raise text.refusal("FROM and a table", select, "write SELECT ... FROM table, and pass it by name.")
    first = _part(clause.this, text, tables)
    joins = list(select.args.get("joins") or ())
    lists = [join for join in joins if isinstance(join.this, exp.Unnest)]
    if lists != joins[len(joins) - len(lists) :]:
        raise text.refusal("tables before UNNEST", lists[0].this, SHOWN)
    others = [(join, _part(join.this, text, tables)) for join in joins[: len(joins) - len(lists)]]
    for one in (first, *(other for _, other in others)) if others else ():
        if isinstance(one.table, Chain):
            check_one_owner(one.table.declaration, "JOIN")
    where = select.args.get("where")
    scope = joined_tables(first, others, None if where is None else where.this, text)
    for join in lists:
        scope = unnested(scope, join)
    return scope


def _part(node: exp.Expression, text: Text, tables: dict[str, Known]) -> JoinedTable:
    """One table of FROM."""
    if not isinstance(node, exp.Table | exp.Subquery):
        raise text.refusal("the name of a protected table", node, "pass a table by name, dp.sql('... FROM t', t=t).")
    alias = node.args.get("alias")
    if alias and alias.args.get("columns"):
        raise text.refusal("a table under one name", alias, "leave the list of columns out.")
    if isinstance(node, exp.Table):
        return JoinedTable(table_named(node, tables, text), alias.this if alias else node.this, node)
    extra = [name for name, value in node.args.items() if value and name not in ("this", "alias")]
    if extra:
        raise refusal(node, text, part=extra[0])
    return JoinedTable(private_table_of(node.this, text, tables), alias.this if alias else None, node)


def where_rows(select: exp.Select, scope: Scope) -> PrivateTable:
    """The table filtered by WHERE, each part of an AND as a separate condition."""
    where = select.args.get("where")
    table = scope.table
    for node in conjuncts(None if where is None else where.this):
        if any(node is met for met in scope.met):
            continue
        condition = row_wise(node, scope)
        with located(scope.text, node):
            table = table.filter(condition)
    return table


def private_table_of(node: exp.Expression, text: Text, tables: Mapping[str, Known]) -> PrivateTable:
    """The private table that a SELECT of rows, inside FROM or WITH, returns."""
    while isinstance(node, exp.Paren | exp.Subquery) and not node.args.get("alias"):
        node = node.this
    if isinstance(node, exp.SetOperation):
        return _union(node, text, tables)
    if not isinstance(node, exp.Select):
        raise refusal(node, text)
    grouped = node.args.get("group")
    if not grouped and (found := next((item for item in node.expressions if item.find(exp.AggFunc)), None)):
        raise text.refusal(ROWS[0], found, ROWS[1])
    check_clauses(node, text, ("having",) if grouped else ())
    scope = scope_of(node, text, known_tables(node, text, tables))
    table = where_rows(node, scope)
    for item in node.expressions:
        text.remember(item.unalias(), item.alias_or_name or default_name(item))
    if not grouped:
        return _selected(node.expressions, table, scope)
    check_one_owner(table.declaration, "GROUP BY")
    made, features = per_unit(node, table, scope)
    items = [_over_features(item, features) for item in node.expressions]
    return _selected(items, made.table, made)


def _union(node: exp.SetOperation, text: Text, tables: Mapping[str, Known]) -> PrivateTable:
    """All rows of two SELECTs, whose columns are matched by position and named as in the first."""
    extra = [name for name, held in node.args.items() if held and name not in ("this", "expression", "with_")]
    if type(node) is not exp.Union or node.args.get("distinct") or extra:
        what, cure = (
            "UNION ALL between SELECTs of rows",
            "in Python, people.intersect(other) and .difference(other) compare the rows of each unit.",
        )
        raise text.refusal_of(what, cure, *SET_OPERATIONS) or text.refusal(what, node, cure)
    known = known_tables(node, text, tables)
    first, second = (private_table_of(part, text, known) for part in (node.left, node.right))
    if len(first.columns) != len(second.columns):
        cure = "select as many columns in both, in the same order."
        raise text.refusal(f"{len(first.columns)} columns, as in the first SELECT", node.right, cure)
    pairs = zip(first.columns, second.columns, strict=True)
    names = {in_first: in_second for in_first, in_second in pairs if in_first != in_second}
    for in_first, in_second in names.items():
        text.remember(exp.column(in_second), in_first)
    with located(text, node.right):
        return first.union(second.rename(names) if names else second)


def _over_features(item: exp.Expression, features: UnitSubquery) -> exp.Expression:
    """A selected item in terms of the features of a unit, under its own name."""
    inner = item.this if isinstance(item, exp.Alias) else item
    over = features.over(inner)
    if over is inner or (not item.alias and isinstance(over, exp.Column) and not inner.find(exp.AggFunc)):
        return item
    return exp.Alias(this=over, alias=exp.to_identifier(item.alias or default_name(inner), quoted=True))


def _selected(items: list[exp.Expression], table: PrivateTable, scope: Scope) -> PrivateTable:
    """The columns that a SELECT of rows shows, under the names that it gives them."""
    shown: dict[str, exp.Expression] = {}
    made: dict[str, ir.Value] = {}
    for item in items:
        for name, node, value in _columns(item, scope):
            if name.casefold() in {other.casefold() for other in shown}:
                raise scope.text.refusal(f"each column once, not {name!r} twice", node, "write AS and another name.")
            shown[name] = node
            if value is not None:
                made[name] = value
    if made:
        with located(scope.text, shown[next(iter(made))]):
            table = table.mutate(**made)
    return table.select(*shown)


def _columns(item: exp.Expression, scope: Scope) -> Iterator[tuple[str, exp.Expression, ir.Value | None]]:
    """The columns that one item of SELECT stands for: name, position, and value unless the table has the column."""
    inner = item.this if isinstance(item, exp.Alias) else item
    is_star = isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star))
    if is_star:
        star = inner if isinstance(inner, exp.Star) else inner.this
        if any(star.args.values()):
            raise scope.text.refusal("* alone", item, "name the columns instead of EXCLUDE, REPLACE or RENAME.")
        for name, held in scope.every(inner if isinstance(inner, exp.Column) else None):
            yield name, item, None if name == held else scope.table[held]
        return
    while isinstance(inner, exp.Paren):
        inner = inner.this
    column = scope.name(inner.this, inner) if isinstance(inner, exp.Column) else None
    value = row_wise(inner, scope)
    own_name = "" if column is None else scope.called(column)
    name = item.alias if isinstance(item, exp.Alias) else own_name
    if not name:
        raise scope.text.refusal("a name for a computed column", item, "write AS and a name.")
    similar = matching(exp.to_identifier(name, quoted=False), scope.table.columns)
    if len(similar) == 1 and similar[0] != name and column != similar[0]:
        name = similar[0]  # SQL ignores the case, and a table may hold only one of them
    yield (name, inner, None if name == column else value)

"""Statements that tools put around a question, taken off: `SELECT * FROM (question) AS t LIMIT 1000`."""

from __future__ import annotations

from sqlglot import exp

REST = ("where", "group", "having", "joins", "distinct", "windows", "qualify")


def unwrapped(tree: exp.Expression) -> exp.Expression:
    """The question inside, with the order and the limit from outside; the statement itself where it is no wrapping.

    >>> import sqlglot
    >>> text = 'SELECT "t"."n" FROM (SELECT COUNT(*) AS n FROM people) AS "t" LIMIT 10'
    >>> unwrapped(sqlglot.parse_one(text, read="postgres")).sql("postgres")
    'SELECT COUNT(*) AS n FROM people LIMIT 10'
    """
    found = tree
    while (inner := _inner(found)) is not None:
        found = inner
    return found


def _inner(tree: exp.Expression) -> exp.Expression | None:
    if not isinstance(tree, exp.Select) or any(tree.args.get(part) for part in REST):
        return None
    source = tree.args.get("from_")
    if source is None or not isinstance(source.this, exp.Subquery) or not isinstance(source.this.this, exp.Select):
        return None
    inner = source.this.this.copy()
    if inner.find(exp.AggFunc) is None or not _same_columns(tree, inner):
        return None
    if not _is_grouped(inner):
        return None
    for part in ("order", "limit", "offset"):
        if tree.args.get(part) and inner.args.get(part):
            return None
        if tree.args.get(part):
            inner.set(part, _unqualified(tree.args[part].copy()))
    if tree.args.get("with_") and not inner.args.get("with_"):
        inner.set("with_", tree.args["with_"].copy())
    return _in_order(tree, inner)


def _is_grouped(inner: exp.Select) -> bool:
    """Whether it aggregates itself, rather than a sub-query of it."""
    own = [item for item in inner.expressions if item.find(exp.AggFunc) is not None]
    return bool(own) or _inner(inner) is not None


def _same_columns(outer: exp.Select, inner: exp.Select) -> bool:
    """Whether the outer statement selects columns of the inner one as they are."""
    names = [item.alias_or_name for item in inner.expressions]
    if any(not name for name in names):
        return len(outer.expressions) == 1 and outer.expressions[0].is_star
    if len(outer.expressions) == 1 and outer.expressions[0].is_star:
        return True
    chosen = [item.unalias() for item in outer.expressions]
    return sorted(one.name for one in chosen if isinstance(one, exp.Column)) == sorted(names)


def _in_order(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """The inner statement with its items in the order, and under the names, of the outer one."""
    if outer.expressions[0].is_star:
        return inner
    items = {item.alias_or_name: item for item in inner.expressions}
    ordered = []
    for item in outer.expressions:
        held = items[item.unalias().name]
        if isinstance(item, exp.Alias) and item.alias != held.alias_or_name:
            held = exp.Alias(this=held.unalias(), alias=item.args["alias"].copy())
        ordered.append(held.copy())
    inner.set("expressions", ordered)
    return inner


def _unqualified(node: exp.Expression) -> exp.Expression:
    for column in list(node.find_all(exp.Column)):
        column.set("table", None)
    return node

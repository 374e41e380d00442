"""Statements that tools put around a question, taken off: `SELECT * FROM (question) AS t LIMIT 1000`."""

from __future__ import annotations

from sqlglot import exp

OUTSIDE = {"expressions", "from_", "order", "limit", "offset", "with_"}
"""The parts that a statement around a question may have; whatever else changes what is asked."""
AFTER = {"order": ("order", "limit", "offset"), "limit": ("limit",), "offset": ("limit", "offset"), "with_": ("with_",)}
"""Of a part from outside, those of the question that it cannot be put beside."""


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
    if not isinstance(tree, exp.Select) or _parts(tree) - OUTSIDE:
        return None
    source = tree.args.get("from_")
    held = None if source is None else source.this
    if not isinstance(held, exp.Subquery) or not isinstance(held.this, exp.Select):
        return None
    if _parts(held) - {"this", "alias"} or held.alias_column_names:
        return None
    inner = held.this.copy()
    if inner.find(exp.AggFunc) is None or not _same_columns(tree, inner):
        return None
    if not _is_grouped(inner) or any(_parts(inner) & {*AFTER[part]} for part in _parts(tree) & AFTER.keys()):
        return None
    for part in _parts(tree) & AFTER.keys():
        inner.set(part, tree.args[part].copy())
    if "order" in _parts(tree):
        _rename(inner.args["order"], tree)
    return _in_order(tree, inner)


def _parts(node: exp.Expression) -> set[str]:
    """The parts that a statement has."""
    return {name for name, value in node.args.items() if value}


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
    return len(set(names)) == len(names) and sorted(
        one.name for one in chosen if isinstance(one, exp.Column)
    ) == sorted(names)


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


def _rename(order: exp.Expression, outer: exp.Select) -> None:
    """Names what an order goes by as the answer does; a name by itself may be that already."""
    labels = {item.unalias().name: item.alias_or_name for item in outer.expressions}
    for column in list(order.find_all(exp.Column)):
        is_label = not column.table and isinstance(column.parent, exp.Ordered) and column.name in labels.values()
        column.set("table", None)
        if not is_label and column.name in labels:
            column.this.set("this", labels[column.name])

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
    layers = [tree]
    while (inside := _inside(layers[-1])) is not None:
        layers.append(inside)
    found, is_own = layers.pop(), False
    for outer in reversed(layers):  # from the question outward, so that each part is looked at once
        if isinstance(found, exp.Select) and isinstance(outer, exp.Select) and _is_around(outer, found):
            found = _merged(outer, found if is_own else found.copy())
            is_own = True
        else:
            found, is_own = outer, False
    return found


def _inside(tree: exp.Expression) -> exp.Select | None:
    """The statement in the parentheses after FROM, if that is all that is there."""
    source = tree.args.get("from_") if isinstance(tree, exp.Select) else None
    held = None if source is None else source.this
    return held.this if isinstance(held, exp.Subquery) and isinstance(held.this, exp.Select) else None


def _is_around(outer: exp.Select, inner: exp.Select) -> bool:
    """Whether the outer statement shows what the inner one answers, with no more than an order and a limit."""
    held = outer.args["from_"].this
    if _parts(outer) - OUTSIDE or _parts(held) - {"this", "alias"} or held.alias_column_names:
        return False
    if all(item.find(exp.AggFunc) is None for item in inner.expressions) or not _same_columns(outer, inner):
        return False
    if any(_parts(inner) & {*AFTER[part]} for part in _parts(outer) & AFTER.keys()):
        return False
    return outer.expressions[0].is_star or _keeps_references(outer, inner)


def _keeps_references(outer: exp.Select, inner: exp.Select) -> bool:
    """Whether what the inner clauses say by the name or the number of an item is still said of the same one."""
    held = [item.alias_or_name for item in inner.expressions]
    is_moved = [item.unalias().name for item in outer.expressions] != held
    is_renamed = [item.alias_or_name for item in outer.expressions] != held
    group = inner.args.get("group")
    is_numbered = group is not None and any(isinstance(one, exp.Literal) for one in group.expressions)
    return not ("order" in _parts(inner) and (is_moved or is_renamed)) and not (is_numbered and is_moved)


def _merged(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """The inner statement, changed in place, with the items, the order and the limit of the outer one."""
    for part in _parts(outer) & AFTER.keys():
        inner.set(part, outer.args[part].copy())
    if "order" in _parts(outer):
        _rename(inner.args["order"], outer)
    return _in_order(outer, inner)


def _parts(node: exp.Expression) -> set[str]:
    """The parts that a statement has."""
    return {name for name, value in node.args.items() if value}


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
        ordered.append(held)
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

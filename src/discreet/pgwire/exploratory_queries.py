"""What tools ask to look around: rows, categories and ranges. Rows are never shown, and the rest is in declarations.

`SELECT *`, previews and plain columns are refused with what to write instead. `SELECT DISTINCT plan` and `SELECT
MIN(age), MAX(age)` would be about rows; with `SET discreet.scans = declared` they are answered by what the curator
declared, keys and bounds, for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from sqlglot import exp

from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.question_texts import declared_columns
from discreet.pgwire.sqlstates import ROWS, Refused
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.type_codes import TEXT, ColumnType


class LookAround(Enum):
    """What a statement looks for."""

    QUESTION = "a question with aggregates"
    NOTHING = "the names and types of columns"
    ROWS = "rows"
    KEYS = "the values of columns"
    RANGE = "the least and largest values"


def scan_of(tree: exp.Expression) -> LookAround:
    """What a statement looks for."""
    if not isinstance(tree, exp.Select):
        return LookAround.QUESTION
    if asks_for_nothing(tree):
        return LookAround.NOTHING
    aggregates = list(tree.find_all(exp.AggFunc))
    if not aggregates:
        grouped = tree.args.get("distinct") or tree.args.get("group")
        return LookAround.KEYS if grouped and not any(item.is_star for item in tree.expressions) else LookAround.ROWS
    if tree.args.get("distinct") and not tree.args.get("group"):
        return LookAround.QUESTION
    plain = all(isinstance(item.unalias(), exp.Min | exp.Max) for item in tree.expressions)
    columns = all(isinstance(item.unalias().this, exp.Column) for item in tree.expressions) if plain else False
    rest = any(tree.args.get(part) for part in ("group", "where", "having", "joins"))
    return LookAround.RANGE if plain and columns and not rest else LookAround.QUESTION


def asks_for_nothing(tree: exp.Select) -> bool:
    """Whether its result has no rows, whatever the table has: LIMIT 0, or a condition that is always false."""
    limit = tree.args.get("limit")
    count = None if limit is None else limit.args.get("expression") or limit.args.get("count")
    if isinstance(count, exp.Literal) and count.name == "0":
        return True
    where = tree.args.get("where")
    if where is None or not any(_is_false(part) for part in _conjuncts(where.this)):
        return False
    is_total = any(item.find(exp.AggFunc) is not None for item in tree.expressions) and not tree.args.get("group")
    return not is_total  # which has one row of no rows


def _conjuncts(node: exp.Expression) -> list[exp.Expression]:
    while isinstance(node, exp.Paren):
        node = node.this
    return [*_conjuncts(node.left), *_conjuncts(node.right)] if isinstance(node, exp.And) else [node]


def _is_false(node: exp.Expression) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Boolean):
        return not node.this
    if not isinstance(node, exp.EQ | exp.NEQ):
        return False
    left, right = _constant(node.this), _constant(node.expression)
    return type(left) is type(right) and left is not None and (left == right) is isinstance(node, exp.NEQ)


def _constant(node: exp.Expression) -> str | int | None:
    """A text or a whole number, of which it is known whether it equals another one."""
    if not isinstance(node, exp.Literal):
        return None
    return node.name if node.is_string else int(node.name) if node.name.isdecimal() else None


def without_nothing(tree: exp.Select) -> exp.Select:
    """The same statement with the rows that it would have: to find the names and types of its columns."""
    copy = tree.copy()
    copy.set("limit", None)
    where = copy.args.get("where")
    if where is not None and any(_is_false(part) for part in _conjuncts(where.this)):
        copy.set("where", None)
    return copy


def refused(scan: LookAround, tables: Mapping[str, DeclaredTable]) -> Refused:
    """Why a scan is not answered, and what to write instead."""
    example = next(iter(tables), "table")
    if scan is LookAround.ROWS:
        cure = f"no row is ever shown: ask for aggregates, such as COUNT(*) of {example}; LIMIT 0 shows the columns."
        return Refused(ROWS, "Expected aggregates, got a statement that shows rows.", cure)
    cure = "SET discreet.scans = declared answers it from the declared keys and bounds, for nothing."
    if scan is LookAround.RANGE:
        cure += " SET discreet.scans = ask has MIN and MAX answered with noise, for a price."
        return Refused(ROWS, "Expected a question with a group or a condition, got a scan of a column's range.", cure)
    return Refused(ROWS, "Expected aggregates, got a scan of a column's values.", cure)


def from_declaration(scan: LookAround, tree: exp.Select, tables: Mapping[str, DeclaredTable]) -> StatementResult:
    """The declared keys or bounds, as the scan would have them.

    Raises:
        Refused: they are not declared.
    """
    found = _keys(tree, tables) if scan is LookAround.KEYS else _range(tree, tables)
    if found is None:
        raise refused(scan, tables)
    note = "discreet: from the declaration, not from rows; nothing was charged."
    return StatementResult.of(found[0], found[1], notices=[note])


KEYS_HAVE = {"expressions", "from_", "distinct", "group", "order", "limit"}
"""The parts of a statement about keys: whatever else would leave some of them out."""
Found = tuple[list[ColumnType], list[tuple[Any, ...]]]


def _keys(tree: exp.Select, tables: Mapping[str, DeclaredTable]) -> Found | None:
    columns = declared_columns(tree, tables)
    if columns is None or len(columns) != 1 or columns[0].keys is None or not _shows_all(tree):
        return None
    keys = _sorted(tree, columns[0])
    limit = tree.args.get("limit")
    count = None if limit is None else limit.args.get("expression") or limit.args.get("count")
    most = None if count is None else _constant(count)
    if keys is None or isinstance(most, str) or (limit is not None and most is None):
        return None
    return [ColumnType(columns[0].name, columns[0].oid)], [(key,) for key in keys[:most]]


def _shows_all(tree: exp.Select) -> bool:
    """Whether all keys are shown, each once: no clause leaves some out, and none is grouped by something else."""
    named = _item_names(tree)
    for select in tree.find_all(exp.Select):
        parts = {name for name, value in select.args.items() if value}
        if parts - (KEYS_HAVE if select is tree else {"expressions", "from_"}):
            return False
    distinct, group = tree.args.get("distinct"), tree.args.get("group")
    grouped = [] if group is None else group.expressions
    return (distinct is None or not distinct.args.get("on")) and all(one.name.casefold() in named for one in grouped)


def _item_names(tree: exp.Select) -> set[str]:
    """What the first item can be called by."""
    item = tree.expressions[0]
    return {item.alias_or_name.casefold(), item.unalias().name.casefold(), "1"}


def _sorted(tree: exp.Select, column: DeclaredColumn) -> list[Any] | None:
    """The keys in the order of a statement, of texts by their characters' numbers; None for another order."""
    keys, order = list(column.keys or ()), tree.args.get("order")
    if order is None:
        return keys
    entry = order.expressions[0]
    if len(order.expressions) > 1 or entry.this.name.casefold() not in _item_names(tree) or None in keys:
        return None
    return sorted(keys, reverse=bool(entry.args.get("desc")))


def _range(tree: exp.Select, tables: Mapping[str, DeclaredTable]) -> Found | None:
    source = tree.args.get("from_")
    table = tables.get(source.this.name.lower()) if source is not None and isinstance(source.this, exp.Table) else None
    columns: list[ColumnType] = []
    values: list[Any] = []
    for item in tree.expressions:
        inner = item.unalias()
        declared: DeclaredColumn | None = None if table is None else table.column(inner.this.name)
        if declared is None or declared.bounds is None:
            return None
        end = declared.bounds[0 if isinstance(inner, exp.Min) else 1]
        name = item.alias if isinstance(item, exp.Alias) else inner.key
        columns.append(ColumnType(name, declared.oid if declared.oid != TEXT else TEXT))
        values.append(end)
    return columns, [tuple(values)]

"""``dp.sql``: translates a SQL statement into the question that the verbs would ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.query.public_table import PublicTable
from discreet.query.shared_table import SharedTable
from discreet.query.table import PrivateTable, Question
from discreet.statements.aggregate_functions import AggregateFunction, column_for, default_name, is_aggregate
from discreet.statements.answer_clauses import After, AnswerClauses, Take, order_entries, row_count
from discreet.statements.answer_windows import has_window, over_groups, write_out
from discreet.statements.constants import number_of
from discreet.statements.dialects import DUCKDB, Dialect, dialect_named
from discreet.statements.expressions import row_wise
from discreet.statements.from_clause import check_clauses, known_tables, scope_of, where_rows
from discreet.statements.group_by_clause import LISTS, grouped_expressions, groupings, has_sets
from discreet.statements.notation import check_notation
from discreet.statements.scope import Known, Scope, matching
from discreet.statements.select_statement import Group, SelectStatement, with_limits_hint
from discreet.statements.statement_text import Text, located

AFTER = ("having", "qualify", "windows", "order", "limit", "offset")
"""The clauses that apply to the answer."""
LIMITS_HINT = "In SQL they go to dp.sql(..., keys=..., max_groups=..., max_rows=...), or to dp.protect(...)."


@with_usage_hint("dp.sql('SELECT COUNT(*) AS n FROM people', people=people)")
def sql(
    text: str,
    /,
    *,
    keys: object = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    tables: Mapping[str, Known] | None = None,
    dialect: str = "duckdb",
    **named_tables: Known,
) -> Question:
    """The question that a small SQL statement asks of a protected table; nothing runs and nothing is spent.

    ``SELECT keys, aggregates FROM table WHERE condition GROUP BY keys``, in the SQL of DuckDB or of another ``dialect``
    ("postgres", "spark"). Tables are passed by name; one that is called like a parameter goes into ``tables``. Public
    keys and limits are those of ``group_by``; where they are left out, those that the table was protected with hold.

    Raises InvalidQuery, with line and column, for whatever docs/sql.md does not list.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> people = dp.protect(
    ...     pa.table({"person": [1, 1, 2], "plan": ["free", "free", "95%"], "visits": [3, 5, 4]}),
    ...     unit="person",
    ...     bounds={"visits": (0, 50)},
    ...     keys={"plan": ["free", "95%"]},
    ...     budget=dp.Budget(epsilon=1),
    ...     name="visits",
    ... )
    >>> dp.sql("SELECT plan, AVG(visits) FROM people GROUP BY plan", people=people, max_groups=1, max_rows=5)
    <question about 'visits': avg_visits by plan>
    """
    if tables is not None and not isinstance(tables, Mapping):
        cure = "write tables={'visits': visits}, or pass them by name, visits=visits."
        raise InvalidParameter(expected("a dict of tables", "tables", tables, cure))
    statement = lower(text, {**(tables or {}), **named_tables}, dialect_named(dialect))
    try:
        return statement.question(keys=keys, max_groups=max_groups, max_rows=max_rows)
    except InvalidQuery as problem:
        raise with_limits_hint(problem, LIMITS_HINT) from None


def lower(text: str, tables: Mapping[str, Known], dialect: Dialect = DUCKDB) -> SelectStatement:
    """A statement in the terms of the verbs, before its keys and limits are known."""
    for name, table in tables.items():
        if not isinstance(table, PrivateTable | SharedTable | PublicTable):
            cure = "protect it first, dp.protect(data, unit=..., budget=...), or mark it as public, dp.public(data)."
            raise InvalidParameter(expected("a protected table", name, table, cure))
    try:
        return _lowered(Text.of(text, dialect), dict(tables))
    except RecursionError:
        raise InvalidQuery(
            "Expected a statement of moderate depth, got too many nested parentheses or operations.\n"
            "Hint: remove parentheses; write IN for a long list of OR."
        ) from None


def _lowered(text: Text, tables: dict[str, Known]) -> SelectStatement:
    check_notation(text)
    select = text.select()
    check_clauses(select, text, AFTER)
    write_out(select, text)
    scope = scope_of(select, text, known_tables(select, text, tables))
    table = where_rows(select, scope)
    items = [_item(node, scope, grouped=select.args.get("group") is not None) for node in select.expressions]
    groups = tuple(_groups(select.args.get("group"), items, scope))
    sets = _sets(select.args.get("group"), items, scope)
    markers = {item.name: _marked(item, groups, sets, scope) for item in items if isinstance(item.node, exp.Grouping)}
    aggregates, after = _aggregates(select, items, groups, scope)
    for group in groups:
        if group.column != group.name:
            with located(text, group.node):
                table = table.mutate(**{group.name: group.value})
    return SelectStatement(
        text=text, table=table, groups=groups, aggregates=aggregates, after=after, sets=sets, markers=markers
    )


@dataclass(frozen=True, kw_only=True)
class Item:
    """One selected expression: an aggregate, or else a group."""

    node: exp.Expression
    alias: str
    group: Group | None
    """None for an aggregate, and for a calculation with aggregates."""

    @property
    def column(self) -> str | None:
        """The column that it is, if it is a plain column."""
        return None if self.group is None else self.group.column

    @property
    def name(self) -> str:
        """Its alias, or the name of what is computed."""
        return self.alias or default_name(self.node)


def _item(node: exp.Expression, scope: Scope, *, grouped: bool) -> Item:
    alias = node.alias if isinstance(node, exp.Alias) else ""
    inner = node.this if isinstance(node, exp.Alias) else node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if is_aggregate(inner) or isinstance(inner, exp.Grouping):
        return Item(node=inner, alias=alias, group=None)
    if inner.find(exp.Query) is None and _is_after_noise(inner, grouped=grouped):
        return Item(node=inner, alias=alias, group=None)
    value = row_wise(inner, scope)
    column = scope.name(inner.this, inner) if isinstance(inner, exp.Column) else None
    name = alias or ("" if column is None else scope.called(column))
    scope.text.remember(inner, name)
    return Item(node=inner, alias=alias, group=Group(name=name, value=value, node=inner, column=column))


def _is_after_noise(node: exp.Expression, *, grouped: bool) -> bool:
    """Whether an expression is computed of the answer: with aggregates, or by a window over groups."""
    return grouped if has_window(node) else node.find(exp.AggFunc) is not None


def _groups(clause: exp.Group | None, items: list[Item], scope: Scope) -> Iterator[Group]:
    """The selected expressions that GROUP BY lists, in the order in which they were selected."""
    chosen = set(_chosen(clause, items, scope)) if clause else set()
    names: set[str] = set()
    for i, item in enumerate(items):
        if item.group is None:
            continue
        group = item.group
        if i not in chosen:
            what = "a grouped column or an aggregate" if not clause else "a column that GROUP BY lists, once"
            raise scope.text.refusal(
                what, item.node, "add it to GROUP BY, or take an aggregate of it, as in AVG(column)."
            )
        if not group.name:
            raise scope.text.refusal(
                "a name for a computed group", item.node, "write AS and a name: its keys are stated under it."
            )
        taken = matching(exp.to_identifier(group.name), scope.table.columns)
        if group.name.casefold() in names or (taken and group.name != group.column):
            raise scope.text.refusal(
                f"a name that is not taken, not {group.name!r}", item.node, "write AS and another name."
            )
        names.add(group.name.casefold())
        yield group


def _chosen(clause: exp.Group, items: list[Item], scope: Scope) -> Iterator[int]:
    """The positions of the selected expressions that GROUP BY lists."""
    if clause.args.get("all"):
        yield from (i for i, item in enumerate(items) if item.group is not None)
    for name, parts in clause.args.items():
        if parts and name not in ("expressions", "all", *LISTS):
            raise scope.text.refusal("lists of groups", clause, "write GROUP BY ROLLUP (a, b).")
    for node in grouped_expressions(clause, scope.text):
        place = _place(node, items, scope)
        if items[place].group is None:
            raise scope.text.refusal("groups by columns", node, "an aggregate is what is computed for each group.")
        yield place


def _sets(clause: exp.Group | None, items: list[Item], scope: Scope) -> tuple[tuple[str, ...], ...] | None:
    """The names of the groups of each grouping, where there are several."""
    if clause is None or not has_sets(clause, scope.text):
        return None
    found = []
    for nodes in groupings(clause, scope.text):
        places = {_place(node, items, scope) for node in nodes}
        found.append(tuple(item.group.name for i, item in enumerate(items) if i in places and item.group is not None))
    return tuple(found)


def _marked(item: Item, groups: tuple[Group, ...], sets: object, scope: Scope) -> tuple[str, ...]:
    """The groups that GROUPING(...) names."""
    names = []
    for node in item.node.expressions:
        value = row_wise(node, scope)
        name = next((group.name for group in groups if group.value.equals(value)), None)
        if sets is None or name is None:
            cure = "GROUPING(a) says of which groups a row is, beside CUBE, ROLLUP or GROUPING SETS."
            raise scope.text.refusal("a column of several groupings", item.node, cure)
        names.append(name)
    return tuple(names)


def _place(node: exp.Expression, items: list[Item], scope: Scope) -> int:
    """The selected expression that an entry of GROUP BY means: by its number, its name, or the same expression."""
    ordinal = number_of(node)
    if ordinal is not None:
        if not isinstance(ordinal, int) or not 1 <= ordinal <= len(items):
            raise scope.text.refusal(f"a number from 1 to {len(items)}", node, "it counts the selected expressions.")
        return ordinal - 1
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and not node.table:
        by_alias = [i for i, item in enumerate(items) if item.alias and matching(node.this, (item.alias,))]
        columns = matching(node.this, scope.table.columns)
        if columns and any(items[i].column not in columns for i in by_alias):
            raise scope.text.refusal(
                "a group with one meaning", node, "a column and an alias have this name: use another alias."
            )
        if len(by_alias) == 1 and not columns:
            return by_alias[0]
    value = row_wise(node, scope)
    for i, item in enumerate(items):
        if item.group is not None and item.group.value.equals(value):
            return i
    raise scope.text.refusal(
        "groups that SELECT shows", node, "select it too, a computed one under a name: SELECT x AS name."
    )


def _aggregates(
    select: exp.Select, items: list[Item], groups: tuple[Group, ...], scope: Scope
) -> tuple[tuple[AggregateFunction, ...], After]:
    """The aggregates that a statement needs, and its steps after the noise."""
    group_names = [group.name for group in groups]
    clauses = AnswerClauses(scope=scope, taken={name.casefold() for name in group_names})

    def over(node: exp.Expression) -> exp.Expression:
        return clauses.over(_of_groups(over_groups(node, scope), groups, items, scope))

    shown: dict[int, str] = {}
    for i, item in enumerate(items):
        if item.group is None and is_aggregate(item.node):
            shown[i] = clauses.add(item.node, item.alias).name
    computed, markers = [], []
    for i, item in enumerate(items):
        if item.group is not None:
            shown[i] = item.group.name
        elif i not in shown:
            shown[i] = item.name
            if shown[i].casefold() in clauses.taken:
                what = f"a name that is not taken, not {shown[i]!r}"
                raise scope.text.refusal(what, item.node, "write AS and another name.")
            clauses.taken.add(shown[i].casefold())
            if isinstance(item.node, exp.Grouping):
                markers.append(shown[i])
            else:
                computed.append((shown[i], over(item.node)))
    after = _after(select, computed, [shown[i] for i in range(len(items))], over, scope)
    if not clauses.found:
        first = items[0].node if items else exp.Select()
        raise scope.text.refusal("an aggregate", first, "add one, such as COUNT(*) or AVG(column).")
    shown_names = [*group_names, *(shown[i] for i in range(len(items)) if items[i].group is None)]
    all_names = [*group_names, *markers, *(one.name for one in clauses.found)]
    all_names += [name for name, _ in (*after.computed, *after.windows)]
    return tuple(clauses.found), after if shown_names == all_names else replace(after, shown=tuple(shown_names))


def _after(
    select: exp.Select, computed: list[tuple[str, exp.Expression]], shown: list[str], over: Take, scope: Scope
) -> After:
    """The clauses after the noise, in their order: HAVING comes before windows, and QUALIFY after them."""
    having, qualify = select.args.get("having"), select.args.get("qualify")
    if having is not None and has_window(having):
        raise scope.text.refusal("HAVING without windows", having, "write QUALIFY and the condition.")
    windows = tuple((name, node) for name, node in computed if has_window(node))
    if qualify is not None and not windows and not has_window(qualify):
        what, cure = "a window that QUALIFY looks at", "write HAVING and the condition."
        raise scope.text.refusal_of(what, cure, TokenType.QUALIFY) or scope.text.refusal(what, qualify, cure)
    return After(
        computed=tuple((name, node) for name, node in computed if not has_window(node)),
        having=None if having is None else over(having.this),
        windows=windows,
        qualify=None if qualify is None else over(qualify.this),
        order=tuple(order_entries(select.args.get("order"), shown, over, scope.text)),
        limit=row_count(select.args.get("limit"), scope.text),
        offset=row_count(select.args.get("offset"), scope.text) or 0,
        qualifier=scope.qualifier,
    )


def _of_groups(node: exp.Expression, groups: tuple[Group, ...], items: list[Item], scope: Scope) -> exp.Expression:
    """An expression after the noise, with each qualified column replaced by its group."""
    copy = exp.Paren(this=node.copy())
    for part in list(copy.walk(prune=is_aggregate)):
        if not isinstance(part, exp.Column) or not isinstance(part.this, exp.Identifier):
            continue
        if not part.args.get("table"):
            _check_meaning(part, groups, items, scope)
            continue
        scope.check_qualifier(part)
        column = scope.name(part.this, part)
        name = next((group.name for group in groups if group.column == column), None)
        if name is None:
            raise scope.text.refusal("a column that GROUP BY lists", part, "group by it, or take an aggregate of it.")
        part.replace(column_for(part, name))
    over: exp.Expression = copy.this
    return over


def _check_meaning(column: exp.Column, groups: tuple[Group, ...], items: list[Item], scope: Scope) -> None:
    """Refuses a name that is both a column under which is grouped and the alias of something else.

    Engines take the column, where we would have the alias alone; but for ORDER BY and the name by itself.
    """
    meant = matching(column.this, scope.table.columns)
    other = [item for item in items if item.alias and matching(column.this, (item.alias,)) and item.column not in meant]
    if other and any(group.column in meant for group in groups):
        cure = "a column and an alias have this name: use another alias."
        raise scope.text.refusal("a name with one meaning", column, cure)

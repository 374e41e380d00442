"""Joins of several tables in FROM: their keys, and the names of their columns afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from sqlglot import exp

from discreet.errors import nearest_name
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateTable
from discreet.statements.expressions import row_wise
from discreet.statements.scope import Known, Scope, check_unread, matching, same_name, unread_columns
from discreet.statements.statement_text import Text, located

KINDS = {("", ""): "inner", ("", "INNER"): "inner", ("LEFT", ""): "left", ("LEFT", "OUTER"): "left"}
KINDS |= {(side, kind): kind.lower() for side in ("", "LEFT") for kind in ("SEMI", "ANTI")}
KINDS_REVERSED = {**KINDS, ("RIGHT", ""): "left", ("RIGHT", "OUTER"): "left"}
"""How the second table is joined to the first, where the first is the public one."""
LINK = "write ON a.key = b.key, or USING (key)."


class JoinedTable(NamedTuple):
    """A table of FROM."""

    table: Known
    alias: exp.Identifier | None
    node: exp.Expression

    @property
    def name(self) -> str:
        """The prefix of its columns that have the name of another."""
        return "joined" if self.alias is None else str(self.alias.name)

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns of its privacy unit; none of a public table."""
        if isinstance(self.table, PublicTable):
            return ()
        return self.table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns in the statement."""
        return tuple(self.table.kinds) if isinstance(self.table, PublicTable) else self.table.columns


class Links(NamedTuple):
    """The conditions on which a table is joined."""

    keys: dict[str, str]
    """For each of its columns, by its name in the statement, the equal column of the tables joined so far."""
    nodes: tuple[exp.Expression, ...]
    """The conditions that set these equal."""
    rest: tuple[exp.Expression, ...]
    """The other conditions."""


class Member(NamedTuple):
    """One of several tables: its name, and its columns' names in the joined table."""

    qualifier: exp.Identifier | None
    columns: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Joined(Scope):
    """Several tables, joined to one."""

    members: tuple[Member, ...]
    merged: Mapping[str, str] = field(default_factory=dict)
    """The columns that USING merges."""

    def check_qualifier(self, node: exp.Column) -> None:
        """Refuses a column of a table that is not in FROM."""
        qualifier = node.args.get("table")
        if not node.args.get("db") and (not qualifier or self._members(qualifier)):
            return
        known = ", ".join(one.qualifier.name for one in self.members if one.qualifier)
        raise self.text.refusal(f"a column of one of {known}", node, "qualify it by the name of a table in FROM.")

    def name(self, identifier: exp.Identifier, node: exp.Expression) -> str:
        """The column that an identifier means; refuses unknown names and those that several tables have."""
        qualifier = node.args.get("table")
        if not qualifier and (one := matching(identifier, tuple(self.merged))):
            return self.merged[one[0]]
        members = self._members(qualifier) if qualifier else self.members
        found = [columns[name] for _, columns in members for name in matching(identifier, tuple(columns))]
        if len(found) == 1:
            return found[0]
        if found:
            names = (one.qualifier.name for one in members if one.qualifier and matching(identifier, (*one.columns,)))
            choices = " or ".join(f"{name}.{identifier.name}" for name in names)
            raise self.text.refusal("a name that means one column", node, f"write {choices or 'another name'}.")
        check_unread(identifier, node, unread_columns(self.table), self.text)
        known = [name for _, columns in members for name in columns]
        raise self.text.refusal("a known column", node, nearest_name(identifier.name, known))

    def called(self, name: str) -> str:
        """What the statement calls a column of the table."""
        return next((shown for _, columns in self.members for shown, held in columns.items() if held == name), name)

    def every(self, node: exp.Column | None) -> Iterator[tuple[str, str]]:
        """The columns that * stands for; those of USING come first, and only once."""
        if node is not None:
            self.check_qualifier(node)
            for one in self._members(node.args["table"]):
                yield from one.columns.items()
            return
        yield from self.merged.items()
        once = {name.casefold() for name in self.merged}
        for one in self.members:
            yield from ((name, held) for name, held in one.columns.items() if name.casefold() not in once)

    def over(self, table: PrivateTable) -> Self:
        """The names for a table that has some of the columns, and others of its own."""
        kept = [Member(q, {name: held for name, held in c.items() if held in table.columns}) for q, c in self.members]
        known = {held for _, columns in kept for held in columns.values()}
        own = Member(None, {name: name for name in table.columns if name not in known})
        merged = {name: held for name, held in self.merged.items() if held in table.columns}
        return replace(self, table=table, members=(*kept, own), merged=merged)

    def _members(self, qualifier: exp.Identifier) -> list[Member]:
        return [one for one in self.members if one.qualifier and same_name(qualifier, one.qualifier)]


def single_table(part: JoinedTable, text: Text) -> Scope:
    """The scope of one table; refuses a public one."""
    if isinstance(part.table, PublicTable):
        cure = "join it to a protected one; a public table can be queried by anybody as it is."
        raise text.refusal("a protected table", part.node, cure)
    return Scope(text=text, table=part.table, qualifier=part.alias)


def joined_tables(
    first: JoinedTable, others: Iterable[tuple[exp.Join, JoinedTable]], where: exp.Expression | None, text: Text
) -> Scope:
    """Joins all tables of FROM, one after the other; a public table may come first, before a protected one."""
    steps = list(others)
    reverse = bool(steps) and isinstance(first.table, PublicTable)
    if reverse:
        join, second = steps[0]
        how = join_type(join, text, KINDS_REVERSED)
        if how in ("semi", "anti") or (how == "left" and join.side != "RIGHT"):
            raise text.refusal("a protected table first", first.node, "write the tables in the other order.")
        scope = join_one(single_table(second, text), join, first, where, how=how)
        steps = steps[1:]
        scope = replace(scope, members=scope.members[::-1]) if isinstance(scope, Joined) else scope
    else:
        scope = single_table(first, text)
    for join, part in steps:
        scope = join_one(scope, join, part, where, how=join_type(join, text, KINDS))
    return scope


def join_type(join: exp.Join, text: Text, known: Mapping[tuple[str, str], str]) -> str:
    """The kind of join, as the verb `join` names it."""
    kind = "" if join.kind == text.dialect.comma else join.kind
    how = known.get((join.side, kind))
    if how in ("semi", "anti") and not text.dialect.half_joins:
        cure = f'{kind} is the name of a table in this dialect; write it in that of DuckDB, dialect="duckdb".'
        raise text.refusal("an inner or a left join", join.this, cure)
    extra = [name for name, held in join.args.items() if held and name not in ("this", "on", "using", "side", "kind")]
    if how is None or extra:
        keyword = join.args.get("method") or join.side or join.kind or extra[0]
        cure = {
            "NATURAL": "name the columns, USING (a, b).",
            "CROSS": f"it would combine every row with every other: {LINK}",
            "RIGHT": "write the tables in the other order, with LEFT JOIN.",
        }.get(str(keyword), "write JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN.")
        raise text.refusal(f"an inner, left, semi or anti join, not {keyword}", join.this, cure)
    return how


def join_one(scope: Scope, join: exp.Join, part: JoinedTable, where: exp.Expression | None, *, how: str) -> Scope:
    """Joins one more table to those before."""
    text = scope.text
    old = scope.members if isinstance(scope, Joined) else (Member(scope.qualifier, _identity(scope.table.columns)),)
    if any(part.alias and one.qualifier and same_name(part.alias, one.qualifier) for one in old):
        raise text.refusal("each name in FROM once", part.node, "give it another: FROM t AS a JOIN t AS b.")
    links, implied = _links(scope, join, part, where)
    if not set(part.unit) <= set(links.keys):
        unit = " AND ".join(f"a.{name} = b.{name}" for name in part.unit)
        cure = f"add the unit, {unit}; in Python, .join(..., max_matches=(5, 5)) joins any rows, with limits."
        raise text.refusal("a join on the privacy unit", part.node, cure)
    if links.rest and how != "inner":
        cure = "put conditions on the rows of one table into a sub-query: LEFT JOIN (SELECT ... WHERE ...) AS t."
        raise text.refusal("only equalities of columns in ON of such a join", links.rest[0], cure)
    right, columns = _renamed(scope.table, part, links.keys, is_left=how == "left")
    on = list(links.keys.values())
    with located(text, part.node):
        if isinstance(right, PublicTable):  # SQL joins all matching rows; limits are enforced afterwards
            table = scope.table.join(right, on, how=how, max_matches=max(1, right.most(on)))
        else:
            table = scope.table.join(right, on, how=how)
    met = (*scope.met, *(links.nodes if implied else ()))
    if how in ("semi", "anti"):
        return replace(scope, table=table, met=met)
    merged = dict(scope.merged) if isinstance(scope, Joined) else {}
    merged |= links.keys if join.args.get("using") else {}
    members = (*old, Member(part.alias, columns))
    made = Joined(text=text, table=table, qualifier=None, met=met, members=members, merged=merged)
    for node in links.rest:
        condition = row_wise(node, made)
        with located(text, node):
            made = replace(made, table=made.table.filter(condition))
    return made


def _identity(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _links(scope: Scope, join: exp.Join, part: JoinedTable, where: exp.Expression | None) -> tuple[Links, bool]:
    """The conditions on which a table is joined, and whether they are in WHERE."""
    using, on = join.args.get("using"), join.args.get("on")
    keys: dict[str, str] = {}
    if using:
        for identifier in using:
            node = exp.Column(this=identifier.copy())
            found = matching(identifier, part.columns)
            if len(found) != 1:
                check_unread(identifier, node, unread_columns(part.table), scope.text)
                cure = nearest_name(identifier.name, part.columns)
                raise scope.text.refusal(f"a column of {part.name}", node, cure)
            keys[found[0]] = scope.name(identifier, node)
        return Links(keys, (), ()), False
    implied = on is None and where is not None and not join.side
    nodes, rest = [], []
    for condition in conjuncts(where if implied and where is not None else on):
        link = _link(scope, condition, part)
        if link is None or link[0] in keys or link[1] in keys.values():
            rest.append(condition)
        else:
            keys[link[0]] = link[1]
            nodes.append(condition)
    if not keys:
        raise scope.text.refusal(f"columns that {part.name} is joined on", part.node, LINK)
    return Links(keys, tuple(nodes), () if implied else tuple(rest)), implied


def _link(scope: Scope, condition: exp.Expression, part: JoinedTable) -> tuple[str, str] | None:
    """The column of the new table and that of the others that a condition sets equal; None for other conditions."""
    condition = _inner(condition)
    parts = [_inner(side) for side in (condition.this, condition.expression)] if type(condition) is exp.EQ else []
    sides = [side for side in parts if isinstance(side, exp.Column) and isinstance(side.this, exp.Identifier)]
    if len(sides) < 2:
        return None
    in_new = [_is_of_new_table(scope, side, part) for side in sides]
    if in_new[0] == in_new[1]:
        return None
    right, left = sides if in_new[0] else sides[::-1]
    found = matching(right.this, part.columns)
    if len(found) != 1:
        check_unread(right.this, right, unread_columns(part.table), scope.text)
        raise scope.text.refusal(f"a column of {part.name}", right, nearest_name(right.name, part.columns))
    scope.check_qualifier(left)
    before = scope.name(left.this, left)
    return (found[0], before) if found[0] == before or not {found[0], before} & set(part.unit) else None


def _is_of_new_table(scope: Scope, node: exp.Column, part: JoinedTable) -> bool:
    """Whether a column is one of the new table; refuses ambiguous names."""
    qualifier = node.args.get("table")
    if qualifier:
        return part.alias is not None and same_name(qualifier, part.alias)
    known = [name for name, _ in scope.every(None)]
    if matching(node.this, part.columns) and matching(node.this, tuple(known)):
        raise scope.text.refusal("a name that means one column", node, "qualify it by the name of its table.")
    return bool(matching(node.this, part.columns))


def _renamed(
    table: PrivateTable, part: JoinedTable, keys: Mapping[str, str], *, is_left: bool
) -> tuple[Known, dict[str, str]]:
    """The new table, with its keys under the names of the equal columns and no other name twice; and the new names
    of its columns, by those of the statement.

    After a left join a key is NULL where nothing matched, so it is kept beside the column that it was compared with.
    """
    unit = table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name
    taken = {name.casefold() for name in (*table.columns, *unit)}
    in_new = {name.casefold() for name in part.columns}
    old, shown = {}, {}
    for name in part.columns:
        if name in keys:
            old[keys[name]] = name
        if name in keys and not is_left:
            shown[name] = keys[name]
            continue
        new = name
        while new.casefold() in taken or (name in keys and new.casefold() in in_new):
            new = f"{part.name}.{new}"
        taken.add(new.casefold())
        old[new], shown[name] = name, new
    if isinstance(part.table, PublicTable):
        return part.table.renamed(old), shown
    copies = {new: source for new, source in old.items() if source in keys and new != keys[source]}
    right = part.table
    if copies:
        right = right.mutate(**{new: lambda t, source=source: t[source] for new, source in copies.items()})
    renamed = {new: source for new, source in old.items() if new not in copies and new != source}
    return (right.rename(renamed) if renamed else right), shown


def _inner(node: exp.Expression) -> exp.Expression:
    """A node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """The conditions that AND combines."""
    pending: Sequence[exp.Expression] = [] if node is None else [node]
    while pending:
        *pending, part = pending
        inner = _inner(part)
        if isinstance(inner, exp.And):
            pending = [*pending, inner.expression, inner.this]
        else:
            yield part

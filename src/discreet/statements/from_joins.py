"""Several tables in FROM: what they are joined on, and what their columns are called afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from sqlglot import exp

from discreet.errors import nearest
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateTable
from discreet.statements.expressions import row_wise
from discreet.statements.scope import Known, Scope, check_closed, closed_of, matching, same
from discreet.statements.statement_text import Text, located

KINDS = {("", ""): "inner", ("", "INNER"): "inner", ("LEFT", ""): "left", ("LEFT", "OUTER"): "left"}
KINDS |= {(side, kind): kind.lower() for side in ("", "LEFT") for kind in ("SEMI", "ANTI")}
FROM_THE_OTHER = {**KINDS, ("RIGHT", ""): "left", ("RIGHT", "OUTER"): "left"}
"""How the second table is joined to the first, where the first is the public one."""
LINK = "write ON a.key = b.key, or USING (key)."


class JoinedTable(NamedTuple):
    """A table of FROM."""

    table: Known
    alias: exp.Identifier | None
    node: exp.Expression

    @property
    def name(self) -> str:
        """What columns of it are called that have the name of another."""
        return "joined" if self.alias is None else str(self.alias.name)

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns of its privacy unit; none of a public table."""
        if isinstance(self.table, PublicTable):
            return ()
        return self.table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name

    @property
    def columns(self) -> tuple[str, ...]:
        """What the statement calls its columns."""
        return tuple(self.table.kinds) if isinstance(self.table, PublicTable) else self.table.columns


class Links(NamedTuple):
    """What a table is joined on."""

    keys: dict[str, str]
    """By its own column, as the statement calls it, the equal column of what was joined so far."""
    nodes: tuple[exp.Expression, ...]
    """The conditions that say so."""
    rest: tuple[exp.Expression, ...]
    """The other conditions."""


class Member(NamedTuple):
    """One of several tables: its name, and where its columns are now."""

    qualifier: exp.Identifier | None
    columns: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Joined(Scope):
    """Several tables, joined to one."""

    members: tuple[Member, ...]
    merged: Mapping[str, str] = field(default_factory=dict)
    """The columns that USING makes one of two."""

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
        check_closed(identifier, node, closed_of(self.table), self.text)
        known = [name for _, columns in members for name in columns]
        raise self.text.refusal("a known column", node, nearest(identifier.name, known))

    def called(self, name: str) -> str:
        """What the statement calls a column of the table."""
        return next((shown for _, columns in self.members for shown, held in columns.items() if held == name), name)

    def every(self, node: exp.Column | None) -> Iterator[tuple[str, str]]:
        """The columns that * stands for; of all tables those of USING come first, and once."""
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
        """The names of a table that has some of the columns, and others of its own."""
        kept = [Member(q, {name: held for name, held in c.items() if held in table.columns}) for q, c in self.members]
        known = {held for _, columns in kept for held in columns.values()}
        own = Member(None, {name: name for name in table.columns if name not in known})
        merged = {name: held for name, held in self.merged.items() if held in table.columns}
        return replace(self, table=table, members=(*kept, own), merged=merged)

    def _members(self, qualifier: exp.Identifier) -> list[Member]:
        return [one for one in self.members if one.qualifier and same(qualifier, one.qualifier)]


def alone(part: JoinedTable, text: Text) -> Scope:
    """The scope of one table; refuses a public one, about which there is nothing to ask."""
    if isinstance(part.table, PublicTable):
        cure = "join it to a protected one; a public table can be queried by anybody as it is."
        raise text.refusal("a protected table", part.node, cure)
    return Scope(text=text, table=part.table, qualifier=part.alias)


def together(
    first: JoinedTable, others: Iterable[tuple[exp.Join, JoinedTable]], where: exp.Expression | None, text: Text
) -> Scope:
    """All tables of FROM, joined one after the other; a public table may come first, before a protected one."""
    steps = list(others)
    reverse = bool(steps) and isinstance(first.table, PublicTable)
    if reverse:
        join, second = steps[0]
        how = how_of(join, text, FROM_THE_OTHER)
        if how in ("semi", "anti") or (how == "left" and join.side != "RIGHT"):
            raise text.refusal("a protected table first", first.node, "write the tables in the other order.")
        scope = joined(alone(second, text), join, first, where, how=how)
        steps = steps[1:]
        scope = replace(scope, members=scope.members[::-1]) if isinstance(scope, Joined) else scope
    else:
        scope = alone(first, text)
    for join, part in steps:
        scope = joined(scope, join, part, where, how=how_of(join, text, KINDS))
    return scope


def how_of(join: exp.Join, text: Text, known: Mapping[tuple[str, str], str]) -> str:
    """How a table is joined, in the word of the verb."""
    kind = "" if join.kind == text.dialect.comma else join.kind
    how = known.get((join.side, kind))
    if how in ("semi", "anti") and not text.dialect.half_joins:
        cure = f'{kind} is the name of a table in this dialect; write it in that of DuckDB, dialect="duckdb".'
        raise text.refusal("an inner or a left join", join.this, cure)
    extra = [name for name, held in join.args.items() if held and name not in ("this", "on", "using", "side", "kind")]
    if how is None or extra:
        words = join.args.get("method") or join.side or join.kind or extra[0]
        cure = {
            "NATURAL": "name the columns, USING (a, b).",
            "CROSS": f"every row would meet every other: {LINK}",
            "RIGHT": "write the tables in the other order, with LEFT JOIN.",
        }.get(str(words), "write JOIN, LEFT JOIN, SEMI JOIN or ANTI JOIN.")
        raise text.refusal(f"an inner, left, semi or anti join, not {words}", join.this, cure)
    return how


def joined(scope: Scope, join: exp.Join, part: JoinedTable, where: exp.Expression | None, *, how: str) -> Scope:
    """One more table, joined to those before."""
    text = scope.text
    old = scope.members if isinstance(scope, Joined) else (Member(scope.qualifier, _itself(scope.table.columns)),)
    if any(part.alias and one.qualifier and same(part.alias, one.qualifier) for one in old):
        raise text.refusal("each name in FROM once", part.node, "give it another: FROM t AS a JOIN t AS b.")
    links, implied = _links(scope, join, part, where)
    if not set(part.unit) <= set(links.keys):
        unit = " AND ".join(f"a.{name} = b.{name}" for name in part.unit)
        cure = f"rows of different people never meet: add the unit, {unit}."
        raise text.refusal("a join on the privacy unit", part.node, cure)
    if links.rest and how != "inner":
        cure = "put conditions on the rows of one table into a sub-query: LEFT JOIN (SELECT ... WHERE ...) AS t."
        raise text.refusal("equal columns alone in ON of such a join", links.rest[0], cure)
    right, columns = _renamed(scope.table, part, links.keys, is_left=how == "left")
    on = list(links.keys.values())
    with located(text, part.node):
        if isinstance(right, PublicTable):  # SQL lets as many rows meet as there are; limits are enforced afterwards
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


def _itself(names: Iterable[str]) -> dict[str, str]:
    return {name: name for name in names}


def _links(scope: Scope, join: exp.Join, part: JoinedTable, where: exp.Expression | None) -> tuple[Links, bool]:
    """What a table is joined on, and whether WHERE says it."""
    using, on = join.args.get("using"), join.args.get("on")
    keys: dict[str, str] = {}
    if using:
        for identifier in using:
            node = exp.Column(this=identifier.copy())
            found = matching(identifier, part.columns)
            if len(found) != 1:
                check_closed(identifier, node, closed_of(part.table), scope.text)
                cure = nearest(identifier.name, part.columns)
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
    """The columns of the new table and of those before that a condition sets equal; None if it is another condition."""
    condition = _bare(condition)
    held = [_bare(side) for side in (condition.this, condition.expression)] if type(condition) is exp.EQ else []
    sides = [side for side in held if isinstance(side, exp.Column) and isinstance(side.this, exp.Identifier)]
    if len(sides) < 2:
        return None
    own = [_own(scope, side, part) for side in sides]
    if own[0] == own[1]:
        return None
    right, left = sides if own[0] else sides[::-1]
    found = matching(right.this, part.columns)
    if len(found) != 1:
        check_closed(right.this, right, closed_of(part.table), scope.text)
        raise scope.text.refusal(f"a column of {part.name}", right, nearest(right.name, part.columns))
    scope.check_qualifier(left)
    mine = scope.name(left.this, left)
    return (found[0], mine) if found[0] == mine or not {found[0], mine} & set(part.unit) else None


def _own(scope: Scope, node: exp.Column, part: JoinedTable) -> bool:
    """Whether a column is one of the new table; refuses a name that means one of either."""
    qualifier = node.args.get("table")
    if qualifier:
        return part.alias is not None and same(qualifier, part.alias)
    known = [name for name, _ in scope.every(None)]
    if matching(node.this, part.columns) and matching(node.this, tuple(known)):
        raise scope.text.refusal("a name that means one column", node, "qualify it by the name of its table.")
    return bool(matching(node.this, part.columns))


def _renamed(
    table: PrivateTable, part: JoinedTable, keys: Mapping[str, str], *, is_left: bool
) -> tuple[Known, dict[str, str]]:
    """The new table with its keys under the names that they have before, and no other name twice; and what the
    statement's names of its columns are now.

    After a left join a key is NULL where nothing matched, so it is kept beside the one that it was compared with.
    """
    unit = table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name
    taken = {name.casefold() for name in (*table.columns, *unit)}
    own = {name.casefold() for name in part.columns}
    old, shown = {}, {}
    for name in part.columns:
        if name in keys:
            old[keys[name]] = name
        if name in keys and not is_left:
            shown[name] = keys[name]
            continue
        new = name
        while new.casefold() in taken or (name in keys and new.casefold() in own):
            new = f"{part.name}.{new}"
        taken.add(new.casefold())
        old[new], shown[name] = name, new
    if isinstance(part.table, PublicTable):
        return part.table.renamed(old), shown
    copies = {new: source for new, source in old.items() if source in keys and new != keys[source]}
    right = part.table
    if copies:
        right = right.mutate(**{new: lambda t, source=source: t[source] for new, source in copies.items()})
    moved = {new: source for new, source in old.items() if new not in copies and new != source}
    return (right.rename(moved) if moved else right), shown


def _bare(node: exp.Expression) -> exp.Expression:
    """What parentheses hold."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expression | None) -> Iterator[exp.Expression]:
    """The conditions that AND joins."""
    pending: Sequence[exp.Expression] = [] if node is None else [node]
    while pending:
        *pending, part = pending
        inner = _bare(part)
        if isinstance(inner, exp.And):
            pending = [*pending, inner.expression, inner.this]
        else:
            yield part

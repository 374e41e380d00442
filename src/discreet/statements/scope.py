"""Resolves the names in a statement to the columns of its table, in any case.

Not left to sqlglot's `qualify`, which rewrites the statement and refuses in its own words: a refusal here points at
what was written, and says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from sqlglot import exp

from discreet.errors import InvalidQuery, nearest_name
from discreet.language.unsupported_columns import READ, cast_first
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateTable
from discreet.statements.statement_text import Text, shown

if TYPE_CHECKING:
    import ibis.expr.types as ir

Known = PrivateTable | PublicTable
"""What FROM may name."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The table of a statement and the name that its columns may be qualified by."""

    text: Text
    table: PrivateTable
    qualifier: exp.Identifier | None
    """None for a sub-query without a name."""
    met: tuple[exp.Expression, ...] = ()
    """The conditions of WHERE on which tables were joined."""
    meanings: dict[int, tuple[exp.Expression, ir.Value]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What nodes mean in Ibis, by identity: rules ask for the same operand several times, in each other."""

    @property
    def is_answer(self) -> bool:
        """Whether the table is a noisy answer, with which everything may be calculated."""
        return not isinstance(self.table, PrivateTable)

    def column(self, node: exp.Column) -> ir.Value:
        """The column that a name means; refuses unknown names and those that mean several."""
        identifier = node.this
        if not isinstance(identifier, exp.Identifier):
            raise self.text.refusal(
                "named columns", node, "no private row is shown: ask for aggregates, such as COUNT(*) or AVG(column)."
            )
        self.check_qualifier(node)
        if not identifier.quoted and identifier.name.upper() in self.text.dialect.session:
            cure = f'in this dialect it is the session\'s own: write "{identifier.name.lower()}" for the column.'
            raise self.text.refusal("a column in quotes", node, cure)
        return self.table[self.name(identifier, node)]

    def check_qualifier(self, node: exp.Column) -> None:
        """Refuses a column of another table than that of the statement."""
        qualifier = node.args.get("table")
        if not node.args.get("db") and (not qualifier or (self.qualifier and same_name(qualifier, self.qualifier))):
            return
        if self.qualifier is None:
            raise self.text.refusal(
                "a column's name alone", node, "give the sub-query a name to qualify by: (SELECT ...) t."
            )
        known = self.qualifier.name
        raise self.text.refusal(
            f"a column of {known!r}", node, f"write {known}.{node.name or '*'}, or the column's name alone."
        )

    def name(self, identifier: exp.Identifier, node: exp.Expression) -> str:
        """The known column that an identifier means."""
        found = matching(identifier, self.table.columns)
        if len(found) == 1:
            return found[0]
        if found:
            choices = ", ".join(f'"{name}"' for name in found)
            raise self.text.refusal("a name that means one column", node, f"its case decides: write one of {choices}.")
        if identifier.quoted and (close := matching(exp.to_identifier(identifier.name), self.table.columns)):
            raise self.text.refusal("a known column", node, f'double quotes are exact: write "{close[0]}".')
        check_unread(identifier, node, unread_columns(self.table), self.text)
        quotes = " Write text in single quotes." if identifier.quoted else ""
        raise self.text.refusal("a known column", node, nearest_name(identifier.name, self.table.columns) + quotes)

    def over(self, table: PrivateTable) -> Self:
        """The same names for another table, made from this one."""
        return replace(self, table=table)

    def called(self, name: str) -> str:
        """What the statement calls a column of the table."""
        return name

    def every(self, node: exp.Column | None) -> Iterator[tuple[str, str]]:
        """The columns that * stands for, or the table of `node`: what the statement calls each, and the table."""
        if node is not None:
            self.check_qualifier(node)
        yield from ((name, name) for name in self.table.columns)


def unread_columns(table: object) -> Mapping[str, str]:
    """The columns of a table that are not read, with their types; an answer has none."""
    if isinstance(table, PublicTable):
        return table.closed
    return table._closed if isinstance(table, PrivateTable) else {}  # noqa: SLF001 - what is known of a column has no public name


def check_unread(identifier: exp.Identifier, node: exp.Expression, closed: Mapping[str, str], text: Text) -> None:
    """Refuses a column that exists but is not read, with its type."""
    for name in matching(identifier, tuple(closed)):
        raise text.refusal(READ, node, cast_first(name, closed[name]))


Lower = Callable[[exp.Expression, Scope], "ir.Value"]
"""Translates an operand into Ibis."""


def matching(identifier: exp.Identifier, names: tuple[str, ...]) -> list[str]:
    """The names that an identifier can mean: the same one if it is quoted, else those that differ only in case."""
    if identifier.quoted:
        return [name for name in names if name == identifier.name]
    return [name for name in names if in_one_case(name) == in_one_case(identifier.name)]


def same_name(one: exp.Identifier, other: exp.Identifier) -> bool:
    """Whether two identifiers in a statement mean the same."""
    if one.quoted and other.quoted:
        return bool(one.name == other.name)
    return in_one_case(one.name) == in_one_case(other.name)


def in_one_case(name: str) -> str:
    """A name as engines compare it, which know the case of ASCII letters alone: ß is not ss there."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def table_named(node: exp.Table, tables: dict[str, Known], text: Text) -> Known:
    """The table that a statement names in FROM."""
    cure = (
        "protect the file first, table = dp.protect(...), and pass it by name: dp.sql('... FROM table', table=table)."
    )
    extra = [name for name, value in node.args.items() if value and name not in ("this", "alias")]
    if not isinstance(node.this, exp.Identifier) or (extra and extra != ["sample"]):
        raise text.refusal("the name of a protected table", node, cure)
    if extra:
        raise text.refusal("all rows of the table", node, "sampling makes no answer private here: leave it out.")
    matches = matching(node.this, tuple(tables))
    if len(matches) > 1:
        raise text.refusal("a name that means one table", node, "its case decides: write it in double quotes.")
    if not matches:
        close = f"pass it by name, dp.sql(..., {node.name}=table)." if not tables else nearest_name(node.name, tables)
        raise InvalidQuery(f"Expected a known table, got {shown(node)} {text.place(node)}.\nHint: {close}")
    return tables[matches[0]]

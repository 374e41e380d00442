"""A first draft of a declaration: the names and types of a source's columns, and the questions that a person answers.

Claim
    The draft of a source is a function of where it lies and of the names and types of its columns: of no row, and of no
    statistic that a file keeps of its rows. It is no declaration before every question in it was answered.
Requires
    Names and types of columns that are public.
Relies on
    `engines.inputs`: the schema of a source is read without its rows.
Proof
    `draft` takes texts alone. Bounds, keys, the unit, limits and the allowance, which only a person can know, are
    written as "?", which `declaration_form` refuses wherever it stands as a value. Truth values have the keys of their
    type.
Rounding
    None.
Source
    None.
Mutant
    drafts-answer-themselves: the draft states bounds that nobody decided on; killed by
    test_a_draft_is_refused_until_it_is_answered.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.language.checked_expressions import Kind

BARE = re.compile(r"[A-Za-z0-9_-]+")

TABLE = """\
# A first draft, made from the names and types of the columns alone: no row was read, and none may be read for the
# answers either. Every "?" is a question for a person who knows what is public about these people; a line that does not
# apply is deleted. The draft is refused until no "?" is left. discreet docs declaration-file explains the keys.

[table]
source = {source}
# Who is protected? The column that tells people apart, several such as ["site", "person"], or "row" where each row is a
# person of its own. All rows of a unit are protected together. The columns are
{columns}
unit = "?"  # in its place each_of = ["sender", "receiver"], where a row belongs to two people
# What is the table about? For people; it changes nothing.
description = "?"

[table.limits]
# In how many groups does one unit count at most, and with how many rows in each? A unit with more is weighted down.
# "auto" has each release choose, at a part of its epsilon. Delete this table where the unit is "row".
max_groups = "?"
max_rows = "?"

# What is publicly known of each column? bounds = [low, high] where it is computed with: between which numbers or dates
# it can lie; "auto" has each release choose those of numbers. keys = ["north", "south"] or [1, 2, 3] where groups are
# made by it: which values exist. Both, one or neither; the unit needs none. description = "..." is for people.
"""
BUDGET = """
[budget]
# How much may all answers together ever reveal of one unit? 1 is a common start: what anybody concludes becomes at most
# e times more or less likely. It is the total for as long as the data exist.
epsilon = "?"
# The record of what was spent, beside this file: one for all tables about the same people.
ledger = "spent.db"
"""
ASKED: Mapping[Kind, str] = {
    Kind.INTEGER: 'bounds = "?"  # [low, high], "auto", or delete the line',
    Kind.REAL: 'bounds = "?"  # [low, high], "auto", or delete the line',
    Kind.DATE: 'bounds = "?"  # [2024-01-01, 2024-12-31], or delete the line',
    Kind.TIMESTAMP: 'bounds = "?"  # [2024-01-01, 2024-12-31], or delete the line',
    Kind.TEXT: 'keys = "?"  # ["north", "south"], or delete the line',
    Kind.BOOLEAN: "keys = [true, false]",
}
"""What is asked of a column of each kind."""
UNTYPED = (
    'type = "?"  # int64, float64, string, boolean, date or timestamp, and its bounds or keys; or delete the column'
)
UNREAD = "\n# Columns that are not read; to ask about them, cast them in a view of the database's, or in the file:\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftColumn:
    """A column by its name and type; its kind is None where the source does not say it."""

    name: str
    type: str
    kind: Kind | None


def draft(source: str, columns: list[DraftColumn], unread: Mapping[str, str]) -> str:
    """The text of a draft; `unread` names columns that no question can be about, and their types.

    >>> text = draft("visits.parquet", [DraftColumn(name="minutes", type="float64", kind=Kind.REAL)], {})
    >>> [line.split("#")[0] for line in text.splitlines() if line.startswith(("[columns", "bounds"))]
    ['[columns.minutes]  ', 'bounds = "?"  ']
    """
    names = textwrap.fill(", ".join(_comment(column.name) for column in columns), 116, break_long_words=False)
    listed = textwrap.indent(f"{names}.", "# ")
    told = {"{source}": quoted(source), "{columns}": listed}  # at once: a source may have the name of the other
    table = re.sub("|".join(map(re.escape, told)), lambda found: told[found[0]], TABLE)
    return "".join([table, *map(_column, columns), *_unread(unread), BUDGET])


def quoted(text: str) -> str:
    r"""A text as TOML has it, with every character escaped that cannot be seen.

    >>> print(quoted('a "b"'))
    "a \U00000022b\U00000022"
    """
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def _column(column: DraftColumn) -> str:
    name = column.name if BARE.fullmatch(column.name) else quoted(column.name)
    asked = UNTYPED if column.kind is None else ASKED[column.kind]
    return f"\n[columns.{name}]  # {_comment(column.type)}\n{asked}\n"


def _unread(unread: Mapping[str, str]) -> Iterator[str]:
    if unread:
        yield UNREAD
        yield "".join(f"# {_comment(name)}: {_comment(kind)}\n" for name, kind in unread.items())


def _comment(text: str) -> str:
    """A name within a comment, where nothing of it ends the line."""
    return text if text.isprintable() else quoted(text)
